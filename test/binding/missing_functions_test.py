"""A program that does not look at what MPI returns ends when it calls a function that is not implemented, in both ABIs
and in Fortran: nothing goes on with wrong results. missing_functions_test.py BUILD"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import main, needs  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()

FORTRAN = """
program ends
  use mpi
  integer :: made, ierror
  call MPI_Init(ierror)
  call MPI_Comm_accept("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, made, ierror)
  call MPI_Finalize(ierror)
end program
"""


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, **more)


class MissingFunctions(unittest.TestCase):
    def ended_by(self, result, function):
        self.assertIn(result.returncode, range(1, 128), result.stderr)  # not by a signal
        self.assertIn(f"{function}: Hawser does not implement this function yet", result.stderr)

    def test_end_the_job(self):
        for abi in ("standard", "mpich"):
            for function in ("MPI_Comm_accept", "MPI_Close_port", "MPI_Comm_spawn", "MPI_Comm_join"):
                with self.subTest(abi=abi, function=function):
                    program = BUILD / "test" / f"missing_functions_{abi}"
                    self.ended_by(run(BUILD / "bin/mpiexec", "-n", 2, program, function), function)
                    self.ended_by(run(program, function), function)

    def test_said_once_where_the_program_goes_on(self):
        for abi in ("standard", "mpich"):
            with self.subTest(abi=abi):
                result = run(BUILD / "bin/mpiexec", "-n", 2, BUILD / "test" / f"missing_functions_{abi}", "ignore")
                self.assertEqual(result.returncode, 0, result.stderr)
                for function in ("MPI_Comm_spawn", "MPI_Comm_accept", "MPI_File_open"):
                    for rank in (0, 1):
                        said = f"rank {rank}: {function}: Hawser does not implement this function yet"
                        self.assertEqual(result.stderr.count(said), 1, result.stderr)

    @needs("gfortran")
    def test_end_the_job_in_fortran(self):
        for abi in ("standard", "mpich"):
            with self.subTest(abi=abi), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "ends.f90").write_text(FORTRAN)
                made = run(BUILD / "bin/mpifort", f"-abi={abi}", "ends.f90", "-o", "ends", cwd=folder)
                self.assertEqual(made.returncode, 0, made.stderr)
                result = run(BUILD / "bin/mpiexec", "-n", 2, "./ends", cwd=folder,
                             env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib")})
                self.ended_by(result, "MPI_Comm_accept")


if __name__ == "__main__":
    main(*sys.argv[2:])
