// A neighbour, or a process at the other end of a socket, that writes what it likes: the channel says so and
// goes on with the others; it touches no memory but the buffers that it was given, and reports nothing twice.
#include <gtest/gtest.h>

#include <map>

#include "channel/bad_neighbour_test_support.h"
#include "channel/shared_memory_channel.h"
#include "channel/socket_channel.h"

namespace hawser {
namespace {

using namespace channel_test;

// One of a few values near the limits of what is right, or anything.
std::uint64_t some(Random& random, std::initializer_list<std::uint64_t> values) {
  const auto place = random.below(values.size() + 1);
  return place < values.size() ? values.begin()[place] : random.next() >> random.below(64);
}

// Shared memory: the liar has a channel of its own, which begins as others do, and then writes slots by hand.
struct Neighbours {
  explicit Neighbours(Random& random) {
    Knobs knobs;
    knobs.shm_ring_bytes = 1 << 16;
    knobs.shm_single_copy = random.chance(0.5) ? "never" : "auto";
    knobs.shm_patience = static_cast<std::int64_t>(random.below(5));
    const auto layout = SegmentLayout::plan(3, knobs);
    auto file = make_memory_file("hawser-test").value();
    segment = SharedSegment::map(file.get(), layout).value();
    for (std::int32_t i = 0; i < 3; ++i) {
      channels.push_back(
          std::make_unique<SharedMemoryChannel>(segment, i, std::vector<ProcessIndex>{0, 1, 2}, 3, knobs));
      events.push_back(std::make_unique<Careful>(*channels.back()));
    }
    events_of(liar).is_liar = true;
    for (const ProcessIndex peer : {liar, witness}) {
      Traffic& with = peer == liar ? with_liar : with_witness;
      EXPECT_TRUE(at(victim).try_expose(peer, offer(), whole(with.offered),
                                        events_of(victim).exposing(&with.offered)));
      EXPECT_TRUE(
          at(peer).try_expose(victim, offer(), whole(with.wanted), events_of(peer).exposing(&with.wanted)));
    }
    for (auto turns = random.below(4); turns > 0; --turns) turn(victim), turn(liar);
  }
  SharedMemoryChannel& at(ProcessIndex process) { return *channels[static_cast<std::size_t>(process)]; }
  Careful& events_of(ProcessIndex process) { return *events[static_cast<std::size_t>(process)]; }
  bool turn(ProcessIndex process) { return at(process).progress(events_of(process), 0); }

