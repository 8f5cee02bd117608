// MpiProcess: all state of one rank (decision 1). It exists from the first MPI call that needs it; between
// start and finish it is connected to the job and messages can be sent. Owns nothing that is shared with
// other ranks, so any number of them live in one address space, one after the other or side by side.
//
// Threads: every member is used under lock(), except where said.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/process_lock.h"
#include "base/result.h"
#include "collective/engine.h"
#include "communicator/communicator.h"
#include "datatype/operator.h"
#include "datatype/predefined.h"
#include "message/direct_messages.h"
#include "message/point_to_point.h"
#include "message/progress.h"
#include "mpi_t/tool_interface.h"
#include "mpi_t/tool_source.h"
#include "process/abi_hooks.h"
#include "process/attribute_calls.h"
#include "process/early_begin.h"
#include "process/environment.h"
#include "process/error_codes.h"
#include "process/handles.h"
#include "process/predefined_attributes.h"
#include "process/stand_in.h"
#include "process/thread_level.h"
#include "process/waiting_threads.h"
#include "survival/survival.h"
#include "window/window_engine.h"

namespace hawser {

class MessageLanes;
class ProgressThread;
struct ProcessSlot;

// The object whose error handler must be called for an error. At most one is set.
struct ErrorOrigin {
  Ref<Communicator> communicator;
  Ref<Session> session;
  Ref<Window> window;
};

class MpiProcess final : public Progress, public ToolSource {
 public:
  MpiProcess(ProcessSlot& slot, Environment& environment);
  ~MpiProcess();

  // For MPI_Init and MPI_Session_init. Starts are counted; the first one joins the job, which is collective
  // over the job. Called with the lock held; may enable it (MPI_THREAD_MULTIPLE).
  Result<> start(int thread_level);
  // Undoes one start. The last one waits until the network has everything that was sent. The process stays
  // in the job, because processes need not open the same number of sessions.
  void finish();
  // Leaves the job if no start is left and the process is in the job; otherwise does nothing. Collective
  // over the job. For MPI_Finalize, and for the end of a program that used only sessions.
  Result<> leave();
  bool running() const { return starts_ > 0; }
  // Called in a child that the program forked: it has a copy of the rank's state but is not the rank. From
  // then on it does nothing in the job, and MPI calls are errors.
  void become_copy();
  bool is_copy() const { return is_copy_; }
  // MPI_COMM_WORLD and MPI_COMM_SELF are valid handles between these two calls (MPI_Init, MPI_Finalize).
  void show_world();
  void hide_world();

  // The lock that an entry point holds. It costs next to nothing unless thread_multiple was asked for.
  ProcessLock& lock() override { return lock_; }
  int thread_level() const { return thread_level_; }
  bool on_main_thread() const { return main_thread_ == current_thread(); }

  Environment& environment() { return environment_; }
  const Knobs& knobs() const { return knobs_; }
  Bootstrap& bootstrap() { return *environment_.bootstrap; }  // while running
  ChannelSet& channels() { return *environment_.channels; }   // while running
  // Those that this process knows; the first size() are MPI_COMM_WORLD's.
  const ProcessTable& processes() const { return processes_; }
  Nanoseconds now() { return environment_.clock->now(); }
  int rank() const { return rank_; }  // in MPI_COMM_WORLD
  int size() const { return size_; }

  Handles& handles() { return handles_; }
  // Of all communicators that are on no lane.
  PointToPoint& point_to_point() { return point_to_point_; }
  // The lanes for threads; null: there are none.
  MessageLanes* lanes() const { return lanes_.get(); }
  bool has_lanes() const { return lanes_ != nullptr; }
  // A communicator's, whose lane (if it is on one) is held from now on.
  PointToPoint& messages_of(const Communicator& communicator) override;
  MatchingCounters matching_counters() override;
  std::uint64_t pending_requests() override;
  // The table that knows a request.
  RequestTable& requests_of(const Request& request);
  PredefinedTypes& types() { return types_; }
  const PredefinedOperators& operators() const { return operators_; }
  KeyvalTable& keyvals() { return keyvals_; }
  CollectiveEngine& collectives() { return collectives_; }
  WindowEngine& windows() { return windows_; }
  Survival& survival() { return survival_; }
  ErrorCodes& error_codes() { return error_codes_; }
  PredefinedAttributes& predefined_attributes() { return predefined_attributes_; }
  Info& environment_info() { return *environment_info_; }  // MPI_INFO_ENV
  // The part of MPI_INFO_ENV that is known before MPI_Init; MPI_Info_create_env returns it at any time.
  Info& program_info() { return *program_info_; }
  AttributeCallbacks& attribute_callbacks() { return attribute_calls_; }
  ToolInterface& tool() { return tool_; }
  // The rails' counters; null where none are used, or while not in the job.
  const RailCounters* rail_counters() override;
  const RailStatus* rail_status() const { return connected_ ? environment_.rail_status : nullptr; }
  Nanoseconds time_to_join() const override { return time_to_join_; }
  const OneSidedCounters& one_sided_counters() const override { return one_sided_counters_; }
  OneSidedCounters& one_sided_counters() { return one_sided_counters_; }
  CollectiveCounters collective_counters() override;
  Communicator& world() { return *world_; }  // while running, also when only sessions are open
  Communicator& self() { return *self_; }    // the same
  // MPI_ERRORS_ARE_FATAL, which windows begin with.
  const Ref<ErrorHandler>& errors_are_fatal() const { return errors_are_fatal_; }

