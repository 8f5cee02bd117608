#include "process/attribute_calls.h"

#include "process/mpi_process.h"
#include "window/window.h"

namespace hawser {

AbiObject AttributeCalls::describe(const Keyval& keyval, Counted& object) {
  switch (keyval.kind) {
    case AttributeKind::communicator:
      return {.communicator = static_cast<Communicator*>(&object)};
    case AttributeKind::datatype:
      return {.datatype = static_cast<Datatype*>(&object)};
    case AttributeKind::window:
      return {.window = static_cast<Window*>(&object)};
  }
  HAWSER_UNREACHABLE();
}

int AttributeCalls::copy(const Keyval& keyval, Counted& object, void* value, void*& copied, bool& keep) {
  keep = false;
  if (keyval.copy_function == nullptr) return 0;
  if (keyval.copy_function == Keyval::duplicate_function()) {
    copied = value;
    keep = true;
    return 0;
  }
  Unlocked unlocked(process_);
  return process_.hooks().copy_attribute(process_, keyval.copy_function, describe(keyval, object),
                                         keyval.number, keyval.extra_state, value, copied, keep);
}

int AttributeCalls::erase(const Keyval& keyval, Counted& object, void* value) {
  if (keyval.delete_function == nullptr) return 0;
  Unlocked unlocked(process_);
  return process_.hooks().delete_attribute(process_, keyval.delete_function, describe(keyval, object),
                                           keyval.number, value, keyval.extra_state);
}

}  // namespace hawser
