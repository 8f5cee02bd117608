// Programs that call the virtual adapter with anything, and write anything into the rings that they share
// with it: it answers or refuses, and touches no memory but what they registered.
#include "base/event_queue.h"
#include "fabric/topology/makers.h"
#include "fuzz_input.h"
#include "provider/wild_client_test_support.h"
#include "strict_gtest.h"

using namespace hawser;

namespace {

// What Random draws, taken from the input.
class Choices {
 public:
  explicit Choices(fuzz::FuzzInput& input) : input_(input) {}
  std::uint64_t next() { return input_.value<std::uint64_t>(); }
  std::uint64_t below(std::uint64_t bound) {
    return bound <= 256     ? input_.value<std::uint8_t>() % bound
           : bound <= 65536 ? input_.value<std::uint16_t>() % bound
                            : next() % bound;
  }
  double uniform() { return input_.value<std::uint8_t>() / 256.0; }
  bool chance(double probability) { return uniform() < probability; }

 private:
  fuzz::FuzzInput& input_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  Choices choices(input);
  static verbs::Arena arena;
  EventQueue events;
  auto topology = fabric::make_back_to_back({.hosts = 2, .rails = 1}).value();
  auto tables = fabric::build_routes(topology, 0).value();
  fabric::Fabric fabric(events, arena, std::move(topology), std::move(tables),
                        {.link_rate = input.flag() ? 0 : 1e9, .link_latency = 1000});
  {
    verbs::WildClient<Choices> a(fabric, "n0/hw0", arena, choices), b(fabric, "n1/hw0", arena, choices);
    while (!input.empty()) {
      const auto step = input.value<std::uint8_t>();
      (step & 1) != 0 ? a.act(b) : b.act(a);
      if (step % 8 < 2) events.fire_until(events.now() + input.value<std::uint16_t>());
    }
    fabric.check_invariants();
  }
  events.fire_until(events.now() + 100 * second);
  fabric.check_invariants();
  HAWSER_ASSERT(fabric.quiescent());
  return 0;
}
