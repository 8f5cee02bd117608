// Reading and writing through the standard descriptors without a stream: Fortran's run-time library does.
#include <stdarg.h>
#include <sys/uio.h>
#include <unistd.h>

#include "testbed/exec/c_front.h"

using namespace hawser;

namespace {

bool goes_to_output(int descriptor) {
  return current_rank() != nullptr && (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO);
}
// As under mpiexec: only the first rank has a standard input.
bool has_ended(int descriptor) {
  const ProgramRank* const rank = current_rank();
  return rank != nullptr && rank->rank() != 0 && descriptor == STDIN_FILENO;
}

}  // namespace

HAWSER_FRONT ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  static auto* const behind = HAWSER_BEHIND(write);
  if (!goes_to_output(descriptor)) return behind(descriptor, bytes, size);
  current_rank()->output().write(descriptor, {static_cast<const char*>(bytes), size});
  return static_cast<ssize_t>(size);
}

HAWSER_FRONT ssize_t writev(int descriptor, const iovec* pieces, int count) {
  static auto* const behind = HAWSER_BEHIND(writev);
  if (!goes_to_output(descriptor)) return behind(descriptor, pieces, count);
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) total += write(descriptor, pieces[i].iov_base, pieces[i].iov_len);
  return total;
}

HAWSER_FRONT ssize_t read(int descriptor, void* bytes, std::size_t size) {
  static auto* const behind = HAWSER_BEHIND(read);
  return has_ended(descriptor) ? 0 : behind(descriptor, bytes, size);
}
HAWSER_FRONT ssize_t __read_chk(int descriptor, void* bytes, std::size_t size, std::size_t) {
  return read(descriptor, bytes, size);
}

HAWSER_FRONT int isatty(int descriptor) noexcept {
  static auto* const behind = HAWSER_BEHIND(isatty);
  return goes_to_output(descriptor) ? 0 : behind(descriptor);
}
