// Neighbourhood collectives (MPI-5.0 section 8.7) over each kind of topology, in their three forms.
#include <cstdlib>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

OwnedComm line(Conformance& t, int period) {
  OwnedComm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &t.size, &period, 0, comm.out()));
  return comm;
}

// Distinct edges whose numbers of neighbours differ: r sends to r+1 twice, and all send to 0.
OwnedComm uneven_graph(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  std::vector<int> sources{previous, previous};
  const int destinations[] = {next, next, 0};
  if (t.rank == 0) {
    for (int r = 0; r < t.size; ++r) sources.push_back(r);
  }
  OwnedComm comm;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                    MPI_UNWEIGHTED, 3, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                    comm.out()));
  return comm;
}

void allgather_on_a_line(Conformance& t) {
  for (int period : {0, 1}) {
    const OwnedComm comm = line(t, period);
    for (int n : {0, 1, 300, 40'000}) {
      const auto mine = values(n, t.rank);
      std::vector<int> got(static_cast<std::size_t>(2 * n), -7);
      OK(MPI_Neighbor_allgather(mine.data(), n, MPI_INT, got.data(), n, MPI_INT, comm));
      for (int side = 0; side < 2; ++side) {
        int from = t.rank + (side == 0 ? -1 : 1);
        const bool there = period || (from >= 0 && from < t.size);
        from = (from + t.size) % t.size;
        const auto expected = there ? values(n, from) : std::vector<int>(static_cast<std::size_t>(n), -7);
        CHECK(std::equal(expected.begin(), expected.end(), got.begin() + side * n));
      }
    }
  }
}

// What goes in the negative direction arrives from the positive one, also where both are one process.
void alltoall_keeps_directions(Conformance& t) {
  const int dims[] = {t.size, 1}, periods[] = {1, 1};
  OwnedComm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, comm.out()));
  const int out[] = {t.rank * 10 + 1, t.rank * 10 + 2, t.rank * 10 + 3, t.rank * 10 + 4};
  int in[4] = {-1, -1, -1, -1};
  OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  CHECK_EQ(in[0], previous * 10 + 2);
  CHECK_EQ(in[1], next * 10 + 1);
  CHECK_EQ(in[2], t.rank * 10 + 4);
  CHECK_EQ(in[3], t.rank * 10 + 3);
}

void graph(Conformance& t) {
  // A star: 0 knows all, the others know 0.
  std::vector<int> index, edges;
  for (int r = 1; r < t.size; ++r) edges.push_back(r);
  index.push_back(static_cast<int>(edges.size()));
  for (int r = 1; r < t.size; ++r) {
    edges.push_back(0);
    index.push_back(static_cast<int>(edges.size()));
  }
  OwnedComm comm;
  OK(MPI_Graph_create(MPI_COMM_WORLD, t.size, index.data(), edges.data(), 0, comm.out()));
  const int neighbors = t.rank == 0 ? t.size - 1 : 1;
  std::vector<int> out, in(static_cast<std::size_t>(neighbors), -1);
  for (int i = 0; i < neighbors; ++i) out.push_back(100 * t.rank + i);
  OK(MPI_Neighbor_alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm));
  for (int i = 0; i < neighbors; ++i)
    CHECK_EQ(in[static_cast<std::size_t>(i)], t.rank == 0 ? 100 * (i + 1) : t.rank - 1);
}

void several_edges_between_two(Conformance& t) {
  const OwnedComm comm = uneven_graph(t);
  const int out[] = {t.rank * 10, t.rank * 10 + 1, t.rank * 10 + 2};
  const int previous = (t.rank + t.size - 1) % t.size;
  std::vector<int> in(static_cast<std::size_t>(2 + (t.rank == 0 ? t.size : 0)), -1);
  OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in.data(), 1, MPI_INT, comm));
  CHECK_EQ(in[0], previous * 10);
  CHECK_EQ(in[1], previous * 10 + 1);
  for (int r = 0; t.rank == 0 && r < t.size; ++r) CHECK_EQ(in[static_cast<std::size_t>(r) + 2], r * 10 + 2);
}

