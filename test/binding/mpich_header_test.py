"""Our mpi.h for MPICH's ABI means the same as MPICH's own, if that is installed: every constant has its value,
every function its type. Compiles a list of both against either header."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

root, build, compiler = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
sys.path[:0] = [str(root / "src/binding/generate"), str(root / "test/support")]

from c_header import c_parameters, functions_of  # noqa: E402
from constants import read_constants  # noqa: E402
from table import read_functions  # noqa: E402
from cases import leave, missing  # noqa: E402

candidates = [Path(p) for p in ("/usr/include/x86_64-linux-gnu/mpich", "/usr/include/mpich")]
theirs = next((p for p in candidates if (p / "mpi.h").exists()), None)
if theirs is None:
    leave(missing("/usr/include/*/mpich/mpi.h"))
text = "".join(path.read_text() for path in theirs.glob("mpi*.h"))

# What MPI versions after MPICH 4.0 added or changed, and removed functions that we declare with const.
NEWER = {"MPI_VERSION", "MPI_SUBVERSION"}
OTHERWISE = {"MPI_Psend_init", "MPI_Precv_init", "MPI_Pready_list", "MPI_Address", "MPI_Type_struct",
             "MPI_Type_hindexed", "MPI_File_c2f", "MPI_File_f2c"}

constants = [c for c in read_constants(root / "src/binding")
             if "mpich" in c.values and c.name in text and c.name not in NEWER]
listing = ["#include <cstdio>", "#include <mpi.h>", "int main() {"]
for c in constants:
    listing.append(f'  std::printf("{c.name} %ld\\n", (long)({c.name}));' if "DUP_FN" not in c.name else
                   f'  std::printf("{c.name} %d\\n", (void*){c.name} == (void*)&MPIR_Dup_fn);')
listing += [f'  std::printf("sizeof {t} %zu\\n", sizeof({t}));' for t in
            ("MPI_Status", "MPI_Comm", "MPI_Datatype", "MPI_File", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Fint")]
listing.append("}")

prototypes = ["#include <type_traits>", "#include <mpi.h>"]
count = 0
for function in functions_of(read_functions(root / "src/binding"), "mpich"):
    for large in function.forms:
        name = function.c_name(large)
        if f"{name}(" not in text or name in OTHERWISE:
            continue
        count += 1
        signature = f"{function.returns}({c_parameters(function, large)})"
        for prefix in ("", "P"):
            prototypes.append(f'static_assert(std::is_same_v<decltype({prefix}{name}), {signature}>, "{name}");')


def compile_with(include, source, output, *flags):
    command = [compiler, "-std=c++20", f"-I{include}", str(source), "-o", str(output), *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        print("\n".join(line for line in result.stderr.splitlines() if "error" in line))
        sys.exit(1)


with tempfile.TemporaryDirectory() as directory:
    directory = Path(directory)
    (directory / "constants.cpp").write_text("\n".join(listing))
    (directory / "prototypes.cpp").write_text("\n".join(prototypes))
    values = []
    for include in (theirs, build / "include/mpich"):
        compile_with(include, directory / "prototypes.cpp", directory / "prototypes.o", "-c")
        program = directory / "constants"
        compile_with(include, directory / "constants.cpp", program, f"-L{build}/lib", "-lmpich")
        environment = {**os.environ, "LD_LIBRARY_PATH": f"{build}/lib"}
        values.append(subprocess.run([program], capture_output=True, text=True, check=True, env=environment).stdout)
different = [f"MPICH: {a}, ours: {b}" for a, b in zip(values[0].splitlines(), values[1].splitlines()) if a != b]
print("\n".join(different))
print(f"{len(constants)} constants and {count} prototypes compared, {len(different)} differ")
sys.exit(1 if different else 0)
