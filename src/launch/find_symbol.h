// A function of a library that was loaded at run time.
#pragma once

#include <dlfcn.h>

namespace hawser {

// False: the library has no symbol of this name.
template <class Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace hawser
