// PathSpread with connections that are made on demand.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "rails/decision/path_spread_test_support.h"

namespace hawser {
namespace {

using path_spread_test::on_demand;
using path_spread_test::Sender;

TEST(PathSpreadOnDemand, AsksForAPathAndMovesWhenItIsOpen) {
  SpreadHints hints;
  Sender sender = on_demand(4, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.5 : 1.0; };
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.wanted(), 0u) << "patience";
  sender.send(rate);
  const ConnectionSet wanted = sender.spread.wanted();
  ASSERT_TRUE(std::has_single_bit(wanted));
  sender.send(10, rate);
  EXPECT_EQ(sender.spread.path(), 0);
  EXPECT_EQ(sender.spread.wanted(), wanted) << "it asks for no other meanwhile";
  const int path = std::countr_zero(wanted);
  sender.spread.on_open(path, 0);
  EXPECT_EQ(sender.spread.path(), path);
  EXPECT_EQ(sender.spread.wanted(), 0u);
  EXPECT_FALSE(sender.spread.takes(0, 0));
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.path(), path);
}

TEST(PathSpreadOnDemand, AsksForNothingOnAnEvenFabric) {
  SpreadHints hints;
  Sender sender = on_demand(4, 4, hints);
  int i = 0;
  for (; i < 1000; ++i) {
    sender.send([&i](const PathSpread&) { return i % 4 == 0 ? 0.4 : 0.97; });
    ASSERT_EQ(sender.spread.wanted(), 0u);
  }
}

TEST(PathSpreadOnDemand, NeedsNoPathThatIsNotOpenYetWhenTheOldOneIsWellAgain) {
  SpreadHints hints;
  Sender sender = on_demand(4, 1, hints);
  sender.send(3, [](const PathSpread&) { return 0.5; });
  EXPECT_NE(sender.spread.wanted(), 0u);
  sender.send([](const PathSpread&) { return 1.0; });
  EXPECT_EQ(sender.spread.wanted(), 0u);
}

TEST(PathSpreadOnDemand, LeavesWhatIsRefusedAndAsksAgainLater) {
  SpreadHints hints;
  Sender sender = on_demand(2, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.5 : 1.0; };
  sender.send(3, rate);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.spread.on_refused();
  EXPECT_EQ(sender.spread.wanted(), 0u);
  EXPECT_EQ(sender.spread.path(), 0);
  sender.send(3, rate);
  EXPECT_EQ(sender.spread.wanted(), 2u);
}

TEST(PathSpreadOnDemand, TriesAWayWhenAllOfItIsOpen) {
  SpreadHints hints;
  Sender sender = on_demand(3, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.way() == Spread::one ? 0.5 : 0.98; };
  for (int i = 0; i < 200 && sender.spread.wanted() != 6u; ++i) sender.send(rate);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.wanted(), 6u);
  sender.spread.on_open(2, 0);
  EXPECT_EQ(sender.spread.way(), Spread::one);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.spread.on_open(1, 0);
  EXPECT_EQ(sender.spread.way(), Spread::all);
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.way(), Spread::all);
}

TEST(PathSpreadOnDemand, TriesTwiceAsManyEnginesWhenTheyAreOpen) {
  SpreadHints hints;
  Sender sender = on_demand(1, 4, hints);
  const auto rate = [](const PathSpread& spread) { return spread.engines() / 4.0 * 0.96; };
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.send(10, rate);
  EXPECT_EQ(sender.spread.engines(), 1);
  sender.spread.on_open(0, 1);
  EXPECT_EQ(sender.spread.engines(), 2);
  sender.send(10, rate);
  EXPECT_EQ(sender.spread.wanted(), 12u);
  sender.spread.on_open(0, 3);
  sender.spread.on_open(0, 2);
  EXPECT_EQ(sender.spread.engines(), 4);
  sender.send(10, rate);
  EXPECT_EQ(sender.spread.engines(), 4);
  EXPECT_EQ(sender.spread.wanted(), 0u);
}