  // The functions of the ABI that the application was built for.
  const AbiHooks& hooks() const { return *hooks_; }
  // Threads may call functions of MPI at any time, so once they are set nothing is written.
  void set_hooks(const AbiHooks& hooks) {
    if (hooks_ != &hooks) hooks_ = &hooks;
  }

  // The function of MPI that the program called, for reports; empty if it is in none.
  const char* function() const { return lock_.holder() != nullptr ? lock_.holder() : ""; }
  // One line that says what the process waits for: the MPI function and its incomplete operations.
  std::string describe_waiting() const;

  // Progress
  bool make_progress() override;
  void wait_until(FunctionRef<bool()> done) override;
  void hand_over() override;
  // Waits until a request is complete. Unlike wait_until, it lets other threads wait without polling.
  void wait_for(Request& request);
  // The same for one of so many; other threads may call `any_complete`.
  void wait_for_any(FunctionRef<bool()> any_complete, std::size_t requests);
  // For a message that no request waits for (MPI_Probe).
  void wait_for_arrival(FunctionRef<bool()> has_come);
  // A turn of a stand-in (base/process_lock.h) while the program computes: does what others wait for, and
  // arms the channels for more of that. True if anything moved. `deadline`: when the next turn is due,
  // whatever comes; if never, `alarm` rings when that changes. Calls no function of the program's.
  bool stand_in(bool arms, Nanoseconds& deadline, DeadlineAlarm& alarm);
  // At the end of a call of MPI that a stand-in found the program in: what came since the call's last look.
  void end_interrupted_call();
  // Whether a turn of a stand-in arms the channels again.
  bool wants_interrupts() const;
  StandIn& stand_in_state() { return stand_in_state_; }
  // Whether there is a stand-in.
  bool moves_while_computing() const override { return may_stand_in_; }
  // Requests of so many bytes that a call leaves behind are of interest to others than their peers.
  std::int64_t noted_bytes() const { return noted_bytes_; }
  // Messages from this size on may need this process's software before their bytes move.
  static constexpr std::int64_t expected_bytes = 8192;
  // Something large began that the program does not wait for yet.
  void expect() override { may_stand_in_ ? begin_and_arm() : begin_early(false); }
  void expect_small() override {
    if (!may_stand_in_)
      begin_early(false);
    else if (stand_in_state_.notes_small())
      begin_small();
  }
  // One pass of progress for a call that does not wait (MPI_Test, MPI_Iprobe). Programs call these in loops,
  // so the process yields its core now and then if nothing moved.
  void poll_for_test();
  // At the end of a call that waits, tests or receives: the program may compute next.
  void let_messages_go() {
    if (environment_.rails != nullptr) send_bundles();
  }
  // For calls that programs make in loops and that mostly find nothing to wait for (MPI_Win_flush on memory
  // that is mapped): polls in some of them, so that others get what they want of this process meanwhile.
  void poll_now_and_then() {
    constexpr std::uint32_t calls_per_poll = 32;
    if (++calls_without_poll_ % calls_per_poll == 0) [[unlikely]]
      poll_for_test();
  }

  // The object whose error handler must be called for the error that a core function just returned, for
  // functions whose arguments do not say (wait and test). If it is empty, the error goes to the object among
  // the arguments, or else to MPI_COMM_SELF. Taking it resets it.
  ErrorOrigin take_error_origin() { return std::move(error_origin_); }
  void set_error_origin(const Ref<Counted>& communicator) {
    error_origin_.communicator = Ref<Communicator>(static_cast<Communicator*>(communicator.get()));
  }
  void set_error_origin(const Ref<Session>& session) { error_origin_.session = session; }
  // The object that a request belongs to.
  void set_error_origin(const Request& request);

  // Calls the error handler of the object and returns the code that the MPI function shall return.
  // `function` is the MPI name. Does not return if the error is fatal. Users' handlers run without the lock.
  int report(const AbiObject& object, const char* function, const Error& error);
  // The same with a given error handler.
  int report_to(const Ref<ErrorHandler>& handler, const AbiObject& object, const char* function,
                const Error& error);
  // Prints once per function that the program called a function that is not implemented and continued after
  // the error. A program that ignores return codes may wait for something that never comes.
  void say_missing(const char* function);
  // MPI_Abort: ends the job. May also be called while not running.
  [[noreturn]] void abort(int exit_code, std::string_view reason);
  // Ends the job because `function` could not allocate memory.
  [[noreturn]] void out_of_memory(const char* function, const std::bad_alloc& error);
  [[noreturn]] void out_of_memory(const std::bad_alloc& error) override { out_of_memory(function(), error); }

