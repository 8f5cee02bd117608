#include "launch/mpiexec/poller.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/failure.h"

namespace hawser {

namespace {

epoll_event make_event(std::uint32_t events, Token token) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(token.kind) << 32 | token.index;
  return event;
}

}  // namespace

Result<Poller> Poller::create() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return failure(ErrorKind::other, "cannot make an epoll descriptor: {}", std::strerror(errno));
  return Poller(fd);
}

Poller::Poller(Poller&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Poller::~Poller() {
  if (fd_ >= 0) close(fd_);
}

bool Poller::add(int fd, std::uint32_t events, Token token) {
  epoll_event event = make_event(events, token);
  return epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::modify(int fd, std::uint32_t events, Token token) {
  epoll_event event = make_event(events, token);
  epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) { epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }

std::span<const epoll_event> Poller::wait(Nanoseconds now, Nanoseconds deadline) {
  int timeout = -1;
  if (deadline != never)  // rounded up, so as not to come back a moment too early and again
    timeout = static_cast<int>(
        std::clamp<Nanoseconds>((deadline - now + millisecond - 1) / millisecond, 0, INT_MAX));
  const int count = epoll_wait(fd_, events_, std::size(events_), timeout);
  return {events_, static_cast<std::size_t>(std::max(0, count))};
}

Token Poller::token_of(const epoll_event& event) {
  return {static_cast<Token::Kind>(event.data.u64 >> 32), static_cast<std::uint32_t>(event.data.u64)};
}

}  // namespace hawser
