// SlotUse: whether the blocks of a communicator's alltoallv's (and alltoallw's) go by slots of equal size, as
// those of an alltoall of two levels do. No rank knows what blocks the others have, but all have to go the
// same way. So each notes what its last operation had, and the ranks tell each other together with how far
// rails are (agreed_distances.h). A slot says what its sender has for all, so that by slots all ranks hear
// from all what would have been better, and leave this way together.
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
  std::int64_t partners = 0;  // to so many others a rank sends

  bool operator==(const Slots&) const = default;
};

class SlotUse {
 public:
  // Longer blocks gain nothing.
  static constexpr std::int64_t most_room = 512;

  void note(const BlockUse& last) { last_ = last; }
  const BlockUse& last() const { return last_; }
  // `all`: the last operation's, of all ranks. Slots get room for its longest block, rounded up to a power of
  // two.
  void agree(const BlockUse& all, int ranks) {
    const auto longest = static_cast<std::uint64_t>(std::max<std::int64_t>(all.longest, 8));
    const bool fits = all.longest <= most_room;
    slots_ = fits ? Slots{static_cast<std::int64_t>(std::bit_ceil(longest)), all.messages / ranks} : Slots{};
    operations_ = unfit_ = 0;
  }
  // By slots. `all` as there, and whether all blocks went in slots.
  void note_all(const BlockUse& all, int ranks) {
    ++operations_;
    unfit_ += all.longest > slots_.room || 2 * (all.messages / ranks) < slots_.partners;
    constexpr std::int64_t few = 2, share = 16;
    if (unfit_ > few + operations_ / share) slots_ = {};
  }
  const Slots& slots() const { return slots_; }

 private:
  BlockUse last_;
  Slots slots_;
  std::int64_t operations_ = 0, unfit_ = 0;  // since they agreed
};

}  // namespace hawser
