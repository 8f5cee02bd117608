// Matching and order: messages of one sender do not overtake each other, whatever their sizes and whoever
// asks.
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// Sizes on all sides of eager limits and ring slots, in an order that tempts short ones to overtake long
// ones.
const int mixed_sizes[] = {200'000, 0,      8,      70'000, 64,   9000,   1, 1 << 20,
                           30,      16'384, 16'385, 2,      4096, 65'536, 5};

int mixed_size(int i) { return mixed_sizes[static_cast<std::size_t>(i) % std::size(mixed_sizes)]; }

void sizes_do_not_overtake(Conformance& t) {
  const int count = 45;
  for (int tag : {5, MPI_ANY_TAG}) {
    if (t.rank == 0) {
      std::vector<std::vector<unsigned char>> data;
      std::vector<MPI_Request> requests(count);
      for (int i = 0; i < count; ++i) {
        data.push_back(bytes(mixed_size(i), i));
        OK(MPI_Isend(data.back().data(), mixed_size(i), MPI_BYTE, 1, 5, MPI_COMM_WORLD,
                     &requests[static_cast<std::size_t>(i)]));
      }
      OK(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
    } else {
      std::vector<unsigned char> buffer(1 << 20);
      for (int i = 0; i < count; ++i) {
        MPI_Status status;
        OK(MPI_Recv(buffer.data(), 1 << 20, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                    &status));
        int got = -1;
        OK(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_EQ(got, mixed_size(i));
        CHECK(std::equal(buffer.begin(), buffer.begin() + got, bytes(mixed_size(i), i).begin()));
      }
    }
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, 1 - t.rank, 99, nullptr, 0, MPI_INT, 1 - t.rank, 99, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  }
}

// The same with all receives posted before anything is sent, from wildcards and named sources in turns.
void posted_receives_keep_their_order(Conformance& t) {
  const int count = 30;
  if (t.rank == 1) {
    std::vector<std::vector<unsigned char>> buffers;
    std::vector<MPI_Request> requests(count);
    std::vector<MPI_Status> statuses(count);
    for (int i = 0; i < count; ++i) {
      buffers.emplace_back(static_cast<std::size_t>(mixed_size(i)));
      OK(MPI_Irecv(buffers.back().data(), mixed_size(i), MPI_BYTE, i % 3 == 1 ? MPI_ANY_SOURCE : 0,
                   i % 3 == 2 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]));
    }
    OK(MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
    OK(MPI_Waitall(count, requests.data(), statuses.data()));
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      int got = -1;
      OK(MPI_Get_count(&statuses[at], MPI_BYTE, &got));
      CHECK_EQ(got, mixed_size(i));
      CHECK_EQ(statuses[at].MPI_SOURCE, 0);
      CHECK(buffers[at] == bytes(mixed_size(i), i));
    }
  } else {
    OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; ++i) {
      const auto data = bytes(mixed_size(i), i);
      OK(MPI_Send(data.data(), mixed_size(i), MPI_BYTE, 1, 5, MPI_COMM_WORLD));
    }
  }
}

// Rank 0 hears everyone in any order; each one's messages come in sequence.
void any_source_keeps_each_senders_order(Conformance& t) {
  const int per_rank = 24;
  if (t.rank == 0) {
    std::vector<int> next(static_cast<std::size_t>(t.size), 0);
    std::vector<int> buffer(100'000);
    for (int i = 0; i < per_rank * (t.size - 1); ++i) {
      MPI_Status status;
      OK(MPI_Recv(buffer.data(), 100'000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      const int source = status.MPI_SOURCE;
      REQUIRE(source > 0 && source < t.size);
      const int sequence = next[static_cast<std::size_t>(source)]++;
      CHECK_EQ(status.MPI_TAG, sequence);
      int got = 0;
      OK(MPI_Get_count(&status, MPI_INT, &got));
      CHECK_EQ(got, sequence % 4 == 3 ? 20'000 : 1 + sequence);
      CHECK_EQ(buffer[0], source * 1000 + sequence);
      CHECK_EQ(buffer[static_cast<std::size_t>(got) - 1], source * 1000 + sequence);
    }
    for (int rank = 1; rank < t.size; ++rank) CHECK_EQ(next[static_cast<std::size_t>(rank)], per_rank);
  } else {
    for (int i = 0; i < per_rank; ++i) {
      const int size = i % 4 == 3 ? 20'000 : 1 + i;
      const std::vector<int> data(static_cast<std::size_t>(size), t.rank * 1000 + i);
      OK(MPI_Send(data.data(), size, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
  }
}

void tags_are_taken_in_any_order(Conformance& t) {
  const int count = 40;
  if (t.rank == 0) {
    std::vector<int> out(count);
    std::vector<MPI_Request> requests(count);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at] = i * i;
      OK(MPI_Isend(&out[at], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[at]));
    }
    OK(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
  } else {
    for (int i = count - 1; i >= 0; i -= 2) {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(got, i * i);
    }
    for (int i = 0; i < count; i += 2) {
      int got = -1;
      MPI_Status status;
      OK(MPI_Recv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_EQ(got, i * i);
      CHECK_EQ(status.MPI_TAG, i);
    }
  }
}

// A receive that is posted first takes the message, even if a later one names its source and tag.
void earlier_wildcard_wins(Conformance& t) {
  for (int size : {4, 200'000}) {
    const auto one = bytes(size, 1), two = bytes(size, 2);
    if (t.rank == 1) {
      std::vector<unsigned char> wild(static_cast<std::size_t>(size)), named(static_cast<std::size_t>(size));
      MPI_Request requests[2];
      OK(MPI_Irecv(wild.data(), size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Irecv(named.data(), size, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[1]));
      OK(MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK(wild == one);
      CHECK(named == two);
    } else {
      OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Send(one.data(), size, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
      OK(MPI_Send(two.data(), size, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
    }
  }
}

void communicators_do_not_mix(Conformance& t) {
  OwnedComm other;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, other.out()));
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  int world_value = t.rank, other_value = 1000 + t.rank, from_world = -1, from_other = -1;
  MPI_Request requests[2];
  OK(MPI_Isend(&world_value, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(&other_value, 1, MPI_INT, next, 1, other, &requests[1]));
  OK(MPI_Recv(&from_other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&from_world, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(from_other, 1000 + previous);
  CHECK_EQ(from_world, previous);
}

// More unexpected messages than any pool begins with; then they are all found.
void many_unexpected(Conformance& t) {
  const int count = 3000;
  if (t.rank == 0) {
    for (int i = 0; i < count; ++i) {
      const int data[3] = {i, i + 1, i + 2};
      OK(MPI_Send(data, i % 4, MPI_INT, 1, i % 7, MPI_COMM_WORLD));
    }
    OK(MPI_Send(nullptr, 0, MPI_INT, 1, 100, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int tag = 6; tag >= 0; --tag) {
      for (int i = tag; i < count; i += 7) {
        int data[3] = {-1, -1, -1};
        MPI_Status status;
        OK(MPI_Recv(data, 3, MPI_INT, 0, tag, MPI_COMM_WORLD, &status));
        int got = -1;
        OK(MPI_Get_count(&status, MPI_INT, &got));
        CHECK_EQ(got, i % 4);
        for (int k = 0; k < 3; ++k) CHECK_EQ(data[k], k < got ? i + k : -1);
      }
    }
  }
}

// Both sides send much before either receives: the library must not need the buffers of both.
void both_sides_send_first(Conformance& t) {
  const int peer = 1 - t.rank, count = 200;
  std::vector<std::vector<int>> out;
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < count; ++i) {
    out.push_back(values(i * 50, t.rank + i));
    OK(MPI_Isend(out.back().data(), i * 50, MPI_INT, peer, i, MPI_COMM_WORLD,
                 &requests[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < count; ++i) {
    std::vector<int> in(static_cast<std::size_t>(i) * 50);
    OK(MPI_Recv(in.data(), i * 50, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == values(i * 50, peer + i));
  }
  OK(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace

CHAPTER(pt2pt_order, CASE(sizes_do_not_overtake, .min_ranks = 2, .max_ranks = 2),
        CASE(posted_receives_keep_their_order, .min_ranks = 2, .max_ranks = 2),
        CASE(any_source_keeps_each_senders_order),
        CASE(tags_are_taken_in_any_order, .min_ranks = 2, .max_ranks = 2),
        CASE(earlier_wildcard_wins, .min_ranks = 2, .max_ranks = 2), CASE(communicators_do_not_mix),
        CASE(many_unexpected, .min_ranks = 2, .max_ranks = 2),
        CASE(both_sides_send_first, .min_ranks = 2, .max_ranks = 2))

}  // namespace conformance
