// Which rails of two processes go with which, and what subchannels that makes. Both ends compute it from what
// both published at the start, so the i-th subchannel is the same one at both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rails/wire/rail_table.h"

namespace hawser {

struct SubchannelPlace {
  std::uint16_t local = 0, remote = 0;  // rails
  std::uint16_t pair = 0, path = 0, engine = 0;
  std::uint8_t paths = 1;  // of the pair
  bool on_demand = false;  // not connected before messages are slow without it
  std::int64_t bytes_per_second = 0;
};

// How many paths and engines each pair of rails has.
struct Ways {
  std::int32_t paths = 1, engines = 1;                      // at most; the subnet may have fewer paths
  bool paths_on_demand = false, engines_on_demand = false;  // all but the first one

  bool on_demand(int path, int engine) const {
    return (path > 0 && paths_on_demand) || (engine > 0 && engines_on_demand);
  }
};

inline constexpr std::int32_t most_paths = 64, most_engines = 8;
// The value of HAWSER_RAIL_PATHS or HAWSER_RAIL_ENGINES; 0: auto.
Result<std::int32_t> parse_ways(std::string_view knob, std::string_view text, std::int32_t most);

// Those that are not on demand, at most `most`.
std::vector<SubchannelPlace> subchannel_places(const RailTable& own, const RailTable& remote,
                                               const Ways& wanted, std::size_t most);
// The others follow these, all pairs' second ones before their third ones: the i-th of them. Of `first` only
// the first place of each pair counts.
std::optional<SubchannelPlace> place_on_demand(std::span<const SubchannelPlace> first, const Ways& wanted,
                                               std::size_t i);

}  // namespace hawser
