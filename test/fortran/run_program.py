"""Compiles a Fortran program and runs it: run_program.py BUILD COMPILER PROCESSES SOURCE [flags of the compiler...].
COMPILER is standard or mpich (our mpifort for that ABI), or debian (MPICH's own mpif90: its program runs on our
libraries). A part in C stands in SOURCE_c.c. With --fails REGEX among the flags the program must fail, and say that."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from cases import leave, missing  # noqa: E402

build, compiler, processes, source = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], Path(sys.argv[4])
flags = sys.argv[5:]
complaint = None
if "--fails" in flags:
    at = flags.index("--fails")
    complaint = flags[at + 1]
    del flags[at:at + 2]
command = [build / "bin/mpifort", f"-abi={compiler}"]
if compiler == "debian":
    absent = missing("mpif90.mpich", "mpicc.mpich")
    if absent:
        leave(absent)
    command = [shutil.which("mpif90.mpich")]

with tempfile.TemporaryDirectory() as directory:
    program = Path(directory) / "program"
    sources = [source.parent / "check.F90", source]
    c_part = source.with_name(source.stem + "_c.c")
    if c_part.exists():
        c_compiler = [shutil.which("mpicc.mpich")] if compiler == "debian" else [build / "bin/mpicc", f"-abi={compiler}"]
        sources.append(Path(directory) / "c_part.o")
        subprocess.run([*c_compiler, "-c", c_part, "-o", sources[-1]], check=True)
    result = subprocess.run([*command, "-g", "-w", "-ffree-line-length-none", *flags, *sources, "-o", program],
                            cwd=directory)
    if result.returncode != 0:
        sys.exit("the program does not compile")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib")}
    library = "libmpifort_abi.so.1" if compiler == "standard" else "libmpichfort.so.12"
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, env=environment).stdout
    if f"{build}/lib/{library}" not in loaded:
        sys.exit(f"the program does not load our {library}:\n{loaded}")
    result = subprocess.run([build / "bin/mpiexec", "-n", processes, program], env=environment, timeout=240,
                            stderr=subprocess.PIPE if complaint else None, text=True)
if complaint is not None:
    print(result.stderr)
    # A rank that a signal ends gives 128 and more.
    sys.exit(0 if 0 < result.returncode < 128 and re.search(complaint, result.stderr) else 1)
sys.exit(result.returncode)
