// Simulated ranks with adapters: what they post crosses the fabric in virtual time, and what is wrong with
// the options is said.
#include "testbed/simulator/simulated_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "access/verbs/verbs_device.h"
#include "testbed/linked_provider/linked_provider.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using ::testing::HasSubstr;

// What two ranks must know of each other, as a launcher would tell them.
struct Ends {
  struct End {
    rdma::PortAddress port;
    std::uint32_t queue_pair = 0;
    std::uint32_t key = 0;
    std::byte* memory = nullptr;
    bool ready = false;
  };
  std::array<End, 2> of_rank;
};

struct Observed {
  Nanoseconds write_took = 0;
  rdma::Status status = rdma::Status::other;
  int port_events = 0;
};

// Rank 0 writes `bytes` into the memory of rank 1, over rail 0.
void write_across(SimulatedRank& rank, Ends& ends, std::vector<std::byte>& memory, Observed& observed) {
  auto devices = rdma::VerbsDeviceSource(linked_provider_functions()).open_devices();
  ASSERT_TRUE(devices) << devices.error().text;
  ASSERT_EQ(devices.value().size(), 2u);
  rdma::Device& device = *devices.value()[0];
  auto region = device.register_memory(memory.data(), memory.size(), rdma::Access::remote_write);
  auto completions = device.make_completion_queue(64);
  auto receives = device.make_shared_receive_queue(16);
  ASSERT_TRUE(region && completions && receives);
  auto pair = device.make_queue_pair(
      {.completions = completions.value().get(), .receives = receives.value().get(), .send_depth = 16});
  ASSERT_TRUE(pair) << pair.error().text;
  const auto me = static_cast<std::size_t>(rank.rank());
  ends.of_rank[me] = {device.query_port(1).value().address, pair.value()->number(),
                      region.value()->remote_key(), memory.data(), true};
  while (!ends.of_rank[1 - me].ready) rank.compute(microsecond);
  const Ends::End& other = ends.of_rank[1 - me];
  rdma::ConnectParameters parameters;
  parameters.route.destination = other.port;
  parameters.remote_queue_pair = other.queue_pair;
  parameters.retry_policy = {.acknowledge_time = 60 * microsecond, .retries = 3};
  ASSERT_TRUE(pair.value()->make_ready_to_receive(parameters));
  ASSERT_TRUE(pair.value()->make_ready_to_send());
  rank.compute(100 * microsecond);
  if (me == 0) {
    rdma::SendRequest request;
    request.opcode = rdma::Opcode::write;
    request.segment_count = 1;
    request.segments[0] = {memory.data(), static_cast<std::uint32_t>(memory.size()),
                           region.value()->local_key()};
    request.remote_address = reinterpret_cast<std::uint64_t>(other.memory);
    request.remote_key = other.key;
    const Nanoseconds begin = rank.now();
    ASSERT_EQ(pair.value()->post_send({&request, 1}), 1);
    rdma::Completion completion;
    while (completions.value()->poll({&completion, 1}) == 0) rank.compute(100);
    observed.write_took = rank.now() - begin;
    observed.status = completion.status;
  }
  rank.compute(20 * millisecond);
  rdma::DeviceEvent event;
  while (device.next_event(event)) observed.port_events += event.kind == rdma::DeviceEvent::Kind::port_down;
}

struct Ran {
  SimulationOutcome outcome;
  Observed observed;
  std::vector<std::byte> arrived;
};

