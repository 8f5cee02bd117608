// Receives that are shown to their senders: turn by turn, in random orders, and from two threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "channel/channel_test_support.h"
#include "channel/shared_memory_channel.h"

namespace hawser {
namespace {

using namespace channel_test;

constexpr std::int32_t any = -1;

struct Header {
  std::int16_t unused = 0;
  std::int32_t tag = 0;
  std::uint32_t message = 0;  // which message it is; says what its bytes are
};
TransportHeader header_of(std::int32_t tag, std::uint32_t message) {
  TransportHeader header;
  const Header own{0, tag, message};
  std::memcpy(header.own.data(), &own, sizeof(own));
  return header;
}
Header own_part(const TransportHeader& header) {
  Header own;
  std::memcpy(&own, header.own.data(), sizeof(own));
  return own;
}
TransportHeader mask_for(std::int32_t tag) {
  TransportHeader mask = header_of(tag == any ? 0 : -1, 0);
  mask.handler = static_cast<HandlerId>(0xff);
  mask.traffic = static_cast<TrafficClass>(0);
  return mask;
}
Bytes content(std::uint32_t message) { return pattern(70000 + message % 7 * 30000, message); }

// Matches as MPI does, for one source.
class Receiver final : public TransportEvents {
 public:
  struct Receive final : Completion {
    void on_complete(Result<> result) override { whole = static_cast<bool>(result); }
    std::int32_t tag = 0;
    Bytes memory = Bytes(300000);
    int place = -1;
    bool whole = false;
    std::uint32_t message = 0;
    std::int64_t size = 0;
  };
  struct Waiting {
    Header header;
    Bytes bytes;  // of a small one
    ExposeToken token;
    std::int64_t size;
  };

  explicit Receiver(SharedMemoryChannel& channel) : channel_(channel), shown_(*channel.posted_receives()) {}

  Receive& post(std::int32_t tag) {
    Receive& receive = all.emplace_back();
    receive.tag = tag;
    for (auto i = unexpected_.begin(); i != unexpected_.end(); ++i) {
      if (tag != any && tag != i->header.tag) continue;
      take(receive, *i, i->bytes.data());
      unexpected_.erase(i);
      return receive;
    }
    if (posted_.empty() || posted_.back()->place >= 0)
      receive.place = shown_.show(0, header_of(std::max(tag, 0), 0), mask_for(tag), whole(receive.memory));
    posted_.push_back(&receive);
    return receive;
  }
  // MPI_Cancel of one that waits.
  bool cancel(Receive& receive) {
    const auto found = std::find(posted_.begin(), posted_.end(), &receive);
    if (found == posted_.end() || (receive.place >= 0 && !shown_.withdraw(receive.place))) return false;
    posted_.erase(found);
    return true;
  }
  // A receive that nothing matches.
  void show_and_withdraw(std::int32_t tag, Bytes& memory) {
    const int place = shown_.show(0, header_of(tag, 0), mask_for(tag), whole(memory));
    if (place >= 0) shown_.withdraw(place);
  }
  std::size_t waiting() const { return posted_.size(); }
  Receive& last() { return *posted_.back(); }

