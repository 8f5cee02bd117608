// failure(kind, format, arguments...): an Error with a formatted text.
#pragma once

#include <fmt/core.h>

#include "base/result.h"

namespace hawser {

template <class... Arguments>
[[gnu::cold]] Error failure(ErrorKind kind, fmt::format_string<Arguments...> format,
                            Arguments&&... arguments) {
  return Error{kind, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

}  // namespace hawser
