#include "rails/decision/path_spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "rails/decision/path_spread_test_support.h"

namespace hawser {
namespace {

using path_spread_test::message;
using path_spread_test::of_long;
using path_spread_test::on_demand;
using path_spread_test::port;
using path_spread_test::Sender;

TEST(PathSpread, KeepsToTheFirstPathOfAnEvenFabric) {
  SpreadHints hints;
  Sender sender(4, 2, hints);
  int i = 0;
  // Now and then somebody is late.
  sender.send(1000, [&i](const PathSpread&) { return ++i % 4 == 0 ? 0.4 : 0.97; });
  EXPECT_EQ(sender.sent[0], 1000);
  EXPECT_EQ(sender.spread.path(), 0);
}

TEST(PathSpread, LeavesAPathThatStaysSlow) {
  SpreadHints hints;
  Sender sender(4, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.5 : 1.0; };
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.path(), 0);
  sender.send(rate);
  EXPECT_NE(sender.spread.path(), 0);
  const int path = sender.spread.path();
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.path(), path);
  EXPECT_EQ(sender.spread.way(), Spread::one);
}

// Two that meet have half of the link each. Who has more would hardly find better.
TEST(PathSpread, LongMessagesStayWhereTheyHaveMoreThanHalf) {
  SpreadHints hints, hints_of_short;
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.65 : 1.0; };
  Sender sender(4, 1, hints);
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.path(), 0);
  EXPECT_EQ(sender.sent[0], 100);
  Sender of_short(4, 1, hints_of_short);
  of_short.movable = 0;
  of_short.send(10, rate);
  EXPECT_EQ(of_short.spread.way(), Spread::all);
}

TEST(PathSpread, TriesAllPathsSoonWhereOneAfterTheOtherIsSlow) {
  SpreadHints hints;
  Sender sender(4, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 0.7 : 0.4; };
  sender.send(16, rate);
  EXPECT_EQ(sender.spread.way(), Spread::all);
}

TEST(PathSpread, LeavesAtOnceWhereItIsNew) {
  SpreadHints hints;
  Sender sender(8, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 5 ? 1.0 : 0.5; };
  sender.send(3, rate);
  for (int i = 0; i < 200 && sender.spread.path() != 5; ++i) {
    const int path = sender.spread.path();
    const Spread way = sender.spread.way();
    sender.send(rate);
    if (way == Spread::one) {
      EXPECT_NE(sender.spread.path(), path);
    }
  }
  EXPECT_EQ(sender.spread.path(), 5);
}

TEST(PathSpread, TakesAllPathsWhereEachIsSlowerThanThePort) {
  SpreadHints hints;
  Sender sender(4, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 1.0 : 0.5; };
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  sender.sent = {};
  sender.send(1000, rate);
  EXPECT_EQ(sender.sent[1], 1000) << "who does well tries nothing";
}

TEST(PathSpread, TakesTheEnginesOfOnePathWhereAnEngineIsSlowerThanThePort) {
  SpreadHints hints;
  Sender sender(2, 2, hints);
  // And two paths at once are in each other's way.
  const auto rate = [](const PathSpread& spread) {
    return spread.way() == Spread::all ? 0.7 : spread.engines() == 1 ? 0.6 : 0.98;
  };
  sender.send(3, rate);
  int with_one = 0;
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(sender.spread.way(), Spread::one);
    EXPECT_EQ(sender.spread.path(), 0) << "no path is to blame";
    EXPECT_FALSE(sender.spread.takes(1, 0));
    with_one += !sender.spread.takes(0, 1);
    sender.send(rate);
  }
  EXPECT_LE(with_one, 5) << "it may have been chance that two were better";
  Sender single(1, 2, hints);
  single.send(1, rate);
  EXPECT_EQ(single.spread.engines(), 2) << "known from the other peer";
}

// The last messages of a window may all be on one engine, which then is slow by itself.
TEST(PathSpread, BlamesNoPathForWhatOneEngineHasLeft) {
  SpreadHints hints;
  Sender sender(4, 2, hints);
  const auto rate = [](const PathSpread& spread) { return spread.engines() == 1 ? 0.6 : 0.98; };
  sender.send(10, rate);
  ASSERT_EQ(sender.spread.engines(), 2);
  Nanoseconds now = second;
  for (int i = 0; i < 20; ++i) {
    const std::uint8_t choice = sender.spread.on_posted(message, 0, now, of_long);
    now += message * 10 / 6;
    sender.spread.on_done({message, choice, 0, now, now, 1}, hints);
    EXPECT_EQ(sender.spread.path(), 0);
  }
}

