#include "access/path_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace hawser::rdma {
namespace {

void put(ManagementDatagram& bytes, std::size_t at, std::vector<int> values) {
  for (const int value : values) bytes[at++] = static_cast<std::byte>(value);
}

// What an administrator makes of a query: service level 5, MTU 2048, P_Key 0x8001.
ManagementDatagram answer_to(const PathQuery& query) {
  ManagementDatagram bytes = encode(query);
  put(bytes, 3, {0x81});
  put(bytes, 106, {0x80, 0x01, 0xab, 0xc5, 0x84});
  return bytes;
}

constexpr PathQuery usual{0x1122334455667788, 0x0102, 0x0304, 0};

TEST(PathRecord, AQueryHasTheBytesOfTheArchitecture) {
  ManagementDatagram expected = {};
  put(expected, 0, {1, 3, 2, 1});
  put(expected, 8, {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88});
  put(expected, 16, {0, 0x35});
  put(expected, 54, {0x10, 0x30});
  put(expected, 96, {3, 4, 1, 2});
  put(expected, 105, {1});
  EXPECT_EQ(encode(usual), expected);
  put(expected, 54, {0x30});
  put(expected, 106, {0x80, 0x07});
  EXPECT_EQ(encode({usual.transaction, usual.source_lid, usual.destination_lid, 0x8007}), expected);
}

TEST(PathRecord, AnAnswerIsRead) {
  const auto answer = decode_path_answer(answer_to(usual));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->transaction, usual.transaction);
  EXPECT_EQ(answer->status, 0);
  EXPECT_EQ(answer->source_lid, 0x0102);
  EXPECT_EQ(answer->destination_lid, 0x0304);
  EXPECT_EQ(answer->record, (PathRecord{5, 4, 0x8001}));
}

TEST(PathRecord, ARefusalIsRead) {
  ManagementDatagram bytes = encode(usual);
  put(bytes, 3, {0x81, 0x03, 0x00});
  const auto answer = decode_path_answer(bytes);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->transaction, usual.transaction);
  EXPECT_EQ(answer->status, 0x0300);
}

TEST(PathRecord, WhatMakesNoSenseIsNoAnswer) {
  const ManagementDatagram good = answer_to(usual);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_path_answer(std::span(good).first(size)).has_value());
  EXPECT_FALSE(decode_path_answer(encode(usual)).has_value());
  for (const std::size_t at : {0u, 1u, 2u, 3u, 16u, 17u}) {
    ManagementDatagram bad = good;
    bad[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode_path_answer(bad).has_value()) << at;
  }
  ManagementDatagram bad = good;
  put(bad, 110, {0x80});  // MTU 0
  EXPECT_FALSE(decode_path_answer(bad).has_value());
  put(bad, 110, {0x86});  // MTU 6
  EXPECT_FALSE(decode_path_answer(bad).has_value());
  bad = good;
  put(bad, 106, {0x80, 0x00});  // no partition
  EXPECT_FALSE(decode_path_answer(bad).has_value());
}

TEST(PathRecord, AnyBytesAreTaken) {
  Random random(1);
  int sensible = 0;
  for (int i = 0; i < 1000; ++i) {
    ManagementDatagram bytes = i % 2 == 0 ? answer_to(usual) : ManagementDatagram{};
    const std::size_t changes = i % 2 == 0 ? 1 + random.below(8) : bytes.size();
    for (std::size_t n = 0; n < changes; ++n)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    const auto answer = decode_path_answer(bytes);
    if (!answer.has_value() || answer->status != 0) continue;
    ++sensible;
    EXPECT_LE(answer->record.service_level, 15);
    EXPECT_GE(answer->record.mtu, 1);
    EXPECT_LE(answer->record.mtu, 5);
  }
  EXPECT_GT(sensible, 100);
}

}  // namespace
}  // namespace hawser::rdma
