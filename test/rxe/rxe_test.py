#!/usr/bin/env python3
"""MPI over a kernel's soft RoCE, with default settings.  Usage: rxe_test.py BUILD [unittest arguments]

Nothing here waits for a time: a fault comes when messages were seen to move, and ends when the library has said in its
event log what it made of it.
"""
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.argv[1] = str(BUILD / "bin" / "hawser")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / part) for part in ("provider", "rails")]
from fabric_case import PATIENCE, main  # noqa: E402
from traffic import Traffic  # noqa: E402
from guests import Guests  # noqa: E402
from hawser_lab import processes  # noqa: E402

CONFORMANCE = BUILD / "test" / "conformance" / "conformance"
STEADY_TRAFFIC = BUILD / "test" / "steady_traffic"
GUESTS = Guests(BUILD / "rxe")


def setUpModule():
    unittest.enterModuleContext(GUESTS)


def job(ranks, *program, **variables):
    """The words that run a program on both guests, half of the ranks on each, with output and input of rank 0 here."""
    settings = {"PATH": f"{BUILD}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH": f"{BUILD}/lib",
                "HAWSER_EVENT_LOG": "/run/events.%r", **variables}
    exports = " ".join(f"{name}='{value}'" for name, value in settings.items())
    return GUESTS.command(1, f"rm -f /run/events.*; cd /run; {exports} exec mpiexec.hydra -launcher rsh -launcher-exec "
                             f"{GUESTS.shell} -iface eth2 -hosts 10.9.0.1,10.9.0.2 -n {ranks} -ppn {ranks // 2} "
                             + " ".join(map(str, program)))


class OnGuests(unittest.TestCase):
    def setUp(self):
        self.started = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        processes.end_all(self.started)
        for number in GUESTS.numbers:
            # The pattern must not fit the shell that runs this.
            GUESTS.on(number, "pkill -9 -f '[h]ydra|[c]onformance|[s]teady_traffic'; for i in 0 1; do "
                              "tc qdisc del dev eth$i root 2>/dev/null; ip addr flush dev eth$i scope global; "
                              f"ip addr add 10.0.$i.{number}/24 dev eth$i; ip link set eth$i up; done; true")

    def events(self, number=1, rank=0):
        return GUESTS.on(number, f"cat /run/events.{rank} 2>/dev/null; true").splitlines()

    def await_event(self, pattern, since=0, number=1, rank=0):
        """How many events there were up to the first one behind `since` that is so."""
        end = time.monotonic() + PATIENCE
        while True:
            events = self.events(number, rank)
            for at, line in enumerate(events[since:], since + 1):
                if re.search(pattern, line):
                    return at
            self.assertLess(time.monotonic(), end, f"no event '{pattern}' in\n" + "\n".join(events))
            time.sleep(0.2)


class Programs(OnGuests):
    def run_job(self, ranks, *program, **variables):
        done = subprocess.run(job(ranks, *program, **variables), capture_output=True, text=True, timeout=400,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)
        return done.stdout

    def conform(self, ranks, chapter, **variables):
        output = self.run_job(ranks, CONFORMANCE, "--filter", f"{chapter}.", "--timeout", 120, **variables)
        self.assertRegex(output, rf"{ranks} ranks: [1-9]\d* cases, 0 failed")
        ready = [line for line in self.events() if "condition=ready" in line]
        for rail in (0, 1):
            self.assertTrue(any(f"port=rxe{rail}/1" in line for line in ready), f"rail {rail} was not used: {ready}")

    def test_devices(self):
        devices = GUESTS.on(1, f"ibv_devinfo; LD_LIBRARY_PATH={BUILD}/lib {BUILD}/bin/hawser info")
        for rail in (0, 1):
            self.assertRegex(devices, rf"hca_id:\s*rxe{rail}")

    def test_messages(self):
        self.conform(4, "pt2pt_basic")

    def test_order(self):
        self.conform(4, "pt2pt_order")

    def test_collectives_of_eight(self):
        self.conform(8, "coll_move")

    def test_windows(self):
        self.conform(4, "window_data")

    def test_windows_locked_and_fenced(self):
        self.conform(4, "window_epochs")

    def test_interrupts(self):
        self.conform(2, "pt2pt_requests", HAWSER_PROGRESS="interrupt")

    def test_checksums(self):
        self.conform(2, "pt2pt_types", HAWSER_CHECKSUM="on")


class Faults(Traffic, OnGuests):
    def start(self, **variables):
        self.start_job(job(2, STEADY_TRAFFIC, **variables))

    def fail_and_recover(self, break_it, seen, mend_it, rail, on=1):
        self.start()
        usual = self.goes_on()
        before = len(self.events())
        GUESTS.on(on, break_it)
        failed = self.await_event(seen, before)
        pause = self.goes_on()
        GUESTS.on(on, mend_it)
        self.await_event(rf"port=rxe{rail}/1 .*condition=ready.* reason=recovery", failed)
        self.goes_on()
        self.finish_job()
        print(f"\n{self.id().split('.')[-1]}: longest round {pause:.0f} ms, before the fault {usual:.0f} ms", end="", flush=True)

    def test_own_port(self):
        self.fail_and_recover("ip link set eth1 down", "port=rxe1/1 .*condition=stopping", "ip link set eth1 up", 1)

    def test_port_of_the_peer(self):
        self.fail_and_recover("ip link set eth0 down", "port=rxe0/1 .*condition=stopping", "ip link set eth0 up", 0, on=2)

    def test_black_hole(self):
        self.fail_and_recover("tc qdisc add dev eth1 root netem loss 100%", "port=rxe1/1 .*condition=stopping",
                              "tc qdisc del dev eth1 root", 1)

    def test_address_goes_and_comes_back(self):
        self.fail_and_recover("ip addr del 10.0.0.1/24 dev eth0", "port=rxe0/1 .*condition=stopping",
                              "ip addr add 10.0.0.1/24 dev eth0", 0)

    def test_another_address(self):
        self.fail_and_recover("ip addr del 10.0.0.1/24 dev eth0; ip addr add 10.0.0.77/24 dev eth0",
                              "port=rxe0/1 .*condition=stopping", "true", 0)

    def test_both_ports(self):
        self.start()
        before = len(self.events())
        GUESTS.on(1, "ip link set eth0 down; ip link set eth1 down")
        gone = self.await_event("event=partitioned", before)
        GUESTS.on(1, "ip link set eth0 up; ip link set eth1 up")
        self.await_event("event=rejoined", gone)
        self.goes_on()
        self.finish_job()

    def test_cable_that_is_out_at_the_start(self):
        GUESTS.on(2, "ip link set eth0 down")
        GUESTS.on(1, "ip neigh flush dev eth0")
        self.start()
        GUESTS.on(2, "ip link set eth0 up")
        self.await_event("port=rxe0/1 .*condition=ready")
        self.goes_on()
        self.finish_job()

    def test_loss_duplicates_and_reordering(self):
        for number in GUESTS.numbers:
            GUESTS.on(number, "tc qdisc add dev eth0 root netem loss 1% duplicate 1% reorder 10% delay 1ms")
        self.start()
        self.finish_job()

    def test_rails_of_unlike_speed(self):
        for number in GUESTS.numbers:
            GUESTS.on(number, "tc qdisc add dev eth1 root tbf rate 8mbit burst 64kb latency 100ms")
        self.start()
        self.goes_on()
        self.finish_job()


if __name__ == "__main__":
    os.environ.setdefault("TESTS_NEED_PACKAGES", "1")
    main(*sys.argv[2:])
