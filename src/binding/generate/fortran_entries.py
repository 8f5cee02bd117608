"""Writes Fortran's entry points in C++: what mpif.h, mpi and mpi_f08 call. They lean on src/binding/fortran.

For each function:
  pmpi_x_            all arguments by address (mpif.h, mpi); also mpi_x_f08_ when there is no choice buffer
  mpi_x_f08_large_   the same with large counts; with a choice buffer, a function of this file only
  mpi_x_f08ts_, mpi_x_f08ts_large_   choice buffers by gfortran's own descriptors (mpi_f08), which they turn into C's"""

from entry_points import buffer_groups
from fortran_functions import (by_hand, c_type, f08_name, has_choice, in_fortran, is_choice, is_detached_buffer,
                               parameters_of, section_rule)
from kinds import KINDS

PROLOGUE = """\
// Fortran's entry points of the chapter "{chapter}". Generated from functions_*.table; do not edit.
#include "binding/fortran/library.h"
#include "binding/fortran/sections.h"

namespace hawser::fortran {{
#pragma GCC visibility push(default)
"""

# Lengths that the tables leave open, of (function, parameter).
OPEN_LENGTHS = {
    ("Graph_create", "edges"): "element_of(index, get(nnodes))", ("Graph_map", "edges"): "element_of(index, get(nnodes))",
    ("Dist_graph_create", "destinations"): "sum_of(degrees, get(n))",
    ("Dist_graph_create", "weights"): "sum_of(degrees, get(n))",
    ("Cart_rank", "coords"): "dimensions_of(comm)", ("Cart_sub", "remain_dims"): "dimensions_of(comm)",
    ("Comm_spawn_multiple", "array_of_errcodes"): "sum_of(array_of_maxprocs, get(count))",
}
INFO_TEXTS = {"key", "value"}


