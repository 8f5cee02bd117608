// Runs seeds of the campaign: rails_campaign FIRST COUNT [BUG]. Prints what fails; 1 if anything does.
#include <fmt/format.h>

#include <cstdlib>

#include "rails/campaign.h"

int main(int argc, char** argv) {
  using namespace hawser;
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const auto bug = static_cast<PlantedBug>(argc > 3 ? std::atoi(argv[3]) : 0);
  rails_test::CampaignResult sum;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const rails_test::CampaignResult result = rails_test::run_campaign(seed, bug);
    sum.messages += result.messages;
    sum.failures += result.failures;
    sum.already_arrived += result.already_arrived;
    sum.reissued += result.reissued;
    sum.partitions += result.partitions;
    sum.recoveries += result.recoveries;
    sum.migrations += result.migrations;
    sum.virtual_time += result.virtual_time;
    if (result.passed) continue;
    ++failed;
    fmt::print("{}\n", result.text);
    std::fflush(stdout);
  }
  fmt::print(
      "{} seeds, {} failed; {} messages, {} failures, {} had arrived, {} reissued, {} partitions, {} "
      "recoveries, {} migrations in {:.1f} s of virtual time\n",
      count, failed, sum.messages, sum.failures, sum.already_arrived, sum.reissued, sum.partitions,
      sum.recoveries, sum.migrations, static_cast<double>(sum.virtual_time) * 1e-9);
  return failed == 0 ? 0 : 1;
}
