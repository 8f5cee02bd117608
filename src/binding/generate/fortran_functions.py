"""What the Fortran interfaces make of the tables: which functions they have, with which parameters, in which forms."""

from kinds import KINDS

# Kinds whose functions are written by hand (src/binding/fortran): procedures of the program that need more than a
# cast, attributes, and what a Fortran program does not hand over.
HAND_KINDS = {"attribute", "argc", "argv", "fn_copy", "fn_delete", "fn_comm_copy", "fn_comm_delete", "fn_type_copy",
              "fn_type_delete", "fn_win_copy", "fn_win_delete", "fn_query", "fn_free", "fn_cancel",
              "fn_datarep_conversion", "fn_datarep_extent"}
# Functions of C only.
C_ONLY_KINDS = {"status_raw", "status_f08", "fint", "fint_value", "pointer_raw"}
C_ONLY_NAMES = {"Abi_set_fortran_info", "Abi_set_fortran_booleans"}

CHOICE_KINDS = {"buffer", "buffer_place", "buffer_auto", "address_of"}


def in_fortran(function):
    if function.flags & {"c_only", "tool"} or function.name in C_ONLY_NAMES:
        return False
    return not any(p.kind in C_ONLY_KINDS for p in function.parameters)


def by_hand(function):
    return function.returns != "int" or "varargs" in function.flags or function.name == "Info_create_env" or any(
        p.kind in HAND_KINDS for p in function.parameters)


def is_choice(parameter):
    return parameter.kind in CHOICE_KINDS or (parameter.kind == "pointer" and not parameter.writes)


def has_choice(function):
    return any(is_choice(p) for p in function.parameters)


def is_detached_buffer(parameter):
    """The address of a buffer that was attached: mpif.h and mpi declare it in a way that leaves it unused."""
    return parameter.kind == "pointer" and parameter.writes and parameter.name.startswith("buffer")


def parameters_of(function, large):
    """What is left of C's parameters."""
    dropped = {"argc", "argv"} | ({"argv_in", "int"} if function.name == "Info_create_env" else set())
    return [p for p in function.parameters if p.in_form(large) and p.kind not in dropped]


def c_type(parameter, large):
    kind = KINDS[parameter.kind]
    return kind.large if large else kind.c


def f08_name(function, large):
    """The specific procedure of mpi_f08 (MPI-5.0 section 19.1.5)."""
    return f"{function.name.lower()}_f08{'ts' if has_choice(function) else ''}{'_large' if large else ''}"


def fortran_type(parameter, large):
    """Of a number: INTEGER, or one of the larger kinds."""
    of_c = c_type(parameter, large)
    return {"MPI_Aint": "integer(kind=MPI_ADDRESS_KIND)", "MPI_Count": "integer(kind=MPI_COUNT_KIND)",
            "MPI_Offset": "integer(kind=MPI_OFFSET_KIND)"}.get(of_c, "integer")


def distinct_large_form(function):
    """Whether a generic name can stand for both forms: kinds that are equal in size are the same to Fortran."""
    def shape(large):
        return [("integer8" if "kind" in fortran_type(p, large) else "integer", p.array)
                for p in parameters_of(function, large)]
    return "large" in function.flags and shape(False) != shape(True)


# --- choice buffers of mpi_f08 that are not contiguous (src/binding/fortran/sections.h) ---

BLOCKING_CHAPTERS = {"collective", "datatype"}
BLOCKING = {"Send", "Bsend", "Ssend", "Rsend", "Recv", "Sendrecv", "Sendrecv_replace", "Mrecv", "Ibsend"}
ADDRESS_ONLY_CHAPTERS = {"address", "interface"}


def section_rule(function, buffer, groups):
    """copy, stride, address (only the address counts), or refuse."""
    name = function.name
    if buffer.kind in ("address_of", "buffer_auto", "pointer") or name.startswith("Win_") or name.endswith("_end"):
        return "address"
    if function.chapter in BLOCKING_CHAPTERS or name in BLOCKING:
        return "copy"
    if function.chapter == "neighborhood" and not name.startswith("I") and not name.endswith("_init"):
        return "copy"
    if function.chapter == "file" and not name.startswith("File_i") and not name.endswith("_begin"):
        return "copy"
    group = next((g for g in groups if buffer in g["buffers"]), None)
    counts = [p for p in group["members"] if p.kind == "count" and not p.array]
    types = [p for p in group["members"] if p.kind == "type" and not p.array]
    if len(counts) != 1 or len(types) != 1 or function.find("op") and function.chapter != "window":
        return "refuse"
    if name in ("Psend_init", "Precv_init"):
        return "refuse"
    if function.chapter in ("point_to_point", "window", "file") or "bcast" in name.lower():
        return "stride"
    one_block = "gather" in name and not buffer.writes or "catter" in name and buffer.writes
    return "stride" if one_block else "refuse"
