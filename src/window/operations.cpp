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

// With dynamic windows, or MPI_BOTTOM, the displacement is the address, and arithmetic on a null pointer is
// undefined.
std::byte* address(const void* base, std::int64_t displacement) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                      static_cast<std::uintptr_t>(displacement));
}

void describe_origin(WindowCall& call, const OriginData& origin) {
  call.origin = describe(origin.buffer, origin.count, *origin.type, call.origin_packer);
  if (!call.origin.contiguous()) call.origin_type = origin.type;
}
void describe_result(WindowCall& call, const ResultData& result) {
  call.result = describe(result.buffer, result.count, *result.type, call.result_packer);
  if (!call.result.contiguous()) call.result_type = result.type;
}

}  // namespace

// Whether an operation on this rank is within an epoch.
bool Window::may_access(int rank) {
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

// The most frequent case of put and get: both sides in one piece, and the target's memory can be reached
// here. Null: it is another one, or an error.
inline std::byte* Window::place_here(const TargetData& target, const Datatype& ours, std::int64_t bytes) {
  const Members::Member& member = members_.at(target.rank);
  const Datatype& type = *target.type;
  if (member.mapped == nullptr || !ours.contiguous || !type.contiguous) return nullptr;
  std::int64_t at = 0;
  if (__builtin_mul_overflow(target.displacement, member.unit, &at)) return nullptr;
  if (bytes <= 0 || bytes != target.count * type.size) return nullptr;
  if (__builtin_add_overflow(at, type.true_lower_bound, &at)) return nullptr;
  if (at < 0 || bytes > member.size || at > member.size - bytes || !may_access(target.rank)) return nullptr;
  return member.mapped + at;
}

Result<> Window::put(const OriginData& origin, const TargetData& target, Request** request) {
  const std::int64_t bytes = origin.count * origin.type->size;
  if (std::byte* const place = place_here(target, *origin.type, bytes)) [[likely]] {
    copy_bytes(place, address(origin.buffer, origin.type->true_lower_bound), bytes);
    if (request != nullptr) *request = &engine_.done();
    return {};
  }
  WindowCall call;
  call.kind = WindowCall::Kind::put;
  call.bytes = std::min(origin.count * origin.type->size, target.count * target.type->size);
  HAWSER_TRY(aim(call, target));
  describe_origin(call, origin);
  call.origin = front_of(call.origin, call.bytes);
  return run(call, request);
}

Result<> Window::get(const ResultData& result, const TargetData& target, Request** request) {
  const std::int64_t bytes = result.count * result.type->size;
  if (const std::byte* const place = place_here(target, *result.type, bytes)) [[likely]] {
    copy_bytes(address(result.buffer, result.type->true_lower_bound), place, bytes);
    if (request != nullptr) *request = &engine_.done();
    return {};
  }
  WindowCall call;
  call.kind = WindowCall::Kind::get;
  call.bytes = std::min(result.count * result.type->size, target.count * target.type->size);
  HAWSER_TRY(aim(call, target));
  describe_result(call, result);
  call.result = front_of(call.result, call.bytes);
  return run(call, request);
}

Result<> Window::accumulate(const OriginData& origin, const TargetData& target, const Operator& operation,
                            Request** request) {
  return accumulate(WindowCall::Kind::accumulate, &origin, nullptr, target, operation, request);
}

Result<> Window::get_accumulate(const OriginData& origin, const ResultData& result, const TargetData& target,
                                const Operator& operation, Request** request) {
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
  return accumulate(WindowCall::Kind::get_accumulate, &from, &to, {rank, displacement, 1, &type}, operation,
                    nullptr);
}

Result<> Window::compare_and_swap(const void* origin, const void* compared, void* result,
                                  const Datatype& type, int rank, std::int64_t displacement) {
  WindowCall call;
  call.kind = WindowCall::Kind::compare_and_swap;
  call.bytes = type.size;
  HAWSER_TRY(aim(call, {rank, displacement, 1, &type}));
  if (call.type != nullptr || call.bytes > largest_compared)
    return failure(ErrorClass::type, "values of {} bytes cannot be compared and swapped", call.bytes);
  call.element = ElementKind::of(type);
  describe_origin(call, {origin, 1, &type});
  describe_result(call, {result, 1, &type});
  call.compared = compared;
  return run(call, nullptr);
}

}  // namespace hawser
