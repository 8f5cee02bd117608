// Both directions of a link carry data at once, whoever moves it.
#include <algorithm>

#include "local_rails.h"

namespace hawser::rdma::test {
namespace {

// Seconds in which `count` operations of `bytes` each complete at both ends, which start together.
double both_ways(Opcode opcode, int count, std::uint32_t bytes, bool with_sends) {
  fabric::Parameters parameters;
  parameters.link_rate = 50e6;
  parameters.chunk = 65536;
  LocalRails rails(two_hosts(), parameters);
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first, 1, 64), b(*second, 1, 64);
  for (End* end : {&a, &b}) {
    end->region.reset();
    end->memory.resize(2 << 20);
    end->region =
        end->device.register_memory(end->memory.data(), end->memory.size(), Access::remote_read_write)
            .value();
  }
  a.connect(b);
  b.connect(a);
  int left = 0;
  const Nanoseconds from = rails.events.now();
  for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (int i = 0; i < count; ++i) {
      if (with_sends) {
        peer->receive(500, 0, 100);
        EXPECT_EQ(end->post(end->request(1000, Opcode::send, 0, 100)), 1);
      }
      EXPECT_EQ(end->post(end->request(1, opcode, 0, bytes, peer, 1 << 20)), 1);
      ++left;
    }
  while (left > 0 && rails.events.fire_next())
    for (End* end : {&a, &b})
      for (const Completion& done : end->poll()) {
        EXPECT_EQ(done.status, Status::success);
        left -= done.id == 1 ? 1 : 0;
      }
  EXPECT_EQ(left, 0);
  return static_cast<double>(rails.events.now() - from) / 1e9;
}

TEST(VerbsAccessDuplex, WritesReadsAndSendsAmongThem) {
  constexpr double expected = 8.0 * (1 << 20) / 50e6;
  EXPECT_NEAR(both_ways(Opcode::write, 8, 1 << 20, false), expected, expected / 20);
  EXPECT_NEAR(both_ways(Opcode::write, 8, 1 << 20, true), expected, expected / 20);
  EXPECT_NEAR(both_ways(Opcode::read, 8, 1 << 20, false), expected, expected / 20);
  EXPECT_NEAR(both_ways(Opcode::read, 8, 1 << 20, true), expected, expected / 20);
}

}  // namespace
}  // namespace hawser::rdma::test
