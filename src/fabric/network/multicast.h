// Multicast trees: for every multicast LID, which ports of a switch belong to its tree. One tree per
// connected part, found anew when membership or cables change, rooted at the first member's switch.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

class MulticastTrees {
 public:
  explicit MulticastTrees(const Topology& topology) : topology_(topology) {}

  // Adapter ports join as often as they like and leave as often.
  void join(Lid group, PortName member);
  void leave(Lid group, PortName member);
  // Finds all trees anew over the usable links.
  void rebuild(const UsableLink& usable);

  // Where a switch sends a packet of the group that came in by `in`. Senders need not be members: outside the
  // tree a packet climbs towards the root.
  void next_ports(Lid group, std::int32_t switch_node, int in, std::vector<std::uint8_t>& out) const;

 private:
  struct SwitchEntry {
    std::set<int> tree;  // ports in the tree
    int up = 0;          // towards the root; 0 at the root
  };
  struct Group {
    std::map<std::pair<std::int32_t, std::int32_t>, int> members;  // port -> how often joined
    std::map<std::int32_t, SwitchEntry> switches;
  };
  void build(Group& group, const UsableLink& usable) const;
  void span(Group& group, std::int32_t root, const UsableLink& usable) const;

  const Topology& topology_;
  UsableLink usable_ = [](PortName) { return true; };
  std::map<Lid, Group> groups_;
};

}  // namespace hawser::fabric
