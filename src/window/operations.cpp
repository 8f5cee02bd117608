// The calls of section 12.3: checks them, does at once what this process can, and sends the rest.
#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "message/transfer.h"
#include "mpi/failure.h"
#include "window/window.h"
#include "window/window_engine.h"

namespace hawser {
namespace {

void describe_origin(WindowCall& call, const OriginData& origin) {
  call.origin = describe(origin.buffer, origin.count, *origin.type, call.origin_packer);
  if (!call.origin.contiguous()) call.origin_type = origin.type;
}
void describe_result(WindowCall& call, const ResultData& result) {
  call.result = describe(result.buffer, result.count, *result.type, call.result_packer);
  if (!call.result.contiguous()) call.result_type = result.type;
}

}  // namespace

// Whether an operation on this rank is within an epoch; one of a fence is open from here on.
bool Window::begins_access(int rank) {
  switch (access_) {
    case Access::none:
      return false;
    case Access::fence_unused:
      access_ = Access::fence;
      return true;
    case Access::fence:
    case Access::locked_all:
      return true;
    case Access::started:
      return peer(rank).started;
    case Access::locked:
      return peer(rank).lock != WindowPeer::Lock::none;
  }
  return false;
}

// Fills in where the data are in the target's memory, and checks that they are within.
Result<> Window::aim(WindowCall& call, const TargetData& target) {
  if (!may_access(target.rank))
    return failure(ErrorClass::rma_sync,
                   "there is no access epoch for rank {} of the window; MPI_Win_fence, MPI_Win_start, "
                   "MPI_Win_lock or MPI_Win_lock_all would begin one",
                   target.rank);
  const Members::Member& member = members_.at(target.rank);
  const Datatype& type = *target.type;
  call.rank = target.rank;
  call.count = target.count;
  std::int64_t first = 0, low = 0, high = 0, last = 0;
  bool overflow = __builtin_mul_overflow(target.displacement, member.unit, &first);
  overflow |= __builtin_add_overflow(first, type.true_lower_bound, &low);
  overflow |= __builtin_mul_overflow(target.count > 0 ? target.count - 1 : 0, type.extent, &last);
  overflow |= __builtin_add_overflow(low, type.true_extent, &high);
  overflow |= __builtin_add_overflow(high, std::max<std::int64_t>(last, 0), &high);
  overflow |= __builtin_add_overflow(low, std::min<std::int64_t>(last, 0), &low);
  const bool dynamic = memory_.flavor == WindowFlavor::dynamic;
  const bool outside = overflow || (!dynamic && (low < 0 || high > member.size));
  if (outside && call.bytes > 0)
    return failure(ErrorClass::rma_range,
                   "{} elements of {} bytes at displacement {} (unit {}) are not within the {} bytes of rank "
                   "{}'s window",
                   target.count, type.size, target.displacement, member.unit, member.size, target.rank);
  call.type = type.contiguous ? nullptr : &type;
  call.displacement = type.contiguous ? low : first;
  return {};
}

// True: this process reaches the memory, and the call was done.
Result<bool> Window::run_here(WindowCall& call) {
  const Members::Member& member = members_.at(call.rank);
  const bool own = call.rank == rank();
  if (!own && member.mapped == nullptr) return false;
  if (own && memory_.flavor == WindowFlavor::dynamic) HAWSER_TRY(check_attached(call));
  TypePacker packer;
  ByteSequence place{address(member.mapped, call.displacement), call.bytes, nullptr};
  if (call.type != nullptr) {
    packer = TypePacker(place.data, call.count, *call.type);
    place = {nullptr, call.bytes, &packer};
  }
  switch (call.kind) {
    case WindowCall::Kind::put:
      copy_between(place, call.origin);
      break;
    case WindowCall::Kind::get:
      copy_between(call.result, place);
      break;
    case WindowCall::Kind::compare_and_swap: {
      const Calculating calculating(member.control);
      Accumulation::compare_and_swap(place.data, call.bytes, static_cast<const std::byte*>(call.compared),
                                     call.origin.data, call.result.data);
      break;
    }
    default:
      accumulate_here(call, place, member.control);
  }
  return true;
}

void Window::accumulate_here(const WindowCall& call, const ByteSequence& place, WindowControl* control) {
  const Accumulation accumulation(call.operation, call.element);
  HAWSER_ASSERT(accumulation.sound());
  // The caller's data are gathered and those of before scattered, piece by piece.
  alignas(64) std::byte data[2048], before[2048];
  const std::int64_t at_once =
      static_cast<std::int64_t>(sizeof data) / accumulation.unit() * accumulation.unit();
  for (std::int64_t at = 0; at < call.bytes; at += at_once) {
    const std::int64_t n = std::min(at_once, call.bytes - at);
    const std::byte* from = data;
    if (call.origin.contiguous())
      from = call.origin.data == nullptr ? nullptr : call.origin.data + at;
    else
      call.origin.packer->pack(at, data, n);
    {
      const Calculating calculating(control);
      accumulation.apply(place, at, from, n, before);
    }
    if (call.kind != WindowCall::Kind::get_accumulate) continue;
    if (call.result.contiguous())
      std::memcpy(call.result.data + at, before, static_cast<std::size_t>(n));
    else
      call.result.packer->unpack(at, before, n);
  }
}

// Of this process's own dynamic window.
Result<> Window::check_attached(const WindowCall& call) const {
  std::int64_t low = call.displacement, high = low + call.bytes;
  if (call.type != nullptr) {
    const std::int64_t last = (call.count - 1) * call.type->extent;
    low += call.type->true_lower_bound;
    high = low + call.type->true_extent + std::max<std::int64_t>(last, 0);
    low += std::min<std::int64_t>(last, 0);
  }
  if (call.bytes == 0 ||
      attached_.contains(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low)))
    return {};
  return failure(ErrorClass::rma_range, "{} bytes at address {:#x} are not attached to the window of rank {}",
                 high - low, static_cast<std::uint64_t>(low), call.rank);
}

