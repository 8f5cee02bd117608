// MpiProcess: making progress, waiting for it, and what a stand-in does of it.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/out_of_memory.h"
#include "base/planted_bug.h"
#include "base/rest.h"
#include "channel/shared_memory_channel.h"
#include "message/describe.h"
#include "mpi/failure.h"
#include "os/shared_memory.h"
#include "process/message_lanes.h"
#include "process/mpi_process.h"
#include "process/progress_thread.h"
#include "rails/rail_channel.h"

namespace hawser {
namespace {

// Of what a call that does not wait looks for.
constexpr int passes_at_end = 8;
constexpr std::uint32_t passes_per_clock_reading = 32;
// At lanes that nobody holds: who waits on one looks at it all the time.
constexpr std::uint32_t passes_per_look_at_lanes = 16;
// In which it learns why a process is lost, and ends the job.
constexpr Nanoseconds time_of_the_launcher = 1 * second;

// False: some channel cannot interrupt.
bool arm(std::span<Transport* const> channels) {
  bool armed = true;
  for (Transport* channel : channels) armed &= static_cast<bool>(channel->arm(Wake::needs_software));
  return armed;
}

}  // namespace

// What need not be done in every pass.
void MpiProcess::look_around() {
  now_ = environment_.clock->now();
  for (Transport* channel : environment_.channels->channels()) channel->look_around(lane_, now_);
  look_for_losses();
  if (!tool_.events().listening()) return;
  if (const RailStatus* status = environment_.rail_status) tool_.events().deliver(*this, *status);
}

bool MpiProcess::make_progress() {
  try {
    return pass();
  } catch (const std::bad_alloc& error) {
    out_of_memory(function(), error);
  }
}

bool MpiProcess::pass() {
  if (++passes_ % passes_per_clock_reading == 0) {
    look_around();
  } else if (began_) [[unlikely]] {
    now_ = environment_.clock->now();
  }
  if (std::exchange(began_, false) && early_begin_.under_way()) early_begin_.on_pass(now_);
  return move(false);
}

// True if anything moved. At most so many passes; `passes` says how many are left.
bool MpiProcess::move_aside(int& passes) {
  bool any = false;
  try {
    while (passes-- > 0) {
      now_ = environment_.clock->now();
      if (!move(true)) break;
      any = true;
    }
  } catch (const std::bad_alloc& error) {
    out_of_memory(function(), error);
  }
  return any;
}

// Sets `armed` to false if some channel cannot interrupt. True if anything moved. What came before the arming
// interrupts nobody, hence the look after it.
bool MpiProcess::arm_and_look(bool& armed, int& passes) {
  if (planted(PlantedBug::lost_interrupt)) {
    const bool moved = move_aside(passes);
    armed &= arm(polled_channels_);
    return moved;
  }
  armed &= arm(polled_channels_);
  return move_aside(passes);
}

// Whether something of the program's is under way that is worth interrupts, or others reach into its windows,
// or have to agree with it on connections.
// What comes for other reasons, and what a blocking call will find, is not worth more than a look now and
// then.
bool MpiProcess::wants_interrupts() const {
  if (!stand_in_state_.computes()) return false;
  if (stand_in_state_.looks() || stand_in_state_.answers_wanted()) return true;
  const bool large = !stand_in_state_.computes_long();
  bool pending = windows_.any() || collectives_.under_way(large);
  point_to_point_.for_each_pending(
      [&](const MessageRequest& request) { pending |= !large || request.bytes.size >= expected_bytes; });
  return pending;
}

bool MpiProcess::stand_in(bool arms, Nanoseconds& deadline, DeadlineAlarm& alarm) {
  bool any = false, moved = true, armed = true;
  tell_interrupts();
  if (environment_.rails != nullptr) {
    environment_.rails->attendance().begin_turn(ProgramState::computes);
    if (environment_.rails->attendance().capped()) stand_in_state_.note_answers_wanted();
  }
  for (int passes = 64; moved && passes > 0; any |= moved) {
    moved = arms ? arm_and_look(armed, passes) : move_aside(passes);
  }
  if (environment_.rails != nullptr) environment_.rails->attendance().end_turn();
  deadline = moved ? now_ : never;
  if (!arms) deadline = std::min(deadline, now_ + stand_in_state_.pause());
  for (const Transport* channel : polled_channels_) deadline = std::min(deadline, channel->deadline());
  // While there is traffic, one look more is cheaper than to be woken by the next request.
  if (deadline == never && any) deadline = now_ + StandIn::longest_rest;
  // What is posted before may have to be looked after sooner.
  const bool sleeps_long = deadline > now_ + StandIn::longest_rest;
  for (Transport* channel : polled_channels_) channel->set_alarm(sleeps_long ? &alarm : nullptr);
  constexpr Nanoseconds without_interrupts = 1 * millisecond;
  if (!armed) deadline = std::min(deadline, now_ + without_interrupts);
  return any;
}

void MpiProcess::end_interrupted_call() {
  if (!may_stand_in_ || !stand_in_state_.computes()) return;
  tell_interrupts();
  int passes = passes_at_end;
  move_aside(passes);
  arm_for_stand_in();
}

// The order: what arrived first, then what waited for room, then what was waiting for either.
bool MpiProcess::move(bool as_stand_in) {
  bool moved = false;
  if (collectives_.wants_time()) now_ = environment_.clock->now();
  collectives_.begin_pass(now_);
  // The shared-memory channel is called directly, so that its packets are matched without an indirection.
  if (shared_memory_ != nullptr) moved = shared_memory_->progress_for(direct_messages_);
  for (Transport* channel : polled_channels_) moved |= channel->progress(lane_, now_);
  moved |= point_to_point_.progress();
  moved |= windows_.progress();
  moved |= collectives_.progress_multicast();
  moved |= survival_.progress();
  if (lanes_ != nullptr) [[unlikely]]
    moved |= lanes_->progress(passes_ % passes_per_look_at_lanes == 0);
  // Who leaves begins nothing any more: the ends of communicators would be told to processes that are gone.
  if (starts_ > 0) [[likely]]
    moved |= collectives_.progress(!as_stand_in);
  if (!may_stand_in_) begin_early(true);
  if (moved && !waiting_.empty()) [[unlikely]]
    waiting_.wake_finished();
  return moved;
}

void MpiProcess::look_for_losses() {
  if (survives_) [[unlikely]] {
    Bootstrap& launcher = *environment_.bootstrap;
    if (launcher.busy()) return;
    for (const LostRank& lost : launcher.take_lost()) survival_.on_failed(lost.rank, lost.why);
    for (const int rank : launcher.take_questions()) survival_.ask(rank);
    for (const ProcessIndex process : survival_.take_answers()) launcher.report_reached(process);
  }
  for (Lane::Loss& loss : lane_.take_losses()) on_loss(std::move(loss));
  if (!losses_.empty()) [[unlikely]]
    abort_after_loss();
  if (survival_.any()) [[unlikely]]
    end_failed();
}

// What waits for processes that have failed, or in communicators that were revoked.
void MpiProcess::end_failed() {
  survival_.sweep();
  if (windows_.any()) windows_.end_failed();
}

// A process that cannot be reached may live, and think the same of this one. The launcher ends it, and then
// tells everyone. Without such a launcher, it has failed if the program wants to know.
void MpiProcess::on_loss(Lane::Loss loss) {
  if (survival_.trouble().has_failed(loss.process)) return;
  if (survives_) {
    environment_.bootstrap->report_lost(loss.process, loss.why);
  } else if (handles_errors()) {
    survival_.on_failed(loss.process, loss.why);
  } else {
    if (losses_.empty()) loss_seen_ = now_;
    losses_.push_back(std::move(loss));
  }
}

// Whether the program wants to go on after errors.
bool MpiProcess::handles_errors() const {
  if (!world_) return false;
  const auto fatal = [](const Communicator& communicator) {
    const ErrorHandler::Kind kind = communicator.error_handler->kind;
    return kind == ErrorHandler::Kind::are_fatal || kind == ErrorHandler::Kind::abort;
  };
  return !fatal(*world_) || !fatal(*self_);
}

// A job whose program does not handle errors cannot go on without one of its processes: whoever waits for it
// would wait for ever. When that process has died the launcher knows why and ends the job; only if it does
// not within this time, the loss is the reason.
void MpiProcess::abort_after_loss() {
  if (handles_errors()) {
    for (const Lane::Loss& loss : std::exchange(losses_, {})) survival_.on_failed(loss.process, loss.why);
    return;
  }
  if (!loss_is_due()) return;
  abort(static_cast<int>(ErrorClass::other), fmt::format("{}: {}", function(), losses_.front().why));
}

bool MpiProcess::loss_is_due() const { return !losses_.empty() && now_ - loss_seen_ >= time_of_the_launcher; }

// That another process failed is seldom why the job ends. The launcher soon hears of the cause, and says it;
// or else abort_after_loss says why that process is lost, however long this one sleeps between two looks.
// Where processes may fail, answers what is known.
std::string MpiProcess::await_cause_of_loss() {
  const Nanoseconds begin = now();
  const auto vain = [this, begin] {
    const bool told_soon = lane_.any_losses() || !losses_.empty();
    return !told_soon && now() - begin >= 2 * time_of_the_launcher;
  };
  if (!survives_) wait_until(vain);
  const std::string& known = survival_.first_failure();
  return known.empty() ? "" : "; " + known;
}

void MpiProcess::wait_until(FunctionRef<bool()> done) { wait_until(done, false); }

// A neighbour that runs answers within so many looks at shared memory alone, and sooner than between whole
// passes: see SharedTeam::wait_for. Now and then the rest has its turn first, however soon all come.
bool MpiProcess::may_look_at_neighbours_alone() {
  constexpr std::uint32_t waits = passes_per_clock_reading / 2;
  if (shared_memory_ == nullptr || shared_memory_->load().crowded() || (passes_ + 1) % waits == 0)
    return false;
  return !lock_.enabled() || (!waiting_.owes_turn() && (lanes_ == nullptr || lanes_->held() == 0));
}

template <class Done>
bool MpiProcess::look_at_neighbours_for(Done done) {
  constexpr int looks = 25;
  ++passes_;
  let_messages_go();
  if (!lock_.enabled()) [[likely]]
    return look_with_pauses(looks, [&] { return look_at_neighbours() && done(); });
  // done() may take what it finds, so that it is true once.
  bool found = false;
  const auto look = [&] { return (found = look_at_neighbours() && done()); };
  look_with_pauses(looks, [&] { return look() || lock_.contended(); });
  if (!waiting_.empty()) waiting_.wake_finished();
  if (found) waiting_.note_found();
  return found;
}

void MpiProcess::wait_for(Request& request) {
  const auto done = [&request] { return request.complete; };
  if (request.kind == Request::Kind::message && may_look_at_neighbours_alone() &&
      (polled_channels_.empty() || awaits_neighbour(request)) && look_at_neighbours_for(done))
    return;
  wait_until(done, true);
}

bool MpiProcess::awaits_neighbour(const Request& request) {
  if (!request.pooled) return false;
  const auto& message = static_cast<const MessageRequest&>(request);
  const bool posted = message.stage == MessageRequest::Stage::posted;
  if (posted && (message.source_rank < 0 || !message.communicator)) return false;
  const ProcessIndex process =
      posted ? static_cast<const Communicator&>(*message.communicator).process_of(message.source_rank)
             : message.process;
  return shared_memory_->ring_to(process) != nullptr;
}

bool MpiProcess::look_at_neighbours() {
  try {
    return shared_memory_->progress_for(direct_messages_) | point_to_point_.progress();
  } catch (const std::bad_alloc& error) {
    out_of_memory(function(), error);
  }
}

void MpiProcess::wait_for_arrival(FunctionRef<bool()> has_come) {
  if (has_come()) return;
  if (polled_channels_.empty() && may_look_at_neighbours_alone() && look_at_neighbours_for(has_come)) return;
  wait_until(has_come);
}

void MpiProcess::wait_for_any(FunctionRef<bool()> any_complete, std::size_t requests) {
  // Others would ask after everything that they move.
  constexpr std::size_t most_requests = 8;
  if (requests <= most_requests && polled_channels_.empty() && may_look_at_neighbours_alone() &&
      look_at_neighbours_for(any_complete))
    return;
  wait_until(any_complete, requests <= most_requests);
}

void MpiProcess::wait_until(FunctionRef<bool()> done, bool others_may_ask) {
  if (survival_.any()) [[unlikely]]
    end_failed();
  if (may_stand_in_) note_awaited();
  if (lock_.enabled())
    wait_among_threads(done, others_may_ask);
  else
    wait(done);
  if (may_stand_in_) arm_for_left_reads();
}

void MpiProcess::hand_over() {
  let_messages_go();
  for (Transport* channel : polled_channels_)
    if (channel->holds_back()) [[unlikely]]
      wait_until([channel] { return !channel->holds_back(); });
}

void MpiProcess::send_bundles() { environment_.rails->attendance().send_bundles(); }

void MpiProcess::note_awaited() {
  if (stand_in_state_.begun()) stand_in_state_.on_awaited(now());
}

// Of reads that this call posted, the end may be due only after it.
void MpiProcess::arm_for_left_reads() {
  if (environment_.rails == nullptr || !environment_.rails->attendance().take_left_reads()) return;
  if (stand_in_state_.armed()) arm_for_stand_in();
}

void MpiProcess::wait(FunctionRef<bool()> done) {
  Waiter& waiter = environment_.channels->waiter();
  std::uint32_t idle_passes = 0;
  while (!done()) {
    if (make_progress()) {
      idle_passes = 0;
    } else {
      // What moved in other ways than through channels is seen here, before the process may sleep.
      if (done()) return;
      if (any_news()) [[unlikely]] {
        look_for_losses();
        continue;
      }
      waiter.idle(idle_passes++);
      if (environment_.rails != nullptr) environment_.rails->attendance().note_waited();
      now_ = environment_.clock->now();
    }
  }
}

void MpiProcess::poll_for_test() {
  if (may_stand_in_) note_awaited();
  if (make_progress()) {
    if (may_stand_in_) arm_for_left_reads();
    return;
  }
  if (!lock_.enabled()) return environment_.channels->waiter().between_tests();
  // Several threads may loop over tests while the one that would bring something waits for a core.
  constexpr std::uint32_t tests_per_yield = 32;
  if (++idle_tests_ % tests_per_yield != 0) return;
  Unlocked unlocked(*this);
  rest(rest_that_yields);
}

void MpiProcess::wait_among_threads(FunctionRef<bool()> done, bool others_may_ask) {
  // Others do not hold the lanes that this one holds.
  WaitingThread thread(done, others_may_ask && (lanes_ == nullptr || lanes_->held() == 0));
  waiting_.enter();
  while (!poll_in_turn(thread)) {
    waiting_.list(thread);
    rest_among_threads(thread);
    waiting_.unlist(thread);
    // Those who had the lock may have completed what other threads wait for.
    waiting_.wake_finished();
  }
  waiting_.leave();
}

// Polls for a while; then others have the lock and the core. True: what is waited for is there.
bool MpiProcess::poll_in_turn(WaitingThread& thread) {
  if (thread.done()) return true;
  const std::uint32_t most_passes = waiting_.owes_turn() ? 0 : waiting_.passes_before_rest(thread);
  for (std::uint32_t idle_passes = 0; idle_passes < most_passes; ++idle_passes) {
    if (make_progress()) {
      idle_passes = 0;
      thread.note_movement();
    }
    if (thread.done()) {
      waiting_.note_found();
      return true;
    }
    if (any_news()) [[unlikely]]
      look_for_losses();
    if (lock_.contended() || (lanes_ != nullptr && lanes_->contended())) return false;
  }
  if (most_passes > 0) waiting_.note_in_vain(thread);
  return false;
}

void MpiProcess::rest_among_threads(WaitingThread& thread) {
  // Where others compute, a yield gives the core away for as long as they may keep it, and who sleeps gets it
  // back sooner.
  const Nanoseconds begin = environment_.clock->now();
  waiting_.note_turn();
  const bool naps = begin < no_yields_until_ || thread.tired();
  if (naps && thread.others_may_ask && waiting_.sleep(thread, lock_)) return;
  {
    Unlocked unlocked(*this);
    if (naps)
      rest(rest_that_sleeps + thread.naps++);
    else
      WaitingThreads::yield(thread, lock_);
  }
  // Another thread may have polled meanwhile.
  const Nanoseconds from = std::max(begin, now_);
  now_ = environment_.clock->now();
  for (Transport* channel : environment_.channels->channels()) channel->note_pause(now_ - from);
  if (!naps && now_ - from >= long_yield) note_long_yield();
}

// Nobody yields for a while; for longer, if that was no exception.
void MpiProcess::note_long_yield() {
  constexpr Nanoseconds at_first = 2 * millisecond, longest = 1 * second;
  const bool again = now_ - no_yields_until_ < time_without_yields_;
  time_without_yields_ = again ? std::min(longest, 2 * time_without_yields_) : at_first;
  no_yields_until_ = now_ + time_without_yields_;
}

const RailCounters* MpiProcess::rail_counters() {
  if (!connected_ || environment_.rails == nullptr) return nullptr;
  tell_interrupts();
  return &environment_.rails->counters();
}

void MpiProcess::tell_interrupts() {
  if (environment_.rails == nullptr) return;
  environment_.rails->attendance().note_interrupts(stand_in_state_.interrupts_useful(),
                                                   stand_in_state_.interrupts_useless(),
                                                   stand_in_state_.interrupts_suppressed());
}

std::string MpiProcess::describe_waiting() const {
  constexpr int shown = 4;
  std::string text = *function() != 0 ? function() : "no MPI function";
  int pending = 0;
  point_to_point_.for_each_pending([&](const MessageRequest& request) {
    if (++pending <= shown) text += (pending == 1 ? ": " : "; ") + describe(request);
  });
  if (pending > shown) text += fmt::format("; and {} more", pending - shown);
  const std::int64_t unexpected = point_to_point_.counters().unexpected;
  if (unexpected > 0) text += fmt::format(" ({} messages came that no receive wanted)", unexpected);
  return text;
}

void MpiProcess::begin_stand_in() {
  if (may_stand_in_ || !environment_.interrupts || polled_channels_.empty()) return;
  if (environment_.has_threads)
    progress_thread_ = ProgressThread::start(*this, stand_in_state_, polled_channels_, *environment_.clock);
  may_stand_in_ = progress_thread_ != nullptr || environment_.stands_in;
  if (may_stand_in_) noted_bytes_ = 0;
}

// Nobody moves anything before the next call: what found its message begins now, if that is worth it;
// in a pass always, for it may be the last one of a call.
void MpiProcess::begin_early(bool in_pass) {
  if (environment_.rails == nullptr || !environment_.rails->attendance().wants_transfers()) return;
  now_ = environment_.clock->now();
  began_ = true;
  if (in_pass || early_begin_.begins(now_)) environment_.rails->attendance().begin_transfers(now_);
}

void MpiProcess::begin_and_arm() {
  stand_in_state_.on_begun(now());
  if (!stand_in_state_.computes()) return stand_in_state_.leave_out();
  if (environment_.rails != nullptr) environment_.rails->attendance().begin_transfers();
  arm_for_stand_in();
}

void MpiProcess::begin_small() {
  stand_in_state_.on_begun(now());
  if (stand_in_state_.computes_long() && !stand_in_state_.armed() && !stand_in_state_.in_vain())
    arm_for_stand_in();
}

// Unless they are armed, or interrupts were of no use lately. That counts from the last pass, because reading
// the clock would cost small operations a good part of their time.
void MpiProcess::arm_for_stand_in() {
  const bool stale = std::ranges::any_of(
      polled_channels_, [](const Transport* channel) { return channel->awaits_more_than_armed(); });
  if (stand_in_state_.armed() ? !stale : !stand_in_state_.expect(now_)) return;
  bool armed = true;
  if (environment_.rails != nullptr) environment_.rails->attendance().begin_turn(ProgramState::begins);
  for (int passes = passes_at_end; passes > 0 && arm_and_look(armed, passes);) {
  }
  if (environment_.rails != nullptr) environment_.rails->attendance().end_turn();
}

}  // namespace hawser
