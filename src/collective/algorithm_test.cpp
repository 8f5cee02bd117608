// Every algorithm of the table with 1 to 17 ranks against what the standard says the result is; with
// contiguous and with derived types, in place, with roots in the middle, with an operation that does not
// commute.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/random.h"
#include "collective/test_cluster.h"
#include "datatype/constructors.h"
#include "datatype/predefined.h"

namespace hawser {
namespace {

using testing::TestCluster;
using testing::TestRank;

const int rank_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17};

Knobs force(Collective kind, const std::string& name) {
  Knobs knobs;
  knobs.collective_algorithm = std::string(name_of(kind)) + "=" + name;
  return knobs;
}

// The value of element i of the block that `from` sends to `to`.
int value(int from, int to, std::int64_t i) {
  return static_cast<int>(from * 1000003 + to * 1009 + i * 7 + 1) & 0xffffff;
}

// 2x2 matrices under multiplication modulo 2^32: associative, not commutative.
class MatrixProduct final : public UserReduction {
 public:
  void reduce(const void* in, void* inout, std::int64_t count, Datatype&) override {
    const auto* a = static_cast<const std::uint32_t*>(in);
    auto* b = static_cast<std::uint32_t*>(inout);
    for (std::int64_t i = 0; i < count; ++i, a += 4, b += 4) {
      const std::uint32_t product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                        a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
      std::memcpy(b, product, sizeof product);
    }
  }
  std::int64_t count_limit() const override { return 5; }
};

// Adds integers with gaps, which predefined operations do not take.
class SpacedSum final : public UserReduction {
 public:
  void reduce(const void* in, void* inout, std::int64_t count, Datatype&) override {
    for (std::int64_t i = 0; i < count; ++i)
      static_cast<int*>(inout)[2 * i] += static_cast<const int*>(in)[2 * i];
  }
  std::int64_t count_limit() const override { return INT32_MAX; }
};

std::uint32_t matrix_value(int rank, std::int64_t word) {
  return static_cast<std::uint32_t>(rank * 31 + word * 17 + 3);
}

// The product of the matrices of ranks first .. last at element i.
std::vector<std::uint32_t> matrix_result(int first, int last, std::int64_t elements) {
  std::vector<std::uint32_t> result(static_cast<std::size_t>(elements * 4));
  for (std::int64_t w = 0; w < elements * 4; ++w) result[static_cast<std::size_t>(w)] = matrix_value(last, w);
  MatrixProduct product;
  for (int r = last - 1; r >= first; --r) {
    std::vector<std::uint32_t> left(result.size());
    for (std::int64_t w = 0; w < elements * 4; ++w) left[static_cast<std::size_t>(w)] = matrix_value(r, w);
    for (std::int64_t i = 0; i < elements; ++i) {
      std::uint32_t* a = left.data() + 4 * i;
      std::uint32_t* b = result.data() + 4 * i;
      const std::uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                  a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
      std::memcpy(b, c, sizeof c);
    }
  }
  return result;
}

Result<> blocking(TestRank& rank, const CollectiveCall& call) { return rank.engine.run(*rank.world, call); }

Result<> in_background(TestRank& rank, const CollectiveCall& call) {
  Request* request = nullptr;
  HAWSER_TRY(rank.engine.start(*rank.world, call, request));
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  request->destroy();
  return {};
}

Result<> persistently(TestRank& rank, const CollectiveCall& call) {
  Request* request = nullptr;
  HAWSER_TRY(rank.engine.prepare(*rank.world, call, request));
  HAWSER_TRY(request->start());
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  request->destroy();
  return {};
}

using Runner = Result<> (*)(TestRank&, const CollectiveCall&);

// Integers in memory with or without gaps; the gaps must stay as they are.
class Integers32 {
 public:
  Integers32(std::int64_t count, bool spaced)
      : spaced_(spaced), words_(static_cast<std::size_t>(count * (spaced ? 2 : 1)), gap) {}
  int& operator[](std::int64_t i) { return words_[static_cast<std::size_t>(spaced_ ? 2 * i : i)]; }
  int* data() { return words_.empty() ? nullptr : words_.data(); }
  bool gaps_untouched() const {
    for (std::size_t i = 1; spaced_ && i < words_.size(); i += 2)
      if (words_[i] != gap) return false;
    return true;
  }

 private:
  static constexpr int gap = -77;
  bool spaced_;
  std::vector<int> words_;
};

// The arguments over which every algorithm is run.
struct Case {
  Runner runner;
  std::int64_t count;
  bool spaced;
  bool in_place;
};

class AlgorithmTest : public ::testing::Test {
 protected:
  void broadcast(TestRank& rank, const Case& c);
  void gather(TestRank& rank, const Case& c);
  void scatter(TestRank& rank, const Case& c);
  void allgather(TestRank& rank, const Case& c);
  void alltoall(TestRank& rank, const Case& c);
  void reduce(TestRank& rank, const Case& c);
  void reduce_in_order(TestRank& rank, const Case& c);

