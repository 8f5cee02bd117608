#include "access/multicast_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace hawser::rdma {
namespace {

void put(ManagementDatagram& bytes, std::size_t at, std::vector<int> values) {
  for (const int value : values) bytes[at++] = static_cast<std::byte>(value);
}

MembershipQuestion usual() {
  MembershipQuestion asked;
  asked.transaction = 0x1122334455667788;
  asked.group.fill(0x12);
  asked.group[0] = 0xff;
  asked.port.fill(0x34);
  asked.key = 0x0a0b0c0d;
  asked.partition = 0x8007;
  return asked;
}

// What an administrator makes of a question: LID 0xc123, MTU 2048, service level 5.
ManagementDatagram answer_to(const MembershipQuestion& question) {
  ManagementDatagram bytes = encode(question);
  put(bytes, 3, {0x81});
  put(bytes, 92, {0xc1, 0x23, 0x84});
  put(bytes, 100, {0x50});
  return bytes;
}

TEST(MulticastRecord, AQuestionHasTheBytesOfTheArchitecture) {
  ManagementDatagram expected = {};
  put(expected, 0, {1, 3, 2, 2});
  put(expected, 8, {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88});
  put(expected, 16, {0, 0x38});
  put(expected, 53, {0x01, 0x30, 0xc7});
  put(expected, 56, std::vector<int>(16, 0x12));
  put(expected, 56, {0xff});
  put(expected, 72, std::vector<int>(16, 0x34));
  put(expected, 88, {0x0a, 0x0b, 0x0c, 0x0d});
  put(expected, 96, {0x80, 0x07});
  put(expected, 104, {1});
  EXPECT_EQ(encode(usual()), expected);
  MembershipQuestion asked = usual();
  asked.leaves = true;
  put(expected, 3, {0x15});
  put(expected, 53, {0x01, 0x00, 0x03});
  put(expected, 88, {0, 0, 0, 0});
  put(expected, 96, {0, 0});
  EXPECT_EQ(encode(asked), expected);
}

TEST(MulticastRecord, AnAnswerIsRead) {
  const auto answer = decode_membership(answer_to(usual()));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->transaction, usual().transaction);
  EXPECT_EQ(answer->status, 0);
  EXPECT_EQ(answer->group, (MulticastGroup{usual().group, 0xc123, 5}));
  EXPECT_EQ(answer->mtu, 4);
}

TEST(MulticastRecord, ARefusalIsRead) {
  ManagementDatagram bytes = encode(usual());
  put(bytes, 3, {0x81, 0x02, 0x00});
  const auto answer = decode_membership(bytes);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 0x0200);
}

TEST(MulticastRecord, WhatMakesNoSenseIsNoAnswer) {
  EXPECT_FALSE(decode_membership(encode(usual())).has_value());
  const ManagementDatagram whole = answer_to(usual());
  EXPECT_FALSE(decode_membership(std::span(whole).first(255)).has_value());
  for (const auto& [at, value] : std::vector<std::pair<std::size_t, int>>{
           {0, 2}, {1, 4}, {2, 1}, {17, 0x35}, {56, 0xfe}, {92, 0xbf}, {94, 0x80}, {94, 0x86}}) {
    ManagementDatagram bytes = answer_to(usual());
    put(bytes, at, {value});
    EXPECT_FALSE(decode_membership(bytes).has_value()) << at;
  }
}

TEST(MulticastRecord, RandomBytesAreNoAnswer) {
  Random random(5);
  for (int i = 0; i < 10000; ++i) {
    ManagementDatagram bytes;
    for (std::byte& each : bytes) each = static_cast<std::byte>(random.below(256));
    EXPECT_FALSE(decode_membership(bytes).has_value());
  }
}

}  // namespace
}  // namespace hawser::rdma
