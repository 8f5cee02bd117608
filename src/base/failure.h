// failure(class, format, arguments...): an Error with a formatted text.
#pragma once

#include <fmt/core.h>

#include "base/result.h"

namespace hawser {

template <class... Arguments>
[[gnu::cold]] Error failure(ErrorClass error_class, fmt::format_string<Arguments...> format,
                            Arguments&&... arguments) {
  return Error{error_class, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

}  // namespace hawser
