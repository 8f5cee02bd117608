"""Writes binding/translate.h of an ABI: the functions that turn its numbers with a meaning into the core's (the
standard ABI's) and back; and, for MPICH's, the tables of predefined handles."""

from constants import of_kind
from kinds import KINDS

# Kinds whose numbers are those of another.
SAME_AS = {"dest": "rank", "source": "rank", "root": "rank", "tag": "tag_any"}
EXTRA = ("window_flavor", "window_model")

HEAD = """\
// Numbers with a meaning between {abi} and the core. Generated from constants.table; do not edit.
#pragma once

namespace hawser::binding {{
"""


def translated_kinds():
    names = [name for name, kind in KINDS.items() if kind.group == "translated"]
    return names + list(EXTRA)


def switch(name, pairs):
    # Most values are ordinary ones, greater than all special ones or equal in both ABIs.
    cases = "\n".join(f"    case {a}: return {b};" for a, b in pairs)
    return f"""\
constexpr int {name}_special(int value) {{
  switch (value) {{
{cases}
    default: return value;
  }}
}}"""


def bits(name, pairs):
    lines = "\n".join(f"  if ((value & {a}) != 0) result |= {b};" for a, b in pairs)
    # Where both use the same bits, others keep their places, so that the core can refuse them.
    both = [sum(int(pair[side], 0) for pair in pairs) for side in (0, 1)]
    others = f"value & ~{both[0]}" if both[0] == both[1] else "0"
    return f"constexpr int {name}(int value) {{\n  int result = {others};\n{lines}\n  return result;\n}}"


def both_ways(kind, constants):
    pairs = [(c.values["mpich"], c.values["standard"]) for c in constants if len(c.values) == 2]
    swapped = [(b, a) for a, b in pairs]
    if constants and constants[0].form == "bits":
        return [bits(f"to_core_{kind}", pairs), bits(f"from_core_{kind}", swapped)]
    lines = []
    for name, table in ((f"to_core_{kind}", pairs), (f"from_core_{kind}", swapped)):
        lines.append(switch(name, table))
        only_negative = all(int(a, 0) < 0 for a, _ in table)
        condition = "value >= 0 ? value : " if only_negative else ""
        lines.append(f"constexpr int {name}(int value) {{ return {condition}{name}_special(value); }}")
    return lines


def translate_header(constants, abi):
    lines = [HEAD.format(abi="MPICH's ABI" if abi == "mpich" else "the standard ABI")]
    for kind in translated_kinds():
        source = SAME_AS.get(kind, kind)
        if source != kind and abi == "mpich":
            lines.append(f"constexpr int to_core_{source}(int value);\nconstexpr int from_core_{source}(int value);")
            for way in ("to_core", "from_core"):
                lines.append(f"constexpr int {way}_{kind}(int value) {{ return {way}_{source}(value); }}")
        elif abi == "mpich":
            lines += both_ways(kind, of_kind(constants, kind))
        else:
            for way in ("to_core", "from_core"):
                lines.append(f"constexpr int {way}_{kind}(int value) {{ return value; }}")
    return "\n".join(lines) + "\n\n}  // namespace hawser::binding\n"


TABLES = {
    "MPI_Datatype": ("mpich_datatypes", 0x200, 512),
    "MPI_Op": ("mpich_operators", 0x20, 32),
    "MPI_Errhandler": ("mpich_error_handlers", 0x140, 8),
}


def mpich_types_header(constants):
    lines = [
        "// Predefined handles of MPICH's ABI and the core's numbers. Generated from constants.table; do not edit.",
        "#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace hawser::binding {\n",
        "struct MpichPredefined {\n  std::uint32_t handle = 0;\n  std::uint32_t number = 0;\n};\n",
        "// `by_low_byte` finds the number of most handles at once; `others` holds those that collide there.",
        "template <std::size_t numbers, std::size_t collisions>\nstruct MpichTable {",
        "  std::array<MpichPredefined, 256> by_low_byte{};",
        "  std::array<MpichPredefined, collisions> others{};",
        "  std::array<std::uint32_t, numbers> by_number{};\n};\n",
    ]
    for c_type, (name, first, numbers) in TABLES.items():
        pairs = [(int(c.values["mpich"], 0), int(c.number, 0) - first) for c in constants
                 if c.form == "handle" and c.detail == c_type and c.number and "mpich" in c.values]
        slots, others = {}, []
        for handle, number in pairs:
            if handle & 0xFF in slots:
                others.append((handle, number))
            else:
                slots[handle & 0xFF] = (handle, number)
        null = next(handle for handle, number in pairs if number == 0)
        lines.append(f"inline constexpr auto {name} = [] {{")
        lines.append(f"  MpichTable<{numbers}, {len(others)}> table;")
        lines.append(f"  for (int i = 0; i < 16 && i < {numbers}; ++i) table.by_number[i] = {null:#x};")
        for slot, (handle, number) in sorted(slots.items()):
            lines.append(f"  table.by_low_byte[{slot}] = {{{handle:#x}, {number}}};")
        for index, (handle, number) in enumerate(others):
            lines.append(f"  table.others[{index}] = {{{handle:#x}, {number}}};")
        for handle, number in pairs:
            lines.append(f"  table.by_number[{number}] = {handle:#x};")
        lines.append("  return table;\n}();\n")
    return "\n".join(lines) + "}  // namespace hawser::binding\n"
