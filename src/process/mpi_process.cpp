#include "process/mpi_process.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/machine.h"
#include "base/out_of_memory.h"
#include "base/rest.h"
#include "channel/shared_memory_channel.h"
#include "launch/background_fence.h"
#include "message/describe.h"
#include "mpi/failure.h"
#include "process/counter_report.h"
#include "process/message_lanes.h"
#include "process/process_slot.h"
#include "process/progress_thread.h"
#include "process/start_stop.h"
#include "rails/rail_channel.h"
#include "window/window_operation.h"

namespace hawser {

namespace {
constexpr std::uint32_t world_context = 0;
constexpr std::uint32_t self_context = contexts_per_communicator;
constexpr std::size_t reserve_bytes = 64 * 1024;
}  // namespace

MpiProcess::MpiProcess(ProcessSlot& slot, Environment& environment)
    : slot_(slot),
      environment_(environment),
      knobs_(*environment.knobs),
      point_to_point_(handles_.requests),
      attribute_calls_(*this),
      main_thread_(current_thread()),
      reserve_(std::make_unique_for_overwrite<std::byte[]>(reserve_bytes)) {
  point_to_point_.set_progress(*this);
  make_predefined_objects();
}

MpiProcess::~MpiProcess() { handles_.release_all(); }

// Predefined objects that need no connection: they may be used before MPI_Init.
void MpiProcess::make_predefined_objects() {
  errors_are_fatal_ = make_counted<ErrorHandler>(ErrorHandler::Kind::are_fatal);
  errors_abort_ = make_counted<ErrorHandler>(ErrorHandler::Kind::abort);
  errors_return_ = make_counted<ErrorHandler>(ErrorHandler::Kind::returns);
  handles_.error_handlers.place(1, *errors_are_fatal_);
  handles_.error_handlers.place(2, *errors_abort_);
  handles_.error_handlers.place(3, *errors_return_);

  empty_group_ = make_counted<Group>(0, 1, 0);
  handles_.groups.place(1, *empty_group_);
  environment_info_ = make_counted<Info>();
  handles_.infos.place(1, *environment_info_);
  describe_program();

  for (std::size_t i = 0; i < PredefinedTypes::size(); ++i) {
    if (predefined_type_numbers[i] != 0)
      handles_.datatypes.place(predefined_type_numbers[i] - datatype_range.first, types_.at(i));
  }
  for (std::size_t i = 0; i < PredefinedOperators::size(); ++i) {
    handles_.operators.place(predefined_operator_numbers[i] - operator_range.first, operators_.at(i));
  }
}

void MpiProcess::make_predefined_communicators() {
  auto everyone = make_counted<Group>(0, 1, size_);
  world_ = make_counted<Communicator>(everyone, rank_, world_context);
  world_->name = "MPI_COMM_WORLD";
  auto only_self = make_counted<Group>(rank_, 1, 1);
  self_ = make_counted<Communicator>(only_self, 0, self_context);
  self_->name = "MPI_COMM_SELF";
  for (Communicator* communicator : {world_.get(), self_.get()}) {
    communicator->error_handler = errors_are_fatal_;
    collectives_.adopt_predefined(*communicator);
  }
}

void MpiProcess::show_world() {
  main_thread_ = current_thread();
  handles_.communicators.place(1, *world_);
  handles_.communicators.place(2, *self_);
}

// The communicators are there as long as the process is in the job, because sessions stand on them.
void MpiProcess::hide_world() {
  handles_.communicators.remove_predefined(1);
  handles_.communicators.remove_predefined(2);
  for (Communicator* communicator : {world_.get(), self_.get()})
    if (communicator != nullptr) communicator->error_handler = errors_are_fatal_;
}

// What MPI_INFO_ENV says of how the program was started (MPI-5.0 section 11.2.1).
void MpiProcess::describe_program() {
  const ProgramFacts facts = environment_.host->program();
  std::string arguments;
  for (std::size_t i = 1; i < facts.command_line.size(); ++i)
    arguments += (i == 1 ? "" : " ") + facts.command_line[i];
  const std::pair<const char*, std::string> entries[] = {
      {"command", facts.command_line.empty() ? std::string() : facts.command_line.front()},
      {"argv", arguments},
      {"host", environment_.host->processor_name()},
      {"arch", facts.architecture},
      {"wdir", facts.working_directory},
  };
  for (const auto& [key, value] : entries) {
    if (value.empty()) continue;
    const Result<> set = environment_info_->set(key, std::string_view(value).substr(0, max_info_value));
    HAWSER_ASSERT(set);  // the keys are short, and so are the values now
  }
  program_info_ = environment_info_->duplicate();
}

void MpiProcess::describe_job() {
  for (const char* key : {"maxprocs", "soft"}) {
    const Result<> set = environment_info_->set(key, std::to_string(size_));
    HAWSER_ASSERT(set);
  }
}

// --- Starting and finishing ---

Result<> MpiProcess::start(int thread_level) {
  if (is_copy_)
    return failure(ErrorClass::other,
                   "this process was forked by rank {}; only the rank itself can be part of the job", rank_);
  const bool joins = !connected_;
  if (joins) HAWSER_TRY(connect());
  connected_ = true;
  if (starts_ == 0 || thread_level > thread_level_) thread_level_ = thread_level;
  if (thread_level == thread_multiple && environment_.has_threads) {
    lock_.enable();
    // Later, others may know already that there are none.
    if (joins) open_lanes();
  }
  if (joins && shared_memory_ != nullptr)
    shared_memory_->load().own_block().lanes.store(lanes_ == nullptr ? 1 : lanes_->count() + 1,
                                                   std::memory_order_release);
  ++starts_;
  slot_.set_running(this);
  begin_stand_in();
  return {};
}

void MpiProcess::finish() {
  HAWSER_ASSERT(starts_ > 0);
  if (starts_ == 1) {
    flush();
    slot_.set_running(nullptr);
  }
  --starts_;
}

Result<> MpiProcess::leave() {
  if (!connected_ || starts_ > 0) return {};
  progress_thread_.reset();
  tell_interrupts();
  for (Transport* channel : polled_channels_) channel->set_alarm(nullptr);
  slot_.set_running(this);  // reports of who waits look here
  if (knobs_.stats)
    for (const std::string& line : counter_report(*this))
      environment_.host->print(fmt::format("hawser: rank {}: {}", rank_, line));
  may_stand_in_ = false;
  noted_bytes_ = expected_bytes;
  Result<> left = disconnect();
  slot_.set_running(nullptr);
  connected_ = false;
  return left;
}

void MpiProcess::become_copy() {
  if (!connected_) return;
  is_copy_ = true;
  connected_ = false;
  slot_.set_running(nullptr);
  lock_.forget();
  if (progress_thread_ != nullptr) progress_thread_->forget();
  environment_.forget();
}

Result<> MpiProcess::connect() {
  const Nanoseconds begin = environment_.clock->now();
  HAWSER_TRY(environment_.join());
  const JobLayout& layout = environment_.bootstrap->layout();
  rank_ = layout.rank;
  waiting_.open(rank_);
  size_ = layout.size;
  main_thread_ = current_thread();
  shared_memory_ = environment_.channels->shared_memory();
  polled_channels_.clear();
  for (Transport* channel : environment_.channels->channels())
    if (channel != shared_memory_) polled_channels_.push_back(channel);
  environment_.host->call_in_children(&become_copy_in_child);
  processes_ = {};
  for (const std::int32_t node : layout.node_of_rank) processes_.add({node});
  point_to_point_.connect(lane_, rank_, processes_, *environment_.channels,
                          UnexpectedBounds::of(knobs_.unexpected_bytes, size_));
  lane_.at_bad_packet([this](const std::string& what) {
    abort(static_cast<int>(ErrorClass::other), fmt::format("{}: {}", function(), what));
  });
  lane_.at_notice([this](const std::string& text) {
    environment_.host->print(fmt::format("hawser: rank {}: {}", rank_, text));
  });
  HAWSER_TRY(collectives_.open(rank_, processes_, knobs(), environment_.channels->areas()));
  collectives_.expect_areas(environment_.channels->area_bytes_everywhere());
  collectives_.use_multicast(lane_, *environment_.channels);
  collectives_.use_links(*environment_.channels);
  windows_.open(lane_, rank_, *environment_.channels, environment_.channels->neighbours());
  survival_.open(lane_, *environment_.channels, rank_);
  survives_ = environment_.bootstrap->survives();
  now_ = environment_.clock->now();
  predefined_attributes_.set(layout);
  describe_job();
  make_predefined_communicators();
  time_to_join_ = now_ - begin;
  return {};
}

void MpiProcess::open_lanes() {
  // Who goes on without a process that failed would have to end what waits for it on lanes, too.
  if (survives_) return;
  const ProgressPlace& place = environment_.progress_place;
  const int wanted = parse_lanes(knobs_.thread_lanes).value();
  // As many as there is room for: the fewer of a program's communicators share one, the better.
  int count = wanted >= 0 ? wanted : place.cores >= 2 * place.processes ? most_lanes : 0;
  const SharedSegment* const segment =
      shared_memory_ == nullptr ? nullptr : &shared_memory_->load().segment();
  if (segment != nullptr) count = std::min(count, segment->layout().lanes);
  if (count == 0) return;
  MessageLane::Place lane_place{.self = rank_,
                                .processes = processes_,
                                .segment = segment,
                                .place = segment == nullptr ? 0 : shared_memory_->place_of(rank_),
                                .neighbours = {},
                                .knobs = knobs_,
                                .bounds = UnexpectedBounds::of(knobs_.unexpected_bytes / (count + 1), size_),
                                .own = point_to_point_};
  for (ProcessIndex process = 0; segment != nullptr && process < size_; ++process)
    if (shared_memory_->place_of(process) >= 0) lane_place.neighbours.push_back(process);
  lanes_ = std::make_unique<MessageLanes>(count, lane_place, shared_memory_, handles_, lock_, *this);
  lanes_->at_bad_packet([this](const std::string& what) {
    abort(static_cast<int>(ErrorClass::other), fmt::format("{}: {}", function(), what));
  });
  collectives_.at_context_release([this](std::uint32_t context) {
    if (lanes_ != nullptr) lanes_->release_context(context);
  });
  survival_.at_revocation([this](const Communicator& communicator) {
    if (lanes_ != nullptr) lanes_->revoke(communicator);
  });
}

Result<> MpiProcess::disconnect() {
  // Said first: what is under way in such a window may never end.
  if (const std::string windows = windows_.describe_unfreed(); !windows.empty())
    environment_.host->print(fmt::format(
        "hawser: rank {}: the program ends MPI without MPI_Win_free of {}, which MPI calls erroneous", rank_,
        windows));
  wait_until([this] { return collectives_.end_area_parts(); });
  HAWSER_TRY(synchronize_all());
  windows_.close();
  survival_.close();
  collectives_.close();
  error_origin_ = {};
  if (lanes_ != nullptr) lanes_->close();
  lanes_.reset();
  self_ = nullptr;
  world_ = nullptr;
  point_to_point_.disconnect();
  shared_memory_ = nullptr;
  polled_channels_.clear();
  return environment_.leave();
}

// Ends when nothing that this process sent is still in its hands.
void MpiProcess::flush() {
  wait_until([this] {
    if (!point_to_point_.flushed() || !windows_.flushed() || !survival_.flushed()) return false;
    if (lanes_ != nullptr && !lanes_->flushed()) return false;
    for (const Transport* channel : environment_.channels->channels())
      if (!channel->flushed()) return false;
    return true;
  });
}

// Ends when every process of the job has come here and nothing that this one sent is still in its hands, so
// that a process may go away without anyone missing it. A dissemination barrier in a context of its own.
Result<> MpiProcess::synchronize_all() {
  flush();
  if (survives_) return meet_at_launcher();
  const std::uint32_t context = world_context + contexts_per_communicator - 1;
  for (int distance = 1, round = 0; distance < size_; distance *= 2, ++round) {
    const int to = static_cast<int>((std::int64_t{rank_} + distance) % size_);
    const int from = static_cast<int>((std::int64_t{rank_} - distance + size_) % size_);
    MessageRequest& receive = point_to_point_.ireceive({context, from, round}, {});
    MessageRequest& send =
        point_to_point_.isend(SendMode::standard, {to, context, rank_, round, TrafficClass::collective}, {});
    wait_until([&] { return send.complete && receive.complete; });
    point_to_point_.release(send);
    point_to_point_.release(receive);
  }
  flush();
  return {};
}

// The same where processes may fail: the launcher knows whom not to wait for. Meanwhile others may need what
// this process has.
Result<> MpiProcess::meet_at_launcher() {
  BackgroundFence fence(*environment_.bootstrap);
  for (std::uint32_t idle_passes = 0; !fence.done();) {
    if (make_progress())
      idle_passes = 0;
    else if (environment_.has_threads)
      rest(idle_passes++);
    else
      environment_.channels->waiter().idle(idle_passes++);
  }
  return fence.result();
}

// --- Errors ---

void MpiProcess::set_error_origin(const Request& request) {
  if (request.kind == Request::Kind::window)
    error_origin_.window = static_cast<const WindowRequest&>(request).window;
  else
    error_origin_.communicator = Ref<Communicator>(static_cast<Communicator*>(owner_of(request)));
}

// --- Messages, on lanes or not ---

PointToPoint& MpiProcess::messages_of(const Communicator& communicator) {
  if (!communicator.lane_member()) return point_to_point_;
  lanes_->hold(communicator.lane_member()->lane);
  return communicator.lane_member()->lane.messages();
}

MatchingCounters MpiProcess::matching_counters() {
  MatchingCounters sum = point_to_point_.counters();
  if (lanes_ != nullptr) sum.add(lanes_->counters());
  return sum;
}

std::uint64_t MpiProcess::pending_requests() {
  std::uint64_t pending = 0;
  const auto count = [&](const MessageRequest&) { ++pending; };
  point_to_point_.for_each_pending(count);
  if (lanes_ != nullptr) lanes_->for_each_pending(count);
  return pending;
}

RequestTable& MpiProcess::requests_of(const Request& request) {
  return request.lane == 0 ? handles_.requests : lanes_->lane(request.lane)->requests();
}

int MpiProcess::report(const AbiObject& object, const char* function, const Error& error) {
  Ref<ErrorHandler> handler;
  if (object.communicator != nullptr) {
    handler = object.communicator->error_handler;
  } else if (object.session != nullptr) {
    handler = object.session->error_handler;
  } else if (object.window != nullptr) {
    handler = object.window->error_handler;
  } else if (self_) {
    // Errors that belong to no object go to MPI_COMM_SELF (MPI-5.0 section 9.3). Before MPI-4 that was
    // MPI_COMM_WORLD, and programs that set a handler only there want to hear of them.
    const bool untouched = self_->error_handler->kind == ErrorHandler::Kind::are_fatal;
    handler = untouched ? world_->error_handler : self_->error_handler;
  }
  return report_to(handler, object, function, error);
}

int MpiProcess::report_to(const Ref<ErrorHandler>& handler, const AbiObject& object, const char* function,
                          const Error& error) {
  const int code = static_cast<int>(error_class_of(error));
  const ErrorHandler::Kind kind = handler ? handler->kind : ErrorHandler::Kind::are_fatal;
  switch (kind) {
    case ErrorHandler::Kind::returns:
      return code;
    case ErrorHandler::Kind::user: {
      Unlocked unlocked(*this);
      hooks_->report_error(*this, handler->function, object, code);
      return code;
    }
    case ErrorHandler::Kind::are_fatal:
    case ErrorHandler::Kind::abort: {
      const auto known = error_codes_.class_of(code);  // functions of the program may return any number
      const int error_class = known ? known.value() : static_cast<int>(ErrorClass::other);
      const bool lost = error_class == static_cast<int>(ErrorClass::proc_failed);
      const std::string cause = lost ? await_cause_of_loss() : "";
      // Exit codes above 127 would tell of signals.
      const bool is_exit_code = code > 0 && code <= 127;
      abort(is_exit_code ? code : static_cast<int>(ErrorClass::other),
            fmt::format("{}: {} (error class {}){}", function, error.text, error_class, cause));
    }
  }
  HAWSER_UNREACHABLE();
}

void MpiProcess::say_missing(const char* function) {
  for (const char* said : missing_functions_called_)
    if (std::string_view(said) == function) return;
  missing_functions_called_.push_back(function);
  environment_.host->print(
      fmt::format("hawser: rank {}: {}: Hawser does not implement this function yet, and the program goes on "
                  "after the error (see `hawser info --missing`)",
                  rank_, function));
}

void MpiProcess::out_of_memory(const char* function, const std::bad_alloc& error) {
  reserve_.reset();
  const auto* known = dynamic_cast<const OutOfMemory*>(&error);
  const std::string wanted =
      known != nullptr ? fmt::format(" of {} bytes for {}", known->bytes(), known->what()) : "";
  abort(static_cast<int>(ErrorClass::no_mem),
        fmt::format(
            "{}: out of memory: an allocation{} failed. The process has {} MB of address space; {} bytes of "
            "it are messages that no receive has asked for (HAWSER_UNEXPECTED_BYTES bounds them)",
            function, wanted, address_space_in_use() >> 20, point_to_point_.counters().unexpected_bytes));
}

void MpiProcess::abort(int exit_code, std::string_view reason) {
  if (is_copy_) {
    environment_.host->print(fmt::format("hawser: process forked by rank {}: {}", rank_, reason));
    environment_.host->exit(exit_code);
  }
  Bootstrap* bootstrap = environment_.bootstrap;
  if (bootstrap == nullptr || !bootstrap->shows_reason())
    environment_.host->print(fmt::format("hawser: rank {}: {}", rank_, reason));
  if (bootstrap != nullptr) bootstrap->abort(exit_code, reason);
  environment_.host->exit(exit_code);
  HAWSER_UNREACHABLE();  // devirtualized or not, the compiler cannot see that exit does not return
}

}  // namespace hawser
