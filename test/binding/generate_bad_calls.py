"""Writes the calls of bad_calls.c from the tables of MPI functions: each function with null pointers in place of one of
its arguments, and each that takes a count and a datatype, or a number of bytes, with counts that no buffer can have.
generate_bad_calls.py ROOT OUTPUT"""

import re
import sys
from pathlib import Path

root, output = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(root / "src/binding/generate"))

from c_header import c_parameter  # noqa: E402
from kinds import KINDS  # noqa: E402
from table import read_functions  # noqa: E402

# What is not called: what starts and ends MPI or the program.
LEFT_OUT = {"Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "T_init_thread", "T_finalize"}

# Good arguments: C expressions by the parameter's name, else by its kind. What is written to lies in the struct
# `given`, which is made anew for each call.
BY_NAME = {
    "pset_name": '"mpi://WORLD"', "datarep": '"external32"', "key": '"key"', "size": "4", "nnodes": "1", "ndims": "1",
    "n": "1", "p": "6", "r": "3", "color": "0", "logical_size": "4", "incount": "1", "outcount": "1", "outsize": "64",
    "insize": "64", "reorder": "0", "valuelen": "63", "indegree": "1", "outdegree": "1", "index": "given.ones",
    "partitions": "1",
    "local_leader": "0", "remote_leader": "0", "periods": "given.zeros", "user_fn": "USER_FUNCTION",
    "fd": "-1", "dims": "given.ones",
}
BY_KIND = {
    "buffer": "given.{memory}", "buffer_place": "given.{memory}", "buffer_auto": "given.memory",
    "pointer": "given.memory",
    "pointer_raw": "given.memory", "state": "NULL", "attribute": "given.memory", "address_of": "given.memory",
    "count": "1", "index": "1", "displ": "0", "unit": "1", "address": "0", "aint": "0", "wide": "1", "offset": "0",
    "int": "0", "length": "1", "contents": "0", "dest": "MPI_PROC_NULL", "source": "MPI_PROC_NULL", "root": "0",
    "rank": "0", "tag": "0", "tag_any": "0", "keyval": "keyval", "error_code": "MPI_ERR_ARG",
    "thread_level": "MPI_THREAD_SINGLE", "split_type": "MPI_COMM_TYPE_SHARED", "order": "MPI_ORDER_C",
    "typeclass": "MPI_TYPECLASS_INTEGER", "logical": "0", "comm": "MPI_COMM_SELF", "comm_optional": "MPI_COMM_SELF",
    "group": "group", "group_optional": "group", "type": "MPI_INT", "op": "MPI_SUM", "errhandler": "MPI_ERRORS_RETURN",
    "info": "info", "win": "window", "file": "MPI_FILE_NULL", "session": "session", "request": "MPI_REQUEST_NULL",
    "message": "MPI_MESSAGE_NO_PROC", "status": "given.status", "string": '"name"', "lock_type": "MPI_LOCK_SHARED",
    "assertion": "0", "file_mode": "MPI_MODE_RDONLY", "whence": "MPI_SEEK_SET", "argv_in": "NULL", "argvs_in": "NULL",
    "fn_user": "add", "fn_copy": "MPI_NULL_COPY_FN", "fn_delete": "MPI_NULL_DELETE_FN",
    "fn_comm_copy": "MPI_COMM_NULL_COPY_FN", "fn_comm_delete": "MPI_COMM_NULL_DELETE_FN",
    "fn_type_copy": "MPI_TYPE_NULL_COPY_FN", "fn_type_delete": "MPI_TYPE_NULL_DELETE_FN",
    "fn_win_copy": "MPI_WIN_NULL_COPY_FN", "fn_win_delete": "MPI_WIN_NULL_DELETE_FN", "t_enum": "MPI_T_ENUM_NULL",
    "t_cvar_handle": "control", "t_pvar_handle": "variable", "t_pvar_session": "variables",
    "t_event_registration": "(MPI_T_event_registration)0", "t_event_instance": "(MPI_T_event_instance)0",
    "t_cb_safety": "MPI_T_CB_REQUIRE_NONE", "t_pvar_class": "MPI_T_PVAR_CLASS_COUNTER", "fint_value": "0",
}
# Arrays that are read, by kind; else given.zeros of the type.
ARRAYS = {"distribution": "given.blocks", "distribution_argument": "given.defaults", "type": "given.types",
          "request": "given.requests", "status": "given.statuses", "logical": "given.zeros", "weights": "given.ones",
          "triplet": "given.ranges", "string": "given.strings", "info": "given.infos"}


def communicator(function):
    """A name of a communicator that the function likes."""
    name = function.name
    if name.startswith(("Cart_", "Cartdim", "Neighbor", "Ineighbor")) and name not in ("Cart_create", "Cart_map"):
        return "cartesian"
    if name.startswith("Graph") and name not in ("Graph_create", "Graph_map"):
        return "graph"
    return "distributed" if name.startswith("Dist_graph_neighbors") else "MPI_COMM_SELF"


def pointee(parameter, large):
    """The C type that a pointer argument points to."""
    text = c_parameter(parameter, large)
    text = re.sub(rf"\b{parameter.name}\b(\[\])?.*$", "", text).replace("const ", "").strip()
    return text.rstrip("*").strip() if text.endswith("*") else text


class Call:
    def __init__(self, function, large):
        self.function, self.large = function, large
        self.name = function.c_name(large)
        self.parameters = [p for p in function.parameters if p.in_form(large)]

    def is_pointer(self, parameter):
        text = c_parameter(parameter, self.large)
        return "*" in text or "[" in text

    def good(self, parameter):
        kind = KINDS[parameter.kind]
        if kind.group in ("buffer", "plain_pointer", "attribute") and parameter.kind in BY_KIND:
            writes = parameter.writes or parameter.kind == "pointer_raw"
            return BY_KIND[parameter.kind].format(memory="other" if writes else "memory")
        if parameter.kind == "pointer":
            return "given.memory"
        if parameter.kind in ("text", "string") and not parameter.array:
            return "given.text" if parameter.kind == "text" else BY_NAME.get(parameter.name, '"name"')
        if parameter.array:
            return ARRAYS.get(parameter.kind) if parameter.kind in ARRAYS else self.array(parameter)
        if self.is_pointer(parameter) and KINDS[parameter.kind].group not in ("function", "argv", "opaque"):
            return self.place(parameter)
        if KINDS[parameter.kind].group == "opaque" and parameter.writes:
            return self.place(parameter)
        if parameter.kind == "comm":
            return communicator(self.function)
        if parameter.kind.startswith("fn_") and parameter.kind not in BY_KIND:
            return "NULL" if "datarep" in parameter.kind else {
                "fn_comm_error": "on_error", "fn_win_error": "(MPI_Win_errhandler_function*)on_error",
                "fn_file_error": "(MPI_File_errhandler_function*)on_error",
                "fn_session_error": "(MPI_Session_errhandler_function*)on_error",
                "fn_query": "query", "fn_free": "release", "fn_cancel": "cancel"}.get(parameter.kind, "NULL")
        if parameter.kind == "fn_user":
            return "add_c" if self.large else "add"
        by_name = BY_NAME.get(parameter.name, '"')
        return by_name if not by_name.startswith('"') else BY_KIND.get(parameter.kind, "0")

    def array(self, parameter):
        of = pointee(parameter, self.large)
        ones = BY_NAME.get(parameter.name, "").endswith("ones") or parameter.name == "degrees" \
            or any(word in parameter.name for word in ("count", "size", "length"))
        return "given." + {"int": "ones" if ones else "zeros", "MPI_Count": "counts", "MPI_Aint": "addresses"}.get(
            of, "zeros")

    def place(self, parameter):
        """The address of a value of the right type, which is good where it is read too."""
        of = pointee(parameter, self.large)
        start = None
        if parameter.kind == "info":
            start = "info_copy()"
        elif parameter.kind in BY_KIND and parameter.direction != "out" and KINDS[parameter.kind].group in (
                "request", "message"):
            start = BY_KIND[parameter.kind]
        elif parameter.direction == "inout" and KINDS[parameter.kind].group in ("int", "number"):
            start = "0" if "position" in parameter.name else "16"
        if parameter.kind == "status":
            return "&given.status"
        if "fint" in parameter.kind or "f08" in parameter.kind or of in ("void", ""):
            return "given.memory" if of == "void" else f"({of}*)given.memory"
        return f"&({of}){{{start}}}" if start else f"({of}*)given.place"

    def text(self, replaced):
        arguments = [replaced.get(p.name) or self.good(p) for p in self.parameters]
        return f"{self.name}({', '.join(arguments)})"


def callable_functions():
    for function in read_functions(root / "src/binding"):
        if function.name in LEFT_OUT or function.returns != "int" or not function.parameters:
            continue
        if function.name.endswith(("_toint", "_fromint")):
            continue  # they answer no error code
        yield function


def null_calls():
    """Null for one pointer at a time. What is written must be refused or let pass; the others must not crash."""
    for function in callable_functions():
        for large in function.forms:
            call = Call(function, large)
            for parameter in call.parameters:
                if not call.is_pointer(parameter) or KINDS[parameter.kind].group in ("function", "opaque") and \
                        not parameter.writes:
                    continue
                if parameter.kind.startswith("fn_"):
                    continue
                is_output = parameter.writes and KINDS[parameter.kind].group not in ("buffer",) and \
                    "tool" not in function.flags
                expect = "REFUSED" if is_output and function.implemented else "SURVIVED"
                yield function, f"{call.name}, {parameter.name} null", call.text({parameter.name: "NULL"}), expect


COUNTS = {"INT_MAX": 2**31 - 1, "P31": 2**31, "P61_1": 2**61 - 1, "P61": 2**61, "P63_1": 2**63 - 1, "-1": -1}
TYPES = {"empty": 0, "MPI_BYTE": 1, "MPI_DOUBLE": 8, "vast": 2**40}
MOST = 2**56


def element_counts(call):
    """The counts of elements of a datatype, and the lengths of arrays that are among the counts."""
    counts = [p for p in call.parameters if p.kind == "count" and p.direction == "in"
              and p.name not in ("outsize", "insize", "size")]
    lengths = [p for p in counts if any(q.length == p.name for q in call.parameters if q.array)]
    return [p for p in counts if p not in lengths], lengths


def count_calls():
    for function in callable_functions():
        kinds = {p.kind for p in function.parameters if p.direction in ("in", "inout")}
        if not {"count", "type"} <= kinds or not function.implemented:
            continue
        for large in function.forms:
            call = Call(function, large)
            counts, lengths = element_counts(call)
            yield from calls_with_counts(call, counts)
            if large:
                yield from calls_with_lengths(call, lengths)
                yield from calls_with_displacements(call)


def replaced_by(call, counts, value, datatype):
    replaced = {p.name: (f"all({value})" if call.large else f"all_ints({value})") if p.array else value for p in counts}
    for p in call.parameters:
        if p.kind == "type" and p.direction == "in":
            replaced[p.name] = f"all_types({datatype})" if p.array else datatype
        if p.kind == "op":
            replaced[p.name] = "any_type"
    return replaced


def calls_with_counts(call, counts):
    function = call.function
    if not counts or function.name == "Type_get_contents":
        return
    peers = [p.name for p in call.parameters if p.kind in ("dest", "source")]
    buffers = any(KINDS[p.kind].group == "buffer" for p in call.parameters)
    for value, number in COUNTS.items():
        if number > 2**31 - 1 and not call.large:
            continue
        for datatype, size in TYPES.items():
            if function.name.startswith("Status_set_elements") and datatype == "vast":
                size = 1  # the elements are the basic ones
            vast = number * size > (MOST if buffers else 2**63 - 1)
            replaced = replaced_by(call, counts, value, datatype)
            what = f"{call.name}, counts {value} of {datatype}"
            if number < 0:
                yield function, what, call.text(replaced), "REFUSED_COUNT" if buffers else "REFUSED_BOTH"
            elif vast and not buffers:
                yield function, what, call.text(replaced), "REFUSED_BOTH"
            elif vast:
                if peers:
                    yield function, what + " from and to nobody", call.text(replaced), "NOBODY"
                    replaced |= {name: "0" for name in peers}
                yield function, what, call.text(replaced), "REFUSED_COUNT"
            elif size == 0 or not buffers:
                yield function, what, call.text(replaced), "FINISHED" if size == 0 and buffers else "SURVIVED"
            elif peers and "replace" not in function.name:
                yield function, what + " from and to nobody", call.text(replaced), "FINISHED"


def calls_with_lengths(call, lengths):
    for length in lengths:
        for value in ("P61_1", "P61", "P63_1", "-1"):
            yield call.function, f"{call.name}, arrays of length {value}", call.text({length.name: value}), \
                "SURVIVED" if call.function.name == "Type_get_contents" else "REFUSED_COUNT"


def calls_with_displacements(call):
    displacements = [p for p in call.parameters if p.kind == "displ" and p.array]
    for value in ("P61", "-P61", "P63_1") if displacements else ():
        replaced = replaced_by(call, [p for p in call.parameters if p.kind == "count" and p.array], "1", "MPI_DOUBLE")
        replaced |= {p.name: f"all_addresses({value})" for p in displacements}
        yield call.function, f"{call.name}, displacements {value}", call.text(replaced), "REFUSED_ARG"


# Sizes of memory that is asked for; 2 GiB of it may well be there.
ALLOCATES = {"Alloc_mem", "Win_allocate", "Win_allocate_shared"}


def size_calls():
    """Functions that take a number of bytes and no datatype."""
    for function in callable_functions():
        sizes = [p for p in function.parameters if p.name == "size" and p.direction == "in" and p.kind in ("aint", "count")]
        if not sizes or not function.implemented or any(p.kind == "type" for p in function.parameters):
            continue
        for large in function.forms:
            call = Call(function, large)
            for value, number in COUNTS.items():
                allocates = function.name in ALLOCATES
                if number > 2**31 - 1 and sizes[0].kind == "count" and not large or allocates and 0 < number <= 2**31:
                    continue
                expect = "REFUSED_SIZE" if number < 0 or allocates else "SURVIVED"
                yield function, f"{call.name}, size {value}", call.text({"size": value}), expect


def request_of(function):
    names = [p for p in function.parameters if p.kind == "request" and p.direction == "out"]
    if not names or function.name == "Grequest_start":
        return "KEEP"
    return "RELEASE" if function.name.endswith("_init") else "COMPLETE"


def write_calls(lines, table, calls):
    for function, what, text, expect in calls:
        number = len(lines)
        guard = ("#ifdef ABI_OF_MPICH\n", "\n#endif") if function.abi == "mpich" else ("", "")
        lines.append(f"{guard[0]}static int call_{number}(void) {{ return {text}; }}{guard[1]}")
        table.append(f'{guard[0]}  {{"{what}", call_{number}, {expect}, {request_of(function)}}},{guard[1]}')


lines, nulls, counts = [], [], []
write_calls(lines, nulls, null_calls())
write_calls(lines, counts, count_calls())
write_calls(lines, counts, size_calls())
output.write_text("\n".join([*lines, "static const struct Call null_calls[] = {", *nulls, "};",
                             "static const struct Call count_calls[] = {", *counts, "};", ""]))
