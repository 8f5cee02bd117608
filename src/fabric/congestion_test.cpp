// Congestion control in virtual time: who is in the way slows down, and who is not recovers.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr double link_rate = 2e8;

struct Rates {
  double victim = 0;  // bytes per second
  double hot = 0;     // all that the crowded receiver gets
  int index = 0;      // highest index at the end
};

// Two leaves of eight hosts. n0, on the one leaf, and n10 to n15, on the other, crowd the receiver n8. The
// victim n1 sends to the idle n9, over the same up-link as n0, and waits behind packets that wait for n8.
Rates crowd(Parameters parameters) {
  parameters.link_rate = link_rate;
  parameters.link_latency = microsecond;
  Bed bed(make_fat_tree(2, 8, 16).value(), parameters);
  for (const int host : {8, 9}) {
    const Lid lid = bed.fabric->adapter(host, 0)->port(1).lid();
    bed.inject(("tables LEAF00 " + std::to_string(lid) + " 9").c_str());
  }
  std::vector<std::unique_ptr<Client>> clients;
  for (int host = 0; host < 16; ++host)
    clients.push_back(std::make_unique<Client>(bed, *bed.fabric->adapter(host, 0)));
  struct Flow {
    std::size_t from, to;
  };
  std::vector<QueuePair*> from(16);
  constexpr std::uint32_t bytes = 1 << 18;
  constexpr int messages = 80;
  std::vector<std::vector<std::uint64_t>> ids(16);
  std::vector<Flow> flows{{1, 9}, {0, 8}};
  for (std::size_t host = 10; host < 16; ++host) flows.push_back({host, 8});
  for (const Flow flow : flows) {
    QueuePair& qa = clients[flow.from]->create();
    connect(qa, clients[flow.to]->create(), {.timeout = 18});
    from[flow.from] = &qa;
    for (int i = 0; i < messages; ++i)
      ids[flow.from].push_back(
          clients[flow.from]->send(qa, Opcode::rdma_write, 0, bytes, clients[flow.to].get()));
  }
  // Rates between two times when all still send.
  const Nanoseconds begin = 30 * millisecond, end = 100 * millisecond;
  const auto received = [&](int host) {
    return bed.fabric->adapter(host, 0)->port(1).counters().received_bytes;
  };
  while (bed.events.next_time() < begin) bed.events.fire_next();
  const std::uint64_t victim = received(9), hot = received(8);
  Rates rates;
  while (bed.events.next_time() < end) bed.events.fire_next();
  const double seconds = static_cast<double>(end - begin) / 1e9;
  rates.victim = static_cast<double>(received(9) - victim) / seconds;
  rates.hot = static_cast<double>(received(8) - hot) / seconds;
  for (QueuePair* qp : from) {
    if (qp != nullptr) rates.index = std::max(rates.index, qp->congestion.index(parameters, end));
  }
  // All arrives in the end, and nobody ran into a time-out.
  for (std::size_t host = 0; host < 16; ++host) {
    for (const std::uint64_t id : ids[host]) EXPECT_EQ(clients[host]->status(id), CompletionStatus::success);
    if (from[host] != nullptr) {
      EXPECT_EQ(from[host]->requester().retries(), 0u);
    }
  }
  return rates;
}

TEST(Congestion, WithoutControlTheVictimWaitsBehindTheCrowd) {
  for (const std::uint64_t threshold : {0, 4096}) {
    const Rates rates = crowd({.ecn_threshold = threshold});
    EXPECT_LT(rates.victim, 0.2 * link_rate) << threshold;
    EXPECT_GT(rates.hot, 0.97 * link_rate);
    EXPECT_EQ(rates.index, 0);
  }
}

TEST(Congestion, WithControlTheVictimRecovers) {
  const Rates before = crowd({.ecn_threshold = 4096});
  const Rates rates = crowd({.ecn_threshold = 4096, .congestion_control = true});
  EXPECT_GT(rates.victim, 2.5 * before.victim);
  EXPECT_GT(rates.victim, 0.4 * link_rate);
  EXPECT_GT(rates.hot, 0.8 * link_rate);  // and the crowd loses little
  EXPECT_GT(rates.index, 0);
}

TEST(Congestion, TheIndexRisesByMarksAndFallsByTime) {
  const Parameters parameters{.ccti_increase = 3, .ccti_limit = 10, .ccti_timer = 100, .cct_divisor = 2};
  CongestionControl control;
  control.sent(parameters, 1000, 50);
  EXPECT_EQ(control.not_before(), 0);
  for (int i = 0; i < 5; ++i) control.notify(parameters, 1000);
  EXPECT_EQ(control.index(parameters, 1000), 10);
  EXPECT_EQ(control.index(parameters, 1099), 10);
  EXPECT_EQ(control.index(parameters, 1100), 9);
  EXPECT_EQ(control.index(parameters, 1450), 6);
  control.sent(parameters, 1450, 50);
  EXPECT_EQ(control.not_before(), 1450 + 50 + 150);
  EXPECT_EQ(control.index(parameters, 9000), 0);
}

}  // namespace
}  // namespace hawser::fabric::test
