// SimulatedJob: one run of a Simulation, and SimulatedProcess: one rank of it with all it stands on: fiber,
// processor time, and the Environment that the library takes in place of the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/event_queue.h"
#include "base/knobs.h"
#include "os/fiber.h"
#include "process/environment.h"
#include "process/process_slot.h"
#include "process/progress_thread.h"
#include "testbed/simulator/lazy_arena.h"
#include "testbed/simulator/model_network.h"
#include "testbed/simulator/simulated_areas.h"
#include "testbed/simulator/simulated_fabric.h"
#include "testbed/simulator/simulated_launcher.h"
#include "testbed/simulator/simulated_link.h"
#include "testbed/simulator/simulated_rails.h"
#include "testbed/simulator/simulation.h"
#include "testbed/simulator/trace.h"

namespace hawser {

class SimulatedJob;

class SimulatedProcess final : public SimulatedRank,
                               public SimulatedProcessor,
                               private DeviceUser,
                               private DeadlineAlarm,
                               private Environment,
                               private Clock,
                               private Waiter,
                               private Host,
                               private Bootstrap,
                               private AddressExchange,
                               private ChannelSet,
                               private Neighbours {
 public:
  SimulatedProcess(SimulatedJob& job, int rank, const Simulation::Body& body);
  ~SimulatedProcess();

  // Lets the fiber begin or go on, at the rank's own time.
  void make_ready();
  bool finished() const { return fiber_.finished() || killed_; }
  // One line: what an unfinished rank waits for.
  std::string describe() const;
  std::string doing() const;
  // The job is over before the body is: nothing of this rank may run again, or be destroyed.
  void abandon();
  // The same now, as by kill -9, while others go on.
  void die();
  // The launcher says who has failed.
  void hear(LostRank lost);

  // SimulatedRank
  int rank() const override { return layout_.rank; }
  int size() const override { return layout_.size; }
  Nanoseconds now() override;
  std::string host_name() const override;
  [[noreturn]] void end_job(int code, std::string report) override;
  void compute(Nanoseconds duration) override;
  void sleep(Nanoseconds duration) override;

  // SimulatedProcessor
  Nanoseconds local_time() const override;
  void charge(Nanoseconds duration) override { own_time_ = local_time() + duration; }
  void catch_up() override;
  void take_missed() override { charge(std::exchange(missed_cost_, 0)); }
  void notify() override;
  void polled_in_vain() override;

 private:
  friend class SimulatedJob;
  friend class SimulatedLauncher;
  enum class State : std::uint8_t {
    ready,     // runs, or an event says when it goes on
    idle,      // parked until something comes
    computes,  // parked until it has computed, or is interrupted
    in_fence,  // parked until all are there
    over,      // the body returned, or ended the job, or the rank was killed
  };

  // What a rank that closes its rails waits for.
  enum class StateOfLeave : std::uint8_t { stays, waits_for_others, comes_to_rest, quiescent, disagrees };

  void run_body(const Simulation::Body& body);
  void go_on(Nanoseconds now);
  void run_until_parked();
  void process_ended(int status);
  void on_alarm(Nanoseconds) { notify(); }
  bool has_stand_in() const;
  void expect_turn();
  Nanoseconds compute_until_turn(Nanoseconds most);
  void take_turn();
  void park(State state);
  Result<> open_rails();
  void close_rails();
  void agree(TransportEvents& events);
  void vanish();
  void hear_question(int about);

  // DeviceUser
  void on_completion() override;
  void on_device_event() override { notify(); }
  void on_interrupt() override;
  // DeadlineAlarm
  void ring() override { turn_at_ = std::min(turn_at_, local_time()); }
  // Environment
  Result<> join() override;
  Result<> leave() override;
  // Waiter
  void idle(std::uint32_t idle_passes) override;
  void between_tests() override;
  // Host
  std::string processor_name() override { return host_name(); }
  void print(std::string_view line) override;
  [[noreturn]] void exit(int code) override;
  // Bootstrap and ChannelSet
  const char* name() const override { return "simulator"; }
  const JobLayout& layout() const override { return layout_; }
  Result<> put(std::string_view key, std::string_view value) override;
  Result<> fence() override;
  bool enter_fence() override;
  bool fence_is_over() override { return !in_fence_; }
  Result<std::string> get(int rank, std::string_view key) override;
  void abort(int exit_code, std::string_view reason) override;
  Result<> finalize() override { return {}; }
  bool survives() const override;
  std::vector<LostRank> take_lost() override { return std::exchange(lost_, {}); }
  void report_lost(int process, std::string_view why) override;
  std::vector<int> take_questions() override { return std::exchange(questions_, {}); }
  void report_reached(int process) override;
  void tell_address(std::string_view text) override;
  void ask_address(std::int32_t process) override { asked_.push_back(process); }
  std::vector<std::pair<std::int32_t, std::string>> take_addresses() override;
  Transport* channel_of(ProcessIndex peer) override;
  std::span<Transport* const> channels() override {
    return {channel_pointers_, rails_ != nullptr ? std::size_t{2} : std::size_t{1}};
  }
  SharedAreas* areas() override { return areas_.get(); }
  std::int64_t area_bytes_everywhere() override {
    return areas_ != nullptr && knobs->collective_shared != "off" ? areas_->area_bytes() : 0;
  }
  Neighbours* neighbours() override { return this; }
  Waiter& waiter() override { return *this; }
  LinkRates link_rates() override;
  DistancesSeen rail_distances() override;
  // Neighbours: they share the memory of windows that MPI allocates. A place is a rank.
  int place_of(ProcessIndex process) const override;
  void wake(int place) override;

  SimulatedJob& job_;
  JobLayout layout_;
  std::unique_ptr<ProcessSlot> slot_;
  ModelChannel& channel_;
  Transport* channel_pointers_[2] = {};
  std::unique_ptr<SimulatedPlatform> platform_;  // null: there is no fabric
  std::unique_ptr<SimulatedRails> rails_;        // while the rank is in the job, if there is a fabric
  std::unique_ptr<SimulatedAreas> areas_;  // while the rank is in the job, if the ranks of a node share some
  Fiber fiber_;
  MemberEvent<SimulatedProcess, &SimulatedProcess::go_on> ready_event_{*this};
  MemberEvent<SimulatedProcess, &SimulatedProcess::on_alarm> alarm_{*this};  // a channel's deadline
  Nanoseconds own_time_ = 0;  // ahead of the queue's by the processor time spent since it was caught up
  State state_ = State::ready;
  StateOfLeave state_of_leave_ = StateOfLeave::stays;
  std::uint32_t passes_in_vain_ = 0;  // since something came, or since the rank was parked
  std::uint32_t clock_reads_ = 0;     // since the library made progress
  std::uint64_t fences_ = 0;
  int step_of_leave_ = 0;
  bool in_fence_ = false;
  bool killed_ = false;
  std::vector<LostRank> lost_;       // heard of, and not yet taken
  std::vector<int> questions_;       // likewise
  std::vector<std::int32_t> asked_;  // of whom it wants to know the address
  bool woken_ = false;               // by a neighbour, while it was awake
  bool came_while_awake_ = false;    // something that the pass under way may have missed
  // What a ProgressThread does in a real process happens between two pieces of computing.
  bool interrupted_ = false;     // since the last turn, in a call of MPI
  bool by_interrupt_ = false;    // the next turn is for an interrupt
  Nanoseconds turn_at_ = 0;      // the next turn, at the earliest
  bool outside_ = false;         // it computes, and nothing interrupts it
  Nanoseconds missed_cost_ = 0;  // of completions that came while it computed
};

class SimulatedJob {
 public:
  SimulatedJob(const SimulationOptions& options, const Simulation::Body& body);
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;
  ~SimulatedJob();

