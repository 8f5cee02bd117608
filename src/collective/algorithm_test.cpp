// Every algorithm of the table, and shared memory, with 1 to 17 ranks; the cases of the operations that
// reduce.
#include <cmath>

#include "collective/algorithm_cases.h"

namespace hawser {

// Which ranks' contributions a rank's result has, and at which elements of the vector.
struct Extract {
  int first_rank;
  int last_rank;  // below first_rank: no result
  std::int64_t start;
  std::int64_t count;
};

// The elements that a rank gets of a reduce-scatter with counts: they differ, and of few elements some get
// none.
static std::int64_t part_of(int rank, std::int64_t count) {
  if (count == 0 || (rank % 3 == 0 && count <= 50)) return 0;
  return count + rank % 3;
}

static Extract expected(Collective kind, int rank, int size, int root, std::int64_t count) {
  switch (kind) {
    case Collective::reduce:
      return {0, rank == root ? size - 1 : -1, 0, count};
    case Collective::scan:
      return {0, rank, 0, count};
    case Collective::exscan:
      return {0, rank - 1, 0, count};
    case Collective::reduce_scatter_block:
      return {0, size - 1, rank * count, count};
    case Collective::reduce_scatter: {
      std::int64_t start = 0;
      for (int r = 0; r < rank; ++r) start += part_of(r, count);
      return {0, size - 1, start, part_of(rank, count)};
    }
    default:
      return {0, size - 1, 0, count};
  }
}

static std::int64_t vector_length(Collective kind, int size, std::int64_t count) {
  const Extract last = expected(kind, size - 1, size, 0, count);
  return kind == Collective::reduce_scatter_block || kind == Collective::reduce_scatter
             ? last.start + last.count
             : count;
}

void AlgorithmTest::reduce(TestRank& rank, const Case& c) {
  const Collective kind = kind_;
  const int root = rank.size / 3;
  const std::int64_t length = vector_length(kind, rank.size, c.count);
  const Extract wanted = expected(kind, rank.rank, rank.size, root, c.count);
  Integers32 send(length, c.spaced);
  Integers32 receive(length, c.spaced);
  const bool place = c.in_place && (kind != Collective::reduce || rank.rank == root);
  for (std::int64_t i = 0; i < length; ++i) {
    send[i] = value(rank.rank, 0, i);
    receive[i] = place ? send[i] : -1;
  }
  std::vector<int> counts;
  for (int r = 0; r < rank.size; ++r) counts.push_back(static_cast<int>(part_of(r, c.count)));
  CollectiveCall call{.kind = kind,
                      .root = root,
                      .send = side(send, c.count, c.spaced),
                      .receive = side(receive, c.count, c.spaced),
                      .op = c.spaced ? spaced_sum_.get() : &operators_[PredefinedOperator::sum]};
  if (place) call.send = {in_place};
  if (kind == Collective::reduce_scatter) call.receive.counts = IntegerArray(counts.data());
  if (kind == Collective::reduce && rank.rank != root) call.receive.buffer = nullptr;
  ASSERT_TRUE(c.runner(rank, call));
  for (std::int64_t i = 0; i < wanted.count && wanted.last_rank >= wanted.first_rank; ++i) {
    int sum = 0;
    for (int r = wanted.first_rank; r <= wanted.last_rank; ++r) sum += value(r, 0, wanted.start + i);
    ASSERT_EQ(receive[i], sum) << "element " << i;
  }
  ASSERT_TRUE(receive.gaps_untouched());
  if (kind == Collective::exscan && rank.rank == 0 && !place) {
    for (std::int64_t i = 0; i < length; ++i) ASSERT_EQ(receive[i], -1);
  }
}

void AlgorithmTest::reduce_in_order(TestRank& rank, const Case& c) {
  const Collective kind = kind_;
  const int root = rank.size / 3;
  const std::int64_t length = vector_length(kind, rank.size, c.count);
  const Extract wanted = expected(kind, rank.rank, rank.size, root, c.count);
  std::vector<std::uint32_t> send(static_cast<std::size_t>(4 * length + 1));
  std::vector<std::uint32_t> receive(send.size());
  for (std::int64_t w = 0; w < 4 * length; ++w)
    send[static_cast<std::size_t>(w)] = matrix_value(rank.rank, w);
  std::vector<int> counts;
  for (int r = 0; r < rank.size; ++r) counts.push_back(static_cast<int>(part_of(r, c.count)));
  CollectiveCall call{.kind = kind,
                      .root = root,
                      .send = {send.data(), c.count, matrix_.get()},
                      .receive = {receive.data(), c.count, matrix_.get()},
                      .op = product_.get()};
  if (kind == Collective::reduce_scatter) call.receive.counts = IntegerArray(counts.data());
  ASSERT_TRUE(c.runner(rank, call));
  if (wanted.last_rank < wanted.first_rank) return;
  const auto all = matrix_result(wanted.first_rank, wanted.last_rank, length);
  for (std::int64_t w = 0; w < 4 * wanted.count; ++w)
    ASSERT_EQ(receive[static_cast<std::size_t>(w)], all[static_cast<std::size_t>(4 * wanted.start + w)]);
}

void AlgorithmTest::run_case(TestRank& rank, const Case& c) {
  switch (kind_) {
    case Collective::barrier:
      ASSERT_TRUE(c.runner(rank, CollectiveCall{.kind = Collective::barrier}));
      break;
    case Collective::broadcast:
      broadcast(rank, c);
      break;
    case Collective::gather:
    case Collective::gatherv:
      gather(rank, c);
      break;
    case Collective::scatter:
    case Collective::scatterv:
      scatter(rank, c);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      allgather(rank, c);
      break;
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      alltoall(rank, c);
      break;
    default:
      reduce(rank, c);
      reduce_in_order(rank, c);
  }
}

void AlgorithmTest::run_cases(TestCluster& cluster, int size) {
  int turn = size;
  for (std::int64_t count : {0, 1, 3, 40, 700, 9000}) {
    if (count * size > 40000) continue;
    for (bool spaced : {false, true}) {
      for (bool in_place : {false, true}) {
        const Runner runners[] = {blocking, in_background, persistently};
        const Case c{runners[++turn % 3], count, spaced, in_place};
        cluster.run([&](TestRank& rank) { run_case(rank, c); });
        if (HasFailure()) return;
      }
    }
  }
}

class TableTest : public AlgorithmTest, public ::testing::WithParamInterface<const Algorithm*> {};

TEST_P(TableTest, GivesWhatTheStandardSays) {
  kind_ = GetParam()->kind;
  for (int size : rank_counts) {
    SCOPED_TRACE("ranks " + std::to_string(size));
    TestCluster cluster(size, force(kind_, GetParam()->name));
    run_cases(cluster, size);
    if (HasFailure()) return;
  }
}

class TwoLevelTest : public AlgorithmTest,
                     public ::testing::WithParamInterface<std::tuple<const Algorithm*, int>> {};

TEST_P(TwoLevelTest, GivesWhatTheStandardSays) {
  const Algorithm& algorithm = *std::get<0>(GetParam());
  kind_ = algorithm.kind;
  for (int size : rank_counts) {
    SCOPED_TRACE("ranks " + std::to_string(size));
    Knobs knobs = force(kind_, algorithm.name);
    knobs.multicast = "auto";
    TestCluster cluster(size, knobs, false, std::get<1>(GetParam()));
    run_cases(cluster, size);
    if (HasFailure()) return;
  }
}

class SharedMemoryTest : public AlgorithmTest,
                         public ::testing::WithParamInterface<std::tuple<Collective, const char*>> {};

static Knobs in_shared_memory(const char* way) {
  Knobs knobs;
  knobs.collective_shared = way;
  return knobs;
}

TEST_P(SharedMemoryTest, GivesWhatTheStandardSays) {
  kind_ = std::get<0>(GetParam());
  for (int size : rank_counts) {
    SCOPED_TRACE("ranks " + std::to_string(size));
    TestCluster cluster(size, in_shared_memory(std::get<1>(GetParam())), true);
    run_cases(cluster, size);
    if (HasFailure()) return;
  }
}

// The result of rank 0, of numbers whose sum depends on the order in which they are added.
std::vector<double> AlgorithmTest::sums(Collective kind, const char* way, int size, std::int64_t length) {
  std::vector<double> result(static_cast<std::size_t>(length));
  TestCluster cluster(size, in_shared_memory(way), true);
  cluster.run([&](TestRank& rank) {
    Random random(static_cast<std::uint64_t>(rank.rank));
    std::vector<double> own(result.size()), received(result.size());
    for (double& value : own)
      value = std::ldexp(1.0 + static_cast<double>(random.below(1000)), random.below(80));
    Datatype& type = types_[PredefinedType::double_float];
    const std::int64_t count = kind == Collective::reduce ? length : length / size;
    ASSERT_TRUE(blocking(rank, {.kind = kind,
                                .send = {own.data(), count, &type},
                                .receive = {received.data(), count, &type},
                                .op = &operators_[PredefinedOperator::sum]}));
    if (rank.rank == 0) result = received;
  });
  return result;
}

// Whichever way is the fastest, also where ranks form groups.
TEST_F(AlgorithmTest, AllWaysAddInTheSameOrder) {
  for (const Collective kind : {Collective::reduce, Collective::reduce_scatter_block})
    for (const int size : {2, 4, 8, 10, 12})
      EXPECT_EQ(sums(kind, "area", size, 6000), sums(kind, "other", size, 6000))
          << name_of(kind) << " of " << size;
}

// Operations of all kinds in random order, so that every reuse of shared memory follows every other, and of
// sizes for which ways are measured.
TEST_F(AlgorithmTest, SharedMemoryOperationsFollowEachOther) {
  for (const char* way : {"auto", "area", "other"}) {
    for (int size : {2, 3, 4, 5, 10}) {
      TestCluster cluster(size, in_shared_memory(way), true);
      Random random(static_cast<std::uint64_t>(size));
      const int operations = size < 8 ? 1500 : 300;
      for (int i = 0; i < operations; ++i) {
        kind_ = static_cast<Collective>(random.below(collective_kinds));
        const std::int64_t counts[] = {1, 2, 50, 1500, 7000};
        const Case c{blocking, counts[random.below(5)], false, random.chance(0.5)};
        cluster.run([&](TestRank& rank) { run_case(rank, c); });
        ASSERT_FALSE(HasFailure()) << "operation " << i << " of " << size << " ranks: " << name_of(kind_);
      }
    }
  }
}

// A kernel that refuses to copy, at first or in the middle of an operation: it is done again without.
TEST_F(AlgorithmTest, WithoutCopiesByTheKernel) {
  for (int size : {2, 4, 5}) {
    for (int refused = 1; refused < 60; refused += 3) {
      TestCluster cluster(size, in_shared_memory(refused % 2 == 0 ? "auto" : "other"), true);
      for (int i = 0; i < 12; ++i) {
        constexpr Collective kinds[] = {Collective::alltoall, Collective::reduce_scatter,
                                        Collective::allgather, Collective::reduce_scatter_block,
                                        Collective::reduce};
        kind_ = kinds[i % 5];
        if (i == 5) cluster.only_node().refused_copy = refused;
        cluster.run([&](TestRank& rank) { run_case(rank, {blocking, 7000, false, false}); });
        ASSERT_FALSE(HasFailure()) << "operation " << i << " of " << size << " ranks, copy " << refused;
      }
    }
  }
}

static std::vector<const Algorithm*> all_algorithms() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : algorithm_table()) all.push_back(&algorithm);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TableTest, ::testing::ValuesIn(all_algorithms()), [](const auto& info) {
  return std::string(name_of(info.param->kind)) + "_" + info.param->name;
});

