#include "window/accumulation.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "datatype/predefined.h"
#include "datatype/type_packer.h"

namespace hawser {
namespace {

// On the stack of a simulated rank, too. Aligned for what kernels read.
struct alignas(64) Portion {
  static constexpr std::int64_t size = 4096;
  std::byte bytes[size];
};

// Whether a number from the wire is one of Elementary's.
bool known(Elementary element) {
  return static_cast<std::uint8_t>(element) <= static_cast<std::uint8_t>(Elementary::pair);
}
bool known(PredefinedOperator operation) {
  return static_cast<std::size_t>(operation) < predefined_operator_count;
}
std::int64_t size_of_simple(Elementary element) {
  return known(element) && element != Elementary::none && element != Elementary::pair ? facts(element).size
                                                                                      : 0;
}

}  // namespace

std::int64_t ElementKind::size() const {
  if (element != Elementary::pair) return size_of_simple(element);
  const std::int64_t value = size_of_simple(pair.value), index = size_of_simple(pair.index);
  return value == 0 || index == 0 ? 0 : value + index;
}

Accumulation::Accumulation(PredefinedOperator operation, const ElementKind& kind)
    : operation_(operation), kind_(kind), unit_(known(operation) ? kind.size() : 0), kernel_(nullptr) {
  if (unit_ == 0 || moves_only()) return;
  kernel_ = find_kernel(operation_, kind_.element, kind_.pair);
  if (kernel_ == nullptr || kind_.element != Elementary::pair) return;
  auto type = make_pair_type(kind_.pair);
  if (type->extent != unit_) pair_type_ = std::move(type);
}

// inout[i] = data[i] op inout[i], both in packed form; at most a piece.
void Accumulation::combine(const std::byte* data, std::byte* inout, std::int64_t bytes) const {
  const std::int64_t count = bytes / unit_;
  if (!pair_type_) {
    kernel_(data, inout, inout, count);
    return;
  }
  Portion with_gaps, own_with_gaps;
  const std::int64_t at_once = Portion::size / pair_type_->extent;
  for (std::int64_t i = 0; i < count; i += at_once) {
    const std::int64_t n = std::min(at_once, count - i);
    TypePacker from(with_gaps.bytes, n, *pair_type_), to(own_with_gaps.bytes, n, *pair_type_);
    from.unpack(0, data + i * unit_, n * unit_);
    to.unpack(0, inout + i * unit_, n * unit_);
    kernel_(with_gaps.bytes, own_with_gaps.bytes, own_with_gaps.bytes, n);
    to.pack(0, inout + i * unit_, n * unit_);
  }
}

void Accumulation::apply(const ByteSequence& place, std::int64_t offset, const std::byte* data,
                         std::int64_t bytes, std::byte* before) const {
  HAWSER_ASSERT(sound() && offset + bytes <= place.size);
  const std::int64_t at_once = Portion::size / unit_ * unit_;
  for (std::int64_t at = 0; at < bytes; at += at_once) {
    const std::int64_t n = std::min(at_once, bytes - at);
    const auto size = static_cast<std::size_t>(n);
    // Neither what came in nor the place need be aligned.
    Portion incoming, present;
    if (place.contiguous())
      std::memcpy(present.bytes, place.data + offset + at, size);
    else
      place.packer->pack(offset + at, present.bytes, n);
    if (before != nullptr) std::memcpy(before + at, present.bytes, size);
    if (operation_ == PredefinedOperator::no_op) continue;
    const std::byte* result = data + at;
    if (operation_ != PredefinedOperator::replace) {
      std::memcpy(incoming.bytes, data + at, size);
      combine(incoming.bytes, present.bytes, n);
      result = present.bytes;
    }
    if (place.contiguous())
      std::memcpy(place.data + offset + at, result, size);
    else
      place.packer->unpack(offset + at, result, n);
  }
}

namespace {

template <class T>
void swap_if_equal(std::byte* place, const std::byte* compared, const std::byte* value, std::byte* before) {
  T present, wanted;
  std::memcpy(&present, place, sizeof present);
  std::memcpy(&wanted, compared, sizeof wanted);
  if (present == wanted) std::memcpy(place, value, sizeof present);
  std::memcpy(before, &present, sizeof present);
}

}  // namespace

void Accumulation::compare_and_swap(std::byte* place, std::int64_t bytes, const std::byte* compared,
                                    const std::byte* value, std::byte* before) {
  if (bytes == 8) return swap_if_equal<std::uint64_t>(place, compared, value, before);
  if (bytes == 4) return swap_if_equal<std::uint32_t>(place, compared, value, before);
  const auto size = static_cast<std::size_t>(bytes);
  std::memcpy(before, place, size);
  if (std::memcmp(before, compared, size) == 0) std::memcpy(place, value, size);
}

}  // namespace hawser
