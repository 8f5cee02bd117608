#include "communicator/reordering/reordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "communicator/reordering/graph_orders.h"

namespace hawser {
namespace {

using Paths = std::vector<std::int32_t>;

std::vector<int> identity(int size) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Of an assignment of processes to ranks.
Cost cost_of_assignment(const Places& places, const EdgeGraph& graph,
                        const std::vector<int>& process_of_rank) {
  std::vector<int> rank_of(process_of_rank.size()), order;
  for (std::size_t rank = 0; rank < process_of_rank.size(); ++rank)
    rank_of[static_cast<std::size_t>(process_of_rank[rank])] = static_cast<int>(rank);
  for (int slot = 0; slot < places.size(); ++slot)
    order.push_back(rank_of[static_cast<std::size_t>(places.process_of(slot))]);
  return cost_of(places, graph, order);
}

struct Outcome {
  Cost before, after;
  std::vector<int> processes;
};

Outcome on_grid(const Grid& grid, const Paths& paths, int depth = 1) {
  const Places places(paths, depth);
  const EdgeGraph graph(grid.size(), edges_of(grid));
  std::vector<int> processes = reorder_grid(places, grid);
  return {cost_of_assignment(places, graph, identity(grid.size())),
          cost_of_assignment(places, graph, processes), processes};
}

Outcome on_graph(const std::vector<WeightedEdge>& edges, const Paths& paths, int depth = 1) {
  const Places places(paths, depth);
  const EdgeGraph graph(places.size(), edges);
  std::vector<int> processes = reorder_graph(places, edges);
  return {cost_of_assignment(places, graph, identity(places.size())),
          cost_of_assignment(places, graph, processes), processes};
}

Paths round_robin(int size, int nodes) {
  Paths paths;
  for (int process = 0; process < size; ++process) paths.push_back(process % nodes);
  return paths;
}

Paths in_blocks(int size, int per_node) {
  Paths paths;
  for (int process = 0; process < size; ++process) paths.push_back(process / per_node);
  return paths;
}

bool permutation(std::vector<int> processes) {
  std::sort(processes.begin(), processes.end());
  return processes == identity(static_cast<int>(processes.size()));
}

TEST(Places, GroupsAreRangesOfSlots) {
  // Node, package, core. Processes 1 and 4 share a core; of process 5 only the node is known.
  const Paths paths = {0, 0, 0, 0, 1, 2, 1, 1, 0, 0, 0, 1, 0, 1, 2, 1, -1, -1};
  const Places places(paths, 3);
  ASSERT_EQ(places.size(), 6);
  ASSERT_EQ(places.levels(), 3);
  EXPECT_EQ(places.starts(0), (std::vector<int>{0, 4, 6}));
  EXPECT_EQ(places.starts(1), (std::vector<int>{0, 2, 4, 5, 6}));
  EXPECT_EQ(places.starts(2), (std::vector<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(places.groups(2), (std::vector<int>{0, 1, 2, 2, 3, 4}));
}

TEST(Places, ALevelThatDividesNothingIsLeftOut) {
  const Places alike(Paths{0, 5, 0, 5, 0, 5}, 2);
  EXPECT_EQ(alike.levels(), 0);
  const Places nodes(Paths{0, 5, 1, 5, 0, 5, 1, 5}, 2);
  ASSERT_EQ(nodes.levels(), 1);
  EXPECT_EQ(nodes.group_size(0), 2);
  EXPECT_EQ(nodes.process_of(1), 2);
  // The same number in another group is another group.
  const Places packages(Paths{0, 0, 0, 1, 1, 0, 1, 1, 1, 1}, 2);
  ASSERT_EQ(packages.levels(), 2);
  EXPECT_EQ(packages.starts(1), (std::vector<int>{0, 1, 2, 3, 5}));
}

TEST(Places, UnknownPlacesAreNearNobody) {
  const Places places(Paths{0, -1, 0, 3, 0, -1, 0, 3}, 2);
  ASSERT_EQ(places.levels(), 1);
  EXPECT_EQ(places.starts(0), (std::vector<int>{0, 1, 2, 4}));
  EXPECT_EQ(places.group_size(0), 0);
  // No order is better than another where nobody's place is known.
  EXPECT_EQ(Places(Paths{0, -1, 0, -1, 0, -1}, 2).levels(), 0);
}

TEST(EdgeGraph, AddsTheWeightsOfEdgesBetweenTheSameTwo) {
  const std::vector<WeightedEdge> edges = {{0, 1, 5}, {1, 0, 2}, {2, 2, 9}, {0, 2, 1}, {0, 1, 1}};
  const EdgeGraph graph(3, edges);
  ASSERT_EQ(graph.neighbors(0).size(), 2u);
  EXPECT_EQ(graph.neighbors(0)[0].vertex, 1);
  EXPECT_EQ(graph.neighbors(0)[0].weight, 8);
  ASSERT_EQ(graph.neighbors(2).size(), 1u);
  EXPECT_EQ(graph.neighbors(2)[0].weight, 1);
}

TEST(Grid, EdgesCountPeriods) {
  EXPECT_EQ(edges_of({{4, 2}, {false, false}}).size(), 3u * 2 + 4);
  EXPECT_EQ(edges_of({{4, 2}, {true, true}}).size(), 4u * 2 + 8);
  EXPECT_TRUE(edges_of({{}, {}}).empty());
}

TEST(ReorderGrid, TwoNodesRoundRobin) {
  // 4x2, ranks dealt out to the nodes in turn: every edge along the rows of two is cut.
  const Outcome open = on_grid({{4, 2}, {false, false}}, round_robin(8, 2));
  EXPECT_EQ(open.before, Cost{4});
  EXPECT_EQ(open.after, Cost{2});
  // 2x4: the ends of the rows differ in their node, the columns do not.
  const Outcome wide = on_grid({{2, 4}, {false, false}}, round_robin(8, 2));
  EXPECT_EQ(wide.before, Cost{6});
  EXPECT_EQ(wide.after, Cost{2});
  const Outcome torus = on_grid({{4, 2}, {true, true}}, round_robin(8, 2));
  EXPECT_EQ(torus.before, Cost{8});
  EXPECT_EQ(torus.after, Cost{4});
}

TEST(ReorderGrid, Ring) {
  const Outcome ring = on_grid({{12}, {true}}, round_robin(12, 3));
  EXPECT_EQ(ring.before, Cost{12});
  EXPECT_EQ(ring.after, Cost{3});
  const Outcome line = on_grid({{12}, {false}}, round_robin(12, 3));
  EXPECT_EQ(line.after, Cost{2});
}

TEST(ReorderGrid, BlocksInsteadOfRows) {
  // 8x8 over nodes of 8 in the usual order: rows of 8 cut 7*8 edges, blocks of 2x4 cut 3*8 + 1*8.
  const Outcome open = on_grid({{8, 8}, {false, false}}, in_blocks(64, 8));
  EXPECT_EQ(open.before, Cost{56});
  EXPECT_EQ(open.after, Cost{32});
  // 8x8x8 over nodes of 64: slabs against cubes of 4.
  const Outcome cube = on_grid({{8, 8, 8}, {true, true, true}}, in_blocks(512, 64));
  EXPECT_EQ(cube.before, Cost{8 * 64});
  EXPECT_EQ(cube.after, Cost{3 * 2 * 64});
}

TEST(ReorderGrid, BlocksWithinBlocks) {
  // 8x8, 4 nodes of 4 packages of 4 cores, dealt out so that nothing fits.
  Paths paths;
  for (int process = 0; process < 64; ++process) {
    paths.push_back(process % 4);
    paths.push_back(process / 4 % 4);
    paths.push_back(process / 16);
  }
  const Outcome grid = on_grid({{8, 8}, {false, false}}, paths, 3);
  // Nodes have 4x4, packages 2x2: one cut each way, then three. Cores have one each.
  EXPECT_EQ(grid.after, (Cost{16, 48}));
  EXPECT_GT(grid.before, grid.after);
}

TEST(ReorderGrid, WithinOneNode) {
  // Two packages, every other process in the first.
  const Outcome line = on_grid({{8}, {false}}, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 2);
  EXPECT_EQ(line.before, Cost{7});
  EXPECT_EQ(line.after, Cost{1});
}

TEST(ReorderGrid, NodesOfDifferentSizes) {
  // 6x6: nodes of 18, 12 and 6, columns of the grid.
  Paths paths;
  for (int process = 0; process < 36; ++process)
    paths.push_back(process % 6 < 3 ? 0 : process % 6 < 5 ? 1 : 2);
  const Outcome grid = on_grid({{6, 6}, {false, false}}, paths);
  EXPECT_EQ(grid.before, Cost{12});
  // Three rows for the first, of the others 4 and 2 columns: 6 + 3.
  EXPECT_EQ(grid.after, Cost{9});
  // The same nodes, more mixed.
  for (int process = 0; process < 36; ++process)
    paths[static_cast<std::size_t>(process)] = process * 5 % 6 < 3 ? 0 : process * 5 % 6 < 5 ? 1 : 2;
  const Outcome mixed = on_grid({{6, 6}, {false, false}}, paths);
  EXPECT_EQ(mixed.after, Cost{9});
}

TEST(ReorderGrid, KeepsRanksThatAreWellPlaced) {
  EXPECT_EQ(on_grid({{4, 2}, {false, false}}, in_blocks(8, 4)).processes, identity(8));
  EXPECT_EQ(on_grid({{4, 2}, {true, false}}, Paths(8, 0)).processes, identity(8));
  EXPECT_EQ(on_grid({{5}, {true}}, round_robin(5, 5)).processes, identity(5));
  EXPECT_EQ(on_grid({{}, {}}, Paths{3}).processes, identity(1));
}

TEST(ReorderGrid, ManyDimensionsEndSoon) {
  const Grid cube{std::vector<int>(16, 2), std::vector<bool>(16, false)};
  const Outcome outcome = on_grid(cube, round_robin(1 << 16, 1 << 8));
  // A node of 256 is a cube of 8 dimensions: each of its processes has 8 neighbours outside.
  EXPECT_EQ(outcome.after, Cost{8 * (1 << 16) / 2});
  EXPECT_TRUE(permutation(outcome.processes));
}

TEST(ReorderGraph, WeightsDecide) {
  // Pairs (0,1), (2,3) are light, (0,3), (1,2) heavy; two nodes of two.
  const std::vector<WeightedEdge> edges = {{0, 1, 1}, {2, 3, 1}, {0, 3, 10}, {2, 1, 10}};
  const Outcome outcome = on_graph(edges, in_blocks(4, 2));
  EXPECT_EQ(outcome.before, Cost{20});
  EXPECT_EQ(outcome.after, Cost{2});
  EXPECT_EQ(on_graph({{0, 1, 1}, {2, 3, 1}}, in_blocks(4, 2)).processes, identity(4));
}

TEST(ReorderGraph, CliquesComeTogether) {
  // Four cliques of 6, one heavy edge from each to the next; processes dealt out to 4 nodes.
  std::vector<WeightedEdge> edges;
  for (int clique = 0; clique < 4; ++clique) {
    for (int a = 0; a < 6; ++a) {
      for (int b = a + 1; b < 6; ++b) edges.push_back({clique + 4 * a, clique + 4 * b, 1});
    }
    edges.push_back({clique, (clique + 1) % 4, 3});
  }
  const Outcome outcome = on_graph(edges, in_blocks(24, 6));
  EXPECT_EQ(outcome.after, Cost{12});
  EXPECT_GT(outcome.before, Cost{12});
}

TEST(ReorderGraph, NodesOfDifferentSizesAndVerticesWithoutEdges) {
  // Triangles 0-2-4 and 1-3-5, and 6, 7 alone; nodes of 3, 4 and 1.
  const std::vector<WeightedEdge> edges = {{0, 2, 1}, {2, 4, 1}, {4, 0, 1}, {1, 3, 1}, {3, 5, 1}, {5, 1, 1}};
  const Outcome outcome = on_graph(edges, {0, 0, 0, 1, 1, 1, 1, 2});
  EXPECT_EQ(outcome.before, Cost{4});
  EXPECT_EQ(outcome.after, Cost{0});
}

// Random machines.
Paths random_paths(Random& random, int size) {
  const int nodes = 1 + static_cast<int>(random.below(6)), packages = 1 + static_cast<int>(random.below(3));
  Paths paths;
  for (int process = 0; process < size; ++process) {
    const bool known = random.below(8) != 0;
    paths.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(nodes))));
    paths.push_back(known ? static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(packages)))
                          : -1);
    paths.push_back(known ? static_cast<std::int32_t>(random.below(3)) : -1);
  }
  return paths;
}