static std::vector<const Algorithm*> two_level_algorithms() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : algorithm_table())
    if (algorithm.name == std::string_view("two_level") || algorithm.name == std::string_view("multicast"))
      all.push_back(&algorithm);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TwoLevelTest,
                         ::testing::Combine(::testing::ValuesIn(two_level_algorithms()),
                                            ::testing::Values(2, 3, 5, -2, -4, testing::at_random,
                                                              testing::at_random + 1)),
                         [](const auto& info) {
                           const int on_node = std::get<1>(info.param);
                           const Algorithm& row = *std::get<0>(info.param);
                           const bool other = row.name != std::string_view("two_level");
                           return std::string(name_of(row.kind)) + "_" +
                                  (other ? row.name + std::string("_") : "") +
                                  (on_node >= testing::at_random ? "random_"
                                   : on_node > 0                 ? ""
                                                                 : "dealt_") +
                                  std::to_string(std::abs(on_node) % testing::at_random);
                         });

// What is chosen where several ranks share the link of a node, and where none does. Of consecutive ranks, the
// first steps of flat algorithms stay within nodes.
TEST(AlgorithmChoice, TwoLevelsForSmallDataOnSharedLinks) {
  AlgorithmChoice choice;
  const auto chosen = [&choice](Collective kind, int nodes, int on_node, std::int64_t bytes, bool in_order) {
    const Shape shape{.ranks = nodes * on_node,
                      .bytes = bytes,
                      .elements = bytes / 8,
                      .nodes = nodes,
                      .most_on_node = on_node,
                      .nodes_in_order = in_order};
    return std::string(choice.choose(kind, shape).name);
  };
  for (Collective kind : {Collective::barrier, Collective::broadcast, Collective::reduce,
                          Collective::allreduce, Collective::allgather}) {
    EXPECT_EQ(chosen(kind, 4, 8, 8, false), "two_level") << name_of(kind);
    EXPECT_NE(chosen(kind, 8, 1, 8, true), "two_level") << name_of(kind);
  }
  EXPECT_EQ(chosen(Collective::barrier, 4, 64, 8, true), "dissemination");
  EXPECT_EQ(chosen(Collective::broadcast, 4, 64, 8, true), "two_level");
  EXPECT_EQ(chosen(Collective::reduce, 4, 64, 8, true), "binomial");
  EXPECT_EQ(chosen(Collective::allreduce, 4, 64, 8, true), "recursive_doubling");
  EXPECT_EQ(chosen(Collective::allgather, 4, 64, 8, true), "recursive_doubling");
  EXPECT_EQ(chosen(Collective::gather, 64, 8, 8, true), "binomial");
  EXPECT_EQ(chosen(Collective::scatter, 64, 8, 8, true), "binomial");
  EXPECT_EQ(chosen(Collective::gather, 64, 8, 8, false), "two_level");
  EXPECT_EQ(chosen(Collective::scatter, 64, 8, 8, false), "two_level");
  EXPECT_EQ(chosen(Collective::gather, 64, 8, 1 << 20, true), "linear");
  EXPECT_EQ(chosen(Collective::alltoall, 64, 8, 128, true), "two_level");
  EXPECT_NE(chosen(Collective::alltoall, 64, 8, 1 << 20, true), "two_level");
  EXPECT_EQ(chosen(Collective::reduce_scatter_block, 64, 8, 1 << 20, true), "two_level");
  EXPECT_EQ(chosen(Collective::allreduce, 4, 2, 8, true), "recursive_doubling");
  EXPECT_EQ(chosen(Collective::allreduce, 4, 8, 4 << 20, true), "ring");
}