Ran run(FabricOptions fabric, std::uint64_t seed = 1) {
  Ran ran;
  Ends ends;
  std::array<std::vector<std::byte>, 2> memory{std::vector<std::byte>(10'000, std::byte{7}),
                                               std::vector<std::byte>(10'000, std::byte{0})};
  const SimulationOptions options{.ranks = 2, .seed = seed, .fabric = std::move(fabric)};
  ran.outcome = Simulation(options).run([&](SimulatedRank& rank) {
    write_across(rank, ends, memory[static_cast<std::size_t>(rank.rank())], ran.observed);
  });
  ran.arrived = memory[1];
  return ran;
}

TEST(SimulatedFabric, ARankWritesIntoAnother) {
  const Ran ran = run({.parameters = "link-latency 5us\nlink-rate 1GB/s\n"});
  EXPECT_TRUE(ran.outcome.finished()) << ran.outcome.report;
  EXPECT_EQ(ran.observed.status, rdma::Status::success);
  EXPECT_EQ(ran.arrived, std::vector<std::byte>(10'000, std::byte{7}));
  // Two cables each way, and 10 us for the bytes.
  EXPECT_GE(ran.observed.write_took, 30 * microsecond);
  EXPECT_LE(ran.observed.write_took, 35 * microsecond);
}

TEST(SimulatedFabric, OneSeedOneTrace) {
  const FabricOptions lossy{.parameters = "link-latency 5us\n", .faults = "0 link n0/hw0 loss 0.3\n"};
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ran first = run(lossy, seed);
    EXPECT_EQ(first.outcome.trace_hash, run(lossy, seed).outcome.trace_hash);
    hashes.insert(first.outcome.trace_hash);
  }
  EXPECT_GT(hashes.size(), 1u);
}

TEST(SimulatedFabric, AnIncidentBeginsWithTrafficAndEnds) {
  FabricOptions fabric{.parameters = "link-latency 5us\n", .incidents_after_join = false};
  fabric.incidents.push_back({.after_packets = 1,
                              .lasts = 2 * millisecond,
                              .begin = {"link n1/hw0 down"},
                              .end = {"link n1/hw0 up"}});
  const Ran ran = run(fabric);
  EXPECT_TRUE(ran.outcome.finished()) << ran.outcome.report;
  EXPECT_EQ(ran.observed.status, rdma::Status::retry_exceeded);
  EXPECT_EQ(ran.observed.port_events, 1);  // the switch's end is none of ours: n1 heard it
}

TEST(SimulatedFabric, AJobThatDoesNotRecoverInTimeIsEnded) {
  FabricOptions fabric;
  fabric.patience = 5 * millisecond;
  fabric.incidents_after_join = false;
  fabric.incidents.push_back({.at = millisecond, .lasts = millisecond, .begin = {"switch switch0 dead"}});
  fabric.topology = "two-switch";
  const Ran ran = run(fabric);
  EXPECT_EQ(ran.outcome.kind, SimulationOutcome::Kind::time_limit);
}

// It can be told only when it is due: this link has no rate of which to keep a share.
TEST(SimulatedFabric, AFaultThatIsRefusedFailsTheJob) {
  FabricOptions incidents;
  incidents.incidents_after_join = false;
  incidents.incidents.push_back({.after_packets = 1,
                                 .lasts = millisecond,
                                 .begin = {"link n1/hw0 rate 10%"},
                                 .end = {"link n1/hw0 clear"}});
  FabricOptions faults;
  faults.faults = "0 link n1/hw0 rate 10%\n";
  for (const FabricOptions& fabric : {incidents, faults}) {
    const Ran ran = run(fabric);
    EXPECT_EQ(ran.outcome.kind, SimulationOutcome::Kind::bad_options);
    EXPECT_THAT(ran.outcome.report, HasSubstr("link n1/hw0 rate 10%"));
    EXPECT_THAT(ran.outcome.report, HasSubstr("unlimited"));
  }
}

TEST(SimulatedFabric, SaysWhatIsWrongWithTheOptions) {
  const auto complaint = [](const FabricOptions& fabric) {
    const SimulationOptions options{.ranks = 4, .fabric = fabric};
    const auto outcome = Simulation(options).run([](SimulatedRank&) {});
    EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::bad_options);
    return outcome.report;
  };
  EXPECT_THAT(complaint({.topology = "back-to-back"}), HasSubstr("hosts"));
  EXPECT_THAT(complaint({.topology = "nonsense\n"}), HasSubstr("topology:1"));
  EXPECT_THAT(complaint({.parameters = "link-speed 3\n"}), HasSubstr("parameters:1"));
  EXPECT_THAT(complaint({.faults = "0 link n9/hw0 down\n"}), HasSubstr("faults:1"));
  EXPECT_THAT(complaint({.incidents = {{.begin = {"switch X dead"}}}}), HasSubstr("'X'"));
  EXPECT_THAT(complaint({.heal = {"link n0/hw7 up"}}), HasSubstr("n0/hw7"));
}

}  // namespace
}  // namespace hawser
