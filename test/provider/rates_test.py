#!/usr/bin/env python3
"""Rates and latencies of the fabric as real processes see them.  Usage: VERBS_SHELL=... rates_test.py HAWSER [...]

Completions bear the time of the adapters, which is the model's: it is exact, however late the machine makes the
programs look. So all requests are posted before anything is measured.
"""
import os
import sys
import tempfile

from fabric_case import OnFabric, Shell, connect, fabric, main

COUNT, BYTES = 200, 65536  # requests of a stream
MS = 1_000_000


class Rates(OnFabric):
    """Fabrics are brought up by each case."""

    def setUp(self):
        self.started = []
        file = tempfile.NamedTemporaryFile("w", suffix=".parameters")
        self.addClassCleanup(file.close)
        file.write("chunk 2048\n")
        file.flush()
        self.fine = ("--parameters", file.name)

    def up(self, *what):
        """Another fabric than before."""
        if self.started:
            self.doCleanups()
        self.started = []
        self.bring_up(f"rates-{os.getpid()}-{self.id().split('.')[-1]}"[:50], *what)
        self.addCleanup(self.take_down)

    def fault(self, text):
        fabric("fault", text, "--name", self.name)

    def streams(self, *pairs, slow=(), op="write"):
        """(host, device) pairs of which the first writes to, or reads from, the second, all at once -> when requests
        completed, in ns, of each stream. The links `slow` carry next to nothing until all have begun; a packet that is under way then, of a `fine` fabric
        one of 2 KiB, takes its 20 ms."""
        for link in slow:
            self.fault(f"link {link} rate 100KB/s")
        senders = []
        for (host, device), (other, other_device) in pairs:
            one, two = Shell(self, host, device=device), Shell(self, other, device=other_device)
            connect(one, two, timeout=0)  # none: what waits for a slow link is not sent again
            one.ask("burst", count=COUNT, op=op, bytes=BYTES, remote=two.facts["address"], rkey=two.facts["rkey"])
            senders.append(one)
        self.fabric.schedule([f"0 link {link} clear" for link in slow])
        times = [one.ask("times", count=COUNT, milliseconds=100_000)["times"] for one in senders]
        for each in times:
            self.assertEqual(len(each), COUNT)
        return times

    def expect_rate(self, times, rate, share=0.001):
        """From the first completion to the last, in MB/s."""
        self.assertAlmostEqual((COUNT - 1) * BYTES / (times[-1] - times[0]) * 1e3, rate, delta=rate * share)

    def shared(self, *streams):
        """MB/s of each stream while all of them go at full speed. A request that began slowly does not count."""
        begin, end = max(times[len(times) // 4] for times in streams), min(times[-1] for times in streams)
        self.assertGreater(end, begin)
        return [sum(begin < at <= end for at in times) * BYTES / (end - begin) * 1e3 for times in streams]

    def test_a_link_carries_its_rate(self):
        for rate in (100, 200, 400):
            for op in ("write", "read"):
                with self.subTest(rate=rate, op=op):
                    self.up("back-to-back", "--rails", "1", "--rate", f"{rate}MB/s")
                    self.expect_rate(self.streams((("n0", "hw0"), ("n1", "hw0")), op=op)[0], rate)

    def test_a_link_carries_its_rate_both_ways(self):
        self.up("back-to-back", "--rails", "1", "--rate", "200MB/s", *self.fine)
        both = self.streams((("n0", "hw0"), ("n1", "hw0")), (("n1", "hw0"), ("n0", "hw0")), slow=("n0/hw0",))
        for rate in self.shared(*both):
            self.assertAlmostEqual(rate, 200, delta=2)

    def test_two_flows_share_a_link(self):
        self.up("single-switch", "--hosts", "3", "--rails", "1", "--rate", "200MB/s", *self.fine)
        both = self.shared(*self.streams((("n0", "hw0"), ("n2", "hw0")), (("n1", "hw0"), ("n2", "hw0")), slow=("n2/hw0",)))
        self.assertAlmostEqual(sum(both), 200, delta=4)
        for rate in both:
            self.assertAlmostEqual(rate, 100, delta=4)

    def test_two_queue_pairs_share_an_adapter(self):
        self.up("back-to-back", "--rails", "1", "--rate", "200MB/s", *self.fine)
        both = self.shared(*self.streams((("n0", "hw0"), ("n1", "hw0")), (("n0", "hw0"), ("n1", "hw0")), slow=("n0/hw0",)))
        self.assertAlmostEqual(sum(both), 200, delta=4)
        for rate in both:
            self.assertAlmostEqual(rate, 100, delta=4)

    def test_two_rails_carry_twice_one(self):
        for what in ("single-switch", "two-switch"):
            with self.subTest(what):
                self.up(what, "--hosts", "2", "--rails", "2", "--rate", "200MB/s", *self.fine)
                both = self.streams((("n0", "hw0"), ("n1", "hw0")), (("n0", "hw1"), ("n1", "hw1")), slow=("n0/hw0", "n0/hw1"))
                for rate in self.shared(*both):
                    self.assertAlmostEqual(rate, 200, delta=4)

    def test_a_degraded_link(self):
        self.up("back-to-back", "--rails", "1", "--rate", "400MB/s")
        self.fault("link n1/hw0 rate 25%")
        self.expect_rate(self.streams((("n0", "hw0"), ("n1", "hw0")))[0], 100)

    def round_trips(self, host):
        """Of reads from `host`, each of which waits for the one before, in ns."""
        one, two = Shell(self, "n0"), Shell(self, host)
        connect(one, two, timeout=18, reads=1)
        one.ask("burst", count=9, op="read", fenced=True, bytes=8, remote=two.facts["address"], rkey=two.facts["rkey"])
        times = one.ask("times", count=9)["times"]
        return {after - before for before, after in zip(times, times[1:])}

    def test_cables_and_switches_add_their_latency(self):
        """n1 is at n0's leaf (two cables, one switch), n12 at another (four cables, three switches)."""
        with tempfile.NamedTemporaryFile("w", suffix=".parameters") as file:
            file.write("link-latency 2ms\nswitch-latency 5ms\n")
            file.flush()
            self.up("fat-tree-144", "--hosts", "24", "--rails", "1", "--parameters", file.name)
        self.assertEqual(self.round_trips("n1"), {2 * (2 * 2 + 5) * MS})
        self.assertEqual(self.round_trips("n12"), {2 * (4 * 2 + 3 * 5) * MS})


if __name__ == "__main__":
    main(*sys.argv[2:])
