// Runs seeds of the campaign: rails_campaign FIRST COUNT. Prints what fails; 1 if anything does.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "rails/campaign.h"

namespace {

bool read_number(const std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hawser;
  std::uint64_t first = 1, count = 100;
  if ((argc > 1 && !read_number(argv[1], first)) || (argc > 2 && !read_number(argv[2], count)) || argc > 3) {
    fmt::print(stderr, "usage: rails_campaign [FIRST [COUNT]], numbers; COUNT at least 1\n");
    return 2;
  }
  rails_test::CampaignResult sum;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const rails_test::CampaignResult result = rails_test::run_campaign(seed);
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
