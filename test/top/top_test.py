"""`hawser top` finds processes of this user by their open files and shows their paths, once or again and again."""

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cases import main  # noqa: E402

HAWSER, SAMPLE, MPIEXEC, IDLE, LARGE = sys.argv[1:6]


def top(*words):
    return subprocess.run([HAWSER, "top", *words], capture_output=True, text=True, timeout=120)


class Top(unittest.TestCase):
    def setUp(self):
        self.job = f"top-test-{os.getpid()}"
        self.sample = subprocess.Popen([SAMPLE, self.job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child = int(self.sample.stdout.readline())

    def tearDown(self):
        self.sample.stdin.close()
        self.assertEqual(self.sample.wait(timeout=60), 0)
        self.sample.stdout.close()

    def test_shows_paths_with_their_state(self):
        found = top("--once", "--job", self.job)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("1 process, 2 paths, 1 not ready", found.stdout)
        self.assertIn("8 ranks, policy auto", found.stdout)
        lines = [line.split() for line in found.stdout.splitlines()
                 if "mlx4" in line and "event=" not in line and not line.startswith("[")]
        # What is in trouble comes first.
        self.assertEqual(lines[0][:6], ["3", "5", "1", "mlx4_1/2", "2", "failed"])
        self.assertEqual(lines[0][-2:], ["port", "down"])
        self.assertEqual(lines[1][:6], ["3", "5", "0", "mlx4_0/1", "0", "ready"])
        self.assertGreater(float(lines[1][6]), 0)
        self.assertEqual(float(lines[1][7]), 4000)
        self.assertIn("rank=3 peer=5 subchannel=1 port=mlx4_1/2 path=2 generation=1 event=condition_changed "
                      "condition=failed reason=port_down", found.stdout)

    def test_tells_programs_everything(self):
        found = top("--once", "--json", "--pid", str(self.sample.pid))
        self.assertEqual(found.returncode, 0, found.stderr)
        processes = json.loads(found.stdout)
        self.assertEqual(len(processes), 1)
        process = processes[0]
        # Not the forked child's, although it has the same file.
        self.assertEqual(process["pid"], self.sample.pid)
        self.assertEqual(process["counters"]["failures"], 1)
        good, bad = process["paths"]
        self.assertGreater(good["bytes_per_second"], 0)
        self.assertGreaterEqual(good["bytes_in_flight"], 1000)
        self.assertEqual((bad["state"], bad["failures"], bad["last_reason"]), ("failed", 1, "port down"))
        both = json.loads(top("--once", "--json", "--job", self.job).stdout)
        self.assertEqual([p["pid"] for p in both], [self.sample.pid])

    def test_goes_on_until_interrupted(self):
        live = subprocess.Popen([HAWSER, "top", "--job", self.job, "--interval", "0.05"], stdout=subprocess.PIPE, text=True)
        heads = 0
        for line in live.stdout:
            heads += " not ready, " in line
            if heads == 3:
                break
        live.send_signal(signal.SIGINT)
        live.communicate(timeout=60)
        self.assertEqual(live.returncode, 0)
        self.assertEqual(heads, 3)

    def table(self):
        """A copy of the sample's."""
        folder = f"/proc/{self.sample.pid}/fd"
        found = next(name for name in os.listdir(folder) if os.readlink(f"{folder}/{name}").startswith("/memfd:hawser-status"))
        with open(f"{folder}/{found}", "rb") as file:
            return file.read()

    def test_a_table_that_may_become_shorter_is_not_looked_at(self):
        table = self.table().replace(self.job.encode(), self.job[:-1].encode() + b"x")
        fake = os.memfd_create("hawser-status", os.MFD_ALLOW_SEALING)
        try:
            os.write(fake, table)
            none = top("--once", "--job", self.job[:-1] + "x")
            self.assertEqual((none.returncode, none.stdout), (1, ""))
            fcntl.fcntl(fake, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            self.assertEqual(top("--once", "--job", self.job[:-1] + "x").returncode, 0)
        finally:
            os.close(fake)

    def test_text_of_a_process_cannot_control_the_terminal(self):
        table = self.table()
        for word, other in ((self.job.encode(), b"\x1b[2J\x07\xff"), (b"mlx4_1/2", b"\x1b]0;x\x07\n"), (b"auto", b"\xc2\x9b\x1b1")):
            self.assertIn(word, table)
            table = table.replace(word, other.ljust(len(word), b"!"))
        fake = os.memfd_create("hawser-status", os.MFD_ALLOW_SEALING)
        try:
            os.write(fake, table)
            fcntl.fcntl(fake, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            shown = subprocess.run([HAWSER, "top", "--once", "--pid", str(os.getpid())], capture_output=True, timeout=120)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(b"job ?[2J??!", shown.stdout)
            self.assertEqual([byte for byte in shown.stdout if byte >= 0x7f or (byte < 0x20 and byte != 0x0a)], [])
            self.assertIn("?]0;x", top("--once", "--json", "--pid", str(os.getpid())).stdout)
            asked = top("--once", "--job", "nobody")
            self.assertIn("?[2J??!", asked.stderr)
        finally:
            os.close(fake)

    def test_refuses_what_makes_no_sense(self):
        self.assertEqual(top("--interval", "0").returncode, 2)
        wrong = top("--nonsense")
        self.assertEqual(wrong.returncode, 2)
        self.assertTrue(wrong.stderr.startswith("hawser top: "), wrong.stderr)

    def test_what_is_not_there_is_an_error_that_names_what_is(self):
        for words in (["--once"], ["--once", "--json"], []):
            none = top(*words, "--job", "no such job")
            self.assertEqual(none.returncode, 1)
            self.assertIn("hawser top: no MPI job 'no such job' of this user runs here", none.stderr)
            self.assertIn(self.job, none.stderr)
            if "--json" in words:
                self.assertEqual(json.loads(none.stdout), [])
        none = top("--once", "--pid", str(os.getpid()))
        self.assertEqual(none.returncode, 1)
        self.assertIn(f"no MPI process {os.getpid()} of this user runs here", none.stderr)

    def test_ends_with_the_job_that_it_was_asked_for(self):
        live = subprocess.Popen([HAWSER, "top", "--job", self.job, "--interval", "0.05"], stdout=subprocess.PIPE, text=True)
        self.assertIn("1 process", live.stdout.readline())
        self.sample.stdin.close()
        self.sample.wait(timeout=60)
        out, _ = live.communicate(timeout=60)
        self.assertEqual(live.returncode, 0)
        self.assertTrue(out.endswith("the job has ended\n"), out)


class LargeJobs(unittest.TestCase):
    """What is wrong stands in a line for each cause."""

    @contextlib.contextmanager
    def job(self, ranks, per_host, peers, *faults):
        name = f"large-{os.getpid()}"
        with subprocess.Popen([LARGE, name, str(ranks), str(per_host), str(peers), *faults], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield name
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def view(self, name, *words):
        found = top("--once", "--job", name, *words)
        self.assertEqual(found.returncode, 0, found.stderr)
        return [line for line in found.stdout.splitlines() if "event=" not in line]

    def causes(self, *job):
        with self.job(*job) as name:
            lines = self.view(name)
        return [line.split("] ", 1)[1].split(" paths not ready")[0] for line in lines if line.startswith("[")]

    def test_a_thousand_ranks_and_a_pulled_cable(self):
        with self.job(1000, 8, 24, "port 17 1") as name:
            lines = self.view(name)
        self.assertEqual(len(lines), 4, lines)
        self.assertRegex(lines[0], r"^1000 processes, \d+ paths, (\d+) not ready, 0.0 MB/s$")
        bad = lines[0].split()[4]
        self.assertEqual(lines[1], f"job {name}: 1000 ranks, policy auto")
        self.assertRegex(lines[2], rf"^\[1\] port hw1/1 of host n17: {bad} of its {bad} paths not ready \(\d+ connecting, \d+ failed\), "
                                   rf"port down, for \d+.*, {bad} failures$")
        self.assertRegex(lines[3], r"^ready: \d+ paths, 0.0 MB/s, weights 100.0 to 100.0 MB/s$")

    def test_twenty_four_ranks_on_as_many_hosts(self):
        # All to all. A path fails at both ends, on both routes.
        for fault, cause in (("port 3 0", "port hw0/1 of host n3: 92 of its 92"), ("host 7", "host n7: 184 of its 184"),
                             ("rank 5", "host n5: 184 of its 184"), ("route 1 1", "path 1 through the network of rail 1: 552 of its 552"),
                             ("network 0", "the network of rail 0 (a switch?): 1104 of its 1104"),
                             ("link 2 4 1", "rail 1 between host n2 and host n4: 4 of its 4")):
            with self.subTest(fault):
                self.assertEqual(self.causes(24, 1, 23, fault), [cause])

    def test_several_causes_the_worst_first(self):
        causes = self.causes(96, 4, 40, "rank 9", "port 20 1", "host 13", "path 0 8 1 0")
        self.assertEqual([cause.split(":")[0] for cause in causes],
                         ["host n13", "port hw1/1 of host n20", "rank 9", "rail 1, here and there"])

    def test_paths_are_listed_on_demand(self):
        with self.job(24, 1, 23, "port 3 0") as name:
            lines = self.view(name, "--paths")
        self.assertEqual(len(lines), 4 + 1 + 24 * 23 * 4)

    def test_a_key_opens_a_group(self):
        with self.job(24, 1, 23, "port 3 0", "host 7") as name:
            main, side = os.openpty()
            fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
            modes = termios.tcgetattr(side)
            with subprocess.Popen([HAWSER, "top", "--job", name, "--interval", "0.1"], stdin=side, stdout=side) as live:
                try:
                    shown = b""

                    def until(there, *wanted):
                        """Reads views until one has these words, or has them not."""
                        nonlocal shown
                        while True:
                            self.assertTrue(select.select([main], [], [], 60)[0], shown)
                            shown += os.read(main, 65536)
                            *views, shown = shown.split(b"\x1b[J")
                            if any(all((text in view) == there for text in wanted) for view in views):
                                return
                    until(True, b"[1] host n7: 184 of its 184", b"[2] port hw0/1 of host n3: 88 of its 92", b"keys: 1 to 9")
                    os.write(main, b"2")
                    until(True, b" rank  peer sub port", b" failed ")
                    os.write(main, b"0")
                    until(False, b" rank  peer sub port")
                    os.write(main, b"q")
                    self.assertEqual(live.wait(60), 0)
                    self.assertEqual(termios.tcgetattr(side), modes)
                finally:
                    live.kill()
                    os.close(main)
                    os.close(side)


class WithoutRails(unittest.TestCase):
    """Jobs that need none: ranks of one host, and of two over sockets."""

    def run_job(self, *words, **variables):
        job = subprocess.Popen([MPIEXEC, "-n", "2", "--stdin", "1", *words, "sh", "-c", 'echo "$HAWSER_JOB_ID" >&2; exec "$0"', IDLE],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **variables})
        self.assertEqual(job.stdout.readline(), "running\n")
        return job

    def end(self, job):
        out, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, err)
        return err

    def test_are_shown_as_what_they_are(self):
        for words in ([], ["-hosts", "a,b"]):
            job = self.run_job(*words)
            name = job.stderr.readline().strip()
            text, programs = top("--once", "--job", name), top("--once", "--json", "--job", name)
            self.end(job)
            self.assertEqual(text.returncode, 0, text.stderr)
            self.assertIn("2 processes, 0 paths", text.stdout)
            self.assertIn(f"job {name}: 2 ranks, no rails", text.stdout)
            self.assertNotIn("weight", text.stdout)
            self.assertEqual([(p["rank"], p["paths"]) for p in json.loads(programs.stdout)], [(0, []), (1, [])])

    def test_print_their_counters_when_asked(self):
        for words, channel in (([], "shared-memory packets_sent="), (["-hosts", "a,b"], "socket frames_sent=")):
            err = self.end(self.run_job(*words, HAWSER_STATS="on"))
            for rank in range(2):
                self.assertIn(f"hawser: rank {rank}: messages ", err)
                self.assertIn(f"hawser: rank {rank}: {channel}", err)
            self.assertNotIn("messages", self.end(self.run_job(*words)))


if __name__ == "__main__":
    main(*sys.argv[6:])
