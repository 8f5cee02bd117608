// Campaign: many seeds in parallel worker processes. A worker that dies over a seed (a failed assertion) or
// does not come back from one is that seed's failure, and a new one goes on with the next seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "testbed/campaign/seed_run.h"

namespace hawser {

struct CampaignOptions {
  std::uint64_t first = 1, last = 1000;  // seeds, both included
  int jobs = 1;                          // worker processes
  std::uint64_t twice_every = 50;  // every so many seeds are run again and must have the same trace; 0: none
  bool stop_at_failure = false;
  int seconds_per_seed = 60;  // of processor time
  SeedOptions seed;
};

struct CampaignResult {
  std::uint64_t seeds = 0, failed = 0, repeated = 0;
  double seconds = 0;  // of real time
  std::uint64_t first_failed = 0;
  // Sums over the seeds of what happened in them, by name: what the campaign has reached.
  std::map<std::string, std::uint64_t> reached;
  Nanoseconds longest_after_incidents = 0;  // of virtual time, until everything was complete
  std::uint64_t longest_seed = 0;
};

// `on_failure` hears of each failing seed as it happens.
CampaignResult run_campaign(
    const CampaignOptions& options,
    const std::function<void(std::uint64_t seed, const std::string& reason)>& on_failure);

}  // namespace hawser