class FortranEntry:
    def __init__(self, function, large):
        self.function, self.large = function, large
        self.parameters = parameters_of(function, large)
        self.groups = buffer_groups(function)
        self.lower = function.name.lower()
        # The functions that MPI-3.0 removed have addresses of type INTEGER.
        self.old = function.chapter == "mpich"

    def of_c(self, parameter):
        return "int" if self.old and parameter.kind == "aint" else c_type(parameter, self.large)

    # --- signatures ---

    def declared(self, parameter, choice):
        """The C++ declaration of a parameter; `choice` is the type of a choice buffer."""
        name, group = parameter.name, KINDS[parameter.kind].group
        if is_choice(parameter):
            return f"{choice} {name}"
        if group in ("string", "text", "argv"):
            return f"CFI_cdesc_t* {name}" if choice == "CFI_cdesc_t*" else f"char* {name}"
        if group == "function":
            return f"Procedure {name}"
        if group == "pointer":
            return f"void* {name}"
        of_c = self.of_c(parameter)
        if of_c in ("MPI_Count", "MPI_Aint", "MPI_Offset", "void*"):
            return f"{'MPI_Aint' if of_c == 'void*' else of_c}* {name}"
        return f"int* {name}"

    def signature(self, choice="void*"):
        texts = [self.declared(p, choice) for p in self.parameters] + ["int* ierror"]
        if choice != "CFI_cdesc_t*":
            texts += [f"std::size_t {p.name}_length" for p in self.texts()]
        return "(" + ", ".join(texts) + ")"

    def texts(self):
        return [p for p in self.parameters if KINDS[p.kind].group in ("string", "text", "argv")]

    # --- arguments of the C function ---

    def length(self, parameter):
        text = parameter.length
        if text == "*":
            return OPEN_LENGTHS[self.function.name, parameter.name]
        if text == "size":
            return "size_of(comm)"
        if text == "local_size":
            return "local_size_of(comm)"
        if text in ("indegree", "outdegree") and not self.function.find_name(text):
            return f"{text}_of(comm)"
        return self.value(self.function.find_name(text))

    def value(self, parameter):
        return f"get({parameter.name})" if self.is_int(parameter) else f"*{parameter.name}"

    def is_int(self, parameter):
        return self.declared(parameter, "void*").startswith("int*")

    def closure(self, parameter):
        """The length as something that is computed only when it is needed, and 0 for what is not significant."""
        length = self.length(parameter)
        group = next((g for g in self.groups if parameter in g["members"]), None)
        if group is not None and len(group["buffers"]) == 1:
            buffer = group["buffers"][0]
            if "@root" in buffer.flags:
                length = f"is_root(root, comm) ? {length} : 0"
            elif buffer.kind == "buffer_place":
                length = f"buffer_address({buffer.name}) != MPI_IN_PLACE ? {length} : 0"
        return f"[&] {{ return std::int64_t{{{length}}}; }}"

    def argument(self, parameter):
        name, group = parameter.name, KINDS[parameter.kind].group
        if is_choice(parameter):
            return f"buffer_address({name})"
        if self.old and parameter.kind == "aint":
            return self.old_address(parameter)
        special = getattr(self, f"argument_{group}", None)
        if special is not None:
            return special(parameter)
        if group == "function":
            return f"c_function<{c_type(parameter, self.large).rstrip('*')}>({name})"
        if not self.is_int(parameter):
            if group == "plain_pointer":
                return name
            return name if parameter.array or parameter.writes else f"*{name}"
        if parameter.array:
            return f"{'OutArray' if parameter.writes else 'In'}({name}, {self.closure(parameter)})"
        return f"Out({name})" if parameter.writes else f"get({name})"

    def old_address(self, parameter):
        if parameter.array:
            return f"OldAddresses({parameter.name}, {self.closure(parameter)})"
        return f"OutOldAddress({parameter.name})" if parameter.writes else f"old_address({parameter.name})"

    def argument_int(self, parameter):
        if self.function.chapter == "request" and "ind" in parameter.name:
            if parameter.array:
                return f"OutIndices({parameter.name}, {self.closure(parameter)})"
            return f"OutIndex({parameter.name})"
        if parameter.direction == "inout" and any(t.length == parameter.name for t in self.texts()):
            return f"Capacity({parameter.name})"
        return self.plain_int(parameter)

    def plain_int(self, parameter):
        name = parameter.name
        if parameter.array:
            return f"{'OutArray' if parameter.writes else 'In'}({name}, {self.closure(parameter)})"
        return f"Out({name})" if parameter.writes else f"get({name})"

    def argument_translated(self, parameter):
        if parameter.kind == "error_code" and parameter.array:
            return f"ErrorCodes({parameter.name}, {self.closure(parameter)})"
        return self.plain_int(parameter)

    def argument_triplet(self, parameter):
        return f"Triplets({parameter.name}, {self.closure(parameter)})"

    def argument_weights(self, parameter):
        array = "OutArray" if parameter.writes else "In"
        return f"Weights<{array}>({parameter.name}, {self.closure(parameter)})"

    def argument_handle(self, parameter):
        name, of_c = parameter.name, c_type(parameter, self.large)
        if parameter.kind == "type" and not parameter.writes:
            return f"Datatypes({name}, {self.closure(parameter)})" if parameter.array else f"datatype_handle({name})"
        if parameter.array:
            writes = "true" if parameter.writes else "false"
            return f"Handles<{of_c}, {writes}>({name}, {self.closure(parameter)})"
        return f"OutHandle<{of_c}>({name})" if parameter.writes else f"handle<{of_c}>({name})"

    argument_handle_or_null = argument_request = argument_message = argument_handle

    def argument_status(self, parameter):
        name = parameter.name
        if parameter.array:
            return f"Statuses({name}, {self.closure(parameter)})"
        return f"Statuses({name}, {'true' if parameter.writes else 'false'})"

    def argument_string(self, parameter):
        name = parameter.name
        if parameter.array:
            return f"Texts({name}, {name}_length, {self.closure(parameter)})"
        leading = ", true" if self.function.chapter == "info" and name in INFO_TEXTS else ""
        return f"Text({name}, {name}_length{leading})"

    def argument_text(self, parameter):
        name = parameter.name
        length = self.function.find_name(parameter.length.removesuffix("+1"))
        capacity = parameter.length
        if length is not None:
            capacity = f"get({length.name}) + 1"
            if length.direction == "inout":  # 0 asks for the length alone
                capacity = f"get({length.name}) > 0 ? {capacity} : 0"
        flag = self.function.find_name("flag")
        return f"OutText({name}, {name}_length, {capacity}{', flag' if flag else ''})"

    argument_resultlen = plain_int

    def argument_argv(self, parameter):
        name = parameter.name
        if parameter.kind == "argvs_in":
            return f"ArgumentLists({name}, {name}_length, [&] {{ return std::int64_t{{get(count)}}; }})"
        return f"Arguments({name}, {name}_length)"

    def argument_pointer(self, parameter):
        return parameter.name

    # --- texts ---

    def address_form(self, linkage, name, detached=None):
        """The function that gets choice buffers by their addresses."""
        arguments = [detached if detached and is_detached_buffer(p) else self.argument(p) for p in self.parameters]
        copies = self.copies()
        lines = [f"{linkage}void {name}{self.signature()} noexcept {'try ' if copies else ''}{{"]
        if detached == "&unused":
            lines[0] = lines[0].replace("void* buffer_addr", "void*")
            lines.append("  void* unused = nullptr;")
        lines.append(f"  put_error(ierror, {self.function.c_name(self.large)}({', '.join(arguments)}));")
        if copies:
            return [*lines, f"}} catch (const std::bad_alloc& error) {{ out_of_memory({self.quoted()}, error); }}"]
        return [*lines, "}"]

    def quoted(self):
        return f'"{self.function.c_name(self.large)}"'

    def copies(self):
        """Whether arguments may be copied, for which memory may be missing."""
        return any(p.array or KINDS[p.kind].group in ("string", "text", "argv") for p in self.parameters)

    def inner(self):
        return f"{self.lower}_large" if self.large else f"p{self.function.fortran_prefix}_{self.lower}_"

    def descriptor_form(self, name):
        """The function that gets choice buffers by C descriptors."""
        rules = {p.name: section_rule(self.function, p, self.groups) for p in self.parameters if is_choice(p)}
        lines = [f'static void {name}{self.signature("CFI_cdesc_t*")} noexcept {{']
        arguments = {p.name: p.name for p in self.parameters}
        for parameter in self.parameters:
            rule = rules.get(parameter.name)
            if rule is not None:
                lines += getattr(self, f"section_{rule}")(parameter, arguments)
        lengths = []
        for text in self.texts():
            arguments[text.name] = f"const_cast<char*>(text_of({text.name}))"
            lengths.append(f"length_of({text.name})")
        ordered = [arguments[p.name] for p in self.parameters] + ["ierror"] + lengths
        return [*lines, f"  {self.inner()}({', '.join(ordered)});", "}"]

    def section_address(self, parameter, arguments):
        arguments[parameter.name] = f"{parameter.name}->base_addr"
        return []

    def section_copy(self, parameter, arguments):
        name = parameter.name
        arguments[name] = f"{name}_.address()"
        return [f"  Section {name}_({self.quoted()}, {name}, {'true' if parameter.writes else 'false'});"]

    def section_refuse(self, parameter, arguments):
        name = parameter.name
        arguments[name] = f"{name}->base_addr"
        error = "refuse_section(comm)" if self.function.find("comm") else "MPI_ERR_BUFFER"
        return [f"  if (!contiguous(*{name})) return put_error(ierror, {error});"]

    def section_stride(self, parameter, arguments):
        name = parameter.name
        members = next(g["members"] for g in self.groups if parameter in g["buffers"])
        count = next(p for p in members if p.kind == "count").name
        datatype = next(p for p in members if p.kind == "type").name
        arguments[name] = f"{name}_.address()"
        arguments[count], arguments[datatype] = f"{name}_.count({count})", f"{name}_.datatype()"
        return [f"  StridedArgument {name}_({self.quoted()}, {name}, *{count}, {datatype});",
                f"  if ({name}_.error() != MPI_SUCCESS) return put_error(ierror, {name}_.error());"]

    def gfortran_form(self, name, target):
        """The function that gets choice buffers by gfortran's descriptors."""
        arguments = []
        for parameter in self.parameters:
            if is_choice(parameter):
                arguments.append(f"Converted({parameter.name})")
            elif parameter in self.texts():
                arguments.append(f"Converted({parameter.name}, {parameter.name}_length)")
            else:
                arguments.append(parameter.name)
        signature = self.signature("const GfortranDescriptor*")
        return [f'extern "C" void {name}{signature} noexcept {{',
                f"  {target}({', '.join(arguments + ['ierror'])});", "}",
                f"HAWSER_WEAK({'pmpir_' + name.removeprefix('mpi_')}, {name});"]


