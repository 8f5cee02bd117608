// Rates and latencies that programs see through queue pairs, in virtual time.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

// Writes `count` messages as fast as the queue takes them and returns bytes per second until the last
// completion.
struct Stream {
  Client* from;
  QueuePair* qp;
  Client* to;
  std::uint32_t bytes = 1 << 18;
  int left = 40;
  std::uint64_t last = 0;
};

std::vector<double> run_streams(Bed& bed, std::vector<Stream> streams) {
  const Nanoseconds start = bed.events.now();
  std::vector<double> total(streams.size());
  for (Stream& stream : streams) {
    total[static_cast<std::size_t>(&stream - streams.data())] =
        static_cast<double>(stream.bytes) * stream.left;
    for (; stream.left > 0; --stream.left) {
      stream.last = stream.from->send(*stream.qp, Opcode::rdma_write, 0, stream.bytes, stream.to);
    }
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(streams[i].from->status(streams[i].last), CompletionStatus::success);
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    total[i] /= static_cast<double>(streams[i].from->completion_time(streams[i].last) - start) / 1e9;
  }
  return total;
}

// Nothing is lost between packets: the time is that of the bytes, of two cables each way, and of the last
// acknowledgement (32 bytes on the wire).
TEST(Performance, ALinkCarriesExactlyItsRate) {
  for (const double rate : {1e8, 2e8, 4e8}) {
    for (const std::uint32_t chunk : {0u, 65536u}) {
      Bed bed(star(2), {.link_rate = rate, .link_latency = 2 * microsecond, .chunk = chunk});
      Pair pair(bed);
      const Stream stream{&pair.a, pair.qa, &pair.b};
      const double bytes = static_cast<double>(stream.bytes) * stream.left;
      const double seconds = bytes / run_streams(bed, {stream})[0];
      EXPECT_NEAR(seconds, (bytes + 32) / rate + 4 * 2e-6, 5e-9);
    }
  }
}

// Both ways at once, the acknowledgements of the one take their turn between the packets of the other.
TEST(Performance, ALinkCarriesItsRateBothWays) {
  for (const double rate : {1e8, 2e8, 4e8}) {
    for (const std::uint32_t chunk : {0u, 65536u}) {
      Bed bed(star(2), {.link_rate = rate, .link_latency = 2 * microsecond, .chunk = chunk});
      Pair pair(bed);
      const auto both = run_streams(bed, {{&pair.a, pair.qa, &pair.b}, {&pair.b, pair.qb, &pair.a}});
      EXPECT_NEAR(both[0], rate, rate * 0.001);
      EXPECT_NEAR(both[1], rate, rate * 0.001);
    }
  }
}

TEST(Performance, TwoFlowsShareALink) {
  Bed bed(star(3), {.link_rate = 2e8, .link_latency = 2 * microsecond});
  Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0")), c(bed, bed.adapter("n2/hw0"));
  connect(a.create(), c.create());
  connect(b.create(), c.create());
  const auto rates = run_streams(bed, {{&a, a.queue_pairs[0], &c}, {&b, b.queue_pairs[0], &c}});
  EXPECT_NEAR(rates[0], 1e8, 2e5);
  EXPECT_NEAR(rates[1], 1e8, 2e5);
  // Two queue pairs of one adapter share it as well.
  connect(a.create(), c.create());
  const auto local = run_streams(bed, {{&a, a.queue_pairs[0], &c}, {&a, a.queue_pairs[1], &c}});
  EXPECT_NEAR(local[0], 1e8, 2e5);
  EXPECT_NEAR(local[1], 1e8, 2e5);
}

TEST(Performance, TwoRailsCarryTwice) {
  Bed bed(make_rail_switches({.hosts = 2, .rails = 2}).value(),
          {.link_rate = 2e8, .link_latency = 2 * microsecond});
  Client a0(bed, bed.adapter("n0/hw0")), a1(bed, bed.adapter("n0/hw1"));
  Client b0(bed, bed.adapter("n1/hw0")), b1(bed, bed.adapter("n1/hw1"));
  connect(a0.create(), b0.create());
  connect(a1.create(), b1.create());
  const auto rates = run_streams(bed, {{&a0, a0.queue_pairs[0], &b0}, {&a1, a1.queue_pairs[0], &b1}});
  EXPECT_NEAR(rates[0] + rates[1], 4e8, 4e8 * 0.001);
}

