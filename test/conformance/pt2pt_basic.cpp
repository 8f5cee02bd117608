// Point-to-point: sends and receives of every mode and size, statuses, self and null processes.
#include <cstring>

#include "conformance.h"

namespace conformance {
namespace {

struct Neighbours {
  int next, previous;
  explicit Neighbours(const Conformance& t)
      : next((t.rank + 1) % t.size), previous((t.rank + t.size - 1) % t.size) {}
};

void ring_of_every_size(Conformance& t) {
  const Neighbours at(t);
  for (int size : message_sizes()) {
    const auto sent = bytes(size, t.rank);
    std::vector<unsigned char> received(static_cast<std::size_t>(size) + 1, 0xee);
    MPI_Request request;
    OK(MPI_Irecv(received.data(), size, MPI_BYTE, at.previous, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Send(sent.data(), size, MPI_BYTE, at.next, 7, MPI_COMM_WORLD));
    MPI_Status status;
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(status.MPI_SOURCE, at.previous);
    CHECK_EQ(status.MPI_TAG, 7);
    int count = -1;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, size);
    auto expected = bytes(size, at.previous);
    expected.push_back(0xee);
    CHECK(received == expected);
  }
}

// The message is there before its receive (after a handshake that overtakes nothing), and the other way
// round.
void expected_and_unexpected(Conformance& t) {
  const Neighbours at(t);
  for (bool posted_first : {true, false}) {
    for (int size : message_sizes()) {
      const auto sent = bytes(size, t.rank + size);
      std::vector<unsigned char> received(static_cast<std::size_t>(size));
      MPI_Request send, receive;
      if (posted_first)
        OK(MPI_Irecv(received.data(), size, MPI_BYTE, at.previous, 1, MPI_COMM_WORLD, &receive));
      // Tells the sender that the receive is posted.
      OK(MPI_Sendrecv(nullptr, 0, MPI_INT, at.previous, 2, nullptr, 0, MPI_INT, at.next, 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
      OK(MPI_Isend(sent.data(), size, MPI_BYTE, at.next, 1, MPI_COMM_WORLD, &send));
      if (!posted_first) {
        OK(MPI_Sendrecv(nullptr, 0, MPI_INT, at.next, 3, nullptr, 0, MPI_INT, at.previous, 3, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        OK(MPI_Irecv(received.data(), size, MPI_BYTE, at.previous, 1, MPI_COMM_WORLD, &receive));
      }
      OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
      CHECK(received == bytes(size, at.previous + size));
    }
  }
}

using SendFunction = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using IsendFunction = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void blocking_modes(Conformance& t) {
  const int peer = 1 - t.rank;
  const SendFunction modes[] = {MPI_Send, MPI_Ssend, MPI_Rsend};
  for (int size : message_sizes()) {
    for (SendFunction mode : modes) {
      const auto data = bytes(size, 3);
      std::vector<unsigned char> received(static_cast<std::size_t>(size));
      if (t.rank == 0) {
        // Ready mode needs the receive to be posted.
        OK(MPI_Recv(nullptr, 0, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(mode(data.data(), size, MPI_BYTE, peer, 2, MPI_COMM_WORLD));
      } else {
        MPI_Request request;
        OK(MPI_Irecv(received.data(), size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request));
        OK(MPI_Send(nullptr, 0, MPI_INT, peer, 1, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(received == data);
      }
    }
  }
}

void nonblocking_modes(Conformance& t) {
  const int peer = 1 - t.rank;
  const IsendFunction modes[] = {MPI_Isend, MPI_Issend, MPI_Irsend};
  for (IsendFunction mode : modes) {
    for (int size : message_sizes()) {
      const auto sent = bytes(size, t.rank);
      std::vector<unsigned char> received(static_cast<std::size_t>(size));
      MPI_Request requests[2];
      OK(MPI_Irecv(received.data(), size, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 5, nullptr, 0, MPI_INT, peer, 5, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
      OK(mode(sent.data(), size, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &requests[1]));
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK(received == bytes(size, peer));
    }
  }
}

// A synchronous send is not complete before its receive began; the order of events shows it.
void synchronous_waits_for_receive(Conformance& t) {
  for (int size : {0, 8, 1000, 100'000}) {
    const auto data = bytes(size, 1);
    if (t.rank == 0) {
      MPI_Request request;
      OK(MPI_Issend(data.data(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
      for (int i = 0; i < 20; ++i) {
        int done = 1;
        OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        CHECK_EQ(done, 0);
      }
      OK(MPI_Send(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      std::vector<unsigned char> received(static_cast<std::size_t>(size));
      OK(MPI_Recv(received.data(), size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(received == data);
    }
  }
}

void to_self(Conformance& t) {
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    const int me = comm == MPI_COMM_SELF ? 0 : t.rank;
    for (int size : message_sizes()) {
      const auto sent = bytes(size, 5);
      for (int order = 0; order < 3; ++order) {
        std::vector<unsigned char> received(static_cast<std::size_t>(size));
        MPI_Request requests[2];
        MPI_Status statuses[2];
        if (order == 0) OK(MPI_Irecv(received.data(), size, MPI_BYTE, me, 1, comm, &requests[0]));
        OK((order == 2 ? MPI_Issend : MPI_Isend)(sent.data(), size, MPI_BYTE, me, 1, comm, &requests[1]));
        if (order == 2) {
          int done = 1;
          OK(MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE));
          CHECK_EQ(done, 0);
        }
        if (order != 0)
          OK(MPI_Irecv(received.data(), size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
        OK(MPI_Waitall(2, requests, statuses));
        CHECK_EQ(statuses[0].MPI_SOURCE, me);
        CHECK_EQ(statuses[0].MPI_TAG, 1);
        CHECK(received == sent);
      }
    }
  }
  int value = t.rank, got = -1;
  OK(MPI_Sendrecv(&value, 1, MPI_INT, t.rank, 3, &got, 1, MPI_INT, t.rank, 3, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_EQ(got, t.rank);
}

void check_null_status(Conformance& t, const char* what, MPI_Status& status) {
  int count = -1, cancelled = 1;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &cancelled));
  if (!CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 &&
             cancelled == 0)) {
    t.fail(__FILE__, __LINE__, std::string("in the status of ") + what);
  }
  status.MPI_SOURCE = status.MPI_TAG = 77;  // for the next one
}

void to_nobody(Conformance& t) {
  int value = 17;
  MPI_Status status;
  MPI_Request request;
  for (SendFunction mode : {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend}) {
    OK(mode(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  }
  for (IsendFunction mode : {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend}) {
    OK(mode(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  check_null_status(t, "Recv", status);
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  check_null_status(t, "Wait", status);
  OK(MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  check_null_status(t, "Probe", status);
  int flag = 0;
  OK(MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQ(flag, 1);
  check_null_status(t, "Iprobe", status);
  OK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                  &status));
  check_null_status(t, "Sendrecv", status);
  OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  check_null_status(t, "Sendrecv_replace", status);
  CHECK_EQ(value, 17);
}

// An open chain: the ends talk to nobody on one side.
void shift_along_a_chain(Conformance& t) {
  const int up = t.rank + 1 < t.size ? t.rank + 1 : MPI_PROC_NULL;
  const int down = t.rank > 0 ? t.rank - 1 : MPI_PROC_NULL;
  for (int size : {1, 5000, 30'000}) {
    const auto sent = values(size, t.rank);
    std::vector<int> received(static_cast<std::size_t>(size), -1);
    MPI_Status status;
    OK(MPI_Sendrecv(sent.data(), size, MPI_INT, up, 1, received.data(), size, MPI_INT, down, 1,
                    MPI_COMM_WORLD, &status));
    CHECK(received == (down == MPI_PROC_NULL ? std::vector<int>(static_cast<std::size_t>(size), -1)
                                             : values(size, down)));
    CHECK_EQ(status.MPI_SOURCE, down);
  }
}

void exchange_in_place(Conformance& t) {
  const Neighbours at(t);
  for (int size : {0, 1, 100, 4000, 100'000}) {
    auto data = values(size, t.rank);
    MPI_Status status;
    OK(MPI_Sendrecv_replace(data.data(), size, MPI_INT, at.next, 1, at.previous, 1, MPI_COMM_WORLD, &status));
    CHECK(data == values(size, at.previous));
    int count = -1;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, size);
  }
}

// Both ends of sendrecv may differ in type and length.
void sendrecv_of_unequal_lengths(Conformance& t) {
  const Neighbours at(t);
  const int mine = (t.rank + 1) * 3, theirs = (at.previous + 1) * 3;
  const auto sent = values(mine, t.rank);
  std::vector<int> received(3 * static_cast<std::size_t>(t.size) + 3, -1);
  MPI_Status status;
  OK(MPI_Sendrecv(sent.data(), mine, MPI_INT, at.next, t.rank, received.data(),
                  static_cast<int>(received.size()), MPI_INT, at.previous, at.previous, MPI_COMM_WORLD,
                  &status));
  int count = -1;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, theirs);
  CHECK_EQ(status.MPI_TAG, at.previous);
  received.resize(static_cast<std::size_t>(theirs));
  CHECK(received == values(theirs, at.previous));
}

void counts_of_a_status(Conformance& t) {
  const Neighbours at(t);
  const auto sent = bytes(10, 1);
  unsigned char received[40] = {};
  MPI_Status status;
  OK(MPI_Sendrecv(sent.data(), 10, MPI_BYTE, at.next, 0, received, 40, MPI_BYTE, at.previous, 0,
                  MPI_COMM_WORLD, &status));
  int count = 0;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, 10);
  OK(MPI_Get_count(&status, MPI_SHORT, &count));
  CHECK_EQ(count, 5);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, MPI_BYTE, &count));
  CHECK_EQ(count, 10);
  MPI_Count large = 0;
  OK(MPI_Get_elements_x(&status, MPI_BYTE, &large));
  CHECK_EQ(large, 10);
  OK(MPI_Status_set_elements(&status, MPI_INT, 7));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 7);
  OK(MPI_Status_set_cancelled(&status, 1));
  int cancelled = 0;
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
}

void largest_tag(Conformance& t) {
  const Neighbours at(t);
  int* bound = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag));
  REQUIRE(flag && *bound >= 32767);
  int value = t.rank, got = -1;
  MPI_Status status;
  for (int tag : {0, 32767, *bound}) {
    OK(MPI_Sendrecv(&value, 1, MPI_INT, at.next, tag, &got, 1, MPI_INT, at.previous, tag, MPI_COMM_WORLD,
                    &status));
    CHECK_EQ(got, at.previous);
    CHECK_EQ(status.MPI_TAG, tag);
  }
}

void empty_messages_without_buffer(Conformance& t) {
  const Neighbours at(t);
  MPI_Status status;
  OK(MPI_Sendrecv(nullptr, 0, MPI_DOUBLE, at.next, 1, nullptr, 0, MPI_DOUBLE, at.previous, 1, MPI_COMM_WORLD,
                  &status));
  int count = -1;
  OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
  CHECK_EQ(count, 0);
  OK(MPI_Sendrecv_replace(nullptr, 0, MPI_DOUBLE, at.next, 1, at.previous, 1, MPI_COMM_WORLD, &status));
}

// Everyone to everyone, all in the air at once.
void storm(Conformance& t) {
  const int rounds = 4, size = 700;
  const auto n = static_cast<std::size_t>(t.size) * rounds;
  std::vector<std::vector<int>> in(n, std::vector<int>(size, -1)), out(n);
  std::vector<MPI_Request> requests(2 * n, MPI_REQUEST_NULL);
  for (int round = 0; round < rounds; ++round) {
    for (int peer = 0; peer < t.size; ++peer) {
      const auto i = static_cast<std::size_t>(round * t.size + peer);
      out[i] = values(size, t.rank * 1000 + round);
      OK(MPI_Isend(out[i].data(), size, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[i]));
    }
  }
  for (int round = rounds - 1; round >= 0; --round) {
    for (int peer = 0; peer < t.size; ++peer) {
      const auto i = static_cast<std::size_t>(round * t.size + peer);
      OK(MPI_Irecv(in[i].data(), size, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[n + i]));
    }
  }
  OK(MPI_Waitall(static_cast<int>(2 * n), requests.data(), MPI_STATUSES_IGNORE));
  for (int round = 0; round < rounds; ++round) {
    for (int peer = 0; peer < t.size; ++peer) {
      CHECK(in[static_cast<std::size_t>(round * t.size + peer)] == values(size, peer * 1000 + round));
    }
  }
}

}  // namespace

CHAPTER(pt2pt_basic, CASE(ring_of_every_size), CASE(expected_and_unexpected),
        CASE(blocking_modes, .min_ranks = 2, .max_ranks = 2),
        CASE(nonblocking_modes, .min_ranks = 2, .max_ranks = 2),
        CASE(synchronous_waits_for_receive, .min_ranks = 2, .max_ranks = 2), CASE(to_self), CASE(to_nobody),
        CASE(shift_along_a_chain), CASE(exchange_in_place), CASE(sendrecv_of_unequal_lengths),
        CASE(counts_of_a_status), CASE(largest_tag), CASE(empty_messages_without_buffer), CASE(storm))

}  // namespace conformance
