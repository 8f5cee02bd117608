// The table of algorithms: for every collective operation the ways to do it, what each asks for, and what it
// costs in the model of messages. All ranks choose from the same facts, so they choose the same one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "collective/call.h"
#include "collective/task.h"

namespace hawser {

// What all ranks know alike of an operation.
struct Shape {
  int ranks = 1;
  // broadcast, reductions: of the whole vector; others: of one block; v and w forms: mean of the blocks
  // where every rank knows them, else -1.
  std::int64_t bytes = 0;
  std::int64_t elements = 0;  // reductions: of the whole vector
  bool commutative = true;
  int nodes = 1;
  int most_on_node = 1;
  bool nodes_in_order = true;  // the ranks of every node follow each other
  int multicast_nodes = 0;     // 0: there is no multicast
  int multicast_most_on_node = 1;
};

// Time = messages * latency + bytes * per_byte + reduced bytes * reduce_per_byte, in nanoseconds.
struct TransferCosts {
  double latency = 400;
  double per_byte = 0.12;
  double neighbor_per_byte = 0.12;  // where every rank sends to the next one only
  double reduce_per_byte = 0.10;
  // Of messages between nodes, for a rank that has its node's link alone, and by how much each rank more that
  // sends at once delays a message.
  double between_latency = 2000;
  double between_per_byte = 0.06;
  double gap = 100;
  // For costs that look at each message (link_costs.h): what one between nodes takes, what each more takes of
  // those that one rank has under way at once, and what one between nodes takes that is so long that its
  // receiver is asked.
  double message = 160;
  double between_step = 1300, between_message = 75;
  double between_packet = 8000;
  double between_rendezvous = 4000;

  // What an algorithm that does not look at nodes meets.
  TransferCosts flat(const Shape& shape) const;
};

struct Algorithm {
  Collective kind;
  const char* name;
  const char* source;  // where it is described
  bool (*fits)(const Shape&);
  double (*cost)(const Shape&, const TransferCosts&);
  Task (*run)(Operation&);
  bool two_level = false;     // knows what is within nodes and what between them
  bool weighs_links = false;  // its costs do, though it does not
};

std::span<const Algorithm> algorithm_table();

// The knob `collective_algorithm`: "allreduce=ring,broadcast=binomial" forces algorithms where they fit.
class AlgorithmChoice {
 public:
  Result<> parse(std::string_view knob);
  void set_model(const TransferCosts& model) { model_ = model; }
  const Algorithm& choose(Collective kind, const Shape& shape) const;

 private:
  std::array<const Algorithm*, collective_kinds> forced_{};
  TransferCosts model_;
};

// The shape of an operation whose plan is made.
Shape shape_of(const Operation& operation);

}  // namespace hawser