// Where areas serve the node's part, two levels win what flat algorithms win against messages.
TEST(AlgorithmChoice, AreasMakeTheNodesPartCheaper) {
  AlgorithmChoice choice;
  const auto chosen = [&choice](Collective kind, bool teams) {
    const Shape shape{.ranks = 32,
                      .bytes = 8,
                      .elements = 1,
                      .nodes = 4,
                      .most_on_node = 8,
                      .nodes_in_order = true,
                      .teams = teams};
    return std::string(choice.choose(kind, shape).name);
  };
  for (Collective kind : {Collective::barrier, Collective::reduce, Collective::allreduce})
    EXPECT_EQ(chosen(kind, true), "two_level") << name_of(kind);
  EXPECT_EQ(chosen(Collective::allreduce, false), "recursive_doubling");
}

// Operations in the background go through areas where those win clearly.
TEST(AlgorithmChoice, AreasInTheBackgroundMustWinClearly) {
  AlgorithmChoice choice;
  const auto areas = [&choice](Collective kind, int nodes, int on_node, std::int64_t bytes,
                               bool lanes = true) {
    return choice.areas_of_node(kind, {.ranks = nodes * on_node,
                                       .bytes = bytes,
                                       .elements = std::max<std::int64_t>(bytes / 4, 1),
                                       .nodes = nodes,
                                       .most_on_node = on_node,
                                       .lanes = lanes});
  };
  EXPECT_TRUE(areas(Collective::reduce, 2, 4, 8).up);
  EXPECT_FALSE(areas(Collective::reduce, 2, 4, 8).down);
  EXPECT_FALSE(areas(Collective::reduce, 2, 4, 8, false).up);
  EXPECT_FALSE(areas(Collective::reduce, 2, 4, 32 << 10).up);  // 4 at once: 50 us; by messages 45
  EXPECT_FALSE(areas(Collective::reduce, 16, 2, 8).up);        // 2 at once: 8.4 us, 7.3
  EXPECT_TRUE(areas(Collective::broadcast, 2, 4, 8).down);
  EXPECT_FALSE(areas(Collective::broadcast, 8, 4, 8).down);  // 4 at once: 7.9 us, 6.1
  EXPECT_TRUE(areas(Collective::broadcast, 8, 4, 64 << 10).down);
  EXPECT_TRUE(areas(Collective::allreduce, 2, 4, 8).up && areas(Collective::allreduce, 2, 4, 8).down);
  EXPECT_TRUE(areas(Collective::barrier, 16, 2, 0).up && areas(Collective::barrier, 16, 2, 0).down);
  EXPECT_TRUE(areas(Collective::gather, 2, 4, 8).up);
  EXPECT_FALSE(areas(Collective::gather, 2, 4, 2048).up);
  EXPECT_TRUE(areas(Collective::scatter, 2, 4, 8).down);
  EXPECT_FALSE(areas(Collective::scatter, 8, 4, 8).down);  // the root sends to each leader first
  EXPECT_TRUE(areas(Collective::alltoall, 8, 4, 8).up);    // 4 at once: 13.3 us; by messages 14.2
  EXPECT_FALSE(areas(Collective::alltoall, 16, 2, 8).up);
  EXPECT_TRUE(areas(Collective::reduce_scatter_block, 8, 4, 32 * 8).up);
  EXPECT_TRUE(areas(Collective::allgather, 2, 4, 8).up && areas(Collective::allgather, 2, 4, 8).down);
}

