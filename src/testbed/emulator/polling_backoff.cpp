#include "testbed/emulator/polling_backoff.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "os/shared_memory.h"
#include "testbed/emulator/mapped_memory.h"

namespace hawser::emulator {
namespace {

// A yield that took longer was no turn of programs that wait and yield themselves. Nobody yields for twenty
// times as long, so that finding out again costs a twentieth at most. Somebody who computes keeps the core
// for milliseconds; a daemon with a burst of packets, or many that wait, for a tenth of one, and where they
// are all there is, sleeping is slower: it lets cores stand still, which take 70 us to wake up on a virtual
// machine.
constexpr Nanoseconds lost_core = 50 * microsecond;
constexpr Nanoseconds longest_crowded_time = 100 * millisecond;
constexpr int crowded_times = 20;
// So long a poll pauses before the core is offered to others. A yield costs about as much.
constexpr Nanoseconds brief_wait = microsecond;
// So many polls at least lie between two yields. Programs look at several queues, and some yield themselves
// when they have looked at all: each would have to wait for its turn again between one queue and the next.
constexpr std::uint32_t polls_of_a_yield = 8;
// Polls without a word from the daemon before a sleep: more than a program has queues, lest it sleeps on one
// while another has something.
constexpr std::uint32_t spins = 32;
constexpr Nanoseconds longest_spin = 20 * microsecond;
// Programs have other things to look at as well, and sleep on one of their queues, not on each in turn.
constexpr Nanoseconds longest_sleep = 200 * microsecond;
constexpr std::uint32_t polls_of_a_sleep = 8;

}  // namespace

void Crowd::yield(Nanoseconds now) {
  const Nanoseconds away = yield_cpu();
  if (away > lost_core)
    until_.store(now + away + std::min(crowded_times * away, longest_crowded_time),
                 std::memory_order_relaxed);
}

void ask_for_slice(Nanoseconds slice) {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } wanted{};
  wanted.size = sizeof wanted;
  wanted.policy = static_cast<std::uint32_t>(sched_getscheduler(0));
  if (wanted.policy != SCHED_OTHER) return;  // somebody has chosen
  wanted.nice = getpriority(PRIO_PROCESS, 0);
  wanted.runtime = static_cast<std::uint64_t>(slice);
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

void ask_for_exact_timers() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

PollingBackoff::PollingBackoff() : memory_(make_memory(sizeof(WaitPage))) {
  if (memory_.valid()) mapped_ = map_memory(memory_, sizeof(WaitPage));
  page_ = reinterpret_cast<WaitPage*>(mapped_.get());
}

void PollingBackoff::show_core() {
  const int here = sched_getcpu();
  if (page_->core.load(std::memory_order_relaxed) != here) page_->core.store(here, std::memory_order_relaxed);
}

void PollingBackoff::rest(const DaemonPage& daemon) {
  show_core();
  const std::uint32_t told = page_->told.load(std::memory_order_acquire);
  if (told != seen_.exchange(told, std::memory_order_relaxed)) empty_.store(0, std::memory_order_relaxed);
  const std::uint32_t empty = empty_.fetch_add(1, std::memory_order_relaxed);
  MonotonicClock clock;
  const Nanoseconds now = clock.now();
  page_->polled.store(now, std::memory_order_relaxed);
  if (empty == 0) since_.store(now, std::memory_order_relaxed);
  const Nanoseconds waited = now - since_.load(std::memory_order_relaxed);
  if (!crowd_.here(now)) {
    const std::uint32_t polls = polls_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool due = waited >= brief_wait && polls >= polls_of_a_yield;
    if (!due && !daemon.waits_for_core(sched_getcpu())) return __builtin_ia32_pause();
    polls_.store(0, std::memory_order_relaxed);
    return crowd_.yield(now);
  }
  // The daemon takes the core if it needs it; a sleep would cost more than the wait is likely to last.
  if (empty < spins || waited < longest_spin || empty % polls_of_a_sleep != 0) {
    __builtin_ia32_pause();
    return;
  }
  static thread_local bool quick = false;
  if (!quick) ask_for_slice(client_slice);
  quick = true;
  page_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(page_->told, told, longest_sleep);
  page_->sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace hawser::emulator
