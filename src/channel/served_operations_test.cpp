// Puts and gets of few bytes that the owner carries out while it waits, and what becomes of them when it does
// not look.
#include "channel/served_operations.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>

#include "channel/channel_test_support.h"
#include "channel/shared_memory_channel.h"

namespace hawser {
namespace {

using namespace channel_test;

constexpr ProcessIndex origin = 0, owner = 1;
constexpr TrafficClass traffic = TrafficClass::one_sided;

class ServedOperationsTest : public testing::Test {
 protected:
  struct End final : Completion {
    void on_complete(Result<> result) override {
      ++ends;
      if (!result) error = result.error().kind;
    }
    int ends = 0;
    std::optional<ErrorKind> error;
  };

  ServedOperationsTest() : memory(pattern(4096, 1)) {
    const Knobs knobs;
    const auto layout = SegmentLayout::plan(2, knobs);
    segment = SharedSegment::map(make_memory_file("hawser-test").value().get(), layout).value();
    for (std::int32_t i = 0; i < 2; ++i) {
      channels.push_back(
          std::make_unique<SharedMemoryChannel>(segment, i, std::vector<ProcessIndex>{0, 1}, 2, knobs));
      events.push_back(std::make_unique<Recorder>());
    }
    // Both may run anywhere, so the node is not crowded.
    for (auto& channel : channels) channel->load().own_block().cpus.words[0] = 3;
    token = windows(owner).register_window(memory.data(), 4096).value();
  }
  ~ServedOperationsTest() override { windows(owner).unregister_window(token); }

  RemoteMemory& windows(ProcessIndex process) {
    return *channels[static_cast<std::size_t>(process)]->remote_memory();
  }
  bool turn(ProcessIndex process) {
    const auto place = static_cast<std::size_t>(process);
    return channels[place]->progress(*events[place], 0);
  }
  // What a process does that waits.
  std::atomic<std::uint32_t>& attentive() {
    return channels[static_cast<std::size_t>(owner)]->load().own_block().attentive;
  }
  End& put(std::int64_t offset, const ByteSequence& from) {
    End& end = ends.emplace_back();
    while (!windows(origin).try_put(owner, {token, offset}, from, traffic, &end)) turn(owner), turn(origin);
    return end;
  }
  End& get(std::int64_t offset, const ByteSequence& into) {
    End& end = ends.emplace_back();
    while (!windows(origin).try_get(owner, {token, offset}, into, traffic, &end)) turn(owner), turn(origin);
    return end;
  }
  End& flush() {
    End& end = ends.emplace_back();
    windows(origin).flush(owner, end);
    return end;
  }
  Bytes there(std::int64_t offset, std::size_t size) {
    return {memory.begin() + offset, memory.begin() + offset + static_cast<std::ptrdiff_t>(size)};
  }

