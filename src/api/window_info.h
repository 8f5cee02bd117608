// The hints of windows (MPI-5.0 section 12.2.7).
#pragma once

#include "base/result.h"
#include "communicator/info.h"

namespace hawser::mpi {

// Takes over the hints of `info`, which may be null, that are known and have a value that they may have.
// Others are ignored, as the standard wants.
Result<> take_hints(Info& hints, const Info* info);
// What a window has without any.
Result<Ref<Info>> default_hints();
bool hint_is_true(const Info& hints, std::string_view key);

}  // namespace hawser::mpi
