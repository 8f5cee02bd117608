// What another process sends may be anything: it leads to an operation inside of the window, to an answer
// that it was refused, or to a word about its sender; never to an assertion, or to a byte elsewhere.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "datatype/constructors.h"
#include "datatype/encoded_layout.h"
#include "window/window_test_support.h"

namespace hawser::testing {
namespace {

constexpr std::size_t window_bytes = 512, guard = 4096;

class Packets {
 public:
  Packets(Random& random, std::uint32_t id) : random_(random), id_(id) {}

  WindowHeader header() {
    WindowHeader header;
    header.kind = static_cast<WindowHeader::Kind>(random_.below(19));
    header.flags = (random_.chance(0.7) ? random_.below(2) : random_.below(128)) & 0x7f;
    header.window = random_.chance(0.95) ? id_ : static_cast<std::uint32_t>(random_.next());
    header.source_rank = random_.chance(0.95) ? 1 : static_cast<std::int32_t>(random_.next());
    header.number = static_cast<std::uint32_t>(random_.below(5));
    header.operation = static_cast<PredefinedOperator>(random_.below(random_.chance(0.8) ? 14 : 256));
    header.element = static_cast<Elementary>(random_.below(random_.chance(0.8) ? 30 : 256));
    header.pair_value = static_cast<Elementary>(random_.below(random_.chance(0.8) ? 30 : 256));
    header.pair_index = static_cast<Elementary>(random_.below(random_.chance(0.8) ? 30 : 256));
    return header;
  }
  std::vector<std::byte> payload(const WindowHeader& header) {
    if (header.kind == WindowHeader::Kind::type_definition && random_.chance(0.8)) return definition();
    std::vector<std::byte> bytes;
    const std::int64_t length = number(64);
    if ((header.flags & WindowHeader::typed) != 0)
      add(bytes, TypedPlaceOnWire{{number(window_bytes), length},
                                  number(4),
                                  random_.chance(0.6) ? 0 : number(64),
                                  static_cast<std::uint32_t>(random_.below(4)),
                                  0});
    else
      add(bytes, PlaceOnWire{number(window_bytes), length});
    const auto data = random_.chance(0.8)
                          ? static_cast<std::uint64_t>(std::clamp<std::int64_t>(length, 0, 200))
                          : random_.below(200);
    for (auto i = data; i > 0; --i) bytes.push_back(static_cast<std::byte>(random_.next()));
    if (random_.chance(0.05)) bytes.resize(random_.below(bytes.size() + 1));
    return bytes;
  }

 private:
  std::int64_t number(std::int64_t bound) {
    if (random_.chance(0.9))
      return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
    constexpr std::int64_t values[] = {0, -1, INT64_MAX, INT64_MIN, 1 << 20, -8, std::int64_t{1} << 56};
    return values[random_.below(std::size(values))];
  }
  template <class T>
  static void add(std::vector<std::byte>& bytes, const T& value) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  std::vector<std::byte> definition() {
    const auto small = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random_.below(bound)); };
    auto type = make_vector(1 + small(8), 1 + small(3), number(10), types_[PredefinedType::plain_int],
                            CountForm::plain);
    std::vector<std::byte> encoded, bytes;
    if (!type || random_.chance(0.1)) {
      encoded.resize(random_.below(100));
    } else {
      type.value()->commit();
      encode_layout(*type.value(), encoded);
    }
    if (!encoded.empty() && random_.chance(0.1)) encoded[random_.below(encoded.size())] ^= std::byte{255};
    const auto total = random_.chance(0.9) ? static_cast<std::int64_t>(encoded.size()) : number(100);
    add(bytes, TypeOnWire{static_cast<std::uint32_t>(random_.below(random_.chance(0.9) ? 4 : 1000)), 0, total,
                          random_.chance(0.9) ? 0 : number(100)});
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    return bytes;
  }

  Random& random_;
  const std::uint32_t id_;
  PredefinedTypes types_;
};

