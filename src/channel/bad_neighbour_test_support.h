// For those that lie to a channel, tests and fuzz targets: events that take what comes as the message room
// does, and fail where a channel reports something twice or writes beside a buffer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "channel/channel_test_support.h"

namespace hawser::channel_test {

inline constexpr ProcessIndex victim = 0, liar = 1, witness = 2;

// A buffer with a margin on both sides in which nothing may ever be written.
class Guarded {
 public:
  explicit Guarded(std::size_t size) : bytes_(size + 2 * margin, filling), size_(size) {}
  ByteSequence sequence() { return {bytes_.data() + margin, static_cast<std::int64_t>(size_), nullptr}; }
  Bytes contents() const { return {bytes_.begin() + margin, bytes_.end() - margin}; }
  bool intact() const {
    for (std::size_t i = 0; i < margin; ++i)
      if (bytes_[i] != filling || bytes_[bytes_.size() - 1 - i] != filling) return false;
    return true;
  }

 private:
  static constexpr std::ptrdiff_t margin = 4096;
  static constexpr std::byte filling{0xA5};
  Bytes bytes_;
  std::size_t size_;
};

// Takes what comes as the message room does, and counts every end.
class Careful final : public TransportEvents {
 public:
  struct Arrival final : Completion {
    explicit Arrival(ProcessIndex from, std::size_t size) : source(from), into(size) {}
    void on_complete(Result<>) override { ++ends; }
    ProcessIndex source;
    Guarded into;
    int ends = 0;
  };
  struct Exposed final : Completion {
    void on_complete(Result<>) override { ++times; }
    int times = 0;
  };
  explicit Careful(Transport& channel) : channel_(channel) {}

  void on_packet(ProcessIndex, const TransportHeader&, const std::byte* payload, std::int64_t size) override {
    sum_ += size > 0 ? static_cast<unsigned>(payload[size - 1]) : 0;
  }
  void on_offer(ProcessIndex source, const TransportHeader&, const ExposeToken& token,
                std::int64_t size) override {
    if (size < 0) return;
    Arrival& arrival =
        arrivals.emplace_back(source, static_cast<std::size_t>(std::min<std::int64_t>(size, 100'000)));
    channel_.fetch(source, token, arrival.into.sequence(), &arrival);
  }
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader&, std::int64_t size) override {
    EXPECT_GE(size, 0);
    EXPECT_LE(size, 64 << 20);
    Arrival& arrival =
        arrivals.emplace_back(source, static_cast<std::size_t>(std::min<std::int64_t>(size, 20'000)));
    return {arrival.into.sequence(), &arrival};
  }
  Completion* exposing(const void* key) { return &exposed_done[key]; }
  void on_bad_packet(ProcessIndex source, std::string what) override {
    // The liar is asked for what it said that it had.
    EXPECT_TRUE(source == liar || is_liar) << what;
    bad_packets.push_back(std::move(what));
  }
  void on_peer_lost(ProcessIndex source, const Error&) override { EXPECT_EQ(source, liar); }

  void check() {
    for (const Arrival& arrival : arrivals) {
      EXPECT_LE(arrival.ends, 1);
      EXPECT_TRUE(arrival.into.intact());
    }
    for (const auto& [key, exposed] : exposed_done) EXPECT_LE(exposed.times, 1);
  }

  std::deque<Arrival> arrivals;
  std::map<const void*, Exposed> exposed_done;
  std::vector<std::string> bad_packets;
  bool is_liar = false;

 private:
  Transport& channel_;
  unsigned sum_ = 0;
};

inline TransportHeader offer() { return header_with_tag(1); }

// What the victim has under way with one of the others: an offer to it, and an offer of it.
struct Traffic {
  explicit Traffic(std::uint64_t seed) : offered(pattern(70'000, seed)), wanted(pattern(60'000, seed + 1)) {}
  Bytes offered, wanted;
};

}  // namespace hawser::channel_test