  Datatype& type(bool spaced) { return spaced ? *spaced_ : integer_; }
  CallSide side(Integers32& values, std::int64_t count, bool spaced) {
    return {values.data(), count, &type(spaced)};
  }
  // Blocks of different sizes: `count` + rank % 3, with a hole between any two.
  void vary(CallSide& side, int ranks, std::int64_t count, std::vector<int>& counts,
            std::vector<int>& starts) {
    counts.clear();
    starts.clear();
    int next = 0;
    for (int r = 0; r < ranks; ++r) {
      counts.push_back(static_cast<int>(count == 0 ? 0 : count + r % 3));
      starts.push_back(next);
      next += counts.back() + 1;
    }
    starts.push_back(next);
    side.counts = IntegerArray(counts.data());
    side.displacements = IntegerArray(starts.data());
  }

  // All arguments with one number of ranks.
  void run_case(TestRank& rank, const Case& c);
  void run_cases(TestCluster& cluster, int size);

  Collective kind_ = Collective::barrier;
  PredefinedTypes types_;
  PredefinedOperators operators_;
  Datatype& integer_ = types_[PredefinedType::plain_int];
  Ref<Datatype> spaced_ = make_spaced();
  Ref<Datatype> matrix_ = make_matrix();
  Ref<Operator> spaced_sum_ = make_counted<Operator>(Ref<UserReduction>(new SpacedSum), true);
  Ref<Operator> product_ = make_counted<Operator>(Ref<UserReduction>(new MatrixProduct), false);

