#include "datatype/external32.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "base/assert.h"

namespace hawser {
namespace {

static_assert(std::endian::native == std::endian::little, "external32 is big-endian; here bytes are swapped");

std::int64_t external_size(const TypeMap& map) {
  switch (map.kind) {
    case TypeMap::Kind::element:
      return facts(map.element).external_size;
    case TypeMap::Kind::repeat:
      return map.count * external_size(*map.child);
    case TypeMap::Kind::indexed: {
      std::int64_t count = 0;
      for (std::size_t i = 0; i < map.displacements.size(); ++i) count += map.length_of_block(i);
      return count * external_size(*map.child);
    }
    case TypeMap::Kind::structure: {
      std::int64_t total = 0;
      for (const auto& part : map.children) total += external_size(*part);
      return total;
    }
  }
  HAWSER_UNREACHABLE();
}

void swap_copy(std::byte* to, const std::byte* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] = from[size - 1 - i];
}

template <std::size_t Size>
void swap_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) swap_copy(to + i * to_stride, from + i * from_stride, Size);
}

// Each datum of `size` bytes is reversed; a complex number is two.
void swap_rows(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
               std::size_t size, std::int64_t count) {
  switch (size) {
    case 1:
      return swap_row<1>(to, to_stride, from, from_stride, count);
    case 2:
      return swap_row<2>(to, to_stride, from, from_stride, count);
    case 4:
      return swap_row<4>(to, to_stride, from, from_stride, count);
    case 8:
      return swap_row<8>(to, to_stride, from, from_stride, count);
    case 16:
      return swap_row<16>(to, to_stride, from, from_stride, count);
    default:
      HAWSER_UNREACHABLE();
  }
}

// A value that the other size cannot hold is cut off, as a C conversion does.
template <class Native, class External>
void convert_out(const std::byte* memory, std::byte* packed) {
  Native value;
  std::memcpy(&value, memory, sizeof(value));
  const auto external = static_cast<External>(value);
  swap_copy(packed, reinterpret_cast<const std::byte*>(&external), sizeof(external));
}

template <class Native, class External>
void convert_in(std::byte* memory, const std::byte* packed) {
  External external;
  swap_copy(reinterpret_cast<std::byte*>(&external), packed, sizeof(external));
  const auto value = static_cast<Native>(external);
  // The x87 format has 10 bytes of value; what pads it in memory stays as it was.
  constexpr std::size_t value_bytes = std::is_same_v<Native, long double> ? 10 : sizeof(value);
  std::memcpy(memory, &value, value_bytes);
}

// Places are numbers until data are touched: with MPI_BOTTOM the displacements are addresses, and arithmetic
// on a null pointer is undefined.
template <bool Packing>
class Converter {
 public:
  explicit Converter(std::byte* packed) : packed_(packed) {}

  // `count` copies of a map, `stride` bytes apart; moves on in the packed form.
  void repeat(const TypeMap& map, std::uintptr_t memory, std::int64_t count, std::int64_t stride) {
    if (map.kind == TypeMap::Kind::element) return elements(map.element, memory, count, stride);
    for (std::int64_t i = 0; i < count; ++i) one(map, memory + i * stride);
  }

 private:
  void one(const TypeMap& map, std::uintptr_t memory) {
    switch (map.kind) {
      case TypeMap::Kind::element:
        return elements(map.element, memory, 1, 0);
      case TypeMap::Kind::repeat:
        return repeat(*map.child, memory, map.count, map.stride);
      case TypeMap::Kind::indexed:
        for (std::size_t i = 0; i < map.displacements.size(); ++i)
          repeat(*map.child, memory + map.displacements[i], map.length_of_block(i), map.stride);
        return;
      case TypeMap::Kind::structure:
        for (std::size_t i = 0; i < map.children.size(); ++i)
          one(*map.children[i], memory + map.displacements[i]);
        return;
    }
  }

  void elements(Elementary kind, std::uintptr_t memory, std::int64_t count, std::int64_t stride) {
    const ElementaryFacts& fact = facts(kind);
    if (kind == Elementary::float80) {
      convert<long double, Float128>(memory, count, stride, 1);
    } else if (kind == Elementary::complex_float80) {
      convert<long double, Float128>(memory, count, stride, 2);
    } else if (kind == Elementary::c_long) {
      convert<long, std::int32_t>(memory, count, stride, 1);
    } else if (kind == Elementary::c_unsigned_long) {
      convert<unsigned long, std::uint32_t>(memory, count, stride, 1);
    } else if (kind == Elementary::wide_character) {
      convert<wchar_t, char16_t>(memory, count, stride, 1);
    } else if (fact.element_class == ElementaryClass::complex) {
      const std::int64_t half = fact.size / 2;
      swap(memory, stride, fact.size, half, count);
      packed_ += half;
      swap(memory + half, stride, fact.size, half, count);
      packed_ += count * fact.size - half;
    } else {
      swap(memory, stride, fact.size, fact.size, count);
      packed_ += count * fact.size;
    }
  }

  static std::byte* at(std::uintptr_t memory) { return reinterpret_cast<std::byte*>(memory); }

  void swap(std::uintptr_t memory, std::int64_t stride, std::int64_t packed_stride, std::int64_t size,
            std::int64_t count) {
    if constexpr (Packing)
      swap_rows(packed_, packed_stride, at(memory), stride, static_cast<std::size_t>(size), count);
    else
      swap_rows(at(memory), stride, packed_, packed_stride, static_cast<std::size_t>(size), count);
  }

  template <class Native, class External>
  void convert(std::uintptr_t memory, std::int64_t count, std::int64_t stride, std::size_t parts) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::size_t part = 0; part < parts; ++part) {
        std::byte* place = at(memory + i * stride + part * sizeof(Native));
        if constexpr (Packing)
          convert_out<Native, External>(place, packed_);
        else
          convert_in<Native, External>(place, packed_);
        packed_ += sizeof(External);
      }
  }

  std::byte* packed_;
};

template <bool Packing>
void convert_all(std::byte* packed, const void* buffer, std::int64_t count, const Datatype& type) {
  Converter<Packing> converter(packed);
  converter.repeat(type.map(), reinterpret_cast<std::uintptr_t>(buffer), count, type.extent);
}

}  // namespace

std::int64_t external_size(const Datatype& type) { return external_size(type.map()); }

void pack_external(const void* buffer, std::int64_t count, const Datatype& type, std::byte* out) {
  convert_all<true>(out, buffer, count, type);
}

void unpack_external(void* buffer, std::int64_t count, const Datatype& type, const std::byte* in) {
  convert_all<false>(const_cast<std::byte*>(in), buffer, count, type);
}

}  // namespace hawser