  SimulationOutcome run();

 private:
  friend class SimulatedProcess;
  friend class SimulatedLauncher;

  void end(SimulationOutcome::Kind kind, std::string report);
  // What the counters of two ranks that are at rest disagree in; empty: nothing.
  std::string disagreement() const;
  // The same of what one rank sent.
  std::string disagreement(const SimulatedProcess& sender) const;
  void count(const RailCounters& counters);
  void report_unfinished(std::string headline);
  std::vector<std::int32_t> node_of_rank() const;
  // Null: no other rank is on the node.
  NodePorts* ports_of(int rank) const {
    return node_ports_.empty() ? nullptr : node_ports_[static_cast<std::size_t>(rank)];
  }
  std::string set_up();
  void observe(bool over);
  Nanoseconds time_limit() const;
  bool all_finished() const;
  bool nothing_on_the_way();

  const SimulationOptions& options_;
  SimulationOutcome outcome_;
  bool over_ = false;  // no fiber runs any more
  EventQueue queue_;
  Trace trace_;
  Knobs knobs_;
  ModelNetwork network_;
  LazyArena queue_memory_;                   // of the ranks' adapters
  std::vector<NodePorts*> node_ports_;       // in it, by rank; empty: each node has one rank
  std::unique_ptr<AreaMemory> area_memory_;  // null: ranks of a node share none
  std::unique_ptr<SimulatedFabric> fabric_;  // null: none was asked for
  std::uint64_t activity_seen_ = 0;          // of the fabric
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;
  SimulatedLauncher launcher_;
  Nanoseconds last_finish_ = 0;
  std::uint64_t vain_polls_ = 0;  // since a packet was on its way
  LinkRates rates_;               // the first rank's, for all must know the same; of packets the least
};

}  // namespace hawser
