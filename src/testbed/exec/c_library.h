// The C library's own functions, behind those that c_*.cpp put in front of them.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace hawser::c_library {

// The function of this name behind ours. Ends the program if there is none.
void* behind(const char* name);

ssize_t write(int descriptor, const void* bytes, std::size_t size);
int change_folder(int descriptor);
pid_t process();
[[noreturn]] void exit_now(int code);
// Processor time of this thread, in nanoseconds.
std::int64_t processor_time();

// The Function's type makes calls short: static auto* real = next<decltype(::poll)>("poll");
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(behind(name));
}

}  // namespace hawser::c_library
