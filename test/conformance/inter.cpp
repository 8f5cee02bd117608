// Intercommunicators: making them from each other, and collective operations between their groups (MPI-5.0
// sections 6.2.3, 7.4 and 7.6). The two groups are the ranks below a third of all, and the rest.
#include <algorithm>

#include "coll_data.h"
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

struct Bridge {
  OwnedComm own, inter;
  bool left = false;
  int rank = 0, size = 0, far = 0;  // in our group; of our group; of the other
  int first = 0, far_first = 0;     // ranks in MPI_COMM_WORLD
};

Bridge bridge(Conformance& t) {
  Bridge b;
  const int border = std::max(1, t.size / 3);
  b.left = t.rank < border;
  OK(MPI_Comm_split(MPI_COMM_WORLD, b.left, t.rank, b.own.out()));
  OK(MPI_Intercomm_create(b.own, 0, MPI_COMM_WORLD, b.left ? border : 0, 5, b.inter.out()));
  b.first = b.left ? 0 : border;
  b.far_first = b.left ? border : 0;
  b.size = b.left ? border : t.size - border;
  b.far = t.size - b.size;
  b.rank = t.rank - b.first;
  return b;
}

// The root argument when rank `root` of the left or right group is the root.
int root_argument(const Bridge& b, bool left, int root) {
  if (b.left != left) return root;
  return b.rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

std::vector<int> far_ranks(const Bridge& b) {
  std::vector<int> ranks;
  for (int r = 0; r < b.far; ++r) ranks.push_back(b.far_first + r);
  return ranks;
}

// Whether an intercommunicator connects whom it should.
void check_works(Conformance& t, MPI_Comm inter, const std::vector<int>& expected) {
  int is_inter = 0, remote = 0;
  OK(MPI_Comm_test_inter(inter, &is_inter));
  CHECK_EQ(is_inter, 1);
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, static_cast<int>(expected.size()));
  std::vector<int> got(static_cast<std::size_t>(remote), -1);
  OK(MPI_Allgather(&t.rank, 1, MPI_INT, got.data(), 1, MPI_INT, inter));
  CHECK(got == expected);
}

