"""Reads the tables of MPI functions (functions_*.table; their format is explained in functions.md)."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from kinds import KINDS

FLAGS = {"large", "tells_large", "deprecated", "any_time", "at_once", "sent", "lanes", "hand", "tool", "c_only", "varargs", "lenient", "names_null",
         "extension"}
PARAMETER_FLAGS = {"large_only", "@root", "@leaf", "@each"}
DIRECTIONS = {"in", "out", "inout", "free", "out_later"}


class TableError(Exception):
    """A table does not follow the format."""


@dataclass
class Parameter:
    direction: str  # in, out, inout, free, out_later
    kind: str
    name: str
    length: str | None  # the text between brackets for an array, else None
    flags: set[str] = field(default_factory=set)

    @property
    def array(self):
        # A text's brackets hold the capacity of one string, not the length of an array.
        return self.length is not None and self.kind != "text"

    @property
    def writes(self):
        return self.direction != "in"

    def in_form(self, large):
        return large or "large_only" not in self.flags


@dataclass
class Function:
    name: str  # without MPI_
    chapter: str
    implemented: bool
    flags: set[str]
    returns: str
    abi: str | None  # None: both; "mpich": only there
    alias: str | None  # the function whose core does the work
    parameters: list[Parameter]

    @property
    def prefix(self):
        return "MPIX_" if "extension" in self.flags else "MPI_"

    @property
    def fortran_prefix(self):
        """Of the procedures' names, in small letters."""
        return self.prefix.lower().removesuffix("_")

    @property
    def core_name(self):
        return (self.alias or self.name).lower()

    @property
    def forms(self):
        """The C forms: False is the plain one, True the one with `_c`."""
        return (False, True) if "large" in self.flags else (False,)

    def c_name(self, large):
        return self.prefix + self.name + ("_c" if large else "")

    def find_name(self, name):
        return next((p for p in self.parameters if p.name == name), None)

    def find(self, kind):
        return next((p for p in self.parameters if p.kind == kind), None)


def parse_parameter(text, where):
    words = text.split()
    direction = words.pop(0) if words and words[0] in DIRECTIONS else "in"
    if len(words) < 2:
        raise TableError(f"{where}: '{text}' is not '[direction] kind name'")
    kind, name, *flags = words
    if kind not in KINDS:
        raise TableError(f"{where}: unknown kind '{kind}'")
    unknown = set(flags) - PARAMETER_FLAGS
    if unknown:
        raise TableError(f"{where}: unknown mark {sorted(unknown)} on {name}")
    match = re.fullmatch(r"(\w+)(?:\[([^\]]*)\])?", name)
    if match is None:
        raise TableError(f"{where}: '{name}' is not a name")
    return Parameter(direction, kind, match[1], match[2], set(flags))


def parse_function(line, chapter, where):
    match = re.fullmatch(r"([-+]) (\w+)((?: [\w=]+)*):(.*)", line)
    if match is None:
        raise TableError(f"{where}: '{line}' is not '+|- Name marks: parameters'")
    sign, name, marks, rest = match.groups()
    flags, values = set(), {}
    for mark in marks.split():
        key, equals, value = mark.partition("=")
        if equals and key in ("returns", "abi", "alias"):
            values[key] = value
        elif key in FLAGS and not equals:
            flags.add(key)
        else:
            raise TableError(f"{where}: unknown mark '{mark}' of {name}")
    texts = [text.strip() for text in rest.split(",") if text.strip()]
    if "varargs" in texts[-1:] or (texts and texts[-1] == "... varargs"):
        flags.add("varargs")
        texts.pop()
    parameters = [parse_parameter(text, where) for text in texts]
    return Function(name, chapter, sign == "+", flags, values.get("returns", "int"), values.get("abi"),
                    values.get("alias"), parameters)


def read_table(path):
    functions, chapter, pending, start = [], None, "", 0

    def finish():
        nonlocal pending
        if pending:
            functions.append(parse_function(pending, chapter, f"{path.name}:{start}"))
        pending = ""

    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(" ") and line.strip():
            pending += " " + line.strip()
            continue
        finish()
        if line.startswith("["):
            chapter = line.strip("[] ")
        elif line.strip() and not line.startswith("#"):
            pending, start = line.rstrip(), number
    finish()
    return functions


def read_functions(directory):
    """All functions of all tables, in the tables' order; the names are unique."""
    functions = [f for path in sorted(Path(directory).glob("functions_*.table")) for f in read_table(path)]
    by_name = {}
    for function in functions:
        if function.name in by_name:
            raise TableError(f"{function.name} stands in the tables twice")
        by_name[function.name] = function
    for function in functions:
        if function.alias and function.alias not in by_name:
            raise TableError(f"{function.name} is an alias of {function.alias}, which is not in the tables")
    return functions
