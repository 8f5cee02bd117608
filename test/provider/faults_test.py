#!/usr/bin/env python3
"""Faults of the fabric as real processes see them: a verbs_shell on each of two hosts, `hawser fabric fault`
between their steps.  Usage: VERBS_SHELL=... faults_test.py HAWSER [unittest arguments]

After every case the books must balance: each work request has completed exactly once, no byte beside the
registered memory has changed, no packet is left in the network and all credits are home. What takes time is bounded
from below only: nothing may happen before the model says so, and a busy machine may be late.
"""
import os
import re
import signal
import tempfile
import time
import unittest

from fabric_case import PATIENCE, OnFabric, Shell, connect, fabric, main


def time_out(exponent):
    """Seconds of one try."""
    return 4.096e-6 * 2 ** exponent


class Case(OnFabric):
    WHAT = ("single-switch", "--hosts", "2", "--rails", "1")

    def setUp(self):
        super().setUp()
        self.a = Shell(self, "n0")
        self.b = Shell(self, "n1")
        self.books = [self.a, self.b]

    def tearDown(self):
        for shell in self.books:
            books = shell.ask("audit")
            self.assertTrue(books["guards"], "a byte beside the registered memory has changed")
            self.assertEqual(books["missing"], [], "work requests that never completed")
            self.assertEqual(books["repeated"], [], "work requests that completed more than once")
        self.wait_for_rest()

    def wait_for_rest(self):
        end = time.monotonic() + PATIENCE
        while "network: at rest, all credits home" not in self.status():
            self.assertLess(time.monotonic(), end, "packets stay under way")
            time.sleep(0.01)

    def status(self):
        return fabric("status", "--name", self.name).stdout

    def fault(self, *words):
        for each in words:
            fabric("fault", each, "--name", self.name)

    def same(self, one, offset, other, other_offset, count):
        self.assertEqual(one.look(offset, count), other.look(other_offset, count))

    def works(self, mine=0, **path):
        """A message each way by new queue pairs."""
        here, there = connect(self.a, self.b, **path)
        self.a.ask("fill", offset=0, bytes=5000, seed=9)
        self.a.expect((self.a.post("write", self.b, qp=here, bytes=5000), "SUCCESS"))
        self.same(self.a, 0, self.b, 0, 5000)
        self.b.expect((self.b.post("read", self.a, qp=there, bytes=5000), "SUCCESS"))

    def give_up(self, shell, qp=0):
        """To the error state, which flushes what still waits."""
        shell.ask("modify", qp=qp, state="ERR")


