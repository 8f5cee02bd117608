// SimulatedLauncher, and what SimulatedProcess asks of it.
#include "testbed/simulator/simulated_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "testbed/simulator/simulated_job.h"

namespace hawser {

class SimulatedLauncher::Kill final : public Event {
 public:
  Kill(SimulatedLauncher& launcher, int rank) : launcher_(launcher), rank_(rank) {}
  void fire(Nanoseconds) override { launcher_.carry_out(rank_, "was killed by signal 9 (Killed)"); }

 private:
  SimulatedLauncher& launcher_;
  const int rank_;
};

// That a rank has failed, on its way to another.
class SimulatedLauncher::News final : public Event {
 public:
  News(SimulatedProcess& to, LostRank lost) : to_(to), lost_(std::move(lost)) {}
  void fire(Nanoseconds) override { to_.hear(std::move(lost_)); }

 private:
  SimulatedProcess& to_;
  LostRank lost_;
};

// Whether a rank reaches another, on its way to it.
class SimulatedLauncher::Question final : public Event {
 public:
  Question(SimulatedProcess& to, int about) : to_(to), about_(about) {}
  void fire(Nanoseconds) override { to_.hear_question(about_); }

 private:
  SimulatedProcess& to_;
  const int about_;
};

SimulatedLauncher::SimulatedLauncher(SimulatedJob& job, std::vector<std::int32_t> node_of_rank)
    : job_(job),
      survival_(job.options_.survival ? &*job.options_.survival : nullptr),
      living_(job.options_.ranks),
      random_(job.options_.seed * 389 + 7),
      unreachable_(std::move(node_of_rank), survival_ != nullptr ? survival_->reporting_time : 0) {}

SimulatedLauncher::~SimulatedLauncher() = default;

void SimulatedLauncher::put(int rank, std::string_view key, std::string_view value) {
  values_.insert_or_assign({rank, std::string(key)}, std::string(value));
}

const std::string* SimulatedLauncher::find(int rank, std::string_view key) const {
  const auto found = values_.find({rank, std::string(key)});
  return found == values_.end() ? nullptr : &found->second;
}

void SimulatedLauncher::enter_fence(SimulatedProcess& process, bool waits) {
  ++process.fences_;
  job_.trace_.record(process.local_time(), TraceKind::fence, process.rank(), 0, 0);
  process.catch_up();
  ++in_fence_;
  process.in_fence_ = true;
  if (all_in_fence()) return release(&process);
  if (waits) process.park(SimulatedProcess::State::in_fence);
}

// `last`: whose fiber runs; null: none does.
void SimulatedLauncher::release(SimulatedProcess* last) {
  in_fence_ = 0;
  if (job_.fabric_) job_.fabric_->let_incidents_begin();
  const auto levels = std::bit_width(static_cast<unsigned>(job_.options_.ranks - 1));
  const Nanoseconds duration = static_cast<Nanoseconds>(levels) * 2 * job_.options_.model.network.latency;
  for (auto& other : job_.processes_) {
    if (!std::exchange(other->in_fence_, false)) continue;
    if (other.get() == last || other->state_ == SimulatedProcess::State::in_fence) other->charge(duration);
    if (other.get() == last) continue;
    if (other->state_ == SimulatedProcess::State::in_fence)
      other->make_ready();
    else
      other->notify();
  }
  if (std::exchange(begun_, true) || !survives()) return;
  for (const SimulatedSurvival::Kill& each : survival_->kills) {
    kills_.push_back(std::make_unique<Kill>(*this, each.rank));
    job_.queue_.schedule(*kills_.back(), job_.queue_.now() + each.at);
  }
}

// Whoever waits for the last looks again.
void SimulatedLauncher::come_to_leave(SimulatedProcess& process) {
  const auto step = static_cast<std::size_t>(++process.step_of_leave_);
  if (step >= comings_.size()) comings_.resize(step + 1);
  if (++comings_[step] < living_) return;
  for (auto& other : job_.processes_) other->notify();
}

Nanoseconds SimulatedLauncher::news_delay() {
  return static_cast<Nanoseconds>(1 + random_.below(static_cast<std::uint64_t>(survival_->news_after)));
}

// Those that leave have said good-bye to MPI, as all that live have then.
void SimulatedLauncher::carry_out(int rank, const std::string& why) {
  SimulatedProcess& victim = *job_.processes_[static_cast<std::size_t>(rank)];
  if (victim.finished() || comings_[1] > 0 || living_ == 1) return;
  job_.trace_.record(job_.queue_.now(), TraceKind::kill, rank, 0, 0);
  killed_.push_back(rank);
  --living_;
  victim.die();
  unreachable_.forget(rank);
  for (auto& other : job_.processes_) {
    if (other->finished()) continue;
    job_.queue_.schedule(news_.emplace_back(*other, LostRank{rank, why}), job_.queue_.now() + news_delay());
  }
  if (std::exchange(victim.in_fence_, false)) --in_fence_;
  if (all_in_fence()) release(nullptr);
}

void SimulatedLauncher::report_unreachable(int reporter, int accused, std::string_view why) {
  const auto gone = [this](int rank) { return std::ranges::find(killed_, rank) != killed_.end(); };
  if (gone(reporter) || gone(accused)) return;
  unreachable_.report(reporter, accused, std::string(why), job_.queue_.now());
  job_.queue_.schedule(decision_, unreachable_.deadline());
  for (const auto& [witness, about] : unreachable_.take_questions()) {
    SimulatedProcess& to = *job_.processes_[static_cast<std::size_t>(witness)];
    job_.queue_.schedule(questions_.emplace_back(to, about), job_.queue_.now() + news_delay());
  }
}

void SimulatedLauncher::decide(Nanoseconds) {
  for (const auto& [rank, why] : unreachable_.decide())
    carry_out(rank, fmt::format("was killed, because others and it cannot reach each other ({})", why));
}

// --- Bootstrap of a rank ---

Result<> SimulatedProcess::put(std::string_view key, std::string_view value) {
  job_.launcher_.put(rank(), key, value);
  return {};
}

Result<> SimulatedProcess::fence() {
  job_.launcher_.enter_fence(*this, true);
  return {};
}

bool SimulatedProcess::enter_fence() {
  job_.launcher_.enter_fence(*this, false);
  return true;
}

Result<std::string> SimulatedProcess::get(int rank, std::string_view key) {
  const std::string* const value = job_.launcher_.find(rank, key);
  if (value == nullptr)
    return Error{ErrorKind::other, fmt::format("rank {} has put no value under {}", rank, key)};
  return *value;
}

void SimulatedProcess::tell_address(std::string_view text) { job_.launcher_.put(rank(), "address", text); }

std::vector<std::pair<std::int32_t, std::string>> SimulatedProcess::take_addresses() {
  std::vector<std::pair<std::int32_t, std::string>> answers;
  for (const std::int32_t process : std::exchange(asked_, {}))
    if (const std::string* const address = job_.launcher_.find(process, "address");
        address != nullptr && !address->empty())
      answers.emplace_back(process, *address);
  return answers;
}

void SimulatedProcess::abort(int exit_code, std::string_view reason) {
  job_.trace_.record(local_time(), TraceKind::abort, rank(), 0, exit_code);
  job_.outcome_.exit_code = exit_code;
  job_.end(SimulationOutcome::Kind::aborted,
           fmt::format("rank {} ended the job with code {}: {}", rank(), exit_code, reason));
}

bool SimulatedProcess::survives() const { return job_.launcher_.survives(); }

void SimulatedProcess::report_lost(int process, std::string_view why) {
  job_.launcher_.report_unreachable(rank(), process, why);
}

void SimulatedProcess::report_reached(int process) { job_.launcher_.note_reached(rank(), process); }

void SimulatedProcess::hear_question(int about) {
  if (finished()) return;
  questions_.push_back(about);
  notify();
}

void SimulatedProcess::hear(LostRank lost) {
  if (finished()) return;
  lost_.push_back(std::move(lost));
  notify();
}

void SimulatedProcess::die() {
  state_ = State::over;
  killed_ = true;
  channel_.die();
  vanish();
}

}  // namespace hawser
