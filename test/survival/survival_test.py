#!/usr/bin/env python3
"""Jobs whose ranks are killed while the others go on (mpiexec --survive).

Usage: survival_test.py BUILD [unittest arguments]. Over shared memory, sockets and rails of a virtual fabric.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from cases import main  # noqa: E402

LIMIT = 120  # seconds; only what waits for ever needs as long
PLACES = {
    "shared memory": [],
    "sockets": ["-hosts", "a,b,c,d", "-ppn", "2", "-x", "HAWSER_NETWORK=socket"],
    "rails": ["--fabric", "two-switch --hosts 4", "-ppn", "2", "-x", "HAWSER_NETWORK=rails"],
}
# Jobs of each place; the nightly run sets more.
JOBS = int(os.environ.get("SURVIVAL_JOBS", "6"))
DIRECTORY = tempfile.TemporaryDirectory(prefix="hawser-survival-")


def setUpModule():
    for source in HERE.glob("*.c"):
        subprocess.run([BUILD / "bin/mpicc", "-O1", "-Wall", "-Werror", "-o", f"{DIRECTORY.name}/{source.stem}", source],
                       check=True)


def tearDownModule():
    DIRECTORY.cleanup()


def run(place, program, *arguments, ranks=8, survive=True):
    return subprocess.run([BUILD / "bin/mpiexec", *PLACES[place], *(["--survive"] if survive else []),
                           "-n", str(ranks), f"{DIRECTORY.name}/{program}", *map(str, arguments)],
                          capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, check=False)


class Random(unittest.TestCase):
    """Ranks are killed at random times, wherever they are; those who are left agree, and finish."""

    def survivors_finish(self, place, longest):
        for seed in range(1, JOBS + 1):
            with self.subTest(seed=seed):
                kills = 1 + seed % 5
                result = run(place, "survive", seed, kills, 60, longest)
                self.assertEqual(result.returncode, 0, result.stderr)
                died = len(re.findall(r"was killed by signal 9 .*; the job goes on without it", result.stderr))
                self.assertEqual(died, kills)
                self.assertEqual(result.stdout, f"{8 - kills} ranks are left\n" * (8 - kills))

    def test_in_shared_memory(self):
        self.survivors_finish("shared memory", 20000)

    def test_over_sockets(self):
        self.survivors_finish("sockets", 60000)

    def test_over_rails(self):
        self.survivors_finish("rails", 150000)


class Calls(unittest.TestCase):
    """Each call does what it should."""

    def test_with_a_failed_rank(self):
        for place in PLACES:
            with self.subTest(place):
                result = run(place, "calls", ranks=4)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout, "all calls are as they should be\n")

    def test_with_the_other_abi(self):
        program = f"{DIRECTORY.name}/calls-mpich"
        subprocess.run([BUILD / "bin/mpicc", "-abi=mpich", "-O1", "-o", program, HERE / "calls.c"], check=True)
        result = run("shared memory", "calls-mpich", ranks=4)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_of_windows_with_a_failed_rank(self):
        for place in PLACES:
            for call in ("fence", "start", "lock"):
                with self.subTest(place, call=call):
                    result = run(place, "window", call, ranks=3)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(result.stdout, "the window's end was told\n")

    def test_errors_that_nobody_handles_end_the_job(self):
        result = run("shared memory", "calls", "unhandled", ranks=4)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rank [013] .* aborted the job .*MPI_Barrier: a process of the communicator")

    def test_without_the_option_the_job_ends(self):
        result = run("shared memory", "calls", ranks=4, survive=False)
        self.assertEqual(result.returncode, 128 + 9, result.stderr)
        self.assertIn("was killed by signal 9", result.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
