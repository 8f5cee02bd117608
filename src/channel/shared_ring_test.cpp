// What a ring knows of its copies, and how much of it short pieces use.
#include "channel/shared_ring.h"

#include <gtest/gtest.h>

#include <random>
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

// Both ends of a ring. A piece holds its number, over and over.
class BothEnds {
 public:
  // Where it stands; -1: there was no room.
  std::int64_t send(std::uint32_t size) {
    if (!sender_.room(1, 2 * RingSender::padded(size))) return -1;
    const Piece piece = sender_.reserve(size);
    const std::vector<std::byte> bytes(size, value(sent_));
    sender_.copy_in(piece, bytes.data());
    Slot& slot = sender_.next_slot();
    std::memcpy(slot.payload, &piece, sizeof(piece));
    sender_.publish(slot);
    ++sent_;
    sent_bytes_ += RingSender::padded(size);
    return piece.offset;
  }
  void receive() {
    const Slot* const slot = receiver_.front();
    ASSERT_NE(slot, nullptr);
    Piece piece;
    std::memcpy(&piece, slot->payload, sizeof(piece));
    ASSERT_TRUE(receiver_.valid(piece));
    const std::byte* const bytes = receiver_.at(piece);
    for (std::uint32_t i = 0; i < piece.size; ++i) ASSERT_EQ(bytes[i], value(received_)) << i;
    receiver_.took(piece);
    receiver_.pop();
    ++received_;
  }
  int waiting() const { return sent_ - received_; }
  void expect_counts() const {
    EXPECT_EQ(sender_.bytes(), sent_bytes_);
    EXPECT_EQ(receiver_.bytes(), sent_bytes_);
  }

 private:
  static std::byte value(int number) { return static_cast<std::byte>(number % 251); }

  FileDescriptor file_ = make_memory_file("hawser-test").value();
  SharedSegment segment_ = SharedSegment::map(file_.get(), SegmentLayout::plan(2, Knobs{})).value();
  NeighbourWaker waker_;
  RingSender sender_{segment_, 0, 1, waker_, true};
  RingReceiver receiver_{segment_, 0, 1};
  int sent_ = 0, received_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

// Each new page costs both ends an exception, and on a virtual machine much more: 64 B took 0.6 us in place
// of 0.34 until all 64 pages of a ring had been used.
TEST(SharedRing, KeepsShortPiecesThatAreReadAtOnceInItsFirstPart) {
  for (const std::uint32_t size : {64U, 100U, 512U}) {
    BothEnds ring;
    for (int i = 0; i < 5000; ++i) {
      EXPECT_LT(ring.send(size), RingSender::short_lap + RingSender::most_in_short_lap);
      ring.receive();
    }
    ring.expect_counts();
  }
}

// All of it but what the receiver has not told yet, a quarter.
TEST(SharedRing, HasRoomForManyPiecesThatNobodyReads) {
  const Knobs knobs;
  BothEnds ring;
  for (int i = 0; i < 600; ++i) {  // a short lap, and more
    ring.send(64);
    ring.receive();
  }
  int sent = 0;
  while (ring.send(1024) >= 0) ++sent;
  EXPECT_GE(sent, knobs.shm_ring_bytes / 1024 * 3 / 4 - 2);
}

TEST(SharedRing, KeepsAllPiecesWholeWhateverTheReceiverDoes) {
  std::mt19937 random(7);
  BothEnds ring;
  for (int i = 0; i < 30000; ++i) {
    const std::uint32_t size = random() % 4 == 0 ? 1 + random() % 8192 : 37 + random() % 476;
    // Now it keeps up, now it lets some wait.
    const int may_wait = i / 700 % 2 == 0 ? 0 : static_cast<int>(random() % 40);
    while (ring.send(size) < 0) ring.receive();
    while (ring.waiting() > may_wait) ring.receive();
  }
  while (ring.waiting() > 0) ring.receive();
  ring.expect_counts();
}

}  // namespace
}  // namespace hawser
