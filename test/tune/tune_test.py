"""`hawser tune`: it measures a job, writes a table, and jobs choose by that table."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cases import main  # noqa: E402

HAWSER, MPIEXEC, MPICC, COLLECTIVES = sys.argv[1:5]
SIMULATED = (HAWSER, "sim", "exec", "-n", "8", "--ppn", "4", "--fabric", "fat-tree-144", "--rails", "2", "--rate", "12.5GB/s",
             "--latency", "300ns", "--compute-scale", "0", "--post-cost", "250ns", "--completion-cost", "250ns", "--quiet")


def run(*words, **variables):
    return subprocess.run([str(word) for word in words], env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=300)


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.table = os.path.join(self.folder.name, "table")
        self.program = os.path.join(self.folder.name, "collectives")

    def compile(self):
        compiled = run(MPICC, "-O2", "-o", self.program, COLLECTIVES)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)

    def write(self, text):
        with open(self.table, "w", encoding="ascii") as file:
            file.write(text)

    def time_of(self, operation, size, **variables):
        # As `hawser tune` measures, for operations that follow each other may take other times than single ones.
        done = run(*SIMULATED, os.path.join(os.path.dirname(HAWSER), "hawser-tune-times"), "0.0002", size, 1 << 22, operation,
                   **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(re.search(rf"^{operation} {size} (\S+)$", done.stdout, re.MULTILINE).group(1)), done.stderr

    def test_what_it_finds_is_faster(self):
        # Copies take no time in the simulator, so the defaults are not the fastest there.
        tuned = run(HAWSER, "tune", "--output", self.table, "--rounds", "1", "--time", "200us", "--most", "128K", "--", *SIMULATED)
        self.assertEqual(tuned.returncode, 0, tuned.stderr)
        lines = [line.split() for line in tuned.stdout.splitlines() if re.match(r"\w+ \d+ \w+    # ", line)]
        self.assertIn("ranks 8 nodes 2", tuned.stdout)
        self.assertTrue(lines, tuned.stdout)
        best = min(lines, key=lambda words: float(words[4]) / float(words[-1]))
        before, _ = self.time_of(best[0], best[1])
        after, told = self.time_of(best[0], best[1], HAWSER_COLLECTIVE_TABLE=self.table, HAWSER_STATS="on")
        self.assertLess(after, before)
        self.assertRegex(told, rf"collective_table {re.escape(self.table)} chosen_by_it=[1-9]\d* of ")

    def test_real_processes_take_what_the_table_says(self):
        self.compile()
        self.write("ranks 4 nodes 1\nalltoall 8 bruck\nalltoall 2K messages\nbroadcast 0 linear\nreduce 0 linear\n"
                   "gather 0 binomial\nscatter 0 binomial\nallgather 8 ring\nallgather 32K default\n"
                   "reduce_scatter_block 512 pairwise\nallreduce 0 recursive_doubling\n")
        for operation in ("alltoall", "broadcast", "reduce", "gather", "scatter", "allgather", "reduce_scatter_block", "allreduce"):
            done = run(MPIEXEC, "-n", 4, self.program, operation, 32, 131072, 1 << 20, 2, HAWSER_COLLECTIVE_TABLE=self.table,
                       HAWSER_STATS="on")
            self.assertEqual(done.returncode, 0, operation + done.stderr)
            self.assertRegex(done.stderr, r"chosen_by_it=[1-9]", operation)

    def test_a_wrong_table_ends_the_job(self):
        self.compile()
        self.write("ranks 2 nodes 1\nalltoall 8 ring\n")
        done = run(MPIEXEC, "-n", 2, self.program, "barrier", 8, 8, 64, 1, HAWSER_COLLECTIVE_TABLE=self.table)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"HAWSER_COLLECTIVE_TABLE={self.table}, line 2: 'ring' is no algorithm of alltoall", done.stderr)

    def test_a_wrong_table_is_not_written_over(self):
        self.write("mine\n")
        done = run(HAWSER, "tune", "--output", self.table, "-n", 2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 1", done.stderr)
        with open(self.table, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine\n")

    def test_a_launcher_that_fails_is_told(self):
        done = run(HAWSER, "tune", "--output", self.table, "--", "false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with exit code 1", done.stderr)
        self.assertFalse(os.path.exists(self.table))


if __name__ == "__main__":
    main(*sys.argv[5:])
