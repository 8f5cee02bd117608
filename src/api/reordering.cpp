#include "api/reordering.h"

#include <algorithm>
#include <numeric>

#include "collective/construction.h"

namespace hawser::mpi {

namespace {

// More edges than this are not gathered at one process: 12 MiB.
constexpr std::int64_t most_edges = std::int64_t{1} << 20;

std::int32_t node_of(MpiProcess& process, const Communicator& comm, int rank) {
  return process.processes().node_of(comm.group()->process_of(rank));
}

// Whether another order can be better than the present one: of three processes and more, when some are on one
// node. All ranks find the same.
bool worth_while(MpiProcess& process, const Communicator& parent, int size) {
  if (!process.knobs().reorder || size < 3) return false;
  std::vector<std::int32_t> nodes;
  for (int rank = 0; rank < size; ++rank) nodes.push_back(node_of(process, parent, rank));
  std::sort(nodes.begin(), nodes.end());
  return std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end();
}

CallSide ints(const void* buffer, std::int64_t count, MpiProcess& process) {
  return {buffer, count, &process.types()[PredefinedType::int32], nullptr, nullptr, nullptr};
}

// Rank 0 gets what all give, `count` numbers each; the others get nothing.
Result<std::vector<std::int32_t>> gather(MpiProcess& process, Communicator& comm, const std::int32_t* own,
                                         std::int64_t count) {
  std::vector<std::int32_t> all;
  if (comm.rank() == 0) all.resize(static_cast<std::size_t>(count * comm.size()));
  CollectiveCall call{.kind = Collective::gather};
  call.send = ints(own, count, process);
  call.receive = ints(all.data(), count, process);
  HAWSER_TRY(process.collectives().run(comm, call));
  return all;
}

// Gathers the places, applies the rule at rank 0, and broadcasts the outcome.
Result<RankOrder> agree(MpiProcess& process, Communicator& parent, int size, const ReorderingRule& rule) {
  const CorePlace own = process.environment().host->core_place();
  auto cores = gather(process, parent, own.data(), own.size());
  if (!cores) return cores.take_error();
  RankOrder order(static_cast<std::size_t>(size));
  if (parent.rank() == 0) {
    std::vector<std::int32_t> paths;
    for (int rank = 0; rank < size; ++rank) {
      const auto begin = cores.value().begin() + rank * static_cast<std::ptrdiff_t>(own.size());
      paths.push_back(node_of(process, parent, rank));
      paths.insert(paths.end(), begin, begin + static_cast<std::ptrdiff_t>(own.size()));
    }
    order = rule(Places(paths, 1 + static_cast<int>(own.size())));
  }
  CollectiveCall call{.kind = Collective::broadcast};
  call.send = call.receive = ints(order.data(), size, process);
  HAWSER_TRY(process.collectives().run(parent, call));
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}

// At rank 0 the edges of all.
Result<std::vector<WeightedEdge>> gather_edges(MpiProcess& process, Communicator& comm,
                                               const std::vector<WeightedEdge>& edges) {
  constexpr std::int64_t ints_per_edge = sizeof(WeightedEdge) / sizeof(std::int32_t);
  const auto own = static_cast<std::int32_t>(edges.size());
  auto counts = gather(process, comm, &own, 1);
  if (!counts) return counts.take_error();
  std::vector<std::int64_t> sizes, starts;
  std::int64_t total = 0;
  for (const std::int32_t count : counts.value()) {
    sizes.push_back(count * ints_per_edge);
    starts.push_back(total);
    total += sizes.back();
  }
  std::vector<WeightedEdge> all(static_cast<std::size_t>(total / ints_per_edge));
  CollectiveCall call{.kind = Collective::gatherv};
  call.send = ints(edges.data(), own * ints_per_edge, process);
  call.receive = ints(all.data(), 0, process);
  call.receive.counts = sizes.data();
  call.receive.displacements = starts.data();
  HAWSER_TRY(process.collectives().run(comm, call));
  return all;
}

}  // namespace

Result<RankOrder> agree_on_order(MpiProcess& process, Communicator& parent, int size,
                                 const ReorderingRule& rule) {
  if (!worth_while(process, parent, size)) return RankOrder();
  return agree(process, parent, size, rule);
}

Result<RankOrder> agree_on_order(MpiProcess& process, Communicator& parent,
                                 const std::vector<WeightedEdge>& edges) {
  if (!worth_while(process, parent, parent.size())) return RankOrder();
  const auto own = static_cast<std::int64_t>(edges.size());
  std::int64_t total = 0;
  Datatype& wide = process.types()[PredefinedType::int64];
  CollectiveCall call{.kind = Collective::allreduce};
  call.send = {&own, 1, &wide, nullptr, nullptr, nullptr};
  call.receive = {&total, 1, &wide, nullptr, nullptr, nullptr};
  call.op = &process.operators()[PredefinedOperator::sum];
  HAWSER_TRY(process.collectives().run(parent, call));
  if (total == 0 || total > most_edges) return RankOrder();
  auto all = gather_edges(process, parent, edges);
  if (!all) return all.take_error();
  return agree(process, parent, parent.size(),
               [&](const Places& places) { return reorder_graph(places, all.value()); });
}

RankOrder order_over_nodes(MpiProcess& process, const Communicator& parent, int size,
                           const ReorderingRule& rule) {
  if (!worth_while(process, parent, size)) return {};
  std::vector<std::int32_t> nodes;
  for (int rank = 0; rank < size; ++rank) nodes.push_back(node_of(process, parent, rank));
  return rule(Places(nodes, 1));
}

int new_rank_in(const RankOrder& order, int size, int rank) {
  if (rank >= size) return undefined;
  if (order.empty()) return rank;
  return static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
}

Result<> create_in_order(MpiProcess& process, Communicator& parent, int size, const RankOrder& order,
                         Ref<Communicator>& out) {
  Ref<Group> group = parent.group();
  if (!order.empty() || size < parent.size()) {
    RankOrder ranks = order;
    if (ranks.empty()) {
      ranks.resize(static_cast<std::size_t>(size));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    auto chosen = parent.group()->including(ranks);
    if (!chosen) return chosen.take_error();
    group = std::move(chosen).value();
  }
  auto made = create(process.collectives(), parent, group);
  if (!made) return made.take_error();
  out = std::move(made).value();
  if (!out) return {};
  out->error_handler = parent.error_handler;
  out->session = parent.session;
  return {};
}

}  // namespace hawser::mpi
