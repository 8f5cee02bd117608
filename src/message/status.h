// Status: what MPI_Status says (MPI-5.0 section 3.2.5), before an ABI gives it a layout.
#pragma once

#include <cstdint>

#include "mpi/error_class.h"

namespace hawser {

// Ranks and tags with a meaning, numbered as in the standard ABI; binding/ translates other ABIs' numbers.
inline constexpr int any_source = -1;
inline constexpr int any_tag = -2;
inline constexpr int proc_null = -3;
inline constexpr int root_rank = -4;      // MPI_ROOT
inline constexpr int undefined = -32766;  // MPI_UNDEFINED
inline constexpr int tag_upper_bound = INT32_MAX;

struct Status {
  int source = any_source;
  int tag = any_tag;
  ErrorClass error = ErrorClass::success;
  bool cancelled = false;
  std::int64_t bytes = 0;  // received, packed form

  static Status empty() { return {}; }
  static Status from_proc_null() { return {proc_null, any_tag, ErrorClass::success, false, 0}; }
};

}  // namespace hawser
