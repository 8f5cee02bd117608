#include "rails/wire/pairing.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/failure.h"

namespace hawser {
namespace {

using Rails = std::vector<std::uint16_t>;
using Pairs = std::vector<std::pair<std::uint16_t, std::uint16_t>>;

int network_of(const RailAddress& rail) {
  return 2 * static_cast<int>(rail.port.transport) + static_cast<int>(rail.port.link_layer);
}

Rails rails_of(const RailTable& table, int network, bool only_up) {
  Rails found;
  for (std::size_t i = 0; i < table.rails.size(); ++i)
    if (network_of(table.rails[i]) == network && (!only_up || table.was_up(i)))
      found.push_back(static_cast<std::uint16_t>(i));
  return found;
}

// The i-th with the i-th; of unequal numbers the larger side's others go round the smaller side.
void join(const Rails& here, const Rails& there, Pairs& pairs) {
  if (here.empty() || there.empty()) return;
  for (std::size_t i = 0; i < std::max(here.size(), there.size()); ++i) {
    const std::pair pair{here[i % here.size()], there[i % there.size()]};
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
}

// Rails of the same kind of network by their places, whether they are up or not: a port that is down at the
// start may come up, and is on the network of its place. But a port may also be down because there is no
// cable, and the cable in another one: so those that are up go together by their places among these, too.
Pairs pair_rails(const RailTable& own, const RailTable& remote) {
  Pairs pairs;
  for (int network = 0; network < 4; ++network)
    for (const bool only_up : {false, true})
      join(rails_of(own, network, only_up), rails_of(remote, network, only_up), pairs);
  return pairs;
}

// On Ethernet by flow label or TCP port, so that nobody knows how many there are.
int paths_between(const rdma::PortAddress& a, const rdma::PortAddress& b, const Ways& wanted) {
  if (a.link_layer == rdma::LinkLayer::ethernet) return wanted.paths_on_demand ? 1 : wanted.paths;
  return std::min(wanted.paths, 1 << std::min<int>(std::min(a.lmc, b.lmc), 6));
}

}  // namespace

Result<std::int32_t> parse_ways(std::string_view knob, std::string_view text, std::int32_t most) {
  if (text == "auto") return 0;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most)
    return number;
  return failure(ErrorKind::other, "{}={}: must be auto or a number from 1 to {}", knob, text, most);
}

std::vector<SubchannelPlace> subchannel_places(const RailTable& own, const RailTable& remote,
                                               const Ways& wanted, std::size_t most) {
  std::vector<SubchannelPlace> found;
  const Pairs pairs = pair_rails(own, remote);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const RailAddress* here = &own.rails[pairs[p].first];
    const RailAddress* there = &remote.rails[pairs[p].second];
    // A port that is down does not know its rate, nor how many addresses it will have: as the other end's.
    const bool here_up = own.was_up(pairs[p].first), there_up = remote.was_up(pairs[p].second);
    if (here_up && !there_up) there = here;
    if (there_up && !here_up) here = there;
    const int paths = paths_between(here->port, there->port, wanted);
    const std::int64_t rate =
        std::max<std::int64_t>(1, std::min(here->bytes_per_second, there->bytes_per_second));
    for (int path = 0; path < paths; ++path)
      for (int engine = 0; engine < wanted.engines; ++engine)
        if (!wanted.on_demand(path, engine) && found.size() < most)
          found.push_back({pairs[p].first, pairs[p].second, static_cast<std::uint16_t>(p),
                           static_cast<std::uint16_t>(path), static_cast<std::uint16_t>(engine),
                           static_cast<std::uint8_t>(paths), false, rate});
  }
  return found;
}

std::optional<SubchannelPlace> place_on_demand(std::span<const SubchannelPlace> first, const Ways& wanted,
                                               std::size_t i) {
  for (int engine = 0; engine < wanted.engines; ++engine)
    for (int path = 0; path < wanted.paths; ++path) {
      if (!wanted.on_demand(path, engine)) continue;
      for (SubchannelPlace place : first) {
        if (place.path != 0 || place.engine != 0 || path >= place.paths || i-- > 0) continue;
        place.path = static_cast<std::uint16_t>(path);
        place.engine = static_cast<std::uint16_t>(engine);
        place.on_demand = true;
        return place;
      }
    }
  return std::nullopt;
}

}  // namespace hawser