Result<> Window::run(WindowCall& call, Request** request) {
  if (call.bytes > 0) {
    auto here = run_here(call);
    if (!here) return here.take_error();
    if (!here.value()) {
      WindowRequest* made = nullptr;
      if (request != nullptr) *request = made = new WindowRequest(*this);
      engine_.send_operation(ready_peer(call.rank), call, made);
      return {};
    }
  }
  if (request != nullptr) *request = &engine_.done();
  return {};
}

Result<> Window::put_slowly(const OriginData& origin, const TargetData& target, Request** request) {
  WindowCall call;
  call.kind = WindowCall::Kind::put;
  call.bytes = std::min(origin.count * origin.type->size, target.count * target.type->size);
  HAWSER_TRY(aim(call, target));
  describe_origin(call, origin);
  call.origin = front_of(call.origin, call.bytes);
  return run(call, request);
}

Result<> Window::get_slowly(const ResultData& result, const TargetData& target, Request** request) {
  WindowCall call;
  call.kind = WindowCall::Kind::get;
  call.bytes = std::min(result.count * result.type->size, target.count * target.type->size);
  HAWSER_TRY(aim(call, target));
  describe_result(call, result);
  call.result = front_of(call.result, call.bytes);
  return run(call, request);
}

// What is calculated where place_here finds the memory, without a look at anything else. False: it is another
// case, or an error. `origin` null: MPI_NO_OP. `result` null, or for as many bytes in one piece.
bool Window::calculate_here(const OriginData* origin, void* result, const TargetData& target,
                            PredefinedOperator operation) {
  const Datatype& type = *target.type;
  const Datatype& ours = origin == nullptr ? type : *origin->type;
  const std::int64_t bytes = origin == nullptr ? target.count * type.size : origin->count * ours.size;
  std::byte* const place = place_here(target, ours, bytes);
  if (place == nullptr) return false;
  const std::byte* const from = origin == nullptr ? nullptr : address(origin->buffer, ours.true_lower_bound);
  const auto addresses = reinterpret_cast<std::uintptr_t>(place) | reinterpret_cast<std::uintptr_t>(from);
  if (addresses % type.alignment != 0) return false;
  const bool replaces = operation == PredefinedOperator::replace;
  ReductionKernel kernel = nullptr;
  if (from != nullptr && !replaces) {
    kernel = find_kernel(operation, type.elementary, type.pair);
    if (kernel == nullptr) return false;
  }
  constexpr std::int64_t most = 4096;  // so that nobody waits long
  const std::int64_t unit =
      type.elementary == Elementary::pair ? ElementKind::of(type).size() : facts(type.elementary).size;
  if (unit == 0) return false;
  const std::int64_t at_once = most / unit * unit;
  for (std::int64_t at = 0; at < bytes; at += at_once) {
    const std::int64_t n = std::min(at_once, bytes - at);
    const Calculating calculating(members_.at(target.rank).control);
    if (result != nullptr) copy_bytes(static_cast<std::byte*>(result) + at, place + at, n);
    if (replaces)
      copy_bytes(place + at, from + at, n);
    else if (kernel != nullptr)
      kernel(from + at, place + at, place + at, n / unit);
  }
  return true;
}

