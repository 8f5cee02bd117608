#!/usr/bin/env python3
"""MPI's windows over rails in real processes while cables flap.  Usage: window_faults_test.py HAWSER ROUNDS CONFORMANCE

Four processes put, get and accumulate in each other's windows, and compare every number (window_rounds). Cables are
pulled and come back in the middle of that, and the test fails unless connections did fail and operations went on. The
same is done to programs that depend on what flushes and the ends of epochs order (conformance, window_litmus).
"""
import contextlib
import os
import re
import subprocess
import sys
import time

ROUNDS, CONFORMANCE = sys.argv.pop(2), sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, PATIENCE, OnFabric, fabric, main  # noqa: E402
from traffic import Traffic  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")
SECONDS = 3  # for which cables flap


class Job(Traffic, OnFabric):
    RANKS, HOSTS = 4, 4

    def setUp(self):
        self.WHAT = ("two-switch", "--hosts", str(self.HOSTS), "--rails", "2")
        super().setUp()
        self.log = f"/tmp/{self.name}.events"
        self.addCleanup(self.remove_logs)
        self.variables = {"HAWSER_NETWORK": "rails", "HAWSER_EVENT_LOG": f"{self.log}.%r"}

    def mpiexec(self, *program):
        return [MPIEXEC, "-n", str(self.RANKS), "--fabric", self.name, *program]

    def fault(self, pulled, state):
        """The cables in turn."""
        cable = f"n{pulled % self.HOSTS}/hw{pulled // self.HOSTS % 2}"
        fabric("fault", f"link {cable} {state}", "--name", self.name)

    def logs(self):
        return [f"{self.log}.{rank}" for rank in range(self.RANKS)]

    def remove_logs(self):
        for log in self.logs():
            with contextlib.suppress(FileNotFoundError):
                os.remove(log)

    def failures(self):
        """Of connections, as the processes saw them."""
        count = 0
        for log in self.logs():
            with open(log, encoding="ascii") as text:
                count += text.read().count("condition=stopping")
        return count


class Litmus(Job):
    def test_nothing_is_seen_too_early_or_written_too_late(self):
        pulled, failures, end = 0, 0, time.monotonic() + PATIENCE
        while pulled < 10:
            job = subprocess.Popen(self.mpiexec(CONFORMANCE, "--filter", "window_litmus."), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, **self.variables})
            self.started.append(job)
            while job.poll() is None:
                self.assertLess(time.monotonic(), end)
                for state in ("down", "up"):
                    self.fault(pulled, state)
                    time.sleep(0.03)  # how long a cable is out, or in
                pulled += 1
            output = job.stdout.read()
            self.assertEqual(job.returncode, 0, output)
            self.assertRegex(output, r"4 ranks: [1-9]\d* cases, 0 failed")
            failures += self.failures()
            self.remove_logs()
        print(f"\n{pulled} cables pulled, {failures} connections failed", end="")
        self.assertGreater(failures, 0)


class FlappingCables(Job):
    def setUp(self):
        super().setUp()
        self.start_job(self.mpiexec(ROUNDS), **self.variables)

    def goes_on(self, least=2):
        return super().goes_on(least)

    def test_every_number_is_right(self):
        end = time.monotonic() + SECONDS
        pulled, longest = 0, 0
        while time.monotonic() < end:
            for state in ("down", "up"):
                self.fault(pulled, state)
                longest = max(longest, self.goes_on())
            pulled += 1
        self.job.stdin.close()
        self.job.stdin = None
        output, _ = self.job.communicate(timeout=PATIENCE)
        self.assertEqual(self.job.returncode, 0, output)
        done = re.search(r"(\d+) rounds right, (\d+) operations", output)
        self.assertTrue(done, output)
        failures = self.failures()
        print(f"\n{pulled} cables pulled, {failures} connections failed, {done[1]} rounds with {done[2]} operations "
              f"right, longest round {longest:.0f} ms", end="")
        self.assertGreaterEqual(failures, 2 * pulled)
        self.assertGreater(int(done[1]), 4 * pulled)
        self.assertGreater(int(done[2]), 100 * pulled)


class TwoHosts(FlappingCables):
    """Two processes of each host share memory, and reach the others over rails."""
    HOSTS = 2


if __name__ == "__main__":
    main(*sys.argv[2:])
