#include "channel/rails/blame.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(Blame, several_peers_on_one_port_are_the_port) {
  Blame blame(2);
  blame.on_traffic(0, 9, 0, 1 * millisecond);  // before: says nothing
  blame.on_failure(0, 1, 0, 10 * millisecond);
  EXPECT_EQ(blame.judge(0, 1, 0, 10 * millisecond), Verdict::undecided);
  blame.on_failure(0, 2, 0, 60 * millisecond);
  EXPECT_EQ(blame.judge(0, 1, 0, 60 * millisecond), Verdict::local_port);
  EXPECT_EQ(blame.judge(0, 2, 0, 60 * millisecond), Verdict::local_port);
  EXPECT_EQ(blame.judge(1, 2, 0, 60 * millisecond), Verdict::undecided);  // the sibling rail is not accused
}

TEST(Blame, failures_far_apart_have_causes_of_their_own) {
  Blame blame(1);
  blame.on_failure(0, 1, 0, 0);
  blame.on_failure(0, 2, 0, 10 * second);
  EXPECT_EQ(blame.judge(0, 2, 0, 10 * second), Verdict::undecided);
}

TEST(Blame, one_peer_while_others_get_through_is_the_remote_end) {
  Blame blame(1);
  blame.on_failure(0, 1, 0, 10 * millisecond);
  blame.on_traffic(0, 5, 0, 11 * millisecond);
  EXPECT_EQ(blame.judge(0, 1, 0, 12 * millisecond), Verdict::remote_end);
}

TEST(Blame, several_peers_behind_a_failed_switch_are_not_the_local_port_if_others_get_through) {
  Blame blame(1);
  for (ProcessIndex peer = 0; peer < 10; ++peer) blame.on_failure(0, peer, 0, 10 * millisecond + peer);
  EXPECT_EQ(blame.judge(0, 3, 0, 11 * millisecond), Verdict::local_port);
  blame.on_traffic(0, 77, 0, 12 * millisecond);
  EXPECT_EQ(blame.judge(0, 3, 0, 12 * millisecond), Verdict::remote_end);
}

TEST(Blame, one_path_while_another_works_is_the_path) {
  Blame blame(1);
  blame.on_failure(0, 1, 2, 10 * millisecond);
  blame.on_traffic(0, 1, 3, 11 * millisecond);
  EXPECT_EQ(blame.judge(0, 1, 2, 12 * millisecond), Verdict::path);
}

TEST(Blame, traffic_of_peers_that_failed_too_acquits_nobody) {
  Blame blame(1);
  blame.on_failure(0, 1, 0, 10 * millisecond);
  blame.on_traffic(0, 2, 0, 11 * millisecond);  // what was still in the queue
  blame.on_failure(0, 2, 0, 12 * millisecond);
  EXPECT_EQ(blame.judge(0, 1, 0, 13 * millisecond), Verdict::local_port);
}

TEST(Blame, a_port_that_is_down_is_to_blame) {
  Blame blame(1);
  blame.on_port(0, false);
  blame.on_failure(0, 1, 0, 1);
  EXPECT_EQ(blame.judge(0, 1, 0, 1), Verdict::local_port);
  blame.on_port(0, true);
  EXPECT_EQ(blame.judge(0, 1, 0, 1), Verdict::undecided);
}

TEST(Blame, remembers_no_more_than_it_needs) {
  Blame blame(1);
  for (int i = 0; i < 100000; ++i) {
    blame.on_failure(0, i % 1000, 0, i);
    blame.on_traffic(0, 1000 + i % 5000, 0, i);
  }
  EXPECT_EQ(blame.judge(0, 99999 % 1000, 0, 100000), Verdict::remote_end);
}

}  // namespace
}  // namespace hawser
