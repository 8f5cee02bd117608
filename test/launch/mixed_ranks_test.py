"""Ranks of one job that were built for different ABIs talk to each other; those of different MPI libraries, which cannot,
end the job with the reason instead of waiting for ever. mixed_ranks_test.py BUILD"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import main, needs  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { longest = 1 << 20 };
int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *out = malloc(longest * sizeof(int)), *in = malloc(longest * sizeof(int));
  for (int n = 1; n <= longest; n *= 32) { /* within a packet to a rendezvous */
    MPI_Status status;
    int count = 0;
    for (int i = 0; i < n; i++) out[i] = rank * 7 + i;
    MPI_Request request;
    MPI_Irecv(in, longest, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Ssend(out, n, MPI_INT, (rank + 1) % size, n, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    wrong += count != n || status.MPI_SOURCE != (rank + size - 1) % size || status.MPI_TAG != n;
    for (int i = 0; i < n; i++) wrong += in[i] != status.MPI_SOURCE * 7 + i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm half;
  double mine = rank + 0.5, sum = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &half);
  if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  wrong += sum != size * size / 2.0;
  struct { double value; int rank; } best = {-rank, rank}, found;
  MPI_Reduce(&best, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
  wrong += rank == 0 && found.rank != 0;
  if (wrong == 0) printf("right\n");
  MPI_Finalize();
  return wrong != 0;
}
"""


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120)


class MixedRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "program.c").write_text(PROGRAM)
        for name, command in (("standard", [BUILD / "bin/mpicc", "-abi=standard"]),
                              ("mpich", [BUILD / "bin/mpicc", "-abi=mpich"]), ("other", [shutil.which("mpicc.mpich")])):
            if command[0] is not None:
                made = run(*command, "-o", cls.folder / name, cls.folder / "program.c")
                assert made.returncode == 0, made.stderr

    def mixed(self, first, second, *options):
        return run(BUILD / "bin/mpiexec", *options, "-n", 2, self.folder / first, ":", "-n", 2, self.folder / second)

    def test_of_both_abis(self):
        for options in ([], ["-hosts", "a,b"], ["--fabric", "two-switch"]):
            with self.subTest(options=options):
                result = self.mixed("standard", "mpich", *options)
                self.assertEqual((result.returncode, result.stdout), (0, 4 * "right\n"), result.stderr)

    @needs("mpicc.mpich")
    def test_of_another_library(self):
        for names in (("standard", "other"), ("other", "mpich")):
            result = self.mixed(*names)
            self.assertIn(result.returncode, range(1, 128), result.stderr)  # not by a signal
            self.assertRegex(result.stderr, r"mpiexec: rank \d .* runs .*, but rank \d runs ")
            self.assertIn("another MPI", result.stderr)
            self.assertIn("Hawser ", result.stderr)


if __name__ == "__main__":
    main(*sys.argv[2:])
