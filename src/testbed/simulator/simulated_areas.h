// SimulatedAreas: the areas that the ranks of a simulated node share for collectives, as one rank has them.
// The memory is this process's; what the rank does there costs it time, and is seen by others at that time.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "channel/shared_areas.h"
#include "testbed/simulator/lazy_arena.h"
#include "testbed/simulator/model_network.h"
#include "testbed/simulator/network_cost.h"

namespace hawser {

// Of all ranks of a job. An area takes memory from when it is first used.
class AreaMemory {
 public:
  // `shared`: ranks have processes of their own.
  explicit AreaMemory(bool shared) : arena_(shared) {}
  std::byte* area(int rank, int index, std::int64_t bytes);
  // The rank joins the job, perhaps again: its areas are zero.
  void clear(int rank);

 private:
  struct Area {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  LazyArena arena_;
  std::map<std::pair<int, int>, Area> areas_;  // by rank and index
};

class SimulatedAreas final : public SharedAreas, private AreaTime {
 public:
  // `ranks`: who is on this rank's node, where a place is a rank.
  SimulatedAreas(AreaMemory& memory, SimulatedProcessor& processor, Neighbours& ranks, const AreaCost& cost,
                 std::int64_t count, std::int64_t bytes)
      : memory_(memory),
        processor_(processor),
        ranks_(ranks),
        cost_(cost),
        taken_(static_cast<std::size_t>(count)),
        bytes_(bytes) {}

  int place_of(ProcessIndex process) const override { return ranks_.place_of(process); }
  void wake(int place) override { ranks_.wake(place); }
  int allocate() override;
  void release(int index) override { taken_[static_cast<std::size_t>(index)] = false; }
  std::byte* address(int place, int index) const override { return memory_.area(place, index, bytes_); }
  std::int64_t area_bytes() const override { return bytes_; }
  bool copy_from(int, std::byte*, std::uint64_t, std::int64_t) override { return false; }
  AreaTime* virtual_time() override { return this; }

 private:
  void before_flag() override {
    processor_.charge(cost_.flag);
    processor_.catch_up();
  }
  void read_line(bool waited) override { processor_.charge(cost_.line + (waited ? cost_.wait : 0)); }
  void copied_in(std::int64_t bytes) override {
    processor_.charge(bytes * cost_.in_picoseconds_per_byte / 1000);
  }
  void copied_out(std::int64_t bytes) override {
    processor_.charge(bytes * cost_.out_picoseconds_per_byte / 1000);
  }
  void reduced(std::int64_t bytes) override {
    processor_.charge(MessageCopies::time(bytes, cost_.messages.reduced));
  }
  void copied(std::int64_t bytes) override {
    processor_.charge(cost_.messages.begun + MessageCopies::time(bytes, cost_.messages.within));
  }

  AreaMemory& memory_;
  SimulatedProcessor& processor_;
  Neighbours& ranks_;
  const AreaCost cost_;
  std::vector<bool> taken_;
  const std::int64_t bytes_;
};

}  // namespace hawser
