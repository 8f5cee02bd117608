"""symbols_test.py LIBRARY NM [PEER]: both libraries have the procedures of every function of the tables; with PEER, the
library of MPICH, ours has every symbol that programs built with MPICH's mpif.h and modules may refer to."""

import re
import subprocess
import sys
from pathlib import Path

library, nm, generated = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
peer = Path(sys.argv[4]) if len(sys.argv) > 4 else None


def symbols_of(path):
    out = subprocess.run([nm, "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


# Of MPICH alone: extensions, inner variables, tables of types that only polymorphic arguments need, strings of its C
# layer, and procedures that were in MPICH 4.0 before the standard named them otherwise.
NOT_OURS = re.compile(r"(?i)p?mpixr?_|mpir_(f|c|f08)_|mpirinit|mpi_f_\w+_(null|ignore)$|.*_MOD___(copy|vtab|def_init)_|.*string_(c2f|f2c)|"
                      r"p?mpir?_delete_error_|p?mpi_status_(c2f08|f082c)$")

found = symbols_of(library)
standard = [name.lower() for name in (generated / "symbols_standard.txt").read_text().split()]
no_fortran = re.compile(r"mpi_t_|.*_(toint|fromint)$|mpi_abi_set_|mpi_abi_get_fortran_booleans|.*_c$|mpi_pcontrol$")
problems = []
for name in standard:
    if no_fortran.match(name):
        continue
    for symbol in (f"{name}_", f"p{name}_", f"{name}__", name.upper()):
        if symbol not in found:
            problems.append(f"{symbol} is missing")
foreign = [name for name in found if not re.match(r"p?mpi|P?MPIX?_|__mpi_", name)]
problems += [f"{name} is exported, but is nobody's business" for name in sorted(foreign)]
if peer is not None and peer.exists():
    wanted = {name for name in symbols_of(peer) if not NOT_OURS.match(name)}
    problems += [f"MPICH's library has {name}" for name in sorted(wanted - found)]
    print(f"{len(wanted)} symbols of MPICH compared")
print("\n".join(problems))
print(f"{library.name}: {len(standard)} functions, {len(found)} symbols, {len(problems)} problems")
sys.exit(1 if problems else 0)
