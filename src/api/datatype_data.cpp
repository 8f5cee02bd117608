// Data of datatypes: pack and unpack (MPI-5.0 section 5.2), external32 (5.3), counts of received elements
// (sections 3.2.5 and 5.1.11).
#include "api/functions.h"
#include "datatype/external32.h"
#include "datatype/type_packer.h"
#include "message/status.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<> check_data(std::int64_t count, const Datatype& type) {
  if (count < 0) return failure(ErrorClass::count, "count is negative: {}", count);
  if (!type.committed) return failure(ErrorClass::type, "the datatype is not committed");
  return {};
}

// Whether `bytes` more fit into a packing buffer of `size`.
Result<> check_room(const void* buffer, std::int64_t position, std::int64_t size, std::int64_t bytes) {
  if (position < 0 || position > size)
    return failure(ErrorClass::arg, "position is {}, but must be 0 to {}", position, size);
  if (bytes > size - position)
    return failure(ErrorClass::truncate, "{} bytes at position {} do not fit into a buffer of {} bytes",
                   bytes, position, size);
  if (buffer == nullptr && bytes > 0)
    return failure(ErrorClass::buffer, "the packing buffer is a null pointer, but must hold {} bytes", bytes);
  return {};
}

Result<> check_external(std::string_view datarep) {
  if (datarep == "external32") return {};
  return failure(ErrorClass::unsupported_datarep, "data representation \"{}\" is unknown; must be external32",
                 datarep);
}

Result<std::int64_t> product(std::int64_t count, std::int64_t size) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes))
    return failure(ErrorClass::count, "{} elements of {} bytes exceed 64 bits", count, size);
  return bytes;
}

std::byte* at(const void* buffer, std::int64_t position) {
  return static_cast<std::byte*>(const_cast<void*>(buffer)) + position;
}

}  // namespace

Result<> pack(MpiProcess&, const void* inbuf, std::int64_t incount, Datatype& datatype, void* outbuf,
              std::int64_t outsize, std::int64_t& position, Communicator&) {
  HAWSER_TRY(check_data(incount, datatype));
  const auto bytes = product(incount, datatype.size);
  if (!bytes) return bytes.error();
  HAWSER_TRY(check_room(outbuf, position, outsize, bytes.value()));
  if (bytes.value() == 0) return {};
  TypePacker(inbuf, incount, datatype).pack(0, at(outbuf, position), bytes.value());
  position += bytes.value();
  return {};
}

Result<> unpack(MpiProcess&, const void* inbuf, std::int64_t insize, std::int64_t& position, void* outbuf,
                std::int64_t outcount, Datatype& datatype, Communicator&) {
  HAWSER_TRY(check_data(outcount, datatype));
  const auto bytes = product(outcount, datatype.size);
  if (!bytes) return bytes.error();
  HAWSER_TRY(check_room(inbuf, position, insize, bytes.value()));
  if (bytes.value() == 0) return {};
  TypePacker(outbuf, outcount, datatype).unpack(0, at(inbuf, position), bytes.value());
  position += bytes.value();
  return {};
}

Result<> pack_size(MpiProcess&, std::int64_t incount, Datatype& datatype, Communicator&, std::int64_t& size) {
  if (incount < 0) return failure(ErrorClass::count, "count is negative: {}", incount);
  const auto bytes = product(incount, datatype.size);
  if (!bytes) return bytes.error();
  size = bytes.value();
  return {};
}

Result<> pack_external(MpiProcess&, std::string_view datarep, const void* inbuf, std::int64_t incount,
                       Datatype& datatype, void* outbuf, std::int64_t outsize, std::int64_t& position) {
  HAWSER_TRY(check_external(datarep));
  HAWSER_TRY(check_data(incount, datatype));
  const auto bytes = product(incount, external_size(datatype));
  if (!bytes) return bytes.error();
  HAWSER_TRY(check_room(outbuf, position, outsize, bytes.value()));
  if (bytes.value() == 0) return {};
  hawser::pack_external(inbuf, incount, datatype, at(outbuf, position));
  position += bytes.value();
  return {};
}

Result<> unpack_external(MpiProcess&, std::string_view datarep, const void* inbuf, std::int64_t insize,
                         std::int64_t& position, void* outbuf, std::int64_t outcount, Datatype& datatype) {
  HAWSER_TRY(check_external(datarep));
  HAWSER_TRY(check_data(outcount, datatype));
  const auto bytes = product(outcount, external_size(datatype));
  if (!bytes) return bytes.error();
  HAWSER_TRY(check_room(inbuf, position, insize, bytes.value()));
  if (bytes.value() == 0) return {};
  hawser::unpack_external(outbuf, outcount, datatype, at(inbuf, position));
  position += bytes.value();
  return {};
}

Result<> pack_external_size(MpiProcess&, std::string_view datarep, std::int64_t incount, Datatype& datatype,
                            std::int64_t& size) {
  HAWSER_TRY(check_external(datarep));
  if (incount < 0) return failure(ErrorClass::count, "count is negative: {}", incount);
  const auto bytes = product(incount, external_size(datatype));
  if (!bytes) return bytes.error();
  size = bytes.value();
  return {};
}

Result<> get_count(MpiProcess&, const Status& status, Datatype& datatype, std::int64_t& count) {
  if (datatype.size == 0)
    count = status.bytes == 0 ? 0 : undefined;
  else
    count = status.bytes % datatype.size == 0 ? status.bytes / datatype.size : undefined;
  return {};
}

Result<> get_elements(MpiProcess&, const Status& status, Datatype& datatype, std::int64_t& count) {
  if (datatype.size == 0) {
    count = status.bytes == 0 ? 0 : undefined;
    return {};
  }
  const std::int64_t whole = status.bytes / datatype.size;
  const auto rest = elements_in(datatype.map(), status.bytes - whole * datatype.size);
  count = rest ? whole * datatype.map().elements + *rest : undefined;
  return {};
}

Result<> get_elements_x(MpiProcess& process, const Status& status, Datatype& datatype, std::int64_t& count) {
  return get_elements(process, status, datatype, count);
}

Result<> status_set_elements(MpiProcess&, Status& status, Datatype& datatype, std::int64_t count) {
  if (count < 0) return failure(ErrorClass::count, "count is negative: {}", count);
  const TypeMap& map = datatype.map();
  if (map.elements == 0) {
    if (count > 0) return failure(ErrorClass::count, "a type without data cannot hold {} elements", count);
    status.bytes = 0;
    return {};
  }
  const std::int64_t whole = count / map.elements;
  const auto bytes = product(whole, map.size);
  if (!bytes) return bytes.error();
  const std::int64_t rest = bytes_of_elements(map, count - whole * map.elements);
  if (rest > INT64_MAX - bytes.value())
    return failure(ErrorClass::count, "the size of {} elements exceeds 64 bits", count);
  status.bytes = bytes.value() + rest;
  return {};
}

Result<> status_set_elements_x(MpiProcess& process, Status& status, Datatype& datatype, std::int64_t count) {
  return status_set_elements(process, status, datatype, count);
}

}  // namespace hawser::mpi
