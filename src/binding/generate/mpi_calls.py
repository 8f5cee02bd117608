"""Writes, for an ABI, the functions that `hawser sim exec` puts in front of the library's: each says when a rank enters
MPI and when it leaves it. The library's own lie behind the names with P."""

from c_header import c_parameters, functions_of, prototype


def mpi_calls(functions, abi):
    forms = [(f, large) for f in functions_of(functions, abi) for large in f.forms if "varargs" not in f.flags]
    lines = ['// What a program calls. Generated from functions_*.table; do not edit.', '#include "mpi.h"',
             '#include "testbed/exec/mpi_call.h"', "", "namespace hawser {",
             "const char* const mpi_function_names[] = {"]
    lines += [f'    "{f.c_name(large)}",' for f, large in forms]
    lines += ["};", f"const int mpi_function_count = {len(forms)};", "}  // namespace hawser", "",
              "#pragma GCC visibility push(default)", 'extern "C" {']
    for number, (f, large) in enumerate(forms):
        names = ", ".join(p.name for p in f.parameters if p.in_form(large))
        lines.append(f"{prototype(f, large)} noexcept {{")
        lines.append(f"  const hawser::MpiCall call({number});")
        lines.append(f"  return P{f.c_name(large)}({names});")
        lines.append("}")
    return "\n".join(lines + ["}", "#pragma GCC visibility pop", ""])
