// The stripe engine for an owner that is no rendezvous: plain puts and gets of registered memory.
#include "rails/datapath/stripe_engine.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rails/datapath/completions.h"
#include "rails/datapath/ready_peer_test_support.h"

namespace hawser {
namespace {

using rails_test::FakeCompletions;
using rails_test::MachineAccess;

class Move final : public StripedTransfer, public StripeOwner {
 public:
  using StripedTransfer::StripedTransfer;
  bool prepare(StripedTransfer&) override { return false; }
  void on_done(StripedTransfer& transfer, const ByteRange& range) override {
    EXPECT_EQ(&transfer, this);
    EXPECT_TRUE(done.add(range)) << "twice: " << range.offset;
  }
  void on_failed(StripedTransfer&) override { ++failures; }

  RangeSet done;
  int failures = 0;
};

constexpr std::int64_t size = 1 << 20;

class StripeEngineTest : public testing::TestWithParam<Direction> {
 protected:
  StripeEngineTest() : here(size), there(size) {
    ready.context->now = 1;
    std::vector<std::byte>& source = GetParam() == Direction::write ? here : there;
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
    transfer.begin(*ready.channel, TrafficClass::one_sided, transfer);
    Registration& local = transfer.local();
    EXPECT_EQ(local.register_in_place(*ready.resources->registrations, here.data(), size, true, 3), 0u);
    RemoteBytes remote;
    remote.address = reinterpret_cast<std::uintptr_t>(there.data());
    remote.keys[0] = remote.keys[1] = 5;
    transfer.set_remote(remote);
    for (std::size_t i : {0, 1}) carry_out(i);  // the credit
    poll();
  }
  ~StripeEngineTest() override { transfer.reset(); }

  // The adapter does what is posted on the subchannel, as far as `most` stripes.
  void carry_out(std::size_t index, std::size_t most = SIZE_MAX) {
    auto& posted = ready.queue_pair(index).posted;
    auto& ready_queue = static_cast<FakeCompletions&>(ready.subchannel(index).rail.completions()).ready;
    std::size_t& next = next_posted_[index];
    for (std::size_t stripes = 0; next < posted.size() && stripes < most; ++next) {
      const rdma::SendRequest& request = posted[next];
      const rdma::Segment& segment = request.segments[0];
      auto* const remote = reinterpret_cast<std::byte*>(request.remote_address);
      if (request.opcode == rdma::Opcode::write) std::memcpy(remote, segment.address, segment.bytes);
      if (request.opcode == rdma::Opcode::read)
        std::memcpy(const_cast<std::byte*>(segment.address), remote, segment.bytes);
      if (!request.signaled) continue;
      ++stripes;
      ready_queue.push_back({.id = request.id, .opcode = request.opcode});
    }
  }
  void poll() {
    ready.context->now += 100 * microsecond;
    for (const auto& rail : ready.resources->rails) completions.poll_all(*rail);
  }
  void carry_out_all() {
    for (int turns = 0; transfer.moved() < size && turns < 1000; ++turns) {
      engine.progress();
      for (std::size_t i : {0, 1})
        if (ready.subchannel(i).in_service()) carry_out(i);
      poll();
    }
  }
  // What recovery does when the subchannel failed and the peer says how many packets it received.
  void fail(std::size_t index, std::uint32_t received) {
    Subchannel& subchannel = ready.subchannel(index);
    MachineAccess::tell(subchannel, {.kind = SubchannelEvent::Kind::fail, .reason = PathReason::watchdog});
    ready.channel->on_not_ready(subchannel, false);
    engine.take_back(subchannel, received);
    while (WorkEntry* entry = subchannel.traffic.in_flight.front()) {
      subchannel.traffic.remove(*entry, subchannel.rail.traffic);
      if (entry->kind == WorkEntry::Kind::write && sequence_distance(entry->ordinal, received) < 0)
        engine.on_done(*entry);
      else
        engine.on_failed(*entry);
    }
  }
  void expect_whole() {
    EXPECT_EQ(transfer.moved(), size);
    EXPECT_EQ(transfer.done.total(), size);
    EXPECT_TRUE(here == there);
    engine.withdraw(transfer);
    ready.resources->check_counts();
    EXPECT_EQ(engine.read_tokens(), ready.context->knobs.rail_reads);
  }

  rails_test::ReadyPeer ready{std::move(make_scheduling_policy("even")).value()};
  StripeEngine engine{*ready.context, *ready.resources, ready.upward};
  Completions completions{*ready.context, *ready.resources, engine, ready.upward};
  std::vector<std::byte> here, there;
  Move transfer{GetParam()};