class Outages(Case):
    def test_longer_than_all_retries(self):
        connect(self.a, self.b, timeout=12, retries=2)
        self.a.expect((self.a.post("write", self.b, bytes=10), "SUCCESS"))
        self.fault("link n1/hw0 down")
        self.b.expect_events("PORT_ERR")
        start = time.monotonic()
        first = self.a.post("write", self.b, bytes=100000)
        second = self.a.post("send", bytes=10)
        receive = self.a.receive(bytes=10)
        wanted = {first: "RETRY_EXC_ERR", second: "WR_FLUSH_ERR", receive: "WR_FLUSH_ERR"}
        found = self.a.poll(3)
        self.assertGreaterEqual(time.monotonic() - start, time_out(12) * 3)
        self.assertEqual(found[0], (first, "RETRY_EXC_ERR"))
        self.assertEqual(dict(found), wanted)
        self.a.expect_events()  # its own port is well
        self.assertEqual(self.a.state(), "ERR")
        self.a.expect((self.a.post("send", bytes=10), "WR_FLUSH_ERR"))
        self.fault("link n1/hw0 up")
        self.b.expect_events("PORT_ACTIVE")
        self.works()

    def test_shorter_is_ridden_through(self):
        connect(self.a, self.b, timeout=17)  # 0.54 s, eight times
        self.a.ask("fill", offset=0, bytes=100000, seed=1)
        self.fault("link n0/hw0 down")
        write = self.a.post("write", self.b, bytes=100000)
        receive = self.b.receive(bytes=1000)
        send = self.a.post("send", bytes=1000)
        self.assertEqual(self.a.poll(1, 100), [])
        self.fault("link n0/hw0 up")
        self.a.expect((write, "SUCCESS"), (send, "SUCCESS"))
        self.b.expect((receive, "SUCCESS"))
        self.same(self.a, 1000, self.b, 1000, 99000)
        self.a.expect_events("PORT_ERR", "PORT_ACTIVE")

    def test_dead_switch(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.fault("switch switch0 dead")
        for shell in (self.a, self.b):
            shell.expect_events("PORT_ERR")
        self.a.expect((self.a.post("write", self.b, bytes=100), "RETRY_EXC_ERR"))
        self.fault("switch switch0 alive")
        for shell in (self.a, self.b):
            shell.expect_events("PORT_ACTIVE")
        self.works()

    def test_dead_adapter(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.fault("adapter n1/hw0 dead")
        self.assertIn("DEVICE_FATAL", self.b.events())
        self.a.expect((self.a.post("write", self.b, bytes=100), "RETRY_EXC_ERR"))
        own = self.b.post("write", self.a, bytes=100)
        self.assertEqual(self.b.poll(1, 100), [])
        self.give_up(self.b)
        self.b.expect((own, "WR_FLUSH_ERR"))

    def test_killed_process(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.a.expect((self.a.post("write", self.b, bytes=100), "SUCCESS"))
        self.assertEqual(self.status().count("client: process"), 2)
        self.b.process.send_signal(signal.SIGKILL)
        self.b.process.wait()
        self.books.remove(self.b)
        self.a.expect((self.a.post("write", self.b, bytes=100), "RETRY_EXC_ERR"))
        self.assertEqual(self.status().count("client: process"), 1)
        self.b = Shell(self, "n1")
        self.books.append(self.b)
        self.works()

    def test_killed_in_the_middle(self):
        """Both ends have requests under way without end."""
        connect(self.a, self.b, timeout=10, retries=1)
        for shell, other in ((self.a, self.b), (self.b, self.a)):
            shell.tell("flow", op="write", bytes=1 << 19, remote=other.facts["address"], rkey=other.facts["rkey"])
        end = time.monotonic() + PATIENCE
        while int(re.search(r"(\d+) completions", self.status()).group(1)) < 100:
            self.assertLess(time.monotonic(), end, "there is no traffic")
            time.sleep(0.01)
        self.b.process.send_signal(signal.SIGKILL)
        self.b.process.wait()
        self.books.remove(self.b)
        with self.assertRaisesRegex(AssertionError, "transport retry counter exceeded"):
            self.a.hear()
        self.assertEqual(self.a.poll(7)[0][1], "WR_FLUSH_ERR")
        self.books.remove(self.a)  # a flow uses one number for all its requests


class Migration(Case):
    WHAT = ("single-switch", "--hosts", "2", "--rails", "1", "--ports", "2")

    def arm(self):
        """One message each way tells both ends that the other is ready."""
        for shell, other in ((self.a, self.b), (self.b, self.a)):
            shell.expect((shell.post("write", other, bytes=8), "SUCCESS"))
        for shell in (self.a, self.b):
            self.assertEqual(shell.ask("query")["migration"], "ARMED")

    def migrates(self, port_now):
        self.a.ask("fill", offset=0, bytes=100000, seed=port_now)
        ids = [self.a.post("write", self.b, bytes=100000) for _ in range(10)]
        self.a.expect(*((each, "SUCCESS") for each in ids))
        self.same(self.a, 0, self.b, 0, 100000)
        self.b.expect_events("PATH_MIG")
        for shell in (self.a, self.b):
            facts = shell.ask("query")
            self.assertEqual((facts["state"], facts["migration"]), ("RTS", "MIGRATED"))
            self.assertEqual(facts["path_port"], port_now)

    def test_there_and_back(self):
        connect(self.a, self.b, alternate_port=2, timeout=10, retries=2)
        self.arm()
        self.fault("link n0/hw0:1 down")
        self.migrates(2)
        self.a.expect_events("PORT_ERR", "PATH_MIG")
        self.fault("link n0/hw0:1 up")
        self.a.expect_events("PORT_ACTIVE")
        for shell, other in ((self.a, self.b), (self.b, self.a)):
            shell.ask("rearm", lid=other.facts["lids"][0], port=1, timeout=10)
        self.arm()
        self.fault("link n0/hw0:2 blackhole both")
        self.migrates(1)
        self.a.expect_events("PATH_MIG")

    def test_both_paths_gone(self):
        connect(self.a, self.b, alternate_port=2, timeout=10, retries=2)
        self.arm()
        self.fault("link n0/hw0:1 blackhole", "link n0/hw0:2 blackhole")
        self.a.expect((self.a.post("write", self.b, bytes=8), "RETRY_EXC_ERR"))
        self.a.expect_events("PATH_MIG")


class Losses(Case):
    def test_acknowledgement_lost_after_delivery(self):
        connect(self.a, self.b, timeout=10, retries=2)
        self.a.ask("fill", offset=0, bytes=5000, seed=2)
        self.fault("acks n0/hw0 lose")
        receive = self.b.receive(bytes=5000)
        self.a.expect((self.a.post("send", bytes=5000), "RETRY_EXC_ERR"))
        self.b.expect((receive, "SUCCESS"))
        self.same(self.a, 0, self.b, 0, 5000)
        self.fault("acks n0/hw0 keep")
        self.works()

    def test_one_lost_acknowledgement_is_repaired(self):
        connect(self.a, self.b, timeout=10)
        self.fault("acks n0/hw0 lose 1")
        first, second = self.b.receive(bytes=100), self.b.receive(bytes=100)
        self.a.expect((self.a.post("send", bytes=100), "SUCCESS"))
        self.b.expect((first, "SUCCESS"))  # once, although it was sent twice
        self.give_up(self.b)
        self.b.expect((second, "WR_FLUSH_ERR"))

    def test_black_hole(self):
        for direction, arrives in (("in", True), ("out", False), ("both", False)):
            with self.subTest(direction):
                qp, _ = connect(self.a, self.b, timeout=10, retries=1)
                self.a.ask("fill", offset=0, bytes=100, seed=3)
                self.b.ask("fill", offset=0, bytes=100, seed=4)
                before = self.b.look(0, 100)
                self.fault(f"link n0/hw0 blackhole {direction}")
                self.a.expect((self.a.post("write", self.b, qp=qp, bytes=100), "RETRY_EXC_ERR"))
                self.assertEqual(self.b.look(0, 100), (self.a.look(0, 100) if arrives else before))
                self.a.expect_events()
                self.b.expect_events()
                self.assertEqual(self.a.ask("query")["port_state"], "active")
                self.fault("link n0/hw0 clear")

    def test_random_loss(self):
        connect(self.a, self.b, timeout=8)
        self.a.ask("fill", offset=0, bytes=300000, seed=5)
        self.b.ask("fill", offset=0, bytes=1 << 20, seed=6)
        self.b.ask("store", offset=1000000, value=0)
        self.fault("link n0/hw0 loss 0.1")
        ids, receives = [], []
        for i in range(40):
            receives.append(self.b.receive(offset=400000 + i * 3000, bytes=3000))
            ids.append(self.a.post("write", self.b, offset=i * 3000, bytes=3000, at=i * 3000))
            ids.append(self.a.post("send", offset=i * 3000, bytes=3000))
            ids.append(self.a.post("read", self.b, offset=500000 + i * 3000, bytes=3000, at=700000 + i * 3000))
            ids.append(self.a.post("add", self.b, offset=1000000, bytes=8, at=1000000, compare_add=3))
        self.a.expect(*((each, "SUCCESS") for each in ids))
        self.b.expect(*((each, "SUCCESS") for each in receives))
        self.same(self.a, 0, self.b, 0, 120000)
        self.same(self.a, 0, self.b, 400000, 120000)
        self.same(self.a, 500000, self.b, 700000, 120000)
        self.assertEqual(int.from_bytes(bytes(self.b.look(1000000, 8)["values"]), "little"), 120)
        dropped = int(re.search(r"(\d+) dropped", self.status()).group(1))
        self.assertGreater(dropped, 0)

    def test_corrupted_payload(self):
        connect(self.a, self.b)
        self.a.ask("fill", offset=0, bytes=1000, seed=7)
        self.fault("payload n1/hw0 corrupt 1")
        self.a.expect((self.a.post("write", self.b, bytes=1000), "SUCCESS"))
        pairs = zip(self.a.look(0, 1000)["values"], self.b.look(0, 1000)["values"])
        self.assertEqual(sum(bin(one ^ other).count("1") for one, other in pairs), 1)
        self.a.expect((self.a.post("write", self.b, bytes=1000), "SUCCESS"))
        self.same(self.a, 0, self.b, 0, 1000)

    def test_request_that_never_completes(self):
        connect(self.a, self.b, timeout=8, retries=1)
        self.fault("qp n0/hw0 any hang")
        first = self.a.post("write", self.b, bytes=100)
        second = self.a.post("write", self.b, bytes=100)
        self.assertEqual(self.a.poll(1, 200), [])
        self.assertEqual(self.a.state(), "RTS")
        self.give_up(self.a)
        self.a.expect((first, "WR_FLUSH_ERR"), (second, "WR_FLUSH_ERR"))

    def test_killed_queue_pair(self):
        connect(self.a, self.b, timeout=10, retries=1)
        receive = self.b.receive(bytes=10)
        self.fault("qp n1/hw0 any kill")
        self.b.expect_events("QP_FATAL")
        self.b.expect((receive, "WR_FLUSH_ERR"))
        self.a.expect((self.a.post("send", bytes=10), "RETRY_EXC_ERR"))
        self.works()


class DegradedRates(Case):
    WHAT = ("back-to-back", "--rails", "1", "--rate", "400MB/s")

    def seconds(self, count):
        start = time.monotonic()
        self.a.expect((self.a.post("write", self.b, bytes=count), "SUCCESS"))
        return time.monotonic() - start

    def test_degraded(self):
        connect(self.a, self.b, timeout=18)
        count = 1 << 20
        self.assertGreaterEqual(self.seconds(count), count / 4e8)
        self.fault("link n1/hw0 rate 10%")
        self.assertGreaterEqual(self.seconds(count), count / 4e7)
        self.fault("link n0/hw0 rate 10MB/s")
        self.assertGreaterEqual(self.seconds(count), count / 1e7)
        self.fault("link n0/hw0 clear")
        self.assertGreaterEqual(self.seconds(count), count / 4e8)


class Programs(Case):
    """What the two programs do wrong."""

    def test_receiver_not_ready_is_retried(self):
        connect(self.a, self.b)
        self.a.ask("fill", offset=0, bytes=5000, seed=8)
        send = self.a.post("send", bytes=5000)
        self.assertEqual(self.a.poll(1, 20), [])
        receive = self.b.receive(bytes=5000)
        self.a.expect((send, "SUCCESS"))
        self.b.expect((receive, "SUCCESS"))
        self.same(self.a, 0, self.b, 0, 5000)

    def test_receiver_never_ready(self):
        connect(self.a, self.b, rnr_retries=3, rnr_timer=18)  # 5.12 ms
        start = time.monotonic()
        first, second = self.a.post("send", bytes=10), self.a.post("write", self.b, bytes=10)
        self.a.expect((first, "RNR_RETRY_EXC_ERR"), (second, "WR_FLUSH_ERR"))
        self.assertGreaterEqual(time.monotonic() - start, 3 * 5.12e-3)
        self.assertEqual(self.b.state(), "RTS")

    def refused(self, status, event, op, **arguments):
        with self.subTest(op=op, **arguments):
            qp, peer = connect(self.a, self.b)
            self.b.ask("fill", offset=0, bytes=1 << 20, seed=10)
            before = self.b.look(0, 1 << 20)
            bad = self.a.post(op, self.b, qp=qp, **{"bytes": 100, **arguments})
            after = self.a.post("write", self.b, qp=qp, bytes=10)
            self.a.expect((bad, status), (after, "WR_FLUSH_ERR"))
            self.assertEqual(self.a.state(qp=qp), "ERR")
            self.assertEqual(self.b.look(0, 1 << 20), before)
            if event is None:
                self.assertEqual(self.b.state(qp=peer), "RTS")
                self.b.expect_events()
            else:
                self.assertEqual(self.b.state(qp=peer), "ERR")
                self.b.expect_events(event)

    def test_local_protection(self):
        for op in ("write", "send", "read"):
            self.refused("LOC_PROT_ERR", None, op, lkey=self.a.facts["lkey"] ^ 1)
            self.refused("LOC_PROT_ERR", None, op, offset=(1 << 20) - 99)
            self.refused("LOC_PROT_ERR", None, op, offset=-1)

    def test_remote_access(self):
        for op in ("write", "read"):
            self.refused("REM_ACCESS_ERR", "QP_ACCESS_ERR", op, rkey=self.b.facts["rkey"] ^ 1)
            self.refused("REM_ACCESS_ERR", "QP_ACCESS_ERR", op, at=(1 << 20) - 99)
            self.refused("REM_ACCESS_ERR", "QP_ACCESS_ERR", op, at=-1)
        self.refused("REM_ACCESS_ERR", "QP_ACCESS_ERR", "add", bytes=8, rkey=self.b.facts["rkey"] ^ 1)

    def test_invalid_request(self):
        self.refused("REM_INV_REQ_ERR", "QP_REQ_ERR", "add", bytes=8, at=4)  # atomics are aligned

    def test_message_longer_than_the_receive(self):
        connect(self.a, self.b)
        first, second = self.b.receive(bytes=5000), self.b.receive(bytes=5000)
        self.a.expect((self.a.post("send", bytes=6000), "REM_INV_REQ_ERR"))
        self.b.expect((first, "LOC_LEN_ERR"), (second, "WR_FLUSH_ERR"))


class Addresses(Case):
    def test_forwarding_tables(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.fault(f"tables switch0 {self.b.facts['lids'][0]} 20")  # a port without a cable
        self.a.expect((self.a.post("write", self.b, bytes=10), "RETRY_EXC_ERR"))
        self.fault("tables reroute")
        self.works()

    def test_lid(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.fault("lid n1/hw0 500")
        self.b.expect_events("LID_CHANGE")
        self.a.expect((self.a.post("write", self.b, bytes=10), "RETRY_EXC_ERR"))
        self.assertEqual(self.b.ask("query")["lid"], 500)
        self.b.facts["lids"] = [500]
        self.works()
        self.fault("sm change")
        for shell in (self.a, self.b):
            shell.expect_events("SM_CHANGE", "CLIENT_REREGISTER")

    def test_schedule(self):
        """Down and up again at their times: the log has the model's clock, which is exact."""
        with tempfile.NamedTemporaryFile("w", suffix=".faults") as file:
            file.write("# out, and in again\n0.10 link n0/hw0 down\n0.35 link n0/hw0 up  # healed\n")
            file.flush()
            fabric("schedule", file.name, "--name", self.name)
        self.a.expect_events("PORT_ERR", "PORT_ACTIVE")
        text = self.status()
        times = [float(re.search(rf"^([\d.]+) link n0/hw0 {what}$", text, re.M).group(1)) for what in ("down", "up")]
        self.assertAlmostEqual(times[1] - times[0], 0.25, delta=2e-6)
        self.assertIn("faults so far: 2; still to come: 0", text)
        self.works()


class Roce(Case):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".parameters") as file:
            file.write("link-layer ethernet\n")
            file.flush()
            self.WHAT = (*Case.WHAT, "--parameters", file.name)
            super().setUp()

    def test_moved_gid(self):
        connect(self.a, self.b, timeout=10, retries=1)
        self.a.expect((self.a.post("write", self.b, bytes=10), "SUCCESS"))
        self.fault("gid n1/hw0 move 0 3")
        self.b.expect_events("GID_CHANGE")
        self.assertEqual(self.b.ask("query")["gid"], "0" * 32)
        self.a.expect((self.a.post("write", self.b, bytes=10), "RETRY_EXC_ERR"))
        self.fault("gid n1/hw0 move 3 0")
        self.b.expect_events("GID_CHANGE")
        self.works()


if __name__ == "__main__":
    import sys
    main(*sys.argv[2:])