// Two stripes of eight that are under way are done after as long as all need for five: they are not the rate
// of two engines.
TEST(PathSpread, WaitsForSeveralStripesOfEachEngineBeforeItJudges) {
  SpreadHints hints;
  Sender sender(1, 2, hints);
  sender.send(2, [](const PathSpread&) { return 0.6; });
  ASSERT_EQ(sender.spread.engines(), 2) << "tried";
  Nanoseconds now = second;
  constexpr int stripes = 8;
  constexpr std::int64_t size = 32'768;
  for (int i = 0; i < 4; ++i) {
    std::uint8_t choice = 0;
    for (int s = 0; s < stripes; ++s) choice = sender.spread.on_posted(size, s * size, now, 0);
    for (int s = 0; s < stripes; ++s) {
      const Nanoseconds done = now + (5 + s / 2) * size;
      sender.spread.on_done({size, choice, (stripes - 1 - s) * size, done, done, s % 2}, hints);
    }
    now += 100 * size;
  }
  EXPECT_EQ(sender.spread.engines(), 2) << "kept";
}

// Where a path is shared and an engine is narrow, too.
TEST(PathSpread, FindsAFreePathAndThenTheEngines) {
  SpreadHints hints;
  Sender sender(4, 2, hints);
  const auto rate = [](const PathSpread& spread) {
    if (spread.way() == Spread::all) return 0.6;
    return spread.path() == 0 ? 0.5 : spread.engines() == 1 ? 0.6 : 0.98;
  };
  sender.send(12, rate);
  EXPECT_NE(sender.spread.path(), 0);
  EXPECT_EQ(sender.spread.engines(), 2);
}

TEST(PathSpread, NoticesAnEngineThatIsALittleSlowerThanThePort) {
  SpreadHints hints;
  Sender sender(4, 2, hints);
  sender.send(10, [](const PathSpread& spread) { return spread.engines() == 1 ? 0.8 : 0.98; });
  EXPECT_EQ(sender.spread.engines(), 2);
  EXPECT_EQ(sender.spread.path(), 0);
}

TEST(PathSpread, StaysSimpleWhereTheEndIsSlow) {
  SpreadHints hints;
  Sender sender(4, 1, hints);
  sender.send(2000, [](const PathSpread&) { return 0.3; });
  EXPECT_GT(sender.sent[0], 1900);
}

TEST(PathSpread, LearnsFromOtherPeersOfThePort) {
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 1.0 : 0.35; };
  SpreadHints hints;
  Sender first(4, 1, hints);
  first.send(200, rate);
  Sender second(4, 1, hints, 2);
  second.send(1, rate);
  EXPECT_EQ(second.spread.way(), Spread::all);
}

