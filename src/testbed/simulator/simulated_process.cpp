#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/assert.h"
#include "message/message_header.h"
#include "process/start_stop.h"
#include "testbed/simulator/simulated_job.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace hawser {
namespace {

// A loop that only reads the clock must see time pass; the library's own readings, a few between two
// passes, cost nothing.
constexpr std::uint32_t free_clock_reads = 8;
constexpr Nanoseconds clock_read_cost = 20;

// When all messages are over, only the protocol's own packets come; of the message room, the last report of
// memory for unexpected messages (message/eager_window.h), which its peer may have asked for in the last
// barrier; of the collectives, what others say at the end of a communicator or of their multicast packets;
// and what an agreement tells those that know: nobody waits for these here any more.
class NothingArrives final : public TransportEvents {
 public:
  void on_packet(ProcessIndex, const TransportHeader& header, const std::byte*, std::int64_t size) override {
    const bool end = header.traffic == TrafficClass::collective && size == 0;
    HAWSER_ASSERT(end || header.handler == HandlerId::collective ||
                  header.handler == HandlerId::process_management ||
                  MessageHeader::of(header).kind == MessageHeader::Kind::report);
  }
  void on_offer(ProcessIndex, const TransportHeader&, const ExposeToken&, std::int64_t) override {
    HAWSER_UNREACHABLE();
  }
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) override {
    HAWSER_UNREACHABLE();
  }
  void on_bad_packet(ProcessIndex, std::string) override { HAWSER_UNREACHABLE(); }
};

}  // namespace

SimulatedProcess::SimulatedProcess(SimulatedJob& job, int rank, const Simulation::Body& body)
    : job_(job),
      slot_(std::make_unique<ProcessSlot>()),
      channel_(job.network_.add_channel(*this)),
      fiber_([this, &body] { run_body(body); }, job.options_.stack_bytes) {
  channel_pointers_[0] = &channel_;
  layout_.rank = rank;
  layout_.size = job.options_.ranks;
  layout_.universe_size = layout_.size;
  layout_.job_id = "simulation";
  layout_.node_of_rank = job.node_of_rank();
  clock = this;
  host = this;
  knobs = &job.knobs_;
  seed = job.options_.seed + static_cast<std::uint64_t>(rank);
  has_threads = false;
  stands_in = job.fabric_ != nullptr;
  if (job.fabric_) {
    platform_ = std::make_unique<SimulatedPlatform>(
        job.fabric_->fabric(), job.fabric_->host_of(rank), static_cast<fabric::SpaceId>(rank), *this,
        static_cast<DeviceUser&>(*this), job.fabric_->options(), job.queue_memory_);
  }
  slot_->environment = this;
}

SimulatedProcess::~SimulatedProcess() {
  if (!slot_) return;
  // What the library's destructors do, they do as this rank.
  ProcessSlot* const former = switch_slot(slot_.get());
  slot_.reset();
  switch_slot(former);
}

// --- Running ---

void SimulatedProcess::run_body(const Simulation::Body& body) {
  job_.trace_.record(job_.queue_.now(), TraceKind::start, rank(), 0, 0);
  std::string complaint;
  try {
    body(*this);
    const Result<> left = leave_job(*slot_);
    if (!left) complaint = left.error().text;
    if (slot_->running != nullptr) complaint = "returned without MPI_Finalize";
  } catch (const std::exception& exception) {
    complaint = fmt::format("ended with an exception: {}", exception.what());
  } catch (...) {
    complaint = "ended with an exception";
  }
  state_ = State::over;
  job_.last_finish_ = std::max(job_.last_finish_, local_time());
  job_.trace_.record(local_time(), TraceKind::finish, rank(), 0, 0);
  if (!complaint.empty())
    job_.end(SimulationOutcome::Kind::exception, fmt::format("rank {} {}", rank(), complaint));
}

void SimulatedProcess::make_ready() {
  state_ = State::ready;
  job_.queue_.schedule(ready_event_, local_time());
}

