// FuzzInput: the bytes of one execution of a fuzz target, taken from the front. When they have run out, every
// value is zero, so that each input means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace hawser::fuzz {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : bytes_(reinterpret_cast<const std::byte*>(data), size) {}

  bool empty() const { return bytes_.empty(); }
  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::span<const std::byte> from = take(sizeof value);
    if (!from.empty()) std::memcpy(static_cast<void*>(&value), from.data(), from.size());
    return value;
  }
  // 0 to bound - 1.
  std::uint32_t below(std::uint32_t bound) { return value<std::uint16_t>() % bound; }
  bool flag() { return (value<std::uint8_t>() & 1) != 0; }
  // At most `size` bytes.
  std::span<const std::byte> take(std::size_t size) {
    const std::span<const std::byte> taken = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::string_view text(std::size_t size) {
    const std::span<const std::byte> taken = take(size);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  // Up to the next `end`, which is dropped.
  std::string_view text_until(char end) {
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    const std::string_view part = all.substr(0, all.find(end));
    take(part.size() + 1);
    return part;
  }
  std::string_view rest() { return text(bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace hawser::fuzz

// What each target defines (libFuzzer's interface).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
