// Keyvals of windows (MPI-5.0 section 7.7.3). Of windows themselves there are none yet.
#include "api/functions.h"
#include "communicator/attribute.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

Result<> win_create_keyval(MpiProcess& process, AbiFunction win_copy_attr_fn, AbiFunction win_delete_attr_fn,
                           int& win_keyval, void* extra_state) {
  win_keyval = process.keyvals()
                   .create(AttributeKind::window, win_copy_attr_fn, win_delete_attr_fn, extra_state)
                   .number;
  return {};
}

Result<> win_free_keyval(MpiProcess& process, int win_keyval) {
  return process.keyvals().free(AttributeKind::window, win_keyval);
}

}  // namespace hawser::mpi
