// Puts and gets of data that are not one piece, here or at the owner: as lists that the adapters take, as a
// request for each block at the owner, or copied together; over rails whole and failing.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "rails/traffic.h"
#include "rails/windows.h"
#include "testbed/linked_provider/linked_provider.h"

namespace hawser::rails_test {
namespace {

constexpr std::int64_t kib = 1024, data_bytes = 200'000, offset = 33;

// Bytes of a block here and at the owner; 0: one piece.
struct Shape {
  std::int64_t here, there;
};
std::string name_of(const Shape& shape) { return fmt::format("{}here{}there", shape.here, shape.there); }

// An origin's memory and an owner's, and the same data in both.
class Blocks {
 public:
  Blocks(RailCluster& cluster, const Shape& shape)
      : shape_(shape), origin(cluster, 0), window(cluster, 1, 2 * data_bytes + 100) {}

  // False: one of them ended wrongly, or a byte is wrong, also between the blocks.
  bool put_and_get(std::uint64_t seed) {
    Bytes source = pattern(2 * data_bytes, seed), target = pattern(2 * data_bytes, seed + 1);
    Bytes expected_window = window.bytes, expected_target = target;
    move(source, expected_window, true);
    move(expected_target, expected_window, false);
    InBlocks from(source, 0, data_bytes, block(shape_.here)), to(target, 0, data_bytes, block(shape_.here));
    InBlocks there(offset, data_bytes, block(shape_.there));
    const bool layout = shape_.there != 0;
    const RemotePlace place{window.token, layout ? 0 : offset, layout ? &there : nullptr};
    auto& put = origin.put(1, place, shape_.here != 0 ? from.sequence() : front(source));
    if (!origin.settle(origin.flush(1)) || put.ends != 1 || window.bytes != expected_window) return false;
    return origin.settle(origin.get(1, place, shape_.here != 0 ? to.sequence() : front(target))) &&
           target == expected_target && origin.errors().empty();
  }

 private:
  static std::int64_t block(std::int64_t bytes) { return bytes != 0 ? bytes : data_bytes; }
  static ByteSequence front(Bytes& bytes) { return {bytes.data(), data_bytes, nullptr}; }
  void move(Bytes& here, Bytes& there, bool put) {
    InBlocks ours(here, 0, data_bytes, block(shape_.here)),
        theirs(there, offset, data_bytes, block(shape_.there));
    Bytes packed(data_bytes);
    (put ? ours : theirs).pack(0, packed.data(), data_bytes);
    (put ? theirs : ours).unpack(0, packed.data(), data_bytes);
  }
  const Shape shape_;

