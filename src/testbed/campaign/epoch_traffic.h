// EpochTraffic: one rank's part of an EpochPlan, in nothing but MPI calls; so it runs in the simulator, and
// in processes of any MPI. Every number of the own windows and everything that was got is compared; what is
// wrong is thrown as std::runtime_error. Memory that MPI has no more to do with is given back to `buffers` at
// once, which find what is written or read late.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "testbed/campaign/buffers.h"
#include "testbed/campaign/epoch_plan.h"

namespace hawser {

class EpochTraffic {
 public:
  using Compute = std::function<void(Nanoseconds)>;

  // Between MPI_Init and MPI_Finalize, over MPI_COMM_WORLD, which has as many ranks as the plan.
  EpochTraffic(const EpochPlan& plan, Buffers& buffers, Compute compute);
  ~EpochTraffic();
  EpochTraffic(const EpochTraffic&) = delete;
  EpochTraffic& operator=(const EpochTraffic&) = delete;

  // All ranks: makes the windows that the plan has use for; or frees them.
  void open();
  void close();
  // Begins an epoch, as far as nothing is to be waited for; then ends it, and judges.
  void begin(std::size_t number);
  void end(std::size_t number);

  // Operations of this rank that are over.
  std::uint64_t operations() const { return operations_; }

 private:
  using Numbers = std::vector<std::uint64_t>;
  class Access;

  // A window, and what is known of it.
  struct Space {
    MPI_Win win = MPI_WIN_NULL;
    std::uint64_t* memory = nullptr;
    Buffers::Buffer buffer;       // of the program's
    bool own = false;             // the memory is in `buffer`
    std::vector<MPI_Aint> bases;  // of a dynamic window, by rank
    int unit = 1;                 // what displacements count
    std::vector<Numbers> here;    // what must stand in the own window, by origin
    std::vector<Numbers> there;   // the own parts of others' windows, by target
    Numbers common;               // of the own window, with the tickets behind it
  };

  static void check(int code, const char* function);
  std::size_t numbers() const {
    return static_cast<std::size_t>(plan_.part) * ranks_ + EpochPlan::common + 1;
  }
  Space& space() { return spaces_[static_cast<std::size_t>(epoch_->memory)]; }
  MPI_Win win() { return space().win; }

  void make_window(AccessEpoch::Memory memory);
  void make_memory(Space& space);
  void reset(Space& space) const;
  void attach(Space& space);
  void close_epoch();
  MPI_Group members(bool origins) const;
  bool is_involved(int rank, bool as_origin) const;

  bool carry_out(bool wait);
  void lock_for(int target);
  void start(const PlannedOperation& planned);
  void issue(Access& access, MPI_Datatype target_type);
  void take_ticket(const PlannedOperation& planned);
  void finish(int target);
  void wait_for_requests();
  MPI_Aint displacement(const PlannedOperation& planned) const;

  void end_memory();
  void store_behind_the_end();
  void replay(Space& space) const;
  void apply(Numbers& part, const PlannedOperation& planned) const;
  void judge(const Space& space) const;

  const EpochPlan& plan_;
  Buffers& buffers_;
  const Compute compute_;
  int me_ = 0;
  std::size_t ranks_ = 1;
  std::array<Space, AccessEpoch::memories> spaces_;
  const AccessEpoch* epoch_ = nullptr;
  std::size_t next_ = 0;  // operation of the epoch
  int locked_ = -1;       // target
  std::vector<std::unique_ptr<Access>> active_;
  std::uint64_t operations_ = 0;
};

}  // namespace hawser
