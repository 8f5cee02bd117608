// The standard ABI (MPI-5.0 chapter 20): handles are pointer-sized; predefined ones are small constants, and
// we make the others of the object's number, counted from the last reserved one:
// (number << 4 | kind) + 0x10000. They fit an int, as MPI_Comm_toint and its like want.
#pragma once

#include <cstring>

#include "binding/codec.h"
#include "message/status.h"
#include "process/constants.h"

namespace hawser::binding {

template <class Handle, HandleRange range, unsigned kind>
struct PointerCodec {
  static constexpr std::uintptr_t first_dynamic = 0x10000;
  static_assert(kind < 16);

  static std::uint64_t value(Handle handle) { return reinterpret_cast<std::uintptr_t>(handle); }
  // What its number is if it names a predefined object; else at least `reserved`.
  static constexpr std::uint32_t reserved = range.reserved;
  static std::uint64_t reserved_number(Handle handle) { return value(handle) - range.first; }
  static std::uint64_t number(Handle handle) {
    const std::uintptr_t predefined = reserved_number(handle);
    if (predefined < range.reserved) return predefined;
    const std::uintptr_t dynamic = value(handle) - first_dynamic;
    return (dynamic & 15) == kind ? (dynamic >> 4) + range.reserved : no_number;
  }
  static Handle handle(std::uint32_t number) {
    if (number < range.reserved) return reinterpret_cast<Handle>(std::uintptr_t{range.first} + number);
    // Sums of constants, so that the compiler adds them up.
    constexpr std::uintptr_t first = first_dynamic + kind - (std::uintptr_t{range.reserved} << 4);
    return reinterpret_cast<Handle>((std::uintptr_t{number} << 4) + first);
  }
};

inline constexpr HandleRange request_range{0x180, 1};

template <>
struct Codec<Communicator> : PointerCodec<MPI_Comm, communicator_range, 1> {};
template <>
struct Codec<Group> : PointerCodec<MPI_Group, group_range, 2> {};
template <>
struct Codec<Datatype> : PointerCodec<MPI_Datatype, datatype_range, 3> {};
template <>
struct Codec<Operator> : PointerCodec<MPI_Op, operator_range, 4> {};
template <>
struct Codec<ErrorHandler> : PointerCodec<MPI_Errhandler, error_handler_range, 5> {};
template <>
struct Codec<Info> : PointerCodec<MPI_Info, info_range, 6> {};
template <>
struct Codec<Request> : PointerCodec<MPI_Request, request_range, 7> {};
template <>
struct Codec<Session> : PointerCodec<MPI_Session, session_range, 9> {};
template <>
struct Codec<Message> : PointerCodec<MPI_Message, message_range, 8> {};
template <>
struct Codec<Window> : PointerCodec<MPI_Win, window_range, 10> {};

inline const void* place_to_core(const void* buffer) { return buffer == MPI_IN_PLACE ? in_place : buffer; }
inline void* place_to_core(void* buffer) { return buffer == MPI_IN_PLACE ? in_place : buffer; }
inline void* automatic_to_core(void* buffer) {
  return buffer == MPI_BUFFER_AUTOMATIC ? buffer_automatic : buffer;
}
inline void* automatic_from_core(void* buffer) {
  return buffer == buffer_automatic ? MPI_BUFFER_AUTOMATIC : buffer;
}
template <class Int>
Int* weights_to_core(Int* weights) {
  if (weights == MPI_UNWEIGHTED) return unweighted;
  return weights == MPI_WEIGHTS_EMPTY ? weights_empty : weights;
}

// MPI_internal: two words of byte count, one that is 1 if cancelled.
// The error field belongs to the completion of several requests, but that of an empty status is set always
// (MPI-5.0 section 3.7.3). No message comes from any source.
inline void write_status(MPI_Status& out, const Status& status) {
  if (status.source == any_source) out.MPI_ERROR = MPI_SUCCESS;
  out.MPI_SOURCE = status.source;
  out.MPI_TAG = status.tag;
  std::memcpy(&out.MPI_internal[0], &status.bytes, sizeof status.bytes);
  out.MPI_internal[2] = status.cancelled;
}
inline void read_status(const MPI_Status& in, Status& status) {
  status.source = in.MPI_SOURCE;
  status.tag = in.MPI_TAG;
  status.error = static_cast<ErrorClass>(in.MPI_ERROR);
  std::memcpy(&status.bytes, &in.MPI_internal[0], sizeof status.bytes);
  status.cancelled = in.MPI_internal[2] == 1;
}

inline AbiFunction copy_function_to_core(AbiFunction function) { return function; }

}  // namespace hawser::binding
