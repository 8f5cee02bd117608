// Gatherv, scatterv, alltoallv and alltoallw straight in shared memory: amounts of all kinds between the
// ranks, among them none and long ones, and what the program sees when they do not agree.
#include <array>

#include "collective/algorithm_cases.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

enum class Amounts { equal, sparse, none, one_pair, random };
constexpr Amounts all_amounts[] = {Amounts::equal, Amounts::sparse, Amounts::none, Amounts::one_pair,
                                   Amounts::random};

// From a few bytes, which a line has, to more than a buffer of the tests' areas has for one rank.
int elements(Amounts amounts, std::uint64_t seed, int from, int to, int ranks) {
  Random random(seed * 10007 + static_cast<std::uint64_t>(from * 101 + to));
  constexpr std::array<int, 6> some = {1, 2, 9, 100, 700, 9000};
  const auto any = [&] { return some[random.below(some.size())] + static_cast<int>(random.below(3)); };
  switch (amounts) {
    case Amounts::equal:
      return some[seed % some.size()];
    case Amounts::sparse:
      return to == (from + 1) % ranks ? any() : 0;
    case Amounts::none:
      return 0;
    case Amounts::one_pair:
      return from == 0 && to == ranks - 1 ? any() : 0;
    case Amounts::random:
      return random.chance(0.3) ? 0 : any();
  }
  HAWSER_UNREACHABLE();
}

// One side's blocks, with room between them.
struct Side {
  std::vector<int> counts, starts;
  std::vector<std::int64_t> byte_starts;
  std::vector<Datatype*> types;

  void add(int count, Datatype& type) {
    starts.push_back(next);
    byte_starts.push_back(next * type.extent);
    types.push_back(&type);
    counts.push_back(count);
    next += count + 1;
  }
  CallSide of(Integers32& data, Collective kind) {
    CallSide side{.buffer = data.data()};
    side.counts = IntegerArray(counts.data());
    if (kind == Collective::alltoallw) {
      side.types = types.data();
      side.displacements = IntegerArray(byte_starts.data());
    } else {
      side.type = types[0];
      side.displacements = IntegerArray(starts.data());
    }
    return side;
  }
  int next = 0;
};

class VectorFormTest : public AlgorithmTest {
 protected:
  using Start = Request* (*)(TestRank&, const CollectiveCall&);
  static Request* in_call(TestRank& rank, const CollectiveCall& call) {
    EXPECT_TRUE(rank.engine.run(*rank.world, call));
    return nullptr;
  }
  static Request* beside(TestRank& rank, const CollectiveCall& call) {
    Request* request = nullptr;
    EXPECT_TRUE(rank.engine.start(*rank.world, call, request));
    return request;
  }
  static void end(TestRank& rank, Request* request) {
    if (request == nullptr) return;
    rank.wait(request);
    EXPECT_EQ(request->status.error, ErrorClass::success);
    request->destroy();
  }

  void all_to_all(TestRank& rank, Collective kind, Amounts amounts, std::uint64_t seed, bool spaced,
                  bool in_place_here, Start start) {
    Side out, in;
    const bool receive_spaced = in_place_here == spaced;
    for (int r = 0; r < rank.size; ++r) {
      // In place, as much goes one way as the other.
      const int low = std::min(r, rank.rank), high = std::max(r, rank.rank);
      out.add(in_place_here ? elements(amounts, seed, low, high, rank.size)
                            : elements(amounts, seed, rank.rank, r, rank.size),
              type(spaced));
      in.add(in_place_here ? out.counts.back() : elements(amounts, seed, r, rank.rank, rank.size),
             type(receive_spaced));
    }
    Integers32 send(out.next, spaced), receive(in.next, receive_spaced);
    if (in_place_here) in = out;
    Integers32& from = in_place_here ? receive : send;
    for (int r = 0; r < rank.size; ++r)
      for (int i = 0; i < out.counts[static_cast<std::size_t>(r)]; ++i)
        from[out.starts[static_cast<std::size_t>(r)] + i] = value(rank.rank, r, i);
    CollectiveCall call{.kind = kind, .send = out.of(send, kind), .receive = in.of(receive, kind)};
    if (in_place_here) call.send = {in_place};
    end(rank, start(rank, call));
    for (int r = 0; r < rank.size; ++r)
      for (int i = 0; i < in.counts[static_cast<std::size_t>(r)]; ++i)
        ASSERT_EQ(receive[in.starts[static_cast<std::size_t>(r)] + i], value(r, rank.rank, i));
    ASSERT_TRUE(receive.gaps_untouched());
  }