void SimulatedProcess::go_on(Nanoseconds) {
  RankProcesses* const processes = job_.options_.processes;
  if (processes == nullptr) return run_until_parked();
  const std::optional<int> ended = processes->resume(rank(), [this] { run_until_parked(); });
  if (ended) process_ended(*ended);
}

// Without a word: killed, or by a system call of its own.
void SimulatedProcess::process_ended(int status) {
  const bool killed = WIFSIGNALED(status);
  const int number = killed ? WTERMSIG(status) : WEXITSTATUS(status);
  if (!job_.over_) job_.outcome_.exit_code = killed ? 128 + number : number;
  state_ = State::over;
  job_.end(SimulationOutcome::Kind::aborted,
           fmt::format("the process of rank {} {} {}", rank(), killed ? "died of signal" : "ended with code",
                       number));
}

void SimulatedProcess::run_until_parked() {
  ProcessSlot* const former = switch_slot(slot_.get());
  SimulatedPlatform* const former_platform = SimulatedPlatform::switch_to(platform_.get());
  RankSwitch* const rank_switch = job_.options_.rank_switch;
  if (rank_switch != nullptr) rank_switch->enter(rank());
  fiber_.resume();
  if (rank_switch != nullptr) rank_switch->leave(rank());
  SimulatedPlatform::switch_to(former_platform);
  switch_slot(former);
}

void SimulatedProcess::park(State state) {
  state_ = state;
  passes_in_vain_ = 0;
  clock_reads_ = 0;
  fiber_.suspend();
}

void SimulatedProcess::abandon() {
  if (killed_ || (fiber_.finished() && slot_->running == nullptr)) return;
  vanish();
}

// It may be in the middle of anything, so that no destructor may run: its requests and messages point into a
// stack that will not be unwound, and the rails may be halfway through a call. What it has stays where it is,
// but what the adapters keep for it goes, as by the kernel.
void SimulatedProcess::vanish() {
  job_.queue_.cancel(ready_event_);
  job_.queue_.cancel(alarm_);
  if (platform_ != nullptr) platform_->sever();
  if (NodePorts* const ports = job_.ports_of(rank()); ports != nullptr) forget_port_user(*ports, rank());
#if defined(__SANITIZE_ADDRESS__)
  __lsan_ignore_object(slot_.get());
  __lsan_ignore_object(rails_.get());
#endif
  (void)slot_.release();
  (void)rails_.release();
}

// --- SimulatedRank and SimulatedProcessor ---

Nanoseconds SimulatedProcess::local_time() const { return std::max(own_time_, job_.queue_.now()); }

Nanoseconds SimulatedProcess::now() {
  if (++clock_reads_ > free_clock_reads) charge(clock_read_cost);
  return local_time();
}

void SimulatedProcess::compute(Nanoseconds duration) {
  HAWSER_ASSERT(duration >= 0);
  if (!has_stand_in()) {
    charge(duration);
    outside_ = true;
    catch_up();
    outside_ = false;
    return;
  }
  expect_turn();
  for (Nanoseconds left = duration; left > 0;) {
    left -= compute_until_turn(left);
    if (turn_at_ <= local_time()) take_turn();
  }
  catch_up();
}

void SimulatedProcess::sleep(Nanoseconds duration) {
  if (!has_stand_in()) return compute(duration);
  expect_turn();
  for (const Nanoseconds end = local_time() + duration; local_time() < end;) {
    compute_until_turn(end - local_time());
    if (turn_at_ <= local_time()) take_turn();
  }
  catch_up();
}

// One that was due during a call of MPI found the rank there.
void SimulatedProcess::expect_turn() {
  clock_reads_ = 0;
  if (std::exchange(interrupted_, false)) slot_->running->end_interrupted_call();
  const Nanoseconds now = local_time();
  if (turn_at_ > now) return;
  turn_at_ = now + slot_->running->stand_in_state().on_inside(false, now, true);
}

