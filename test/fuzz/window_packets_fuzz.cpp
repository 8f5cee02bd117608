// A process that sends any packets to another one's windows: nothing outside of the window is touched.
#include <algorithm>

#include "fuzz_input.h"
#include "strict_gtest.h"
#include "window/window_test_support.h"

using namespace hawser;
using namespace hawser::testing;

namespace {

constexpr std::size_t window_bytes = 512, guard = 4096;
constexpr std::byte filling{0x5a};

void say(WindowEngine& victim, std::uint32_t window, fuzz::FuzzInput& input) {
  auto header = input.value<WindowHeader>();
  header.handler = HandlerId::window;
  if (header.source_rank % 16 != 0) header.source_rank = 1;
  if (header.window % 16 != 0) header.window = window;
  header.kind = static_cast<WindowHeader::Kind>(static_cast<unsigned>(header.kind) % 22);
  // An offer would be fetched, by an address of this process.
  if (header.kind == WindowHeader::Kind::offer) return;
  const auto payload = input.take(input.below(200));
  const std::vector<std::byte> copy(payload.begin(), payload.end());
  victim.on_packet(1, header, copy.data(), static_cast<std::int64_t>(copy.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  WindowCluster cluster({2});
  std::vector<std::byte> memory(window_bytes + 2 * guard, filling);
  Ref<Window> windows[2];
  cluster.run([&](WindowRank& own) {
    windows[own.rank()] =
        own.rank() == 0 ? own.make(memory.data() + guard, window_bytes) : own.make(nullptr, 0);
  });
  while (!input.empty()) say(cluster.engine(0), windows[0]->communicator().context(), input);
  const auto untouched = [](std::byte byte) { return byte == filling; };
  HAWSER_ASSERT(std::all_of(memory.begin(), memory.begin() + guard, untouched));
  HAWSER_ASSERT(std::all_of(memory.end() - guard, memory.end(), untouched));
  windows[0] = windows[1] = nullptr;
  cluster.cluster().rank(0).make_progress();
  return 0;
}
