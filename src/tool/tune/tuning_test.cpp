// What `hawser tune` makes of times.
#include "tool/tune/tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "collective/tuned_table.h"

namespace hawser::tune {
namespace {

Setting by_default() { return settings_of(1).front(); }
Setting forced(const std::string& operation, const std::string& algorithm) {
  return {{}, {operation}, {{operation, algorithm}}};
}

Times times(std::map<std::pair<std::string, std::int64_t>, double> cells) { return {8, 1, std::move(cells)}; }

TEST(Tuning, EveryAlgorithmIsMeasured) {
  std::set<std::string> seen;
  for (const Setting& setting : settings_of(2))
    for (const auto& [operation, algorithm] : setting.algorithms) seen.insert(operation + "=" + algorithm);
  for (const char* each : {"alltoall=bruck", "alltoall=two_level", "barrier=dissemination", "scatter=linear"})
    EXPECT_TRUE(seen.contains(each)) << each;
  EXPECT_FALSE(seen.contains("alltoall=messages")) << "there are no areas for several nodes";
  EXPECT_FALSE(seen.contains("broadcast=multicast"));
  EXPECT_EQ(settings_of(1)[1].algorithms.at("alltoall"), "messages");
  EXPECT_TRUE(settings_of(1)[0].algorithms.empty());
}

TEST(Tuning, ReadsWhatTheProgramPrints) {
  const auto read = read_times("ranks 8 nodes 2\nbarrier 0 1.5\nalltoall 64 12.25\n");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read.value().ranks, 8);
  EXPECT_EQ(read.value().nodes, 2);
  EXPECT_EQ(read.value().cells.at({"alltoall", 64}), 12.25);
  for (const char* wrong : {"", "ranks 8 nodes 2\n", "alltoall 64 1\n", "ranks 8 nodes 2\nalltoall 64\n",
                            "ranks 2 nodes 8\nalltoall 64 1\n", "ranks 8 nodes 1\nsrun: hello\n"})
    EXPECT_FALSE(read_times(wrong)) << wrong;
}

TEST(Tuning, TakesWhatIsClearlyFaster) {
  Measured measured(8, 1);
  for (const double noise : {1.0, 1.3, 1.1}) {
    measured.add(by_default(), times({{{"alltoall", 8}, 10 * noise},
                                      {{"alltoall", 32}, 20 * noise},
                                      {{"alltoall", 128}, 40 * noise},
                                      {{"alltoall", 512}, 80 * noise}}));
    measured.add(forced("alltoall", "bruck"), times({{{"alltoall", 8}, 9 * noise},
                                                     {{"alltoall", 32}, 12 * noise},
                                                     {{"alltoall", 128}, 20 * noise},
                                                     {{"alltoall", 512}, 90}}));
    measured.add(forced("alltoall", "linear"),
                 times({{{"alltoall", 32}, 15 * noise}, {{"alltoall", 128}, 19 * noise}}));
  }
  // 9 us with noise is not clearly less than 10.
  const std::vector<Line> lines = measured.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].from, 32);
  EXPECT_EQ(lines[0].algorithm, "bruck");
  EXPECT_NEAR(lines[0].microseconds, 13.2, 1e-9) << "the median of its rounds";
  EXPECT_EQ(lines[0].by_default, 20) << "the best of the default's";
  EXPECT_EQ(lines[1].from, 128);
  EXPECT_EQ(lines[1].algorithm, "linear");
  EXPECT_EQ(lines[2].from, 512);
  EXPECT_EQ(lines[2].algorithm, "default");
  EXPECT_NEAR(measured.gain(), std::sqrt(13.2 / 20 * 20.9 / 40), 1e-9);
}

TEST(Tuning, WhatDoesNotFitWasNotMeasured) {
  Measured measured(6, 1);
  measured.add(by_default(), {6, 1, {{{"allgather", 8}, 10}}});
  measured.add(forced("allgather", "recursive_doubling"), {6, 1, {{{"allgather", 8}, 1}}});
  EXPECT_TRUE(measured.lines().empty()) << "six ranks are no power of two, so something else ran";
}

TEST(Tuning, ATableKeepsItsOtherParts) {
  Measured measured(8, 1);
  measured.add(by_default(), times({{{"alltoall", 8}, 10}}));
  measured.add(forced("alltoall", "bruck"), times({{{"alltoall", 8}, 5}}));
  const char* const before =
      "# mine\nranks 4 nodes 1\nalltoall 8 linear\nranks 8 nodes 1\nalltoall 64 pairwise\nranks 8 nodes "
      "2\nscatter 8 linear\n";
  const auto after = with_part(before, "t", measured);
  ASSERT_TRUE(after) << after.error().text;
  EXPECT_EQ(after.value(),
            "# mine\nranks 4 nodes 1\nalltoall 8 linear\nranks 8 nodes 2\nscatter 8 linear\nranks 8 nodes 1\n"
            "alltoall 8 bruck    # 5.0 us, default 10.0\n");
  EXPECT_TRUE(TunedTable::parse(after.value(), "t"));
  EXPECT_FALSE(with_part("nonsense\n", "t", measured));
}

}  // namespace
}  // namespace hawser::tune
