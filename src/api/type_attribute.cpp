// Attributes of datatypes (MPI-5.0 section 7.7.4).
#include "process/type_attributes.h"

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<Keyval*> type_keyval_of(MpiProcess& process, int number) {
  if (Keyval* keyval = process.keyvals().find(AttributeKind::datatype, number)) return keyval;
  return failure(ErrorClass::keyval, "{} is not a keyval of datatypes", number);
}

}  // namespace

Result<> type_create_keyval(MpiProcess& process, AbiFunction type_copy_attr_fn,
                            AbiFunction type_delete_attr_fn, int& type_keyval, void* extra_state) {
  type_keyval = process.keyvals()
                    .create(AttributeKind::datatype, type_copy_attr_fn, type_delete_attr_fn, extra_state)
                    .number;
  return {};
}

Result<> type_free_keyval(MpiProcess& process, int type_keyval) {
  return process.keyvals().free(AttributeKind::datatype, type_keyval);
}

Result<> type_set_attr(MpiProcess& process, Datatype& datatype, int type_keyval, void* attribute_val) {
  auto keyval = type_keyval_of(process, type_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Datatype> kept(&datatype);
  return attributes_of(datatype).set(*keyval.value(), attribute_val, datatype, process.attribute_callbacks());
}

Result<> type_get_attr(MpiProcess& process, Datatype& datatype, int type_keyval, void*& attribute_val,
                       bool& flag) {
  auto keyval = type_keyval_of(process, type_keyval);
  if (!keyval) return keyval.take_error();
  flag = false;
  if (!datatype.attributes) return {};
  void* value = attributes_of(datatype).find(*keyval.value(), flag);
  if (flag) attribute_val = value;
  return {};
}

Result<> type_delete_attr(MpiProcess& process, Datatype& datatype, int type_keyval) {
  auto keyval = type_keyval_of(process, type_keyval);
  if (!keyval) return keyval.take_error();
  const Ref<Datatype> kept(&datatype);
  return attributes_of(datatype).remove(*keyval.value(), datatype, process.attribute_callbacks());
}

}  // namespace hawser::mpi
