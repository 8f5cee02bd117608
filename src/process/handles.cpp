#include "process/handles.h"

#include "communicator/communicator.h"
#include "communicator/session.h"
#include "datatype/operator.h"
#include "window/window_engine.h"

namespace hawser {

// Messages belong to the message room, which keeps them in a pool.
void Handles::release_all() {
  communicators.release_all();
  datatypes.release_all();
  operators.release_all();
  groups.release_all();
  infos.release_all();
  error_handlers.release_all();
  sessions.release_all();
  windows.release_all();
}

}  // namespace hawser
