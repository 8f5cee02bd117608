// What the tests of collective operations share: arguments of all kinds for every operation, and the checks
// of what the standard says the result is. The operations run as they are told, over a TestCluster; with
// contiguous and with derived types, in place, with roots in the middle, with an operation that does not
// commute.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/random.h"
#include "collective/test_cluster.h"
#include "datatype/constructors.h"
#include "datatype/predefined.h"

namespace hawser {

using testing::TestCluster;
using testing::TestRank;

inline constexpr int rank_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 17};

inline Knobs force(Collective kind, const std::string& name) {
  Knobs knobs;
  knobs.collective_algorithm = std::string(name_of(kind)) + "=" + name;
  return knobs;
}

// The value of element i of the block that `from` sends to `to`.
inline int value(int from, int to, std::int64_t i) {
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

inline std::uint32_t matrix_value(int rank, std::int64_t word) {
  return static_cast<std::uint32_t>(rank * 31 + word * 17 + 3);
}

// The product of the matrices of ranks first .. last at element i.
inline std::vector<std::uint32_t> matrix_result(int first, int last, std::int64_t elements) {
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

inline Result<> blocking(TestRank& rank, const CollectiveCall& call) {
  return rank.engine.run(*rank.world, call);
}

inline Result<> in_background(TestRank& rank, const CollectiveCall& call) {
  Request* request = nullptr;
  HAWSER_TRY(rank.engine.start(*rank.world, call, request));
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  request->destroy();
  return {};
}

inline Result<> persistently(TestRank& rank, const CollectiveCall& call) {
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
  void gather_at(TestRank& rank, const Case& c, int root);
  void scatter(TestRank& rank, const Case& c);
  void scatter_from(TestRank& rank, const Case& c, int root);
  void allgather(TestRank& rank, const Case& c);
  void alltoall(TestRank& rank, const Case& c);
  void reduce(TestRank& rank, const Case& c);
  void reduce_in_order(TestRank& rank, const Case& c);
  std::vector<double> sums(Collective kind, const char* way, int size, std::int64_t length);

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

}  // namespace hawser
