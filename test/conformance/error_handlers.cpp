// Error handlers, and error classes and codes of the program (MPI-5.0 sections 9.3 to 9.5).
#include <cstdlib>
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// Where a handler leaves what it was told: an attribute of the communicator, for handlers have no extra
// state.
struct Told {
  int calls = 0;
  int error_class = -1;
};

int told_keyval_of(MPI_Comm comm) {
  // The keyval is kept as the communicator's name.
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Comm_get_name(comm, name, &length);
  return std::atoi(name);
}

void handler(MPI_Comm* comm, int* code, ...) {
  void* value = nullptr;
  int flag = 0;
  MPI_Comm_get_attr(*comm, told_keyval_of(*comm), &value, &flag);
  if (!flag) return;
  auto* told = static_cast<Told*>(value);
  ++told->calls;
  MPI_Error_class(*code, &told->error_class);
}

// A communicator over this rank alone whose handler writes into `told`.
class Listening {
 public:
  Listening(Conformance& t, Told& told) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, comm_.out()));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval_, nullptr));
    OK(MPI_Comm_set_attr(comm_, keyval_, &told));
    OK(MPI_Comm_set_name(comm_, std::to_string(keyval_).c_str()));
    OwnedErrhandler made;
    OK(MPI_Comm_create_errhandler(handler, made.out()));
    OK(MPI_Comm_set_errhandler(comm_, made));
  }
  ~Listening() { MPI_Comm_free_keyval(&keyval_); }
  operator MPI_Comm() const { return comm_; }
  int keyval() const { return keyval_; }

 private:
  OwnedComm comm_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

void user_handler_is_called(Conformance& t) {
  Told told;
  const Listening comm(t, told);
  int data = 0;
  const int code = MPI_Send(&data, 1, MPI_INT, 5, 0, comm);
  CHECK(code != MPI_SUCCESS);
  CHECK_EQ(told.calls, 1);
  CHECK_EQ(told.error_class, MPI_ERR_RANK);
  // Also for errors that show only in the wait.
  MPI_Request request;
  const int sent[4] = {};
  OK(MPI_Irecv(&data, 1, MPI_INT, 0, 0, comm, &request));
  OK(MPI_Send(sent, 4, MPI_INT, 0, 0, comm));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK_EQ(told.calls, 2);
  CHECK_EQ(told.error_class, MPI_ERR_TRUNCATE);
}

// Programs from before MPI-4 set a handler on MPI_COMM_WORLD alone, which then heard of errors without an
// object.
void world_hears_of_errors_without_an_object(Conformance& t) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

void handlers_are_inherited(Conformance& t) {
  Told told;
  const Listening comm(t, told);
  OwnedComm copy, part;
  OK(MPI_Comm_dup(comm, copy.out()));
  OK(MPI_Comm_set_name(copy, std::to_string(comm.keyval()).c_str()));
  int data = 0;
  CHECK(MPI_Send(&data, 1, MPI_INT, 5, 0, copy) != MPI_SUCCESS);
  CHECK_EQ(told.calls, 1);
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  CHECK_FAILS(MPI_Send(&data, 1, MPI_INT, 5, 0, copy), MPI_ERR_RANK);
  CHECK_EQ(told.calls, 1);
}

void get_and_free(Conformance& t) {
  MPI_Errhandler current;
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  OK(MPI_Comm_get_errhandler(comm, &current));
  CHECK(current == MPI_ERRORS_RETURN);
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Comm_get_errhandler(comm, &current));
  CHECK(current == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Errhandler_free(&current));
  CHECK(current == MPI_ERRHANDLER_NULL);
  MPI_Errhandler made, again;
  OK(MPI_Comm_create_errhandler(handler, &made));
  OK(MPI_Comm_set_errhandler(comm, made));
  OK(MPI_Comm_get_errhandler(comm, &again));
  CHECK(again == made);
  OK(MPI_Errhandler_free(&made));
  OK(MPI_Errhandler_free(&again));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
}

void called_by_hand(Conformance& t) {
  Told told;
  const Listening comm(t, told);
  OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
  CHECK_EQ(told.calls, 1);
  CHECK_EQ(told.error_class, MPI_ERR_TOPOLOGY);
}

