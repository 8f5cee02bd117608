#include "launch/mpiexec/placement.h"

#include <algorithm>
#include <numeric>

#include "base/failure.h"
#include "launch/process_mapping.h"

namespace hawser {

namespace {

// How many ranks go to each host before the next one is filled.
std::vector<int> ranks_of_hosts(const std::vector<HostSlots>& hosts, int ranks_per_node, int size) {
  const int count = static_cast<int>(hosts.size());
  const bool slots_given =
      std::any_of(hosts.begin(), hosts.end(), [](const HostSlots& h) { return h.slots > 0; });
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) {
    if (ranks_per_node > 0)
      ranks.push_back(ranks_per_node);
    else if (slots_given)
      ranks.push_back(std::max(1, hosts[static_cast<std::size_t>(i)].slots));
    else
      ranks.push_back(size / count + (i < size % count ? 1 : 0));
  }
  return ranks;
}

}  // namespace

Result<Placement> place_ranks(const JobOptions& options, std::string_view this_host) {
  const std::vector<HostSlots> hosts =
      options.hosts.empty() ? std::vector<HostSlots>{{std::string(this_host), 0}} : options.hosts;
  int slots = 0;
  for (const HostSlots& host : hosts)
    slots += options.ranks_per_node > 0 ? options.ranks_per_node : host.slots;
  if (options.hosts.empty()) slots = 0;

  Placement placement;
  for (std::size_t program = 0; program < options.programs.size(); ++program) {
    int ranks = options.programs[program].ranks;
    // Without -n one program fills the slots; of several, none can claim them.
    if (ranks == 0) ranks = options.programs.size() == 1 ? std::max(1, slots) : 1;
    placement.program_of_rank.insert(placement.program_of_rank.end(), static_cast<std::size_t>(ranks),
                                     static_cast<int>(program));
  }
  const int size = static_cast<int>(placement.program_of_rank.size());
  placement.universe_size = std::max(size, slots);
  if (options.stdin_rank >= size)
    return failure(ErrorKind::invalid_argument, "--stdin {}: there are only {} ranks", options.stdin_rank,
                   size);

  // Hosts are filled in turn; when all are full, another round begins.
  const std::vector<int> share = ranks_of_hosts(hosts, options.ranks_per_node, size);
  const int room = std::accumulate(share.begin(), share.end(), 0);
  if (size > room && options.ranks_per_node == 0 && !options.oversubscribe)
    return failure(
        ErrorKind::invalid_argument,
        "{} ranks, but the hosts have only {} slots; give them more slots, or use --oversubscribe or -ppn",
        size, room);
  while (placement.size() < size)
    for (std::size_t host = 0; host < hosts.size(); ++host)
      for (int i = 0; i < share[host] && placement.size() < size; ++i)
        placement.node_of_rank.push_back(static_cast<std::int32_t>(host));
  const int used = *std::max_element(placement.node_of_rank.begin(), placement.node_of_rank.end()) + 1;
  for (int host = 0; host < used; ++host)
    placement.host_names.push_back(hosts[static_cast<std::size_t>(host)].name);
  return placement;
}

}  // namespace hawser
