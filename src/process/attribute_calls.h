// AttributeCalls: runs the users' attribute functions in their ABI, without the process's lock.
#pragma once

#include "communicator/attribute.h"
#include "process/abi_hooks.h"

namespace hawser {

class AttributeCalls final : public AttributeCallbacks {
 public:
  explicit AttributeCalls(MpiProcess& process) : process_(process) {}

  int copy(const Keyval& keyval, Counted& object, void* value, void*& copied, bool& keep) override;
  int erase(const Keyval& keyval, Counted& object, void* value) override;

 private:
  static AbiObject describe(const Keyval& keyval, Counted& object);

  MpiProcess& process_;
};

}  // namespace hawser
