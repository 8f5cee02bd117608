// Programs that run wild: calls with wrong arguments in any order, rings that are overwritten. A session
// answers or refuses; it never takes the fabric down, never touches memory that was not registered with it,
// and other clients are served as before.
#include <gtest/gtest.h>

#include "base/random.h"
#include "fabric/topology/makers.h"
#include "provider/wild_client_test_support.h"

namespace hawser::verbs {
namespace {

class WildClients : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, WildClients, testing::Range(1, 25));

TEST_P(WildClients, DoNotHarmTheFabric) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  Arena arena;
  EventQueue events;
  auto topology = fabric::make_back_to_back({.hosts = 2, .rails = 1});
  auto tables = fabric::build_routes(topology.value(), 0);
  fabric::Fabric fabric(events, arena, std::move(topology).value(), std::move(tables).value(),
                        {.link_rate = GetParam() % 2 == 0 ? 0 : 1e9, .link_latency = 1000});
  for (int life = 0; life < 4; ++life) {
    WildClient<Random> a(fabric, "n0/hw0", arena, random), b(fabric, "n1/hw0", arena, random);
    for (int i = 0; i < 3000; ++i) {
      random.chance(0.5) ? a.act(b) : b.act(a);
      if (random.chance(0.2))
        events.fire_until(events.now() + static_cast<Nanoseconds>(random.below(100000)));
      if (i % 100 == 0) fabric.check_invariants();
    }
  }
  events.fire_until(events.now() + 100 * second);
  fabric.check_invariants();
  EXPECT_TRUE(fabric.quiescent());
  // It would be worth little if nothing had worked.
  EXPECT_GT(fabric.trace().count(fabric::TraceKind::packet_delivered), 100u);
  EXPECT_GT(fabric.trace().count(fabric::TraceKind::completion), 100u);
}

}  // namespace
}  // namespace hawser::verbs
