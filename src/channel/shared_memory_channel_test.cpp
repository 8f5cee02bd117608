// Two or more shared-memory channels in one process over one segment: driven turn by turn (every state is
// reachable, nothing depends on time), and from two threads (for the sanitizers).
#include "channel/shared_memory_channel.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <list>
#include <numeric>
#include <thread>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

using namespace channel_test;

struct Node {
  explicit Node(const Knobs& knobs = {}, std::int32_t processes = 2) {
    const auto layout = SegmentLayout::plan(processes, knobs);
    auto file = make_memory_file("hawser-test").value();
    std::vector<ProcessIndex> all(static_cast<std::size_t>(processes));
    std::iota(all.begin(), all.end(), 0);
    // One mapping for all: a race detector knows memory by its address.
    const SharedSegment segment = SharedSegment::map(file.get(), layout).value();
    for (std::int32_t i = 0; i < processes; ++i) {
      channels.push_back(std::make_unique<SharedMemoryChannel>(segment, i, all, processes, knobs));
      events.push_back(std::make_unique<Recorder>());
      events.back()->channel = channels.back().get();
    }
  }
  bool turn() {
    bool moved = false;
    for (std::size_t i = 0; i < channels.size(); ++i) moved |= channels[i]->progress(*events[i], 0);
    return moved;
  }
  void settle() {
    for (int quiet = 0; quiet < 1000; ++quiet)
      if (turn()) quiet = 0;
  }
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::vector<std::unique_ptr<Recorder>> events;
};

TEST(SharedMemoryChannel, EagerMessagesOfEverySizeArriveInOrder) {
  Node node;
  const std::int64_t limit = node.channels[0]->eager_limit(1);
  std::vector<Bytes> sent;
  for (std::size_t size = 0; size < 200; ++size) sent.push_back(pattern(size, size));
  for (std::size_t size : {2047, 2048, 2049, 4096, 8191, 8192, 8193, 16384})
    sent.push_back(pattern(size, size));
  sent.push_back(pattern(static_cast<std::size_t>(limit), 1));
  int tag = 0;
  for (int lap = 0; lap < 30; ++lap)
    for (Bytes& bytes : sent) {
      while (!node.channels[0]->try_send(1, header_with_tag(tag), whole(bytes))) ASSERT_TRUE(node.turn());
      ++tag;
    }
  node.settle();
  auto& got = node.events[1]->messages;
  ASSERT_EQ(got.size(), 30 * sent.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i]->tag, static_cast<int>(i));
    ASSERT_TRUE(got[i]->whole);
    ASSERT_EQ(got[i]->bytes, sent[i % sent.size()]) << "message " << i;
  }
  EXPECT_TRUE(node.channels[0]->flushed());
}

TEST(SharedMemoryChannel, FullRingRefusesAndRecovers) {
  Knobs knobs;
  knobs.shm_ring_slots = 32;
  Node node(knobs);
  Bytes bytes = pattern(8, 0);
  int sent = 0;
  while (node.channels[0]->ring_to(1)->try_send_inline(header_with_tag(sent), bytes.data(), 8)) ++sent;
  EXPECT_EQ(sent, 32);
  node.settle();
  EXPECT_TRUE(node.channels[0]->ring_to(1)->try_send_inline(header_with_tag(sent), bytes.data(), 8));
  node.settle();
  EXPECT_EQ(node.events[1]->messages.size(), 33u);
}

TEST(SharedMemoryChannel, PackedPayload) {
  Node node;
  for (std::size_t size : {5, 36, 37, 3000}) {
    EveryOther data(size);
    data.memory = pattern(2 * size, size);
    ASSERT_TRUE(node.channels[0]->try_send(1, header_with_tag(1), data.sequence()));
    node.settle();
    EXPECT_EQ(node.events[1]->messages.back()->bytes, data.packed());
  }
}

struct TransferCase {
  const char* single_copy;
  std::int64_t patience;
  bool sender_packed;
  bool receiver_packed;
};

class SharedTransfer : public testing::TestWithParam<TransferCase> {};

