#!/usr/bin/env python3
"""Measures the channel over many rails on virtual fabrics, each figure beside its criterion.

  report.py speed       bandwidth and latency against the verbs programs on the same fabric, and Open MPI
  report.py pause       how long a stream stands still when a port, a switch or a way fails
  report.py degraded    a rail that becomes slow and recovers during a stream
  report.py cost        what a message costs with failover and without
  report.py ethernet    plain Ethernet beside InfiniBand: together, and either cut (needs the right to make network namespaces)
  report.py under-fire  all-to-all, checked, while links flap and then an adapter and a switch are lost for good

The exit code is 0 when all criteria were met, 1 when one was missed, 2 when something did not work. Fabrics and jobs
are brought up and down by the report; event logs and programs are in a scratch folder that goes with it.
"""
import argparse
import signal
import sys

from faults import degraded, pause, under_fire
from cost import cost
from ethernet import enter_namespace, ethernet
from speed import speed
from testbed import ROOT, Failed, Report, Testbed


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--precedence", action="store_true",
                        help="before the machine's other sessions, for a machine that is not quiet (root; begin with setsid -w)")
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("speed")
    one.add_argument("--runs", type=int, default=3)
    one.add_argument("--parts", default="2,4,unlike,latency")
    one.add_argument("--no-peers", action="store_true", help="without Open MPI")
    two = verbs.add_parser("pause")
    two.add_argument("--faults", type=int, default=100, help="of each kind")
    two.add_argument("--kinds", default="local,remote,switch,blackhole")
    three = verbs.add_parser("degraded")
    three.add_argument("--runs", type=int, default=3)
    three.add_argument("--quiet", action="store_true", help="without the MB/s per 100 ms")
    four = verbs.add_parser("cost")
    four.add_argument("--runs", type=int, default=5)
    six = verbs.add_parser("ethernet")
    six.add_argument("--runs", type=int, default=3)
    five = verbs.add_parser("under-fire")
    five.add_argument("--seconds", type=float, default=60, help="of flapping links")
    five.add_argument("--faults", type=int, default=100, help="at least so many; goes on longer for them")
    five.add_argument("--seed", type=int, help="default: drawn and printed")
    return parser.parse_args()


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # takes the fabric down, too
    report = Report()
    verbs = {"speed": speed, "pause": pause, "degraded": degraded, "cost": cost, "ethernet": ethernet,
             "under-fire": under_fire}
    if options.verb == "ethernet":
        enter_namespace()
    try:
        with Testbed(options.build, options.precedence) as testbed:
            verbs[options.verb](options, report, testbed)
    except Failed as problem:
        print(f"report.py {options.verb}: {problem}", file=sys.stderr)
        return 2
    if report.missed:
        print(f"missed: {'; '.join(report.missed)}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