  void on_packet(ProcessIndex, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override {
    Waiting message{own_part(header), Bytes(payload, payload + size), {}, size};
    if (Receive* receive = match(message.header)) {
      const bool certain = receive->place < 0 || shown_.withdraw(receive->place);
      EXPECT_TRUE(certain);
      take(*receive, message, payload);
    } else {
      unexpected_.push_back(std::move(message));
    }
  }
  void on_offer(ProcessIndex, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override {
    const Waiting message{own_part(header), {}, token, size};
    if (Receive* receive = match(message.header))
      take(*receive, message, nullptr);
    else
      unexpected_.push_back(message);
  }
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) override {
    ADD_FAILURE() << "no message of this test is of that size";
    return {};
  }
  void on_bad_packet(ProcessIndex, std::string what) override { complaints.push_back(std::move(what)); }

  std::list<Receive> all;
  std::vector<std::string> complaints;

 private:
  Receive* match(const Header& header) {
    for (auto i = posted_.begin(); i != posted_.end(); ++i) {
      Receive* const receive = *i;
      if (receive->tag != any && receive->tag != header.tag) continue;
      posted_.erase(i);
      return receive;
    }
    return nullptr;
  }
  void take(Receive& receive, const Waiting& message, const std::byte* payload) {
    receive.message = message.header.message;
    receive.size = message.size;
    if (payload != nullptr) {
      std::copy_n(payload, message.size, receive.memory.begin());
      receive.whole = true;
      return;
    }
    const ByteSequence into{receive.memory.data(), message.size, nullptr};
    if (receive.place >= 0)
      shown_.fetch_shown(receive.place, 0, message.token, into, &receive);
    else
      channel_.fetch(0, message.token, into, &receive);
  }

  SharedMemoryChannel& channel_;
  PostedReceives& shown_;
  std::list<Receive*> posted_;
  std::list<Waiting> unexpected_;
};

class Sender {
 public:
  explicit Sender(SharedMemoryChannel& channel) : channel_(channel) {}
  bool send_large(std::int32_t tag) {
    Bytes& bytes = memory_.emplace_back(content(next_));
    if (!channel_.try_expose(1, header_of(tag, next_), whole(bytes), events.exposing(&bytes))) {
      memory_.pop_back();
      return false;
    }
    ++next_;
    ++large;
    return true;
  }
  bool send_small(std::int32_t tag) {
    Bytes bytes = content(next_);
    bytes.resize(20);
    if (!channel_.try_send(1, header_of(tag, next_), whole(bytes))) return false;
    ++next_;
    return true;
  }
  bool progress() { return channel_.progress(events, 0); }
  std::size_t done() const { return events.exposed_done.size(); }
  std::uint64_t written() const { return counted(channel_, "bytes_written_to_receivers"); }

  std::size_t large = 0;
  Recorder events;

 private:
  SharedMemoryChannel& channel_;
  std::list<Bytes> memory_;
  std::uint32_t next_ = 1;
};

struct Pair {
  explicit Pair(std::int64_t patience = 3, const char* single_copy = "auto") {
    knobs.shm_patience = patience;
    knobs.shm_single_copy = single_copy;
    knobs.shm_single_copy_chunk = 40000;
    const auto layout = SegmentLayout::plan(2, knobs);
    auto file = make_memory_file("hawser-test").value();
    const SharedSegment segment = SharedSegment::map(file.get(), layout).value();
    for (std::int32_t i = 0; i < 2; ++i)
      channels.push_back(
          std::make_unique<SharedMemoryChannel>(segment, i, std::vector<ProcessIndex>{0, 1}, 2, knobs));
    sender = std::make_unique<Sender>(*channels[0]);
    receiver = std::make_unique<Receiver>(*channels[1]);
  }
  void sender_alone(int passes = 200) {
    for (int i = 0; i < passes; ++i) sender->progress();
  }
  void settle() {
    for (int quiet = 0; quiet < 1000; ++quiet) {
      const bool moved = sender->progress();
      if (channels[1]->progress(*receiver, 0) || moved) quiet = 0;
    }
  }
  static void check(const Receiver::Receive& receive) {
    EXPECT_TRUE(receive.whole);
    const Bytes wanted = content(receive.message);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + receive.size, receive.memory.begin()))
        << "message " << receive.message;
  }

  Knobs knobs;
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::unique_ptr<Sender> sender;
  std::unique_ptr<Receiver> receiver;
};

TEST(SharedWrite, AMessageArrivesThoughItsReceiverDoesNothing) {
  Pair pair;
  Receiver::Receive& receive = pair.receiver->post(5);
  ASSERT_TRUE(pair.sender->send_large(5));
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 1u);
  EXPECT_FALSE(receive.whole);
  pair.settle();
  Pair::check(receive);
  EXPECT_EQ(pair.sender->written(), static_cast<std::uint64_t>(receive.size));
  EXPECT_TRUE(pair.channels[0]->flushed());
}

