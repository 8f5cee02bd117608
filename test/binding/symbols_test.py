"""A library exports every MPI function of its ABI in both names, the MPI_ ones weak, the calls by which memory goes
away, and nothing else."""

import subprocess
import sys
from pathlib import Path

library, generated, nm = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
mpich = "mpich" in library.name
expected = (generated / f"symbols_{'mpich' if mpich else 'standard'}.txt").read_text().split()
# Variables that MPICH's mpi.h declares, what they point to, and the function behind MPI_DUP_FN.
data = {
    "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE",
    "MPI_F08_STATUSES_IGNORE", "MPI_T_PVAR_ALL_HANDLES", "MPIR_C_MPI_UNWEIGHTED", "MPIR_C_MPI_WEIGHTS_EMPTY",
    "MPIR_F08_MPI_BOTTOM", "MPIR_F08_MPI_IN_PLACE", "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
    "MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
} if mpich else set()
functions = {"MPIR_Dup_fn"} if mpich else set()
# In front of the C library's (src/os/memory_watch.h).
functions |= {"mmap", "mmap64", "munmap", "mremap", "madvise", "brk", "sbrk", "shmat", "shmdt", "dlclose", "malloc_trim"}

lines = subprocess.run([nm, "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True).stdout
found = {fields[-1]: fields[-2] for fields in map(str.split, lines.splitlines())}
problems = []
for name in expected:
    if found.pop(name, None) != "W":
        problems.append(f"{name} is not exported as a weak symbol")
    if found.pop("P" + name, None) != "T":
        problems.append(f"P{name} is not exported")
for name in sorted(functions):
    if found.pop(name, None) != "T":
        problems.append(f"{name} is not exported")
for name in sorted(data):
    if found.pop(name, "?") not in "BDRVGS":
        problems.append(f"the variable {name} is not exported")
# Sanitizers add symbols of their own.
problems += [f"{name} is exported, but is nobody's business" for name in sorted(found) if "asan" not in name]
for problem in problems:
    print(problem)
print(f"{library.name}: {len(expected)} functions in two names, {len(problems)} problems")
sys.exit(1 if problems else 0)
