"""Writes the mpi.h of an ABI from its template, the constants and the functions."""

import textwrap
from pathlib import Path

from kinds import KINDS


def c_parameter(parameter, large):
    """The C declaration of one parameter."""
    kind = KINDS[parameter.kind]
    c_type = kind.large if large else kind.c
    name, group, reads = parameter.name, kind.group, parameter.direction == "in"
    if group == "triplet":
        return f"int {name}[][3]"
    if group == "argv":
        return f"{c_type} {name}[]"
    if parameter.kind == "string" and parameter.array:
        return f"char* {name}[]"
    if group == "status" and parameter.array:
        # Not `[]`: compilers would warn of MPI_STATUSES_IGNORE where it is not the null pointer.
        return f"{c_type}* {name}"
    if parameter.array:
        return f"{'const ' if reads else ''}{c_type} {name}[]"
    if group == "buffer":
        return f"{'const ' if reads else ''}void* {name}"
    if group in ("pointer", "attribute", "plain_pointer", "text", "string"):
        return f"{c_type} {name}"
    if group == "status" or parameter.kind in ("status_raw", "status_f08", "fint"):
        return f"{'const ' if reads else ''}{c_type}* {name}"
    if parameter.kind == "argv":
        return f"char*** {name}"
    return f"{c_type}{'' if reads else '*'} {name}"


def c_parameters(function, large):
    texts = [c_parameter(p, large) for p in function.parameters if p.in_form(large)]
    if "varargs" in function.flags:
        texts[0] = "const " + texts[0]
        texts.append("...")
    return ", ".join(texts) or "void"


def prototype(function, large, prefix=""):
    return f"{function.returns} {prefix}{function.c_name(large)}({c_parameters(function, large)})"


def functions_of(functions, abi):
    return [f for f in functions if f.abi in (None, abi)]


def wrap(text):
    return "\n".join(textwrap.wrap(text, 110, subsequent_indent="    ", break_long_words=False))


def c_header(template, functions, constants, abi, suffix=""):
    """`suffix` follows every prototype: our own entry points are compiled against one that says noexcept."""
    directory = Path(template).parent
    defines = "\n".join(f"#define {c.name} {c.definition(abi)}" for c in constants if c.definition(abi))
    prototypes = "\n".join(
        wrap(prototype(f, large, prefix) + suffix + ";")
        for prefix in ("", "P")
        for f in functions_of(functions, abi)
        for large in f.forms
    )
    text = Path(template).read_text()
    for mark, value in (("CALLBACKS", (directory / "mpi_callbacks.h.in").read_text()),
                        ("CONSTANTS", defines + "\n"), ("FUNCTIONS", prototypes + "\n"),
                        ("CONVERSIONS", "" if suffix else (directory / "mpi_conversions.h.in").read_text())):
        text = text.replace(f"@{mark}@", value)
    return text
