// Collectives that move data: barrier, broadcast, gather, scatter, allgather, all-to-all, with their v forms.
#include <algorithm>
#include <numeric>

#include "coll_data.h"
#include "owned.h"

namespace conformance {
namespace {

void barrier_holds_everyone(Conformance& t) {
  // Rank 0 must not see a message that is sent after the barrier before it has come to the barrier itself:
  // what is sent before a barrier is there behind it.
  for (int round = 0; round < 10; ++round) {
    const int late = round % t.size;
    MPI_Request request = MPI_REQUEST_NULL;
    int value = round;
    if (t.rank != late) OK(MPI_Isend(&value, 1, MPI_INT, late, round, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t.rank == late) {
      for (int peer = 0; peer < t.size; ++peer) {
        if (peer == t.rank) continue;
        int got = -1;
        OK(MPI_Recv(&got, 1, MPI_INT, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(got, round);
      }
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Barrier(MPI_COMM_SELF));
}

void bcast(Conformance& t) {
  for (int root : roots(t)) {
    for (int n : lengths(t)) {
      auto data = t.rank == root ? values(n, root) : std::vector<int>(static_cast<std::size_t>(n), -1);
      OK(MPI_Bcast(data.data(), n, MPI_INT, root, MPI_COMM_WORLD));
      CHECK(data == values(n, root));
    }
  }
}

// The type signature agrees, the layout does not.
void bcast_with_different_types(Conformance& t) {
  OwnedType strided;
  OK(MPI_Type_vector(50, 2, 3, MPI_INT, strided.out()));
  OK(MPI_Type_commit(strided.out()));
  for (int root : roots(t)) {
    const auto expected = values(100, root);
    if (t.rank % 2 == root % 2) {
      auto data = t.rank == root ? expected : std::vector<int>(100, -1);
      OK(MPI_Bcast(data.data(), 100, MPI_INT, root, MPI_COMM_WORLD));
      CHECK(data == expected);
    } else {
      std::vector<int> data(150, -1);
      OK(MPI_Bcast(data.data(), 1, strided, root, MPI_COMM_WORLD));
      for (std::size_t i = 0; i < 150; ++i) CHECK_EQ(data[i], i % 3 == 2 ? -1 : expected[i / 3 * 2 + i % 3]);
    }
  }
}

void gather(Conformance& t) {
  for (int root : roots(t)) {
    for (int n : lengths(t)) {
      const auto mine = values(n, t.rank);
      std::vector<int> all;
      if (t.rank == root) all.assign(static_cast<std::size_t>(n) * static_cast<std::size_t>(t.size), -1);
      for (bool in_place : {false, true}) {
        if (t.rank == root) {
          if (in_place)
            std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(n) * root);
          OK(MPI_Gather(in_place ? MPI_IN_PLACE : mine.data(), n, MPI_INT, all.data(), n, MPI_INT, root,
                        MPI_COMM_WORLD));
          for (int rank = 0; rank < t.size; ++rank) {
            CHECK(std::equal(all.begin() + static_cast<std::ptrdiff_t>(n) * rank,
                             all.begin() + static_cast<std::ptrdiff_t>(n) * (rank + 1),
                             values(n, rank).begin()));
          }
          std::fill(all.begin(), all.end(), -1);
        } else {
          // Elsewhere the receive arguments mean nothing.
          OK(MPI_Gather(mine.data(), n, MPI_INT, nullptr, -5, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
        }
      }
    }
  }
}

// Rank r sends r + 1 elements; they stand in descending order of ranks with gaps.
void gatherv(Conformance& t) {
  for (int root : roots(t)) {
    for (int scale : {0, 1, 300}) {
      const int n = scale * (t.rank + 1);
      const auto mine = values(n, t.rank);
      std::vector<int> counts, places;
      int total = 0;
      for (int rank = 0; rank < t.size; ++rank) counts.push_back(scale * (rank + 1)), places.push_back(0);
      for (int rank = t.size - 1; rank >= 0; --rank)
        places[static_cast<std::size_t>(rank)] = total, total += scale * (rank + 1) + 2;
      std::vector<int> all(static_cast<std::size_t>(total), -1);
      if (t.rank == root) {
        OK(MPI_Gatherv(mine.data(), n, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, root,
                       MPI_COMM_WORLD));
        for (int rank = 0; rank < t.size; ++rank) {
          const auto at = all.begin() + places[static_cast<std::size_t>(rank)];
          const int length = counts[static_cast<std::size_t>(rank)];
          CHECK(std::equal(at, at + length, values(length, rank).begin()));
          CHECK(at[length] == -1 && at[length + 1] == -1);
        }
      } else {
        OK(MPI_Gatherv(mine.data(), n, MPI_INT, nullptr, nullptr, nullptr, MPI_DATATYPE_NULL, root,
                       MPI_COMM_WORLD));
      }
    }
  }
}

void scatter(Conformance& t) {
  for (int root : roots(t)) {
    for (int n : lengths(t)) {
      std::vector<int> all, mine(static_cast<std::size_t>(n), -1);
      if (t.rank == root) {
        for (int rank = 0; rank < t.size; ++rank) {
          const auto part = values(n, rank + root);
          all.insert(all.end(), part.begin(), part.end());
        }
        const auto before = all;
        OK(MPI_Scatter(all.data(), n, MPI_INT, mine.data(), n, MPI_INT, root, MPI_COMM_WORLD));
        CHECK(mine == values(n, t.rank + root));
        OK(MPI_Scatter(all.data(), n, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
        CHECK(all == before);
      } else {
        for (int round = 0; round < 2; ++round) {
          OK(MPI_Scatter(nullptr, -3, MPI_DATATYPE_NULL, mine.data(), n, MPI_INT, root, MPI_COMM_WORLD));
          CHECK(mine == values(n, t.rank + root));
        }
      }
    }
  }
}

void scatterv(Conformance& t) {
  for (int root : roots(t)) {
    for (int scale : {0, 1, 300}) {
      const int n = scale * (t.size - t.rank);
      std::vector<int> counts, places, all, mine(static_cast<std::size_t>(n) + 1, -1);
      for (int rank = 0; rank < t.size; ++rank) {
        places.push_back(static_cast<int>(all.size()) + 1);
        counts.push_back(scale * (t.size - rank));
        const auto part = values(counts.back(), rank);
        all.push_back(-7);
        all.insert(all.end(), part.begin(), part.end());
      }
      const bool is_root = t.rank == root;
      OK(MPI_Scatterv(is_root ? all.data() : nullptr, is_root ? counts.data() : nullptr,
                      is_root ? places.data() : nullptr, is_root ? MPI_INT : MPI_DATATYPE_NULL, mine.data(),
                      n, MPI_INT, root, MPI_COMM_WORLD));
      auto expected = values(n, t.rank);
      expected.push_back(-1);
      CHECK(mine == expected);
      if (is_root) {
        OK(MPI_Scatterv(all.data(), counts.data(), places.data(), MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root,
                        MPI_COMM_WORLD));
      } else {
        OK(MPI_Scatterv(nullptr, nullptr, nullptr, MPI_INT, mine.data(), n, MPI_INT, root, MPI_COMM_WORLD));
      }
    }
  }
}

void allgather(Conformance& t) {
  for (int n : lengths(t)) {
    const auto mine = values(n, t.rank);
    for (bool in_place : {false, true}) {
      std::vector<int> all(static_cast<std::size_t>(n) * static_cast<std::size_t>(t.size), -1);
      if (in_place) {
        std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(n) * t.rank);
        OK(MPI_Allgather(MPI_IN_PLACE, -4, MPI_DATATYPE_NULL, all.data(), n, MPI_INT, MPI_COMM_WORLD));
      } else {
        OK(MPI_Allgather(mine.data(), n, MPI_INT, all.data(), n, MPI_INT, MPI_COMM_WORLD));
      }
      for (int rank = 0; rank < t.size; ++rank) {
        CHECK(std::equal(all.begin() + static_cast<std::ptrdiff_t>(n) * rank,
                         all.begin() + static_cast<std::ptrdiff_t>(n) * (rank + 1), values(n, rank).begin()));
      }
    }
  }
}

// Blocks of unlike sizes, which follow each other or not; each rank has its own places.
void allgatherv_with_gaps(Conformance& t, int scale, int gap) {
  std::vector<int> counts, places;
  int total = 1;
  for (int rank = 0; rank < t.size; ++rank) {
    counts.push_back(rank % 3 == 1 ? 0 : scale * (1 + rank % 4));
    places.push_back(counts.back() == 0 ? 0 : total);
    total += counts.back() + gap;
  }
  const int n = counts[static_cast<std::size_t>(t.rank)];
  const auto mine = values(n, t.rank);
  for (bool in_place : {false, true}) {
    std::vector<int> all(static_cast<std::size_t>(total) + 1, -1);
    if (in_place) std::copy(mine.begin(), mine.end(), all.begin() + places[static_cast<std::size_t>(t.rank)]);
    OK(MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), n, MPI_INT, all.data(), counts.data(),
                      places.data(), MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < t.size; ++rank) {
      const int count = counts[static_cast<std::size_t>(rank)];
      const auto at = all.begin() + places[static_cast<std::size_t>(rank)];
      CHECK(std::equal(at, at + count, values(count, rank).begin()));
      if (gap > 0 && count > 0) CHECK_EQ(at[-1], -1);
    }
    CHECK_EQ(all.front(), -1);
    CHECK_EQ(all.back(), -1);
  }
}

void allgatherv(Conformance& t) {
  for (int scale : {0, 1, 37, 1500})
    for (int gap : {0, 1}) allgatherv_with_gaps(t, scale, (gap + t.rank / 2) % 2);
}

int from_to(int from, int to) { return from * 1000 + to; }

void alltoall(Conformance& t) {
  for (int n : lengths(t)) {
    for (bool in_place : {false, true}) {
      std::vector<int> out, in(static_cast<std::size_t>(n) * static_cast<std::size_t>(t.size), -1);
      for (int peer = 0; peer < t.size; ++peer) {
        const auto part = values(n, from_to(t.rank, peer));
        out.insert(out.end(), part.begin(), part.end());
      }
      if (in_place) {
        in = out;
        OK(MPI_Alltoall(MPI_IN_PLACE, -2, MPI_DATATYPE_NULL, in.data(), n, MPI_INT, MPI_COMM_WORLD));
      } else {
        OK(MPI_Alltoall(out.data(), n, MPI_INT, in.data(), n, MPI_INT, MPI_COMM_WORLD));
      }
      for (int peer = 0; peer < t.size; ++peer) {
        CHECK(std::equal(in.begin() + static_cast<std::ptrdiff_t>(n) * peer,
                         in.begin() + static_cast<std::ptrdiff_t>(n) * (peer + 1),
                         values(n, from_to(peer, t.rank)).begin()));
      }
    }
  }
}

int volume(int a, int b, int scale) { return (a * b + a + b) % 5 * scale; }

// Symmetric volumes, as IN_PLACE needs them; some are 0.
void alltoallv(Conformance& t) {
  for (int scale : {0, 1, 60, 2000}) {
    std::vector<int> counts, places, out;
    for (int peer = 0; peer < t.size; ++peer) {
      counts.push_back(volume(t.rank, peer, scale));
      places.push_back(static_cast<int>(out.size()));
      const auto part = values(counts.back(), from_to(t.rank, peer));
      out.insert(out.end(), part.begin(), part.end());
    }
    out.push_back(-1);  // so that no buffer is null
    for (bool in_place : {false, true}) {
      std::vector<int> in(out.size(), -1);
      if (in_place) {
        in = out;
        OK(MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, in.data(), counts.data(),
                         places.data(), MPI_INT, MPI_COMM_WORLD));
      } else {
        OK(MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_INT, in.data(), counts.data(),
                         places.data(), MPI_INT, MPI_COMM_WORLD));
      }
      for (int peer = 0; peer < t.size; ++peer) {
        const auto i = static_cast<std::size_t>(peer);
        CHECK(std::equal(in.begin() + places[i], in.begin() + places[i] + counts[i],
                         values(counts[i], from_to(peer, t.rank)).begin()));
      }
    }
  }
}

// Each pair with a type of its own: even ranks send ints as vectors with gaps.
void alltoallw(Conformance& t) {
  const int n = 40;
  OwnedType strided;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, strided.out()));
  OK(MPI_Type_commit(strided.out()));
  const auto ranks = static_cast<std::size_t>(t.size);
  const bool gaps = t.rank % 2 == 0;
  std::vector<int> out(ranks * 2 * n, -5), in(ranks * n, -1), ones(ranks, 1), in_counts(ranks, n),
      out_places(ranks), in_places(ranks);
  if (!gaps) ones.assign(ranks, n);
  std::vector<MPI_Datatype> out_types(ranks, gaps ? static_cast<MPI_Datatype>(strided) : MPI_INT),
      in_types(ranks, MPI_INT);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    out_places[peer] = static_cast<int>(peer * 2 * n * sizeof(int));
    in_places[peer] = static_cast<int>(peer * n * sizeof(int));
    const auto part = values(n, from_to(t.rank, static_cast<int>(peer)));
    for (std::size_t i = 0; i < n; ++i) out[peer * 2 * n + (gaps ? 2 * i : i)] = part[i];
  }
  OK(MPI_Alltoallw(out.data(), ones.data(), out_places.data(), out_types.data(), in.data(), in_counts.data(),
                   in_places.data(), in_types.data(), MPI_COMM_WORLD));
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    CHECK(std::equal(in.begin() + static_cast<std::ptrdiff_t>(peer * n),
                     in.begin() + static_cast<std::ptrdiff_t>((peer + 1) * n),
                     values(n, from_to(static_cast<int>(peer), t.rank)).begin()));
  }
}

// A matrix spread by rows is gathered by columns: receive types whose extent is shorter than what they span.
void allgather_into_columns(Conformance& t) {
  const int rows = 30;
  const auto ranks = static_cast<std::size_t>(t.size);
  OwnedType vector, column;
  OK(MPI_Type_vector(rows, 1, t.size, MPI_INT, vector.out()));
  OK(MPI_Type_create_resized(vector, 0, sizeof(int), column.out()));
  OK(MPI_Type_commit(column.out()));
  const auto mine = values(rows, t.rank);
  std::vector<int> all(rows * ranks, -1);
  OK(MPI_Allgather(mine.data(), rows, MPI_INT, all.data(), 1, column, MPI_COMM_WORLD));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK_EQ(all[i], value_at(static_cast<std::int64_t>(i / ranks), static_cast<int>(i % ranks)));
  }
}

