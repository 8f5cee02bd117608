// WindowTraffic: one simulated rank's part of a WindowPlan, straight through the one-sided operations of the
// transports (channel/remote_memory.h). Every byte of the own window and of what was got is compared; what is
// wrong is thrown as std::runtime_error. Pairs of ranks whose transport does no such operations leave theirs
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "channel/remote_memory.h"
#include "testbed/campaign/buffers.h"
#include "testbed/campaign/window_plan.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

class MpiProcess;

class WindowTraffic {
 public:
  // Between MPI_Init and MPI_Finalize of the rank, which is the present one.
  WindowTraffic(SimulatedRank& rank, const WindowPlan& plan, Buffers& buffers);
  ~WindowTraffic();
  WindowTraffic(const WindowTraffic&) = delete;
  WindowTraffic& operator=(const WindowTraffic&) = delete;

  // All ranks: gives the others the own window; or takes it away.
  void open();
  void close();
  // Begins the epoch of a phase, as far as nothing is to be waited for; then ends it, and judges.
  void begin(std::size_t phase);
  void end(std::size_t phase);

 private:
  class Access;
  // The bytes of each origin's part of a window, as they must be.
  using Parts = std::vector<std::vector<std::byte>>;

  bool reaches(int origin, int target) const {
    return (reached_[static_cast<std::size_t>(origin)] >> target & 1) != 0;
  }
  RemoteMemory& memory_of(int target) const;
  bool carry_out(bool wait);
  bool start(const PlannedAccess& planned, bool wait);
  void flush(int target);
  void finish_done();
  void replay();
  void judge_own() const;

  SimulatedRank& rank_;
  const WindowPlan& plan_;
  Buffers& buffers_;
  MpiProcess& process_;
  const int me_, size_;
  Buffers::Buffer own_;
  RemoteMemory* registered_ = nullptr;  // with whom the own window is; null: nobody
  WindowToken token_;
  std::vector<WindowToken> tokens_;     // by rank
  std::vector<std::uint64_t> reached_;  // by origin: a bit for each target
  Parts here_;                          // of the own window, by origin
  Parts there_;                         // the own part of others' windows, by target
  std::deque<std::unique_ptr<Access>> active_;
  const PlannedEpoch* epoch_ = nullptr;
  std::size_t next_ = 0;  // access of the epoch
};

}  // namespace hawser
