// Whether the blocks of a communicator's v forms go by slots of equal size, as those of a regular operation
// of two levels do. Not all ranks know what blocks there are, but all have to go the same way. So they tell
// each other together with how far rails are (agreed_distances.h).
//
// SlotUse is for alltoallv and alltoallw. Each rank notes what its last operation had. A slot says what its
// sender has for all, so that by slots all ranks hear from all what would have been better, and leave this
// way together.
//
// RootSlotUse is for gatherv, and another one for scatterv. There the root knows all, and the others nothing.
// So the ranks agree again, after a number of operations by slots, on what roots saw since they did so last.
// All ranks hear from the root of a scatterv, and leave slots sooner.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace hawser {

// Of one alltoallv.
struct BlockUse {
  std::int64_t longest = 0;   // bytes of a rank's blocks for others
  std::int64_t messages = 0;  // its blocks for others that are not empty

  BlockUse joined(const BlockUse& other) const {
    return {std::max(longest, other.longest), messages + other.messages};
  }
};

// What all ranks know alike. Without partners, slots are taken only where that is forced.
struct Slots {
  std::int64_t room = 64;     // for a block
  std::int64_t partners = 0;  // to so many others a rank sends, or a root, or so many send to it

  bool operator==(const Slots&) const = default;
};

// With room for the longest block, rounded up to a power of two.
inline Slots slots_for(std::int64_t longest, std::int64_t partners) {
  const auto least = static_cast<std::uint64_t>(std::max<std::int64_t>(longest, 8));
  return {static_cast<std::int64_t>(std::bit_ceil(least)), partners};
}

// Of operations, one in so many may have blocks that do not fit, and a few more.
inline bool are_few(std::int64_t unfit, std::int64_t operations) {
  constexpr std::int64_t few = 2, share = 16;
  return unfit <= few + operations / share;
}

class SlotUse {
 public:
  // Longer blocks gain nothing.
  static constexpr std::int64_t most_room = 512;

  void note(const BlockUse& last) { last_ = last; }
  const BlockUse& last() const { return last_; }
  // `all`: the last operation's, of all ranks.
  void agree(const BlockUse& all, int ranks) {
    slots_ = all.longest <= most_room ? slots_for(all.longest, all.messages / ranks) : Slots{};
    operations_ = unfit_ = 0;
  }
  // By slots. `all` as there, and whether all blocks went in slots.
  void note_all(const BlockUse& all, int ranks) {
    ++operations_;
    unfit_ += all.longest > slots_.room || 2 * (all.messages / ranks) < slots_.partners;
    if (!are_few(unfit_, operations_)) slots_ = {};
  }
  const Slots& slots() const { return slots_; }

 private:
  BlockUse last_;
  Slots slots_;
  std::int64_t operations_ = 0, unfit_ = 0;  // since they agreed
};

// What roots saw in several operations.
struct RootBlockUse {
  std::int64_t longest = 0;   // bytes of a block that may go in a slot
  std::int64_t messages = 0;  // blocks of others that are not empty
  std::int64_t unfit = 0;     // operations with longer blocks

  RootBlockUse joined(const RootBlockUse& other) const {
    return {std::max(longest, other.longest), messages + other.messages, unfit + other.unfit};
  }
};

class RootSlotUse {
 public:
  // An operation begins, on all ranks.
  void begin() { ++operations_; }
  // At its root: all blocks of others.
  void note(const BlockUse& all);
  const RootBlockUse& seen() const { return seen_; }
  // One went by slots. `unfit`: they are not right for it, as all ranks know.
  void note_slots(bool unfit);
  // At the root.
  bool unfit_for(const BlockUse& all) const {
    return all.longest > slots_.room || 2 * all.messages < slots_.partners;
  }
  // Whether so many did that ranks are to agree again.
  bool due() const { return by_slots_ >= between_; }
  // `all`: of all roots.
  void agree(const RootBlockUse& all);
  const Slots& slots() const { return slots_; }

 private:
  static constexpr std::int64_t first = 32;  // operations by slots

  RootBlockUse seen_;
  Slots slots_;
  std::int64_t operations_ = 0, by_slots_ = 0, unfit_ = 0;  // since they agreed
  std::int64_t between_ = first;
};

}  // namespace hawser
