#include "fabric/network/multicast.h"

#include <deque>

#include "base/assert.h"

namespace hawser::fabric {

void MulticastTrees::join(Lid lid, PortName member) {
  Group& group = groups_[lid];
  if (++group.members[{member.node, member.port}] == 1) build(group, usable_);
}

void MulticastTrees::leave(Lid lid, PortName member) {
  const auto entry = groups_.find(lid);
  HAWSER_ASSERT(entry != groups_.end());
  Group& group = entry->second;
  const auto joined = group.members.find({member.node, member.port});
  HAWSER_ASSERT(joined != group.members.end());
  if (--joined->second > 0) return;
  group.members.erase(joined);
  if (group.members.empty()) {
    groups_.erase(entry);
  } else {
    build(group, usable_);
  }
}

void MulticastTrees::rebuild(const UsableLink& usable) {
  usable_ = usable;
  for (auto& [lid, group] : groups_) build(group, usable_);
}

void MulticastTrees::next_ports(Lid lid, std::int32_t switch_node, int in,
                                std::vector<std::uint8_t>& out) const {
  out.clear();
  const auto group = groups_.find(lid);
  if (group == groups_.end()) return;
  const auto entry = group->second.switches.find(switch_node);
  if (entry == group->second.switches.end()) return;
  if (entry->second.tree.empty()) {
    if (entry->second.up != 0) out.push_back(static_cast<std::uint8_t>(entry->second.up));
    return;
  }
  for (const int port : entry->second.tree) {
    if (port != in) out.push_back(static_cast<std::uint8_t>(port));
  }
}

void MulticastTrees::build(Group& group, const UsableLink& usable) const {
  group.switches.clear();
  for (const auto& [member, times] : group.members) {
    const PortName port{member.first, member.second};
    const PortName attached = topology_.port(port).peer;
    if (attached.node < 0 || topology_.node(attached.node).kind == NodeKind::adapter || !usable(port))
      continue;
    if (!group.switches.contains(attached.node)) span(group, attached.node, usable);
    // The member's port and everything from its switch up to the root is in the tree.
    group.switches[attached.node].tree.insert(attached.port);
    for (std::int32_t node = attached.node; group.switches[node].up != 0;) {
      const PortName up{node, group.switches[node].up};
      const PortName parent = topology_.port(up).peer;
      group.switches[node].tree.insert(up.port);
      group.switches[parent.node].tree.insert(parent.port);
      node = parent.node;
    }
  }
}

void MulticastTrees::span(Group& group, std::int32_t root, const UsableLink& usable) const {
  group.switches[root] = {};
  std::deque<std::int32_t> queue{root};
  while (!queue.empty()) {
    const std::int32_t node = queue.front();
    queue.pop_front();
    for (int p = 1; p <= topology_.node(node).port_count(); ++p) {
      const PortName peer = topology_.port({node, p}).peer;
      if (peer.node < 0 || topology_.node(peer.node).kind == NodeKind::adapter || !usable({node, p}))
        continue;
      if (group.switches.contains(peer.node)) continue;
      group.switches[peer.node].up = peer.port;
      queue.push_back(peer.node);
    }
  }
}

}  // namespace hawser::fabric
