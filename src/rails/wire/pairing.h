// Which rails of two processes go with which, and what subchannels that makes. Both ends compute it from what
// both published at the start, so the i-th subchannel is the same one at both.
#pragma once

#include <cstdint>
#include <vector>

#include "rails/wire/rail_table.h"

namespace hawser {

struct SubchannelPlace {
  std::uint16_t local = 0, remote = 0;  // rails
  std::uint16_t pair = 0, path = 0, engine = 0;
  std::int64_t bytes_per_second = 0;
};

// At most `most`; every pair with so many paths, as far as the subnet has them, and engines.
std::vector<SubchannelPlace> subchannel_places(const RailTable& own, const RailTable& remote,
                                               std::int64_t paths, std::int64_t engines, std::size_t most);

}  // namespace hawser
