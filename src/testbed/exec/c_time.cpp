// Clocks and sleeps, which are virtual for a program.
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "testbed/exec/c_front.h"

namespace hawser {
namespace {

// When the simulation begins, for those who ask for the date: 2026-01-01 00:00 UTC.
constexpr std::int64_t first_second = 1'767'225'600;
constexpr std::int64_t nano = 1'000'000'000;

timespec to_timespec(Nanoseconds time) { return {.tv_sec = time / nano, .tv_nsec = time % nano}; }
timeval to_timeval(Nanoseconds time) { return {.tv_sec = time / nano, .tv_usec = time % nano / 1000}; }
bool is_date(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}
Nanoseconds date(ProgramRank& rank) { return rank.now() + first_second * nano; }
bool valid(const timespec& time) { return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < nano; }
Nanoseconds of(const timespec& time) { return time.tv_sec * nano + time.tv_nsec; }

// What comes through descriptors comes in real time: it is looked at once, and once more when the time is
// over.
template <class Look>
int wait_until_ready(ProgramRank& rank, Nanoseconds duration, bool forever, Look&& look) {
  if (forever) return look(true);
  const int ready = look(false);
  if (ready != 0 || duration <= 0) return ready;
  rank.sleep(duration);
  return look(false);
}

}  // namespace
}  // namespace hawser

using namespace hawser;

HAWSER_FRONT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const behind = HAWSER_BEHIND(clock_gettime);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(clock, time);
  *time = to_timespec(is_date(clock) ? date(*rank) : rank->now());
  return 0;
}

HAWSER_FRONT int timespec_get(timespec* time, int base) noexcept {
  if (base != TIME_UTC) return 0;
  clock_gettime(CLOCK_REALTIME, time);
  return base;
}

HAWSER_FRONT int gettimeofday(timeval* __restrict time, void* __restrict zone) noexcept {
  static auto* const behind = HAWSER_BEHIND(gettimeofday);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(time, zone);
  *time = to_timeval(date(*rank));
  return 0;
}

HAWSER_FRONT time_t time(time_t* out) noexcept {
  static auto* const behind = HAWSER_BEHIND(time);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(out);
  const time_t seconds = date(*rank) / nano;
  if (out != nullptr) *out = seconds;
  return seconds;
}

HAWSER_FRONT clock_t clock() noexcept {
  static auto* const behind = HAWSER_BEHIND(clock);
  ProgramRank* const rank = current_rank();
  return rank == nullptr ? behind() : rank->now() / (nano / CLOCKS_PER_SEC);
}

HAWSER_FRONT clock_t times(tms* out) noexcept {
  static auto* const behind = HAWSER_BEHIND(times);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(out);
  const clock_t ticks = rank->now() / (nano / sysconf(_SC_CLK_TCK));
  if (out != nullptr) *out = {.tms_utime = ticks, .tms_stime = 0, .tms_cutime = 0, .tms_cstime = 0};
  return ticks;
}

HAWSER_FRONT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  static auto* const behind = HAWSER_BEHIND(getrusage);
  ProgramRank* const rank = current_rank();
  const int answer = behind(who, usage);
  if (rank == nullptr || answer != 0) return answer;
  usage->ru_utime = to_timeval(rank->now());
  usage->ru_stime = {};
  return 0;
}

// --- Sleeps ---

HAWSER_FRONT int nanosleep(const timespec* wanted, timespec* left) {
  static auto* const behind = HAWSER_BEHIND(nanosleep);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(wanted, left);
  if (!valid(*wanted)) return errno = EINVAL, -1;
  rank->sleep(of(*wanted));
  if (left != nullptr) *left = {};
  return 0;
}

HAWSER_FRONT int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  static auto* const behind = HAWSER_BEHIND(clock_nanosleep);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(clock, flags, wanted, left);
  if (!valid(*wanted)) return EINVAL;
  Nanoseconds duration = of(*wanted);
  if ((flags & TIMER_ABSTIME) != 0) duration -= is_date(clock) ? date(*rank) : rank->now();
  rank->sleep(std::max<Nanoseconds>(0, duration));
  if (left != nullptr && (flags & TIMER_ABSTIME) == 0) *left = {};
  return 0;
}

HAWSER_FRONT int usleep(useconds_t microseconds) {
  static auto* const behind = HAWSER_BEHIND(usleep);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(microseconds);
  rank->sleep(Nanoseconds{microseconds} * 1000);
  return 0;
}

HAWSER_FRONT unsigned sleep(unsigned seconds) {
  static auto* const behind = HAWSER_BEHIND(sleep);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(seconds);
  rank->sleep(Nanoseconds{seconds} * nano);
  return 0;
}

HAWSER_FRONT int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  static auto* const behind = HAWSER_BEHIND(poll);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(descriptors, count, milliseconds);
  return wait_until_ready(*rank, Nanoseconds{milliseconds} * 1'000'000, milliseconds < 0,
                          [&](bool forever) { return behind(descriptors, count, forever ? -1 : 0); });
}

HAWSER_FRONT int ppoll(pollfd* descriptors, nfds_t count, const timespec* time, const sigset_t* signals) {
  static auto* const behind = HAWSER_BEHIND(ppoll);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(descriptors, count, time, signals);
  constexpr timespec at_once{};
  return wait_until_ready(*rank, time == nullptr ? 0 : of(*time), time == nullptr, [&](bool forever) {
    return behind(descriptors, count, forever ? nullptr : &at_once, signals);
  });
}

HAWSER_FRONT int select(int count, fd_set* __restrict readable, fd_set* __restrict writable,
                        fd_set* __restrict exceptional, timeval* __restrict time) {
  static auto* const behind = HAWSER_BEHIND(select);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(count, readable, writable, exceptional, time);
  const auto copy = [](const fd_set* from) { return from == nullptr ? fd_set{} : *from; };
  const fd_set asked[] = {copy(readable), copy(writable), copy(exceptional)};
  const Nanoseconds duration = time == nullptr ? 0 : time->tv_sec * nano + time->tv_usec * 1000;
  return wait_until_ready(*rank, duration, time == nullptr, [&](bool forever) {
    if (readable != nullptr) *readable = asked[0];
    if (writable != nullptr) *writable = asked[1];
    if (exceptional != nullptr) *exceptional = asked[2];
    timeval at_once{};
    return behind(count, readable, writable, exceptional, forever ? nullptr : &at_once);
  });
}

HAWSER_FRONT int sched_yield() noexcept {
  if (ProgramRank* const rank = current_rank()) rank->sleep(100);
  return 0;
}

HAWSER_FRONT unsigned alarm(unsigned seconds) noexcept {
  static auto* const behind = HAWSER_BEHIND(alarm);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(seconds);
  if (seconds == 0) return 0;
  rank->refuse("called alarm: signals that come by themselves are not simulated");
}

HAWSER_FRONT int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* former) noexcept {
  static auto* const behind = HAWSER_BEHIND(setitimer);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(which, wanted, former);
  rank->refuse("called setitimer: signals that come by themselves are not simulated");
}