TEST(SharedWrite, ReceivesArePostedBeforeOrAfterTheMessage) {
  Pair pair;
  ASSERT_TRUE(pair.sender->send_large(5));
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 0u);
  Receiver::Receive& receive = pair.receiver->post(any);
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 1u);
  pair.settle();
  Pair::check(receive);
}

TEST(SharedWrite, ARowOfMessagesFillsARowOfReceives) {
  Pair pair;
  for (const std::int32_t tag : {5, 6, 5, any, 7}) pair.receiver->post(tag);
  for (const std::int32_t tag : {5, 5, 6, 7, 8}) ASSERT_TRUE(pair.sender->send_large(tag));
  pair.sender_alone();
  // The second 7 is taken by the receive of any tag; the 8 finds none.
  EXPECT_EQ(pair.sender->done(), 4u);
  Receiver::Receive& last = pair.receiver->post(8);
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 5u);
  ASSERT_TRUE(pair.sender->send_large(7));
  pair.settle();
  EXPECT_EQ(pair.sender->done(), 6u);
  for (const Receiver::Receive& receive : pair.receiver->all) Pair::check(receive);
  EXPECT_EQ(last.message, 5u);
}

TEST(SharedWrite, MessagesAreWrittenOneAfterTheOther) {
  Pair pair;
  for (int i = 0; i < 10; ++i) pair.receiver->post(5);
  for (std::size_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(pair.sender->send_large(5));
    pair.sender_alone();
    EXPECT_EQ(pair.sender->done(), i);
  }
  pair.settle();
  std::uint32_t message = 0;
  for (const Receiver::Receive& receive : pair.receiver->all) {
    Pair::check(receive);
    EXPECT_EQ(receive.message, ++message);
  }
}

// What stands in the ring before a message might take its receive: only the receiver knows.
TEST(SharedWrite, NothingIsWrittenBehindAMessageThatWasNotLookedAt) {
  Pair pair;
  Receiver::Receive& first = pair.receiver->post(5);
  ASSERT_TRUE(pair.sender->send_small(5));
  ASSERT_TRUE(pair.sender->send_large(5));
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 0u);
  Receiver::Receive& second = pair.receiver->post(5);
  pair.settle();
  EXPECT_EQ(first.message, 1u);
  EXPECT_EQ(second.message, 2u);
  EXPECT_EQ(pair.sender->written(), 0u);
  for (const Receiver::Receive& receive : pair.receiver->all) Pair::check(receive);
}

TEST(SharedWrite, AReceiveIsCancelledOnlyUntilItsMessageIsWritten) {
  Pair pair;
  Receiver::Receive& cancelled = pair.receiver->post(5);
  EXPECT_TRUE(pair.receiver->cancel(cancelled));
  ASSERT_TRUE(pair.sender->send_large(5));
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 0u);
  Receiver::Receive& receive = pair.receiver->post(5);
  pair.sender_alone();
  EXPECT_FALSE(pair.receiver->cancel(receive));
  pair.settle();
  Pair::check(receive);
}

// It asks for the rest through the ring, or copies beside the sender.
TEST(SharedWrite, TheReceiverComesInTheMiddle) {
  for (const char* single_copy : {"auto", "always"}) {
    for (int passes = 0; passes < 12; ++passes) {
      Pair pair(3, single_copy);
      for (int message = 0; message < 6; ++message) {
        pair.receiver->post(5);
        ASSERT_TRUE(pair.sender->send_large(5));
      }
      pair.sender_alone(passes);
      pair.settle();
      for (const Receiver::Receive& receive : pair.receiver->all) Pair::check(receive);
      EXPECT_EQ(pair.sender->done(), 6u) << passes;
      EXPECT_TRUE(pair.channels[0]->flushed());
    }
  }
}