 private:
  std::array<std::size_t, 2> next_posted_ = {};
};

TEST_P(StripeEngineTest, MovesARangeOverAllSubchannels) {
  engine.add(transfer, {0, size});
  carry_out_all();
  expect_whole();
  for (std::size_t i : {0, 1}) EXPECT_GT(ready.queue_pair(i).posted.size(), 2u) << i;
}

TEST_P(StripeEngineTest, MovesOnlyTheRangesThatWereAdded) {
  engine.add(transfer, {4096, 8192});
  engine.add(transfer, {65536, 4096});
  std::vector<std::byte> expected = GetParam() == Direction::write ? there : here;
  const std::vector<std::byte>& source = GetParam() == Direction::write ? here : there;
  for (const auto& [offset, bytes] : {ByteRange{4096, 8192}, ByteRange{65536, 4096}})
    std::memcpy(expected.data() + offset, source.data() + offset, static_cast<std::size_t>(bytes));
  carry_out_all();
  EXPECT_EQ(transfer.moved(), 12288);
  EXPECT_TRUE((GetParam() == Direction::write ? there : here) == expected);
  engine.withdraw(transfer);
}

TEST_P(StripeEngineTest, MovesWhatASubchannelThatFailedDidNot) {
  engine.add(transfer, {0, size});
  ASSERT_TRUE(engine.progress());
  ASSERT_GE(ready.subchannel(1).traffic.outstanding, 2);
  // One stripe arrived and was not heard of; the others did not get there.
  const std::uint32_t sent = ready.subchannel(1).traffic.sent;
  carry_out(1, 1);
  static_cast<FakeCompletions&>(ready.subchannel(1).rail.completions()).ready.clear();
  const std::uint32_t stripes = GetParam() == Direction::write ? 2 : 0;
  fail(1, sent - stripes + (stripes > 0 ? 1 : 0));
  EXPECT_GT(ready.context->counters.stripes_reissued, 0u);
  carry_out_all();
  expect_whole();
}

TEST_P(StripeEngineTest, HandsBackWhatNoAdapterReaches) {
  transfer.set_remote({});
  engine.add(transfer, {0, size});
  EXPECT_TRUE(engine.progress());
  EXPECT_EQ(transfer.failures, 1);
  ASSERT_EQ(transfer.rest().size(), 1u);
  EXPECT_EQ(transfer.rest().front().size, size);
  EXPECT_FALSE(engine.progress()) << "it is the owner's now";
  engine.withdraw(transfer);
}

TEST_P(StripeEngineTest, WaitsForASubchannelThatWillReachTheBytes) {
  RemoteBytes remote;
  remote.address = reinterpret_cast<std::uintptr_t>(there.data());
  remote.keys[0] = 5;
  transfer.set_remote(remote);
  ready.queue_pair(0).accepts = 0;  // full
  engine.add(transfer, {0, size});
  EXPECT_FALSE(engine.progress());
  EXPECT_EQ(transfer.failures, 0);
  ready.queue_pair(0).accepts = SIZE_MAX;
  carry_out_all();
  expect_whole();
}

INSTANTIATE_TEST_SUITE_P(Both, StripeEngineTest, testing::Values(Direction::write, Direction::read),
                         [](const auto& info) { return info.param == Direction::write ? "Put" : "Get"; });

class StripeEnginePutTest : public StripeEngineTest {};

// The peer's adapter acknowledged the write, and died before the peer's software saw it.
TEST_P(StripeEnginePutTest, TakesBackWhatThePeerNeverSaw) {
  engine.add(transfer, {0, 16384});
  const std::uint32_t before[] = {ready.subchannel(0).traffic.sent, ready.subchannel(1).traffic.sent};
  ASSERT_TRUE(engine.progress());
  for (std::size_t i : {0, 1}) carry_out(i);
  poll();
  ASSERT_EQ(transfer.moved(), 16384);
  const std::size_t used = ready.subchannel(0).traffic.sent != before[0] ? 0 : 1;
  transfer.done.clear();
  fail(used, before[used]);
  EXPECT_LT(transfer.moved(), 16384);
  for (int turns = 0; turns < 10; ++turns) {
    engine.progress();
    carry_out(1 - used);
    poll();
  }
  EXPECT_EQ(transfer.moved(), 16384);
  EXPECT_GT(ready.context->counters.taken_back, 0u);
  engine.withdraw(transfer);
}

TEST_P(StripeEnginePutTest, TakesNothingBackThatWasConfirmed) {
  engine.add(transfer, {0, 16384});
  ASSERT_TRUE(engine.progress());
  for (std::size_t i : {0, 1}) carry_out(i);
  poll();
  engine.confirm(transfer);
  for (std::size_t i : {0, 1}) engine.take_back(ready.subchannel(i), 0);
  EXPECT_EQ(transfer.moved(), 16384);
  EXPECT_EQ(ready.context->counters.taken_back, 0u);
}

INSTANTIATE_TEST_SUITE_P(Put, StripeEnginePutTest, testing::Values(Direction::write));

}  // namespace
}  // namespace hawser