  // Puts a slot of nonsense into the liar's ring.
  void lie(Random& random) {
    RingSender& ring = *at(liar).ring_to(victim);
    if (!ring.room(1, 0)) return;
    Slot& slot = ring.next_slot();
    slot.header = header_with_tag(5);
    slot.header.handler = static_cast<HandlerId>(random.below(7));
    slot.header.channel_word =
        static_cast<std::uint32_t>(random.chance(0.05) ? random.next() : random.below(12) + Slot::packet);
    const auto number = [&] { return static_cast<std::uint32_t>(some(random, {0, 1, 2, 58, 59, 60})); };
    const auto place = [&] {
      return Piece{static_cast<std::uint32_t>(some(random, {0, 64, 4096, 65536, 65535, 1u << 31})),
                   static_cast<std::uint32_t>(some(random, {0, 1, 100, 8192, 60'000, 65536, UINT32_MAX}))};
    };
    const auto size = [&] {
      return static_cast<std::int64_t>(some(
          random, {0, 1, 60'000, 70'000, 70'001, 1u << 20, std::uint64_t{INT64_MAX}, ~std::uint64_t{0}}));
    };
    const auto write = [&](const auto& body) { std::memcpy(slot.payload, &body, sizeof(body)); };
    switch (slot.header.channel_word) {
      case Slot::packet:
      case Slot::eager_more:
        write(place());
        break;
      case Slot::eager_begin:
        write(EagerBegin{place(), size()});
        break;
      case Slot::expose:
        write(ExposeToken{{number(), random.chance(0.5) ? 0 : random.next(),
                           static_cast<std::uint64_t>(size()), random.next()}});
        break;
      case Slot::pull:
        write(Pull{number(), number(), random.chance(0.4) ? -1 : size(), size(), size()});
        break;
      case Slot::data:
        write(Data{place(), size(), number(), number(), 1});
        break;
      case Slot::help:
        // It may have anything written into memory of its own, as far as our message goes.
        write(Help{number(), number(),
                   random.chance(0.2) ? 64 : reinterpret_cast<std::uint64_t>(scratch.data()), size()});
        break;
      case Slot::wrote:
        write(Wrote{number(), static_cast<std::uint32_t>(random.below(2)), size()});
        break;
      default:
        write(Left{number()});
        break;
    }
    ring.publish(slot);
    // The counters from which parts are claimed lie in the liar's block.
    if (random.chance(0.2))
      segment.block(liar).transfers[random.below(2)].claimed.store(size(), std::memory_order_relaxed);
  }

  void check_witness() {
    for (int quiet = 0; quiet < 100; ++quiet)
      if (turn(victim) | turn(witness)) quiet = 0;
    EXPECT_EQ(events_of(victim).exposed_done[&with_witness.offered].times, 1);
    EXPECT_EQ(events_of(witness).exposed_done[&with_witness.wanted].times, 1);
    const Careful::Arrival* got = nullptr;
    for (const auto& arrival : events_of(victim).arrivals)
      if (arrival.source == witness) got = &arrival;
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->ends, 1);
    EXPECT_TRUE(got->into.contents() == with_witness.wanted);
    ASSERT_EQ(events_of(witness).arrivals.size(), 1u);
    EXPECT_TRUE(events_of(witness).arrivals.front().into.contents() == with_witness.offered);
  }

  SharedSegment segment;
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::vector<std::unique_ptr<Careful>> events;
  Traffic with_liar{1}, with_witness{3};
  Bytes scratch = Bytes(70'000);
};

TEST(BadNeighbour, SlotsOfNonsense) {
  int refused = 0;
  std::map<std::string, int> reasons;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    Neighbours node(random);
    for (int packet = 0; packet < 6; ++packet) {
      node.lie(random);
      node.turn(victim);
      if (random.chance(0.3)) node.turn(liar);
    }
    for (int pass = 0; pass < 20; ++pass) node.turn(victim);
    node.check_witness();
    node.events_of(victim).check();
    refused += !node.events_of(victim).bad_packets.empty();
    EXPECT_LE(node.events_of(victim).bad_packets.size(), 2u);  // of what was said, and of its own counter
    for (std::string what : node.events_of(victim).bad_packets) {
      std::erase_if(what, [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
      ++reasons[what];
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  for (const auto& [what, times] : reasons) std::printf("%5d  %s\n", times, what.c_str());
  EXPECT_GT(refused, 3000);
  EXPECT_GE(reasons.size(), 8u);
}

// Sockets: the liar knows the secret and sends frames of its own.
TEST(BadNeighbour, FramesOfNonsense) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    SharedExchange shared(1);
    SharedExchange::End ends[3] = {{shared, 0}, {shared, 1}, {shared, 2}};
    std::vector<std::unique_ptr<SocketChannel>> channels;
    std::vector<std::unique_ptr<Careful>> events;
    for (ProcessIndex i = 0; i < 3; ++i) {
      channels.push_back(SocketChannel::open(i, 3, ends[i], {}).value());
      ASSERT_TRUE(channels.back()->publish());
      events.push_back(std::make_unique<Careful>(*channels.back()));
    }
    const auto turn = [&](ProcessIndex i) {
      const auto place = static_cast<std::size_t>(i);
      return channels[place]->progress(*events[place], 0);
    };
    Traffic with_liar(1), with_witness(3);
    for (const ProcessIndex peer : {liar, witness}) {
      Traffic& with = peer == liar ? with_liar : with_witness;
      ASSERT_TRUE(
          channels[0]->try_expose(peer, offer(), whole(with.offered), events[0]->exposing(&with.offered)));
    }
    ASSERT_TRUE(channels[2]->try_expose(victim, offer(), whole(with_witness.wanted),
                                        events[2]->exposing(&with_witness.wanted)));

    const auto target = SocketAddress::parse(ends[1].get(victim, "hawser-socket").value()).value();
    OutgoingConnection connection(target, network_identity(), liar, 1 << 20);
    ReadySet ready = ReadySet::make().value();
    for (int frames = 0; frames < 4; ++frames) {
      SocketFrame frame;
      frame.kind = static_cast<std::uint32_t>(some(random, {1, 2, 3, 4, 5, 0, 6}));
      const auto body = static_cast<std::uint32_t>(some(random, {0, 0, 1, 32, 24}) % 300);
      frame.body = body;
      frame.number = static_cast<std::uint32_t>(some(random, {0, 1, 2}));
      frame.fetch = static_cast<std::uint32_t>(some(random, {0, 1, 2}));
      frame.position = static_cast<std::int64_t>(some(random, {0, 1, 60'000, ~std::uint64_t{0}}));
      frame.size = static_cast<std::int64_t>(some(random, {0, 1, 70'000, 70'001, ~std::uint64_t{0}}));
      frame.header = header_with_tag(5);
      frame.header.handler = static_cast<HandlerId>(random.below(7));
      std::byte* const place = connection.add(frame);
      std::memset(place, 1, body);
      if (random.chance(0.1)) {
        frame.body = static_cast<std::uint32_t>(random.next());
        std::memcpy(place - sizeof(frame), &frame, sizeof(frame));
      }
    }
    const auto done = [&] {
      return events[0]->exposed_done[&with_witness.offered].times == 1 &&
             events[2]->exposed_done[&with_witness.wanted].times == 1;
    };
    bool broken = false;
    for (int quiet = 0; quiet < 40 || !done(); ++quiet) {
      const auto answers = ready.poll();
      broken = broken || !connection.advance(ready, 1, false, !answers.empty() && answers.front().writable);
      if (turn(victim) | turn(witness)) quiet = 0;
    }
    events[0]->check();
    refused += !events[0]->bad_packets.empty();
    EXPECT_LE(events[0]->bad_packets.size(), 1u);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  std::printf("%d of 1000 refused\n", refused);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace hawser