void on_other_communicators(Conformance& t) {
  OwnedComm halves, reversed;
  OK(MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, t.rank, halves.out()));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -t.rank, reversed.out()));
  int sum = -1, half_size = 0, half_rank = 0;
  OK(MPI_Comm_size(halves, &half_size));
  OK(MPI_Comm_rank(halves, &half_rank));
  OK(MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, halves));
  int expected = 0;
  for (int rank = t.rank % 2; rank < t.size; rank += 2) expected += rank;
  CHECK_EQ(sum, expected);
  std::vector<int> order(static_cast<std::size_t>(t.size), -1);
  OK(MPI_Allgather(&t.rank, 1, MPI_INT, order.data(), 1, MPI_INT, reversed));
  for (int i = 0; i < t.size; ++i) CHECK_EQ(order[static_cast<std::size_t>(i)], t.size - 1 - i);
  int value = half_rank == half_size - 1 ? 55 + t.rank % 2 : -1;
  OK(MPI_Bcast(&value, 1, MPI_INT, half_size - 1, halves));
  CHECK_EQ(value, 55 + t.rank % 2);
}

// Messages of the program, of any tag, are not mistaken for those of a collective.
void messages_in_between(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  int got = -1;
  MPI_Request request;
  OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, t.size);
  OK(MPI_Send(&t.rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
  std::vector<int> all(static_cast<std::size_t>(t.size));
  OK(MPI_Allgather(&t.rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(got, previous);
}

// Send and receive buffers begin at one address, but no datum is in both (MPI-5.0 section 2.3): all counts
// are 0, as with the one address of empty arrays, or the displacements keep the blocks apart.
void one_address_without_overlap(Conformance& t) {
  const auto n = static_cast<std::size_t>(t.size);
  int place = 0;
  const std::vector<int> zeros(n, 0), ones(n, 1);
  const std::vector<MPI_Datatype> types(n, MPI_INT);
  OK(MPI_Alltoall(&place, 0, MPI_INT, &place, 0, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Alltoallv(&place, zeros.data(), zeros.data(), MPI_INT, &place, zeros.data(), zeros.data(), MPI_INT,
                   MPI_COMM_WORLD));
  OK(MPI_Alltoallw(&place, zeros.data(), zeros.data(), types.data(), &place, zeros.data(), zeros.data(),
                   types.data(), MPI_COMM_WORLD));
  OK(MPI_Reduce_scatter(&place, &place, zeros.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Gatherv(&place, 0, MPI_INT, &place, zeros.data(), zeros.data(), MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Allgatherv(&place, 0, MPI_INT, &place, zeros.data(), zeros.data(), MPI_INT, MPI_COMM_WORLD));
  MPI_Request requests[2];
  OK(MPI_Ialltoallv(&place, zeros.data(), zeros.data(), MPI_INT, &place, zeros.data(), zeros.data(), MPI_INT,
                    MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Ialltoallw(&place, zeros.data(), zeros.data(), types.data(), &place, zeros.data(), zeros.data(),
                    types.data(), MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#if MPI_VERSION >= 4
  OK(MPI_Alltoallv_init(&place, zeros.data(), zeros.data(), MPI_INT, &place, zeros.data(), zeros.data(),
                        MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Start(&requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&requests[0]));
#endif
  // What is sent lies in even places, what is received in odd ones.
  std::vector<int> both(2 * n), to(n), from(n), to_bytes(n), from_bytes(n);
  for (std::size_t r = 0; r < n; ++r) {
    both[2 * r] = t.rank * 1000 + static_cast<int>(r);
    both[2 * r + 1] = -1;
    to[r] = static_cast<int>(2 * r);
    from[r] = to[r] + 1;
    to_bytes[r] = to[r] * static_cast<int>(sizeof(int));
    from_bytes[r] = from[r] * static_cast<int>(sizeof(int));
  }
  OK(MPI_Alltoallv(both.data(), ones.data(), to.data(), MPI_INT, both.data(), ones.data(), from.data(),
                   MPI_INT, MPI_COMM_WORLD));
  for (std::size_t r = 0; r < n; ++r) CHECK_EQ(both[2 * r + 1], static_cast<int>(r) * 1000 + t.rank);
  for (std::size_t r = 0; r < n; ++r) both[2 * r + 1] = -1;
  OK(MPI_Alltoallw(both.data(), ones.data(), to_bytes.data(), types.data(), both.data(), ones.data(),
                   from_bytes.data(), types.data(), MPI_COMM_WORLD));
  for (std::size_t r = 0; r < n; ++r) CHECK_EQ(both[2 * r + 1], static_cast<int>(r) * 1000 + t.rank);
}

// Arguments of the other side, and those that MPI_IN_PLACE stands for, may be anything (MPI-5.0 sections 6.5
// to 6.9).
void nothing_significant_elsewhere(Conformance& t) {
  const auto n = static_cast<std::size_t>(t.size);
  const std::vector<int> ones(n, 1);
  std::vector<int> starts(n), all(n, -1), values_of_all(n);
  std::iota(starts.begin(), starts.end(), 0);
  std::iota(values_of_all.begin(), values_of_all.end(), 100);
  for (int root : roots(t)) {
    const bool here = t.rank == root;
    void* const nowhere = nullptr;
    int own = 100 + t.rank;
    const int count = here ? 1 : -5;
    const MPI_Datatype type = here ? MPI_INT : MPI_DATATYPE_NULL;
    const int* const counts = here ? ones.data() : nullptr;
    const int* const places = here ? starts.data() : nullptr;
    all.assign(n, -1);
    OK(MPI_Gather(&own, 1, MPI_INT, here ? all.data() : nowhere, count, type, root, MPI_COMM_WORLD));
    if (here) CHECK(all == values_of_all);
    all.assign(n, -1);
    OK(MPI_Gatherv(&own, 1, MPI_INT, here ? all.data() : nowhere, counts, places, type, root,
                   MPI_COMM_WORLD));
    if (here) CHECK(all == values_of_all);
    own = -1;
    OK(MPI_Scatter(here ? values_of_all.data() : nowhere, count, type, &own, 1, MPI_INT, root,
                   MPI_COMM_WORLD));
    CHECK_EQ(own, 100 + t.rank);
    own = -1;
    OK(MPI_Scatterv(here ? values_of_all.data() : nowhere, counts, places, type, &own, 1, MPI_INT, root,
                    MPI_COMM_WORLD));
    CHECK_EQ(own, 100 + t.rank);
    int sum = -1;
    OK(MPI_Reduce(&own, here ? &sum : nowhere, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    if (here) CHECK_EQ(sum, std::accumulate(values_of_all.begin(), values_of_all.end(), 0));
  }
  all.assign(n, -1);
  all[static_cast<std::size_t>(t.rank)] = 100 + t.rank;
  OK(MPI_Allgather(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  CHECK(all == values_of_all);
  OK(MPI_Allgatherv(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, all.data(), ones.data(), starts.data(), MPI_INT,
                    MPI_COMM_WORLD));
  CHECK(all == values_of_all);
  std::vector<int> bytes_of_starts(starts);
  for (int& start : bytes_of_starts) start *= static_cast<int>(sizeof(int));
  const std::vector<MPI_Datatype> types(n, MPI_INT);
  all.assign(n, 100 + t.rank);
  OK(MPI_Alltoall(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  CHECK(all == values_of_all);
  all.assign(n, 100 + t.rank);
  OK(MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, all.data(), ones.data(), starts.data(),
                   MPI_INT, MPI_COMM_WORLD));
  CHECK(all == values_of_all);
  all.assign(n, 100 + t.rank);
  OK(MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, all.data(), ones.data(), bytes_of_starts.data(),
                   types.data(), MPI_COMM_WORLD));
  CHECK(all == values_of_all);
}

}  // namespace

CHAPTER(coll_move, CASE(barrier_holds_everyone), CASE(bcast), CASE(bcast_with_different_types), CASE(gather),
        CASE(gatherv), CASE(scatter), CASE(scatterv), CASE(allgather), CASE(allgatherv), CASE(alltoall),
        CASE(alltoallv), CASE(alltoallw), CASE(allgather_into_columns), CASE(on_other_communicators),
        CASE(messages_in_between), CASE(one_address_without_overlap), CASE(nothing_significant_elsewhere))

}  // namespace conformance
