#include "collective/node_layout.h"

#include <algorithm>
#include <map>

namespace hawser {

std::unique_ptr<NodeLayout> NodeLayout::of(const Group& group, int rank, const ProcessTable& processes) {
  auto layout = std::make_unique<NodeLayout>();
  std::map<std::int32_t, int> number_of;  // nodes of the job
  for (int r = 0; r < group.size(); ++r) {
    const std::int32_t name = processes.node_of(group.process_of(r));
    if (name == ProcessTable::unknown_node) return nullptr;
    const auto [known, fresh] = number_of.try_emplace(name, layout->nodes());
    const int node = known->second;
    if (fresh) {
      layout->leaders.push_back(r);
      layout->sizes.push_back(0);
    }
    if (!fresh && layout->node_of.back() != node) layout->in_order = false;
    layout->node_of.push_back(node);
    ++layout->sizes[static_cast<std::size_t>(node)];
  }
  if (layout->nodes() < 2) return nullptr;
  layout->most = *std::max_element(layout->sizes.begin(), layout->sizes.end());
  layout->equal = layout->most * layout->nodes() == group.size();
  layout->own_node = layout->node_of[static_cast<std::size_t>(rank)];
  for (int r = 0; r < group.size(); ++r) {
    if (r == rank) layout->place = static_cast<int>(layout->mine.size());
    if (layout->node_of[static_cast<std::size_t>(r)] == layout->own_node) layout->mine.push_back(r);
  }
  int start = 0;
  for (const int size : layout->sizes) {
    layout->starts.push_back(start);
    start += size;
  }
  std::vector<int> next = layout->starts;
  layout->by_node.resize(layout->node_of.size());
  for (int r = 0; r < group.size(); ++r) {
    const auto node = static_cast<std::size_t>(layout->node_of[static_cast<std::size_t>(r)]);
    layout->by_node[static_cast<std::size_t>(next[node]++)] = r;
  }
  return layout;
}

}  // namespace hawser
