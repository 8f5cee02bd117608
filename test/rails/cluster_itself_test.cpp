// The frame of the tests of rails: a fault that does not come must fail the test that asked for it.
#include <gmock/gmock.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

using testing::HasSubstr;

TEST(RailClusterItself, AMisspeltFaultFails) {
  for (const char* fault : {"link n0/hw9 down", "lnk n0/hw0 down", "link n0/hw0 dwn", "qp n0/hw0 any kil"}) {
    RailCluster cluster(two_rails("two-switch"));
    cluster.inject_at(millisecond, fault);
    EXPECT_THAT(cluster.failure(), HasSubstr(fault));
  }
}

TEST(RailClusterItself, AFaultThatIsRefusedWhenItIsDueFails) {
  ClusterOptions options = two_rails("two-switch");
  options.parameters.link_rate = 0;  // of which there is no share
  RailCluster cluster(options);
  cluster.inject_at(millisecond, "link n0/hw0 rate 10%");
  EXPECT_EQ(cluster.failure(), "");
  cluster.run(2 * millisecond);
  EXPECT_THAT(cluster.failure(), HasSubstr("link n0/hw0 rate 10%: "));
}

// There is none yet: campaigns draw such faults, and they hit nothing.
TEST(RailClusterItself, AFaultOfQueuePairsMayHitNothing) {
  RailCluster cluster(two_rails("two-switch"));
  cluster.inject_at(0, "qp n0/hw0 any kill");
  cluster.run(millisecond);
  EXPECT_EQ(cluster.failure(), "");
}

}  // namespace
}  // namespace hawser::rails_test
