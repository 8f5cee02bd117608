// Persistent and buffered point-to-point operations.
#include <algorithm>

#include "conformance.h"

namespace conformance {
namespace {

using InitFunction = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void persistent_modes(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  std::vector<char> space(2'000'000);
  OK(MPI_Buffer_attach(space.data(), static_cast<int>(space.size())));
  const InitFunction modes[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};
  for (InitFunction mode : modes) {
    for (int size : {0, 1, 3000, 60'000}) {
      std::vector<int> out(static_cast<std::size_t>(size)), in(static_cast<std::size_t>(size));
      MPI_Request requests[2];
      OK(MPI_Recv_init(in.data(), size, MPI_INT, previous, 6, MPI_COMM_WORLD, &requests[0]));
      OK(mode(out.data(), size, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[1]));
      const MPI_Request before[2] = {requests[0], requests[1]};
      for (int round = 0; round < 5; ++round) {
        const auto data = values(size, t.rank * 10 + round);
        std::copy(data.begin(), data.end(), out.begin());  // the address stays
        OK(MPI_Start(&requests[0]));
        OK(MPI_Sendrecv(nullptr, 0, MPI_INT, previous, 7, nullptr, 0, MPI_INT, next, 7, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        OK(MPI_Startall(1, &requests[1]));
        MPI_Status statuses[2];
        OK(MPI_Waitall(2, requests, statuses));
        CHECK(requests[0] == before[0] && requests[1] == before[1]);
        CHECK_EQ(statuses[0].MPI_SOURCE, previous);
        CHECK(in == values(size, previous * 10 + round));
      }
      OK(MPI_Request_free(&requests[0]));
      OK(MPI_Request_free(&requests[1]));
      CHECK(requests[1] == MPI_REQUEST_NULL);
    }
  }
  void* address = nullptr;
  int bytes_attached = 0;
  OK(MPI_Buffer_detach(&address, &bytes_attached));
}

void persistent_wildcards_and_many(Conformance& t) {
  const int count = 10;
  if (t.rank == 0) {
    const auto n = static_cast<std::size_t>(count);
    std::vector<int> got(n);
    std::vector<MPI_Request> requests(n);
    for (std::size_t i = 0; i < n; ++i) {
      OK(MPI_Recv_init(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD,
                       &requests[i]));
    }
    for (int round = 0; round < 20; ++round) {
      OK(MPI_Startall(count, requests.data()));
      OK(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
      int seen = 0;
      while (seen < count) {
        int index = -1;
        MPI_Status status;
        OK(MPI_Waitany(count, requests.data(), &index, &status));
        REQUIRE(index >= 0 && index < count);
        CHECK_EQ(got[static_cast<std::size_t>(index)], round * 100 + index);
        ++seen;
      }
      int index = 0;
      OK(MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE));
      CHECK_EQ(index, MPI_UNDEFINED);
    }
    for (auto& request : requests) OK(MPI_Request_free(&request));
  } else {
    for (int round = 0; round < 20; ++round) {
      OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int i = 0; i < count; ++i) {
        const int value = round * 100 + i;
        OK(MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
      }
    }
  }
}

void persistent_with_nobody(Conformance& t) {
  int value = 4;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  OK(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
  for (int round = 0; round < 3; ++round) {
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    CHECK(requests[0] != MPI_REQUEST_NULL);
  }
  OK(MPI_Start(&requests[1]));
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  CHECK_EQ(value, 4);
}

void persistent_receive_cancelled_and_reused(Conformance& t) {
  int got = -1, value = 31, cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Recv_init(&got, 1, MPI_INT, t.rank, 4711, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
  CHECK(request != MPI_REQUEST_NULL);
  OK(MPI_Start(&request));
  OK(MPI_Send(&value, 1, MPI_INT, t.rank, 4711, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
  CHECK_EQ(got, 31);
  OK(MPI_Request_free(&request));
}

// A persistent request freed while active goes on to its end.
void persistent_freed_while_active(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (int size : {1, 40'000}) {
    const auto out = values(size, t.rank);
    std::vector<int> in(static_cast<std::size_t>(size));
    MPI_Request request, send;
    OK(MPI_Irecv(in.data(), size, MPI_INT, previous, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Send_init(out.data(), size, MPI_INT, next, 1, MPI_COMM_WORLD, &send));
    OK(MPI_Start(&send));
    OK(MPI_Request_free(&send));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in == values(size, previous));
    // Until the neighbour has it, `out` must live.
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, previous, 2, nullptr, 0, MPI_INT, next, 2, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  }
}

// --- Buffered mode ---

void buffered_send_needs_no_receiver(Conformance& t) {
  const int peer = 1 - t.rank;
  std::vector<char> space(5 * (40'000 + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_attach(space.data(), static_cast<int>(space.size())));
  // Both send 5 long messages before either receives.
  for (int i = 0; i < 5; ++i) {
    auto data = bytes(40'000, t.rank + i);
    MPI_Request request;
    if (i % 2) {
      OK(MPI_Ibsend(data.data(), 40'000, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Bsend(data.data(), 40'000, MPI_BYTE, peer, i, MPI_COMM_WORLD));
    }
    std::fill(data.begin(), data.end(), 0xdd);  // the message is not here any more
  }
  for (int i = 4; i >= 0; --i) {
    std::vector<unsigned char> got(40'000);
    OK(MPI_Recv(got.data(), 40'000, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == bytes(40'000, peer + i));
  }
  void* address = nullptr;
  int size = 0;
  OK(MPI_Buffer_detach(&address, &size));
  CHECK(address == space.data());
  CHECK_EQ(size, static_cast<int>(space.size()));
}

// The space that is promised is there: n messages of a size, with MPI_BSEND_OVERHEAD for each; and it comes
// back.
void buffer_space_is_accounted_for(Conformance& t) {
  const int peer = 1 - t.rank, count = 7;
  int packed = 0;
  OK(MPI_Pack_size(999, MPI_INT, MPI_COMM_WORLD, &packed));
  std::vector<char> space(static_cast<std::size_t>(count) *
                          static_cast<std::size_t>(packed + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_attach(space.data(), static_cast<int>(space.size())));
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < count; ++i) {
      const auto data = values(999, round + i);
      OK(MPI_Bsend(data.data(), 999, MPI_INT, peer, i, MPI_COMM_WORLD));
    }
    for (int i = 0; i < count; ++i) {
      std::vector<int> got(999);
      OK(MPI_Recv(got.data(), 999, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(got == values(999, round + i));
    }
    // The peer has received all: the space is free by the time of its answer.
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 99, nullptr, 0, MPI_INT, peer, 99, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  }
  void* address = nullptr;
  int size = 0;
  OK(MPI_Buffer_detach(&address, &size));
}

void buffer_too_small_is_an_error(Conformance& t) {
  std::vector<char> space(2000 + MPI_BSEND_OVERHEAD);
  const auto data = bytes(100'000, 1);
  OK(MPI_Buffer_attach(space.data(), static_cast<int>(space.size())));
  CHECK_FAILS(MPI_Bsend(data.data(), 100'000, MPI_BYTE, t.rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  OK(MPI_Bsend(data.data(), 1000, MPI_BYTE, t.rank, 1, MPI_COMM_WORLD));
  std::vector<unsigned char> got(1000);
  OK(MPI_Recv(got.data(), 1000, MPI_BYTE, t.rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == bytes(1000, 1));
  void* address = nullptr;
  int size = 0;
  OK(MPI_Buffer_detach(&address, &size));
  CHECK_FAILS(MPI_Bsend(data.data(), 100'000, MPI_BYTE, t.rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
}

// Detaching waits until the messages in the buffer are delivered.
void detach_delivers(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int round = 0; round < 3; ++round) {
    std::vector<char> space(200'000 + MPI_BSEND_OVERHEAD);
    const auto data = bytes(200'000, round);
    std::vector<unsigned char> got(200'000);
    MPI_Request request;
    OK(MPI_Irecv(got.data(), 200'000, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Buffer_attach(space.data(), static_cast<int>(space.size())));
    OK(MPI_Bsend(data.data(), 200'000, MPI_BYTE, peer, 1, MPI_COMM_WORLD));
    void* address = nullptr;
    int size = 0;
    OK(MPI_Buffer_detach(&address, &size));
    std::fill(space.begin(), space.end(), 0x11);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got == data);
  }
}

}  // namespace

CHAPTER(pt2pt_persistent, CASE(persistent_modes),
        CASE(persistent_wildcards_and_many, .min_ranks = 2, .max_ranks = 2), CASE(persistent_with_nobody),
        CASE(persistent_receive_cancelled_and_reused), CASE(persistent_freed_while_active),
        CASE(buffered_send_needs_no_receiver, .min_ranks = 2, .max_ranks = 2),
        CASE(buffer_space_is_accounted_for, .min_ranks = 2, .max_ranks = 2),
        CASE(buffer_too_small_is_an_error), CASE(detach_delivers, .min_ranks = 2, .max_ranks = 2))

}  // namespace conformance
