// SimulatedFabric: the virtual fabric of a simulated job, on the job's event queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"
#include "base/result.h"
#include "fabric/fabric.h"
#include "testbed/simulator/fabric_options.h"
#include "testbed/simulator/trace.h"

namespace hawser {

class SimulatedFabric final : private fabric::Trace::Listener {
 public:
  // Errors say what is wrong with the options. `queue` and `trace` must outlive the fabric. `memory`: of the
  // ranks; null: all are in this process.
  static Result<std::unique_ptr<SimulatedFabric>> build(EventQueue& queue, Trace& trace,
                                                        const FabricOptions& options, int ranks,
                                                        std::uint64_t seed, fabric::DmaPort* memory);
  SimulatedFabric(const SimulatedFabric&) = delete;
  SimulatedFabric& operator=(const SimulatedFabric&) = delete;
  ~SimulatedFabric();

  fabric::Fabric& fabric() { return *fabric_; }
  const FabricOptions& options() const { return options_; }
  std::int32_t host_of(int rank) const { return rank / options_.ranks_per_host; }
  // Grows while anything goes on.
  std::uint64_t activity() const { return fabric_->trace().count(fabric::TraceKind::packet_sent); }
  // What all adapters sent, and what of it again.
  void count_payload(std::uint64_t& sent, std::uint64_t& repeated);
  // The time at which the job must be over, unless another incident begins; never: there is one under way,
  // or all the time in the world.
  Nanoseconds limit() const;
  // All ranks have joined: from now on incidents may begin, and their times count.
  void let_incidents_begin();
  int incidents_begun() const { return begun_; }
  Nanoseconds last_end() const { return last_end_; }  // of an incident; 0: none has ended
  // The first fault that the fabric refused, and why; empty if it refused none.
  std::string refusal() const;

 private:
  class ActiveIncident;

  SimulatedFabric(EventQueue& queue, const FabricOptions& options, Trace& trace, std::uint64_t seed);
  Result<> add_incidents();
  Result<> check_command(const std::string& command) const;
  void carry_out(const std::vector<std::string>& commands);
  void on_begin();
  void on_end();
  std::string with_queue_pair(const std::string& command);

  // What happens in the fabric: counted, and written as lines of the job's trace file.
  void on_note(fabric::TraceKind kind, Nanoseconds now, std::uint64_t a, std::uint64_t b) override;
  void on_log(Nanoseconds now, const std::string& text) override;

  std::string refusal_;
  EventQueue& queue_;
  const FabricOptions& options_;
  Trace& trace_;
  Random random_;
  fabric::LocalDmaPort local_memory_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::unique_ptr<ActiveIncident>> incidents_;  // by after_packets
  std::size_t next_incident_ = 0;                           // the first that waits for packets
  std::uint64_t packets_ = 0;
  bool may_begin_ = false;
  int begun_ = 0;
  int under_way_ = 0;
  Nanoseconds last_end_ = 0;
};

}  // namespace hawser
