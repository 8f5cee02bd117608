// Bugs that are planted in the protocol (base/planted_bug.h) are found by the tests of the rails.
#include <gtest/gtest.h>

#include "base/planted_bug.h"
#include "rails/campaign.h"
#include "rails/traffic.h"

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

TEST_F(RailMutants, AreFoundByTheCampaign) {
  for (const PlantedBug bug :
       {PlantedBug::resend_without_fence, PlantedBug::duplicate_finish, PlantedBug::wrong_key}) {
    ASSERT_TRUE(plant(bug));
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 200 && !found; ++seed) found = !run_campaign(seed).passed;
    EXPECT_TRUE(found) << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace hawser::rails_test