TEST_P(SharedTransfer, ExposedBytesArriveWhole) {
  Knobs knobs;
  knobs.shm_single_copy = GetParam().single_copy;
  knobs.shm_patience = GetParam().patience;
  knobs.shm_single_copy_chunk = 70000;
  Node node(knobs);
  for (std::size_t size : {1ul, 5000ul, 16384ul, 100001ul, 1048576ul}) {
    Bytes bytes = pattern(size, size);
    EveryOther packed(size);
    if (GetParam().sender_packed) packed.memory = pattern(2 * size, size);
    EveryOther into(size);
    node.events[1]->unpack_to = GetParam().receiver_packed ? &into : nullptr;
    int cookie = 0;
    node.events[0]->exposed_done.clear();
    const ByteSequence from = GetParam().sender_packed ? packed.sequence() : whole(bytes);
    ASSERT_TRUE(node.channels[0]->try_expose(1, header_with_tag(3), from, node.events[0]->exposing(&cookie)));
    node.settle();
    EXPECT_EQ(node.events[0]->exposed_done[&cookie], 1);
    auto& message = *node.events[1]->messages.back();
    EXPECT_TRUE(message.whole);
    const Bytes& got = GetParam().receiver_packed ? into.packed() : message.bytes;
    EXPECT_TRUE(got == (GetParam().sender_packed ? packed.packed() : bytes)) << size;
    EXPECT_TRUE(node.channels[0]->flushed());
    EXPECT_TRUE(node.channels[1]->flushed());
  }
}

// A sender that does nothing: where the receiver may copy all by itself, it does; the sender learns it later.
class SingleCopyTransfer : public testing::TestWithParam<std::pair<const char*, std::int64_t>> {};
TEST_P(SingleCopyTransfer, BusySender) {
  Knobs knobs;
  knobs.shm_single_copy = GetParam().first;
  knobs.shm_patience = GetParam().second;
  Node node(knobs);
  Bytes bytes = pattern(700000, 3);
  int cookie = 0;
  ASSERT_TRUE(
      node.channels[0]->try_expose(1, header_with_tag(3), whole(bytes), node.events[0]->exposing(&cookie)));
  for (int pass = 0; pass < 10000 && node.events[1]->fetched == 0; ++pass)
    node.channels[1]->progress(*node.events[1], 0);
  EXPECT_EQ(node.events[1]->fetched, 1);
  EXPECT_TRUE(node.events[1]->messages.back()->bytes == bytes);
  EXPECT_EQ(node.events[0]->exposed_done.size(), 0u);
  node.settle();
  EXPECT_EQ(node.events[0]->exposed_done[&cookie], 1);
  EXPECT_TRUE(node.channels[0]->flushed());
}

TEST_P(SharedTransfer, TruncatedAndManyAtOnce) {
  Knobs knobs;
  knobs.shm_single_copy = GetParam().single_copy;
  knobs.shm_patience = GetParam().patience;
  Node node(knobs);
  Bytes bytes = pattern(300000, 3);
  for (std::int64_t limit : {0, 1, 12345, 299999}) {
    node.events[1]->fetch_limit = limit;
    node.events[0]->exposed_done.clear();
    int cookie = 0;
    ASSERT_TRUE(
        node.channels[0]->try_expose(1, header_with_tag(3), whole(bytes), node.events[0]->exposing(&cookie)));
    node.settle();
    EXPECT_EQ(node.events[0]->exposed_done[&cookie], 1) << limit;
    auto& message = *node.events[1]->messages.back();
    EXPECT_TRUE(message.whole);
    EXPECT_TRUE(std::equal(message.bytes.begin(), message.bytes.end(), bytes.begin()));
  }
  node.events[1]->fetch_limit = INT64_MAX;
  node.events[0]->exposed_done.clear();
  // More than there are numbers for transfers, both ways at once.
  std::vector<int> cookies(200);
  for (std::size_t i = 0; i < cookies.size(); ++i)
    while (!node.channels[i % 2]->try_expose(static_cast<ProcessIndex>(1 - i % 2), header_with_tag(4),
                                             whole(bytes), node.events[i % 2]->exposing(&cookies[i])))
      node.turn();
  node.settle();
  for (std::size_t i = 0; i < cookies.size(); ++i)
    EXPECT_EQ(node.events[i % 2]->exposed_done[&cookies[i]], 1);
  for (const auto& recorder : node.events) {
    for (const auto& message : recorder->messages) EXPECT_TRUE(message->whole);
    EXPECT_TRUE(recorder->messages.back()->bytes == bytes);
  }
}

