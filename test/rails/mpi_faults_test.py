#!/usr/bin/env python3
"""MPI over rails in real processes while things fail.  Usage: mpi_faults_test.py HAWSER TRAFFIC [unittest arguments]

Two processes exchange checked messages without end; every case makes something fail, sees that traffic goes on,
heals it, sees that traffic goes on, and at the end every byte was right.
"""
import os
import select
import subprocess
import sys
import time
import unittest

TRAFFIC = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "verbs"))
from fabric_case import HAWSER, PATIENCE, OnFabric, fabric  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")


class MpiFaults(OnFabric):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "2")

    def setUp(self):
        super().setUp()
        self.job = subprocess.Popen([MPIEXEC, "-n", "2", "--fabric", self.name, TRAFFIC], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
                                    env={**os.environ, "HAWSER_NETWORK": "rails"})
        self.started.append(self.job)
        self.goes_on()

    def rounds(self):
        """Rounds since the last question, and the longest of them in milliseconds."""
        self.job.stdin.write("tell\n")
        line = self.answer()
        self.assertRegex(line, r"^\d+ \d+$", line + (self.job.stdout.read() if not line[:1].isdigit() else ""))
        rounds, longest = line.split()
        return int(rounds), int(longest) / 1000

    def answer(self):
        ready, _, _ = select.select([self.job.stdout], [], [], PATIENCE)
        self.assertTrue(ready, "the job hangs")
        return self.job.stdout.readline()

    def goes_on(self, least=40):
        end = time.monotonic() + PATIENCE
        total, longest = 0, 0
        while total < least:
            self.assertLess(time.monotonic(), end, f"only {total} rounds")
            rounds, pause = self.rounds()
            total += rounds
            longest = max(longest, pause)
        return longest

    def fault(self, text):
        fabric("fault", text, "--name", self.name)

    def finish_job(self):
        self.job.stdin.close()
        self.job.stdin = None
        output, _ = self.job.communicate(timeout=PATIENCE)
        self.assertEqual(self.job.returncode, 0, output)
        self.assertRegex(output, r"\d+ rounds right")

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

    def test_partition(self):
        """Nothing goes through while all rails are down; everything does when the other one returns first."""
        self.fault("link n0/hw0 down")
        self.goes_on()
        self.fault("link n0/hw1 down")
        self.job.stdin.write("tell\n")
        time.sleep(1)  # the partition lasts
        self.fault("link n0/hw0 up")
        self.answer()
        self.goes_on()
        self.fault("link n0/hw1 up")
        self.goes_on()
        self.finish_job()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
