// Non-blocking collective operations (MPI-5.0 section 6.12): several at a time, out of order completion, with
// what else goes on.
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

OwnedComm everyone(Conformance& t) {
  OwnedComm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, comm.out()));
  return comm;
}

void many_under_way(Conformance& t) {
  const OwnedComm all = everyone(t);
  constexpr int n = 12;
  std::vector<std::vector<int>> in, out;
  std::vector<MPI_Request> requests(n);
  for (int i = 0; i < n; ++i) {
    in.push_back(values(1 + 300 * i, t.rank + i));
    out.emplace_back(in.back().size());
  }
  for (int i = 0; i < n; ++i) {
    for (int& x : in[static_cast<std::size_t>(i)]) x &= 0xffff;
    const auto at = static_cast<std::size_t>(i);
    OK(MPI_Iallreduce(in[at].data(), out[at].data(), static_cast<int>(in[at].size()), MPI_INT, MPI_SUM, all,
                      &requests[at]));
  }
  // A blocking one meanwhile.
  OK(MPI_Barrier(all));
  for (int i = n - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    OK(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
    CHECK(requests[at] == MPI_REQUEST_NULL);
    std::vector<int> expected(in[at].size());
    for (int r = 0; r < t.size; ++r) {
      const auto theirs = values(static_cast<std::int64_t>(expected.size()), r + i);
      for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += theirs[k] & 0xffff;
    }
    CHECK(out[at] == expected);
  }
}

void of_every_kind(Conformance& t) {
  const OwnedComm all = everyone(t);
  const auto n = static_cast<std::size_t>(t.size);
  const int last = t.size - 1;
  std::vector<MPI_Request> requests(8);
  std::vector<int> cast(7), gathered(n), scattered(n), mine(1), allgathered(n), exchanged(n), to_all(n),
      counts(n, 1), starts(n);
  int sum = 0, prefix = 0;
  if (t.rank == last) cast = values(7, 99);
  for (std::size_t r = 0; r < n; ++r) {
    starts[r] = static_cast<int>(n - 1 - r);
    scattered[r] = 100 + static_cast<int>(r);
    to_all[r] = t.rank * 1000 + static_cast<int>(r);
  }
  OK(MPI_Ibarrier(all, &requests[0]));
  OK(MPI_Ibcast(cast.data(), 7, MPI_INT, last, all, &requests[1]));
  OK(MPI_Igather(&t.rank, 1, MPI_INT, gathered.data(), 1, MPI_INT, last, all, &requests[2]));
  OK(MPI_Iscatter(scattered.data(), 1, MPI_INT, mine.data(), 1, MPI_INT, 0, all, &requests[3]));
  // The arrays of counts may go as soon as the call returns in no version of the standard; they stay here.
  OK(MPI_Iallgatherv(&t.rank, 1, MPI_INT, allgathered.data(), counts.data(), starts.data(), MPI_INT, all,
                     &requests[4]));
  OK(MPI_Ialltoall(to_all.data(), 1, MPI_INT, exchanged.data(), 1, MPI_INT, all, &requests[5]));
  OK(MPI_Ireduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, last, all, &requests[6]));
  OK(MPI_Iscan(&t.rank, &prefix, 1, MPI_INT, MPI_SUM, all, &requests[7]));
  OK(MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE));
  CHECK(cast == values(7, 99));
  CHECK_EQ(mine[0], 100 + t.rank);
  CHECK_EQ(prefix, t.rank * (t.rank + 1) / 2);
  if (t.rank == last) CHECK_EQ(sum, t.size * (t.size - 1) / 2);
  for (std::size_t r = 0; r < n; ++r) {
    if (t.rank == last) CHECK_EQ(gathered[r], static_cast<int>(r));
    CHECK_EQ(allgathered[n - 1 - r], static_cast<int>(r));
    CHECK_EQ(exchanged[r], static_cast<int>(r) * 1000 + t.rank);
  }
}

void communicator_freed_meanwhile(Conformance& t) {
  OwnedComm all = everyone(t);
  MPI_Comm comm = all.release();
  std::vector<int> data(20000);
  if (t.rank == 0) data = values(20000, 4);
  MPI_Request request;
  OK(MPI_Ibcast(data.data(), 20000, MPI_INT, 0, comm, &request));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(data == values(20000, 4));
}

}  // namespace

CHAPTER(coll_nonblocking, CASE(many_under_way), CASE(of_every_kind), CASE(communicator_freed_meanwhile))

}  // namespace conformance
