"""The compiler wrappers, pkg-config files and CMake's FindMPI, in the build tree and in an installation that has
been moved to a path with blanks."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import leave, missing  # noqa: E402

root, build, cmake, generator = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
failures = 0

PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%s %d\\n", sizeof(MPI_Status) == 20 ? "mpich" : "standard", size);
  return MPI_Finalize();
}
"""
FORTRAN = """\
      program main
      include 'mpif.h'
      integer n, ierror
      call MPI_Init(ierror)
      call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
      print *, MPI_STATUS_SIZE, n
      call MPI_Finalize(ierror)
      end
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(uses_mpi C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
add_executable(c_program program.c)
target_link_libraries(c_program PRIVATE MPI::MPI_C)
add_executable(cxx_program program.cpp)
target_link_libraries(cxx_program PRIVATE MPI::MPI_CXX)
"""


def run(*command, expect=0, **more):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if expect is not None and (result.returncode != 0) != (expect != 0):
        print(f"{command} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        sys.exit(1)
    return result.stdout


def check(condition, text):
    global failures
    if not condition:
        print(text)
        failures += 1


def check_prefix(prefix, directory):
    (directory / "program.c").write_text(PROGRAM)
    (directory / "program.cpp").write_text(PROGRAM)
    for wrapper, source in (("mpicc", "program.c"), ("mpicxx", "program.cpp"), ("mpic++", "program.cpp")):
        for abi in ("standard", "mpich"):
            binary = directory / f"{wrapper}_{abi}"
            run(prefix / "bin" / wrapper, f"-abi={abi}", "-O1", directory / source, "-o", binary)
            check(run(binary) == f"{abi} 1\n", f"{wrapper} -abi={abi}: the program prints something else")
    run(prefix / "bin/mpicc", "-c", directory / "program.c", "-o", directory / "program.o")
    run(prefix / "bin/mpicc", directory / "program.o", "-o", directory / "linked")
    check(run(directory / "linked") == "standard 1\n", "compiling and linking apart")

    shown = run(prefix / "bin/mpicc", "-show", "a.c", "-o", "a")
    check({"-lmpi_abi", f"-I{prefix}/include"} <= set(shlex.split(shown)), f"-show prints {shown}")
    shown = run(prefix / "bin/mpicc", "-abi=mpich", "-show", "-c", "a.c")
    check("-lmpich" not in shown and f"-I{prefix}/include/mpich" in shlex.split(shown), f"-show -c prints {shown}")
    check("-lmpich" in run(prefix / "bin/mpicc", "-abi=mpich", "-link-info"), "-link-info")
    check("-I" in run(prefix / "bin/mpicc", "-compile-info"), "-compile-info")
    run(prefix / "bin/mpicc", "--version")
    run(prefix / "bin/mpicc", "-abi=none", "-show", expect=1)
    if shutil.which("gfortran") is None:
        run(prefix / "bin/mpifort", "--version", expect=1)
        return
    check_fortran(prefix, directory)


def check_fortran(prefix, directory):
    (directory / "program.f").write_text(FORTRAN)
    for wrapper in ("mpifort", "mpif77", "mpif90"):
        for abi in ("standard", "mpich"):
            binary = directory / f"{wrapper}_{abi}"
            run(prefix / "bin" / wrapper, f"-abi={abi}", directory / "program.f", "-o", binary)
            size = {"standard": 8, "mpich": 5}[abi]
            check(run(binary).split() == [str(size), "1"], f"{wrapper} -abi={abi}: the program prints something else")
    shown = shlex.split(run(prefix / "bin/mpifort", "-show", "a.f", "-o", "a"))
    check({"-lmpifort_abi", "-lmpi_abi", f"-I{prefix}/include"} <= set(shown), f"mpifort -show prints {shown}")


def check_find_mpi(prefix, directory):
    project = directory / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    shutil.copy(directory / "program.c", project)
    shutil.copy(directory / "program.cpp", project)
    environment = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"}
    # The generator that this build uses is there; CMake's default one, make, need not be.
    out = run(cmake, "-G", generator, "-S", project, "-B", project / "build", env=environment)
    check(f"{prefix}" in out and "Found MPI" in out, f"FindMPI found another MPI:\n{out}")
    run(cmake, "--build", project / "build", env=environment)
    for program in ("c_program", "cxx_program"):
        check(run(project / "build" / program) == "standard 1\n", f"{program}, built through FindMPI")


def check_pkg_config(lib, directory):
    if shutil.which("pkg-config") is None:
        return
    for package, abi in (("hawser", "standard"), ("hawser-mpich", "mpich")):
        environment = {**os.environ, "PKG_CONFIG_PATH": f"{lib}/pkgconfig"}
        flags = run("pkg-config", "--cflags", "--libs", package, env=environment)
        flags = shlex.split(flags)
        binary = directory / f"pkg_{abi}"
        run("cc", directory / "program.c", "-o", binary, *flags)
        check(run(binary) == f"{abi} 1\n", f"pkg-config {package}")


with tempfile.TemporaryDirectory() as directory:
    directory = Path(directory)
    check_prefix(build, directory)
    check_find_mpi(build, directory)
    check_pkg_config(build / "lib", directory)

    installed = directory / "here it is"
    run(cmake, "--install", build, "--prefix", directory / "first")
    (directory / "first").rename(installed)
    again = directory / "again"
    again.mkdir()
    check_prefix(installed, again)
    check_find_mpi(installed, again)
    check_pkg_config(next(installed.rglob("pkgconfig")).parent, again)
    libraries = {path.name for path in installed.rglob("lib*.so*")}
    for name in ("libmpi_abi.so", "libmpi_abi.so.0", "libmpi_abi.so.1", "libmpich.so", "libmpich.so.12", "libmpi.so.12"):
        check(name in libraries, f"{name} is not installed")
    pages = {path.name for path in installed.rglob("man1/*")}
    check(pages == {f"{name}.1" for name in ("hawser", "mpiexec", "mpirun", "mpicc", "mpicxx", "mpic++", "mpifort", "mpif90",
                                             "mpif77")}, f"manual pages: {pages}")
    job = run(installed / "bin/mpiexec", "-n", "2", "--fabric", "back-to-back", "-x", "HAWSER_NETWORK=rails", again / "mpicc_standard")
    check(job == "standard 2\n" * 2, f"a job on a fabric of the installation prints {job}")

print(f"{failures} problems")
absent = missing("gfortran", "pkg-config")  # what needs them was not looked at
if absent and not failures:
    leave(absent)
sys.exit(1 if failures else 0)
