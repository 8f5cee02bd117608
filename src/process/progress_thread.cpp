#include "process/progress_thread.h"

#include <algorithm>
#include <utility>

#include "os/memory_watch.h"
#include "process/mpi_process.h"

namespace hawser {

namespace {

enum EventKey : std::uint64_t { channel_event, own_event };

}  // namespace

std::unique_ptr<ProgressThread> ProgressThread::start(MpiProcess& process, StandIn& state,
                                                      std::span<Transport* const> channels, Clock& clock) {
  std::vector<int> descriptors;
  for (const Transport* channel : channels)
    for (const int descriptor : channel->descriptors()) descriptors.push_back(descriptor);
  if (descriptors.empty() || !process.lock().admit_stand_in([&process] { process.end_interrupted_call(); }))
    return nullptr;
  auto set = ReadySet::make();
  if (!set) return nullptr;
  std::unique_ptr<ProgressThread> made(new ProgressThread(process, state, clock));
  made->ready_ = std::move(set).value();
  for (const int descriptor : descriptors)
    if (!made->ready_.add_edges(descriptor, channel_event)) return nullptr;
  auto thread =
      ServiceThread::start("hawser-progress", [self = made.get()](ServiceThread& own) { self->run(own); });
  if (!thread) return nullptr;
  made->thread_ = std::move(thread).value();
  return made;
}

ProgressThread::~ProgressThread() {
  thread_->request_stop();
  process_.lock().dismiss_stand_in();
}

void ProgressThread::ring() { thread_->wake(); }

void ProgressThread::run(ServiceThread& thread) {
  if (!ready_.add_edges(thread.descriptor().get(), own_event)) return;
  ProcessLock& lock = process_.lock();
  Nanoseconds sleep = StandIn::shortest_rest;
  while (!thread.stop_requested()) {
    bool interrupted = false;
    for (const ReadySet::Ready& each : ready_.wait(sleep)) interrupted |= each.key == channel_event;
    if (interrupted) state_.on_interrupt();
    if (!lock.try_stand_in()) {
      sleep = state_.on_inside(interrupted, clock_.now(), !lock.enabled());
      if (!state_.often_in_vain()) continue;
      // A program that waits sleeps on the same descriptors, and whatever comes would wake both.
      thread.sleep(std::exchange(sleep, 0));
      lock.wait_until_left();
      continue;
    }
    if (!state_.on_outside(interrupted, clock_.now())) {
      lock.end_stand_in();
      sleep = state_.pause();
      continue;
    }
    if (process_.thread_level() >= thread_serialized) keep_nothing_of_this_thread();
    Nanoseconds deadline = never;
    const bool arms = process_.wants_interrupts();
    state_.on_turn(interrupted, process_.stand_in(arms, deadline, *this), arms);
    lock.end_stand_in();
    sleep = deadline == never ? never : std::max<Nanoseconds>(deadline - clock_.now(), 0);
  }
}

}  // namespace hawser