bool SimulatedProcess::has_stand_in() const {
  const MpiProcess* const process = slot_->running;
  return rails_ != nullptr && process != nullptr && interrupts && process->function()[0] == 0 &&
         fiber_.running();
}

// How long it computed.
Nanoseconds SimulatedProcess::compute_until_turn(Nanoseconds most) {
  const Nanoseconds begin = local_time();
  const Nanoseconds until = std::min(begin + most, std::max(turn_at_, begin));
  if (until > begin) {
    if (slot_->running->stand_in_state().armed()) job_.outcome_.overslept += platform_->overslept();
    state_ = State::computes;
    job_.queue_.schedule(ready_event_, until);
    fiber_.suspend();
    state_ = State::ready;
  }
  own_time_ = std::max(begin, job_.queue_.now());
  return own_time_ - begin;
}

void SimulatedProcess::take_turn() {
  turn_at_ = never;
  charge(job_.fabric_->options().cost.interrupt);
  StandIn& state = slot_->running->stand_in_state();
  const bool by_interrupt = std::exchange(by_interrupt_, false);
  if (!state.on_outside(by_interrupt, local_time())) {
    turn_at_ = local_time() + state.pause();
    return;
  }
  Nanoseconds deadline = never;
  const bool arms = slot_->running->wants_interrupts();
  state.on_turn(by_interrupt, slot_->running->stand_in(arms, deadline, *this), arms);
  turn_at_ = std::min(turn_at_, deadline);
}

void SimulatedProcess::on_interrupt() {
  if (slot_->running == nullptr) return;
  StandIn& state = slot_->running->stand_in_state();
  state.on_interrupt();
  turn_at_ = job_.queue_.now();
  if (state_ != State::computes) {
    interrupted_ = true;
    own_time_ = std::max(own_time_, turn_at_) + job_.fabric_->options().cost.interrupt;
    turn_at_ += state.on_inside(true, turn_at_, true);
    return;
  }
  by_interrupt_ = true;
  job_.queue_.cancel(ready_event_);
  job_.queue_.schedule(ready_event_, turn_at_);
}

void SimulatedProcess::catch_up() {
  clock_reads_ = 0;
  if (own_time_ <= job_.queue_.now()) return;
  if (!fiber_.running()) return;  // the job is over; the rank's objects go away
  if (job_.queue_.next_time() > own_time_ && own_time_ <= job_.options_.time_limit) {
    job_.queue_.advance_to(own_time_);
    return;
  }
  job_.queue_.schedule(ready_event_, own_time_);
  fiber_.suspend();
}

void SimulatedProcess::notify() {
  passes_in_vain_ = 0;
  if (state_ == State::idle)
    make_ready();
  else
    came_while_awake_ = true;
}

int SimulatedProcess::place_of(ProcessIndex process) const {
  const auto node_of = [this](int rank) { return layout_.node_of_rank[static_cast<std::size_t>(rank)]; };
  return node_of(process) == node_of(rank()) ? process : -1;
}

void SimulatedProcess::wake(int place) {
  SimulatedProcess& neighbour = *job_.processes_[static_cast<std::size_t>(place)];
  if (neighbour.state_ == State::idle)
    neighbour.make_ready();
  else
    neighbour.woken_ = true;
}

void SimulatedProcess::on_completion() {
  if (state_ == State::computes || outside_) {
    missed_cost_ += job_.fabric_->options().cost.completion;
    return;
  }
  own_time_ = std::max(own_time_, job_.queue_.now()) + job_.fabric_->options().cost.completion;
  notify();
}

// A pass that is followed by no rest: only a program that calls nothing but immediate functions makes many.
void SimulatedProcess::polled_in_vain() {
  if (++passes_in_vain_ > 1) between_tests();
}

// The next pass lets the others run until this rank's own time.
void SimulatedProcess::between_tests() {
  passes_in_vain_ = 0;
  charge(job_.options_.model.empty_poll);
  job_.vain_polls_ = job_.nothing_on_the_way() ? job_.vain_polls_ + 1 : 0;
  if (job_.vain_polls_ > job_.options_.vain_polls) {
    job_.end(SimulationOutcome::Kind::livelock, fmt::format("rank {} is the last that polled", rank()));
    park(State::ready);
  }
}

