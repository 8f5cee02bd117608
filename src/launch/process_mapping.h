// The PMI process mapping: which rank is on which node, as text.
// `(vector,(first_node,nodes,ranks_per_node),...)` describes blocks of consecutive ranks; when the blocks end
// before the ranks do, they are repeated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

// The node of each of `size` ranks. Nodes are renumbered from 0 in the order of their first rank.
Result<std::vector<std::int32_t>> parse_process_mapping(std::string_view text, int size);

std::string format_process_mapping(std::span<const std::int32_t> node_of_rank);

// Numbers nodes from 0 in the order of their first rank, so that all launchers' numbers look alike.
void renumber_nodes(std::span<std::int32_t> node_of_rank);

}  // namespace hawser