  SharedSegment segment;
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::vector<std::unique_ptr<Recorder>> events;
  Bytes memory;
  WindowToken token;
  std::deque<End> ends;
};

TEST_F(ServedOperationsTest, OwnerThatWaitsCarriesOut) {
  for (std::size_t size = 1; size <= 600; size += size < 40 ? 1 : 40) {
    attentive() = 1;
    Bytes bytes = pattern(size, size);
    const Bytes before = there(8, size);
    const bool few = size <= ServedOperations::largest_put;
    const End& written = put(8, whole(bytes));
    EXPECT_EQ(there(8, size), few ? before : bytes) << "the kernel copies what is large, and nothing else";
    std::fill(bytes.begin(), bytes.end(), std::byte{});
    const End& flushed = flush();
    turn(origin);
    EXPECT_EQ(written.ends, 1) << "the bytes are the caller's again";
    EXPECT_EQ(flushed.ends, few ? 0 : 1);
    turn(owner), turn(origin);
    EXPECT_EQ(flushed.ends, 1);
    EXPECT_EQ(there(8, size), pattern(size, size));

    Bytes got(size);
    const End& read = get(8, whole(got));
    if (size <= ServedOperations::largest_get) {
      turn(origin);
      EXPECT_EQ(read.ends, 0);
    }
    turn(owner), turn(origin);
    EXPECT_EQ(read.ends, 1);
    EXPECT_EQ(got, pattern(size, size));
  }
  EXPECT_EQ(attentive(), 1u);
}

TEST_F(ServedOperationsTest, PiecesArePackedAndUnpacked) {
  attentive() = 1;
  EveryOther from(24), into(24);
  from.memory = pattern(48, 3);
  put(5, from.sequence());
  const End& read = get(5, into.sequence());
  turn(owner), turn(origin);
  EXPECT_EQ(there(5, 24), from.packed());
  EXPECT_EQ(read.ends, 1);
  EXPECT_EQ(into.packed(), from.packed());
}

// However many there are, and however often the numbers of places come round.
TEST_F(ServedOperationsTest, ManyAtOnce) {
  attentive() = 1;
  std::vector<std::uint64_t> values(100), got(100);
  for (std::uint64_t round = 1; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      values[i] = round * 1000 + i;
      put(static_cast<std::int64_t>(8 * i), {reinterpret_cast<std::byte*>(&values[i]), 8, nullptr});
    }
    const End& flushed = flush();
    while (flushed.ends == 0) turn(owner), turn(origin);
    std::vector<const End*> reads;
    for (std::uint64_t i = 0; i < 100; ++i)
      reads.push_back(
          &get(static_cast<std::int64_t>(8 * i), {reinterpret_cast<std::byte*>(&got[i]), 8, nullptr}));
    while (std::any_of(reads.begin(), reads.end(), [](const End* end) { return end->ends == 0; }))
      turn(owner), turn(origin);
    EXPECT_EQ(got, values);
  }
}

// The owner stopped looking: what it was asked for is done without it, and never done by it later.
TEST_F(ServedOperationsTest, OwnerThatComputesDelaysNobody) {
  attentive() = 1;
  Bytes bytes = pattern(8, 7), more = pattern(100, 8), got(8);
  put(0, whole(bytes));
  put(100, whole(more));
  const End& read = get(16, whole(got));
  const End& flushed = flush();
  for (int passes = 0; passes < 1000 && flushed.ends + read.ends < 2; ++passes) turn(origin);
  EXPECT_EQ(flushed.ends, 1);
  EXPECT_EQ(read.ends, 1);
  EXPECT_EQ(there(0, 8), bytes);
  EXPECT_EQ(there(100, 100), more);
  EXPECT_EQ(got, there(16, 8));
  EXPECT_EQ(attentive(), 0u) << "so the next one asks the kernel at once";
  Bytes next = pattern(8, 9);
  put(0, whole(next));
  EXPECT_EQ(there(0, 8), next);

  while (turn(owner)) {
  }
  EXPECT_EQ(there(0, 8), next) << "an old put came late";
  attentive() = 1;
  put(0, whole(bytes));
  const End& again = flush();
  turn(owner), turn(origin);
  EXPECT_EQ(again.ends, 1);
  EXPECT_EQ(there(0, 8), bytes);
}

// It comes to what was withdrawn when the window has been closed, and another one is in its place.
TEST_F(ServedOperationsTest, OwnerThatClosesTheWindowMeanwhile) {
  for (const bool replaced : {false, true}) {
    attentive() = 1;
    Bytes bytes = pattern(8, 7), other(4096);
    put(0, whole(bytes));
    const End& flushed = flush();
    for (int passes = 0; passes < 1000 && flushed.ends == 0; ++passes) turn(origin);
    EXPECT_EQ(there(0, 8), bytes);
    windows(owner).unregister_window(token);
    if (replaced) token = windows(owner).register_window(other.data(), 4096).value();
    turn(owner);
    EXPECT_TRUE(events[static_cast<std::size_t>(owner)]->bad_packets.empty());
    EXPECT_EQ(other, Bytes(4096));
    if (!replaced) token = windows(owner).register_window(memory.data(), 4096).value();
  }
}

// A process that is gone stands for one whose memory the kernel does not show.
TEST_F(ServedOperationsTest, WhatTheKernelRefusesIsTheOwners) {
  EXPECT_TRUE(windows(origin).capabilities(owner).put);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  pid_t& pid = channels[static_cast<std::size_t>(owner)]->load().own_block().pid;
  const pid_t own = std::exchange(pid, gone);

  Bytes bytes = pattern(8, 7), large = pattern(1000, 8), got(8), got_large(1000);
  const End* const refused[] = {&put(0, whole(bytes)), &put(100, whole(large)), &get(0, whole(got)),
                                &get(100, whole(got_large))};
  const Bytes untouched = memory;
  turn(origin);
  for (const End* end : refused) {
    EXPECT_EQ(end->ends, 1);
    EXPECT_EQ(end->error, ErrorKind::unsupported) << "to be done by messages";
  }

  // What it was to do while it looked, it does when it looks again.
  attentive() = 1;
  put(0, whole(bytes));
  const End& read = get(16, whole(got));
  const End& flushed = flush();
  for (int passes = 0; passes < 1000; ++passes) turn(origin);
  EXPECT_EQ(flushed.ends, 0);
  EXPECT_EQ(memory, untouched);
  while (turn(owner)) {
  }
  while (turn(origin)) {
  }
  EXPECT_EQ(flushed.ends, 1);
  EXPECT_EQ(read.ends, 1);
  EXPECT_FALSE(read.error.has_value());
  EXPECT_EQ(there(0, 8), bytes);
  EXPECT_EQ(got, there(16, 8));
  pid = own;
}

// The owner comes and goes as it likes. Whoever carries an operation out, it is done when the flush is over,
// and not once more later.
TEST_F(ServedOperationsTest, OwnerThatComesAndGoes) {
  alignas(8) std::uint64_t cell = 0;
  const WindowToken own = windows(owner).register_window(reinterpret_cast<std::byte*>(&cell), 8).value();
  std::atomic<bool> over = false;
  std::thread waits([&] {
    Random random(5);
    while (!over) {
      attentive().store(1, std::memory_order_relaxed);
      for (auto passes = random.below(2000); passes > 0; --passes) turn(owner);
      for (volatile std::uint64_t pause = random.below(20000); pause > 0;) pause = pause - 1;
    }
  });
  std::atomic_ref<std::uint64_t> now(cell);
  std::uint64_t wrong = 0;
  for (std::uint64_t value = 1; value <= 50000; ++value) {
    End written, flushed, read;
    std::uint64_t here = value, got = 0;
    const ByteSequence bytes{reinterpret_cast<std::byte*>(&here), 8, nullptr};
    ASSERT_TRUE(windows(origin).try_put(owner, {own, 0}, bytes, traffic, &written));
    windows(origin).flush(owner, flushed);
    while (written.ends == 0 || flushed.ends == 0) turn(origin);
    wrong += now.load() != value;
    if (value % 4 != 0) continue;
    const ByteSequence into{reinterpret_cast<std::byte*>(&got), 8, nullptr};
    ASSERT_TRUE(windows(origin).try_get(owner, {own, 0}, into, traffic, &read));
    while (read.ends == 0) turn(origin);
    wrong += got != value;
  }
  over = true;
  waits.join();
  EXPECT_EQ(wrong, 0u);
  windows(owner).unregister_window(own);
}

// Each with channels of its own, for nothing more is taken from who sends nonsense.
class ServedNonsense : public ServedOperationsTest, public testing::WithParamInterface<ServedCommand> {};

TEST_P(ServedNonsense, IsReported) {
  RingSender& ring = *channels[static_cast<std::size_t>(origin)]->ring_to(owner);
  const Bytes before = memory;
  ASSERT_TRUE(ring.room(1, 0));
  Slot& slot = ring.next_slot();
  slot.header.channel_word = Slot::serve;
  std::memcpy(slot.payload, &GetParam(), sizeof(ServedCommand));
  ring.publish(slot);
  turn(owner);
  ASSERT_EQ(events[owner]->bad_packets.size(), 1u);
  EXPECT_EQ(events[owner]->bad_packets[0].first, origin);
  EXPECT_EQ(memory, before);
}

INSTANTIATE_TEST_SUITE_P(All, ServedNonsense,
                         testing::Values(ServedCommand{4090, 0, 8, 1, 0}, ServedCommand{-1, 0, 8, 1, 0},
                                         ServedCommand{INT64_MAX, 0, 8, 1, 0}, ServedCommand{0, 1, 8, 1, 0},
                                         ServedCommand{0, 0, 65, 0, 0}, ServedCommand{0, 0, 1000, 1, 0},
                                         ServedCommand{0, 0, 8, 0, ServedArea::answers}));

TEST_F(ServedOperationsTest, EndsThatNobodyAskedForAreReported) {
  attentive() = 1;
  Bytes bytes = pattern(8, 7);
  put(0, whole(bytes));
  ServedArea& area = segment.served_area(origin, owner);
  area.done = 2;
  turn(origin);
  ASSERT_EQ(events[origin]->bad_packets.size(), 1u);
  EXPECT_EQ(events[origin]->bad_packets[0].first, owner);
}

}  // namespace
}  // namespace hawser
