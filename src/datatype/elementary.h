// The basic kinds of data that every datatype is made of, named for what they are in memory; the
// predefined MPI types of C and Fortran map onto them (predefined_types.def).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hawser {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;
__extension__ typedef _Float16 Float16;
__extension__ typedef __float128 Float128;

// Complex numbers as C and Fortran lay them out; std::complex is not specified for all of our kinds.
template <class T>
struct ComplexPair {
  T real;
  T imaginary;
};

// What may be calculated with a kind (MPI-5.0 section 6.9.2).
enum class ElementaryClass : std::uint8_t {
  none,
  byte,
  character,
  integer,
  floating,
  complex,
  logical,
  pair
};

enum class Elementary : std::uint8_t {
  none,  // no data, or data of several kinds
#define HAWSER_ELEMENTARY(name, type, external_bytes, kind_class) name,
#include "datatype/elementary_kinds.def"
#undef HAWSER_ELEMENTARY
  pair,  // a value and an index, for MINLOC and MAXLOC; PairKinds says of what
};

struct ElementaryFacts {
  std::string_view name;
  std::uint8_t size;           // bytes in memory
  std::uint8_t alignment;      // bytes
  std::uint8_t external_size;  // bytes in external32
  ElementaryClass element_class;
};

// Of any kind but `pair`, whose facts depend on its parts.
const ElementaryFacts& facts(Elementary kind);

// A value and an index in a C struct (or, in Fortran, an array of two equal kinds, which is the same).
struct PairKinds {
  Elementary value = Elementary::none;
  Elementary index = Elementary::none;
  friend bool operator==(const PairKinds&, const PairKinds&) = default;
};

}  // namespace hawser