TEST(SharedWrite, AReceiverThatComesInTheMiddleCopiesBesideItsSender) {
  Pair pair(3, "always");
  Receiver::Receive& receive = pair.receiver->post(5);
  ASSERT_TRUE(pair.sender->send_large(5));
  while (pair.sender->written() == 0) pair.sender->progress();
  const std::uint64_t before = pair.sender->written();
  pair.settle();
  Pair::check(receive);
  EXPECT_LT(before, static_cast<std::uint64_t>(receive.size));
  EXPECT_EQ(counted(*pair.channels[1], "ring_bytes_received"), 0u);
  EXPECT_EQ(counted(*pair.channels[1], "bytes_copied_from_senders") + pair.sender->written(),
            static_cast<std::uint64_t>(receive.size));
}

class KernelRefuses : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(SharedWrite, KernelRefuses, testing::Values("auto", "always"));
TEST_P(KernelRefuses, InTheMiddle) {
  Pair pair(3, GetParam());
  Receiver::Receive& receive = pair.receiver->post(5);
  ASSERT_TRUE(pair.sender->send_large(5));
  while (pair.sender->written() == 0) pair.sender->progress();
  const pid_t pid = pair.channels[1]->load().own_block().pid;
  pair.channels[1]->load().own_block().pid = -1;
  pair.sender_alone();
  EXPECT_EQ(pair.sender->done(), 0u);
  pair.channels[1]->load().own_block().pid = pid;
  pair.settle();
  Pair::check(receive);
  EXPECT_EQ(pair.sender->done(), 1u);
  EXPECT_TRUE(pair.channels[0]->flushed());
}

TEST(SharedWrite, NothingIsShownWhereTheKernelMayNotCopy) {
  Knobs knobs;
  knobs.shm_single_copy = "never";
  const SharedSegment segment =
      SharedSegment::map(make_memory_file("hawser-test").value().get(), SegmentLayout::plan(2, knobs))
          .value();
  SharedMemoryChannel channel(segment, 0, {0, 1}, 2, knobs);
  EXPECT_EQ(channel.posted_receives(), nullptr);
}

// Which of the two ways costs less is found out by using both.
TEST(SharedWrite, BothWaysAreTried) {
  Pair pair(1'000'000);
  for (int i = 0; i < 30; ++i) {
    pair.receiver->post(5);
    ASSERT_TRUE(pair.sender->send_large(5));
    pair.settle();
  }
  for (const Receiver::Receive& receive : pair.receiver->all) Pair::check(receive);
  std::uint64_t total = 0, through_ring = 0, by_kernel = 0;
  for (const Receiver::Receive& receive : pair.receiver->all)
    total += static_cast<std::uint64_t>(receive.size);
  for (const auto& channel : pair.channels) {
    through_ring += counted(*channel, "ring_bytes_received");
    by_kernel +=
        counted(*channel, "bytes_copied_from_senders") + counted(*channel, "bytes_written_to_receivers");
  }
  EXPECT_GE(by_kernel, total / 10);
  EXPECT_GE(through_ring, total / 10);
}

// More receives than places, each with its message, over and over: places and numbers come back.
TEST(SharedWrite, PlacesAreUsedAgain) {
  Pair pair;
  std::uint64_t before = 0;
  for (int lap = 0; lap < 20; ++lap) {
    for (int i = 0; i < 20; ++i) pair.receiver->post(i);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(pair.sender->send_large(i));
    pair.sender_alone(400);
    EXPECT_GT(pair.sender->written(), before) << "lap " << lap;
    before = pair.sender->written();
    pair.settle();
  }
  EXPECT_EQ(pair.sender->done(), 400u);
  for (const Receiver::Receive& receive : pair.receiver->all) Pair::check(receive);
}

