// Attributes of communicators (MPI-5.0 section 7.7).
#include "communicator/attribute.h"

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// The keyval of a user's attribute; setting and deleting predefined ones is an error of its own.
Result<Keyval*> user_keyval(MpiProcess& process, int number) {
  if (Keyval* keyval = process.keyvals().find(AttributeKind::communicator, number)) return keyval;
  bool predefined = false;
  process.predefined_attributes().find(number, predefined);
  if (predefined) return failure(ErrorClass::keyval, "keyval {} is predefined and read-only", number);
  return failure(ErrorClass::keyval, "{} is not a keyval of communicators", number);
}

}  // namespace

Result<> comm_create_keyval(MpiProcess& process, AbiFunction comm_copy_attr_fn,
                            AbiFunction comm_delete_attr_fn, int& comm_keyval, void* extra_state) {
  comm_keyval = process.keyvals()
                    .create(AttributeKind::communicator, comm_copy_attr_fn, comm_delete_attr_fn, extra_state)
                    .number;
  return {};
}

Result<> comm_free_keyval(MpiProcess& process, int comm_keyval) {
  auto keyval = user_keyval(process, comm_keyval);
  if (!keyval) return keyval.take_error();
  return process.keyvals().free(AttributeKind::communicator, comm_keyval);
}

Result<> comm_set_attr(MpiProcess& process, Communicator& comm, int comm_keyval, void* attribute_val) {
  auto keyval = user_keyval(process, comm_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Communicator> kept(&comm);
  return comm.attributes.set(*keyval.value(), attribute_val, comm, process.attribute_callbacks());
}

Result<> comm_get_attr(MpiProcess& process, Communicator& comm, int comm_keyval, void*& attribute_val,
                       bool& flag) {
  bool predefined = false;
  if (void* value = process.predefined_attributes().find(comm_keyval, predefined); predefined) {
    flag = value != nullptr;
    if (flag) attribute_val = value;
    return {};
  }
  auto keyval = user_keyval(process, comm_keyval);
  if (!keyval) return keyval.take_error();
  void* value = comm.attributes.find(*keyval.value(), flag);
  if (flag) attribute_val = value;
  return {};
}

Result<> comm_delete_attr(MpiProcess& process, Communicator& comm, int comm_keyval) {
  auto keyval = user_keyval(process, comm_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Communicator> kept(&comm);
  return comm.attributes.remove(*keyval.value(), comm, process.attribute_callbacks());
}

}  // namespace hawser::mpi
