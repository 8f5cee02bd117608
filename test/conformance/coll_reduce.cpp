// Collectives that compute: reduce, allreduce, reduce_scatter, scan, exscan, with operations of all kinds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "coll_data.h"
#include "owned.h"

namespace conformance {
namespace {

long long sum_of(int ranks, std::int64_t index) {
  long long sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value_at(index, rank);
  return sum;
}

std::vector<long long> wide(std::int64_t count, int rank) {
  const auto narrow = values(count, rank);
  return {narrow.begin(), narrow.end()};
}

std::vector<long long> sums(int ranks, std::int64_t count) {
  std::vector<long long> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(sum_of(ranks, i));
  return result;
}

void reduce(Conformance& t) {
  for (int root : roots(t)) {
    for (int n : lengths(t)) {
      const auto mine = wide(n, t.rank);
      std::vector<long long> result(static_cast<std::size_t>(n), -1);
      OK(MPI_Reduce(mine.data(), t.rank == root ? result.data() : nullptr, n, MPI_LONG_LONG, MPI_SUM, root,
                    MPI_COMM_WORLD));
      if (t.rank == root) CHECK(result == sums(t.size, n));
      if (t.rank == root) {
        result = mine;
        OK(MPI_Reduce(MPI_IN_PLACE, result.data(), n, MPI_LONG_LONG, MPI_SUM, root, MPI_COMM_WORLD));
        CHECK(result == sums(t.size, n));
      } else {
        OK(MPI_Reduce(mine.data(), nullptr, n, MPI_LONG_LONG, MPI_SUM, root, MPI_COMM_WORLD));
      }
      CHECK(mine == wide(n, t.rank));
    }
  }
}

void allreduce(Conformance& t) {
  for (int n : lengths(t)) {
    auto data = wide(n, t.rank);
    std::vector<long long> result(static_cast<std::size_t>(n), -1);
    OK(MPI_Allreduce(data.data(), result.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(result == sums(t.size, n));
    OK(MPI_Allreduce(MPI_IN_PLACE, data.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(data == result);
  }
}

void minimum_and_maximum(Conformance& t) {
  for (int n : {1, 500}) {
    std::vector<double> data, least(static_cast<std::size_t>(n)), most(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) data.push_back(value_at(i, t.rank) * 0.5 - 1e8);
    OK(MPI_Allreduce(data.data(), least.data(), n, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(data.data(), most.data(), n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < n; ++i) {
      double low = 1e300, high = -1e300;
      for (int rank = 0; rank < t.size; ++rank) {
        low = std::min(low, value_at(i, rank) * 0.5 - 1e8);
        high = std::max(high, value_at(i, rank) * 0.5 - 1e8);
      }
      CHECK_EQ(least[static_cast<std::size_t>(i)], low);
      CHECK_EQ(most[static_cast<std::size_t>(i)], high);
    }
  }
}

// Equal values: the lowest index wins.
void locations(Conformance& t) {
  struct {
    double value;
    int index;
  } mine[3], most[3], least[3];
  std::memset(&mine, 0, sizeof(mine));
  for (int i = 0; i < 3; ++i) mine[i] = {static_cast<double>((t.rank * 7 + i) % 5), t.rank};
  OK(MPI_Allreduce(mine, most, 3, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  OK(MPI_Allreduce(mine, least, 3, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    int high = 0, low = 0;
    for (int rank = 1; rank < t.size; ++rank) {
      if ((rank * 7 + i) % 5 > (high * 7 + i) % 5) high = rank;
      if ((rank * 7 + i) % 5 < (low * 7 + i) % 5) low = rank;
    }
    CHECK_EQ(most[i].index, high);
    CHECK_EQ(most[i].value, static_cast<double>((high * 7 + i) % 5));
    CHECK_EQ(least[i].index, low);
  }
}

void bits_and_truth(Conformance& t) {
  unsigned mine = 1u << (t.rank % 30), all = 0, none = 0, parity = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BOR, MPI_COMM_WORLD));
  unsigned expected = 0, expected_parity = 0;
  for (int rank = 0; rank < t.size; ++rank)
    expected |= 1u << (rank % 30), expected_parity ^= 1u << (rank % 30);
  CHECK_EQ(all, expected);
  OK(MPI_Allreduce(&mine, &parity, 1, MPI_UNSIGNED, MPI_BXOR, MPI_COMM_WORLD));
  CHECK_EQ(parity, expected_parity);
  unsigned inverted = ~mine;
  OK(MPI_Allreduce(&inverted, &none, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD));
  CHECK_EQ(none, ~expected);
  int zero_at_0 = t.rank * 4, conjunction = 5, disjunction = 5, exclusive = 5;
  OK(MPI_Allreduce(&zero_at_0, &conjunction, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  CHECK_EQ(conjunction, 0);
  OK(MPI_Allreduce(&zero_at_0, &disjunction, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  CHECK_EQ(disjunction, t.size > 1 ? 1 : 0);
  OK(MPI_Allreduce(&zero_at_0, &exclusive, 1, MPI_INT, MPI_LXOR, MPI_COMM_WORLD));
  CHECK_EQ(exclusive, (t.size - 1) % 2);
}

struct MatrixWorld {
  OwnedType type;
  OwnedOp op;
};

MatrixWorld make_matrices(Conformance& t) {
  MatrixWorld result;
  OK(MPI_Type_contiguous(4, MPI_INT, result.type.out()));
  OK(MPI_Type_commit(result.type.out()));
  OK(MPI_Op_create(multiply_matrices, 0, result.op.out()));
  return result;
}

void operations_that_do_not_commute(Conformance& t) {
  const MatrixWorld world = make_matrices(t);
  for (int n : {0, 1, 5, 700}) {
    const auto mine = matrices(t.rank, n);
    std::vector<Matrix> expected, result(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) expected.push_back(product(0, t.size, i));
    OK(MPI_Allreduce(mine.data(), result.data(), n, world.type, world.op, MPI_COMM_WORLD));
    CHECK(result == expected);
    result = mine;
    OK(MPI_Allreduce(MPI_IN_PLACE, result.data(), n, world.type, world.op, MPI_COMM_WORLD));
    CHECK(result == expected);
    for (int root : roots(t)) {
      result = mine;
      OK(MPI_Reduce(t.rank == root ? MPI_IN_PLACE : mine.data(), t.rank == root ? result.data() : nullptr, n,
                    world.type, world.op, root, MPI_COMM_WORLD));
      if (t.rank == root) CHECK(result == expected);
    }
    std::fill(result.begin(), result.end(), Matrix{});
    OK(MPI_Scan(mine.data(), result.data(), n, world.type, world.op, MPI_COMM_WORLD));
    for (int i = 0; i < n; ++i) CHECK(result[static_cast<std::size_t>(i)] == product(0, t.rank + 1, i));
    OK(MPI_Exscan(mine.data(), result.data(), n, world.type, world.op, MPI_COMM_WORLD));
    for (int i = 0; i < n && t.rank > 0; ++i)
      CHECK(result[static_cast<std::size_t>(i)] == product(0, t.rank, i));
    const auto all = matrices(t.rank, n * t.size);
    OK(MPI_Reduce_scatter_block(all.data(), result.data(), n, world.type, world.op, MPI_COMM_WORLD));
    for (int i = 0; i < n; ++i)
      CHECK(result[static_cast<std::size_t>(i)] == product(0, t.size, t.rank * n + i));
  }
}

void scan(Conformance& t) {
  for (int n : lengths(t)) {
    auto data = wide(n, t.rank);
    std::vector<long long> result(static_cast<std::size_t>(n), -1);
    OK(MPI_Scan(data.data(), result.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(result == sums(t.rank + 1, n));
    OK(MPI_Scan(MPI_IN_PLACE, data.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(data == result);
  }
}

// Rank 0's result is undefined; with IN_PLACE it is too.
void exscan(Conformance& t) {
  for (int n : lengths(t)) {
    auto data = wide(n, t.rank);
    std::vector<long long> result(static_cast<std::size_t>(n), -1);
    OK(MPI_Exscan(data.data(), result.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (t.rank > 0) CHECK(result == sums(t.rank, n));
    OK(MPI_Exscan(MPI_IN_PLACE, data.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (t.rank > 0) CHECK(data == sums(t.rank, n));
  }
}

void reduce_scatter_block(Conformance& t) {
  for (int n : lengths(t)) {
    auto data = wide(static_cast<std::int64_t>(n) * t.size, t.rank);
    const auto all = sums(t.size, static_cast<std::int64_t>(n) * t.size);
    const std::vector<long long> expected(all.begin() + static_cast<std::ptrdiff_t>(n) * t.rank,
                                          all.begin() + static_cast<std::ptrdiff_t>(n) * (t.rank + 1));
    std::vector<long long> result(static_cast<std::size_t>(n), -1);
    OK(MPI_Reduce_scatter_block(data.data(), result.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(result == expected);
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, data.data(), n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    data.resize(static_cast<std::size_t>(n));
    CHECK(data == expected);
  }
}

void reduce_scatter(Conformance& t) {
  for (int scale : {0, 1, 50, 2000}) {
    std::vector<int> counts;
    int total = 0, before = 0;
    for (int rank = 0; rank < t.size; ++rank) {
      counts.push_back(rank % 3 == 2 ? 0 : scale * (1 + rank % 4));
      if (rank < t.rank) before += counts.back();
      total += counts.back();
    }
    const int n = counts[static_cast<std::size_t>(t.rank)];
    auto data = wide(total, t.rank);
    const auto all = sums(t.size, total);
    const std::vector<long long> expected(all.begin() + before, all.begin() + before + n);
    std::vector<long long> result(static_cast<std::size_t>(n) + 1, -1);
    OK(MPI_Reduce_scatter(data.data(), result.data(), counts.data(), MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(result.back(), -1);
    result.pop_back();
    CHECK(result == expected);
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, data.data(), counts.data(), MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    data.resize(static_cast<std::size_t>(n));
    CHECK(data == expected);
  }
}

extern "C" void add_first_of_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *count; ++i) {
    int left = 0, right = 0;
    std::memcpy(&left, static_cast<char*>(in) + i * extent, sizeof(left));
    std::memcpy(&right, static_cast<char*>(inout) + i * extent, sizeof(right));
    right += left;
    std::memcpy(static_cast<char*>(inout) + i * extent, &right, sizeof(right));
  }
}

// An operation on a derived type with gaps: what lies in the gaps stays.
void operation_on_a_type_with_gaps(Conformance& t) {
  OwnedType spaced;
  OwnedOp op;
  OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), spaced.out()));
  OK(MPI_Type_commit(spaced.out()));
  OK(MPI_Op_create(add_first_of_pairs, 1, op.out()));
  for (int n : {1, 400}) {
    std::vector<int> data(static_cast<std::size_t>(n) * 3, 9), result(static_cast<std::size_t>(n) * 3, -1);
    for (int i = 0; i < n; ++i) data[static_cast<std::size_t>(i) * 3] = t.rank + i;
    OK(MPI_Allreduce(data.data(), result.data(), n, spaced, op, MPI_COMM_WORLD));
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i) * 3;
      CHECK_EQ(result[at], t.size * (t.size - 1) / 2 + t.size * i);
      CHECK_EQ(result[at + 1], -1);
    }
  }
}

// All ranks get the same bits, also where the order of additions matters.
void all_ranks_agree_on_floating_point(Conformance& t) {
  for (int n : {1, 3, 1000, 20'000}) {
    std::vector<double> data, result(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) data.push_back(std::sin(value_at(i, t.rank)) * std::pow(10.0, t.rank % 9));
    OK(MPI_Allreduce(data.data(), result.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    auto at_0 = result;
    OK(MPI_Bcast(at_0.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(std::memcmp(at_0.data(), result.data(), static_cast<std::size_t>(n) * sizeof(double)) == 0);
  }
}

void wrong_arguments(Conformance& t) {
  int value = 1, result = 0;
  CHECK_FAILS(MPI_Bcast(&value, 1, MPI_INT, t.size + 1000, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK_FAILS(MPI_Bcast(&value, 1, MPI_INT, -1000, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK_FAILS(MPI_Reduce(&value, &result, 1, MPI_INT, MPI_SUM, t.size + 1000, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK_FAILS(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Allreduce(&value, &result, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Allreduce(&value, &result, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
  CHECK_FAILS(MPI_Allreduce(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_FAILS(MPI_Reduce_local(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_FAILS(MPI_Reduce_local(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_FAILS(MPI_Reduce_local(&value, &value, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  double fraction = 0, fractions = 0;
  CHECK_FAILS(MPI_Allreduce(&fraction, &fractions, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
}

}  // namespace

CHAPTER(coll_reduce, CASE(reduce), CASE(allreduce), CASE(minimum_and_maximum), CASE(locations),
        CASE(bits_and_truth), CASE(operations_that_do_not_commute), CASE(scan), CASE(exscan),
        CASE(reduce_scatter_block), CASE(reduce_scatter), CASE(operation_on_a_type_with_gaps),
        CASE(all_ranks_agree_on_floating_point), CASE(wrong_arguments))

}  // namespace conformance