  void to_root(TestRank& rank, Amounts amounts, std::uint64_t seed, int root, Start start) {
    Side in;
    for (int r = 0; r < rank.size; ++r) in.add(elements(amounts, seed, r, root, rank.size), type(true));
    const int own = in.counts[static_cast<std::size_t>(rank.rank)];
    Integers32 send(own, false), receive(in.next, true);
    for (int i = 0; i < own; ++i) send[i] = value(rank.rank, root, i);
    CollectiveCall call{.kind = Collective::gatherv, .root = root, .send = side(send, own, false)};
    if (rank.rank == root) call.receive = in.of(receive, call.kind);
    end(rank, start(rank, call));
    for (int r = 0; rank.rank == root && r < rank.size; ++r)
      for (int i = 0; i < in.counts[static_cast<std::size_t>(r)]; ++i)
        ASSERT_EQ(receive[in.starts[static_cast<std::size_t>(r)] + i], value(r, root, i));
    ASSERT_TRUE(receive.gaps_untouched());
  }

  void from_root(TestRank& rank, Amounts amounts, std::uint64_t seed, int root, Start start) {
    Side out;
    for (int r = 0; r < rank.size; ++r) out.add(elements(amounts, seed, root, r, rank.size), type(true));
    const int own = out.counts[static_cast<std::size_t>(rank.rank)];
    Integers32 send(out.next, true), receive(own, false);
    for (int r = 0; r < rank.size; ++r)
      for (int i = 0; i < out.counts[static_cast<std::size_t>(r)]; ++i)
        send[out.starts[static_cast<std::size_t>(r)] + i] = value(root, r, i);
    CollectiveCall call{.kind = Collective::scatterv, .root = root, .receive = side(receive, own, false)};
    if (rank.rank == root) call.send = out.of(send, call.kind);
    end(rank, start(rank, call));
    for (int i = 0; i < own; ++i) ASSERT_EQ(receive[i], value(root, rank.rank, i));
  }
};

// Each after every other, so that lines and buffers are used again while others still read, and ranks that
// have nothing to do run ahead.
TEST_F(VectorFormTest, AllAmountsArriveWhateverComesBefore) {
  for (const int size : {2, 3, 4, 7, 16, 17, 25, 64, 65}) {
    const bool many = size > 17;
    TestCluster cluster(size, {}, true, 0, many ? 1 << 20 : testing::TestNode::small_area);
    for (std::uint64_t seed = 0; seed < (many ? 40 : 250); ++seed) {
      Random random(seed + 1000 * static_cast<std::uint64_t>(size));
      const Amounts amounts = all_amounts[random.below(std::size(all_amounts))];
      const auto what = random.below(5);
      const Start start = random.chance(0.5) ? in_call : beside;
      const bool spaced = random.chance(0.2), place = random.chance(0.3);
      const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
      cluster.run([&](TestRank& rank) {
        if (what == 0) all_to_all(rank, Collective::alltoallw, amounts, seed, spaced, place, start);
        if (what == 1) all_to_all(rank, Collective::alltoallv, amounts, seed, spaced, place, start);
        if (what == 2) to_root(rank, amounts, seed, root, start);
        if (what == 3) from_root(rank, amounts, seed, root, start);
        int one = 1, sum = 0;
        const CollectiveCall reduction{.kind = Collective::allreduce,
                                       .send = {&one, 1, &integer_},
                                       .receive = {&sum, 1, &integer_},
                                       .op = &operators_[PredefinedOperator::sum]};
        if (what == 4) {
          EXPECT_TRUE(rank.engine.run(*rank.world, reduction));
          EXPECT_EQ(sum, size);
        }
      });
      ASSERT_FALSE(HasFailure()) << "operation " << seed << " of " << size << " ranks";
    }
  }
}

