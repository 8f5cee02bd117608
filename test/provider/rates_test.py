#!/usr/bin/env python3
"""Rates and latencies of the fabric as real processes see them.  Usage: VERBS_SHELL=... rates_test.py HAWSER [...]

The model's clock is exact, but the machine may be busy, and then the programs that measure are late. So a
measurement that is off is repeated. When all of them are off, the case fails if the fabric kept up with real time
in one of them; otherwise the machine is too busy to tell, and the case is skipped with the lags it saw.
"""
import os
import re
import sys
import tempfile
import time
import unittest

from fabric_case import OnFabric, Shell, connect, fabric, main, needs

TRIES = 6
MEGABYTE = 1 << 20


def near(value, wanted, share):
    return abs(value - wanted) <= share * wanted


class Measured(OnFabric):
    def setUp(self):
        """Fabrics are brought up per measurement, so that their lag is that of the measurement."""
        self.started = []
        self.base = f"rates-{os.getpid()}-{self.id().split('.')[-1]}"[:50]

    def measure(self, what, run, good):
        """`run` on fresh fabrics until `good` of what it returns, or until it is the fabric's own fault."""
        notes = []
        for turn in range(TRIES):
            self.bring_up(f"{self.base}-{turn}", *what)
            try:
                result = run()
                lag = re.search(r"lag behind real time: .*", fabric("status", "--name", self.name).stdout).group(0)
            finally:
                self.take_down()
                self.started = []
            notes.append(f"{' '.join(what)}: {result}; {lag}")
            print(notes[-1], file=sys.stderr)
            if good(result):
                return
        if all("LAGGING" in note for note in notes):
            self.skipTest("the machine is too busy: " + "; ".join(notes))
        self.fail("; ".join(notes))


@needs("ib_write_bw", "ib_send_bw", "ib_read_bw")
class Perftest(Measured):
    def rate(self, command, *options):
        """What perftest prints as the average, in MB/s of 10^6."""
        output = self.pair(command, "-d", "hw0", "-F", "-s", str(MEGABYTE), *options)
        found = re.search(r"^ *1048576 +\d+ +[\d.]+ +([\d.]+)", output, re.M)
        self.assertIsNotNone(found, output)
        return float(found.group(1)) * MEGABYTE / 1e6  # its MB are MiB

    def test_links_carry_their_rate(self):
        for rate in (100, 200, 400):
            for options, ways in ((("-n", str(rate // 2)), 1), (("-n", str(rate // 2), "-b"), 2)):
                with self.subTest(rate=rate, options=options):
                    self.measure(("back-to-back", "--rails", "1", "--rate", f"{rate}MB/s"),
                                 lambda o=options: self.rate("ib_write_bw", *o),
                                 lambda found, wanted=rate * ways: near(found, wanted, 0.03))

    def test_sends_and_reads_do_too(self):
        for command in ("ib_send_bw", "ib_read_bw"):
            with self.subTest(command):
                self.measure(("back-to-back", "--rails", "1", "--rate", "200MB/s"),
                             lambda c=command: self.rate(c, "-n", "100"), lambda found: near(found, 200, 0.03))


class Flows(Measured):
    """Several streams at once, measured over the same window."""
    WARM, WINDOW = 0.2, 0.5  # seconds

    def flows(self, *pairs):
        """(host, device) pairs that write to each other, all at once -> MB/s of each."""
        senders = []
        for (host, device), (other, other_device) in pairs:
            one, two = Shell(self, host, device=device), Shell(self, other, device=other_device)
            connect(one, two, timeout=18)
            senders.append((one, two))
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(0.05e9)
        for one, two in senders:
            one.tell("flow", op="write", bytes=256 * 1024, depth=32, remote=two.facts["address"],
                     rkey=two.facts["rkey"], start=start, measure_from=start + int(self.WARM * 1e9),
                     end=start + int((self.WARM + self.WINDOW) * 1e9))
        answers = [one.hear() for one, _ in senders]
        return [each["bytes"] / each["nanoseconds"] * 1e3 for each in answers]

    def test_two_flows_share_a_link(self):
        self.measure(("single-switch", "--hosts", "3", "--rails", "1", "--rate", "200MB/s"),
                     lambda: self.flows((("n0", "hw0"), ("n2", "hw0")), (("n1", "hw0"), ("n2", "hw0"))),
                     lambda found: all(near(each, 100, 0.05) for each in found))

    def test_two_queue_pairs_share_an_adapter(self):
        self.measure(("back-to-back", "--rails", "1", "--rate", "200MB/s"),
                     lambda: self.flows((("n0", "hw0"), ("n1", "hw0")), (("n0", "hw0"), ("n1", "hw0"))),
                     lambda found: all(near(each, 100, 0.05) for each in found))

    def test_two_rails_carry_twice_one(self):
        for what in ("single-switch", "two-switch"):
            with self.subTest(what):
                self.measure((what, "--hosts", "2", "--rails", "2", "--rate", "200MB/s"),
                             lambda: self.flows((("n0", "hw0"), ("n1", "hw0")), (("n0", "hw1"), ("n1", "hw1"))),
                             lambda found: near(sum(found), 400, 0.03) and all(near(each, 200, 0.03) for each in found))

    def round_trip(self, host):
        """The fastest of a few from n0 to `host`, for a busy machine only adds; in milliseconds."""
        one, two = Shell(self, "n0"), Shell(self, host)
        connect(one, two, timeout=18)
        return min(one.ask("round_trips", times=12, op="write", bytes=8, remote=two.facts["address"],
                           rkey=two.facts["rkey"])["nanoseconds"]) / 1e6

    def test_cables_and_switches_add_their_latency(self):
        """n1 is at n0's leaf (two cables, one switch), n12 at another (four cables, three switches)."""
        wanted = {"n1": 2 * (2 * 2 + 5), "n12": 2 * (4 * 2 + 3 * 5)}
        fastest = {host: float("inf") for host in wanted}

        def run():
            for host in wanted:
                fastest[host] = min(fastest[host], self.round_trip(host))
                self.assertGreaterEqual(fastest[host], wanted[host])
            return dict(fastest)
        with tempfile.NamedTemporaryFile("w", suffix=".parameters") as file:
            file.write("link-latency 2ms\nswitch-latency 5ms\n")
            file.flush()
            self.measure(("fat-tree-144", "--hosts", "24", "--rails", "1", "--parameters", file.name), run,
                         lambda found: all(near(found[host], wanted[host], 0.05) for host in wanted))

    def test_a_degraded_link(self):
        def degraded():
            fabric("fault", "link n1/hw0 rate 25%", "--name", self.name)
            return self.flows((("n0", "hw0"), ("n1", "hw0")))
        self.measure(("back-to-back", "--rails", "1", "--rate", "400MB/s"), degraded,
                     lambda found: near(found[0], 100, 0.03))


if __name__ == "__main__":
    main(*sys.argv[2:])
