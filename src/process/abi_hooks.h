// AbiHooks: how the core calls functions of the application. Their types, and the handles and statuses
// they are given, belong to an ABI, so each ABI's binding supplies one such table; an object that holds
// an AbiFunction also holds the table it came with.
//
// The hooks may be entered again by what the application does inside (MPI calls are allowed in attribute
// and error callbacks), so the caller keeps the objects it passes alive itself.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "message/status.h"
#include "process/constants.h"

namespace hawser {

class Communicator;
class Datatype;
class MpiProcess;
class Session;
class Window;

// What an attribute or an error handler hangs on: exactly one of the pointers is set; all null for errors
// that belong to no object (MPI-5.0 section 9.3: they go to MPI_COMM_SELF).
struct AbiObject {
  Communicator* communicator = nullptr;
  Datatype* datatype = nullptr;
  Window* window = nullptr;
  void* file = nullptr;
  Session* session = nullptr;
};

struct AbiHooks {
  const char* name;  // "standard" or "mpich"

  // Calls a reduction function of the application: inout[i] = in[i] op inout[i]. Of the type that Operator's
  // constructor wants; `reduce_large` is for functions given to MPI_Op_create_c, `reduce` takes at most
  // INT_MAX elements at a time.
  void (*reduce)(AbiFunction function, const void* in, void* inout, std::int64_t count, Datatype& datatype);
  void (*reduce_large)(AbiFunction function, const void* in, void* inout, std::int64_t count,
                       Datatype& datatype);

  // Attribute callbacks. The answer is the error code the function returned (0: success), in the numbers of
  // MPI_Add_error_code or of classes. The predefined NULL_COPY, DUP and NULL_DELETE functions need no call
  // into the application, but are known to these two. `old_object` is the one that is duplicated.
  int (*copy_attribute)(MpiProcess& process, AbiFunction function, const AbiObject& old_object, int keyval,
                        void* extra_state, void* value_in, void*& value_out, bool& copied);
  int (*delete_attribute)(MpiProcess& process, AbiFunction function, const AbiObject& object, int keyval,
                          void* value, void* extra_state);

  // An error handler made by MPI_*_create_errhandler.
  void (*report_error)(MpiProcess& process, AbiFunction function, const AbiObject& object, int error_code);

  // Generalized requests. The answers are error codes as above.
  int (*query_request)(AbiFunction function, void* extra_state, Status& status);
  int (*free_request)(AbiFunction function, void* extra_state);
  int (*cancel_request)(AbiFunction function, void* extra_state, bool complete);
};

}  // namespace hawser
