// failure(class, format, arguments...): an Error of one of MPI's classes, with a formatted text.
#pragma once

#include "base/failure.h"
#include "mpi/error_class.h"

namespace hawser {

template <class... Arguments>
[[gnu::cold]] Error failure(ErrorClass error_class, fmt::format_string<Arguments...> format,
                            Arguments&&... arguments) {
  return Error{ErrorKind::other, fmt::format(format, std::forward<Arguments>(arguments)...),
               static_cast<int>(error_class)};
}

}  // namespace hawser
