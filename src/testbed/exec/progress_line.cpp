#include "testbed/exec/progress_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

namespace hawser {
namespace {

constexpr std::int64_t every = 1'000'000'000;  // of real time

std::int64_t real_time() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressLine::ProgressLine(int ranks)
    : ranks_(ranks), terminal_(isatty(STDERR_FILENO) != 0), begin_(real_time()), shown_(begin_) {}

void ProgressLine::observe(const SimulationView& view) {
  if (!terminal_) return;
  const std::int64_t now = real_time();
  if (view.over && any_) fmt::print(stderr, "\r\033[K");
  if (view.over || now - shown_ < every) return;
  shown_ = now;
  any_ = true;
  write(view, static_cast<double>(now - begin_) * 1e-9);
}

void ProgressLine::write(const SimulationView& view, double seconds) {
  fmt::print(stderr, "\r\033[K{:.6f} s of virtual time, {} of {} ranks finished, {:.2f} million events/s",
             static_cast<double>(view.now) * 1e-9, view.finished, ranks_,
             static_cast<double>(view.events) / seconds * 1e-6);
}

}  // namespace hawser
