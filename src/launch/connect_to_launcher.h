// Finds the launcher that started this process and connects to it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "launch/bootstrap.h"

namespace hawser {

enum class Launcher { pmix, mpiexec, pmi, none };

// What the variables say: PMIx (PMIX_NAMESPACE), PMI-1 (PMI_FD or PMI_PORT; our own mpiexec if HAWSER_JOB_ID
// is there too), none. Our mpiexec removes the variables of launchers it was itself started by.
Launcher find_launcher(std::span<const std::string_view> environment);

// The error says which launcher was found and what went wrong.
Result<std::unique_ptr<Bootstrap>> connect_to_launcher(std::span<const std::string_view> environment);

}  // namespace hawser
