#!/usr/bin/env python3
"""Every program of perftest with every option that changes what it asks of the library, over one fabric.

Usage: perftest_matrix.py HAWSER [--all] [--only TEXT] [--list] [--up WORDS]
Without --all the sample that is tested always. Prints what failed; exit code 1 then.
"""
import argparse
import signal
import sys
import time

PROGRAMS = ["send", "write", "read", "atomic"]
TRANSPORTS = {"send": ["RC", "UC", "UD", "XRC"], "write": ["RC", "UC", "XRC"], "read": ["RC", "XRC"],
              "atomic": ["RC", "XRC"]}


SAMPLE = """
ib_send_lat -c RC -e         | ib_send_lat -c UC            | ib_send_lat -c UD -I 64 -s 64 | ib_send_lat -c XRC
ib_send_bw -c RC -s 1048576  | ib_send_bw -c RC -b -q 4     | ib_send_bw -c RC --use-srq -q 4
ib_send_bw -c UC -e          | ib_send_bw -c UC -b          | ib_send_bw -c UD -q 4         | ib_send_bw -c UD --use-srq
ib_send_bw -c XRC -q 4       | ib_send_bw -c XRC -e         | ib_send_bw -c RC -I 64 -s 64
ib_write_lat -c RC           | ib_write_bw -c RC -q 4 -b    | ib_write_bw -c UC -I 64 -s 64 | ib_write_bw -c XRC
ib_write_bw -c RC -l 4       | ib_read_lat -c RC            | ib_read_bw -c RC -q 4 -o 16   | ib_read_bw -c XRC
ib_atomic_lat -c RC          | ib_atomic_bw -c RC -b -q 4   | ib_atomic_bw -c XRC -A CMP_AND_SWAP
"""


def sample():
    return [(words[0], words[1:]) for words in map(str.split, SAMPLE.replace("|", "\n").splitlines()) if words]


def everything():
    """(program, options) for each."""
    found = []
    for kind in PROGRAMS:
        for transport in TRANSPORTS[kind]:
            for shape in ("lat", "bw"):
                found += [(f"ib_{kind}_{shape}", ["-c", transport, *options])
                          for options in variants(kind, transport, shape) if possible(kind, transport, options)]
    return found


def variants(kind, transport, shape):
    lengths = [] if kind == "atomic" else [["-s", "1"], ["-s", "1000"]] + ([["-s", "65536"]] if transport != "UD" else [])
    ways = [[], ["-e"], ["-m", "256"], ["-u", "18"], ["-d", "hw1"]]
    if shape == "bw":
        ways += [["-q", "4"], ["-q", "32"], ["-b"], ["-b", "-q", "4"], ["-b", "-e"], ["-q", "4", "-e"], ["-l", "4"],
                 ["-Q", "10"], ["-t", "1"], ["-N"]]
    if kind == "send":
        ways += [["--use-srq"], ["--use-srq", "-e"], ["-r", "8"]]
        if shape == "bw":
            ways += [["--use-srq", "-q", "4"], ["--use-srq", "-q", "4", "-b"]]
    if kind in ("read", "atomic"):
        ways += [["-o", "1"], ["-o", "16"]]
    if kind == "atomic":
        ways += [["-A", "CMP_AND_SWAP"], ["-A", "FETCH_AND_ADD"]]
    if kind in ("send", "write"):
        yield from (["-I", "900", "-s", length] for length in ("1", "64", "900"))
    if kind != "atomic":
        yield ["-a"]
    yield ["-D", "1"]
    yield from ways
    for length in lengths:
        yield from ([*way, *length] for way in ways)


def possible(kind, transport, options):
    """Perftest refuses events on writes. Without flow control (UC, UD) it waits for ever for messages that found no
    receive posted, so its receive queue must hold them all."""
    shallow = "-r" in options or ("--use-srq" in options and "-q" in options)
    too_long = transport == "UD" and "256" in options and "1000" in options  # for one packet
    return not ("-e" in options and kind == "write") and not (transport in ("UC", "UD") and shallow) and not too_long


def run(case, program, words):
    """One pair of programs; both must end well, and have measured something."""
    device = [] if "-d" in words else ["-d", "hw0"]
    count = [] if "-D" in words else ["-n", "100"]
    output = case.pair(program, *device, "-F", *count, *words)
    case.assertIn("BW peak" if program.endswith("bw") else "t_", output)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hawser")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--up", default="back-to-back")
    options = parser.parse_args()
    chosen = [(p, o) for p, o in (everything() if options.all else sample()) if options.only in " ".join([p, *o])]
    if not chosen:
        parser.error(f"--only: no line has '{options.only}' in it; --list shows all")
    if options.list:
        for program, words in chosen:
            print(program, *words)
        return 0
    import fabric_case

    class Matrix(fabric_case.OnFabric):
        WHAT = tuple(options.up.split())

        def runTest(self):
            pass

    failed = []

    def end(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: the fabric is to be taken down
        sys.exit(1)

    signal.signal(signal.SIGTERM, end)
    case = Matrix()
    case.setUp()
    begin = time.monotonic()
    try:
        for program, words in chosen:
            line = " ".join([program, *words])
            at = time.monotonic()
            try:
                problem = None
                run(case, program, words)
            except Exception as error:  # whatever it is, the next case is tried
                problem = str(error)
            spent = time.monotonic() - at
            print(f"{'FAILED' if problem else 'ok':6} {spent:6.2f} s  {line}", flush=True)
            if problem:
                failed.append(line)
                print("       " + problem.replace("\n", "\n       "), flush=True)
                for process in case.started:
                    if process.poll() is None:
                        process.kill()
            for process in case.started:
                process.communicate()
            case.started = []
    finally:
        case.tearDown()
        case.doCleanups()
    print(f"{len(chosen)} cases, {len(failed)} failed, {time.monotonic() - begin:.1f} s")
    for line in failed:
        print("failed:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
