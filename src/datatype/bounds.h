// Bounds: lower and upper bound of a type in the making, by the rules of MPI-5.0 sections 5.1.6 to 5.1.8.
#pragma once

#include <cstdint>

#include "datatype/checked_arithmetic.h"
#include "datatype/datatype.h"

namespace hawser {

class Bounds {
 public:
  // Takes in `count` copies of a type from a displacement on, one extent apart.
  void place(const Datatype& type, std::int64_t displacement, std::int64_t count);
  // Sets both bounds, whatever was taken in.
  void set(std::int64_t lower, std::int64_t upper);
  // An explicit lower or upper bound as the old MPI_LB and MPI_UB make it.
  void mark_lower(std::int64_t at);
  void mark_upper(std::int64_t at);

  void write_to(Datatype& type);
  // For displacements on the way here; what overflows in any of it makes the type impossible.
  CheckedArithmetic arithmetic;

 private:
  bool any_data_ = false;
  bool lower_set_ = false;
  bool upper_set_ = false;
  std::int64_t true_lower_ = 0;
  std::int64_t true_upper_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::uint8_t alignment_ = 1;
};

}  // namespace hawser
