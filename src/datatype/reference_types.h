// For tests: type maps as the standard writes them, a plain list of (kind, displacement) with markers for
// bounds, and random types built both so and by the constructors. Slow and obvious on purpose.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/random.h"
#include "datatype/constructors.h"
#include "datatype/predefined.h"

namespace hawser::reference {

struct Entry {
  Elementary kind;
  std::int64_t displacement;
};

struct Type {
  std::vector<Entry> entries;
  std::vector<std::int64_t> lower_markers;
  std::vector<std::int64_t> upper_markers;

  std::int64_t size() const {
    std::int64_t total = 0;
    for (const Entry& entry : entries) total += facts(entry.kind).size;
    return total;
  }
  std::int64_t true_lower() const {
    std::optional<std::int64_t> low;
    for (const Entry& entry : entries) low = std::min(low.value_or(entry.displacement), entry.displacement);
    return low.value_or(0);
  }
  std::int64_t true_upper() const {
    std::optional<std::int64_t> high;
    for (const Entry& entry : entries) {
      const std::int64_t end = entry.displacement + facts(entry.kind).size;
      high = std::max(high.value_or(end), end);
    }
    return high.value_or(0);
  }
  std::int64_t lower() const {
    return lower_markers.empty() ? true_lower()
                                 : *std::min_element(lower_markers.begin(), lower_markers.end());
  }
  std::int64_t upper() const {
    if (!upper_markers.empty()) return *std::max_element(upper_markers.begin(), upper_markers.end());
    std::int64_t alignment = 1;
    for (const Entry& entry : entries)
      alignment = std::max<std::int64_t>(alignment, facts(entry.kind).alignment);
    std::int64_t extent = true_upper() - lower();
    while (extent > 0 && extent % alignment != 0) ++extent;
    return lower() + extent;
  }
  std::int64_t extent() const { return upper() - lower(); }

  void append(const Type& other, std::int64_t displacement) {
    for (const Entry& entry : other.entries)
      entries.push_back({entry.kind, entry.displacement + displacement});
    for (const std::int64_t marker : other.lower_markers) lower_markers.push_back(marker + displacement);
    for (const std::int64_t marker : other.upper_markers) upper_markers.push_back(marker + displacement);
  }
  void append_block(const Type& other, std::int64_t displacement, std::int64_t count) {
    const std::int64_t step = other.extent();
    for (std::int64_t i = 0; i < count; ++i) append(other, displacement + i * step);
  }

  std::vector<std::byte> pack(const std::byte* buffer, std::int64_t count) const {
    std::vector<std::byte> out;
    for (std::int64_t i = 0; i < count; ++i)
      for (const Entry& entry : entries) {
        const std::byte* at = buffer + i * extent() + entry.displacement;
        out.insert(out.end(), at, at + facts(entry.kind).size);
      }
    return out;
  }
};

struct Both {
  Ref<Datatype> built;
  Type expected;
};

inline Both elementary(const PredefinedTypes& types, PredefinedType which) {
  Both result{Ref<Datatype>(&types[which]), {}};
  const Datatype& type = *result.built;
  if (type.elementary == Elementary::pair)
    result.expected.entries = {{type.pair.value, 0}, {type.pair.index, type.map().displacements[1]}};
  else
    result.expected.entries = {{type.elementary, 0}};
  return result;
}

// A random type of the given nesting depth. With `disjoint` no two data overlap, as a receive needs.
class RandomTypes {
 public:
  RandomTypes(const PredefinedTypes& types, std::uint64_t seed, bool disjoint)
      : types_(types), random_(seed), disjoint_(disjoint) {}

