// EpochPlan: what the ranks of a job do in MPI's windows, drawn from a seed: epochs of all kinds, in each of
// which some ranks put, get and accumulate. A window holds 64-bit numbers: a part for each origin, where only
// that one writes, and a common part, to which everybody adds. So what must stand in each window after each
// epoch follows from the plan alone, and what an origin gets from its own part it knows.
//
// Between two flushes an origin does nothing with a part but put, without overlap, or get, or accumulate.
// Across a flush it puts to the same places again, so that what is written late is noticed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace hawser {

struct PlannedOperation {
  enum class Kind : std::uint8_t {
    put,
    get,
    accumulate,
    get_accumulate,
    // in the common part
    add,            // MPI_Accumulate
    fetch_and_add,  // one number
    take_ticket,    // MPI_Compare_and_swap until one more is there; in an epoch of MPI_Win_lock_all
    flush           // is waited for
  };
  enum class Operator : std::uint8_t { sum, replace, exclusive_or, maximum };

  Kind kind = Kind::put;
  Operator operation = Operator::sum;
  int origin = 0;
  int target = 0;
  // At the target: so many blocks of `length` numbers, each `stride` numbers behind the last.
  std::int32_t first = 0;
  std::int32_t length = 0;
  std::int32_t stride = 0;
  std::int32_t blocks = 1;
  // In the origin's memory: blocks of so many numbers, with as many between two of them; 0: one piece.
  std::int32_t here = 0;
  bool by_request = false;  // MPI_Rput and its like
  bool local = false;       // a flush: of the buffers only
  std::uint64_t key = 0;    // of the numbers

  bool changes_common() const { return kind == Kind::add || kind == Kind::fetch_and_add; }
  std::int32_t place_here(std::int32_t i) const { return here == 0 ? i : i / here * here + i; }
  std::int32_t count() const { return blocks * length; }
  std::int32_t span() const { return (blocks - 1) * stride + length; }
  std::int32_t place(std::int32_t i) const { return first + i / length * stride + i % length; }
  std::uint64_t number(std::int32_t i) const {
    return (key + static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  }
  // What stands there when it was done to `before`.
  std::uint64_t applied(std::int32_t i, std::uint64_t before) const;
};

struct AccessEpoch {
  enum class Kind : std::uint8_t { none, fence, posts, lock_all, locks, exclusive_locks };
  // Which window.
  enum class Memory : std::uint8_t {
    allocated,
    created,  // of memory of the program's
    brief,    // the same, freed when the epoch is over
    dynamic,  // memory is attached for the epoch
  };
  static constexpr int memories = 4;

  Kind kind = Kind::none;
  Memory memory = Memory::allocated;
  std::vector<PlannedOperation> operations;
  bool asserts = false;   // MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED
  bool stores = false;    // the owner writes to its memory as soon as its call returns that ends the epoch
  std::uint64_t key = 0;  // of what it writes
  int busy = -1;          // this rank computes for `computes` meanwhile
  Nanoseconds computes = 0;

  // Locks are taken one after the other, and cannot be held while messages are waited for.
  bool at_once() const { return kind == Kind::locks || kind == Kind::exclusive_locks; }
  bool passive() const { return at_once() || kind == Kind::lock_all; }
};

struct EpochPlan {
  static constexpr std::int32_t common = 24;  // numbers

  int ranks = 0;
  std::int32_t part = 0;  // numbers of a window that belong to each origin
  std::vector<AccessEpoch> epochs;

  bool any() const { return part > 0; }
  std::size_t operations() const;
};

struct EpochShape {
  int ranks = 2;
  int epochs = 8;
  std::int32_t part = 8192;  // numbers
  double none = 0.5;         // so often there is no epoch
  bool computing = true;     // some owners compute meanwhile
};

EpochPlan draw_epochs(const EpochShape& shape, Random& random);

}  // namespace hawser
