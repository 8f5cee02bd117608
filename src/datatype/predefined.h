// The predefined datatypes of one process, built from predefined_types.def.
#pragma once

#include <array>
#include <cstddef>

#include "datatype/datatype.h"
#include "datatype/unnamed_types.h"

namespace hawser {

enum class PredefinedType : std::uint8_t {
#define HAWSER_PREDEFINED(enumerator, name, number, kind) enumerator,
#define HAWSER_PREDEFINED_PAIR(enumerator, name, number, value, index) enumerator,
#include "datatype/predefined_types.def"
#undef HAWSER_PREDEFINED
#undef HAWSER_PREDEFINED_PAIR
};

inline constexpr std::size_t predefined_type_count = 0
#define HAWSER_PREDEFINED(enumerator, name, number, kind) +1
#define HAWSER_PREDEFINED_PAIR(enumerator, name, number, value, index) +1
#include "datatype/predefined_types.def"
#undef HAWSER_PREDEFINED
#undef HAWSER_PREDEFINED_PAIR
    ;

// The handle in the standard ABI (MPI-5.0 chapter 20).
inline constexpr std::array<std::uint16_t, predefined_type_count> predefined_type_numbers = {
#define HAWSER_PREDEFINED(enumerator, name, number, kind) number,
#define HAWSER_PREDEFINED_PAIR(enumerator, name, number, value, index) number,
#include "datatype/predefined_types.def"
#undef HAWSER_PREDEFINED
#undef HAWSER_PREDEFINED_PAIR
};

class PredefinedTypes {
 public:
  PredefinedTypes();
  PredefinedTypes(const PredefinedTypes&) = delete;
  PredefinedTypes& operator=(const PredefinedTypes&) = delete;

  Datatype& operator[](PredefinedType type) const { return *types_[static_cast<std::size_t>(type)]; }
  static constexpr std::size_t size() { return predefined_type_count; }
  Datatype& at(std::size_t index) const { return *types_[index]; }
  UnnamedTypes& unnamed() { return unnamed_; }

 private:
  std::array<Ref<Datatype>, predefined_type_count> types_;
  UnnamedTypes unnamed_{*this};
};

// A type of one elementary kind, not committed.
Ref<Datatype> make_elementary_type(Elementary kind);

// A committed type of one value followed by one index, as in a C struct.
Ref<Datatype> make_pair_type(PairKinds kinds);

}  // namespace hawser