Result<> Window::accumulate(const OriginData& origin, const TargetData& target, const Operator& operation,
                            Request** request) {
  if (request == nullptr && operation.kind() != PredefinedOperator::no_op &&
      calculate_here(&origin, nullptr, target, operation.kind()))
    return {};
  return accumulate(WindowCall::Kind::accumulate, &origin, nullptr, target, operation, request);
}

Result<> Window::get_accumulate(const OriginData& origin, const ResultData& result, const TargetData& target,
                                const Operator& operation, Request** request) {
  const bool reads = operation.kind() != PredefinedOperator::no_op;
  const bool alike =
      result.type->contiguous && result.count * result.type->size == target.count * target.type->size;
  void* const to = address(result.buffer, result.type->true_lower_bound);
  if (request == nullptr && alike && calculate_here(reads ? &origin : nullptr, to, target, operation.kind()))
    return {};
  return accumulate(WindowCall::Kind::get_accumulate, &origin, &result, target, operation, request);
}

Result<> Window::accumulate(WindowHeader::Kind kind, const OriginData* origin, const ResultData* result,
                            const TargetData& target, const Operator& operation, Request** request) {
  WindowCall call;
  call.kind = kind;
  call.operation = operation.kind();
  call.element = ElementKind::of(*target.type);
  const bool reads = call.operation != PredefinedOperator::no_op;
  call.bytes = target.count * target.type->size;
  if (reads) call.bytes = std::min(call.bytes, origin->count * origin->type->size);
  if (result != nullptr) call.bytes = std::min(call.bytes, result->count * result->type->size);
  if (call.bytes > 0 && call.element.size() == 0)
    return failure(ErrorClass::type, "the datatype of an accumulate has data of more than one kind");
  if (call.bytes > 0) call.bytes -= call.bytes % call.element.size();
  HAWSER_TRY(aim(call, target));
  if (reads) describe_origin(call, *origin);
  if (result != nullptr) describe_result(call, *result);
  call.origin = front_of(call.origin, call.bytes);
  call.result = front_of(call.result, call.bytes);
  return run(call, request);
}

Result<> Window::fetch_and_op(const void* origin, void* result, const Datatype& type, int rank,
                              std::int64_t displacement, const Operator& operation) {
  const OriginData from{origin, 1, &type};
  const ResultData to{result, 1, &type};
  const bool reads = operation.kind() != PredefinedOperator::no_op;
  if (type.contiguous &&
      calculate_here(reads ? &from : nullptr, result, {rank, displacement, 1, &type}, operation.kind()))
    return {};
  return accumulate(WindowCall::Kind::get_accumulate, &from, &to, {rank, displacement, 1, &type}, operation,
                    nullptr);
}

Result<> Window::compare_and_swap(const void* origin, const void* compared, void* result,
                                  const Datatype& type, int rank, std::int64_t displacement) {
  const TargetData target{rank, displacement, 1, &type};
  if (std::byte* const place = place_here(target, type, type.size); place != nullptr && type.size <= 8) {
    const Calculating calculating(members_.at(rank).control);
    Accumulation::compare_and_swap(place, type.size, static_cast<const std::byte*>(compared),
                                   static_cast<const std::byte*>(origin), static_cast<std::byte*>(result));
    return {};
  }
  WindowCall call;
  call.kind = WindowCall::Kind::compare_and_swap;
  call.bytes = type.size;
  HAWSER_TRY(aim(call, target));
  if (call.type != nullptr || call.bytes > largest_compared)
    return failure(ErrorClass::type, "values of {} bytes cannot be compared and swapped", call.bytes);
  call.element = ElementKind::of(type);
  describe_origin(call, {origin, 1, &type});
  describe_result(call, {result, 1, &type});
  call.compared = compared;
  return run(call, nullptr);
}

}  // namespace hawser
