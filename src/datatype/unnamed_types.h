// Types that are predefined but have no name: those of Fortran's selected kinds (MPI-5.0 section 19.1.9) and
// pairs of a value and an index (section 6.9.4). Asked for again, the same one is given.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "datatype/datatype.h"

namespace hawser {

class PredefinedTypes;

// Stands for a precision or range that does not matter (MPI_UNDEFINED).
inline constexpr int any_precision = -1;

class UnnamedTypes {
 public:
  explicit UnnamedTypes(const PredefinedTypes& named) : named_(named) {}

  // selected_real_kind(precision, range) and selected_int_kind(range), as gfortran has them on this machine.
  // The numbers as the caller gave them are kept for MPI_Type_get_contents.
  Result<Ref<Datatype>> f90_real(int precision, int range, int given_precision, int given_range);
  Result<Ref<Datatype>> f90_complex(int precision, int range, int given_precision, int given_range);
  Result<Ref<Datatype>> f90_integer(int range);

  // Null if no MINLOC and MAXLOC are known for such a pair.
  Ref<Datatype> pair(const Datatype& value, const Datatype& index);

 private:
  using Key = std::tuple<Combiner, std::int64_t, std::int64_t>;
  Ref<Datatype> find_or_make(const Key& key, Elementary kind, std::vector<std::int64_t> integers);

  const PredefinedTypes& named_;
  std::map<Key, Ref<Datatype>> made_;
  std::vector<Ref<Datatype>> pairs_;
};

}  // namespace hawser
