// One run of the campaign: random traffic and random faults, all of it from one seed; then everything heals
// and everything must arrive.
#pragma once

#include <cstdint>
#include <string>

#include "rails/rail_cluster.h"

namespace hawser::rails_test {

struct CampaignResult {
  bool passed = false;
  std::string text;  // what was wrong, with all that is known
  std::uint64_t messages = 0;
  std::uint64_t failures = 0;  // of subchannels
  std::uint64_t already_arrived = 0, reissued = 0, partitions = 0, recoveries = 0, migrations = 0;
  Nanoseconds virtual_time = 0;
};

CampaignResult run_campaign(std::uint64_t seed);

}  // namespace hawser::rails_test
