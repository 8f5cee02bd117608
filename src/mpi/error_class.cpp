#include "mpi/error_class.h"

namespace hawser {

ErrorClass error_class_of(const Error& error) {
  if (error.code != 0) return static_cast<ErrorClass>(error.code);
  switch (error.kind) {
    case ErrorKind::unknown:
      return ErrorClass::unknown;
    case ErrorKind::other:
      return ErrorClass::other;
    case ErrorKind::peer_lost:
      return ErrorClass::proc_failed;
    case ErrorKind::invalid_argument:
      return ErrorClass::arg;
    case ErrorKind::not_found:
      return ErrorClass::no_such_file;
    case ErrorKind::access_denied:
      return ErrorClass::access;
    case ErrorKind::name_taken:
      return ErrorClass::name;
    case ErrorKind::bad_file:
      return ErrorClass::file;
    case ErrorKind::bad_address:
      return ErrorClass::buffer;
    case ErrorKind::io:
      return ErrorClass::io;
    case ErrorKind::no_memory:
      return ErrorClass::no_mem;
    case ErrorKind::unsupported:
      return ErrorClass::unsupported_operation;
    case ErrorKind::internal:
      return ErrorClass::intern;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