TEST(BadWindowPackets, TouchNothingOutsideOfTheWindow) {
  std::uint64_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    WindowCluster cluster({2});
    std::vector<std::byte> memory(window_bytes + 2 * guard, std::byte{0x5a});
    Ref<Window> windows[2];
    cluster.run([&](WindowRank& own) {
      windows[own.rank()] =
          own.rank() == 0 ? own.make(memory.data() + guard, window_bytes) : own.make(nullptr, 0);
    });
    Random random(seed);
    Packets packets(random, windows[0]->communicator().context());
    for (int i = 0; i < 300; ++i) {
      const WindowHeader header = packets.header();
      const std::vector<std::byte> payload = packets.payload(header);
      const auto size = static_cast<std::int64_t>(payload.size());
      cluster.engine(0).on_packet(1, header, payload.data(), size);
    }
    const auto untouched = [](std::byte byte) { return byte == std::byte{0x5a}; };
    EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + guard, untouched));
    EXPECT_TRUE(std::all_of(memory.end() - guard, memory.end(), untouched));
    changed += !std::all_of(memory.begin(), memory.end(), untouched);
    windows[0] = windows[1] = nullptr;
    cluster.cluster().rank(0).make_progress();
    if (HasFailure()) return;
  }
  EXPECT_GT(changed, 100u);
}

// It asks for more than it may while nothing gets through to it, as if it never read an answer.
TEST(BadWindowPackets, WhoTakesNoAnswersIsTold) {
  for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{4000}, std::int64_t{20'000}}) {
    WindowCluster cluster({2});
    std::vector<std::byte> memory(20'000);
    Ref<Window> windows[2];
    cluster.run([&](WindowRank& own) {
      windows[own.rank()] = own.make(memory.data(), static_cast<std::int64_t>(memory.size()));
    });
    TestRank& target = cluster.cluster().rank(0);
    target.channel().refuse_every(1);
    WindowHeader header;
    header.kind = WindowHeader::Kind::get;
    header.window = windows[0]->communicator().context();
    header.source_rank = 1;
    const PlaceOnWire place{0, bytes};
    std::byte payload[sizeof place];
    std::memcpy(payload, &place, sizeof place);
    for (int i = 0; i < 20'000; ++i) cluster.engine(0).on_packet(1, header, payload, sizeof payload);
    EXPECT_NE(target.lane.bad_packet().find("answers it does not take"), std::string::npos);
    // 64 answers of 16 KiB, and some others that say little.
    EXPECT_LT(cluster.engine(0).link(1).answers.size(), 2500u);
    target.channel().refuse_every(0);
    while (cluster.engine(0).progress()) {
    }
    target.channel().end_exposed();
    windows[0] = windows[1] = nullptr;
  }
}

// Nor does a process ask for so much, whatever its program begins.
TEST(WindowAnswers, AreAwaitedNotTooManyAtATime) {
  WindowCluster cluster({2});
  std::vector<std::int64_t> memory(4096);
  std::iota(memory.begin(), memory.end(), 0);
  cluster.run([&](WindowRank& own) {
    auto window = own.make(memory);
    EXPECT_TRUE(window->fence(0));
    const Datatype& number = own.type(PredefinedType::int64);
    std::vector<std::int64_t> got(4096);
    for (std::int64_t i = 0; own.rank() == 0 && i < 4096; i += 4) {
      EXPECT_TRUE(window->get({&got[static_cast<std::size_t>(i)], 4, &number}, {1, i, 4, &number}));
      EXPECT_EQ(own.engine.link(1).awaited, std::min<std::int64_t>(i / 4 + 1, most_awaited));
    }
    EXPECT_TRUE(window->fence(0));
    if (own.rank() == 0) {
      EXPECT_EQ(own.engine.link(1).awaited, 0);
      EXPECT_EQ(got, memory);
    }
    own.barrier();
  });
}

}  // namespace
}  // namespace hawser::testing
