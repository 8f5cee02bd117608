"""Writes what programs refer to that were compiled against MPICH's own modules: the constants and module procedures
that those modules have in MPICH's library."""

from fortran_constants import numbers
from fortran_modules import HANDLE_TYPES

PROLOGUE = """\
// Symbols of MPICH's modules. Generated from constants.table; do not edit.
#include "binding/fortran/library.h"

namespace hawser::fortran {
#pragma GCC visibility push(default)
extern "C" {

int hawser_equal(const int* a, const int* b) { return *a == *b; }
int hawser_unequal(const int* a, const int* b) { return *a != *b; }
int hawser_same(int handle) { return handle; }
void hawser_copy_status(int* to, const int* from) { std::copy_n(from, status_size, to); }
"""

# Bytes of an element, by the last part of the name.
SIZES_F08 = {"character": 1, "logical": 4, "xint8": 1, "xint16": 2, "xint32": 4, "xint64": 8, "xreal32": 4,
             "xreal64": 8, "xreal128": 16, "xcomplex32": 8, "xcomplex64": 16, "xcomplex128": 32}
SIZES = {"ch": 1, "l": 4, "i": 4, "i1": 1, "i2": 2, "i8": 8, "r": 4, "d": 8, "cx": 8}


class Symbols:
    def __init__(self):
        self.lines = []

    def alias(self, module, name, target):
        symbol = f"__{module}_MOD_{name}"
        self.lines.append(f'decltype({target}) alias_{len(self.lines)} asm("{symbol}") '
                          f'__attribute__((alias("{target}")));')

    def constant(self, module, name, value):
        index = len(self.lines)
        self.lines.append(f'extern const int constant_{index} asm("__{module}_MOD_{name}");\n'
                          f"const int constant_{index} = {value};")

    def size(self, module, name, value):
        self.lines.append(f'void size_{len(self.lines)}(void*, int* size, int* ierror) asm("__{module}_MOD_{name}");\n'
                          f"void size_{len(self.lines)}(void*, int* size, int* ierror) {{ put(size, {value}); "
                          "put_error(ierror, MPI_SUCCESS); }")


def mpich_symbols(constants):
    symbols = Symbols()
    for name, value, handle in numbers(constants, "mpich"):
        if handle:
            symbols.constant("mpi_f08_compile_constants", name.lower(), value)
    for handle in map(str.lower, HANDLE_TYPES):
        for way, target in (("eq", "hawser_equal"), ("neq", "hawser_unequal")):
            for name in (way, f"f08_{way}_f", f"f_{way}_f08"):
                symbols.alias("mpi_f08_types", f"mpi_{handle}_{name}", target)
            symbols.alias("mpi_constants", handle + way, target)
        for way in ("c2f", "f2c"):
            symbols.alias("mpi_f08_types", f"mpi_{handle}_{way}", "hawser_same")
    for name in ("mpi_status_c_assign_f08", "mpi_status_f08_assign_c"):
        symbols.alias("mpi_f08_types", name, "hawser_copy_status")
    for name, size in SIZES_F08.items():
        symbols.size("mpi_f08_types", f"mpi_sizeof_{name}", size)
    for name, size in SIZES.items():
        for form in (name, name + "v"):
            symbols.size("mpi_sizeofs", f"mpi_sizeof_{form}", size)
    return PROLOGUE + "\n".join(symbols.lines) + '\n}  // extern "C"\n#pragma GCC visibility pop\n' \
        "}  // namespace hawser::fortran\n"
