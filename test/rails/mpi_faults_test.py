#!/usr/bin/env python3
"""MPI over rails in real processes while things fail.  Usage: mpi_faults_test.py HAWSER TRAFFIC [unittest arguments]

Two processes exchange checked messages without end; every case makes something fail, sees that traffic goes on,
heals it, sees that traffic goes on, and at the end every byte was right.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

TRAFFIC = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, PATIENCE, OnFabric, fabric, main  # noqa: E402
from traffic import Traffic  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")


class Job(Traffic, OnFabric):
    """Two processes on two hosts that exchange messages."""
    WHAT = ("two-switch", "--hosts", "2", "--rails", "2")
    variables = {}

    def setUp(self):
        super().setUp()
        self.start_job([MPIEXEC, "-n", "2", "--fabric", self.name, TRAFFIC], HAWSER_NETWORK="rails", **self.variables)

    def fault(self, text):
        fabric("fault", text, "--name", self.name)


class SilentNeighbour(Job):
    """A port of the peer's is out from the start, while the own one is up: the kernel waits for it in each call."""
    WHAT = ("single-switch", "--hosts", "2", "--rails", "2", "--parameters",
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "silent_neighbours.parameters"))

    def start_job(self, command, **variables):
        self.fault("link n1/hw0 down")
        super().start_job(command, **variables)

    def test_holds_nobody_up(self):
        self.assertLess(self.goes_on(), 10_000)
        self.fault("link n1/hw0 up")
        self.assertLess(self.goes_on(), 10_000)
        self.fault("link n1/hw1 down")  # what was out carries everything, as soon as it has answered
        self.goes_on()
        self.finish_job()


class LockedMemory(OnFabric):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "2", "--parameters",
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "no_locked_memory.parameters"))

    def test_too_little_is_said_by_mpi_init(self):
        job = subprocess.run([MPIEXEC, "-n", "2", "--fabric", self.name, TRAFFIC], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False,
                             env={**os.environ, "HAWSER_NETWORK": "rails"})
        self.assertNotEqual(job.returncode, 0, job.stdout)
        self.assertRegex(job.stderr, r"ibv_reg_mr.* on hw0.*RLIMIT_MEMLOCK, `ulimit -l`")


class MpiFaults(Job):
    def fails_and_heals(self, *pairs):
        for down, up in pairs:
            self.fault(down)
            print(f"\n{self.id().split('.')[-1]}: {down}: longest round {self.goes_on():.1f} ms", end="")
            if up:
                self.fault(up)
                print(f"; {up}: {self.goes_on():.1f} ms", end="")
        self.finish_job()

    def test_cable_out_and_in(self):
        self.fails_and_heals(("link n0/hw0 down", "link n0/hw0 up"), ("link n1/hw1 down", "link n1/hw1 up"))

    def test_cable_flaps(self):
        for _ in range(5):
            self.fault("link n0/hw0 down")
            self.goes_on(5)
            self.fault("link n0/hw0 up")
            self.goes_on(5)
        self.finish_job()

    def test_remote_end(self):
        self.fails_and_heals(("link n1/hw0 blackhole both", "link n1/hw0 clear"))

    def test_switch_dies(self):
        self.fails_and_heals(("switch switch0 dead", "switch switch0 alive"))

    def test_queue_pairs_die(self):
        self.fails_and_heals(("qp n0/hw0 any kill", None), ("qp n1/hw1 any kill", None))

    def test_a_request_hangs(self):
        self.fails_and_heals(("qp n0/hw0 all hang", None))

    def test_lost_acknowledgements(self):
        self.fails_and_heals(("acks n0/hw0 lose 20", None), ("acks n1/hw1 lose", "acks n1/hw1 keep"))

    def test_slow_rail(self):
        self.fails_and_heals(("link n0/hw0 rate 10MB/s", "link n0/hw0 rate 100%"))

    def test_lossy_rail(self):
        self.fails_and_heals(("link n0/hw1 loss 0.02", "link n0/hw1 clear"))

    def test_adapters_die_and_come_back(self):
        """One that comes back is opened anew, and carries everything while the other one is out."""
        for adapter, other in (("n0/hw0", "n0/hw1"), ("n0/hw1", "n0/hw0"), ("n1/hw0", "n1/hw1")):
            self.fault(f"adapter {adapter} dead")
            self.goes_on()
            self.fault(f"adapter {adapter} alive")
            self.fault(f"link {other} down")
            self.goes_on()
            self.fault(f"link {other} up")
            self.goes_on()
        self.finish_job()

    def test_the_only_adapter_left_dies_and_comes_back(self):
        self.fault("link n0/hw1 down")
        self.goes_on()
        self.fault("adapter n1/hw0 dying")
        self.ask()
        time.sleep(0.2)
        self.fault("adapter n1/hw0 dead")
        time.sleep(0.2)
        self.fault("adapter n1/hw0 alive")
        self.answer()
        self.goes_on()
        self.finish_job()

    def test_all_adapters_die_and_come_back(self):
        """As after a restart of the driver on all hosts: each end has new addresses, and knows only old ones of the
        other's. They find each other by way of the launcher."""
        adapters = [f"adapter {host}/{adapter}" for host in ("n0", "n1") for adapter in ("hw0", "hw1")]
        for adapter in adapters:
            self.fault(f"{adapter} dead")
        self.ask()
        time.sleep(0.2)  # all are out
        for adapter in adapters:
            self.fault(f"{adapter} alive")
        self.answer()
        self.goes_on()
        self.finish_job()

    def test_partition(self):
        """Nothing goes through while all rails are down; everything does when the other one returns first."""
        self.fault("link n0/hw0 down")
        self.goes_on()
        self.fault("link n0/hw1 down")
        self.ask()
        time.sleep(1)  # the partition lasts
        self.fault("link n0/hw0 up")
        self.answer()
        self.goes_on()
        self.fault("link n0/hw1 up")
        self.goes_on()
        self.finish_job()


