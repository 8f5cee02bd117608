// Waiting for another thread. A rank has one, so nobody ends its wait: one with a time-out lasts until then
// in virtual time, and one without is an error of the program in the simulator.
#include <errno.h>
#include <fmt/format.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "testbed/exec/c_front.h"

using namespace hawser;

namespace {

constexpr std::int64_t nano = 1'000'000'000;

int wait_until(ProgramRank& rank, clockid_t clock, const timespec& end) {
  timespec now{};
  clock_gettime(clock, &now);
  const Nanoseconds left = (end.tv_sec - now.tv_sec) * nano + end.tv_nsec - now.tv_nsec;
  if (left > 0) rank.sleep(left);
  return ETIMEDOUT;
}

// By the attribute that it was made with, which nobody can ask for: what lies before the date is no date.
clockid_t clock_of(const timespec& end) {
  timespec date{};
  clock_gettime(CLOCK_REALTIME, &date);
  return end.tv_sec < date.tv_sec / 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

[[noreturn]] void refuse(ProgramRank& rank, const char* function) {
  rank.refuse(
      fmt::format("called {}: no other thread can end this wait, for threads are not simulated", function));
}

}  // namespace

HAWSER_FRONT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const behind = HAWSER_BEHIND(pthread_cond_wait);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(condition, mutex);
  refuse(*rank, "pthread_cond_wait");
}

HAWSER_FRONT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                        const timespec* end) {
  static auto* const behind = HAWSER_BEHIND(pthread_cond_timedwait);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(condition, mutex, end);
  return wait_until(*rank, clock_of(*end), *end);
}

HAWSER_FRONT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                        const timespec* end) {
  static auto* const behind = HAWSER_BEHIND(pthread_cond_clockwait);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(condition, mutex, clock, end);
  return wait_until(*rank, clock, *end);
}

HAWSER_FRONT int sem_wait(sem_t* semaphore) {
  static auto* const behind = HAWSER_BEHIND(sem_wait);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(semaphore);
  if (sem_trywait(semaphore) == 0) return 0;
  refuse(*rank, "sem_wait");
}

HAWSER_FRONT int sem_timedwait(sem_t* semaphore, const timespec* end) {
  static auto* const behind = HAWSER_BEHIND(sem_timedwait);
  ProgramRank* const rank = current_rank();
  if (rank == nullptr) return behind(semaphore, end);
  if (sem_trywait(semaphore) == 0) return 0;
  errno = wait_until(*rank, CLOCK_REALTIME, *end);
  return -1;
}
