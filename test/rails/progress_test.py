#!/usr/bin/env python3
"""Progress while the program computes, in real processes.  Usage: progress_test.py HAWSER RANKS [unittest arguments]"""
import os
import subprocess
import sys
import tempfile
import unittest

RANKS = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, PATIENCE, OnFabric, fabric, main, needs  # noqa: E402
from hawser_lab import open_mpi, processes  # noqa: E402

with open(RANKS, "rb") as file:
    THREAD_SANITIZER = b"__tsan_init" in file.read()
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

    def tell(self, expected, *launcher, **variables):
        """What both ranks have, and why they say so."""
        variables = {"HAWSER_PROGRESS": "auto", "HAWSER_STATS": "on", **variables}
        job = subprocess.run([*launcher, RANKS, "tell"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             timeout=PATIENCE, check=False, env=self.environment(**variables))
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        what = expected.split(" ")[0]
        for rank in range(2):
            self.assertIn(f"rank {rank}: {what}, {'a' if what == 'interrupt' else 'no'} thread", job.stdout)
            self.assertIn(f"hawser: rank {rank}: progress {expected}", job.stderr)

    def test_auto_leaves_cores_to_the_ranks(self):
        mpiexec = [MPIEXEC, "-n", "2", "--fabric", self.name]
        cores = sorted(os.sched_getaffinity(0))
        on_two = ["taskset", "-c", ",".join(map(str, cores[:2]))]
        # The daemon that carries their messages is the third.
        self.tell("polling (auto: 3 processes share 1 core)", "taskset", "-c", str(cores[0]), *mpiexec)
        self.tell("polling (auto: 3 processes share 2 cores)", *on_two, *mpiexec)
        self.tell("polling (auto: no rails, ", *mpiexec, HAWSER_NETWORK="socket")
        self.tell(f"{'interrupt' if len(cores) > 3 else 'polling'} (auto: 3 processes share {len(cores)} core",
                  MPIEXEC, "--bind", "none", *mpiexec[1:])
        # Each is bound to a core of its own.
        self.tell("polling (auto: 1 process has 1 core)", *on_two, MPIEXEC, "--bind", "core", *mpiexec[1:])
        self.tell("interrupt (HAWSER_PROGRESS=interrupt)", *mpiexec, HAWSER_PROGRESS="interrupt")

    @unittest.skipIf(THREAD_SANITIZER, "Open MPI's daemons cannot load libraries with it")
    @needs("mpirun.openmpi")
    def test_auto_has_a_thread_where_a_core_is_left(self):
        """To mpirun each host is a machine of its own, but all hosts of a virtual fabric share this one."""
        cores = len(os.sched_getaffinity(0))
        variables = [word for name in ("NETWORK", "PROGRESS", "STATS") for word in ("-x", f"HAWSER_{name}")]
        mpirun = open_mpi.mpirun(self.fabric, self.folder.name, ["n0", "n1"], 2, variables)
        self.tell(f"{'interrupt' if cores > 3 else 'polling'} (auto: 3 processes share {cores} core", *mpirun)

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