 public:
  Origin origin;
  TestWindow window;
};

class WindowBlocks : public testing::TestWithParam<Shape> {};

TEST_P(WindowBlocks, ArePutAndGotWhileTheOwnerComputes) {
  RailCluster cluster(two_rails());
  {
    Blocks blocks(cluster, GetParam());
    // The connection needs the owner once.
    ASSERT_TRUE(blocks.put_and_get(1));
    cluster.at(1).computes_until = cluster.now() + 3600 * second;
    EXPECT_TRUE(blocks.put_and_get(5));
    cluster.at(1).computes_until = 0;
  }
  EXPECT_EQ(cluster.failure(), "");
  EXPECT_TRUE(cluster.settle(cluster.now() + 20 * second)) << cluster.describe();
}

TEST_P(WindowBlocks, AreRightWhileRailsFail) {
  RailCluster cluster(two_rails());
  {
    Blocks blocks(cluster, GetParam());
    const char* faults[] = {"link n0/hw0 down",     "link n0/hw0 up",     "qp n0/hw1 all kill",
                            "link n1/hw1 down",     "link n1/hw1 up",     "adapter n0/hw0 dead",
                            "adapter n0/hw0 alive", "qp n1/hw0 all kill", "adapter n1/hw1 dead",
                            "adapter n1/hw1 alive"};
    for (int turn = 0; turn < 60; ++turn) {
      // In the middle of a transfer, which takes 0.5 ms and more.
      cluster.inject_at(cluster.now() + turn * 17 % 900 * microsecond, faults[turn % std::size(faults)]);
      ASSERT_TRUE(blocks.put_and_get(static_cast<std::uint64_t>(turn)))
          << turn << cluster.describe() << testing::PrintToString(blocks.origin.errors());
      cluster.run(cluster.now() + turn % 7 * 10 * millisecond, false);
    }
    EXPECT_GT(cluster.at(0).channel().counters().stripes_reissued, 0u);
  }
  EXPECT_EQ(cluster.failure(), "");
  EXPECT_TRUE(cluster.settle(cluster.now() + 20 * second)) << cluster.describe();
}

INSTANTIATE_TEST_SUITE_P(All, WindowBlocks,
                         testing::Values(Shape{100, 0}, Shape{4 * kib, 0}, Shape{5000, 0}, Shape{70'000, 0},
                                         Shape{0, 1000}, Shape{0, 4 * kib}, Shape{0, 50'000},
                                         Shape{3000, 20'000}, Shape{20'000, 3000}, Shape{100, 8 * kib}),
                         [](const auto& info) { return name_of(info.param); });

// Adapters that take no lists, or that register no memory any more: everything is copied.
bool refusing = false;
const void* refused = nullptr;  // what lies there; null: everything
std::size_t refused_bytes = 0;

ibv_mr* register_or_refuse(ibv_pd* domain, void* memory, std::size_t bytes, int access) {
  errno = ENOMEM;
  const auto distance = static_cast<std::byte*>(memory) - static_cast<const std::byte*>(refused);
  const bool meant = refused == nullptr || static_cast<std::size_t>(distance) < refused_bytes;
  return refusing && meant ? nullptr : linked_provider_functions().reg_mr(domain, memory, bytes, access);
}
int take_no_lists(ibv_context* context, ibv_device_attr* attributes) {
  const int error = linked_provider_functions().query_device(context, attributes);
  attributes->max_sge_rd = 1;
  return error;
}

TEST(WindowBlocksCopied, AreRightWithoutLists) {
  for (const bool refuses : {false, true}) {
    ClusterOptions options = two_rails();
    options.verbs = [&](rdma::VerbsFunctions& functions) {
      if (refuses)
        functions.reg_mr = register_or_refuse;
      else
        functions.query_device = take_no_lists;
    };
    RailCluster cluster(options);
    {
      Blocks blocks(cluster, {4 * kib, 0});
      refusing = refuses;
      EXPECT_TRUE(blocks.put_and_get(1)) << cluster.describe();
      EXPECT_GE(cluster.at(0).channel().counters().packets_for_stripes, 2 * data_bytes / (8 * kib));
    }
    EXPECT_TRUE(cluster.settle(cluster.now() + 20 * second)) << cluster.describe();
    EXPECT_EQ(cluster.failure(), "");
    refusing = false;
  }
}

// What is under way as lists when its adapter dies, and goes on over that adapter alone, which registers the
// memory no more.
TEST(WindowBlocksCopied, AreRightWhenTheyWereListsBefore) {
  constexpr std::int64_t bytes = 2'000'000;
  ClusterOptions options = two_rails();
  options.verbs = [](rdma::VerbsFunctions& functions) { functions.reg_mr = register_or_refuse; };
  RailCluster cluster(options);
  {
    Origin origin(cluster, 0);
    TestWindow window(cluster, 1, bytes);
    Bytes memory = pattern(2 * bytes, 7), packed(bytes);
    InBlocks source(memory, 0, bytes, 4 * kib);
    source.pack(0, packed.data(), bytes);
    origin.put(1, window.at(0), source.sequence());
    auto& flush = origin.flush(1);
    const RailCounters& counters = cluster.at(0).channel().counters();
    ASSERT_TRUE(origin.until([&] { return counters.stripes_put > 10; }));
    EXPECT_LE(counters.packets_for_stripes, 1u) << "its end is short";
    refused = memory.data();
    refused_bytes = memory.size();
    refusing = true;
    cluster.inject("adapter n0/hw0 dead");
    cluster.inject("link n0/hw1 down");
    cluster.run(cluster.now() + 5 * millisecond, false);
    cluster.inject("adapter n0/hw0 alive");
    EXPECT_TRUE(origin.settle(flush)) << cluster.describe();
    EXPECT_TRUE(window.holds(0, packed));
    EXPECT_GT(counters.packets_for_stripes, 10u);
    refusing = false;
    refused = nullptr;
    cluster.inject("link n0/hw1 up");
  }
  EXPECT_TRUE(cluster.settle(cluster.now() + 20 * second)) << cluster.describe();
  EXPECT_EQ(cluster.failure(), "");
}

TEST(WindowBlock, OutsideIsRefused) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, 100'000);
  const Bytes before = window.bytes;
  Bytes bytes = pattern(100'000, 3);
  // The last block does not fit.
  for (const std::int64_t first : {std::int64_t{20'001}, std::int64_t{-1}, INT64_MAX - 90'000}) {
    InBlocks layout(first, 50'000, 10'000);
    auto& put = origin.put(1, {window.token, 0, &layout}, {bytes.data(), 50'000, nullptr});
    ASSERT_TRUE(origin.settle(put));
    EXPECT_THAT(put.error, testing::HasSubstr("not within a window of 100000 bytes"));
    ASSERT_TRUE(origin.settle(origin.flush(1)));
  }
  EXPECT_TRUE(std::equal(before.begin() + 90'001, before.end(), window.bytes.begin() + 90'001));
}

}  // namespace
}  // namespace hawser::rails_test
