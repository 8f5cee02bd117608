"""Generates what the tables of MPI functions imply into a directory (see functions.md). Run by CMake:
generate.py OUTPUT_DIRECTORY INCLUDE_DIRECTORY (for the headers that programs use). Files whose text has not changed
are left alone, so nothing is rebuilt for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from api_header import api_header  # noqa: E402
from c_header import c_header, functions_of  # noqa: E402
from constants import ABIS, read_constants  # noqa: E402
from entry_points import entry_points  # noqa: E402
from fortran_constants import mpif_header  # noqa: E402
from fortran_entries import fortran_entries  # noqa: E402
from fortran_mpich import mpich_symbols  # noqa: E402
from fortran_modules import module_text  # noqa: E402
from mpi_calls import mpi_calls  # noqa: E402
from table import TableError, read_functions  # noqa: E402
from translate import mpich_types_header, translate_header  # noqa: E402


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments):
    output, include = Path(arguments[1]), Path(arguments[2])
    source = Path(__file__).parent.parent
    functions = read_functions(source)
    constants = read_constants(source)
    write(output / "api/functions.h", api_header(functions))
    by_name = {f.name: f for f in functions}
    for abi in ABIS:
        template = source / f"mpi_{abi}.h.in"
        public = include / "mpi.h" if abi == "standard" else include / abi / "mpi.h"
        write(public, c_header(template, functions, constants, abi))
        write(public.parent / "mpif.h", mpif_header(constants, abi))
        for module in (source / "fortran").glob("*.f90.in"):
            write(output / abi / "fortran" / module.stem, module_text(module, functions, constants, abi))
        write(output / f"{abi}/mpi.h", c_header(template, functions, constants, abi, " noexcept"))
        write(output / f"{abi}/binding/translate.h", translate_header(constants, abi))
        write(output / f"{abi}/testbed/mpi_calls.cpp", mpi_calls(functions, abi))
    write(output / "mpich/fortran/module_symbols.cpp", mpich_symbols(constants))
    write(output / "mpich/binding/mpich_types.h", mpich_types_header(constants))
    for chapter in dict.fromkeys(f.chapter for f in functions):
        members = [f for f in functions if f.chapter == chapter]
        write(output / f"binding/{chapter}.cpp", entry_points(members, by_name))
        if not any("tool" in f.flags for f in members):
            write(output / f"binding/fortran/{chapter}.cpp", fortran_entries(members))
    write_lists(output, functions)


def write_lists(output, functions):
    """Lists for `hawser info --missing` and for the test of symbols: one name to a line."""
    standard = functions_of(functions, "standard")
    missing = sorted(f.c_name(False) for f in standard if not f.implemented and not f.alias)
    write(output / "missing_functions.txt", "\n".join(missing) + "\n")
    for abi in ABIS:
        names = sorted(f.c_name(large) for f in functions_of(functions, abi) for large in f.forms)
        write(output / f"symbols_{abi}.txt", "\n".join(names) + "\n")


if __name__ == "__main__":
    try:
        main(sys.argv)
    except TableError as error:
        sys.exit(f"error: {error}")
