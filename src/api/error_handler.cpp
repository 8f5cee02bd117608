// Error handlers, error classes and codes (MPI-5.0 sections 9.3 to 9.5).
#include "communicator/error_handler.h"

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<> create(ErrorHandler::For what, AbiFunction function, Ref<ErrorHandler>& made) {
  if (function == nullptr) return failure(ErrorClass::arg, "the error handler function is null");
  made = make_counted<ErrorHandler>(what, function);
  return {};
}

Result<> give(Result<int> from, int& to) {
  if (!from) return from.take_error();
  to = from.value();
  return {};
}

}  // namespace

Result<> comm_create_errhandler(MpiProcess&, AbiFunction comm_errhandler_fn, Ref<ErrorHandler>& errhandler) {
  return create(ErrorHandler::For::communicator, comm_errhandler_fn, errhandler);
}

Result<> win_create_errhandler(MpiProcess&, AbiFunction win_errhandler_fn, Ref<ErrorHandler>& errhandler) {
  return create(ErrorHandler::For::window, win_errhandler_fn, errhandler);
}

Result<> file_create_errhandler(MpiProcess&, AbiFunction file_errhandler_fn, Ref<ErrorHandler>& errhandler) {
  return create(ErrorHandler::For::file, file_errhandler_fn, errhandler);
}

Result<> session_create_errhandler(MpiProcess&, AbiFunction session_errhandler_fn,
                                   Ref<ErrorHandler>& errhandler) {
  return create(ErrorHandler::For::session, session_errhandler_fn, errhandler);
}

Result<> comm_set_errhandler(MpiProcess&, Communicator& comm, ErrorHandler& errhandler) {
  if (errhandler.for_what != ErrorHandler::For::any && errhandler.for_what != ErrorHandler::For::communicator)
    return failure(ErrorClass::errhandler, "the error handler was not created for communicators");
  comm.error_handler = Ref<ErrorHandler>(&errhandler);
  return {};
}

Result<> comm_get_errhandler(MpiProcess&, Communicator& comm, Ref<ErrorHandler>& errhandler) {
  errhandler = comm.error_handler;
  return {};
}

// The handler is called as for an error of MPI, but this call itself succeeds when it returns.
Result<> comm_call_errhandler(MpiProcess& process, Communicator& comm, int errorcode) {
  Error error;
  HAWSER_TRY(process.error_codes().describe(errorcode, error));
  process.report(AbiObject{.communicator = &comm}, "MPI_Comm_call_errhandler", error);
  return {};
}

// The handler lives on while objects use it; predefined ones may be freed as their handles were given out by
// MPI_Comm_get_errhandler.
Result<> errhandler_free(MpiProcess&, ErrorHandler&) { return {}; }

Result<> error_class(MpiProcess& process, int errorcode, int& errorclass) {
  return give(process.error_codes().class_of(errorcode), errorclass);
}

Result<> error_string(MpiProcess& process, int errorcode, std::string& string) {
  auto text = process.error_codes().text_of(errorcode);
  if (!text) return text.take_error();
  string = std::move(text).value();
  return {};
}

Result<> add_error_class(MpiProcess& process, int& errorclass) {
  errorclass = process.error_codes().add_class();
  return {};
}

Result<> add_error_code(MpiProcess& process, int errorclass, int& errorcode) {
  return give(process.error_codes().add_code(errorclass), errorcode);
}

Result<> add_error_string(MpiProcess& process, int errorcode, std::string_view string) {
  return process.error_codes().set_text(errorcode, string);
}

Result<> remove_error_class(MpiProcess& process, int errorclass) {
  return process.error_codes().remove_class(errorclass);
}

Result<> remove_error_code(MpiProcess& process, int errorcode) {
  return process.error_codes().remove_code(errorcode);
}

Result<> remove_error_string(MpiProcess& process, int errorcode) {
  return process.error_codes().remove_text(errorcode);
}

}  // namespace hawser::mpi
