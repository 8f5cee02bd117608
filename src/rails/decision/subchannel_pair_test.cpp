// Whatever happens to the pair, each message arrives once, both ends agree on what did, and they are ready
// again when the network heals.
#include "rails/decision/subchannel_pair_test_support.h"

namespace hawser::machine_test {

// The world.

void Network::run_until(Nanoseconds end, bool until_idle) {
  for (std::uint64_t steps = 0; steps < 2'000'000; ++steps) {
    Nanoseconds next = events.empty() ? never : events.begin()->first;
    for (const auto& each : ends) next = std::min(next, each->deadline());
    if (until_idle && ends[0]->idle() && ends[1]->idle()) return;
    if (next > end) {
      now = end;
      return;
    }
    now = std::max(now, next);
    while (!events.empty() && events.begin()->first <= now) {
      const auto what = std::move(events.begin()->second);
      events.erase(events.begin());
      what();
    }
    for (const auto& each : ends) each->progress();
  }
  ADD_FAILURE() << "the two never come to rest";
}

void Network::incident() {
  End& end = *ends[random.below(2)];
  using K = EventKind;
  switch (random.below(15)) {
    case 0:
    case 1:
      broken = true;
      at(now + static_cast<Nanoseconds>(random.below(500 * millisecond)), [this] { broken = false; });
      return;
    case 2:
      return end.on({.kind = K::fail, .reason = PathReason::port_down});
    case 3:
      return end.on({.kind = K::fail, .reason = PathReason::watchdog, .quick = random.chance(0.5)});
    case 4:
      return end.lose_polled();
    case 5:
      return end.on({.kind = K::suspect});
    case 6:
      return end.on({.kind = K::port_returned});
    case 7:
      return end.on({.kind = K::path_returned});
    case 8:
      return end.on({.kind = K::needed});
    case 9:
      if (random.chance(0.3)) end.on({.kind = K::suspect});
      return end.on({.kind = K::rate, .slow = random.chance(0.5)});
    case 10:
      loss = random.uniform() * 0.5;
      damage = random.uniform() * 0.05;
      refusals = random.uniform() * 0.2;
      return;
    case 11:
    case 12:
      if (random.chance(0.2)) damage = 0.1;
      end.on({.kind = K::close});
      if (random.chance(0.3)) other(0).on({.kind = K::close});
      if (random.chance(0.3)) other(1).on({.kind = K::close});
      return;
    default:
      return end.on({.kind = K::want});
  }
}

namespace {

struct Sum {
  std::set<std::pair<State, EventKind>> seen;
  int reissued = 0, taken_back = 0;
};

void run(std::uint64_t seed, Sum& sum) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Network network(seed);
  if (seed % 4 == 0) network.refusals = 0.2;
  const bool loses = seed % 8 == 0;
  std::uint32_t posted[2] = {};
  for (int step = 0; step < 60; ++step) {
    const auto who = static_cast<std::size_t>(network.random.below(2));
    if (loses && network.random.chance(0.05)) {
      if (network.random.chance(0.3)) network.ends[who]->on({.kind = EventKind::suspect});
      if (network.random.chance(0.5)) {  // in the middle of something else
        network.incident();
        if (network.random.chance(0.5)) network.ends[1 - who]->on({.kind = EventKind::close});
        network.run_until(network.now + static_cast<Nanoseconds>(network.random.below(millisecond)));
      }
      network.ends[who]->on({.kind = EventKind::lost});
      break;
    }
    network.ends[who]->on({.kind = EventKind::want});
    for (auto count = network.random.below(6); count > 0; --count) network.ends[who]->post(posted[who]++);
    if (network.random.chance(0.5)) network.incident();
    network.run_until(network.now + static_cast<Nanoseconds>(network.random.below(60 * millisecond)));
  }
  if (!loses) {
    network.loss = network.damage = network.refusals = 0;
    for (const auto& end : network.ends) end->on({.kind = EventKind::want});
    network.run_until(network.now + 120 * second, true);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(network.ends[i]->machine().state(), network.ends[1 - i]->machine().state())
          << network.ends[i]->describe();
      EXPECT_EQ(network.ends[1 - i]->delivered(), posted[i]) << network.ends[i]->describe();
    }
  }
  for (const auto& end : network.ends) {
    sum.seen.insert(end->seen().begin(), end->seen().end());
    sum.reissued += end->reissued();
    sum.taken_back += end->taken_back();
  }
}

TEST(SubchannelPair, LosesAndDoublesNothing) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= 6000 && !testing::Test::HasFailure(); ++seed) run(seed, sum);
  EXPECT_GT(sum.reissued, 1000);
  EXPECT_GT(sum.taken_back, 1000);
  // No row of the table that nothing leads to, but for those that only a peer of another mind can cause.
  using enum State;
  const std::set<std::pair<State, EventKind>> only_a_liar = {{closed, EventKind::fence},
                                                             {closed, EventKind::peer_parted},
                                                             {connecting, EventKind::reconnect_request},
                                                             {failed, EventKind::reconnect_request},
                                                             {asking, EventKind::reconnect_request}};
  for (const auto& [row, seen] : rows_with_effect())
    EXPECT_TRUE(sum.seen.contains(row) || only_a_liar.contains(row))
        << name_of(row.second) << " in " << subchannel_state_name(row.first) << " never happened";
}

}  // namespace
}  // namespace hawser::machine_test