def plain_entries(function):
    entry = FortranEntry(function, False)
    lower = function.name.lower()
    detached = any(is_detached_buffer(p) for p in function.parameters)
    mpi = function.fortran_prefix
    lines = entry.address_form('extern "C" ', f"p{mpi}_{lower}_", "&unused" if detached else None)
    lines.append(f"HAWSER_PROCEDURE_OF({mpi}_{lower}, {mpi.upper()}_{function.name.upper()});")
    if has_choice(function):
        return lines + descriptor_entries(function, False)
    if detached:
        lines += entry.address_form('extern "C" ', f"mpi_{lower}_f08_")
        lines.append(f"HAWSER_WEAK(pmpir_{lower}_f08_, mpi_{lower}_f08_);")
        return lines
    lines.append(f"HAWSER_F08_OF({mpi}, {lower});")
    if any(p.kind == "pointer" and p.writes for p in function.parameters):
        # With TYPE(C_PTR) instead of an address-sized INTEGER.
        lines += [f"HAWSER_WEAK({p}mpi_{lower}_cptr_, pmpi_{lower}_);" for p in ("", "p")]
    return lines


def large_entries(function):
    entry = FortranEntry(function, True)
    lower = function.name.lower()
    if has_choice(function):
        return entry.address_form("static ", f"{lower}_large") + descriptor_entries(function, True)
    name = f"mpi_{f08_name(function, True)}_"
    return [*entry.address_form('extern "C" ', name), f"HAWSER_WEAK(pmpir_{name.removeprefix('mpi_')}, {name});"]


def descriptor_entries(function, large):
    entry = FortranEntry(function, large)
    name = f"{function.name.lower()}{'_large' if large else ''}_cfi"
    return entry.descriptor_form(name) + entry.gfortran_form(f"mpi_{f08_name(function, large)}_", name)


def fortran_entries(functions):
    """One file's text for the functions of a chapter."""
    lines = [PROLOGUE.format(chapter=functions[0].chapter.replace("_", " "))]
    if functions[0].abi:
        lines.append(f"#ifdef HAWSER_ABI_OF_{functions[0].abi.upper()}")
    for function in functions:
        if not in_fortran(function) or by_hand(function):
            continue
        lines += plain_entries(function)
        if "large" in function.flags:
            lines += large_entries(function)
        lines.append("")
    if functions[0].abi:
        lines.append("#endif")
    lines.append("#pragma GCC visibility pop\n}  // namespace hawser::fortran")
    return "\n".join(lines) + "\n"