TEST(Reordering, RandomGridsAreNeverWorse) {
  Random random(20261122);
  int better = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Grid grid;
    const int dimensions = 1 + static_cast<int>(random.below(4));
    for (int d = 0; d < dimensions; ++d) {
      grid.dims.push_back(1 + static_cast<int>(random.below(dimensions > 2 ? 4 : 7)));
      grid.periods.push_back(random.below(2) != 0);
    }
    Paths paths = random_paths(random, grid.size());
    if (trial % 3 == 0) paths = round_robin(grid.size(), 1 + static_cast<int>(random.below(5)));
    const int depth = static_cast<int>(paths.size()) / grid.size();
    const Outcome outcome = on_grid(grid, paths, depth);
    ASSERT_TRUE(permutation(outcome.processes)) << "trial " << trial;
    ASSERT_LE(outcome.after, outcome.before) << "trial " << trial;
    if (outcome.after == outcome.before) {
      ASSERT_EQ(outcome.processes, identity(grid.size()));
    }
    ASSERT_EQ(outcome.processes, on_grid(grid, paths, depth).processes) << "trial " << trial;
    better += outcome.after < outcome.before;
  }
  EXPECT_GT(better, 200);
}

TEST(Reordering, RandomGraphsAreNeverWorse) {
  Random random(7);
  int better = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int size = 1 + static_cast<int>(random.below(60));
    const auto any = [&] {
      return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size)));
    };
    std::vector<WeightedEdge> edges;
    for (auto count = random.below(200); count > 0; --count)
      edges.push_back({any(), any(), static_cast<std::int32_t>(random.below(5))});
    const Paths paths = random_paths(random, size);
    const Outcome outcome = on_graph(edges, paths, 3);
    ASSERT_TRUE(permutation(outcome.processes)) << "trial " << trial;
    ASSERT_LE(outcome.after, outcome.before) << "trial " << trial;
    ASSERT_EQ(outcome.processes, on_graph(edges, paths, 3).processes) << "trial " << trial;
    better += outcome.after < outcome.before;
  }
  EXPECT_GT(better, 200);
}

TEST(Refinement, StopsWhenItsWorkIsDone) {
  // However bad the order is, a little work leaves an order, and no worse one.
  const Places places(in_blocks(400, 20), 1);
  std::vector<WeightedEdge> edges;
  for (int vertex = 0; vertex + 20 < 400; ++vertex) edges.push_back({vertex, vertex + 20, 1});
  const EdgeGraph graph(400, edges);
  Cost last = cost_of(places, graph, identity(400));
  for (const std::int64_t work :
       {std::int64_t{0}, std::int64_t{500}, std::int64_t{20000}, std::int64_t{1} << 24}) {
    std::vector<int> order = identity(400);
    refine_order(places, graph, order, work);
    EXPECT_TRUE(permutation(order));
    const Cost cost = cost_of(places, graph, order);
    EXPECT_LE(cost, last);
    last = cost;
  }
  EXPECT_LT(last, cost_of(places, graph, identity(400)));
}

}  // namespace
}  // namespace hawser