TEST(PathSpread, DoesNotJudgeWhatItCannotTell) {
  SpreadHints hints;
  PathSpread spread(4, 1, port, 1);
  Nanoseconds now = 0;
  for (int i = 0; i < 100; ++i) {
    // Beside the bytes of another peer.
    spread.on_posted(message, 0, now, of_long);
    spread.on_done({message, 0, 64'000, now + 500'000, now + 500'000}, hints);
    now += 1'000'000;
    // The process was away.
    spread.on_posted(message, 0, now, of_long);
    spread.on_done({message, 0, 0, now + 100'000, now + 500'000}, hints);
    now += 1'000'000;
    // Too short to measure.
    spread.on_posted(4096, 0, now, of_long);
    spread.on_done({4096, 0, 0, now + 30'000, now + 30'000}, hints);
    now += 1'000'000;
  }
  EXPECT_EQ(spread.path(), 0);
  EXPECT_EQ(spread.way(), Spread::one);
}

// 128 KiB take 10 us of a fast port, and here twice that, beside a latency that may be as long.
TEST(PathSpread, JudgesShortTimesWhereItKnowsTheLatency) {
  const auto way_after = [](Nanoseconds latency, bool known) {
    SpreadHints hints;
    PathSpread spread(4, 1, 12.5e9, 1);
    for (Nanoseconds now = 0; now < 10 * millisecond; now += 100 * microsecond) {
      if (known) spread.on_packet(latency);
      spread.on_posted(131072, 0, now, 0);
      const Nanoseconds done = now + latency + 2 * 10'486;
      spread.on_done({131072, 0, 0, done, done}, hints);
    }
    return spread.way();
  };
  EXPECT_EQ(way_after(4 * microsecond, true), Spread::all);
  EXPECT_EQ(way_after(4 * microsecond, false), Spread::one);
  EXPECT_EQ(way_after(10 * microsecond, true), Spread::one);
}

TEST(PathSpread, JudgesAStreamThatNeverEndsByWhatTheNewPathDid) {
  SpreadHints hints;
  PathSpread spread(2, 1, port, 1);
  Nanoseconds now = 0;
  struct Piece {
    int path;
    std::uint8_t choice;
  };
  std::vector<Piece> queue;  // under way
  for (int i = 0; i < 100; ++i) {
    while (queue.size() < 2) {
      const auto before = static_cast<std::int64_t>(queue.size()) * message;
      const std::uint8_t choice = spread.on_posted(message, before, now, of_long);
      queue.push_back({spread.path(), choice});
    }
    // Path 0 is slow, and what is left there when the messages move is, too.
    const Piece piece = queue.front();
    now += piece.path == 0 ? 3 * message : message;
    queue.erase(queue.begin());
    spread.on_done({message, piece.choice, static_cast<std::int64_t>(queue.size()) * message, now, now},
                   hints);
  }
  EXPECT_EQ(spread.path(), 1);
  EXPECT_EQ(queue.front().path, 1);
}

// An adapter behind a bus that is slower than its port: no path is to blame.
TEST(PathSpread, LearnsWhatAPortReaches) {
  SpreadHints hints;
  Sender sender(8, 1, hints);
  sender.send(100, [](const PathSpread&) { return 0.7; });
  const int path = sender.spread.path();
  for (int i = 0; i < 500; ++i) {
    sender.send([](const PathSpread&) { return 0.7; });
    ASSERT_EQ(sender.spread.path(), path);
  }
  // But one that is slow for that is left.
  sender.send(3, [](const PathSpread&) { return 0.3; });
  EXPECT_NE(sender.spread.path(), path);
  // Others need not find it out again.
  Sender second(8, 1, hints, 2);
  second.send(10, [](const PathSpread&) { return 0.7; });
  EXPECT_EQ(second.spread.path(), 0);
}

// Messages that cannot move to another path while they are under way.

Sender of_short(Sender sender) {
  sender.movable = 0;
  return sender;
}

TEST(PathSpread, ShortMessagesTakeAllPathsWhereOneStaysSlow) {
  SpreadHints hints;
  Sender sender = of_short(Sender(4, 1, hints));
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 0.6 : 0.5; };
  sender.send(rate);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  sender.send(rate);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  sender.sent = {};
  sender.send(1000, rate);
  EXPECT_GT(sender.sent[1], 900);
}

TEST(PathSpread, ShortMessagesFindAFreePathInTheEnd) {
  SpreadHints hints;
  Sender sender = of_short(Sender(4, 1, hints));
  const auto rate = [](const PathSpread& spread) {
    return spread.way() == Spread::all ? 0.7 : spread.path() == 2 ? 1.0 : 0.5;
  };
  sender.send(3, rate);
  int tries = 0;
  for (; sender.spread.path() != 2 && tries < 100; ++tries) {
    int with_all = 0;
    for (; sender.spread.way() == Spread::all; ++with_all) sender.send(rate);
    EXPECT_GE(with_all, 60) << "tries are rare";
    const int path = sender.spread.path();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(sender.spread.path(), path);
      sender.send(rate);
    }
  }
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.path(), 2);
}

// What is posted on a path cannot leave it again.
TEST(PathSpread, OnlyAsMuchAsTellsOfItTakesAPathThatIsTried) {
  SpreadHints hints;
  Sender sender = of_short(Sender(4, 1, hints));
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 0.6 : 0.5; };
  int tried = 0;
  for (int i = 0; i < 200; ++i) {
    const bool tries = i > 2 && sender.spread.way() == Spread::one;
    tried += tries;
    EXPECT_EQ(sender.spread.most_under_way() <= 2 * message, tries) << i;
    sender.send(rate);
  }
  EXPECT_GT(tried, 0);
}

// Beside the bytes of other peers of the port all the time.
TEST(PathSpread, ShortMessagesTakeOnePathAgainWhereNothingIsMeasured) {
  SpreadHints hints;
  Sender sender = of_short(Sender(4, 1, hints));
  sender.send(3, [](const PathSpread&) { return 0.5; });
  EXPECT_EQ(sender.spread.way(), Spread::all);
  Nanoseconds now = second;
  for (int i = 0; i < 100; ++i) {
    const std::uint8_t choice = sender.spread.on_posted(message, message, now, 0);
    now += 2 * message;
    sender.spread.on_done({message, choice, message, now, now}, hints);
  }
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.path(), 0);
}

TEST(PathSpread, ShortMessagesGoBackToOnePathWhereAllAreMuchSlower) {
  SpreadHints hints;
  Sender sender = of_short(Sender(4, 1, hints));
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::all ? 0.1 : 0.5; };
  sender.send(2000, rate);
  EXPECT_GT(sender.sent[0], 1900);
}