// Several in the background at once, which long messages of one may leave in another order than they began.
TEST_F(VectorFormTest, SeveralGoOnAtOnce) {
  for (const int size : {3, 4}) {
    TestCluster cluster(size, {}, true);
    cluster.run([&](TestRank& rank) {
      constexpr int under_way = 6;
      std::vector<std::vector<int>> data;
      std::vector<Request*> requests;
      const auto n = static_cast<std::size_t>(size);
      std::array<std::array<std::vector<int>, 2>, under_way> numbers;
      for (int i = 0; i < under_way; ++i) {
        const int count = i % 2 == 0 ? 9000 : 3;
        auto& [counts, starts] = numbers[static_cast<std::size_t>(i)];
        counts.assign(n, count);
        starts.clear();
        for (int r = 0; r < size; ++r) starts.push_back(r * count);
        data.emplace_back(n * static_cast<std::size_t>(count), 100 * i + rank.rank);
        CallSide all{data.back().data(), 0, &integer_, IntegerArray(counts.data()),
                     IntegerArray(starts.data())};
        requests.push_back(beside(rank, {.kind = Collective::alltoallv, .send = {in_place}, .receive = all}));
      }
      for (auto request = requests.rbegin(); request != requests.rend(); ++request) end(rank, *request);
      for (int i = 0; i < under_way; ++i)
        for (int r = 0; r < size; ++r)
          EXPECT_EQ(data[static_cast<std::size_t>(i)]
                        [static_cast<std::size_t>((r + 1) * (i % 2 == 0 ? 9000 : 3) - 1)],
                    100 * i + r);
    });
  }
}

// Rank 0 sends one element more, or less, than rank 1 expects, also where that makes the block a long one to
// one of them alone: that one hears of it, nobody writes beyond, and all go on.
class OtherAmounts : public VectorFormTest, public ::testing::WithParamInterface<int> {};

TEST_P(OtherAmounts, AreTold) {
  TestCluster cluster(GetParam(), {}, true);
  constexpr int longest = 544, longest_to_one = 1648;  // of 4 ranks in the tests' areas
  for (const bool background : {false, true}) {
    for (const Collective kind : {Collective::alltoallv, Collective::gatherv, Collective::scatterv}) {
      for (const int sent :
           {2, 9, 100, 512, longest, longest + 1, longest_to_one, longest_to_one + 1, 6000}) {
        for (const int difference : {-1, 1, 1200, -1200}) {
          const int expected = std::max(1, sent + difference);
          cluster.run([&](TestRank& rank) {
            const int root = kind == Collective::gatherv ? 1 : 0;
            const std::vector<int> zeros(4, 0);
            std::vector<int> out(4, 0), in(4, 0), starts(4, 0);
            if (rank.rank == 0) out[1] = sent;
            if (rank.rank == 1) in[0] = expected;
            std::vector<int> data(static_cast<std::size_t>(sent), 5);
            std::vector<int> place(static_cast<std::size_t>(expected) + 10, -1);
            CallSide send{data.data(), 0, &integer_, IntegerArray(out.data()), IntegerArray(starts.data())};
            CallSide receive{place.data(), 0, &integer_, IntegerArray(in.data()),
                             IntegerArray(starts.data())};
            if (kind == Collective::gatherv) send = {data.data(), rank.rank == 0 ? sent : 0, &integer_};
            if (kind == Collective::scatterv)
              receive = {place.data(), rank.rank == 1 ? expected : 0, &integer_};
            const CollectiveCall call{.kind = kind, .root = root, .send = send, .receive = receive};
            ErrorClass error = ErrorClass::success;
            if (background) {
              Request* const request = beside(rank, call);
              rank.wait(request);
              error = request->status.error;
              request->destroy();
            } else if (Result<> result = rank.engine.run(*rank.world, call); !result) {
              error = error_class_of(result.error());
            }
            EXPECT_EQ(error, rank.rank == 1 && sent != expected ? ErrorClass::truncate : ErrorClass::success)
                << name_of(kind) << " of " << sent << " where " << expected << " are expected";
            for (int i = expected; i < expected + 10; ++i) EXPECT_EQ(place[static_cast<std::size_t>(i)], -1);
            EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
          });
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, OtherAmounts, ::testing::Values(2, 4));

}  // namespace

}  // namespace hawser