// The receiver copies, and a sender that has time copies, too.
TEST(SharedMemoryChannel, BothEndsCopyALargeMessage) {
  Knobs knobs;
  knobs.shm_single_copy = "always";
  const SharedSegment segment =
      SharedSegment::map(make_memory_file("hawser-test").value().get(), SegmentLayout::plan(2, knobs))
          .value();
  SharedMemoryChannel sender(segment, 0, {0, 1}, 2, knobs), receiver(segment, 1, {0, 1}, 2, knobs);
  Recorder sent, received;
  sent.channel = &sender;
  received.channel = &receiver;
  std::uint64_t total = 0;
  for (const std::size_t size : {70'000ul, 1'000'000ul, 4'000'001ul}) {
    Bytes bytes = pattern(size, size);
    ASSERT_TRUE(sender.try_expose(1, TransportHeader(), whole(bytes), sent.exposing(&bytes)));
    for (int quiet = 0; quiet < 1000; ++quiet) {
      const bool moved = receiver.progress(received, 0);
      if (sender.progress(sent, 0) || moved) quiet = 0;
    }
    EXPECT_EQ(sent.exposed_done[&bytes], 1);
    EXPECT_TRUE(received.messages.back()->whole && received.messages.back()->bytes == bytes);
    sent.exposed_done.clear();
    total += size;
  }
  const std::uint64_t read = counted(receiver, "bytes_copied_from_senders");
  const std::uint64_t written = counted(sender, "bytes_written_to_receivers");
  EXPECT_EQ(read + written, total);
  EXPECT_GT(read, total / 4);
  EXPECT_GT(written, total / 4);
  EXPECT_TRUE(sender.flushed());
}

// Copied by the kernel, a transfer needs this end, which looks at the oldest ones only. If these had waited
// for a number while younger ones got all that were free, none would ever move.
TEST(SharedMemoryChannel, NoTransferOvertakesOneThatWaitsForANumber) {
  Knobs knobs;
  knobs.shm_single_copy = "always";
  Node node(knobs);
  Recorder& received = *node.events[1];
  std::list<std::pair<Bytes, EveryOther>> data;
  const auto expose = [&](int count, std::size_t size, bool in_one_piece) {
    for (; count > 0; --count) {
      auto& [bytes, scattered] = data.emplace_back(pattern(size, data.size()), EveryOther(size));
      received.unpack_to = in_one_piece ? nullptr : &scattered;
      ASSERT_TRUE(node.channels[0]->try_expose(1, header_with_tag(0), whole(bytes),
                                               node.events[0]->exposing(&bytes)));
      if (!in_one_piece) node.channels[1]->progress(received, 0);
    }
  };
  constexpr int short_ones = 52, long_ones = 8;
  static_assert(short_ones + long_ones == ProcessBlock::transfers_count);
  // Through the ring: these have all numbers, and the sender does not get further than the short ones.
  expose(short_ones, 1000, false);
  expose(long_ones, 200'000, false);
  expose(10, 100'000, true);
  node.channels[1]->progress(received, 0);
  node.channels[0]->progress(*node.events[0], 0);
  expose(short_ones, 100'000, true);
  node.channels[1]->progress(received, 0);
  // Each end of a long one is followed by an offer.
  for (int i = 0; i < 200; ++i) {
    node.channels[0]->progress(*node.events[0], 0);
    expose(1, 100'000, true);
    node.channels[1]->progress(received, 0);
  }
  node.settle();
  EXPECT_EQ(node.events[0]->exposed_done.size(), data.size());
  EXPECT_TRUE(node.channels[0]->flushed());
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SharedTransfer,
    testing::Values(TransferCase{"never", 0, false, false}, TransferCase{"auto", 0, false, false},
                    TransferCase{"auto", 300, false, false}, TransferCase{"always", 0, false, false},
                    TransferCase{"auto", 0, true, false}, TransferCase{"auto", 0, false, true},
                    TransferCase{"always", 0, true, true}));
INSTANTIATE_TEST_SUITE_P(Ways, SingleCopyTransfer,
                         testing::Values(std::pair("auto", 0), std::pair("auto", 300),
                                         std::pair("always", 0)));

// The kernel copies at first, and in the middle of a message it refuses.
TEST(SharedMemoryChannel, CopyRefusedInTheMiddle) {
  for (const char* single_copy : {"auto", "always"}) {
    Knobs knobs;
    knobs.shm_single_copy = single_copy;
    knobs.shm_patience = 0;
    knobs.shm_single_copy_chunk = 50000;
    Node node(knobs);
    Bytes bytes = pattern(600000, 3);
    int cookie = 0;
    const auto header = header_with_tag(3);
    ASSERT_TRUE(node.channels[0]->try_expose(1, header, whole(bytes), node.events[0]->exposing(&cookie)));
    for (int pass = 0; pass < 4; ++pass) node.channels[1]->progress(*node.events[1], 0);
    EXPECT_EQ(node.events[1]->fetched, 0);
    node.channels[0]->load().own_block().pid = -1;
    for (int pass = 0; pass < 4; ++pass) node.channels[1]->progress(*node.events[1], 0);
    node.settle();
    EXPECT_EQ(node.events[0]->exposed_done[&cookie], 1);
    EXPECT_EQ(node.events[1]->fetched, 1);
    EXPECT_TRUE(node.events[1]->messages.back()->bytes == bytes);
    EXPECT_TRUE(node.channels[0]->flushed());
  }
}

// The third process of the node is one of its own.
class NeighbourTest : public ::testing::Test {
 protected:
  NeighbourTest() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      const ProcessIdentity self = own_identity();
      [[maybe_unused]] const ssize_t told = write(ready[1], &self, sizeof self);
      while (true) pause();
    }
    ProcessIdentity identity;
    EXPECT_EQ(read(ready[0], &identity, sizeof identity), ssize_t{sizeof identity});
    close(ready[0]);
    close(ready[1]);
    node_.channels[2]->load().own_block().identity = identity;
    // The first look only starts the clock.
    look();
  }
  ~NeighbourTest() override { end_child(); }

  void end_child() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    siginfo_t gone;
    waitid(P_PID, static_cast<id_t>(child_), &gone, WEXITED | WNOWAIT);
  }
  void bury_child() {
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  void look() {
    now_ += 10 * second;
    node_.channels[0]->look_around(*node_.events[0], now_);
  }
  const std::vector<ProcessIndex>& lost() const { return node_.events[0]->lost; }

  Node node_{Knobs{}, 3};
  pid_t child_ = -1;
  Nanoseconds now_ = 0;
};

TEST_F(NeighbourTest, DeathIsReportedOnce) {
  look();
  EXPECT_TRUE(lost().empty());
  end_child();  // its parent, this test, has not asked for it yet
  look();
  EXPECT_EQ(lost(), std::vector<ProcessIndex>{2});
  bury_child();
  look();
  EXPECT_EQ(lost().size(), 1u);
}

TEST_F(NeighbourTest, WhoHasLeftTheJobMayEnd) {
  node_.channels[2]->load().own_block().left.store(1);
  end_child();
  bury_child();
  look();
  EXPECT_TRUE(lost().empty());
}

TEST_F(NeighbourTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  ++node_.channels[2]->load().own_block().identity.started;
  look();
  EXPECT_EQ(lost(), std::vector<ProcessIndex>{2});
}

TEST_F(NeighbourTest, NumbersOfOtherContainersSayNothing) {
  ++node_.channels[2]->load().own_block().identity.numbering;
  end_child();
  bury_child();
  look();
  EXPECT_TRUE(lost().empty());
}

TEST(SharedMemoryChannel, ManyProcessesInSmallRings) {
  Knobs knobs;
  knobs.shm_total = 1 << 20;
  constexpr std::int32_t processes = 70;  // more than a word of announcements
  Node node(knobs, processes);
  Bytes bytes = pattern(1500, 1);
  for (std::int32_t from = 0; from < processes; ++from)
    for (std::int32_t to = 0; to < processes; ++to)
      if (from != to)
        while (
            !node.channels[static_cast<std::size_t>(from)]->try_send(to, header_with_tag(from), whole(bytes)))
          node.turn();
  node.settle();
  for (const auto& recorder : node.events) {
    EXPECT_EQ(recorder->messages.size(), processes - 1u);
    for (const auto& message : recorder->messages) {
      EXPECT_EQ(message->source, message->tag);
      EXPECT_TRUE(message->bytes == bytes);
    }
  }
}

TEST(SharedMemoryChannel, DifferentSettingsAreRefused) {
  Knobs knobs;
  auto file = make_memory_file("hawser-test").value();
  auto first = SharedSegment::map(file.get(), SegmentLayout::plan(2, knobs));
  ASSERT_TRUE(first);
  knobs.shm_ring_slots = 1024;
  auto second = SharedSegment::map(file.get(), SegmentLayout::plan(2, knobs));
  EXPECT_FALSE(second);
}

TEST(SharedMemoryChannel, Areas) {
  Knobs knobs;
  knobs.shm_areas = 3;
  Node node(knobs);
  const auto a = node.channels[0]->allocate();
  const auto b = node.channels[0]->allocate();
  EXPECT_NE(a, b);
  EXPECT_GE(node.channels[0]->allocate(), 0);
  EXPECT_EQ(node.channels[0]->allocate(), -1);
  node.channels[0]->release(b);
  EXPECT_EQ(node.channels[0]->allocate(), b);
  node.channels[0]->address(0, a)[5] = std::byte{42};
  EXPECT_EQ(node.channels[1]->address(0, a)[5], std::byte{42});
  EXPECT_EQ(node.channels[1]->address(1, a)[5], std::byte{0});
}

// Two threads, each its own channel: the sanitizers see every pair of accesses that two processes make.
TEST(SharedMemoryChannel, Threads) {
  Knobs knobs;
  knobs.shm_ring_slots = 64;
  Node node(knobs);
  constexpr int messages = 2000;
  const auto run = [&](std::size_t self) {
    SharedMemoryChannel& channel = *node.channels[self];
    Recorder& events = *node.events[self];
    const auto peer = static_cast<ProcessIndex>(1 - self);
    Random random(self);
    std::vector<Bytes> kept;
    std::vector<int> cookies(messages);
    int exposed = 0;
    for (int i = 0; i < messages; ++i) {
      if (i % 100 == 99) {
        ++exposed;
        kept.push_back(pattern(200000, static_cast<std::uint64_t>(i)));
        while (!channel.try_expose(peer, header_with_tag(i), whole(kept.back()),
                                   events.exposing(&cookies[static_cast<std::size_t>(i)])))
          channel.progress(events, 0);
      } else {
        Bytes bytes = pattern(random.below(random.chance(0.1) ? 16000 : 50), static_cast<std::uint64_t>(i));
        while (!channel.try_send(peer, header_with_tag(i), whole(bytes))) channel.progress(events, 0);
      }
    }
    while (events.messages.size() < messages || !events.messages.back()->whole || events.fetched < exposed ||
           !channel.flushed())
      if (!channel.progress(events, 0)) std::this_thread::yield();
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  for (const auto& recorder : node.events)
    for (int i = 0; i < messages; ++i) {
      const auto& message = *recorder->messages[static_cast<std::size_t>(i)];
      ASSERT_EQ(message.tag, i);
      ASSERT_TRUE(message.bytes == pattern(message.bytes.size(), static_cast<std::uint64_t>(i)));
    }
}

}  // namespace
}  // namespace hawser
