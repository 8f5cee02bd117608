#include "rails/decision/fault_location.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hawser {
namespace {

// Adapters of two ports: rails 0 and 1 are one's, 2 and 3 the other's, at both ends.
Observation of(std::uint16_t rail, ProcessIndex peer, Evidence says, std::uint16_t path = 0) {
  return {rail, static_cast<std::uint16_t>(rail / 2), peer, rail, static_cast<std::uint16_t>(rail / 2), path,
          says};
}
constexpr Evidence none = Evidence::none, well = Evidence::well, silent = Evidence::silent,
                   failed = Evidence::failed;

FaultLocation located(const Observation& observation, const std::vector<Observation>& others) {
  return judge(observation, others);
}

TEST(Blame, nobody_to_compare_with_decides_nothing) {
  EXPECT_EQ(located(of(0, 1, failed), {}), FaultLocation::undecided);
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 2, none), of(1, 1, well), of(2, 2, failed)}),
            FaultLocation::undecided);
}

TEST(Blame, several_peers_on_one_port_are_the_port) {
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 2, failed), of(1, 2, well)}), FaultLocation::local_port);
  // The others' retries have not run out yet.
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 2, silent), of(0, 3, none)}), FaultLocation::local_port);
}

TEST(Blame, several_ports_of_an_adapter_are_the_adapter) {
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 2, failed), of(1, 2, silent), of(2, 1, well)}),
            FaultLocation::local_adapter);
}

TEST(Blame, one_peer_while_others_get_through_is_the_remote_end) {
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 5, well)}), FaultLocation::remote_port);
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 5, well), of(1, 1, well), of(2, 1, failed)}),
            FaultLocation::remote_port);
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 5, well), of(1, 1, failed)}), FaultLocation::remote_adapter);
}

TEST(Blame, several_peers_are_not_the_local_port_if_one_gets_through) {
  EXPECT_EQ(located(of(0, 1, failed), {of(0, 2, failed), of(0, 3, failed), of(0, 77, well)}),
            FaultLocation::remote_port);
}

TEST(Blame, one_path_while_another_works_is_the_path) {
  EXPECT_EQ(located(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, none, 2)}), FaultLocation::path);
  EXPECT_EQ(located(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, well, 2), of(0, 3, failed, 2)}),
            FaultLocation::path);
}

TEST(Blame, one_path_to_several_peers_is_a_switch_on_it) {
  EXPECT_EQ(located(of(0, 1, failed, 2), {of(0, 1, well, 3), of(0, 2, failed, 2), of(0, 2, well, 0)}),
            FaultLocation::network);
}

TEST(Blame, affects_what_goes_through_the_same) {
  const Observation f = of(0, 1, failed, 2);
  const Observation all[] = {of(0, 1, none, 2), of(0, 1, none, 3), of(0, 2, none, 2), of(0, 2, none, 3),
                             of(1, 1, none, 2), of(1, 2, none, 2), of(2, 1, none, 2)};
  const auto affects = [&](FaultLocation location) {
    std::string text;
    for (const Observation& w : all) text += is_affected(location, f, w) ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(affects(FaultLocation::undecided), "xx.....");
  EXPECT_EQ(affects(FaultLocation::path), "x......");
  EXPECT_EQ(affects(FaultLocation::network), "x.x....");
  EXPECT_EQ(affects(FaultLocation::remote_port), "xx.....");
  EXPECT_EQ(affects(FaultLocation::remote_adapter), "xx..x..");
  EXPECT_EQ(affects(FaultLocation::local_port), "xxxx...");
  EXPECT_EQ(affects(FaultLocation::local_adapter), "xxxxxx.");
}

TEST(Blame, has_a_name_for_each_location) {
  std::set<std::string> names;
  for (int i = 0; i < fault_locations; ++i) names.insert(fault_location_name(static_cast<FaultLocation>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(fault_locations));
}

}  // namespace
}  // namespace hawser
