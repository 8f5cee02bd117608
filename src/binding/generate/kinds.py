"""The kinds of parameters of MPI functions: their C types in the plain and in the large-count form, and their types
in the core's functions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    c: str  # C type in the plain form
    large: str  # C type in the large-count form
    core: str | None  # core type of one value going in; None: not handed to the core
    out: str | None = None  # core type of one value coming out; default: a reference to `core`
    group: str = "plain"  # how binding treats it: see entry_points.py

    @property
    def core_out(self):
        return self.out or f"{self.core}&"


def _number(c, large):
    return Kind(c, large, "std::int64_t", group="number")


def _int(group="int"):
    return Kind("int", "int", "int", group=group)


def _handle(c, core):
    return Kind(c, c, f"{core}&", f"Ref<{core}>&", group="handle")


def _function(c, large=None):
    return Kind(f"{c}*", f"{large or c}*", "AbiFunction", group="function")


def _opaque(c):
    return Kind(c, c, "void*", "void*&", group="opaque")


KINDS = {
    # Buffers. `place`: MPI_IN_PLACE is allowed; `auto`: MPI_BUFFER_AUTOMATIC is.
    "buffer": Kind("void*", "void*", "void*", group="buffer"),
    "buffer_place": Kind("void*", "void*", "void*", group="buffer"),
    "buffer_auto": Kind("void*", "void*", "void*", group="buffer"),
    "pointer": Kind("void*", "void*", "void*", "void*&", group="pointer"),  # out: void** passed as void*
    "pointer_raw": Kind("void*", "void*", "void*", "void*", group="plain_pointer"),
    "state": Kind("void*", "void*", "void*", group="plain_pointer"),
    "attribute": Kind("void*", "void*", "void*", "void*&", group="attribute"),
    "address_of": Kind("const void*", "const void*", "const void*", group="plain_pointer"),
    # Numbers that the large-count form widens, and 64-bit ones.
    "count": _number("int", "MPI_Count"),  # never negative
    "index": _number("int", "MPI_Count"),  # of either sign
    "displ": _number("int", "MPI_Aint"),
    "unit": _number("int", "MPI_Aint"),
    "address": _number("MPI_Aint", "MPI_Count"),
    "aint": _number("MPI_Aint", "MPI_Aint"),
    "wide": _number("MPI_Count", "MPI_Count"),
    "offset": _number("MPI_Offset", "MPI_Offset"),
    # Plain ints and ints with a meaning that differs between ABIs.
    "int": _int(),
    "length": _int(),  # the number of elements of the arrays that follow; never negative
    "contents": _int(),  # integers of MPI_Type_get_contents, some of which are constants
    "dest": _int("translated"),
    "source": _int("translated"),
    "root": _int("translated"),
    "rank": _int("translated"),
    "tag": _int("translated"),
    "tag_any": _int("translated"),
    "keyval": _int("translated"),
    "error_code": _int("translated"),
    "thread_level": _int("translated"),
    "comparison": _int("translated"),
    "split_type": _int("translated"),
    "topology": _int("translated"),
    "combiner": _int("translated"),
    "order": _int("translated"),
    "typeclass": _int("translated"),
    "lock_type": _int("translated"),
    "assertion": _int("translated"),
    "file_mode": _int("translated"),
    "whence": _int("translated"),
    "distribution": _int("translated"),
    "distribution_argument": _int("translated"),
    "triplet": Kind("int", "int", "int", group="triplet"),
    "weights": Kind("int", "int", "int", group="weights"),
    "logical": Kind("int", "int", "bool", group="logical"),
    # Handles.
    "comm": _handle("MPI_Comm", "Communicator"),
    "comm_optional": Kind("MPI_Comm", "MPI_Comm", "Communicator*", group="handle_or_null"),
    "group": _handle("MPI_Group", "Group"),
    "group_optional": Kind("MPI_Group", "MPI_Group", "Group*", group="handle_or_null"),
    "type": _handle("MPI_Datatype", "Datatype"),
    "op": _handle("MPI_Op", "Operator"),
    "errhandler": _handle("MPI_Errhandler", "ErrorHandler"),
    "info": Kind("MPI_Info", "MPI_Info", "Info*", "Ref<Info>&", group="handle_or_null"),
    "win": _handle("MPI_Win", "Window"),
    "file": _handle("MPI_File", "File"),
    "session": _handle("MPI_Session", "Session"),
    "request": Kind("MPI_Request", "MPI_Request", "Request*", group="request"),
    "message": Kind("MPI_Message", "MPI_Message", "Message*", group="message"),
    "status": Kind("MPI_Status", "MPI_Status", "Status&", "Status*", group="status"),
    # Strings.
    "string": Kind("const char*", "const char*", "std::string_view", group="string"),
    "text": Kind("char*", "char*", None, "std::string&", group="text"),
    "resultlen": Kind("int", "int", None, group="resultlen"),
    "argc": Kind("int", "int", None, group="plain"),
    "argv": Kind("char**", "char**", None, group="plain"),
    "argv_in": Kind("char*", "char*", "char**", group="argv"),
    "argvs_in": Kind("char**", "char**", "char***", group="argv"),
    # Functions of the application.
    "fn_user": _function("MPI_User_function", "MPI_User_function_c"),
    "fn_copy": _function("MPI_Copy_function"),
    "fn_delete": _function("MPI_Delete_function"),
    "fn_comm_copy": _function("MPI_Comm_copy_attr_function"),
    "fn_comm_delete": _function("MPI_Comm_delete_attr_function"),
    "fn_type_copy": _function("MPI_Type_copy_attr_function"),
    "fn_type_delete": _function("MPI_Type_delete_attr_function"),
    "fn_win_copy": _function("MPI_Win_copy_attr_function"),
    "fn_win_delete": _function("MPI_Win_delete_attr_function"),
    "fn_comm_error": _function("MPI_Comm_errhandler_function"),
    "fn_win_error": _function("MPI_Win_errhandler_function"),
    "fn_file_error": _function("MPI_File_errhandler_function"),
    "fn_session_error": _function("MPI_Session_errhandler_function"),
    "fn_query": _function("MPI_Grequest_query_function"),
    "fn_free": _function("MPI_Grequest_free_function"),
    "fn_cancel": _function("MPI_Grequest_cancel_function"),
    "fn_datarep_conversion": _function("MPI_Datarep_conversion_function", "MPI_Datarep_conversion_function_c"),
    "fn_datarep_extent": _function("MPI_Datarep_extent_function"),
    "fn_t_event": Kind("MPI_T_event_cb_function", "MPI_T_event_cb_function", "AbiFunction", group="opaque"),
    "fn_t_event_free": Kind("MPI_T_event_free_cb_function", "MPI_T_event_free_cb_function", "AbiFunction",
                            group="opaque"),
    "fn_t_event_dropped": Kind("MPI_T_event_dropped_cb_function", "MPI_T_event_dropped_cb_function",
                               "AbiFunction", group="opaque"),
    # The tool interface.
    "t_enum": _opaque("MPI_T_enum"),
    "t_cvar_handle": _opaque("MPI_T_cvar_handle"),
    "t_pvar_handle": _opaque("MPI_T_pvar_handle"),
    "t_pvar_session": _opaque("MPI_T_pvar_session"),
    "t_event_registration": _opaque("MPI_T_event_registration"),
    "t_event_instance": _opaque("MPI_T_event_instance"),
    "t_cb_safety": Kind("MPI_T_cb_safety", "MPI_T_cb_safety", "int", group="translated"),
    "t_source_order": Kind("MPI_T_source_order", "MPI_T_source_order", "int", group="translated"),
    "t_verbosity": _int("translated"),
    "t_bind": _int("translated"),
    "t_scope": _int("translated"),
    "t_pvar_class": _int("translated"),
    # Only in MPICH's ABI.
    "status_raw": Kind("MPI_Status", "MPI_Status", None),
    "status_f08": Kind("MPI_F08_status", "MPI_F08_status", None),
    "fint": Kind("MPI_Fint", "MPI_Fint", None),
    "fint_value": Kind("MPI_Fint", "MPI_Fint", None),
}
