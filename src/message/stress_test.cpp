// Random traffic among a few processes over channels that refuse, delay and cut up, checked afterwards
// against the rules: every message arrives whole, once, and none overtakes (MPI-5.0 section 3.5).
#include <gtest/gtest.h>

#include <vector>

#include "message/point_to_point.h"
#include "message/test_network.h"

namespace hawser {
namespace {

constexpr int processes = 3;
constexpr int contexts = 2;
constexpr int tags = 3;

struct Sent {
  int from, to;
  std::uint32_t context;
  std::int32_t tag;
  std::vector<std::byte> data;
  MessageRequest* request = nullptr;
  bool cancelled = false;
  int received_by = -1;  // index of the receive
};

struct Received {
  int at;
  ReceivePattern pattern;
  std::vector<std::byte> into;
  MessageRequest* request = nullptr;
  int message = -1;  // index of the message
  bool cancelled = false;
};

class StressTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  std::int64_t random_size() {
    constexpr std::int64_t limits[] = {1, 16, 64, 256, 300, 5000};
    return 4 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(limits[random_.below(6)])));
  }
  int random_process() { return static_cast<int>(random_.below(processes)); }
  std::uint32_t random_context() { return static_cast<std::uint32_t>(4 * random_.below(contexts)); }

  void send() {
    const int index = static_cast<int>(sent_.size());
    Sent& s = sent_.emplace_back();
    s.from = random_process();
    s.to = random_process();
    s.context = random_context();
    s.tag = static_cast<std::int32_t>(random_.below(tags));
    s.data.resize(static_cast<std::size_t>(random_size()));
    for (std::size_t i = 0; i < s.data.size(); ++i)
      s.data[i] = static_cast<std::byte>(i * 13 + static_cast<std::size_t>(index));
    std::memcpy(s.data.data(), &index, sizeof index);
    const SendTarget target{s.to, s.context, s.from, s.tag};
    const ByteSequence bytes{s.data.data(), static_cast<std::int64_t>(s.data.size()), nullptr};
    if (random_.chance(0.2)) {
      // May find no room; then it goes as a standard send.
      if (network_[s.from].send_buffered(target, bytes, nullptr)) return;
    }
    const SendMode mode = random_.chance(0.3) ? SendMode::synchronous : SendMode::standard;
    s.request = &network_[s.from].isend(mode, target, bytes);
  }

  void receive() {
    Received& r = received_.emplace_back();
    r.at = random_process();
    r.pattern.context = random_context();
    r.pattern.source_rank = random_.chance(0.4) ? any_source : random_process();
    r.pattern.tag = random_.chance(0.4) ? any_tag : static_cast<std::int32_t>(random_.below(tags));
    r.into.resize(static_cast<std::size_t>(random_size()));
    const ByteSequence into{r.into.data(), static_cast<std::int64_t>(r.into.size()), nullptr};
    PointToPoint& node = network_[r.at];
    if (random_.chance(0.3)) {
      Status status;
      Message* message = node.matched_probe(r.pattern, status);
      if (message != nullptr) {
        r.request = &node.take_receive(r.pattern, into);
        node.start_matched_receive(*message, *r.request);
        return;
      }
    }
    r.request = &node.ireceive(r.pattern, into);
  }

  void cancel_something() {
    if (random_.chance(0.5) && !received_.empty()) {
      Received& r = received_[random_.below(received_.size())];
      network_[r.at].cancel(*r.request);
    } else if (!sent_.empty()) {
      Sent& s = sent_[random_.below(sent_.size())];
      if (s.request != nullptr && !s.request->shared) network_[s.from].cancel(*s.request);
    }
  }

  // Receives whatever is left, so that everything can complete.
  void drain() {
    network_.settle();
    for (int at = 0; at < processes; ++at) {
      for (std::uint32_t context = 0; context < 4 * contexts; context += 4) {
        for (Status status; network_[at].probe({context, any_source, any_tag}, status);) {
          Received& r = received_.emplace_back();
          r.at = at;
          r.pattern = {context, any_source, any_tag};
          r.into.resize(static_cast<std::size_t>(status.bytes));
          r.request = &network_[at].ireceive(
              r.pattern, {r.into.data(), static_cast<std::int64_t>(r.into.size()), nullptr});
          network_.settle();
        }
      }
    }
    for (Received& r : received_) {
      if (!r.request->complete) network_[r.at].cancel(*r.request);
      ASSERT_TRUE(r.request->complete);
      r.cancelled = r.request->status.cancelled;
    }
    for (Sent& s : sent_) {
      if (s.request == nullptr) continue;
      ASSERT_TRUE(s.request->complete);
      s.cancelled = s.request->status.cancelled;
    }
    EXPECT_EQ(network_.exposed(), 0u);
  }

  void check_contents() {
    for (std::size_t i = 0; i < received_.size(); ++i) {
      Received& r = received_[i];
      if (r.cancelled) continue;
      int index = -1;
      std::memcpy(&index, r.into.data(), sizeof index);
      ASSERT_TRUE(index >= 0 && index < static_cast<int>(sent_.size()));
      Sent& s = sent_[static_cast<std::size_t>(index)];
      EXPECT_FALSE(s.cancelled);
      ASSERT_EQ(s.received_by, -1) << "message " << index << " arrived twice";
      s.received_by = static_cast<int>(i);
      r.message = index;
      EXPECT_EQ(s.to, r.at);
      EXPECT_EQ(s.from, r.request->status.source);
      EXPECT_EQ(s.tag, r.request->status.tag);
      EXPECT_TRUE(fits(r.pattern, s));
      const std::size_t n = std::min(s.data.size(), r.into.size());
      EXPECT_EQ(r.request->status.bytes, static_cast<std::int64_t>(n));
      EXPECT_EQ(r.request->status.error,
                s.data.size() > r.into.size() ? ErrorClass::truncate : ErrorClass::success);
      EXPECT_TRUE(std::equal(r.into.begin(), r.into.begin() + static_cast<long>(n), s.data.begin()));
    }
    for (const Sent& s : sent_) EXPECT_EQ(s.received_by >= 0, !s.cancelled);
  }

  static bool fits(const ReceivePattern& p, const Sent& s) {
    return p.context == s.context && (p.source_rank == any_source || p.source_rank == s.from) &&
           (p.tag == any_tag || p.tag == s.tag);
  }

  // A receive got a message though an earlier one of the same sender fits it too: then that one must have
  // gone to a receive that was posted before.
  void check_order() {
    for (std::size_t i = 0; i < received_.size(); ++i) {
      const Received& r = received_[i];
      if (r.message < 0) continue;
      const Sent& got = sent_[static_cast<std::size_t>(r.message)];
      for (int earlier = 0; earlier < r.message; ++earlier) {
        const Sent& s = sent_[static_cast<std::size_t>(earlier)];
        if (s.from != got.from || s.to != got.to || s.cancelled || !fits(r.pattern, s)) continue;
        EXPECT_LT(s.received_by, static_cast<int>(i)) << "message " << r.message << " overtook " << earlier;
      }
    }
  }

  // Every second seed has so little memory for unexpected messages that senders often keep theirs.
  UnexpectedBounds random_bounds() {
    if (GetParam() % 2 == 0) return {1 << 20, 1 << 20};
    const auto some = [&] { return 500 + static_cast<std::int64_t>(random_.below(4000)); };
    return {some(), some()};
  }

  Random random_{GetParam()};
  TestNetwork network_{processes,
                       GetParam() + 1000,
                       {.refusal = 0.7 * random_.uniform(),
                        .delivery = 0.1 + 0.8 * random_.uniform(),
                        .bounds = random_bounds()}};
  std::deque<Sent> sent_;
  std::deque<Received> received_;
};

TEST_P(StressTest, EveryMessageOnceInOrder) {
  std::vector<std::vector<std::byte>> buffers(processes, std::vector<std::byte>(20000));
  for (int i = 0; i < processes; ++i)
    ASSERT_TRUE(network_[i].process_buffer().attach(buffers[static_cast<std::size_t>(i)].data(), 20000));
  for (int step = 0; step < 600; ++step) {
    const double dice = random_.uniform();
    if (dice < 0.3)
      send();
    else if (dice < 0.6)
      receive();
    else if (dice < 0.63)
      cancel_something();
    else
      network_.progress(random_process());
  }
  drain();
  if (HasFatalFailure()) return;
  check_contents();
  if (HasFatalFailure()) return;
  check_order();
}

INSTANTIATE_TEST_SUITE_P(Seeds, StressTest, ::testing::Range<std::uint64_t>(1, 301));

}  // namespace
}  // namespace hawser
