// Whoever watches a process changes nothing that it does.
#include <gtest/gtest.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

// A path becomes slow, well, fails and comes back. What the fabric saw of it, and when.
std::uint64_t trace_of(bool watched) {
  ClusterOptions options = two_rails();
  options.watched = watched;
  RailCluster cluster(options);
  for (const char* fault : {"link n0/hw0 rate 10MB/s", "link n0/hw0 clear", "link n1/hw1 down",
                            "link n1/hw1 up", "link n0/hw1 loss 0.3", "link n0/hw1 clear"}) {
    stream(cluster, 350 * millisecond);
    cluster.inject(fault);
  }
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::failures), 1u);
  for (int i = 0; i < cluster.size(); ++i) EXPECT_EQ(cluster.at(i).lines_logged() > 0, watched);
  return cluster.fabric().trace().hash();
}

TEST(RailStatus, IsShownWithoutAnyEffect) { EXPECT_EQ(trace_of(true), trace_of(false)); }

}  // namespace
}  // namespace hawser::rails_test
