#!/usr/bin/env python3
"""Measures the channel over many rails on virtual fabrics, each figure beside its criterion.

  report.py speed       bandwidth and latency against the verbs programs on the same fabric, and Open MPI
  report.py pause       how long a stream stands still when a port, a switch or a way fails
  report.py timeline    bandwidth over time while a cable is pulled and comes back, and Open MPI's
  report.py degraded    a rail that becomes slow and recovers during a stream
  report.py cost        what a message costs with failover and without
  report.py ethernet    plain Ethernet beside InfiniBand: together, and either cut (needs the right to make network namespaces)
  report.py under-fire  all-to-all, checked, while links flap and then an adapter and a switch are lost for good

The exit code is 0 when all criteria were met, 1 when one was missed, 2 when something did not work. Fabrics and jobs
are brought up and down by the report; event logs and programs are in a scratch folder that goes with it.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys

from faults import KINDS, TRAFFIC, degraded, pause, under_fire
from cost import cost
from ethernet import enter_namespace, ethernet
from speed import speed
from shared import ROOT, Failed, Report, Testbed
from timeline import LIBRARIES, timeline


def listed(kind, known):
    """The type of an option whose values, separated by commas, must be known."""
    def parse(text):
        words = [kind(word) for word in text.split(",")]
        if unknown := [str(word) for word in words if word not in known]:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(map(str, known))}")
        return words
    return parse


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--precedence", action="store_true",
                        help="before the machine's other sessions, for a machine that is not quiet (root; begin with setsid -w)")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the rows, the measurements they were made from, and what failed")
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("speed")
    one.add_argument("--runs", type=at_least_one, default=3)
    one.add_argument("--parts", type=listed(str, ("sizes", "2", "4", "unlike", "latency", "one-sided")), default="2,4,unlike,latency,one-sided",
                     help="of sizes (all libraries over the message size), 2, 4, unlike, latency, one-sided")
    one.add_argument("--sizes", type=listed(int, [1 << k for k in range(12, 23)]), help="of sizes and unlike: just these bytes")
    one.add_argument("--rails", type=listed(int, (1, 2, 4)), default="1,2,4", help="of sizes")
    one.add_argument("--no-peers", action="store_true", help="without Open MPI")
    two = verbs.add_parser("pause")
    two.add_argument("--faults", type=at_least_one, default=100, help="of each kind")
    two.add_argument("--kinds", type=listed(str, KINDS), default="local,remote,switch,blackhole")
    two.add_argument("--traffic", type=listed(str, TRAFFIC), default="messages", help="messages, puts")
    seven = verbs.add_parser("timeline")
    seven.add_argument("--libraries", type=listed(str, LIBRARIES), default=",".join(LIBRARIES))
    seven.add_argument("--seconds", type=float, default=4, help="before, while the cable is out, and after")
    three = verbs.add_parser("degraded")
    three.add_argument("--runs", type=at_least_one, default=3)
    three.add_argument("--quiet", action="store_true", help="without the MB/s per 100 ms")
    four = verbs.add_parser("cost")
    four.add_argument("--runs", type=at_least_one, default=5)
    six = verbs.add_parser("ethernet")
    six.add_argument("--runs", type=at_least_one, default=3)
    five = verbs.add_parser("under-fire")
    five.add_argument("--seconds", type=float, default=60, help="of flapping links")
    five.add_argument("--faults", type=at_least_one, default=100, help="at least so many; goes on longer for them")
    five.add_argument("--seed", type=int, help="default: drawn and printed")
    return parser.parse_args()


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # takes the fabric down, too
    report = Report()
    verbs = {"speed": speed, "pause": pause, "degraded": degraded, "cost": cost, "ethernet": ethernet,
             "under-fire": under_fire, "timeline": timeline}
    if options.verb == "ethernet":
        enter_namespace()
    failed = ""
    try:
        with Testbed(options.build, options.precedence) as testbed:
            verbs[options.verb](options, report, testbed)
    except (Failed, OSError, subprocess.SubprocessError) as problem:
        failed = str(problem)
    if options.json:
        options.json.write_text(json.dumps({"rows": report.rows, "data": report.data, "failed": failed}), encoding="utf-8")
    if failed:
        print(f"report.py {options.verb}: {failed}", file=sys.stderr)
        return 2
    if report.missed:
        print(f"missed: {'; '.join(report.missed)}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
