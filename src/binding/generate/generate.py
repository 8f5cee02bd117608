"""Generates what the tables of MPI functions imply into a directory (see functions.md). Run by CMake:
generate.py OUTPUT_DIRECTORY; files whose text has not changed are left alone, so nothing is rebuilt for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from api_header import api_header  # noqa: E402
from c_header import c_header  # noqa: E402
from constants import ABIS, read_constants  # noqa: E402
from table import TableError, read_functions  # noqa: E402


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments):
    output = Path(arguments[1])
    source = Path(__file__).parent.parent
    functions = read_functions(source)
    constants = read_constants(source)
    write(output / "process/api.h", api_header(functions))
    for abi in ABIS:
        write(output / f"include/{abi}/mpi.h", c_header(source / f"mpi_{abi}.h.in", functions, constants, abi))


if __name__ == "__main__":
    try:
        main(sys.argv)
    except TableError as error:
        sys.exit(f"error: {error}")
