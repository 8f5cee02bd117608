// `hawser doctor`: looks at this host as an MPI process would, and says what is wrong and how to mend it.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

// The exit code is 1 if something is wrong.
int run_doctor(std::span<const std::string_view> words);

}  // namespace hawser