  Both make(int depth) {
    if (depth == 0) {
      constexpr PredefinedType leaves[] = {PredefinedType::byte,        PredefinedType::short_int,
                                           PredefinedType::plain_int,   PredefinedType::double_float,
                                           PredefinedType::long_double, PredefinedType::double_int,
                                           PredefinedType::character,   PredefinedType::single_float};
      return elementary(types_, leaves[random_.below(std::size(leaves))]);
    }
    const Both old = make(depth - 1);
    switch (random_.below(9)) {
      case 0:
        return contiguous(old);
      case 1:
        return vector(old);
      case 2:
        return hvector(old);
      case 3:
        return indexed(old);
      case 4:
        return hindexed(old);
      case 5:
        return indexed_block(old);
      case 6:
        return structure(depth, old);
      case 7:
        return resized(old);
      default:
        return subarray(old);
    }
  }
  Random& random() { return random_; }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  // Bytes that one copy and its neighbours may cover, so that steps of it keep data apart.
  static std::int64_t reach(const Type& type) {
    return std::max(type.true_upper(), type.upper()) - std::min(type.true_lower(), type.lower());
  }
  bool self_overlapping(const Type& type) const {
    return type.extent() < type.true_upper() - type.true_lower();
  }
  std::int64_t block_length(const Type& old) {
    if (disjoint_ && self_overlapping(old)) return number(0, 1);
    return number(0, 3);
  }
  std::int64_t sign() { return random_.chance(0.25) ? -1 : 1; }
  // In units of `old.extent()`, big enough to keep blocks of `length` apart.
  std::int64_t element_step(const Type& old, std::int64_t length) {
    if (!disjoint_) return number(-4, 4);
    const std::int64_t extent = std::max<std::int64_t>(old.extent(), 1);
    return sign() * (std::max<std::int64_t>(length, 1) + reach(old) / extent + number(0, 2));
  }
  std::int64_t byte_step(const Type& old, std::int64_t length) {
    if (!disjoint_) return number(-20, 20);
    return sign() * (std::max<std::int64_t>(length, 1) * reach(old) + number(0, 9));
  }

  Both contiguous(const Both& old) {
    Both result;
    const std::int64_t count = block_length(old.expected);
    result.built = make_contiguous(count, *old.built, CountForm::plain).value();
    result.expected.append_block(old.expected, 0, count);
    return result;
  }
  Both vector(const Both& old) {
    Both result;
    const std::int64_t count = number(0, 4), length = block_length(old.expected);
    const std::int64_t step = element_step(old.expected, length);
    if (disjoint_ && old.expected.extent() <= 0) return contiguous(old);
    result.built = make_vector(count, length, step, *old.built, CountForm::plain).value();
    for (std::int64_t i = 0; i < count; ++i)
      result.expected.append_block(old.expected, i * step * old.expected.extent(), length);
    return result;
  }
  Both hvector(const Both& old) {
    Both result;
    const std::int64_t count = number(0, 4), length = block_length(old.expected);
    const std::int64_t step = byte_step(old.expected, length);
    result.built = make_hvector(count, length, step, *old.built, CountForm::plain).value();
    for (std::int64_t i = 0; i < count; ++i) result.expected.append_block(old.expected, i * step, length);
    return result;
  }