// What the simulator measured with areas, over two rails of 12.5 GB/s (experiment/collective_choice).
TEST(AlgorithmChoice, CopiesWithinTheNodeCostWhatTheyTake) {
  AlgorithmChoice choice;
  TransferCosts model;
  model.between_per_byte = 0.04;
  model.between_short_per_byte = 0.08;
  choice.set_model(model);
  const auto chosen = [&choice](Collective kind, int nodes, int on_node, std::int64_t bytes) {
    return std::string(choice
                           .choose(kind, {.ranks = nodes * on_node,
                                          .bytes = bytes,
                                          .elements = std::max<std::int64_t>(bytes / 4, 1),
                                          .nodes = nodes,
                                          .most_on_node = on_node,
                                          .teams = true})
                           .name);
  };
  EXPECT_EQ(chosen(Collective::broadcast, 16, 2, 1 << 20), "binomial");  // 253 us; scatter_allgather 314
  EXPECT_EQ(chosen(Collective::reduce, 2, 4, 8192), "two_level");        // 6.2 us; rabenseifner 7.2
  EXPECT_EQ(chosen(Collective::allreduce, 2, 4, 2048), "two_level");     // 3.2 us; recursive_doubling 3.5
  // Of eight nodes, which have one switch.
  EXPECT_EQ(chosen(Collective::allreduce, 8, 4, 128 << 10), "rabenseifner");  // 68 us; ring 81
  EXPECT_EQ(chosen(Collective::allgather, 8, 4, 2048), "two_level");  // 13.6 us; recursive_doubling 15.6
  EXPECT_EQ(chosen(Collective::gather, 8, 4, 512), "two_level");      // 3.9 us; by messages 4.4, binomial 6.1
  EXPECT_EQ(chosen(Collective::gather, 2, 4, 2048), "linear");        // 2.4 us; two_level 3.1
  EXPECT_EQ(chosen(Collective::gather, 16, 2, 8), "binomial");        // 6.2 us; two_level 6.5
  EXPECT_EQ(chosen(Collective::alltoall, 2, 4, 512), "two_level");    // 2.6 us; by messages 3.7
  EXPECT_EQ(chosen(Collective::alltoall, 2, 4, 2048), "linear");      // 4.8 us; two_level 5.2
  // Among leaders.
  EXPECT_EQ(chosen(Collective::reduce, 8, 1, 8), "binomial");
}

static std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (int i = 0; i < collective_kinds; ++i) all.push_back(static_cast<Collective>(i));
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, SharedMemoryTest,
                         ::testing::Combine(::testing::ValuesIn(all_collectives()),
                                            ::testing::Values("auto", "area", "other")),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) + "_" +
                                  std::get<1>(info.param);
                         });

}  // namespace hawser
