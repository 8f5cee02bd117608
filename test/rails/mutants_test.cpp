// Bugs that are planted in the protocol (base/planted_bug.h) are found by the tests of the rails.
#include <gtest/gtest.h>

#include "base/planted_bug.h"
#include "rails/traffic.h"
#include "rails/windows.h"

namespace hawser::rails_test {
namespace {

class RailMutants : public testing::Test {
 protected:
  ~RailMutants() override { plant(PlantedBug::none); }
};

// Who uses a path before data has passed is stopped by the connector's own check.
TEST_F(RailMutants, EarlyReadmission) {
  ASSERT_TRUE(plant(PlantedBug::early_readmission));
  EXPECT_DEATH(readmissions_to_a_lossy_path(), "probes_received");
}

TEST_F(RailMutants, FenceOverTheSame) {
  ASSERT_TRUE(plant(PlantedBug::fence_over_the_same));
  EXPECT_GT(packets_left_with_who_computes(), 4u);
}

// The second copy gets there; the first one comes when the cable is back.
TEST_F(RailMutants, PutWithoutFence) {
  ASSERT_TRUE(plant(PlantedBug::put_without_fence));
  EXPECT_GT(bytes_written_late(), 0);
}

}  // namespace
}  // namespace hawser::rails_test