void classes_and_strings(Conformance& t) {
  for (int code : {MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TRUNCATE,
                   MPI_ERR_IN_STATUS, MPI_ERR_KEYVAL, MPI_ERR_INFO_NOKEY, MPI_ERR_WIN, MPI_ERR_FILE}) {
    int error_class = -1;
    OK(MPI_Error_class(code, &error_class));
    CHECK_EQ(error_class, code);
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && length < MPI_MAX_ERROR_STRING);
    CHECK_EQ(std::strlen(text), static_cast<std::size_t>(length));
  }
}

void added_classes_and_codes(Conformance& t) {
  int error_class = 0, code = 0, other = 0;
  OK(MPI_Add_error_class(&error_class));
  OK(MPI_Add_error_code(error_class, &code));
  OK(MPI_Add_error_code(MPI_ERR_ARG, &other));
  CHECK(error_class > MPI_ERR_LASTCODE && code > MPI_ERR_LASTCODE && other > MPI_ERR_LASTCODE);
  int found = 0;
  OK(MPI_Error_class(code, &found));
  CHECK_EQ(found, error_class);
  OK(MPI_Error_class(other, &found));
  CHECK_EQ(found, MPI_ERR_ARG);
  char text[MPI_MAX_ERROR_STRING] = "x";
  int length = -1;
  OK(MPI_Error_string(code, text, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Add_error_string(code, "the dog ate it"));
  OK(MPI_Error_string(code, text, &length));
  CHECK_EQ(std::string(text), "the dog ate it");
  void* last = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  REQUIRE(flag);
  CHECK(*static_cast<int*>(last) >= other);
  CHECK_FAILS(MPI_Add_error_string(MPI_ERR_ARG, "not ours"), MPI_ERR_ARG);
  // A handler is told the program's own codes as they are.
  Told told;
  const Listening comm(t, told);
  OK(MPI_Comm_call_errhandler(comm, code));
  CHECK_EQ(told.error_class, error_class);
}

// Of MPI-4.1 (section 9.5): from the string to the class, and nothing that is still needed.
void added_and_removed([[maybe_unused]] Conformance& t) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  int error_class = 0, code = 0;
  OK(MPI_Add_error_class(&error_class));
  OK(MPI_Add_error_code(error_class, &code));
  OK(MPI_Add_error_string(code, "the cat ate it"));
  CHECK(MPI_Remove_error_class(error_class) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
  OK(MPI_Remove_error_string(code));
  CHECK(MPI_Remove_error_string(code) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_class(error_class) != MPI_SUCCESS);
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(error_class));
#endif
}

// The codes of the tool interface are classes and have texts too (MPI-5.0 section 15.3.10).
void codes_of_the_tool_interface([[maybe_unused]] Conformance& t) {
#if MPI_VERSION >= 4
  for (const int code :
       {MPI_T_ERR_CANNOT_INIT, MPI_T_ERR_NOT_INITIALIZED, MPI_T_ERR_NOT_SUPPORTED, MPI_T_ERR_MEMORY,
        MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_SESSION, MPI_T_ERR_INVALID_HANDLE,
        MPI_T_ERR_INVALID_NAME, MPI_T_ERR_OUT_OF_HANDLES, MPI_T_ERR_OUT_OF_SESSIONS,
        MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_ERR_CVAR_SET_NEVER, MPI_T_ERR_PVAR_NO_WRITE,
        MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_ERR_PVAR_NO_ATOMIC}) {
    int error_class = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    OK(MPI_Error_class(code, &error_class));
    CHECK_EQ(error_class, code);
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0);
  }
#endif
}

}  // namespace

CHAPTER(error_handlers, CASE(user_handler_is_called), CASE(world_hears_of_errors_without_an_object),
        CASE(handlers_are_inherited), CASE(get_and_free), CASE(called_by_hand), CASE(classes_and_strings),
        CASE(added_classes_and_codes), CASE(added_and_removed), CASE(codes_of_the_tool_interface))

}  // namespace conformance
