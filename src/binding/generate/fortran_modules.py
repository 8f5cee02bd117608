"""Writes the modules mpi and mpi_f08 from their templates (src/binding/fortran/*.f90.in): constants and interfaces."""

import textwrap
from pathlib import Path

from fortran_constants import constants_text, displacement_current, numbers, plain_numbers
from fortran_functions import (c_type, distinct_large_form, f08_name, fortran_type, in_fortran, is_choice,
                               is_detached_buffer, parameters_of)
from kinds import KINDS

# Deprecated functions that mpi_f08 does not have; those that MPI-3.0 removed are procedures without an interface.
NOT_IN_F08 = {"Keyval_create", "Keyval_free", "Attr_put", "Attr_get", "Attr_delete"}
ADDRESS = "integer(kind=MPI_ADDRESS_KIND)"
# Buffers that the program must leave alone after the call.
LATER_CHAPTERS = {"collective_nonblocking", "collective_persistent", "window"}

HANDLE_TYPES = ("Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win")


def wrapped(text, indent):
    """A statement on as many lines as it takes."""
    lines = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
    return f" &\n{indent}    ".join([indent + lines[0], *lines[1:]])


def intent_of(parameter):
    """Arrays and strings may stay as they are in part, which intent(out) would forbid."""
    if not parameter.writes:
        return ", intent(in)"
    whole = parameter.direction == "out" and not parameter.array and parameter.kind != "text"
    return ", intent(out)" if whole else ", intent(inout)"


def shape_of(parameter):
    if KINDS[parameter.kind].group == "triplet":
        return "(3,*)"
    if parameter.kind == "argvs_in":
        return "(count,*)"
    return "(*)" if parameter.array or parameter.kind == "argv_in" else ""


class Interface:
    """One procedure's interface in `mpi` or, with f08, in `mpi_f08`."""

    def __init__(self, function, large, f08, pointers=False):
        self.function, self.large, self.f08 = function, large, f08
        self.pointers = f08 or pointers  # TYPE(C_PTR) for addresses that come out
        self.parameters = parameters_of(function, large)

    def declaration(self, parameter):
        name, group = parameter.name, KINDS[parameter.kind].group
        if is_choice(parameter) or (is_detached_buffer(parameter) and not self.pointers):
            return self.choice(parameter)
        if group == "function":
            return f"procedure({c_type(parameter, self.large).rstrip('*')}) :: {name}" if self.f08 else f"external {name}"
        if group == "pointer":
            return f"type(c_ptr), intent(out) :: {name}" if self.pointers else f"{ADDRESS}, intent(out) :: {name}"
        if parameter.kind == "state":
            # Generalized requests and data representations keep the variable, others its value.
            return f"{self.address_type()} :: {name}"
        return f"{self.type_of(parameter, group)}{self.intent(parameter, group)} :: {name}{shape_of(parameter)}"

    def address_type(self):
        return "integer" if "deprecated" in self.function.flags and self.function.chapter == "attribute" else ADDRESS

    def intent(self, parameter, group):
        later = ", asynchronous" if parameter.direction == "out_later" else ""
        return later if group == "status" and parameter.writes else intent_of(parameter) + later

    def type_of(self, parameter, group):
        if group == "attribute":
            return self.address_type()
        if group in ("string", "text", "argv"):
            return "character(len=*)"
        if group == "logical":
            return "logical"
        if group == "status":
            return "type(MPI_Status)" if self.f08 else "integer, dimension(MPI_STATUS_SIZE)"
        of_c = c_type(parameter, self.large)
        if self.f08 and of_c.removeprefix("MPI_") in HANDLE_TYPES:
            return f"type({of_c})"
        return fortran_type(parameter, self.large)

    def choice(self, parameter):
        name = parameter.name
        if not self.f08:
            return f"type(*), dimension(*) :: {name}\n!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}"
        intent = "" if parameter.writes else ", intent(in)"
        later = self.function.chapter in LATER_CHAPTERS or self.function.find("request") or \
            self.function.name.endswith(("_begin", "_end")) or parameter.kind != "buffer" \
            and self.function.chapter != "collective"
        return f"type(*), dimension(..){intent}{', asynchronous' if later else ''} :: {name}"

    def text(self, name):
        names = ", ".join([p.name for p in self.parameters] + ["ierror"])
        lines = [wrapped(f"subroutine {name}({names})", "    "), "      import"]
        # Lengths of other arguments first.
        for parameter in self.parameters:
            declared = self.declaration(parameter)
            if KINDS[parameter.kind].group == "status" and parameter.array and not self.f08:
                declared = f"integer :: {parameter.name}(MPI_STATUS_SIZE,*)"
            lines.append("      " + declared)
        lines.append(f"      integer{', optional' if self.f08 else ''}, intent(out) :: ierror")
        return [*lines, "    end subroutine"]


