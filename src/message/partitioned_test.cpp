// How a partitioned send says that it is divided, as no sender would: a word about the sender, and no more
// memory than the receiver's own buffer asks for.
#include "message/partitioned.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/knobs.h"
#include "message/test_network.h"

namespace hawser {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int receiver = 0, sender = 1, tag = 5;
constexpr std::uint32_t pairing = 4, data = 5;
constexpr std::int64_t size = 1000;

// A receive of four partitions that was started, and the division that its sender tells it.
class Scene {
 public:
  explicit Scene(const PartitionedPlan& plan, std::size_t told = sizeof(PartitionedPlan))
      : network_(2, 1, {.eager_limit = 256, .refusal = 0, .delivery = 1}) {
    request = std::make_unique<PartitionedReceive>(network_[receiver], buffer(into), sender,
                                                   ReceivePattern{pairing, sender, tag}, data);
    EXPECT_TRUE(request->start());
    std::vector<std::byte> payload(told);
    std::copy_n(reinterpret_cast<const std::byte*>(&plan), std::min(told, sizeof plan), payload.begin());
    const MessageHeader header{.context = pairing, .source_rank = sender, .tag = tag};
    network_.inject(sender, receiver, header, payload, static_cast<std::int64_t>(told), false);
    progress();
  }
  void progress() {
    for (int pass = 0; pass < 20; ++pass)
      for (const int each : {sender, receiver}) network_.progress(each);
  }
  static PartitionedRequest::Buffer buffer(std::vector<std::byte>& bytes) {
    PartitionedRequest::Buffer made{};
    made.bytes = {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
    made.partitions = 4;
    made.partition_bytes = made.bytes.size / 4;
    return made;
  }
  void send(std::int32_t part_tag, std::vector<std::byte>& bytes) {
    network_[sender].isend(SendMode::standard, {receiver, data, sender, part_tag},
                           {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr});
    progress();
  }
  const std::string& word() { return network_.lane(receiver).bad_packet(); }

  std::vector<std::byte> into = std::vector<std::byte>(size);

 private:
  TestNetwork network_;

 public:
  std::unique_ptr<PartitionedReceive> request;
};

PartitionedPlan plan(std::int64_t bytes, std::int64_t part_bytes, std::int32_t first_tag,
                     std::int32_t parts) {
  return {bytes, part_bytes, first_tag, parts};
}

TEST(PartitionedPlan, OfNoSenderEndsTheJobWithAWord) {
  for (const PartitionedPlan& each :
       {plan(size, 1, 0, INT32_MAX), plan(size, 250, 0, -1), plan(size, 250, 0, 5), plan(size, 250, 0, 3),
        plan(size, 250, 0, 0), plan(size, 0, 0, 4), plan(size, -250, 0, 4), plan(-size, 250, 0, 4),
        plan(INT64_MAX, 1, 0, INT32_MAX), plan(INT64_MAX, INT64_MAX / 70'000, 0, 70'001),
        plan(0, 0, 0, 65'536), plan(size, 250, -1, 4), plan(size, 250, INT32_MAX - 3, 4),
        plan(INT64_MIN, INT64_MIN, 0, INT32_MIN)}) {
    Scene scene(each);
    EXPECT_THAT(scene.word(), StartsWith("rank 1 sent a division of a partitioned send of "));
    EXPECT_THAT(scene.word(), HasSubstr(fmt::format("{} parts", each.parts)));
    EXPECT_FALSE(scene.request->complete);
    EXPECT_FALSE(scene.request->arrived(3));
  }
}

TEST(PartitionedPlan, OfAnotherLengthEndsTheJobWithAWord) {
  for (const std::size_t told : {std::size_t{0}, sizeof(PartitionedPlan) - 1, sizeof(PartitionedPlan) + 1}) {
    Scene scene(plan(size, 250, 0, 4), told);
    EXPECT_THAT(scene.word(),
                HasSubstr("rank 1 sent a division of a partitioned send that is not of 24 bytes"));
  }
}

TEST(PartitionedPlan, OfASenderIsTaken) {
  for (const std::int32_t parts : {1, 2, 4, 7, 1000}) {
    const std::int64_t part_bytes = (size + parts - 1) / parts;
    Scene scene(plan(size, part_bytes, 40, parts));
    for (std::int32_t i = 0; i < parts; ++i) {
      const std::int64_t left = size - i * part_bytes;
      std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(part_bytes, left)),
                                   static_cast<std::byte>(i));
      EXPECT_FALSE(scene.request->complete);
      scene.send(40 + i, bytes);
    }
    EXPECT_EQ(scene.word(), "");
    EXPECT_TRUE(scene.request->complete);
    EXPECT_EQ(scene.request->status.bytes, size);
    EXPECT_EQ(scene.into.back(), static_cast<std::byte>(parts - 1));
  }
}

TEST(PartitionedPlan, OfNothingIsTaken) {
  for (const std::int32_t parts : {0, 1}) {
    Scene scene(plan(0, 0, 0, parts));
    std::vector<std::byte> nothing;
    if (parts == 1) scene.send(0, nothing);
    EXPECT_EQ(scene.word(), "");
    EXPECT_TRUE(scene.request->complete);
  }
}

// A sender with any setting is believed.
TEST(PartitionedPlan, MayHaveAsManyPartsAsTheKnobSays) {
  for (const KnobInfo& knob : knob_infos()) {
    if (knob.variable == "HAWSER_PARTITION_MESSAGES") {
      EXPECT_EQ(knob.maximum, most_parts);
    }
  }
}

}  // namespace
}  // namespace hawser
