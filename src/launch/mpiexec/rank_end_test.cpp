#include "launch/mpiexec/rank_end.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hawser {
namespace {

using Kind = Verdict::Kind;
using Phase = PmiServer::Phase;

TEST(RankEnd, Verdicts) {
  EXPECT_EQ(judge({false, 0}, Phase::absent, false).kind, Kind::fine);
  EXPECT_EQ(judge({false, 0}, Phase::finalized, true).kind, Kind::fine);
  EXPECT_EQ(judge({false, 3}, Phase::finalized, true).kind, Kind::late_failure);
  EXPECT_EQ(judge({false, 3}, Phase::finalized, true).exit_code, 3);
  EXPECT_EQ(judge({false, 3}, Phase::absent, false).kind, Kind::failure);
  EXPECT_EQ(judge({false, 3}, Phase::active, true).exit_code, 3);
  EXPECT_EQ(judge({false, 0}, Phase::active, true).exit_code, 1);
  EXPECT_EQ(judge({false, 0}, Phase::absent, true).exit_code, 1);
}

TEST(RankEnd, SignalsAreNamed) {
  const Verdict verdict = judge({true, SIGSEGV}, Phase::finalized, false);
  EXPECT_EQ(verdict.exit_code, 139);
  EXPECT_EQ(verdict.reason, "was killed by signal 11 (SIGSEGV, Segmentation fault)");
}

TEST(RankEnd, AbortNeverLooksLikeSuccess) {
  EXPECT_EQ(visible_exit_code(0), 1);
  EXPECT_EQ(visible_exit_code(7), 7);
  EXPECT_EQ(visible_exit_code(256), 1);
  EXPECT_EQ(visible_exit_code(-1), 255);
}

}  // namespace
}  // namespace hawser