# Hosts on two leaves, with a way over each of two spines: the LIDs of one port take different ways.
TWO_SPINES = "".join(f"""Switch 4 "LEAF{leaf}"
[1] "n{leaf}/hw0"[1]
[3] "SPINE0"[{leaf + 1}]
[4] "SPINE1"[{leaf + 1}]

""" for leaf in (0, 1)) + "".join(f"""Switch 4 "SPINE{spine}"
[1] "LEAF0"[{3 + spine}]
[2] "LEAF1"[{3 + spine}]

""" for spine in (0, 1)) + "".join(f"""Hca 1 "n{host}/hw0"
[1] "LEAF{host}"[1]

""" for host in (0, 1))


class Migrating(Job):
    """What adapters save by themselves: connections migrate, and software has nothing to fail over from."""

    def setUp(self):
        self.log = tempfile.NamedTemporaryFile("r", suffix=".events")
        self.addCleanup(self.log.close)
        # A second engine is tried when traffic is slow, and its connection has no second path in its first moments.
        self.variables = {"HAWSER_EVENT_LOG": self.log.name + ".%r", "HAWSER_RAIL_ENGINES": "1"}
        self.addCleanup(self.remove_logs)
        super().setUp()
        # Traffic arms both adapters.
        self.wait_for("event=alternate_loaded")

    def remove_logs(self):
        for rank in (0, 1):
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{self.log.name}.{rank}")

    def events(self):
        text = ""
        for rank in (0, 1):
            with contextlib.suppress(FileNotFoundError), open(f"{self.log.name}.{rank}", encoding="ascii") as log:
                text += log.read()
        return text

    def wait_for(self, what, count=1):
        end = time.monotonic() + PATIENCE
        while self.events().count(what) < count:
            self.assertLess(time.monotonic(), end, f"no {what}:\n{self.events()}")
            self.goes_on(1)

    def expect_no_failure(self):
        self.assertNotIn("condition=stopping", self.events())
        self.finish_job()


class MigratingPorts(Migrating):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "1", "--ports", "2")

    def test_cable_of_one_port(self):
        self.fault("link n0/hw0:1 down")
        self.wait_for("event=migrated to_port=2", 2)
        self.goes_on()
        self.fault("link n0/hw0:1 up")
        self.wait_for("event=migrated to_port=1", 2)  # and home again
        self.goes_on()
        self.expect_no_failure()


class MigratingPaths(Migrating):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".net") as file:
            file.write(TWO_SPINES)
            file.flush()
            self.WHAT = (file.name, "--lmc", "1")
            super().setUp()

    def test_cable_to_a_spine(self):
        """With one path and one rail, software would have no other way."""
        self.fault("link LEAF0:4 blackhole both")
        self.goes_on()
        self.fault("link LEAF0:4 clear")
        self.fault("link LEAF0:3 blackhole both")
        self.wait_for("event=migrated", 2)
        self.goes_on()
        self.expect_no_failure()


if __name__ == "__main__":
    main(*sys.argv[2:])