// Rank r contributes r+1 elements; what arrives lies in reverse order, with a gap between.
void allgatherv(Conformance& t) {
  const OwnedComm comm = uneven_graph(t);
  const auto sources = static_cast<std::size_t>(2 + (t.rank == 0 ? t.size : 0));
  const int previous = (t.rank + t.size - 1) % t.size;
  std::vector<int> from{previous, previous};
  for (int r = 0; from.size() < sources; ++r) from.push_back(r);
  std::vector<int> counts(sources), displacements(sources);
  int total = 0;
  for (std::size_t i = sources; i-- > 0;) {
    counts[i] = from[i] + 1;
    displacements[i] = total;
    total += counts[i] + 1;
  }
  std::vector<int> in(static_cast<std::size_t>(total), -1);
  const auto mine = values(t.rank + 1, t.rank);
  OK(MPI_Neighbor_allgatherv(mine.data(), t.rank + 1, MPI_INT, in.data(), counts.data(), displacements.data(),
                             MPI_INT, comm));
  for (std::size_t i = 0; i < sources; ++i) {
    const auto expected = values(counts[i], from[i]);
    CHECK(std::equal(expected.begin(), expected.end(), in.begin() + displacements[i]));
    CHECK_EQ(in[static_cast<std::size_t>(displacements[i] + counts[i])], -1);
  }
}

// To the neighbours in the negative and positive directions: r+1 and r+2 elements.
void alltoallv_and_w(Conformance& t) {
  const OwnedComm comm = line(t, 1);
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  const int out_counts[] = {t.rank + 1, t.rank + 2}, out_starts[] = {t.rank + 2, 0};
  const int in_counts[] = {previous + 2, next + 1}, in_starts[] = {1, previous + 4};
  const auto out = values(2 * t.rank + 3, t.rank);
  std::vector<int> in(static_cast<std::size_t>(previous + next + 5), -1), in_w(in);
  const auto check = [&](const std::vector<int>& got) {
    const auto from_previous = values(2 * previous + 3, previous), from_next = values(2 * next + 3, next);
    CHECK_EQ(got[0], -1);
    for (int i = 0; i < in_counts[0]; ++i)
      CHECK_EQ(got[static_cast<std::size_t>(1 + i)], from_previous[static_cast<std::size_t>(i)]);
    for (int i = 0; i < in_counts[1]; ++i)
      CHECK_EQ(got[static_cast<std::size_t>(in_starts[1] + i)],
               from_next[static_cast<std::size_t>(next + 2 + i)]);
  };
  OK(MPI_Neighbor_alltoallv(out.data(), out_counts, out_starts, MPI_INT, in.data(), in_counts, in_starts,
                            MPI_INT, comm));
  check(in);
  MPI_Aint out_bytes[2], in_bytes[2];
  for (int i = 0; i < 2; ++i) {
    out_bytes[i] = static_cast<MPI_Aint>(sizeof(int)) * out_starts[i];
    in_bytes[i] = static_cast<MPI_Aint>(sizeof(int)) * in_starts[i];
  }
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  OK(MPI_Neighbor_alltoallw(out.data(), out_counts, out_bytes, types, in_w.data(), in_counts, in_bytes, types,
                            comm));
  check(in_w);
}

