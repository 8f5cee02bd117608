// A neighbour that writes any slots into its shared ring: its victim says so and goes on with a third
// process.
#include "channel/bad_neighbour_test_support.h"
#include "channel/shared_memory_channel.h"
#include "fuzz_input.h"
#include "strict_gtest.h"

using namespace hawser;
using namespace hawser::channel_test;

namespace {

struct Node {
  explicit Node(fuzz::FuzzInput& input) {
    Knobs knobs;
    knobs.shm_ring_bytes = 1 << 16;
    knobs.shm_single_copy = input.flag() ? "never" : "auto";
    knobs.shm_patience = input.below(5);
    const auto layout = SegmentLayout::plan(3, knobs);
    const auto file = make_memory_file("hawser-fuzz").value();
    segment = SharedSegment::map(file.get(), layout).value();
    for (ProcessIndex i = 0; i < 3; ++i) {
      channels.push_back(
          std::make_unique<SharedMemoryChannel>(segment, i, std::vector<ProcessIndex>{0, 1, 2}, 3, knobs));
      events.push_back(std::make_unique<Careful>(*channels.back()));
    }
    events[liar]->is_liar = true;
    for (const ProcessIndex peer : {liar, witness}) {
      Traffic& with = peer == liar ? with_liar : with_witness;
      static_cast<void>(channels[victim]->try_expose(peer, offer(), whole(with.offered),
                                                     events[victim]->exposing(&with.offered)));
      static_cast<void>(channels[static_cast<std::size_t>(peer)]->try_expose(
          victim, offer(), whole(with.wanted),
          events[static_cast<std::size_t>(peer)]->exposing(&with.wanted)));
    }
  }
  bool turn(ProcessIndex process) {
    const auto index = static_cast<std::size_t>(process);
    return channels[index]->progress(*events[index], 0);
  }
  void lie(fuzz::FuzzInput& input) {
    RingSender& ring = *channels[liar]->ring_to(victim);
    const auto header = input.value<TransportHeader>();
    std::byte payload[sizeof(Slot::payload)] = {};
    for (std::byte& byte : payload) byte = input.value<std::byte>();
    if (!ring.room(1, 0)) return;
    Slot& slot = ring.next_slot();
    slot.header = header;
    slot.header.channel_word %= 64;  // sizes of inline payload, and the kinds behind them
    std::memcpy(slot.payload, payload, sizeof payload);
    // The liar may have anything written into memory of its own; all the rest here is in one process.
    if (slot.header.channel_word == Slot::help) {
      Help help;
      std::memcpy(&help, payload, sizeof help);
      help.address = reinterpret_cast<std::uint64_t>(scratch.data());
      std::memcpy(slot.payload, &help, sizeof help);
    }
    ring.publish(slot);
  }
  // What others read of the liar's block.
  void scribble(fuzz::FuzzInput& input) {
    constexpr auto relaxed = std::memory_order_relaxed;
    ProcessBlock& block = segment.block(liar);
    if (input.flag()) {
      block.transfers[input.below(2)].claimed.store(input.value<std::int64_t>(), relaxed);
      return;
    }
    PostedBuffer& posted = block.posted[input.below(ProcessBlock::posted_count)];
    posted.order.store(input.value<std::uint64_t>(), relaxed);
    posted.source.store(input.value<std::int32_t>(), relaxed);
    posted.transfer.store(input.value<std::uint32_t>(), relaxed);
    posted.address.store(reinterpret_cast<std::uint64_t>(scratch.data()), relaxed);
    posted.size.store(input.value<std::int64_t>(), relaxed);
    for (auto& word : posted.header) word.store(input.value<std::uint64_t>(), relaxed);
    posted.state.store(input.value<std::uint64_t>(), std::memory_order_release);
  }

  SharedSegment segment;
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::vector<std::unique_ptr<Careful>> events;
  // Only read from, so one for all executions.
  static inline Traffic with_liar{1}, with_witness{3};
  Bytes scratch = Bytes(70'000);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  Node node(input);
  for (int steps = 0; steps < 60 && !input.empty(); ++steps) {
    switch (input.value<std::uint8_t>() % 5) {
      case 0:
      case 1:
        node.lie(input);
        break;
      case 2:
        node.turn(victim);
        break;
      case 3:
        node.turn(liar);
        break;
      default:
        node.scribble(input);
    }
  }
  for (int quiet = 0; quiet < 30; ++quiet) {
    const bool moved = node.turn(victim);
    if (node.turn(witness) || moved) quiet = 0;
  }
  node.events[victim]->check();
  HAWSER_ASSERT(node.events[victim]->exposed_done[&node.with_witness.offered].times == 1);
  HAWSER_ASSERT(node.events[witness]->exposed_done[&node.with_witness.wanted].times == 1);
  return 0;
}
