#include "testbed/exec/c_library.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace hawser::c_library {

void* behind(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return found;
  constexpr char text[] = "hawser sim exec: the C library lacks ";
  (void)write(STDERR_FILENO, text, sizeof text - 1);
  (void)write(STDERR_FILENO, name, std::strlen(name));
  (void)write(STDERR_FILENO, "\n", 1);
  exit_now(1);
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  return syscall(SYS_write, descriptor, bytes, size);
}

int change_folder(int descriptor) { return static_cast<int>(syscall(SYS_fchdir, descriptor)); }

pid_t process() { return static_cast<pid_t>(syscall(SYS_getpid)); }

void exit_now(int code) {
  for (;;) syscall(SYS_exit_group, code);
}

std::int64_t processor_time() {
  timespec time{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace hawser::c_library