// Columns of a matrix: halo exchange as programs do it.
void strided_types(Conformance& t) {
  const OwnedComm comm = line(t, 1);
  constexpr int rows = 5, columns = 4;
  OwnedType column, placed;
  OK(MPI_Type_vector(rows, 1, columns, MPI_INT, column.out()));
  OK(MPI_Type_create_resized(column, 0, sizeof(int), placed.out()));
  OK(MPI_Type_commit(placed.out()));
  std::vector<int> matrix = values(rows * columns, t.rank), halo(rows * 2, -1), back(rows * columns, -1);
  OK(MPI_Neighbor_alltoall(matrix.data(), 1, placed, halo.data(), rows, MPI_INT, comm));
  const auto from_previous = values(rows * columns, (t.rank + t.size - 1) % t.size),
             from_next = values(rows * columns, (t.rank + 1) % t.size);
  for (std::size_t i = 0; i < rows; ++i) {
    CHECK_EQ(halo[i], from_previous[i * columns + 1]);
    CHECK_EQ(halo[rows + i], from_next[i * columns]);
  }
  OK(MPI_Neighbor_allgather(matrix.data(), 1, placed, back.data(), 1, placed, comm));
  for (std::size_t i = 0; i < rows; ++i) {
    CHECK_EQ(back[i * columns], from_previous[i * columns]);
    CHECK_EQ(back[i * columns + 1], from_next[i * columns]);
    CHECK_EQ(back[i * columns + 2], -1);
  }
}

void in_the_background(Conformance& t) {
  const OwnedComm comm = line(t, 1);
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  constexpr int n = 20'000;
  const auto mine = values(2 * n, t.rank);
  std::vector<int> gathered(2 * n), exchanged(2 * n);
  MPI_Request requests[3];
  OK(MPI_Ineighbor_allgather(mine.data(), n, MPI_INT, gathered.data(), n, MPI_INT, comm, &requests[0]));
  {
    // The arrays of counts stay until completion; types may be freed before.
    OwnedType pair;
    OK(MPI_Type_contiguous(2, MPI_INT, pair.out()));
    OK(MPI_Type_commit(pair.out()));
    OK(MPI_Ineighbor_alltoall(mine.data(), n / 2, pair, exchanged.data(), n, MPI_INT, comm, &requests[1]));
  }
  OK(MPI_Ibarrier(comm, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  const auto before = values(2 * n, previous), after = values(2 * n, next);
  CHECK(std::equal(before.begin(), before.begin() + n, gathered.begin()));
  CHECK(std::equal(after.begin(), after.begin() + n, gathered.begin() + n));
  CHECK(std::equal(before.begin() + n, before.end(), exchanged.begin()));
  CHECK(std::equal(after.begin(), after.begin() + n, exchanged.begin() + n));
}

void persistent(Conformance& t) {
#if MPI_VERSION >= 4
  const OwnedComm comm = line(t, 0);
  int out[2], in[2] = {-1, -1}, gathered[2] = {-1, -1};
  const int counts[] = {1, 1}, starts[] = {1, 0};
  MPI_Request requests[2];
  OK(MPI_Neighbor_alltoallv_init(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm,
                                 MPI_INFO_NULL, &requests[0]));
  OK(MPI_Neighbor_allgather_init(out, 1, MPI_INT, gathered, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 4; ++round) {
    out[0] = 1000 * round + 10 * t.rank;
    out[1] = out[0] + 1;
    if (t.rank % 2 == 0) {
      OK(MPI_Startall(2, requests));
    } else {
      OK(MPI_Start(&requests[1]));
      OK(MPI_Start(&requests[0]));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    const int below = 1000 * round + 10 * (t.rank - 1), above = 1000 * round + 10 * (t.rank + 1);
    // Blocks lie in reverse order: to the positive direction goes out[0].
    CHECK_EQ(in[1], t.rank > 0 ? below : -1);
    CHECK_EQ(in[0], t.rank < t.size - 1 ? above + 1 : -1);
    CHECK_EQ(gathered[0], t.rank > 0 ? below : -1);
    CHECK_EQ(gathered[1], t.rank < t.size - 1 ? above : -1);
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
#endif
}

void without_a_topology(Conformance& t) {
  int out = 1, in[2];
  CHECK_FAILS(MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
}

}  // namespace

CHAPTER(neighborhood, CASE(allgather_on_a_line), CASE(alltoall_keeps_directions), CASE(graph),
        CASE(several_edges_between_two), CASE(allgatherv), CASE(alltoallv_and_w), CASE(strided_types),
        CASE(in_the_background), CASE(persistent), CASE(without_a_topology))

}  // namespace conformance