def generic(name, bodies):
    return [f"  interface {name}", *[line for body in bodies for line in body], f"  end interface {name}"]


def mpi_interfaces(function):
    lines = []
    for prefix in ("", "P"):
        name = f"{prefix}{function.prefix}{function.name}"
        bodies = [Interface(function, False, False).text(name)]
        if any(p.kind == "pointer" and p.writes and not is_detached_buffer(p) for p in function.parameters):
            bodies.append(Interface(function, False, False, pointers=True).text(name + "_cptr"))
            lines += generic(name, bodies)
        else:
            lines += ["  interface", *bodies[0], "  end interface"]
    return lines


def f08_interfaces(function):
    lines = []
    own_name = any(p.kind in ("fn_user", "fn_datarep_conversion") for p in function.parameters)
    for prefix in ("", "P"):
        bodies = [f08_body(function, False, prefix)]
        if distinct_large_form(function):
            bodies.append(f08_body(function, True, prefix))
        lines += generic(f"{prefix}{function.prefix}{function.name}", bodies)
        if "large" in function.flags and own_name:
            lines += generic(f"{prefix}MPI_{function.name}_c", [f08_body(function, True, prefix)])
    return lines


def f08_body(function, large, prefix):
    mpi = function.fortran_prefix.upper()
    return Interface(function, large, True).text(f"{f'P{mpi}R' if prefix else mpi}_{f08_name(function, large)}")


def f08_constants(constants, abi):
    lines = [f"  integer, parameter :: {name} = {value}" for name, value in plain_numbers(abi)]
    for name, value, handle in numbers(constants, abi):
        if handle:
            lines.append(f"  type({handle}), parameter :: {name} = {handle}({value})")
        else:
            lines.append(f"  integer, parameter :: {name} = {value}")
    lines.append("  integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = "
                 + displacement_current(constants, abi))
    return "\n".join(lines)


def handle_types():
    return "\n".join(f"  type, bind(C) :: MPI_{name}\n    integer :: MPI_VAL\n  end type" for name in HANDLE_TYPES)


def operator_interfaces():
    lines = []
    for sign, word in (("==", "eq"), ("/=", "neq")):
        names = ", ".join(f"MPI_{name}_{word}" for name in HANDLE_TYPES)
        lines += [f"  interface operator({sign})", wrapped(f"module procedure {names}", "    "), "  end interface"]
    return "\n".join(lines)


def operator_bodies():
    lines = []
    for name in HANDLE_TYPES:
        for sign, word in (("==", "eq"), ("/=", "neq")):
            lines += [f"  elemental logical function MPI_{name}_{word}(a, b)",
                      f"    type(MPI_{name}), intent(in) :: a, b",
                      f"    MPI_{name}_{word} = a%MPI_VAL {sign} b%MPI_VAL", "  end function"]
    return "\n".join(lines)


STATUS_FIELDS = {
    "standard": "    integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    integer :: MPI_ERROR\n"
                "    integer, private :: MPI_internal(5)",
    "mpich": "    integer, private :: count_lo\n    integer, private :: count_hi_and_cancelled\n"
             "    integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    integer :: MPI_ERROR",
}


def module_text(template, functions, constants, abi):
    f08 = Path(template).name.startswith("mpi_f08.")
    lines = []
    for function in functions:
        plain = function.returns == "int" and "varargs" not in function.flags and function.chapter != "mpich"
        if not in_fortran(function) or not plain or (f08 and function.name in NOT_IN_F08):
            continue
        lines += f08_interfaces(function) if f08 else mpi_interfaces(function)
    text = Path(template).read_text()
    for mark, value in (("CONSTANTS", f08_constants(constants, abi) if f08 else constants_text(constants, abi)),
                        ("INTERFACES", "\n".join(lines)), ("HANDLE_TYPES", handle_types()),
                        ("OPERATORS", operator_interfaces()), ("OPERATOR_BODIES", operator_bodies()),
                        ("STATUS_FIELDS", STATUS_FIELDS[abi])):
        text = text.replace(f"@{mark}@", value)
    return text
