// libhawser-paths.so: put before other libraries by LD_PRELOAD, it answers look-ups of the paths in
// virtual_paths.h and passes all others on. Apart from the drop-in, whose symbols have versions: those of
// LD_PRELOAD must stand before libc's without one. Both the names of today's libc (stat) and those that
// programs built before glibc 2.33 import (__xstat) are answered.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testbed/emulator/virtual_paths.h"

#define HAWSER_EXPORT __attribute__((visibility("default")))

using hawser::emulator::look_up_virtual_path;
using hawser::emulator::VirtualKind;
using hawser::emulator::VirtualPath;

namespace {

VirtualPath look_up(const char* path) {
  // Most look-ups are of other paths; the variable is read only for those that may be ours.
  if (path == nullptr ||
      (std::strncmp(path, "/dev/inf", 8) != 0 && std::strncmp(path, "/sys/class/inf", 14) != 0))
    return {};
  const char* const adapters = std::getenv("HAWSER_FABRIC_ADAPTERS");
  return look_up_virtual_path(path, adapters == nullptr ? 0 : static_cast<unsigned>(std::atoi(adapters)));
}

// The function that we stand before.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void describe(const VirtualPath& path, struct stat* out) {
  constexpr unsigned verbs_major = 231;
  *out = {};
  out->st_nlink = 1;
  out->st_ino = 1;
  out->st_blksize = 4096;
  if (path.kind == VirtualKind::directory) out->st_mode = S_IFDIR | 0755;
  if (path.kind == VirtualKind::text) out->st_mode = S_IFREG | 0444, out->st_size = 4096;
  if (path.kind == VirtualKind::device) {
    out->st_mode = S_IFCHR | 0666;
    out->st_rdev = makedev(verbs_major, path.minor);
  }
}

// True when the path is ours: then the answer is in `out`.
bool answer_status(const char* name, struct stat* out) {
  const VirtualPath path = look_up(name);
  if (path.kind == VirtualKind::none) return false;
  describe(path, out);
  return true;
}

// Whether the path is ours; then `fd` is a descriptor, or -1 with errno set.
bool answer_open(const char* name, int flags, int& fd) {
  const VirtualPath path = look_up(name);
  if (path.kind == VirtualKind::none) return false;
  fd = -1;
  if (path.kind == VirtualKind::directory) {
    errno = EACCES;
  } else if (path.kind == VirtualKind::device) {
    errno = ENXIO;  // commands go through libibverbs
  } else if ((flags & O_ACCMODE) != O_RDONLY) {
    errno = EACCES;
  } else {
    fd = memfd_create("hawser-path", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
    const std::size_t length = std::strlen(path.content);
    if (fd >= 0 && (write(fd, path.content, length) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
      close(fd);
      fd = -1;
    }
  }
  return true;
}

bool answer_stream(const char* name, const char* mode, FILE*& stream) {
  int fd = -1;
  const bool reads = mode != nullptr && mode[0] == 'r' && std::strchr(mode, '+') == nullptr;
  if (!answer_open(name, reads ? O_RDONLY : O_RDWR, fd)) return false;
  stream = fd < 0 ? nullptr : fdopen(fd, "r");
  return true;
}

bool answer_access(const char* name, int mode, int& result) {
  const VirtualPath path = look_up(name);
  if (path.kind == VirtualKind::none) return false;
  const bool refused = (mode & W_OK) != 0 && path.kind != VirtualKind::device;
  if (refused) errno = EACCES;
  result = refused ? -1 : 0;
  return true;
}

// The third argument of open is there only when a file may be created.
mode_t creation_mode(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

// The labels give the functions their names for the linker. Under those names the headers declare them with
// arguments that are never null and structs of other names (on this machine stat64 is stat).
static_assert(sizeof(struct stat) == sizeof(struct stat64));

#define HAWSER_STAT(name)                                                           \
  extern "C" HAWSER_EXPORT int hawser_##name(const char*, struct stat*) asm(#name); \
  int hawser_##name(const char* path, struct stat* out) {                           \
    static const auto real = next<int(const char*, struct stat*)>(#name);           \
    return answer_status(path, out) ? 0 : real(path, out);                          \
  }
#define HAWSER_OLD_STAT(name)                                                            \
  extern "C" HAWSER_EXPORT int hawser_##name(int, const char*, struct stat*) asm(#name); \
  int hawser_##name(int version, const char* path, struct stat* out) {                   \
    static const auto real = next<int(int, const char*, struct stat*)>(#name);           \
    return answer_status(path, out) ? 0 : real(version, path, out);                      \
  }
#define HAWSER_OPEN(name)                                                       \
  extern "C" HAWSER_EXPORT int hawser_##name(const char*, int, ...) asm(#name); \
  int hawser_##name(const char* path, int flags, ...) {                         \
    static const auto real = next<int(const char*, int, ...)>(#name);           \
    va_list more;                                                               \
    va_start(more, flags);                                                      \
    const mode_t mode = creation_mode(flags, more);                             \
    va_end(more);                                                               \
    int fd = -1;                                                                \
    return answer_open(path, flags, fd) ? fd : real(path, flags, mode);         \
  }
#define HAWSER_OPENAT(name)                                                          \
  extern "C" HAWSER_EXPORT int hawser_##name(int, const char*, int, ...) asm(#name); \
  int hawser_##name(int folder, const char* path, int flags, ...) {                  \
    static const auto real = next<int(int, const char*, int, ...)>(#name);           \
    va_list more;                                                                    \
    va_start(more, flags);                                                           \
    const mode_t mode = creation_mode(flags, more);                                  \
    va_end(more);                                                                    \
    int fd = -1;                                                                     \
    return answer_open(path, flags, fd) ? fd : real(folder, path, flags, mode);      \
  }
#define HAWSER_FOPEN(name)                                                           \
  extern "C" HAWSER_EXPORT FILE* hawser_##name(const char*, const char*) asm(#name); \
  FILE* hawser_##name(const char* path, const char* mode) {                          \
    static const auto real = next<FILE*(const char*, const char*)>(#name);           \
    FILE* stream = nullptr;                                                          \
    return answer_stream(path, mode, stream) ? stream : real(path, mode);            \
  }
#define HAWSER_ACCESS(name)                                                \
  extern "C" HAWSER_EXPORT int hawser_##name(const char*, int) asm(#name); \
  int hawser_##name(const char* path, int mode) {                          \
    static const auto real = next<int(const char*, int)>(#name);           \
    int result = 0;                                                        \
    return answer_access(path, mode, result) ? result : real(path, mode);  \
  }

HAWSER_STAT(stat)
HAWSER_STAT(stat64)
HAWSER_STAT(lstat)
HAWSER_STAT(lstat64)
HAWSER_OLD_STAT(__xstat)
HAWSER_OLD_STAT(__xstat64)
HAWSER_OLD_STAT(__lxstat)
HAWSER_OLD_STAT(__lxstat64)
HAWSER_OPEN(open)
HAWSER_OPEN(open64)
HAWSER_OPENAT(openat)
HAWSER_OPENAT(openat64)
HAWSER_FOPEN(fopen)
HAWSER_FOPEN(fopen64)
HAWSER_ACCESS(access)