TEST(PathSpread, ShortMessagesTakeAllPathsWhenTheyAreOpen) {
  SpreadHints hints;
  Sender sender = of_short(on_demand(3, 1, hints));
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::one ? 0.5 : 0.98; };
  sender.send(rate);
  EXPECT_EQ(sender.spread.wanted(), 0u) << "patience";
  sender.send(rate);
  EXPECT_EQ(sender.spread.wanted(), 6u);
  sender.send(10, rate);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  sender.spread.on_open(2, 0);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.spread.on_open(1, 0);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  EXPECT_EQ(sender.spread.wanted(), 0u);
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.way(), Spread::all);
}

// While all are taken, and one of them fails.
TEST(PathSpread, ShortMessagesTakeOnePathWhereAnotherCannotBeHad) {
  SpreadHints hints;
  Sender sender = of_short(on_demand(3, 1, hints));
  sender.send(3, [](const PathSpread&) { return 0.5; });
  sender.spread.on_open(1, 0);
  sender.spread.on_open(2, 0);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  sender.spread.on_closed(2, 0);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  EXPECT_EQ(sender.spread.wanted(), 4u);
  sender.spread.on_refused();
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.wanted(), 0u);
}

// Who is busy with something else finds late that what he began with is done. Without this a trial of two
// engines looked slower than one, and was over.
TEST(PathSpread, DoesNotCountTheTimeBeforeSomebodyLooks) {
  SpreadHints hints;
  PathSpread spread(1, 2, port, 1);
  constexpr std::int64_t stripe = 8192;
  constexpr Nanoseconds looks = 48 * microsecond, one = 8192;  // at the rate of the port
  std::int64_t queued = 0;
  const auto post = [&](int count, Nanoseconds now) {
    for (int i = 0; i < count; ++i, queued += stripe) spread.on_posted(stripe, queued, now, 0);
  };
  post(2, 0);
  post(20, looks);
  for (int i = 0; i < 2; ++i) spread.on_done({stripe, 0, queued -= stripe, 0, looks}, hints);
  EXPECT_EQ(hints.engines.reached(0), 0);
  for (int i = 1; i <= 13; ++i) {
    const Nanoseconds now = looks + i * one;
    spread.on_done({stripe, 0, queued -= stripe, now, now}, hints);
  }
  EXPECT_GE(hints.engines.reached(0), 0.95);
}

// Senders of one switch, each with some of its links at choice. Those on one link share it.
struct Crowd {
  explicit Crowd(std::uint64_t seed) : random(seed), senders_at(links) {
    for (int i = 0; i < links; ++i) {
      spreads.emplace_back(paths, 1, port, seed * 100 + static_cast<std::uint64_t>(i));
      for (int path = 0; path < paths; ++path)
        link_of.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(links))));
    }
  }
  double mean_rate(int rounds) {
    double sum = 0;
    for (int round = 0; round < rounds; ++round) sum += step();
    return sum / rounds / links;
  }
  double step() {
    std::fill(senders_at.begin(), senders_at.end(), 0);
    for (int i = 0; i < links; ++i) ++senders_at[link(i)];
    double sum = 0;
    for (int i = 0; i < links; ++i) {
      PathSpread& spread = spreads[static_cast<std::size_t>(i)];
      const double rate = spread.way() == Spread::all ? 0.5 : 1.0 / senders_at[link(i)];
      sum += rate;
      const std::uint8_t choice = spread.on_posted(message, 0, now, of_long);
      const Nanoseconds done = now + static_cast<Nanoseconds>(message / rate);
      spread.on_done({message, choice, 0, done, done}, hints[i]);
    }
    now += 100 * message;
    return sum;
  }
  std::size_t link(int sender) {
    const int path = spreads[static_cast<std::size_t>(sender)].path();
    return static_cast<std::size_t>(link_of[static_cast<std::size_t>(sender * paths + path)]);
  }

  static constexpr int links = 12, paths = 4;
  Random random;
  std::vector<PathSpread> spreads;
  std::vector<int> link_of, senders_at;
  SpreadHints hints[links];
  Nanoseconds now = 0;
};

TEST(PathSpread, ACrowdFindsNearlyAllFreeLinks) {
  double first = 0, later = 0;
  constexpr int crowds = 30;
  for (std::uint64_t seed = 1; seed <= crowds; ++seed) {
    Crowd crowd(seed);
    first += crowd.mean_rate(1) / crowds;
    crowd.mean_rate(50);
    later += crowd.mean_rate(100) / crowds;
  }
  EXPECT_LT(first, 0.72);  // at random
  EXPECT_GT(later, 0.85);
}

}  // namespace
}  // namespace hawser