void duplicates(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedComm copy, later;
  OK(MPI_Comm_dup(b.inter, copy.out()));
  MPI_Request request;
  OK(MPI_Comm_idup(copy, later.out(), &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int result = -1;
  OK(MPI_Comm_compare(b.inter, later, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  check_works(t, copy, far_ranks(b));
  check_works(t, later, far_ranks(b));
  OwnedComm merged;
  OK(MPI_Intercomm_merge(later, b.left, merged.out()));
  int rank = -1;
  OK(MPI_Comm_rank(merged, &rank));
  CHECK_EQ(rank, b.left ? b.far + b.rank : b.rank);
}

// Odd and even ranks of both groups; keys turn the order round.
void split(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedComm part;
  OK(MPI_Comm_split(b.inter, b.rank % 2, -b.rank, part.out()));
  std::vector<int> expected;
  for (int r = b.far - 1; r >= 0; --r)
    if (r % 2 == b.rank % 2) expected.push_back(b.far_first + r);
  CHECK_EQ(part != MPI_COMM_NULL, !expected.empty());
  if (part != MPI_COMM_NULL) check_works(t, part, expected);
  // A color in one group only gives nothing; some take no part.
  OwnedComm nothing, firsts;
  OK(MPI_Comm_split(b.inter, b.left, 0, nothing.out()));
  CHECK(nothing == MPI_COMM_NULL);
  OK(MPI_Comm_split(b.inter, b.rank == 0 ? 3 : MPI_UNDEFINED, 0, firsts.out()));
  CHECK_EQ(firsts != MPI_COMM_NULL, b.rank == 0);
  if (firsts != MPI_COMM_NULL) check_works(t, firsts, {b.far_first});
}

void create(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedGroup group, last;
  OK(MPI_Comm_group(b.inter, group.out()));
  const int only = b.size - 1;
  OK(MPI_Group_incl(group, 1, &only, last.out()));
  OwnedComm made, nothing;
  OK(MPI_Comm_create(b.inter, last, made.out()));
  CHECK_EQ(made != MPI_COMM_NULL, b.rank == only);
  if (made != MPI_COMM_NULL) check_works(t, made, {b.far_first + b.far - 1});
  OK(MPI_Comm_create(b.inter, b.left ? MPI_GROUP_EMPTY : static_cast<MPI_Group>(group), nothing.out()));
  CHECK(nothing == MPI_COMM_NULL);
}

void many_come_and_go(Conformance& t) {
  const Bridge b = bridge(t);
  for (int i = 0; i < 50; ++i) {
    MPI_Comm copy;
    OK(MPI_Comm_dup(b.inter, &copy));
    OK(MPI_Comm_free(&copy));
  }
  check_works(t, b.inter, far_ranks(b));
}

void barrier(Conformance& t) {
  const Bridge b = bridge(t);
  // A message sent before is there after.
  int got = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  if (b.rank == 0) OK(MPI_Irecv(&got, 1, MPI_INT, b.far - 1, 1, b.inter, &request));
  if (b.rank == b.size - 1) OK(MPI_Send(&t.rank, 1, MPI_INT, 0, 1, b.inter));
  for (int i = 0; i < 3; ++i) OK(MPI_Barrier(b.inter));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (b.rank == 0) CHECK_EQ(got, b.far_first + b.far - 1);
}

void broadcast(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedType every_other;
  OK(MPI_Type_vector(1, 1, 1, MPI_INT, every_other.out()));
  OwnedType spaced;
  OK(MPI_Type_create_resized(every_other, 0, 2 * sizeof(int), spaced.out()));
  OK(MPI_Type_commit(spaced.out()));
  for (const bool left : {true, false}) {
    const int root = left == b.left ? b.size - 1 : b.far - 1;
    for (int n : {0, 1, 500, 50'000}) {
      const int argument = root_argument(b, left, root);
      std::vector<int> data(static_cast<std::size_t>(2 * n), -1);
      if (argument == MPI_ROOT) data = values(2 * n, n + left);
      // The receivers have gaps.
      OK(MPI_Bcast(data.data(), n, left == b.left ? MPI_INT : static_cast<MPI_Datatype>(spaced), argument,
                   b.inter));
      if (left == b.left) continue;
      const auto expected = values(n, n + left);
      bool same = true;
      for (std::size_t i = 0; i < expected.size(); ++i)
        same &= data[2 * i] == expected[i] && data[2 * i + 1] == -1;
      CHECK(same);
    }
  }
}

void gather_and_scatter(Conformance& t) {
  const Bridge b = bridge(t);
  for (const bool left : {true, false}) {
    const int argument = root_argument(b, left, 0);
    for (int n : {1, 3000}) {
      const auto mine = values(n, t.rank);
      std::vector<int> all(static_cast<std::size_t>(n * b.far), -1), part(static_cast<std::size_t>(n), -1),
          whole;
      OK(MPI_Gather(mine.data(), n, MPI_INT, all.data(), n, MPI_INT, argument, b.inter));
      for (int r = 0; r < b.far; ++r) {
        const auto block = values(n, b.far_first + r);
        whole.insert(whole.end(), block.begin(), block.end());
      }
      if (argument == MPI_ROOT) CHECK(all == whole);
      OK(MPI_Scatter(whole.data(), n, MPI_INT, part.data(), n, MPI_INT, argument, b.inter));
      if (left != b.left) CHECK(part == mine);
    }
    // Rank r has r+1 elements; they lie in reverse order at the root.
    std::vector<int> counts(static_cast<std::size_t>(b.far)), starts(counts);
    int total = 0;
    for (std::size_t r = counts.size(); r-- > 0;) {
      counts[r] = static_cast<int>(r) + 1;
      starts[r] = total;
      total += counts[r];
    }
    std::vector<int> all(static_cast<std::size_t>(total), -1), back(static_cast<std::size_t>(b.rank + 1), -1);
    const auto mine = values(b.rank + 1, t.rank);
    OK(MPI_Gatherv(mine.data(), b.rank + 1, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT,
                   argument, b.inter));
    for (std::size_t r = 0; argument == MPI_ROOT && r < counts.size(); ++r) {
      const auto block = values(counts[r], b.far_first + static_cast<int>(r));
      CHECK(std::equal(block.begin(), block.end(), all.begin() + starts[r]));
    }
    OK(MPI_Scatterv(all.data(), counts.data(), starts.data(), MPI_INT, back.data(), b.rank + 1, MPI_INT,
                    argument, b.inter));
    if (left != b.left) CHECK(back == mine);
  }
}

void allgathers(Conformance& t) {
  const Bridge b = bridge(t);
  for (int n : {1, 2500}) {
    const auto mine = values(n, t.rank);
    std::vector<int> got(static_cast<std::size_t>(n * b.far), -1), expected;
    OK(MPI_Allgather(mine.data(), n, MPI_INT, got.data(), n, MPI_INT, b.inter));
    for (int r = 0; r < b.far; ++r) {
      const auto block = values(n, b.far_first + r);
      expected.insert(expected.end(), block.begin(), block.end());
    }
    CHECK(got == expected);
  }
  // The left group sends nothing; the ranks of the right one r+2 elements.
  const int count = b.left ? 0 : b.rank + 2;
  std::vector<int> counts, starts, expected;
  for (int r = 0; r < b.far; ++r) {
    starts.push_back(static_cast<int>(expected.size()));
    counts.push_back(b.left ? r + 2 : 0);
    const auto block = values(counts.back(), b.far_first + r);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  const auto mine = values(count, t.rank);
  std::vector<int> got(expected.size(), -1);
  OK(MPI_Allgatherv(mine.data(), count, MPI_INT, got.data(), counts.data(), starts.data(), MPI_INT, b.inter));
  CHECK(got == expected);
}

void alltoalls(Conformance& t) {
  const Bridge b = bridge(t);
  const auto far = static_cast<std::size_t>(b.far);
  std::vector<int> out(far), in(far, -1), counts(far, 1), starts(far), bytes(far);
  for (std::size_t r = 0; r < far; ++r) {
    out[r] = t.rank * 1000 + static_cast<int>(r);
    starts[r] = static_cast<int>(far - 1 - r);
    bytes[r] = starts[r] * static_cast<int>(sizeof(int));
  }
  OK(MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, b.inter));
  for (std::size_t r = 0; r < far; ++r) CHECK_EQ(in[r], (b.far_first + static_cast<int>(r)) * 1000 + b.rank);
  std::vector<int> in_v(far, -1), in_w(far, -1);
  OK(MPI_Alltoallv(out.data(), counts.data(), starts.data(), MPI_INT, in_v.data(), counts.data(),
                   starts.data(), MPI_INT, b.inter));
  const std::vector<MPI_Datatype> types(far, MPI_INT);
  OK(MPI_Alltoallw(out.data(), counts.data(), bytes.data(), types.data(), in_w.data(), counts.data(),
                   bytes.data(), types.data(), b.inter));
  // Of what r sends our block is out[size - 1 - rank], and it comes to in[far - 1 - r].
  for (std::size_t r = 0; r < far; ++r) {
    const int expected = (b.far_first + static_cast<int>(r)) * 1000 + b.size - 1 - b.rank;
    CHECK_EQ(in_v[far - 1 - r], expected);
    CHECK_EQ(in_w[far - 1 - r], expected);
  }
}

void reductions(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedType matrix;
  OwnedOp product_op;
  OK(MPI_Type_contiguous(4, MPI_INT, matrix.out()));
  OK(MPI_Type_commit(matrix.out()));
  OK(MPI_Op_create(multiply_matrices, 0, product_op.out()));
  for (int n : {1, 40, 5000}) {
    const auto mine = matrices(t.rank, n);
    std::vector<Matrix> expected;
    for (int i = 0; i < n; ++i) expected.push_back(product(b.far_first, b.far_first + b.far, i));
    for (const bool left : {true, false}) {
      const int root = left == b.left ? b.size - 1 : b.far - 1;
      const int argument = root_argument(b, left, root);
      std::vector<Matrix> result(static_cast<std::size_t>(n));
      OK(MPI_Reduce(mine.data(), result.data(), n, matrix, product_op, argument, b.inter));
      if (argument == MPI_ROOT) CHECK(result == expected);
    }
    std::vector<Matrix> result(static_cast<std::size_t>(n));
    OK(MPI_Allreduce(mine.data(), result.data(), n, matrix, product_op, b.inter));
    CHECK(result == expected);
  }
  // A type with a gap.
  struct Located {
    double value;
    int where;
  };
  const Located mine{static_cast<double>(b.rank % 3), t.rank};
  Located largest{-1, -1};
  OK(MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, b.inter));
  const int best = std::min(b.far - 1, 2);
  CHECK_EQ(largest.where, b.far_first + best);
}

void reduce_scatters(Conformance& t) {
  const Bridge b = bridge(t);
  // Both groups have the same total.
  const int total = b.size * b.far;
  std::vector<int> mine(static_cast<std::size_t>(total));
  for (int i = 0; i < total; ++i) mine[static_cast<std::size_t>(i)] = i * (t.rank + 1);
  int factor = 0;
  for (int r : far_ranks(b)) factor += r + 1;
  std::vector<int> part(static_cast<std::size_t>(b.far), -1);
  OK(MPI_Reduce_scatter_block(mine.data(), part.data(), b.far, MPI_INT, MPI_SUM, b.inter));
  for (int i = 0; i < b.far; ++i) CHECK_EQ(part[static_cast<std::size_t>(i)], (b.rank * b.far + i) * factor);
  // The last rank takes what the others leave, which take one each.
  std::vector<int> counts(static_cast<std::size_t>(b.size), 1);
  counts.back() = total - b.size + 1;
  std::vector<int> uneven(static_cast<std::size_t>(counts[static_cast<std::size_t>(b.rank)]), -1);
  OK(MPI_Reduce_scatter(mine.data(), uneven.data(), counts.data(), MPI_INT, MPI_SUM, b.inter));
  for (std::size_t i = 0; i < uneven.size(); ++i)
    CHECK_EQ(uneven[i], (b.rank + static_cast<int>(i)) * factor);
}

void in_the_background(Conformance& t) {
  const Bridge b = bridge(t);
  const auto far = static_cast<std::size_t>(b.far);
  MPI_Request requests[6];
  int cast = t.rank == 0 ? 77 : -1, sum = -1, part = -1;
  std::vector<int> gathered(far, -1), exchanged(far, -1), out(far), ones(static_cast<std::size_t>(b.size), 0);
  for (std::size_t r = 0; r < far; ++r) out[r] = 100 * t.rank + static_cast<int>(r);
  ones[0] = 1;
  OK(MPI_Ibarrier(b.inter, &requests[0]));
  OK(MPI_Ibcast(&cast, 1, MPI_INT, root_argument(b, true, 0), b.inter, &requests[1]));
  OK(MPI_Iallreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, b.inter, &requests[2]));
  OK(MPI_Iallgather(&t.rank, 1, MPI_INT, gathered.data(), 1, MPI_INT, b.inter, &requests[3]));
  OK(MPI_Ialltoall(out.data(), 1, MPI_INT, exchanged.data(), 1, MPI_INT, b.inter, &requests[4]));
  OK(MPI_Ireduce_scatter(&t.rank, &part, ones.data(), MPI_INT, MPI_MAX, b.inter, &requests[5]));
  OK(MPI_Barrier(b.own));
  OK(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
  int expected = 0;
  for (int r : far_ranks(b)) expected += r;
  CHECK_EQ(cast, b.left && b.rank != 0 ? -1 : 77);
  CHECK_EQ(sum, expected);
  CHECK(gathered == far_ranks(b));
  for (std::size_t r = 0; r < far; ++r)
    CHECK_EQ(exchanged[r], 100 * (b.far_first + static_cast<int>(r)) + b.rank);
  CHECK_EQ(part, b.rank == 0 ? b.far_first + b.far - 1 : -1);
}

void persistent(Conformance& t) {
#if MPI_VERSION >= 4
  const Bridge b = bridge(t);
  int in = 0, sum = 0;
  MPI_Request requests[2];
  OK(MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, b.inter, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Barrier_init(b.inter, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 4; ++round) {
    in = t.rank + round;
    const int first = t.rank % 2;
    OK(MPI_Start(&requests[first]));
    OK(MPI_Start(&requests[1 - first]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    int expected = b.far * round;
    for (int r : far_ranks(b)) expected += r;
    CHECK_EQ(sum, expected);
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
#endif
}

// Ranks that give MPI_PROC_NULL for the root take no part, and none of their other arguments is significant
// (MPI-5.0 sections 6.4 to 6.9). The root's own contribution to a reduction is not either.
void nothing_significant_beside_the_root(Conformance& t) {
  const Bridge b = bridge(t);
  for (const bool left : {true, false}) {
    const int argument = root_argument(b, left, 0);
    const bool away = argument == MPI_PROC_NULL;
    int in = t.rank, out = -1;
    std::vector<int> all(static_cast<std::size_t>(b.far), -1);
    const int count = away ? -7 : 1;
    const MPI_Datatype type = away ? MPI_DATATYPE_NULL : MPI_INT;
    const MPI_Op op = away ? MPI_OP_NULL : MPI_SUM;
    OK(MPI_Bcast(away ? nullptr : &in, count, type, argument, b.inter));
    if (argument >= 0) CHECK_EQ(in, left ? 0 : std::max(1, t.size / 3));
    in = t.rank;
    OK(MPI_Reduce(away ? nullptr : &in, away ? nullptr : &out, count, type, op, argument, b.inter));
    if (argument == MPI_ROOT) CHECK_EQ(out, b.far * (b.far_first * 2 + b.far - 1) / 2);
    // MPI_BYTE cannot be added up.
    OK(MPI_Reduce(away ? nullptr : &in, &out, away ? 0 : 1, away ? MPI_BYTE : MPI_INT, MPI_SUM, argument,
                  b.inter));
    OK(MPI_Gather(&in, argument < 0 ? -1 : 1, argument < 0 ? MPI_DATATYPE_NULL : MPI_INT, all.data(), count,
                  type, argument, b.inter));
    OK(MPI_Scatter(all.data(), count, type, &in, argument < 0 ? -1 : 1,
                   argument < 0 ? MPI_DATATYPE_NULL : MPI_INT, argument, b.inter));
    if (argument >= 0) CHECK_EQ(in, t.rank);
    MPI_Request requests[2];
    OK(MPI_Ibcast(away ? nullptr : &in, count, type, argument, b.inter, &requests[0]));
    OK(MPI_Ireduce(away ? nullptr : &out, away ? nullptr : all.data(), count, type, op, argument, b.inter,
                   &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#if MPI_VERSION >= 4
    MPI_Request prepared[2];
    OK(MPI_Bcast_init(away ? nullptr : &in, count, type, argument, b.inter, MPI_INFO_NULL, &prepared[0]));
    OK(MPI_Reduce_init(away ? nullptr : &out, away ? nullptr : all.data(), count, type, op, argument, b.inter,
                       MPI_INFO_NULL, &prepared[1]));
    OK(MPI_Startall(2, prepared));
    OK(MPI_Waitall(2, prepared, MPI_STATUSES_IGNORE));
    for (MPI_Request& request : prepared) OK(MPI_Request_free(&request));
#endif
  }
}

// Ranks of one node on both sides come together; where only one side has ranks there is no communicator
// (MPI-5.0 section 7.4.2).
void split_by_shared_memory(Conformance& t) {
  const Bridge b = bridge(t);
  OwnedComm node, together, nothing;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, node.out()));
  int members = 0;
  OK(MPI_Comm_size(node, &members));
  std::vector<int> ranks(static_cast<std::size_t>(members));
  OK(MPI_Allgather(&t.rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, node));
  std::erase_if(ranks, [&](int r) { return (r < std::max(1, t.size / 3)) == b.left; });
  OK(MPI_Comm_split_type(b.inter, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, together.out()));
  CHECK_EQ(together == MPI_COMM_NULL, ranks.empty());
  if (together != MPI_COMM_NULL) check_works(t, together, ranks);
  OK(MPI_Comm_split_type(b.inter, MPI_UNDEFINED, t.rank, MPI_INFO_NULL, nothing.out()));
  CHECK(nothing == MPI_COMM_NULL);
}

// As of an empty array whose one address stands for both sides.
void alltoalls_of_nothing(Conformance& t) {
  const Bridge b = bridge(t);
  const auto far = static_cast<std::size_t>(b.far);
  int place = 0;
  const std::vector<int> zeros(far, 0);
  const std::vector<MPI_Datatype> types(far, MPI_INT);
  OK(MPI_Alltoall(&place, 0, MPI_INT, &place, 0, MPI_INT, b.inter));
  OK(MPI_Alltoallv(&place, zeros.data(), zeros.data(), MPI_INT, &place, zeros.data(), zeros.data(), MPI_INT,
                   b.inter));
  OK(MPI_Alltoallw(&place, zeros.data(), zeros.data(), types.data(), &place, zeros.data(), zeros.data(),
                   types.data(), b.inter));
}

void wrong_arguments(Conformance& t) {
  const Bridge b = bridge(t);
  int data = 0, out = 0;
  CHECK(MPI_Scan(&data, &out, 1, MPI_INT, MPI_SUM, b.inter) != MPI_SUCCESS);
  CHECK_FAILS(MPI_Bcast(&data, 1, MPI_INT, b.far, b.inter), MPI_ERR_ROOT);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_SUM, b.inter) != MPI_SUCCESS);
}

}  // namespace

CHAPTER(inter, CASE(duplicates, .min_ranks = 2), CASE(split, .min_ranks = 2), CASE(create, .min_ranks = 2),
        CASE(many_come_and_go, .min_ranks = 2), CASE(barrier, .min_ranks = 2),
        CASE(broadcast, .min_ranks = 2), CASE(gather_and_scatter, .min_ranks = 2),
        CASE(allgathers, .min_ranks = 2), CASE(alltoalls, .min_ranks = 2), CASE(reductions, .min_ranks = 2),
        CASE(reduce_scatters, .min_ranks = 2), CASE(in_the_background, .min_ranks = 2),
        CASE(persistent, .min_ranks = 2), CASE(nothing_significant_beside_the_root, .min_ranks = 2),
        CASE(split_by_shared_memory, .min_ranks = 2), CASE(alltoalls_of_nothing, .min_ranks = 2),
        CASE(wrong_arguments, .min_ranks = 2))

}  // namespace conformance
