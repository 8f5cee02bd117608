#include "rails/decision/slow_paths.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

namespace hawser {
namespace {

// Messages one after the other, 10 us each.
class Messages {
 public:
  explicit Messages(int paths) : slow(paths) {}

  void send(int count, const std::function<double(int)>& rate) {
    for (int i = 0; i < count; ++i) {
      now += 10 * microsecond;
      const std::optional<int> next = slow.on_sample(path, rate(path), now, random_);
      if (!next.has_value()) continue;
      path = *next;
      taken.insert(path);
    }
  }

  SlowPaths slow;
  int path = 0;
  Nanoseconds now = 0;
  std::set<int> taken;

 private:
  Random random_{1};
};

TEST(SlowPaths, LeavesAPathThatIsPlainlySlow) {
  Messages messages(4);
  const auto rate = [](int path) { return path == 0 ? 0.1 : 1.0; };
  messages.send(5, rate);
  EXPECT_EQ(messages.path, 0) << "a few may be late";
  messages.send(2, rate);
  EXPECT_NE(messages.path, 0);
  EXPECT_EQ(messages.taken.size(), 1u);
  EXPECT_TRUE(messages.slow.avoids(0));
  EXPECT_FALSE(messages.slow.avoids(messages.path));
  const int path = messages.path;
  messages.send(100'000, rate);
  EXPECT_EQ(messages.path, path) << "there is nothing to look for";
}

TEST(SlowPaths, LateMessagesAmongOthersTellNothing) {
  Messages messages(4);
  int i = 0;
  messages.send(100'000, [&i](int) { return ++i % 5 == 0 ? 1.0 : 0.1; });
  EXPECT_TRUE(messages.taken.empty());
}

TEST(SlowPaths, FindsTheOneThatIsNot) {
  Messages messages(4);
  messages.send(30, [](int path) { return path == 3 ? 0.9 : 0.1; });
  EXPECT_EQ(messages.path, 3);
  for (const int path : messages.taken) EXPECT_EQ(messages.slow.avoids(path), path != 3);
}

TEST(SlowPaths, TakesTheBestOfThoseThatAreNotGood) {
  Messages messages(3);
  messages.send(30, [](int path) { return path == 2 ? 0.3 : 0.1; });
  EXPECT_EQ(messages.path, 2);
}

// The end, or a bus, is slow: what it costs to find out gets rare.
TEST(SlowPaths, GoesBackWhereAllAreAsSlow) {
  Messages messages(4);
  const auto rate = [](int) { return 0.1; };
  messages.send(24, rate);
  EXPECT_EQ(messages.path, 0);
  EXPECT_FALSE(messages.slow.avoids_any());
  int elsewhere = 0;
  for (int i = 0; i < 100'000; ++i) {
    messages.send(1, rate);
    elsewhere += messages.path != 0;
  }
  EXPECT_GT(elsewhere, 0);
  EXPECT_LT(elsewhere, 200) << "of a second";
}

TEST(SlowPaths, ForgetsAfterAWhile) {
  Messages messages(4);
  messages.send(20, [](int path) { return path == 0 ? 0.1 : 1.0; });
  EXPECT_TRUE(messages.slow.avoids(0));
  messages.now += 20 * second;
  messages.send(1, [](int) { return 1.0; });
  EXPECT_FALSE(messages.slow.avoids_any());
}

TEST(SlowPaths, StaysWhereNoOtherCanBeHad) {
  Messages messages(4);
  messages.send(6, [](int) { return 0.1; });
  EXPECT_TRUE(messages.slow.trying());
  messages.slow.give_up();
  EXPECT_FALSE(messages.slow.avoids_any());
}

TEST(SlowPaths, PacketsAvoidAPathThatMessagesHaveLeft) {
  Messages messages(4);
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(messages.slow.avoids(2));
    messages.slow.on_other(2, 0.1, messages.now);
  }
  EXPECT_TRUE(messages.slow.avoids(2));
}

}  // namespace
}  // namespace hawser
