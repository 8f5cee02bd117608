#!/usr/bin/env python3
"""Jobs on a virtual fabric of which any process is killed, or stopped and then killed, at any time: soon nothing is left.

Usage: random_ends_test.py HAWSER STEADY_TRAFFIC [unittest arguments]
"""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

TRAFFIC = sys.argv.pop(2)
from fabric_case import HAWSER, main  # noqa: E402

MPIEXEC = os.path.join(os.path.dirname(HAWSER), "mpiexec")
JOBS = 50
SOON = float(os.environ.get("RANDOM_ENDS_SOON", "5"))  # seconds
VICTIMS = ("rank", "mpiexec", "guard", "daemon")


def read(path):
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


class Job:
    """Its processes are found by a variable that all of them inherit, whatever their parents are by now."""

    def __init__(self, number):
        self.mark = f"RANDOM_ENDS={os.getpid()}.{number}"
        self.process = subprocess.Popen(
            [MPIEXEC, "-n", "2", "--fabric", "two-switch --rails 2", TRAFFIC], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **dict([self.mark.split("=")])})

    def processes(self):
        """What they are, by number; those that have ended and wait for their parent are gone."""
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            words = read(entry / "cmdline").split(b"\0")
            if not words[0] or self.mark.encode() not in read(entry / "environ").split(b"\0"):
                continue
            name = os.path.basename(words[0].decode(errors="replace"))
            kind = {"steady_traffic": "rank", "hawser-fabricd": "daemon"}.get(name, "mpiexec")
            if int(entry.name) != self.process.pid and kind == "mpiexec":
                kind = "guard" if b"guard" in read(entry / "comm") else "other"
            found[int(entry.name)] = kind
        return found

    def strike(self, draw):
        """One of the victims, as soon as it is there, and some time later."""
        wanted = draw.choice(VICTIMS)
        end = time.monotonic() + 60
        while not (pids := [pid for pid, kind in self.processes().items() if kind == wanted]):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"there is no {wanted}: {self.processes()}, exit code {self.process.poll()}")
        time.sleep(draw.expovariate(1 / 0.1))  # the moment is what is drawn
        victim = draw.choice(pids)
        with contextlib.suppress(ProcessLookupError):
            if draw.random() < 0.3:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(draw.expovariate(1 / 0.1))
            os.kill(victim, signal.SIGKILL)
        return wanted


class RandomEnds(unittest.TestCase):
    def run_job(self, number):
        draw = random.Random(number)
        shared = set(os.listdir("/dev/shm"))
        job = Job(number)
        try:
            wanted = job.strike(draw)
            if wanted == "guard":  # a job goes on without it
                job.process.stdin.close()
            end = time.monotonic() + SOON
            while left := job.processes():
                self.assertLess(time.monotonic(), end, f"seed {number}, {wanted} killed: still there are {left}")
                job.process.poll()
                time.sleep(0.01)
            job.process.wait(SOON)
            self.assertLessEqual(set(os.listdir("/dev/shm")), shared)
            return wanted
        finally:
            for pid in job.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            job.process.communicate()

    def test_nothing_is_left(self):
        ends = {}
        for number in range(JOBS):
            wanted = self.run_job(number)
            ends[wanted] = ends.get(wanted, 0) + 1
        print(f"\n{JOBS} jobs: {ends}", end="")
        self.assertEqual(set(ends), set(VICTIMS))


if __name__ == "__main__":
    main()
