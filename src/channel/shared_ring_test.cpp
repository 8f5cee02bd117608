// What a ring knows of its copies.
#include "channel/shared_ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "os/shared_memory.h"

namespace hawser {
namespace {

// Pieces of 16 KiB through the whole ring, which nobody reads: the sender does not look.
void send_round(RingSender& ring, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  for (std::uint32_t sent = 0; sent < ring.ring_bytes(); sent += size)
    ring.copy_in(ring.reserve(size), bytes.data());
}

// The first round has the system hand out memory. A receiver that took this for the cost of a copy had large
// messages copied by the kernel, and for hundreds of them did not find out that this is slower.
TEST(SharedRing, SaysNothingOfWhatTheFirstRoundCosts) {
  const auto file = make_memory_file("hawser-test").value();
  const SharedSegment segment = SharedSegment::map(file.get(), SegmentLayout::plan(2, Knobs{})).value();
  NeighbourWaker waker;
  RingSender ring(segment, 0, 1, waker, true);
  const std::vector<std::byte> bytes(16384);
  send_round(ring, bytes);
  EXPECT_EQ(0, ring.copy_cost());
  send_round(ring, bytes);
  EXPECT_GT(ring.copy_cost(), 0);
}

}  // namespace
}  // namespace hawser
