// Partitioned communication (MPI-5.0 chapter 4).
#include <algorithm>
#include <numeric>
#include <vector>

#include "conformance.h"
#include "owned.h"

namespace conformance {

#if MPI_VERSION >= 4
namespace {

// A request that is freed at the end of a scope, when it is inactive.
class Partitioned {
 public:
  ~Partitioned() {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  operator MPI_Request() const { return request_; }
  MPI_Request* out() { return &request_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

int next_of(const Conformance& t) { return (t.rank + 1) % t.size; }
int previous_of(const Conformance& t) { return (t.rank + t.size - 1) % t.size; }

std::vector<int> backwards(int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Around a ring: `out_parts` partitions of `out_count` ints there, `in_parts` of `in_count` here.
void ring(Conformance& t, int out_parts, int out_count, int in_parts, int in_count) {
  const int total = out_parts * out_count;
  REQUIRE(total == in_parts * in_count);
  std::vector<int> out(static_cast<std::size_t>(total)), in(out.size());
  Partitioned send, receive;
  OK(MPI_Psend_init(out.data(), out_parts, out_count, MPI_INT, next_of(t), 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                    send.out()));
  OK(MPI_Precv_init(in.data(), in_parts, in_count, MPI_INT, previous_of(t), 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                    receive.out()));
  for (int round = 0; round < 3; ++round) {
    std::fill(in.begin(), in.end(), -1);
    OK(MPI_Start(receive.out()));
    OK(MPI_Start(send.out()));
    for (const int p : backwards(out_parts)) {
      for (int i = p * out_count; i < (p + 1) * out_count; ++i)
        out[static_cast<std::size_t>(i)] = value_at(i, 100 * t.rank + round);
      OK(MPI_Pready(p, send));
    }
    std::vector<bool> seen(static_cast<std::size_t>(in_parts));
    for (int left = in_parts; left > 0;) {
      for (int p = 0; p < in_parts; ++p) {
        int flag = 0;
        if (seen[static_cast<std::size_t>(p)]) continue;
        OK(MPI_Parrived(receive, p, &flag));
        if (!flag) continue;
        seen[static_cast<std::size_t>(p)] = true;
        --left;
        for (int i = p * in_count; i < (p + 1) * in_count; ++i)
          REQUIRE(in[static_cast<std::size_t>(i)] == value_at(i, 100 * previous_of(t) + round));
      }
    }
    OK(MPI_Wait(send.out(), MPI_STATUS_IGNORE));
    MPI_Status status;
    OK(MPI_Wait(receive.out(), &status));
    CHECK_EQ(status.MPI_SOURCE, previous_of(t));
    CHECK_EQ(status.MPI_TAG, 7);
    int count = -1;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, total);
  }
}

void equal_partitions(Conformance& t) { ring(t, 8, 50, 8, 50); }
void long_partitions(Conformance& t) { ring(t, 6, 20'000, 6, 20'000); }
void other_partitions(Conformance& t) {
  ring(t, 12, 1000, 5, 2400);
  ring(t, 1, 60'000, 30, 2000);
  ring(t, 30, 2000, 1, 60'000);
}
void many_partitions(Conformance& t) { ring(t, 3000, 7, 3000, 7); }
void one_partition(Conformance& t) { ring(t, 1, 3, 1, 3); }

void ranges_and_lists(Conformance& t) {
  std::vector<int> out(12), in(12, -1);
  std::iota(out.begin(), out.end(), 100 * t.rank);
  Partitioned send, receive;
  OK(MPI_Psend_init(out.data(), 12, 1, MPI_INT, next_of(t), 1, MPI_COMM_WORLD, MPI_INFO_NULL, send.out()));
  OK(MPI_Precv_init(in.data(), 3, 4, MPI_INT, previous_of(t), 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                    receive.out()));
  MPI_Request both[2] = {send, receive};
  OK(MPI_Startall(2, both));
  OK(MPI_Pready_range(3, 8, send));
  int rest[] = {11, 0, 9, 2, 10, 1};  // MPI-4.0 has no const there
  OK(MPI_Pready_list(6, rest, send));
  OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 12; ++i) CHECK_EQ(in[static_cast<std::size_t>(i)], 100 * previous_of(t) + i);
}

// Every other element, so that nothing is in one piece.
void partitions_with_gaps(Conformance& t) {
  OwnedType every_other;
  OK(MPI_Type_vector(500, 1, 2, MPI_INT, every_other.out()));
  OwnedType resized;
  OK(MPI_Type_create_resized(every_other, 0, 1000 * static_cast<MPI_Aint>(sizeof(int)), resized.out()));
  OK(MPI_Type_commit(resized.out()));
  std::vector<int> out(20 * 1000), in(20 * 500, -1);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_at(static_cast<std::int64_t>(i), t.rank);
  Partitioned send, receive;
  OK(MPI_Psend_init(out.data(), 10, 2, resized, next_of(t), 2, MPI_COMM_WORLD, MPI_INFO_NULL, send.out()));
  OK(MPI_Precv_init(in.data(), 4, 2500, MPI_INT, previous_of(t), 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                    receive.out()));
  OK(MPI_Start(send.out()));
  OK(MPI_Start(receive.out()));
  OK(MPI_Pready_range(0, 9, send));
  OK(MPI_Wait(send.out(), MPI_STATUS_IGNORE));
  OK(MPI_Wait(receive.out(), MPI_STATUS_IGNORE));
  bool right = true;
  for (std::size_t i = 0; i < in.size(); ++i)
    right = right && in[i] == value_at(static_cast<std::int64_t>(2 * i), previous_of(t));
  CHECK(right);
}

// Requests with one tag meet in the order in which they were made, whatever the order of their starts; other
// messages with the tag are none of their business.
void order_of_making(Conformance& t) {
  int out[3], in[3] = {-1, -1, -1};
  Partitioned send[3], receive[3];
  for (int i = 0; i < 3; ++i) {
    out[i] = 10 * t.rank + i;
    OK(MPI_Psend_init(&out[i], 1, 1, MPI_INT, next_of(t), 4, MPI_COMM_WORLD, MPI_INFO_NULL, send[i].out()));
    OK(MPI_Precv_init(&in[i], 1, 1, MPI_INT, previous_of(t), 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                      receive[i].out()));
  }
  for (const int i : backwards(3)) {
    OK(MPI_Start(send[i].out()));
    OK(MPI_Pready(0, send[i]));
  }
  const int plain = -10 - t.rank;
  int received = 0;
  MPI_Request sending = MPI_REQUEST_NULL;
  OK(MPI_Isend(&plain, 1, MPI_INT, next_of(t), 4, MPI_COMM_WORLD, &sending));
  OK(MPI_Recv(&received, 1, MPI_INT, previous_of(t), MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(received, -10 - previous_of(t));
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Start(receive[i].out()));
    OK(MPI_Wait(receive[i].out(), MPI_STATUS_IGNORE));
    OK(MPI_Wait(send[i].out(), MPI_STATUS_IGNORE));
    CHECK_EQ(in[i], 10 * previous_of(t) + i);
  }
}

void nobody(Conformance& t) {
  int data[4] = {1, 2, 3, 4};
  Partitioned send, receive;
  OK(MPI_Psend_init(data, 4, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, send.out()));
  OK(MPI_Precv_init(data, 4, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, receive.out()));
  OK(MPI_Start(send.out()));
  OK(MPI_Start(receive.out()));
  OK(MPI_Pready_range(0, 3, send));
  OK(MPI_Wait(send.out(), MPI_STATUS_IGNORE));
  OK(MPI_Wait(receive.out(), MPI_STATUS_IGNORE));
  int flag = 0;
  OK(MPI_Parrived(receive, 0, &flag));  // inactive
  CHECK(flag);
  CHECK_EQ(data[3], 4);
}

void no_bytes(Conformance& t) {
  Partitioned send, receive;
  OK(MPI_Psend_init(nullptr, 5, 0, MPI_INT, next_of(t), 1, MPI_COMM_WORLD, MPI_INFO_NULL, send.out()));
  OK(MPI_Precv_init(nullptr, 5, 0, MPI_INT, previous_of(t), 1, MPI_COMM_WORLD, MPI_INFO_NULL, receive.out()));
  OK(MPI_Start(send.out()));
  OK(MPI_Start(receive.out()));
  OK(MPI_Pready_range(0, 4, send));
  OK(MPI_Wait(receive.out(), MPI_STATUS_IGNORE));
  OK(MPI_Wait(send.out(), MPI_STATUS_IGNORE));
}

// What a library is free to do, and this one does: partitions travel before the last is ready.
void early_partitions([[maybe_unused]] Conformance& t) {
#ifdef HAWSER
  constexpr int count = 10'000;
  std::vector<int> data(4 * count, t.rank);
  MPI_Request request = MPI_REQUEST_NULL;
  if (t.rank == 0) {
    OK(MPI_Psend_init(data.data(), 4, count, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int p = 0; p < 4; ++p) {
      OK(MPI_Pready(p, request));
      OK(MPI_Recv(nullptr, 0, MPI_INT, 1, p, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  } else {
    OK(MPI_Precv_init(data.data(), 4, count, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int p = 0; p < 4; ++p) {
      for (int flag = 0; !flag;) OK(MPI_Parrived(request, p, &flag));
      CHECK_EQ(data[static_cast<std::size_t>((p + 1) * count - 1)], 0);
      OK(MPI_Send(nullptr, 0, MPI_INT, 0, p, MPI_COMM_WORLD));
    }
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
#endif
}

void mistakes([[maybe_unused]] Conformance& t) {
#ifdef HAWSER
  int data[4] = {};
  Partitioned send, receive;
  CHECK_FAILS(MPI_Psend_init(data, -1, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, send.out()),
              MPI_ERR_ARG);
  CHECK_FAILS(
      MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, MPI_INFO_NULL, receive.out()),
      MPI_ERR_RANK);
  OK(MPI_Psend_init(data, 4, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, send.out()));
  OK(MPI_Precv_init(data, 4, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, receive.out()));
  CHECK_FAILS(MPI_Pready(0, send), MPI_ERR_REQUEST);  // not started
  OK(MPI_Start(send.out()));
  OK(MPI_Start(receive.out()));
  CHECK_FAILS(MPI_Pready(4, send), MPI_ERR_ARG);
  CHECK_FAILS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  OK(MPI_Pready(0, send));
  CHECK_FAILS(MPI_Pready(0, send), MPI_ERR_ARG);
  int flag = 0;
  CHECK_FAILS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  CHECK_FAILS(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG);
  OK(MPI_Pready_range(1, 3, send));
  OK(MPI_Wait(receive.out(), MPI_STATUS_IGNORE));
  OK(MPI_Wait(send.out(), MPI_STATUS_IGNORE));
  // A receive that is too short says so.
  int more[8] = {};
  Partitioned longer, shorter;
  OK(MPI_Psend_init(more, 4, 2, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_INFO_NULL, longer.out()));
  OK(MPI_Precv_init(data, 4, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_INFO_NULL, shorter.out()));
  OK(MPI_Start(longer.out()));
  OK(MPI_Start(shorter.out()));
  OK(MPI_Pready_range(0, 3, longer));
  CHECK_FAILS(MPI_Wait(shorter.out(), MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(longer.out(), MPI_STATUS_IGNORE));
  // A receive that no send ever meets may be freed.
  MPI_Request alone = MPI_REQUEST_NULL;
  OK(MPI_Precv_init(data, 4, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, &alone));
  OK(MPI_Request_free(&alone));
#endif
}

}  // namespace

CHAPTER(pt2pt_partitioned, CASE(equal_partitions), CASE(long_partitions), CASE(other_partitions),
        CASE(many_partitions), CASE(one_partition), CASE(ranges_and_lists), CASE(partitions_with_gaps),
        CASE(order_of_making), CASE(nobody), CASE(no_bytes),
        CASE(early_partitions, .min_ranks = 2, .max_ranks = 2), CASE(mistakes))
#else
CHAPTER(pt2pt_partitioned, Case{.name = "none", .body = [](Conformance&) {}})
#endif

}  // namespace conformance
