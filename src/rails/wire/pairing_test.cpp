#include "rails/wire/pairing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hawser {
namespace {

RailTable table(std::initializer_list<int> lmcs) {
  RailTable table;
  std::uint8_t port = 0;
  for (const int lmc : lmcs) {
    RailAddress address;
    address.port.lmc = static_cast<std::uint8_t>(lmc);
    address.bytes_per_second = 1'000'000'000;
    table.rails.push_back(address);
    table.up_at_start = static_cast<std::uint8_t>(table.up_at_start | 1u << port++);
  }
  return table;
}

// "pair.path.engine" of all, those on demand in brackets.
std::string all_of(const RailTable& own, const RailTable& remote, const Ways& ways, std::size_t most = 64) {
  const auto at_once = subchannel_places(own, remote, ways, most);
  std::string text;
  for (const SubchannelPlace& p : at_once)
    text += std::to_string(p.pair) + '.' + std::to_string(p.path) + '.' + std::to_string(p.engine) + ' ';
  for (std::size_t i = 0; const auto p = place_on_demand(at_once, ways, i); ++i)
    text += '(' + std::to_string(p->pair) + '.' + std::to_string(p->path) + '.' + std::to_string(p->engine) +
            ") ";
  return text;
}

TEST(Pairing, NumbersOfPathsAndEnginesAreThereAtOnce) {
  EXPECT_EQ(all_of(table({1, 1}), table({1, 2}), {2, 2}), "0.0.0 0.0.1 0.1.0 0.1.1 1.0.0 1.0.1 1.1.0 1.1.1 ");
  EXPECT_EQ(all_of(table({0, 1}), table({0, 2}), {4, 1}), "0.0.0 1.0.0 1.1.0 ");
}

TEST(Pairing, AutoHasOneOfEachPairAtOnce) {
  const Ways paths{.paths = 8, .paths_on_demand = true};
  EXPECT_EQ(all_of(table({0, 0}), table({0, 0}), paths), "0.0.0 1.0.0 ");
  // As many as the end has that has fewer; all second ones before the third ones.
  EXPECT_EQ(all_of(table({1, 2}), table({2, 2}), paths), "0.0.0 1.0.0 (0.1.0) (1.1.0) (1.2.0) (1.3.0) ");
  EXPECT_EQ(all_of(table({2, 2}), table({1, 2}), paths), "0.0.0 1.0.0 (0.1.0) (1.1.0) (1.2.0) (1.3.0) ");
}

TEST(Pairing, EitherMayBeOnDemand) {
  const RailTable one = table({1});
  EXPECT_EQ(all_of(one, one, {.paths = 2, .engines = 2, .engines_on_demand = true}),
            "0.0.0 0.1.0 (0.0.1) (0.1.1) ");
  EXPECT_EQ(all_of(one, one, {.paths = 2, .engines = 2, .paths_on_demand = true}),
            "0.0.0 0.0.1 (0.1.0) (0.1.1) ");
  EXPECT_EQ(all_of(one, one, {.paths = 2, .engines = 2, .paths_on_demand = true, .engines_on_demand = true}),
            "0.0.0 (0.1.0) (0.0.1) (0.1.1) ");
}

TEST(Pairing, AnEthernetHasOnePathUnlessANumberSaysMore) {
  RailTable ethernet = table({0});
  ethernet.rails[0].port.link_layer = rdma::LinkLayer::ethernet;
  EXPECT_EQ(all_of(ethernet, ethernet, {.paths = 8, .paths_on_demand = true}), "0.0.0 ");
  EXPECT_EQ(all_of(ethernet, ethernet, {.paths = 2}), "0.0.0 0.1.0 ");
}

TEST(Pairing, ReadsTheKnobs) {
  EXPECT_EQ(parse_ways("X", "auto", 64).value(), 0);
  EXPECT_EQ(parse_ways("X", "64", 64).value(), 64);
  for (const char* wrong : {"", "0", "65", "-1", "4 ", "four", "auto1", "99999999999"}) {
    const auto parsed = parse_ways("HAWSER_RAIL_PATHS", wrong, 64);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().text,
              std::string("HAWSER_RAIL_PATHS=") + wrong + ": must be auto or a number from 1 to 64");
  }
}

}  // namespace
}  // namespace hawser
