#include "rails/wire/bundle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace hawser {
namespace {

// As the sender writes one; channel_word may say something else than the payload's size.
void add(std::vector<std::byte>& bundle, const std::string& payload, std::uint32_t channel_word) {
  const std::size_t at = bundle.size();
  bundle.resize(at + bundled_bytes(payload.size()));
  TransportHeader header;
  header.flags = static_cast<std::uint8_t>(payload.size()) & 0x7f;
  header.channel_word = channel_word;
  std::memcpy(bundle.data() + at, &header, sizeof(header));
  std::memcpy(bundle.data() + at + sizeof(header), payload.data(), payload.size());
}

std::vector<std::byte> bundle_of(const std::vector<std::string>& messages) {
  std::vector<std::byte> bundle;
  for (const std::string& each : messages) add(bundle, each, static_cast<std::uint32_t>(each.size()));
  return bundle;
}

std::vector<std::string> taken;
bool take_all(std::span<const std::byte> bundle) {
  taken.clear();
  return for_each_bundled(bundle, [](const TransportHeader& header, std::span<const std::byte> payload) {
    EXPECT_EQ(header.flags, payload.size() & 0x7f);
    taken.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
  });
}

TEST(Bundle, MessagesComeOutAsTheyWentIn) {
  const std::vector<std::string> messages = {"",         "1",         "1234567",
                                             "12345678", "123456789", std::string(200, 'x')};
  EXPECT_TRUE(take_all(bundle_of(messages)));
  EXPECT_EQ(taken, messages);
}

TEST(Bundle, WhatNoSenderMakesIsRefused) {
  EXPECT_FALSE(take_all({})) << "without a message";
  const std::vector<std::byte> good = bundle_of({"first", "the second"});
  for (std::size_t cut = 1; cut < good.size(); ++cut) {
    const bool whole = cut == bundled_bytes(5);
    EXPECT_EQ(take_all(std::span(good).first(cut)), whole) << cut;
    EXPECT_EQ(taken.size(), cut >= bundled_bytes(5) ? 1u : 0u) << cut;
  }
  for (const std::uint32_t size : {9u, 1000u, 0x7fffffffu, 0xfffffff9u, 0xffffffffu}) {
    std::vector<std::byte> bundle;
    add(bundle, "payload", size);
    EXPECT_FALSE(take_all(bundle)) << size;
    EXPECT_TRUE(taken.empty()) << size;
  }
}

}  // namespace
}  // namespace hawser