// --- Environment ---

Result<> SimulatedProcess::join() {
  bootstrap = this;
  Environment::channels = this;
  interrupts = knobs->progress == "interrupt";
  tell_address({});                    // what it told before it began again is over
  if (job_.area_memory_ != nullptr) {  // also if the knob is "off": reductions take their time
    job_.area_memory_->clear(layout_.rank);
    Neighbours& node = *this;
    areas_ = std::make_unique<SimulatedAreas>(*job_.area_memory_, *this, node, *job_.options_.areas,
                                              knobs->shm_areas, knobs->shm_area_bytes);
  }
  if (platform_ != nullptr) HAWSER_TRY(open_rails());
  HAWSER_TRY(fence());
  if (rails_ != nullptr) rails_->rails().attendance().use_rates(job_.rates_);
  return {};
}

Result<> SimulatedProcess::open_rails() {
  const auto& nodes = layout_.node_of_rank;
  const auto processes_here =
      static_cast<std::int32_t>(std::ranges::count(nodes, nodes[static_cast<std::size_t>(layout_.rank)]));
  const RailSettings settings{.self = layout_.rank,
                              .job_size = layout_.size,
                              .processes_here = processes_here,
                              .job_id = layout_.job_id,
                              .secret = {seed, ~seed},
                              .walk_every = 32,
                              .restless_paths = job_.options_.restless_paths,
                              .bundles_behind = job_.options_.bundles_behind,
                              .peer_rest = job_.options_.peer_rest,
                              .clock = clock};
  auto opened = SimulatedRails::open(settings, *this, *knobs, seed, *this);
  if (!opened) return opened.take_error();
  rails_ = std::move(opened).value();
  if (NodePorts* const ports = job_.ports_of(rank()); ports != nullptr)
    rails_->rails().share_ports(*ports, rank());
  channel_pointers_[1] = rails_.get();
  Environment::rails = &rails_->rails();
  Environment::rail_status = &rails_->status();
  const LinkRates rates = rails_->rails().link_rates();
  const std::int64_t packet = job_.rates_.packet;
  if (layout_.rank == 0) job_.rates_ = rates;
  job_.rates_.packet = packet > 0 ? std::min(packet, rates.packet) : rates.packet;
  return rails_->rails().publish();
}

LinkRates SimulatedProcess::link_rates() { return job_.rates_; }
DistancesSeen SimulatedProcess::rail_distances() {
  return rails_ == nullptr ? DistancesSeen{} : distances_of(rails_->rails());
}

// What is still on its way may be what the counters differ by, for a moment.
void SimulatedProcess::agree(TransportEvents& events) {
  state_of_leave_ = StateOfLeave::disagrees;
  while (!job_.disagreement(*this).empty()) {
    rails_->progress(events, local_time());
    compute(millisecond);
  }
}

// Until all want to leave the protocol goes on: a peer may still have to ask what arrived here before it
// knows that it is done. Then everything comes to rest, and only when that is so everywhere adapters go away.
void SimulatedProcess::close_rails() {
  NothingArrives events;
  const auto progress_until = [&](auto&& done) {
    while (!done())
      if (!rails_->progress(events, local_time())) idle(0);
  };
  const auto all_have_come = [&](int step) { return job_.launcher_.all_have_come(step); };
  state_of_leave_ = StateOfLeave::waits_for_others;
  job_.launcher_.come_to_leave(*this);
  progress_until([&] { return all_have_come(1); });
  state_of_leave_ = StateOfLeave::comes_to_rest;
  progress_until([&] { return rails_->rails().quiescent(); });
  rails_->rails().check_invariants();
  state_of_leave_ = StateOfLeave::quiescent;
  job_.launcher_.come_to_leave(*this);
  progress_until([&] { return all_have_come(2); });
  // What others sent is theirs to look at.
  if (!job_.disagreement(*this).empty()) agree(events);
  job_.launcher_.come_to_leave(*this);
  progress_until([&] { return all_have_come(3); });
  job_.count(rails_->rails().counters());
  Environment::rails = nullptr;
  Environment::rail_status = nullptr;
  rails_.reset();
}