class RandomSharedWrite : public testing::TestWithParam<std::uint64_t> {};

void send_something(Sender& sender, Random& random) {
  const auto tag = static_cast<std::int32_t>(random.below(3));
  if (random.chance(0.3))
    sender.send_small(tag);
  else
    sender.send_large(tag);
}
void post_or_cancel(Receiver& receiver, Random& random) {
  if (random.chance(0.1) && receiver.waiting() > 0)
    receiver.cancel(receiver.last());
  else if (receiver.waiting() < 25)
    receiver.post(random.chance(0.2) ? any : static_cast<std::int32_t>(random.below(3)));
}

TEST_P(RandomSharedWrite, EveryReceiveHoldsItsMessage) {
  std::uint64_t written = 0;
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Pair pair(static_cast<std::int64_t>(random.below(4)));
    for (int step = 0; step < 150; ++step) {
      const auto what = random.below(5);
      if (what == 0) send_something(*pair.sender, random);
      if (what == 1) post_or_cancel(*pair.receiver, random);
      if (what == 2 && random.chance(0.3)) pair.channels[1]->progress(*pair.receiver, 0);
      if (what > 2) pair.sender_alone(static_cast<int>(random.below(10)));
    }
    pair.settle();
    // What still waits is received.
    while (pair.receiver->waiting() < 25 && pair.sender->done() < pair.sender->large) {
      pair.receiver->post(any);
      pair.settle();
    }
    EXPECT_EQ(pair.sender->done(), pair.sender->large);
    EXPECT_TRUE(pair.receiver->complaints.empty()) << pair.receiver->complaints.front();
    for (const Receiver::Receive& receive : pair.receiver->all)
      if (receive.size > 0) Pair::check(receive);
    written += pair.sender->written();
  }
  EXPECT_GT(written, 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSharedWrite, testing::Values(1, 1001, 2001, 3001));

// The two ends in threads of their own. `between`: what the receiver does while the sender goes on alone.
template <class Between>
void exchange_in_threads(std::size_t messages, Between&& between) {
  Pair pair(2);
  std::atomic<bool> over = false;
  std::thread other([&] {
    Random random(1);
    while (pair.sender->done() < messages && !over) {
      if (pair.sender->large < messages && random.chance(0.3)) pair.sender->send_large(random.chance(0.5));
      if (!pair.sender->progress()) std::this_thread::yield();
    }
    over = true;
  });
  Random random(2);
  while (!over) {
    // The last of the receives that wait takes any message, so there is always one for the next.
    const std::size_t waiting = pair.receiver->waiting();
    if (waiting < 10) pair.receiver->post(waiting == 9 ? any : random.chance(0.5));
    for (auto pause = random.below(50); pause > 0; --pause) between(*pair.receiver);
    pair.channels[1]->progress(*pair.receiver, 0);
    if (!pair.receiver->complaints.empty()) over = true;
  }
  other.join();
  ASSERT_THAT(pair.receiver->complaints, testing::IsEmpty());
  pair.settle();
  EXPECT_EQ(std::count_if(pair.receiver->all.begin(), pair.receiver->all.end(),
                          [](const auto& receive) { return receive.whole; }),
            static_cast<std::ptrdiff_t>(messages));
  EXPECT_THAT(pair.receiver->complaints, testing::IsEmpty());
  for (const Receiver::Receive& receive : pair.receiver->all)
    if (receive.whole) Pair::check(receive);
}

TEST(SharedWrite, Threads) {
  exchange_in_threads(400, [](Receiver&) { std::this_thread::yield(); });
}

// The sender finds again and again that the receives have changed since it looked for the one that it claims.
TEST(SharedWrite, ClaimsThatFail) {
  Bytes unused(8);
  exchange_in_threads(1000, [&](Receiver& receiver) { receiver.show_and_withdraw(99, unused); });
}

}  // namespace
}  // namespace hawser