TEST(Performance, EverySwitchAndCableAddsItsLatency) {
  Bed bed(make_fat_tree(2, 2, 4).value(), {.link_rate = 1e9, .link_latency = 500, .switch_latency = 200});
  Client a(bed, bed.adapter("n0/hw0")), near(bed, bed.adapter("n1/hw0")), far(bed, bed.adapter("n2/hw0"));
  connect(a.create(), near.create());
  connect(a.create(), far.create());
  const auto round_trip = [&](int which, Client& to) {
    const Nanoseconds start = bed.events.now();
    const auto id = a.send(*a.queue_pairs[static_cast<std::size_t>(which)], Opcode::rdma_write, 0, 8, &to);
    a.status(id);
    return a.completion_time(id) - start;
  };
  // There and back, two further cables and two further switches.
  EXPECT_EQ(round_trip(1, far) - round_trip(0, near), 2 * (2 * 500 + 2 * 200));
  EXPECT_EQ(round_trip(0, near),
            2 * (2 * 500 + 200) + 32 + 32);  // the smallest packet there, the answer back
}

// V07 chapter 6: one queue pair keeps one engine busy, several fill the link.
TEST(Performance, OneQueuePairUsesOneEngine) {
  Bed bed(star(2), {.link_rate = 4e8,
                    .link_latency = microsecond,
                    .send_engines = 4,
                    .send_engine_rate = 1e8,
                    .receive_engines = 4,
                    .receive_engine_rate = 1e8});
  Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0"));
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) {
    connect(a.create(), b.create());
    streams.push_back({&a, a.queue_pairs.back(), &b});
  }
  EXPECT_NEAR(run_streams(bed, {streams[0]})[0], 1e8, 3e6);
  const auto two = run_streams(bed, {streams[0], streams[1]});
  EXPECT_NEAR(two[0] + two[1], 2e8, 6e6);
  double sum = 0;
  for (const double each : run_streams(bed, streams)) sum += each;
  EXPECT_NEAR(sum, 4e8, 2e7);
}

// Waiting for a turn is no loss, and packets of one queue pair do not overtake each other on different
// engines.
TEST(Performance, ManyQueuePairsOnASlowPortNeedNoRetries) {
  for (const int engines : {1, 4}) {
    Bed bed(
        star(2),
        {.link_rate = 1e8, .link_latency = microsecond, .send_engines = engines, .receive_engines = engines});
    Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0"));
    std::vector<Stream> streams;
    for (int i = 0; i < 256; ++i) {
      QueuePair& qa = a.create();
      QueuePair& qb = b.create();
      connect(qa, qb, {.timeout = 12});  // 17 ms; a round of all queue pairs takes 80 ms
      streams.push_back({&a, &qa, &b, 1 << 18, 1});
      streams.push_back({&b, &qb, &a, 1 << 18, 1});
    }
    run_streams(bed, streams);
    for (const Stream& stream : streams) EXPECT_EQ(stream.qp->requester().retries(), 0u);
  }
}

// A small message behind a large one, on one queue pair, stays behind it: in a chunk that a receive engine
// works on, and on a cable while an engine still fetches the last bytes of another queue pair's message.
TEST(Performance, WhatFollowsAChunkDoesNotOvertakeIt) {
  for (const double engine_rate : {5e7, 1.5e8, 6e8}) {
    Bed bed(star(2), {.link_rate = 4e8,
                      .link_latency = microsecond,
                      .chunk = 65536,
                      .send_engines = 2,
                      .send_engine_rate = engine_rate,
                      .receive_engines = 2,
                      .receive_engine_rate = engine_rate});
    Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0"));
    for (int i = 0; i < 2; ++i) connect(a.create(), b.create());
    for (const int behind : {0, 1}) {
      const auto large = a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 1 << 18, &b);
      const auto small =
          a.send(*a.queue_pairs[static_cast<std::size_t>(behind)], Opcode::rdma_write, 0, 8, &b);
      EXPECT_EQ(a.status(large), CompletionStatus::success);
      EXPECT_EQ(a.status(small), CompletionStatus::success);
      if (behind == 0) {
        EXPECT_GE(a.completion_time(small), a.completion_time(large));
      }
    }
    for (const QueuePair* each : a.queue_pairs) EXPECT_EQ(each->requester().retries(), 0u) << engine_rate;
  }
}

