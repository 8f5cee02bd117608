// The ABI of MPICH, MVAPICH and Intel MPI: handles are ints with two bits of sort (01 predefined, 10 ours),
// four bits of kind and 26 bits of number. Predefined datatypes are listed by a table, generated from
// constants.table; their handles also hold the size, which we do not need.
#pragma once

#include "binding/codec.h"
#include "binding/mpich_types.h"  // generated
#include "binding/translate.h"    // generated
#include "message/status.h"
#include "process/constants.h"

namespace hawser::binding {

constexpr std::uint32_t mpich_handle(unsigned sort, unsigned kind, std::uint32_t number) {
  return sort << 30 | kind << 26 | number;
}
inline constexpr std::uint32_t mpich_number_mask = (1u << 26) - 1;

// Kinds whose predefined handles count up from 0 like our numbers from 1.
template <class Handle, unsigned kind, std::uint32_t reserved, int offset = 1>
struct IntCodec {
  static std::uint64_t value(Handle handle) { return static_cast<std::uint32_t>(handle); }
  static std::uint64_t number(Handle handle) {
    const auto bits = static_cast<std::uint32_t>(handle);
    const std::uint32_t top = bits >> 26;
    if (top == (2u << 4 | kind) && (bits & mpich_number_mask) >= reserved) return bits & mpich_number_mask;
    if (top == (1u << 4 | kind)) return (bits & mpich_number_mask) + offset;
    return bits == mpich_handle(0, kind, 0) ? 0 : no_number;
  }
  static Handle handle(std::uint32_t number) {
    if (number == 0) return static_cast<Handle>(mpich_handle(0, kind, 0));
    if (number < reserved) return static_cast<Handle>(mpich_handle(1, kind, number - offset));
    return static_cast<Handle>(mpich_handle(2, kind, number));
  }
};

template <>
struct Codec<Communicator> : IntCodec<MPI_Comm, 1, communicator_range.reserved> {};
template <>
struct Codec<Group> : IntCodec<MPI_Group, 2, group_range.reserved> {};
template <>
struct Codec<Info> : IntCodec<MPI_Info, 7, info_range.reserved, 0> {};  // MPI_INFO_ENV is number 1 here too
template <>
struct Codec<Window> : IntCodec<MPI_Win, 8, window_range.reserved> {};
template <>
struct Codec<Session> : IntCodec<MPI_Session, 14, session_range.reserved> {};
template <>
struct Codec<Request> : IntCodec<MPI_Request, 11, 1> {};

// MPI_MESSAGE_NULL is MPI_REQUEST_NULL, MPI_MESSAGE_NO_PROC a predefined request.
template <>
struct Codec<Message> {
  static constexpr std::uint32_t no_proc = 0x6c000000;
  static std::uint64_t value(MPI_Message handle) { return static_cast<std::uint32_t>(handle); }
  static std::uint64_t number(MPI_Message handle) {
    const auto bits = static_cast<std::uint32_t>(handle);
    if (bits == no_proc) return 1;
    return bits >> 26 == (2u << 4 | 11u) ? bits & mpich_number_mask
                                         : (bits == mpich_handle(0, 11, 0) ? 0 : no_number);
  }
  static MPI_Message handle(std::uint32_t number) {
    if (number == 1) return static_cast<MPI_Message>(no_proc);
    return static_cast<MPI_Message>(mpich_handle(number == 0 ? 0 : 2, 11, number));
  }
};

// Kinds whose predefined handles stand in generated tables.
template <class Handle, unsigned kind, HandleRange range, const auto& table>
struct TableCodec {
  // The pair types of MPI_MINLOC have the sort of dynamic handles, with the first few numbers.
  static constexpr std::uint32_t first_dynamic = range.reserved < 16 ? range.reserved : 16;

  static std::uint64_t value(Handle handle) { return static_cast<std::uint32_t>(handle); }
  static std::uint64_t number(Handle handle) {
    const auto bits = static_cast<std::uint32_t>(handle);
    if (bits >> 26 == (2u << 4 | kind) && (bits & mpich_number_mask) >= first_dynamic)
      return bits & mpich_number_mask;
    const MpichPredefined& entry = table.by_low_byte[bits & 0xff];
    if (entry.handle == bits) return entry.number;
    for (const MpichPredefined& other : table.others)
      if (other.handle == bits) return other.number;
    return no_number;
  }
  static Handle handle(std::uint32_t number) {
    // Predefined objects that this ABI has no name for are shown as dynamic ones.
    if (number < range.reserved && (number < first_dynamic || table.by_number[number] != 0))
      return static_cast<Handle>(table.by_number[number]);
    return static_cast<Handle>(mpich_handle(2, kind, number));
  }
};

template <>
struct Codec<Datatype> : TableCodec<MPI_Datatype, 3, datatype_range, mpich_datatypes> {};
template <>
struct Codec<Operator> : TableCodec<MPI_Op, 6, operator_range, mpich_operators> {};
template <>
struct Codec<ErrorHandler> : TableCodec<MPI_Errhandler, 5, error_handler_range, mpich_error_handlers> {};

// This ABI's MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC have the core's values.
inline const void* place_to_core(const void* buffer) { return buffer; }
inline void* place_to_core(void* buffer) { return buffer; }
inline void* automatic_to_core(void* buffer) { return buffer; }
inline void* automatic_from_core(void* buffer) { return buffer; }
template <class Int>
Int* weights_to_core(Int* weights) {
  if (weights == MPI_UNWEIGHTED) return unweighted;
  return weights == MPI_WEIGHTS_EMPTY ? weights_empty : weights;
}

// The error field belongs to the completion of several requests, but that of an empty status is set always
// (MPI-5.0 section 3.7.3). No message comes from any source.
inline void write_status(MPI_Status& out, const Status& status) {
  if (status.source == any_source) out.MPI_ERROR = MPI_SUCCESS;
  out.MPI_SOURCE = from_core_rank(status.source);
  out.MPI_TAG = from_core_tag_any(status.tag);
  out.count_lo = static_cast<int>(status.bytes & 0xffffffff);
  out.count_hi_and_cancelled = static_cast<int>((status.bytes >> 32) << 1 | (status.cancelled ? 1 : 0));
}
inline void read_status(const MPI_Status& in, Status& status) {
  status.source = to_core_rank(in.MPI_SOURCE);
  status.tag = to_core_tag_any(in.MPI_TAG);
  status.error = static_cast<ErrorClass>(to_core_error_code(in.MPI_ERROR));
  const auto high = static_cast<std::uint64_t>(static_cast<std::uint32_t>(in.count_hi_and_cancelled) >> 1);
  status.bytes = static_cast<std::int64_t>(high << 32 | static_cast<std::uint32_t>(in.count_lo));
  status.cancelled = (in.count_hi_and_cancelled & 1) != 0;
}

// MPI_DUP_FN is a function of this ABI.
AbiFunction copy_function_to_core(AbiFunction function);

}  // namespace hawser::binding