Result<> SimulatedProcess::leave() {
  if (rails_ != nullptr) close_rails();
  areas_.reset();
  bootstrap = nullptr;
  Environment::channels = nullptr;
  return {};
}

void SimulatedProcess::idle(std::uint32_t) {
  if (std::exchange(woken_, false)) return;
  if (!lost_.empty() && !in_fence_) return;  // to be taken in one of the next passes
  if (!channel_.inbox_empty()) return;
  if (platform_ == nullptr) {
    // A fence may have ended, or a rank may have failed.
    if (job_.launcher_.survives() && std::exchange(came_while_awake_, false)) return;
    return park(State::idle);
  }
  // A pass over adapters lets time go by, and with it others run: what came then was perhaps not seen.
  if (std::exchange(came_while_awake_, false)) return;
  Nanoseconds deadline = never;
  for (const Transport* channel : channels()) deadline = std::min(deadline, channel->deadline());
  if (deadline <= local_time()) {
    charge(job_.options_.model.empty_poll);
    return catch_up();
  }
  if (deadline != never) job_.queue_.schedule(alarm_, deadline);
  park(State::idle);
  job_.queue_.cancel(alarm_);
  came_while_awake_ = false;
}

std::string SimulatedProcess::host_name() const {
  return fmt::format("n{}", layout_.node_of_rank[static_cast<std::size_t>(rank())]);
}

void SimulatedProcess::print(std::string_view line) {
  job_.outcome_.output.push_back(fmt::format("[{}] {}", rank(), line));
}

void SimulatedProcess::exit(int code) {
  end_job(code, fmt::format("rank {} exited with code {}", rank(), code));
}

void SimulatedProcess::end_job(int code, std::string report) {
  if (!job_.over_) job_.outcome_.exit_code = code;
  job_.end(SimulationOutcome::Kind::aborted, std::move(report));
  park(State::over);
  HAWSER_UNREACHABLE();
}

// --- ChannelSet ---

Transport* SimulatedProcess::channel_of(ProcessIndex peer) {
  if (peer == rank()) return nullptr;
  const auto node = [&](int rank) { return layout_.node_of_rank[static_cast<std::size_t>(rank)]; };
  const bool over_rails =
      rails_ != nullptr && (node(peer) != node(rank()) || job_.fabric_->options().rails_within_host);
  return over_rails ? static_cast<Transport*>(rails_.get()) : &channel_;
}

std::string SimulatedProcess::describe() const {
  std::string text = fmt::format("rank {}: {}", layout_.rank, doing());
  if (rails_ == nullptr) return text;
  text += "\n";
  for (const char c : rails_->rails().describe())
    text += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return text.substr(0, text.find_last_not_of("\n ") + 1);
}

std::string SimulatedProcess::doing() const {
  if (in_fence_) return fmt::format("in the launcher's fence {}", fences_);
  if (rails_ != nullptr && state_of_leave_ != StateOfLeave::stays) {
    std::string why;
    const bool rests = rails_->rails().quiescent(&why);
    const char* const what =
        state_of_leave_ == StateOfLeave::waits_for_others ? "waits for the others to leave"
        : state_of_leave_ == StateOfLeave::disagrees      ? "leaves, but its counters are wrong"
        : state_of_leave_ == StateOfLeave::comes_to_rest  ? "comes to rest before it leaves"
                                                          : "was at rest and leaves";
    if (rests) why = job_.disagreement();
    return fmt::format("{}{}", what, why.empty() ? "" : ": " + why);
  }
  if (slot_->running == nullptr) return "outside MPI";
  return fmt::format("{} {}", state_ == State::ready ? "polls in" : "waits in",
                     slot_->running->describe_waiting());
}

}  // namespace hawser
