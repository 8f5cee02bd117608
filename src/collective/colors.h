// Colors and keys, by which MPI_Comm_split divides a group.
#pragma once

#include <vector>

#include "collective/engine.h"
#include "communicator/communicator.h"

namespace hawser {

struct ColorAndKey {
  int color;  // or undefined
  int key;
};

// Those of all ranks of an intracommunicator; collective.
Result<std::vector<ColorAndKey>> gather_colors(CollectiveEngine& engine, Communicator& communicator,
                                               ColorAndKey own);

// The processes of one color, in the order of their keys, then of their ranks.
Ref<Group> group_of_color(const std::vector<ColorAndKey>& of_ranks, int color, const Group& group);

}  // namespace hawser