// Several peers whose paths are all as slow share what is slow: the engine. One path may be slow by itself.
TEST(PathSpreadOnDemand, LeavesNoPathWhileTheEngineLooksSlow) {
  const auto rate = [](const PathSpread& spread) { return spread.engines() == 1 ? 0.55 : 0.98; };
  constexpr ConnectionSet second_engine = 2;  // of the first path
  SpreadHints hints, hints_of_one;
  std::vector<Sender> peers(6, on_demand(4, 2, hints));
  for (int message = 0; message < 5; ++message)
    for (Sender& peer : peers) {
      peer.send(rate);
      ASSERT_EQ(peer.spread.wanted() & ~second_engine, 0u) << message;
    }
  const auto trying = std::ranges::find_if(peers, [](Sender& peer) { return peer.spread.wanted() != 0; });
  ASSERT_NE(trying, peers.end());
  trying->spread.on_open(0, 1);
  trying->send(2, rate);
  for (Sender& peer : peers) {
    peer.send(rate);
    if (&peer != &*trying) peer.spread.on_open(0, 1);
    EXPECT_EQ(peer.spread.engines(), 2);
    EXPECT_EQ(peer.spread.path(), 0);
  }
  Sender one = on_demand(4, 2, hints_of_one);
  one.send(5, rate);
  EXPECT_NE(one.spread.wanted() & ~second_engine, 0u);
}

// Engines are taken by who shares the port, and more of them would bring more only at their expense.
TEST(PathSpreadOnDemand, UsesOneEngineBesideAnotherProcess) {
  SpreadHints hints;
  Sender sender = on_demand(1, 2, hints);
  const auto rate = [](const PathSpread& spread) { return spread.engines() == 1 ? 0.6 : 0.98; };
  sender.shared = true;
  sender.send(100, [](const PathSpread&) { return 0.5; });
  EXPECT_EQ(sender.spread.wanted(), 0u);
  EXPECT_FALSE(hints.engines.sampled());
  sender.shared = false;
  sender.send(12, rate);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.spread.on_open(0, 1);
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.engines(), 2);
  sender.shared = true;
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.engines(), 1);
  sender.shared = false;
  sender.send(7, rate);
  EXPECT_EQ(sender.spread.engines(), 1) << "the other one may only pause";
  sender.send(1, rate);
  EXPECT_EQ(sender.spread.engines(), 2);
}

// Making connections takes a while, in which a path that is slow need not be borne.
TEST(PathSpreadOnDemand, LooksForAPathWhileEnginesAreMade) {
  SpreadHints hints;
  Sender sender = on_demand(2, 2, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.56 : 1.0; };
  sender.send(2, rate);
  const ConnectionSet engine = sender.spread.wanted();
  EXPECT_EQ(engine, PathSpread::connection(0, 1, 2));
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.wanted(), engine | PathSpread::connection(1, 0, 2));
  sender.spread.on_open(1, 0);
  EXPECT_EQ(sender.spread.path(), 1);
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.path(), 1);
  EXPECT_EQ(sender.spread.engines(), 1);
}

// Two flows that meet have half of a link each, which is not the engine's doing.
TEST(PathSpreadOnDemand, LeavesAPathThatItSharesBeforeMoreEnginesAreTried) {
  SpreadHints hints;
  Sender sender = on_demand(2, 2, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.5 : 1.0; };
  sender.send(2, rate);
  EXPECT_EQ(sender.spread.wanted(), 0u);
  sender.send(1, rate);
  EXPECT_EQ(sender.spread.wanted(), PathSpread::connection(1, 0, 2));
  sender.spread.on_open(1, 0);
  sender.send(100, rate);
  EXPECT_EQ(sender.spread.path(), 1);
  EXPECT_EQ(sender.spread.engines(), 1);
}

TEST(PathSpreadOnDemand, WantsAClosedPathAgainOrGoesBackToTheFirst) {
  SpreadHints hints;
  Sender sender = on_demand(2, 1, hints);
  const auto rate = [](const PathSpread& spread) { return spread.path() == 0 ? 0.5 : 1.0; };
  sender.send(3, rate);
  sender.spread.on_open(1, 0);
  EXPECT_EQ(sender.spread.path(), 1);
  sender.spread.on_closed(1, 0);
  EXPECT_EQ(sender.spread.path(), 1);
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.send(100, [](const PathSpread&) { return 0.1; });  // over whatever works: no sample of that path
  EXPECT_EQ(sender.spread.wanted(), 2u);
  sender.spread.on_refused();
  EXPECT_EQ(sender.spread.path(), 0);
  EXPECT_EQ(sender.spread.wanted(), 0u);
}

}  // namespace
}  // namespace hawser
