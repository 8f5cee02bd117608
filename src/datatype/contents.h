// TypeContents: the arguments a datatype was constructed with, as MPI_Type_get_envelope and
// MPI_Type_get_contents give them back (MPI-5.0 section 5.1.13). Only they read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/counted.h"

namespace hawser {

class Datatype;

// Which form of the constructor was called; it decides in which array its numbers are given back.
enum class CountForm : std::uint8_t { plain, large };

class TypeContents final : public Counted {
 public:
  ~TypeContents() override;

  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<std::int64_t> large_counts;
  std::vector<Ref<const Datatype>> types;
};

}  // namespace hawser
