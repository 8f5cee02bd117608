// What the entry points of the tool information interface share (MPI-5.0 chapter 15). They answer a code and
// call no error handler; every result that the caller passes a null pointer for is left out.
#pragma once

#include <new>
#include <string_view>

#include "binding/hand.h"

namespace hawser::binding {

inline int code_of(ToolCode code) { return from_core_error_code(static_cast<int>(code)); }

MPI_Datatype datatype_of(ToolType type);

template <class T, class Value>
void give(T* out, Value value) {
  if (out != nullptr) *out = static_cast<T>(value);
}

// A string with its room on entry and its length, terminator included, on return (MPI-5.0 section 15.3.3).
void give_text(char* out, int* length, std::string_view text);

// Calls body(entry, tool) under the lock, if MPI_T is initialized. No error of a tool's is fatal, not even
// when memory ends.
template <class Body>
int with_tool(const char* function, Body&& body) try {
  Entry entry(function, Entry::AnyTime());
  ToolInterface& tool = entry.process().tool();
  if (!tool.initialized()) return code_of(ToolCode::not_initialized);
  return code_of(body(entry, tool));
} catch (const std::bad_alloc&) {
  return code_of(ToolCode::memory);
}

// Gives a new info object without entries.
inline void give_info(const Entry& entry, MPI_Info* out) {
  if (out == nullptr) return;
  const Ref<Info> info = make_counted<Info>();
  *out = entry.give(info.get());
}

}  // namespace hawser::binding