 private:
  Result<> connect();
  Result<> disconnect();
  void open_lanes();
  void make_predefined_objects();
  void make_predefined_communicators();
  void describe_program();
  void describe_job();
  void flush();
  Result<> synchronize_all();
  Result<> meet_at_launcher();
  void look_for_losses();
  void end_failed();
  // That the launcher must hear, before the process may sleep, or a loss that ends the job now.
  bool any_news() const {
    return ((lane_.any_losses() || survival_.any_answers()) && !environment_.bootstrap->busy()) ||
           loss_is_due();
  }
  bool loss_is_due() const;
  void on_loss(Lane::Loss loss);
  void abort_after_loss();
  std::string await_cause_of_loss();
  bool handles_errors() const;
  void look_around();
  void begin_stand_in();
  void begin_early(bool in_pass);
  void begin_and_arm();
  void begin_small();
  void arm_for_stand_in();
  void send_bundles();
  void note_awaited();
  void arm_for_left_reads();
  void tell_interrupts();
  bool arm_and_look(bool& armed, int& passes);
  bool pass();
  bool move(bool as_stand_in);
  bool move_aside(int& passes);
  void wait_until(FunctionRef<bool()> done, bool others_may_ask);
  bool awaits_neighbour(const Request& request);
  bool may_look_at_neighbours_alone();
  template <class Done>
  bool look_at_neighbours_for(Done done);
  bool look_at_neighbours();
  void wait(FunctionRef<bool()> done);
  void wait_among_threads(FunctionRef<bool()> done, bool others_may_ask);
  bool poll_in_turn(WaitingThread& thread);
  void rest_among_threads(WaitingThread& thread);
  void note_long_yield();

  ProcessSlot& slot_;
  Environment& environment_;
  Knobs knobs_;  // copied from the environment; MPI_T may change some
  ProcessLock lock_;
  StandIn stand_in_state_;
  bool may_stand_in_ = false;                        // somebody does while the program computes
  std::int64_t noted_bytes_ = expected_bytes;        // 0 if so
  std::unique_ptr<ProgressThread> progress_thread_;  // null: there is none
  WaitingThreads waiting_;
  Handles handles_;
  ProcessTable processes_;
  Lane lane_;
  PointToPoint point_to_point_;
  DirectMessages direct_messages_{lane_, point_to_point_};
  CollectiveEngine collectives_{point_to_point_, *this};
  WindowEngine windows_{collectives_};
  Survival survival_{point_to_point_, collectives_, *this};
  std::unique_ptr<MessageLanes> lanes_;
  PredefinedTypes types_;
  PredefinedOperators operators_;
  KeyvalTable keyvals_;
  AttributeCalls attribute_calls_;
  ErrorCodes error_codes_;
  PredefinedAttributes predefined_attributes_{error_codes_};
  ToolInterface tool_{knobs_};
  OneSidedCounters one_sided_counters_;
  SharedMemoryChannel* shared_memory_ = nullptr;  // null: none
  std::vector<Transport*> polled_channels_;       // the others
  Nanoseconds now_ = 0;                           // of the last pass that read the clock
  std::vector<Lane::Loss> losses_;                // that the job is not to survive
  Nanoseconds loss_seen_ = 0;                     // the first of them
  bool survives_ = false;                         // the launcher goes on with the others, and tells who fails
  Nanoseconds no_yields_until_ = 0;               // in waits among threads
  Nanoseconds time_without_yields_ = 0;
  std::uint32_t passes_ = 0;
  EarlyBegin early_begin_;
  bool began_ = false;  // something outside of the rails' pass; when the next one is counts for it
  std::uint32_t idle_tests_ = 0;
  std::uint32_t calls_without_poll_ = 0;
  const AbiHooks* hooks_ = nullptr;
  ThreadIdentity main_thread_ = nullptr;
  int thread_level_ = thread_single;
  int starts_ = 0;
  Nanoseconds time_to_join_ = 0;
  bool connected_ = false;
  bool is_copy_ = false;
  int rank_ = 0;
  int size_ = 1;
  Ref<ErrorHandler> errors_are_fatal_;
  Ref<ErrorHandler> errors_abort_;
  Ref<ErrorHandler> errors_return_;
  Ref<Group> empty_group_;
  Ref<Info> environment_info_;
  Ref<Info> program_info_;
  Ref<Communicator> world_;
  Ref<Communicator> self_;
  std::vector<const char*> missing_functions_called_;  // each once
  ErrorOrigin error_origin_;
  std::unique_ptr<std::byte[]> reserve_;  // freed when memory runs out, so that the error can be printed
};

}  // namespace hawser
