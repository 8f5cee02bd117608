// What a small verbs program needs: errors as exceptions, the clock that all processes share, GIDs as text.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace verbs_test {

[[noreturn]] inline void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}
inline void check(const char* what, int error) {
  if (error != 0) fail(what, error);
}
template <class T>
T* made(const char* what, T* object) {
  if (object == nullptr) fail(what, errno);
  return object;
}

// Nanoseconds of the clock that all processes of a machine share.
inline std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Whether the descriptor becomes readable before `deadline`.
inline bool readable(int fd, std::int64_t deadline) {
  const std::int64_t left = std::max<std::int64_t>(deadline - now(), 0);
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>((left + 999'999) / 1'000'000)) > 0;
}

inline std::string gid_text(const ibv_gid& gid) {
  std::string text;
  for (const std::uint8_t byte : gid.raw) {
    static constexpr char digits[] = "0123456789abcdef";
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

inline ibv_gid gid_of(const std::string& text) {
  ibv_gid gid{};
  for (std::size_t i = 0; i < sizeof gid.raw; ++i)
    gid.raw[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return gid;
}

}  // namespace verbs_test
