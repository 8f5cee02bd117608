// The table of algorithms: for every collective operation the ways to do it, what each asks for, and what it
// costs in the model of messages.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "channel/channel_set.h"
#include "collective/call.h"
#include "collective/node_part.h"
#include "collective/slot_use.h"
#include "collective/task.h"

namespace hawser {

// What all ranks know alike of an operation.
struct Shape {
  int ranks = 1;
  // broadcast, reductions: of the whole vector; others: of one block; v and w forms: mean of the blocks
  // where every rank knows them, of alltoallv and alltoallw what this one knows (like_blocks), else -1.
  std::int64_t bytes = 0;
  std::int64_t elements = 0;  // reductions: of the whole vector
  bool commutative = true;
  int nodes = 1;
  int most_on_node = 1;
  bool nodes_in_order = true;  // the ranks of every node follow each other
  // Gather, scatter: the root is rank 0, so a tree that has its root there needs no other order of blocks.
  bool root_first = true;
  // The node's part goes through areas, on each node that has several ranks (node_team.h).
  bool teams = false;
  // Of an operation in the background: its parts may, where that is clearly cheaper (areas_of_node).
  bool lanes = false;
  std::int64_t largest = 0;  // allgatherv: of the blocks, of which `bytes` is the mean
  int multicast_nodes = 0;   // 0: there is no multicast
  int multicast_most_on_node = 1;
  Slots slots;              // v forms but allgatherv
  RailDistances distances;  // none: they are not known

  bool operator==(const Shape&) const = default;
};

// What a message costs, in nanoseconds: its latency, and so much for each byte. Of several that one rank has
// under way at once, each more takes `message`.
struct TransferCosts {
  // Within a node. Sender and receiver copy a message of no more than `packet`, one after the other; a longer
  // one is copied once, and its receiver is asked. Measured between two cores of Zen 5: 45 and 50 ps a byte,
  // and 54 to 82 (MessageCopies, testbed/simulator/network_cost.h).
  double latency = 400, message = 160, short_per_byte = 0.10, per_byte = 0.065, packet = 16384,
         rendezvous = 800;
  // Between nodes. Messages longer than a packet are sent only when their receiver has been asked.
  double between_step = 1250, between_message = 350, between_per_byte = 0.06;
  double between_short_per_byte = 0.06;  // of a packet, which goes over one link
  double between_packet = 8000, between_rendezvous = 2600;
  // How much longer one way is over the other rails than over the nearest.
  double between_detour = 0;
  // So many nodes have one switch. Between those of two a message takes longer, and one whose receiver is
  // asked as often as something goes to and fro.
  double switch_nodes = 12, between_switches = 600, between_switches_asked = 2400;
  // In areas of a node's ranks: until another core sees a line that it waits for; for each line that is read;
  // for each 16 KiB that are handed on; to copy into an area, or out of one.
  double area_step = 210, area_line = 100, area_piece = 160, area_per_byte = 0.06;
  // In memory; each piece that is copied takes `copy`.
  double reduce_per_byte = 0.08, copy = 3, copy_per_byte = 0.06;
};

// The same where rails are so far.
TransferCosts over_distances(const TransferCosts& costs, const RailDistances& distances);

struct Algorithm {
  Collective kind;
  const char* name;
  const char* source;  // where it is described
  bool (*fits)(const Shape&);
  double (*cost)(const Shape&, const TransferCosts&);
  Task (*run)(Operation&);
};

std::span<const Algorithm> algorithm_table();
// The row of this operation with this name; null: there is none.
const Algorithm* find_algorithm(std::string_view operation, std::string_view name);

// Of one of alltoallv or alltoallw the plan must be made; of others the arguments say all.
Shape shape_of(const Operation& operation);

}  // namespace hawser