  // Random block lengths and displacements in units of `unit` bytes.
  void blocks(const Type& old, std::int64_t unit, std::vector<std::int64_t>& lengths,
              std::vector<std::int64_t>& displacements, std::optional<std::int64_t> same_length) {
    const std::int64_t count = number(0, 5);
    std::int64_t next = number(-5, 5);
    const std::int64_t step = (reach(old) + unit - 1) / unit;
    for (std::int64_t i = 0; i < count; ++i) {
      lengths.push_back(same_length ? *same_length : block_length(old));
      displacements.push_back(disjoint_ ? next : number(-8, 8));
      next += lengths.back() * step + (random_.chance(0.5) ? 0 : number(0, 3));
    }
    if (disjoint_)
      for (std::size_t i = displacements.size(); i > 1; --i) {
        const std::size_t other = random_.below(i);
        std::swap(displacements[i - 1], displacements[other]);
        std::swap(lengths[i - 1], lengths[other]);
      }
  }
  Both indexed(const Both& old) {
    if (disjoint_ && old.expected.extent() <= 0) return contiguous(old);
    Both result;
    std::vector<std::int64_t> lengths, displacements;
    blocks(old.expected, std::max<std::int64_t>(old.expected.extent(), 1), lengths, displacements, {});
    result.built = make_indexed(lengths, displacements, *old.built, CountForm::plain).value();
    for (std::size_t i = 0; i < lengths.size(); ++i)
      result.expected.append_block(old.expected, displacements[i] * old.expected.extent(), lengths[i]);
    return result;
  }
  Both hindexed(const Both& old) {
    Both result;
    std::vector<std::int64_t> lengths, displacements;
    blocks(old.expected, 1, lengths, displacements, {});
    result.built = make_hindexed(lengths, displacements, *old.built, CountForm::large).value();
    for (std::size_t i = 0; i < lengths.size(); ++i)
      result.expected.append_block(old.expected, displacements[i], lengths[i]);
    return result;
  }
  Both indexed_block(const Both& old) {
    Both result;
    std::vector<std::int64_t> lengths, displacements;
    const std::int64_t length = block_length(old.expected);
    blocks(old.expected, 1, lengths, displacements, length);
    result.built = make_hindexed_block(length, displacements, *old.built, CountForm::plain).value();
    for (const std::int64_t displacement : displacements)
      result.expected.append_block(old.expected, displacement, length);
    return result;
  }
  Both structure(int depth, const Both& old) {
    Both result;
    std::vector<std::int64_t> lengths, displacements;
    std::vector<Datatype*> types;
    std::vector<Both> kept;
    const std::int64_t count = number(1, 4);
    std::int64_t next = number(-3, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      kept.push_back(i == 0 ? old : make(depth - 1));
      const Type& part = kept.back().expected;
      lengths.push_back(block_length(part));
      // The lowest byte of the block goes to `next` or beyond.
      const std::int64_t low = std::min(part.true_lower(), part.lower());
      displacements.push_back(disjoint_ ? next - low + (part.extent() < 0 ? 64 * lengths.back() : 0)
                                        : number(-8, 8));
      next += (lengths.back() + 1) * reach(part) + (random_.chance(0.5) ? 0 : number(0, 5));
      types.push_back(kept.back().built.get());
      result.expected.append_block(part, displacements.back(), lengths.back());
    }
    result.built = make_struct(lengths, displacements, types, CountForm::plain).value();
    return result;
  }
  Both resized(const Both& old) {
    Both result;
    std::int64_t lower = number(-6, 6), extent = number(-4, 40);
    if (disjoint_) {
      lower = old.expected.true_lower() - number(0, 4);
      extent = old.expected.true_upper() - lower + number(0, 4);
    }
    result.built = make_resized(*old.built, lower, extent, CountForm::plain).value();
    result.expected.entries = old.expected.entries;
    result.expected.lower_markers = {lower};
    result.expected.upper_markers = {lower + extent};
    return result;
  }
  Both subarray(const Both& old) {
    Both result;
    const std::size_t dimensions = static_cast<std::size_t>(number(1, 3));
    const bool fortran = random_.chance(0.5);
    std::vector<std::int64_t> sizes, subsizes, starts;
    for (std::size_t i = 0; i < dimensions; ++i) {
      sizes.push_back(number(1, 4));
      subsizes.push_back(number(1, sizes[i]));
      starts.push_back(number(0, sizes[i] - subsizes[i]));
    }
    if (disjoint_ && (old.expected.extent() <= 0 || self_overlapping(old.expected))) return contiguous(old);
    result.built = make_subarray(sizes, subsizes, starts, fortran ? ArrayOrder::fortran : ArrayOrder::c, 0,
                                 *old.built, CountForm::plain)
                       .value();
    // Odometer over the elements of the subarray; place 0 turns fastest.
    if (!fortran) {
      std::reverse(sizes.begin(), sizes.end());
      std::reverse(subsizes.begin(), subsizes.end());
      std::reverse(starts.begin(), starts.end());
    }
    std::vector<std::int64_t> at(dimensions, 0);
    const std::int64_t extent = old.expected.extent();
    for (bool more = true; more;) {
      std::int64_t place = 0, scale = 1;
      for (std::size_t i = 0; i < dimensions; scale *= sizes[i], ++i) place += (starts[i] + at[i]) * scale;
      Type element = old.expected;
      element.lower_markers.clear();
      element.upper_markers.clear();
      result.expected.append(element, place * extent);
      more = false;
      for (std::size_t i = 0; i < dimensions && !more; ++i) {
        more = ++at[i] < subsizes[i];
        if (!more) at[i] = 0;
      }
    }
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) elements *= size;
    result.expected.lower_markers = {0};
    result.expected.upper_markers = {elements * extent};
    return result;
  }

  const PredefinedTypes& types_;
  Random random_;
  bool disjoint_;
};

}  // namespace hawser::reference
