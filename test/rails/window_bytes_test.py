#!/usr/bin/env python3
"""What tools say of one-sided operations over rails.  Usage: window_bytes_test.py HAWSER WINDOW_BYTES

One process puts and gets in another's memory. `hawser top` has to show these bytes on the paths, on both rails, and
MPI_T what was asked for.
"""
import json
import os
import subprocess
import sys

PROGRAM = sys.argv.pop(2)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "provider"))
from fabric_case import HAWSER, PATIENCE, OnFabric, main  # noqa: E402
from hawser_lab import processes  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")


class Bytes(OnFabric):
    WHAT = ("two-switch", "--hosts", "2", "--rails", "2")

    def paths(self, job):
        """Of rank 0, as `hawser top` shows them now."""
        top = subprocess.run([HAWSER, "top", "--once", "--json", "--job", job], capture_output=True, text=True,
                             timeout=PATIENCE, check=True)
        return next(process["paths"] for process in json.loads(top.stdout) if process["rank"] == 0)

    def one_job(self):
        """Bytes on each rail that the tools show, of which no more are allowed than what was moved takes."""
        show_job = 'test $PMI_RANK != 0 || echo "$HAWSER_JOB_ID"; exec "$0"'
        job = subprocess.Popen([MPIEXEC, "-n", "2", "--fabric", self.name, "sh", "-c", show_job, PROGRAM], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**os.environ, "HAWSER_NETWORK": "rails"})
        self.started.append(job)
        name = processes.read_line(job).strip()
        numbers = processes.read_line(job).split()
        self.assertEqual(len(numbers), 4, numbers)
        put, got, put_as_counted, got_as_counted = map(int, numbers)
        self.assertEqual((put_as_counted, got_as_counted), (put, got))
        paths = self.paths(name)
        moved = [sum(path["bytes"] for path in paths if path["rail"] == rail) for rail in range(2)]
        print(f"\n{put} bytes put, {got} bytes got, on two rails {moved}", end="")
        self.assertGreaterEqual(sum(moved), put + got)
        self.assertLess(sum(moved), 1.05 * (put + got))
        output, _ = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, output)
        return moved

    def test_are_shown_by_tools(self):
        # The division follows measured rates, and on a crowded machine one of the rails may seem slow for a while.
        for _ in range(3):
            moved = self.one_job()
            if min(moved) > sum(moved) / 16:
                return
        self.fail(f"one of two rails was hardly used: {moved}")


if __name__ == "__main__":
    main(*sys.argv[2:])
