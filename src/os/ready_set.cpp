#include "os/ready_set.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::size_t most_at_once = 64;

std::uint32_t event_mask(bool readable, bool writable) {
  return (readable ? static_cast<std::uint32_t>(EPOLLIN) : 0) |
         (writable ? static_cast<std::uint32_t>(EPOLLOUT) : 0);
}

int control(const FileDescriptor& set, int operation, int descriptor, std::uint64_t key,
            std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return epoll_ctl(set.get(), operation, descriptor, &event);
}

Error refused(const char* call) {
  return failure(ErrorKind::other, "{} failed: {}", call, std::strerror(errno));
}

int wait_for_events(int set, std::span<epoll_event> events, Nanoseconds time) {
  const int room = static_cast<int>(events.size());
  if (time == 0) return epoll_wait(set, events.data(), room, 0);
  const timespec duration{time / second, time % second};
  const int count = epoll_pwait2(set, events.data(), room, time == never ? nullptr : &duration, nullptr);
  if (count >= 0 || errno != ENOSYS) return count;
  // Linux before 5.11. Rounded up, so as not to come back a moment too early and again.
  const Nanoseconds milliseconds = std::min<Nanoseconds>(time / millisecond + 1, INT_MAX);
  return epoll_wait(set, events.data(), room, time == never ? -1 : static_cast<int>(milliseconds));
}

}  // namespace

Result<ReadySet> ReadySet::make() {
  ReadySet set;
  set.set_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!set.set_.valid()) return refused("epoll_create1");
  return set;
}

Result<> ReadySet::add(int descriptor, std::uint64_t key, bool readable, bool writable) {
  if (control(set_, EPOLL_CTL_ADD, descriptor, key, event_mask(readable, writable)) != 0)
    return refused("epoll_ctl");
  return {};
}

Result<> ReadySet::add_edges(int descriptor, std::uint64_t key) {
  if (control(set_, EPOLL_CTL_ADD, descriptor, key, EPOLLIN | EPOLLET) != 0) return refused("epoll_ctl");
  return {};
}

void ReadySet::change(int descriptor, std::uint64_t key, bool readable, bool writable) {
  control(set_, EPOLL_CTL_MOD, descriptor, key, event_mask(readable, writable));
}

void ReadySet::remove(int descriptor) { control(set_, EPOLL_CTL_DEL, descriptor, 0, 0); }

std::span<const ReadySet::Ready> ReadySet::wait(Nanoseconds time) {
  std::array<epoll_event, most_at_once> events;
  const int count = wait_for_events(set_.get(), events, time);
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const bool failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    ready_.push_back({event.data.u64, failed || (event.events & EPOLLIN) != 0,
                      failed || (event.events & EPOLLOUT) != 0, failed});
  }
  return ready_;
}

}  // namespace hawser
