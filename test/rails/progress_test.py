#!/usr/bin/env python3
"""Progress while the program computes, in real processes.  Usage: progress_test.py HAWSER RANKS [unittest arguments]"""
import os
import subprocess
import sys
import tempfile
import unittest

RANKS = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, PATIENCE, OnFabric, fabric, main  # noqa: E402
from hawser_lab import processes  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")


class Progress(OnFabric):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "2")

    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def environment(self, **variables):
        return {**os.environ, "HAWSER_PROGRESS": "interrupt", "HAWSER_NETWORK": "rails",
                "COMPUTING_RANK_NOTE": os.path.join(self.folder.name, "note"),
                **variables}

    def run_job(self, what, **variables):
        job = subprocess.run([MPIEXEC, "-n", "2", "--fabric", self.name, RANKS, what], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False, env=self.environment(**variables))
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        return job.stdout

    def test_large_messages_arrive_at_a_rank_that_computes(self):
        for rendezvous in ("read", "write"):
            with self.subTest(rendezvous):
                self.run_job("large", HAWSER_RAIL_RENDEZVOUS=rendezvous)
                os.remove(os.path.join(self.folder.name, "note"))

    def test_with_several_threads(self):
        self.run_job("multiple")

    def test_over_sockets(self):
        self.run_job("large", HAWSER_NETWORK="socket")

    def test_collective_operations(self):
        self.run_job("collective")

    def test_memory_goes_away_meanwhile(self):
        self.run_job("unmap")

    def test_idle_programs_are_not_woken(self):
        self.run_job("idle")

    def test_children_have_no_such_thread(self):
        self.run_job("fork")

    def fault_while_the_receiver_computes(self, down):
        job = subprocess.Popen([MPIEXEC, "-n", "2", "--fabric", self.name, RANKS, "large"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
                               env=self.environment(COMPUTING_RANK_WAITS="1"))
        self.started.append(job)
        for number in range(3):
            self.assertEqual(processes.read_line(job).strip(), f"sent {number}")
        fabric("fault", down, "--name", self.name)
        output, _ = job.communicate("go on\n", timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, output)

    def test_own_cable_fails(self):
        self.fault_while_the_receiver_computes("link n0/hw0 down")

    def test_cable_of_the_computing_rank_fails(self):
        self.fault_while_the_receiver_computes("link n1/hw1 down")

    def test_adapter_of_the_computing_rank_dies(self):
        self.fault_while_the_receiver_computes("adapter n1/hw0 dead")


if __name__ == "__main__":
    main(*sys.argv[2:])
