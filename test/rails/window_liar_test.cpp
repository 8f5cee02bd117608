// What a peer may say of a window's keys: process 0 lies, as their owner or as who wants them. Process 1 says
// so, or ends what it has begun with an error in words; and no byte is written where none should be.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "rails/traffic.h"
#include "rails/windows.h"

namespace hawser::rails_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case : Untruth {
  int owner;               // of the window
  const char* error = "";  // of what 1 does in 0's window over the rail with new keys alone; empty: none
  const char* complaint_of_liar = "";
};

void other_window(Packet& packet) {
  packet.body<WindowKeysBody>([](WindowKeysBody& body) { body.window.place = 77; });
}

const Case cases[] = {
    {"QuestionCut", PacketKind::ask_window_keys, cut, "0 sent a packet of window keys of only 19 bytes", 1},
    {"QuestionAboutNoWindow", PacketKind::ask_window_keys, other_window, "", 1, "",
     "1 sent keys of window 77 that nobody asked for"},
    {"QuestionAboutAWindowOfBefore", PacketKind::ask_window_keys,
     [](Packet& p) { p.body<WindowKeysBody>([](WindowKeysBody& body) { ++body.window.generation; }); }, "", 1,
     "", "1 sent keys of window 0 that nobody asked for"},
    {"AnswerCut", PacketKind::window_keys, cut, "0 sent a packet of window keys of only 19 bytes", 0},
    {"AnswerAboutNoWindow", PacketKind::window_keys, other_window,
     "0 sent keys of window 77 that nobody asked for", 0},
    {"AnswerToNothing", PacketKind::ask_window_keys,
     [](Packet& p) { p.header.kind = PacketKind::window_keys; }, "that nobody asked for", 1},
    {"AnswerWithWrongKeys", PacketKind::window_keys,
     [](Packet& p) {
       p.body<WindowKeysBody>([](WindowKeysBody& body) {
         for (auto& key : body.bytes.keys) key ^= 0x5a5a5a5a;
       });
     },
     "", 0, "is not registered any more"},
    {"AnswerWithoutKeys", PacketKind::window_keys,
     [](Packet& p) {
       p.body<WindowKeysBody>([](WindowKeysBody& body) {
         for (auto& key : body.bytes.keys) key = 0;
       });
     },
     "", 0, "has no such window any more"},
    {"AnswerThatItIsClosed", PacketKind::window_keys,
     [](Packet& p) { p.body<WindowKeysBody>([](WindowKeysBody& body) { body.open = 0; }); }, "", 0,
     "has no such window any more"},
    // The address is the token's, whatever the answer says.
    {"AnswerWithAnotherAddress", PacketKind::window_keys,
     [](Packet& p) { p.body<WindowKeysBody>([](WindowKeysBody& body) { body.bytes.address += 4096; }); }, "",
     0},
};

class WindowLiar : public ::testing::TestWithParam<Case> {};

TEST_P(WindowLiar, HarmsNobodyElse) {
  const Case& wanted = GetParam();
  ClusterOptions options = two_rails();
  bool lied = false;
  options.lie = telling(wanted, lied);
  RailCluster cluster(options);
  const int owner = wanted.owner;
  Origin origin(cluster, 1 - owner);
  // Both have windows, and both lose an adapter, so that either may ask.
  TestWindow window(cluster, owner, 300'000), of_other(cluster, 1 - owner, 100'000);
  const Bytes before = window.bytes, before_at_other = of_other.bytes;
  Bytes bytes = pattern(100'000, 3);
  origin.put(owner, window.at(100'000), channel_test::whole(bytes));
  ASSERT_TRUE(origin.settle(origin.flush(owner)));
  cluster.inject(fmt::format("adapter n{}/hw0 dead", owner));
  cluster.run(cluster.now() + 50 * millisecond, false);
  cluster.inject(fmt::format("adapter n{}/hw0 alive", owner));
  cluster.run(cluster.now() + second, false);
  // Nothing but the rail of which the token knows nothing.
  cluster.inject(fmt::format("link n{}/hw1 down", owner));
  cluster.run(cluster.now() + 50 * millisecond, false);
  auto& put = origin.put(owner, window.at(100'000), channel_test::whole(bytes));
  auto& flush = origin.flush(owner);
  const bool settled = origin.settle(put, 5 * second) && origin.settle(flush, 5 * second);
  EXPECT_TRUE(lied) << cluster.describe();
  EXPECT_THAT(cluster.at(0).complaints, *wanted.complaint_of_liar == 0
                                            ? ::testing::Matcher<std::vector<std::string>>(IsEmpty())
                                            : ::testing::Matcher<std::vector<std::string>>(
                                                  Contains(HasSubstr(wanted.complaint_of_liar))));
  if (*wanted.complaint != 0)
    EXPECT_THAT(cluster.at(1).complaints, Contains(HasSubstr(wanted.complaint))) << cluster.failure();
  else
    EXPECT_THAT(cluster.at(1).complaints, IsEmpty());
  if (*wanted.error != 0) {
    EXPECT_TRUE(settled) << cluster.describe();
    EXPECT_THAT(put.error, HasSubstr(wanted.error));
  }
  // The bytes that were put, or those of before: both are where they belong.
  const auto same = [&](const Bytes& now, const Bytes& then, std::int64_t from, std::int64_t to) {
    return std::equal(now.begin() + from, now.begin() + to, then.begin() + from);
  };
  EXPECT_TRUE(same(window.bytes, before, 0, 100'000));
  EXPECT_TRUE(same(window.bytes, before, 200'000, 300'000));
  EXPECT_TRUE(of_other.bytes == before_at_other);
  EXPECT_TRUE(window.holds(100'000, bytes)) << "the second put wrote the same bytes, or none";
}

// It asks on and on, and never says that it has the answers, which therefore wait.
TEST(WindowLiarAsks, NoMoreThanAQueueHolds) {
  ClusterOptions options = two_rails();
  options.knobs.rail_datagrams = 0;
  std::uint32_t questions = 0;
  options.lie = [&](bool datagram, std::span<std::byte> bytes) {
    if (datagram) return bytes.size();
    Packet packet(bytes);
    packet.header.acknowledged = 0;
    if (packet.header.kind == PacketKind::eager) {
      packet.header.kind = PacketKind::ask_window_keys;
      packet.body<WindowKeysBody>([&](WindowKeysBody& body) { body.window = {questions++, 0}; });
    }
    return bytes.size();
  };
  RailCluster cluster(options);
  for (int i = 0; i < 1000; ++i) cluster.at(0).post({1, 512});
  cluster.run(second, false);
  EXPECT_EQ(questions, 1000u) << cluster.describe();
  const auto& complaints = cluster.at(1).complaints;
  EXPECT_THAT(complaints, Contains(HasSubstr("0 sent 65 questions about windows and reads no answer")));
  // 64 answers are under way, and 64 wait.
  EXPECT_EQ(complaints.size(), 1000u - 128u);
}

INSTANTIATE_TEST_SUITE_P(All, WindowLiar, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hawser::rails_test