// C01: adapters whose I/O bus carries one direction at a time.
TEST(Performance, AHalfDuplexBusIsSharedByTheDirections) {
  for (const bool half : {false, true}) {
    Bed bed(star(2),
            {.link_rate = 4e8, .link_latency = microsecond, .bus_rate = 2e8, .bus_half_duplex = half});
    Pair pair(bed);
    EXPECT_NEAR(run_streams(bed, {{&pair.a, pair.qa, &pair.b}})[0], 2e8, 6e6);
    const auto both = run_streams(bed, {{&pair.a, pair.qa, &pair.b}, {&pair.b, pair.qb, &pair.a}});
    EXPECT_NEAR(both[0] + both[1], half ? 2e8 : 4e8, 2e7);
  }
}

// The displaced ring of V07 figure 3.5 with all flows forced over two spines is slow; spread it is not.
TEST(Performance, HotSpotsCostBandwidth) {
  const auto slowest = [](bool crowded) {
    Bed bed(make_fat_tree(2, 4, 8).value(), {.link_rate = 2e8, .link_latency = microsecond});
    if (crowded) {
      for (int host = 4; host < 8; ++host) {
        const Lid lid = bed.fabric->adapter(host, 0)->port(1).lid();
        bed.inject(("tables LEAF00 " + std::to_string(lid) + " " + std::to_string(5 + host % 2)).c_str());
      }
    }
    std::vector<std::unique_ptr<Client>> clients;
    for (int host = 0; host < 8; ++host)
      clients.push_back(std::make_unique<Client>(bed, *bed.fabric->adapter(host, 0)));
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < 4; ++i) {
      connect(clients[i]->create(), clients[i + 4]->create());
      streams.push_back({clients[i].get(), clients[i]->queue_pairs[0], clients[i + 4].get(), 1 << 18, 20});
    }
    const auto rates = run_streams(bed, streams);
    return *std::min_element(rates.begin(), rates.end());
  };
  EXPECT_NEAR(slowest(false), 2e8, 6e6);
  EXPECT_NEAR(slowest(true), 1e8, 6e6);
}

TEST(Performance, AdaptiveRoutingDeliversInOrder) {
  Bed bed(make_fat_tree(2, 4, 8).value(), {.link_rate = 1e9, .link_latency = 500, .adaptive_routing = true});
  std::vector<std::unique_ptr<Client>> clients;
  for (int host = 0; host < 8; ++host)
    clients.push_back(std::make_unique<Client>(bed, *bed.fabric->adapter(host, 0)));
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t turn = 0; turn < 4; ++turn) {
      const std::size_t j = 4 + (i + turn) % 4;
      QueuePair& qa = clients[i]->create();
      QueuePair& qb = clients[j]->create();
      connect(qa, qb, {.timeout = 16});
      streams.push_back({clients[i].get(), &qa, clients[j].get(), 1 << 18, 4});
    }
    clients[i]->fill(0, 1 << 18, static_cast<int>(i));
  }
  double sum = 0;
  for (const double each : run_streams(bed, streams)) sum += each;
  EXPECT_GT(sum, 4e9 * 0.5);  // the flows of one host get in each other's way at the receivers
  std::uint64_t retries = 0;
  for (const Stream& stream : streams) retries += stream.qp->requester().retries();
  EXPECT_EQ(retries, 0u);
}

TEST(Performance, CongestionMarksReachThePort) {
  Bed bed(star(3), {.link_rate = 2e8, .link_latency = microsecond, .ecn_threshold = 2048});
  Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0")), c(bed, bed.adapter("n2/hw0"));
  connect(a.create(), c.create());
  connect(b.create(), c.create());
  run_streams(bed, {{&a, a.queue_pairs[0], &c, 1 << 18, 4}, {&b, b.queue_pairs[0], &c, 1 << 18, 4}});
  EXPECT_GT(c.adapter.port(1).counters().marked, 100u);
}

}  // namespace
}  // namespace hawser::fabric::test