  Ref<Datatype> make_spaced() {
    auto made = make_resized(integer_, 0, 8, CountForm::plain).value();
    made->commit();
    return made;
  }
  Ref<Datatype> make_matrix() {
    auto made = make_contiguous(4, integer_, CountForm::plain).value();
    made->commit();
    return made;
  }
};

void AlgorithmTest::broadcast(TestRank& rank, const Case& c) {
  for (int root = 0; root < rank.size; root += 3) {
    Integers32 data(c.count, c.spaced);
    for (std::int64_t i = 0; i < c.count; ++i) data[i] = rank.rank == root ? value(root, 0, i) : 0;
    CollectiveCall call{
        .kind = Collective::broadcast, .root = root, .receive = side(data, c.count, c.spaced)};
    ASSERT_TRUE(c.runner(rank, call));
    for (std::int64_t i = 0; i < c.count; ++i) ASSERT_EQ(data[i], value(root, 0, i)) << "root " << root;
    ASSERT_TRUE(data.gaps_untouched());
  }
}

void AlgorithmTest::gather(TestRank& rank, const Case& c) {
  const bool varied = kind_ == Collective::gatherv;
  const int root = rank.size / 2;
  const bool at_root = rank.rank == root;
  CollectiveCall call{.kind = kind_, .root = root};
  std::vector<int> counts, starts;
  vary(call.receive, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.receive = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(own, !c.spaced);
  Integers32 receive(at_root ? starts.back() + c.count : 0, c.spaced);
  for (int i = 0; i < own; ++i) {
    send[i] = value(rank.rank, 0, i);
    if (at_root && c.in_place) receive[starts[static_cast<std::size_t>(root)] + i] = send[i];
  }
  call.send = side(send, own, !c.spaced);
  if (at_root && c.in_place) call.send = {in_place};
  if (at_root) {
    call.receive.buffer = receive.data();
    call.receive.count = c.count;
    call.receive.type = &type(c.spaced);
  } else {
    call.receive = {};
  }
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; at_root && r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, 0, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

void AlgorithmTest::scatter(TestRank& rank, const Case& c) {
  const bool varied = kind_ == Collective::scatterv;
  const int root = rank.size - 1;
  const bool at_root = rank.rank == root;
  CollectiveCall call{.kind = kind_, .root = root};
  std::vector<int> counts, starts;
  vary(call.send, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.send = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(at_root ? starts.back() + c.count : 0, c.spaced);
  Integers32 receive(own, !c.spaced);
  for (int r = 0; at_root && r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      send[starts[static_cast<std::size_t>(r)] + i] = value(0, r, i);
  }
  call.receive = side(receive, own, !c.spaced);
  if (at_root && c.in_place) call.receive = {in_place};
  if (at_root) {
    call.send.buffer = send.data();
    call.send.count = c.count;
    call.send.type = &type(c.spaced);
  } else {
    call.send = {};
  }
  ASSERT_TRUE(c.runner(rank, call));
  if (at_root && c.in_place) return;
  for (int i = 0; i < own; ++i) ASSERT_EQ(receive[i], value(0, rank.rank, i));
  ASSERT_TRUE(receive.gaps_untouched());
}

void AlgorithmTest::allgather(TestRank& rank, const Case& c) {
  const bool varied = kind_ == Collective::allgatherv;
  CollectiveCall call{.kind = kind_};
  std::vector<int> counts, starts;
  vary(call.receive, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.receive = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(own, !c.spaced);
  Integers32 receive(starts.back() + c.count, c.spaced);
  for (int i = 0; i < own; ++i) {
    send[i] = value(rank.rank, 0, i);
    if (c.in_place) receive[starts[static_cast<std::size_t>(rank.rank)] + i] = send[i];
  }
  call.send = side(send, own, !c.spaced);
  if (c.in_place) call.send = {in_place};
  call.receive.buffer = receive.data();
  call.receive.count = c.count;
  call.receive.type = &type(c.spaced);
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, 0, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

// The block from a to b has `count` + (a + b) % 3 elements in the v and w forms.
void AlgorithmTest::alltoall(TestRank& rank, const Case& c) {
  const Collective kind = kind_;
  const auto n = static_cast<std::size_t>(rank.size);
  std::vector<int> counts(n), starts(n);
  std::vector<std::int64_t> byte_starts(n);
  std::vector<Datatype*> types(n, &type(c.spaced));
  int next = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const bool varied = kind != Collective::alltoall && c.count > 0;
    counts[r] = static_cast<int>(c.count) + (varied ? (rank.rank + static_cast<int>(r)) % 3 : 0);
    starts[r] = next;
    byte_starts[r] = next * type(c.spaced).extent;
    next += counts[r] + (varied ? 1 : 0);
  }
  Integers32 send(next, c.spaced);
  Integers32 receive(next, c.spaced);
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      (c.in_place ? receive : send)[starts[static_cast<std::size_t>(r)] + i] = value(rank.rank, r, i);
  }
  CollectiveCall call{.kind = kind};
  for (CallSide* s : {&call.send, &call.receive}) {
    *s = side(s == &call.send ? send : receive, c.count, c.spaced);
    if (kind == Collective::alltoall) continue;
    s->counts = IntegerArray(counts.data());
    s->displacements = IntegerArray(starts.data());
    if (kind == Collective::alltoallv) continue;
    s->type = nullptr;
    s->types = types.data();
    s->displacements = IntegerArray(byte_starts.data());
  }
  if (c.in_place) call.send = {in_place};
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, rank.rank, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

// Which ranks' contributions a rank's result has, and at which elements of the vector.
struct Extract {
  int first_rank;
  int last_rank;  // below first_rank: no result
  std::int64_t start;
  std::int64_t count;
};

Extract expected(Collective kind, int rank, int size, int root, std::int64_t count) {
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
      for (int r = 0; r < rank; ++r) start += count == 0 ? 0 : count + r % 3;
      return {0, size - 1, start, count == 0 ? 0 : count + rank % 3};
    }
    default:
      return {0, size - 1, 0, count};
  }
}

std::int64_t vector_length(Collective kind, int size, std::int64_t count) {
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
  for (int r = 0; r < rank.size; ++r) counts.push_back(static_cast<int>(c.count == 0 ? 0 : c.count + r % 3));
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
  for (int r = 0; r < rank.size; ++r) counts.push_back(static_cast<int>(c.count == 0 ? 0 : c.count + r % 3));
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
        const Case c{cluster.one_node() ? blocking : runners[++turn % 3], count, spaced, in_place};
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

class SharedMemoryTest : public AlgorithmTest, public ::testing::WithParamInterface<Collective> {};

TEST_P(SharedMemoryTest, GivesWhatTheStandardSays) {
  kind_ = GetParam();
  for (int size : rank_counts) {
    SCOPED_TRACE("ranks " + std::to_string(size));
    TestCluster cluster(size, {}, true);
    run_cases(cluster, size);
    if (HasFailure()) return;
  }
}

// Operations of all kinds in random order, so that every reuse of shared memory follows every other.
TEST_F(AlgorithmTest, SharedMemoryOperationsFollowEachOther) {
  for (int size : {2, 3, 5}) {
    TestCluster cluster(size, {}, true);
    Random random(static_cast<std::uint64_t>(size));
    for (int i = 0; i < 1500; ++i) {
      kind_ = static_cast<Collective>(random.below(collective_kinds));
      const std::int64_t counts[] = {1, 2, 50, 1500, 7000};
      const Case c{blocking, counts[random.below(5)], false, random.chance(0.5)};
      cluster.run([&](TestRank& rank) { run_case(rank, c); });
      ASSERT_FALSE(HasFailure()) << "operation " << i << " of " << size << " ranks: " << name_of(kind_);
    }
  }
}

std::vector<const Algorithm*> all_algorithms() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : algorithm_table()) all.push_back(&algorithm);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TableTest, ::testing::ValuesIn(all_algorithms()), [](const auto& info) {
  return std::string(name_of(info.param->kind)) + "_" + info.param->name;
});

std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (int i = 0; i < collective_kinds; ++i) all.push_back(static_cast<Collective>(i));
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, SharedMemoryTest, ::testing::ValuesIn(all_collectives()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace hawser
