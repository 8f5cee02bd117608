// Requests: waiting and testing for any, some and all; null and inactive ones; errors in statuses; freeing;
// cancelling.
#include <numeric>

#include "conformance.h"

namespace conformance {
namespace {

void check_empty(Conformance& t, const MPI_Status& status) {
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  int count = -1, cancelled = 1;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(count, 0);
  CHECK_EQ(cancelled, 0);
}

void nothing_to_wait_for(Conformance& t) {
  MPI_Status status;
  MPI_Request null = MPI_REQUEST_NULL;
  int flag = 0, index = 0, count = 0;
  OK(MPI_Wait(&null, &status));
  check_empty(t, status);
  OK(MPI_Test(&null, &flag, &status));
  CHECK_EQ(flag, 1);
  check_empty(t, status);
  for (int n : {0, 3}) {
    MPI_Request nulls[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int indices[3];
    OK(MPI_Waitany(n, nulls, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(t, status);
    flag = 0, index = 0;
    OK(MPI_Testany(n, nulls, &index, &flag, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(flag, 1);
    check_empty(t, status);
    OK(MPI_Waitall(n, nulls, statuses));
    for (int i = 0; i < n; ++i) check_empty(t, statuses[i]);
    flag = 0;
    OK(MPI_Testall(n, nulls, &flag, statuses));
    CHECK_EQ(flag, 1);
    count = 0;
    OK(MPI_Waitsome(n, nulls, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    count = 0;
    OK(MPI_Testsome(n, nulls, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
  }
  flag = 0;
  OK(MPI_Request_get_status(null, &flag, &status));
  CHECK_EQ(flag, 1);
  check_empty(t, status);
}

void inactive_requests_are_passed_over(Conformance& t) {
  int value = 0, got = -1;
  MPI_Request requests[3];
  OK(MPI_Recv_init(&value, 1, MPI_INT, t.rank, 9, MPI_COMM_WORLD, &requests[0]));
  requests[1] = MPI_REQUEST_NULL;
  OK(MPI_Send_init(&value, 1, MPI_INT, t.rank, 9, MPI_COMM_WORLD, &requests[2]));
  MPI_Status status, statuses[3];
  int index = 0, flag = 0, count = 0, indices[3];
  OK(MPI_Wait(&requests[0], &status));
  check_empty(t, status);
  CHECK(requests[0] != MPI_REQUEST_NULL);
  OK(MPI_Waitany(3, requests, &index, &status));
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Waitsome(3, requests, &count, indices, statuses));
  CHECK_EQ(count, MPI_UNDEFINED);
  OK(MPI_Testall(3, requests, &flag, statuses));
  CHECK_EQ(flag, 1);
  OK(MPI_Waitall(3, requests, statuses));
  for (const auto& each : statuses) check_empty(t, each);
  // One active among them.
  OK(MPI_Irecv(&got, 1, MPI_INT, t.rank, 10, MPI_COMM_WORLD, &requests[1]));
  value = 77;
  OK(MPI_Send(&value, 1, MPI_INT, t.rank, 10, MPI_COMM_WORLD));
  OK(MPI_Waitany(3, requests, &index, &status));
  CHECK_EQ(index, 1);
  CHECK_EQ(status.MPI_TAG, 10);
  CHECK_EQ(got, 77);
  CHECK(requests[1] == MPI_REQUEST_NULL);
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[2]));
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

// Rank 1 answers the receives of rank 0 in an order that rank 0 asked for.
void waitany_gives_the_one_that_came(Conformance& t) {
  const int count = 12;
  if (t.rank == 0) {
    std::vector<int> got(count, -1);
    std::vector<MPI_Request> requests(count);
    for (int i = 0; i < count; ++i) {
      OK(MPI_Irecv(&got[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i, MPI_COMM_WORLD,
                   &requests[static_cast<std::size_t>(i)]));
    }
    for (int k = 0; k < count; ++k) {
      int wanted = (k * 5 + 3) % count, index = -1;
      OK(MPI_Send(&wanted, 1, MPI_INT, 1, 100, MPI_COMM_WORLD));
      MPI_Status status;
      if (k % 2) {
        OK(MPI_Waitany(count, requests.data(), &index, &status));
      } else {
        int flag = 0;
        while (!flag) OK(MPI_Testany(count, requests.data(), &index, &flag, &status));
      }
      CHECK_EQ(index, wanted);
      CHECK_EQ(status.MPI_TAG, wanted);
      CHECK_EQ(got[static_cast<std::size_t>(wanted)], wanted * 3);
    }
    for (MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL);
  } else {
    for (int k = 0; k < count; ++k) {
      int wanted = -1;
      OK(MPI_Recv(&wanted, 1, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const int answer = wanted * 3;
      OK(MPI_Send(&answer, 1, MPI_INT, 0, wanted, MPI_COMM_WORLD));
    }
  }
}

void waitsome_gives_all_in_the_end(Conformance& t) {
  const int per_peer = 6;
  if (t.rank == 0) {
    const int count = per_peer * (t.size - 1);
    const auto n = static_cast<std::size_t>(count);
    std::vector<std::vector<int>> got(n, std::vector<int>(20'000));
    std::vector<MPI_Request> requests(n);
    for (int i = 0; i < count; ++i) {
      OK(MPI_Irecv(got[static_cast<std::size_t>(i)].data(), 20'000, MPI_INT, 1 + i / per_peer, i % per_peer,
                   MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]));
    }
    std::vector<int> indices(n), seen(n, 0);
    std::vector<MPI_Status> statuses(n);
    for (int done = 0, turn = 0; done < count; ++turn) {
      int some = 0;
      OK((turn % 2 ? MPI_Testsome : MPI_Waitsome)(count, requests.data(), &some, indices.data(),
                                                  statuses.data()));
      REQUIRE(some != MPI_UNDEFINED);
      if (turn % 2 == 0) CHECK(some > 0);
      for (int k = 0; k < some; ++k) {
        const auto i = static_cast<std::size_t>(indices[static_cast<std::size_t>(k)]);
        REQUIRE(i < n);
        ++seen[i];
        const int tag = static_cast<int>(i) % per_peer, size = tag * 4000;
        CHECK_EQ(statuses[static_cast<std::size_t>(k)].MPI_TAG, tag);
        int length = -1;
        OK(MPI_Get_count(&statuses[static_cast<std::size_t>(k)], MPI_INT, &length));
        CHECK_EQ(length, size);
        got[i].resize(static_cast<std::size_t>(size));
        CHECK(got[i] == values(size, 1 + static_cast<int>(i) / per_peer));
      }
      done += some;
    }
    for (int times : seen) CHECK_EQ(times, 1);
  } else {
    for (int tag = per_peer - 1; tag >= 0; --tag) {
      const auto data = values(tag * 4000, t.rank);
      OK(MPI_Send(data.data(), tag * 4000, MPI_INT, 0, tag, MPI_COMM_WORLD));
    }
  }
}

void testall_is_all_or_nothing(Conformance& t) {
  if (t.rank == 0) {
    int got[3] = {-1, -1, -1};
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) OK(MPI_Irecv(&got[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
    int flag = 1;
    for (int i = 0; i < 10; ++i) {
      OK(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE));
      CHECK_EQ(flag, 0);
      for (MPI_Request request : requests) CHECK(request != MPI_REQUEST_NULL);
    }
    OK(MPI_Send(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD));
    MPI_Status statuses[3];
    flag = 0;
    while (!flag) OK(MPI_Testall(3, requests, &flag, statuses));
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(got[i], i + 5);
      CHECK_EQ(statuses[i].MPI_TAG, i);
      CHECK(requests[i] == MPI_REQUEST_NULL);
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      const int value = i + 5;
      OK(MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
    OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const int value = 7;
    OK(MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
  }
}

void get_status_leaves_the_request(Conformance& t) {
  int value = 3, got = -1, flag = 1;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Irecv(&got, 1, MPI_INT, t.rank, 4, MPI_COMM_WORLD, &request));
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_EQ(flag, 0);
  OK(MPI_Send(&value, 1, MPI_INT, t.rank, 4, MPI_COMM_WORLD));
  flag = 0;
  while (!flag) OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_EQ(status.MPI_TAG, 4);
  CHECK(request != MPI_REQUEST_NULL);
  flag = 0;
  OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 1);
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(status.MPI_SOURCE, t.rank);
  CHECK_EQ(got, 3);
}

// One of several receives is too short: the error stands in its status, the others are right.
void error_in_status(Conformance& t) {
  const int sizes[3] = {10, 50'000, 20};
  if (t.rank == 0) {
    OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; ++i) {
      const auto data = values(sizes[i], i);
      OK(MPI_Send(data.data(), sizes[i], MPI_INT, 1, i, MPI_COMM_WORLD));
    }
  } else {
    std::vector<int> got[3];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < 3; ++i) {
      const int room = i == 1 ? 30'000 : sizes[i];
      got[i].assign(static_cast<std::size_t>(room), -1);
      OK(MPI_Irecv(got[i].data(), room, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Send(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD));
    const int code = MPI_Waitall(3, requests, statuses);
    CHECK_FAILS(code, MPI_ERR_IN_STATUS);
    for (int i = 0; i < 3; ++i) {
      int error_class = MPI_SUCCESS;
      if (statuses[i].MPI_ERROR != MPI_SUCCESS) OK(MPI_Error_class(statuses[i].MPI_ERROR, &error_class));
      if (i == 1) {
        CHECK_EQ(error_class, MPI_ERR_TRUNCATE);
      } else {
        CHECK(error_class == MPI_SUCCESS || error_class == MPI_ERR_PENDING);
      }
    }
    // What was pending is waited for now.
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(got[0] == values(sizes[0], 0));
    CHECK(got[2] == values(sizes[2], 2));
  }
}

void freed_while_active(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int size : {1, 5000, 200'000}) {
    const auto data = values(size, t.rank);
    std::vector<int> got(static_cast<std::size_t>(size), -1), second(static_cast<std::size_t>(size), -1);
    MPI_Request request, receive;
    // A send that is freed still arrives.
    OK(MPI_Isend(data.data(), size, MPI_INT, peer, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Recv(got.data(), size, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == values(size, peer));
    // So does a receive; the next message of the same sender tells that it is over.
    OK(MPI_Irecv(second.data(), size, MPI_INT, peer, 2, MPI_COMM_WORLD, &receive));
    OK(MPI_Request_free(&receive));
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 3, nullptr, 0, MPI_INT, peer, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Ssend(data.data(), size, MPI_INT, peer == 1 ? 1 : MPI_PROC_NULL, 2, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 3, nullptr, 0, MPI_INT, peer, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Ssend(data.data(), size, MPI_INT, peer == 0 ? 0 : MPI_PROC_NULL, 2, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 3, nullptr, 0, MPI_INT, peer, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    // A synchronous send may be over before all bytes are in; poll the last one, with progress in between.
    const int last = value_at(size - 1, peer);
    int flag = 0;
    while (*static_cast<volatile int*>(&second.back()) != last) {
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    CHECK(second == values(size, peer));
  }
}

void cancelled_receive(Conformance& t) {
  for (int source : {t.rank, MPI_ANY_SOURCE}) {
    int got = -1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(&got, 1, MPI_INT, source, 4711, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
    // The message goes to the next receive.
    int value = 12;
    OK(MPI_Irecv(&got, 1, MPI_INT, source, 4711, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&value, 1, MPI_INT, t.rank, 4711, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
    CHECK_EQ(got, 12);
  }
}

// Either the cancel or the message wins; if the cancel did, the message is there for another receive.
void cancel_races_with_the_message(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int round = 0; round < 50; ++round) {
    const int size = round % 5 * 5000 + 1;
    if (t.rank == 0) {
      const auto data = values(size, round);
      OK(MPI_Send(data.data(), size, MPI_INT, peer, 1, MPI_COMM_WORLD));
    } else {
      std::vector<int> got(static_cast<std::size_t>(size), -1);
      MPI_Request request;
      OK(MPI_Irecv(got.data(), size, MPI_INT, peer, 1, MPI_COMM_WORLD, &request));
      int flag = 0, cancelled = 0;
      for (int i = 0; i < round; ++i) {
        OK(MPI_Iprobe(peer, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      }
      OK(MPI_Cancel(&request));
      MPI_Status status;
      OK(MPI_Wait(&request, &status));
      OK(MPI_Test_cancelled(&status, &cancelled));
      if (cancelled) {
        CHECK(got == std::vector<int>(static_cast<std::size_t>(size), -1));
        OK(MPI_Recv(got.data(), size, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      }
      CHECK(got == values(size, round));
    }
  }
}

// A send that is cancelled is either received or not there at all.
void cancelled_send(Conformance& t) {
  for (int size : {1, 100, 100'000}) {
    const auto data = values(size, 4);
    if (t.rank == 0) {
      MPI_Request request;
      MPI_Status status;
      int cancelled = -1;
      OK(MPI_Issend(data.data(), size, MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
      OK(MPI_Cancel(&request));
      // Without a matching receive the cancel must succeed for the send to complete (MPI-5.0 section 3.8.4).
      OK(MPI_Wait(&request, &status));
      OK(MPI_Test_cancelled(&status, &cancelled));
      CHECK_EQ(cancelled, 1);
      OK(MPI_Send(&cancelled, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    } else {
      int cancelled = -1, flag = -1;
      OK(MPI_Recv(&cancelled, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      CHECK_EQ(flag, cancelled ? 0 : 1);
      if (!cancelled) {
        std::vector<int> got(static_cast<std::size_t>(size));
        OK(MPI_Recv(got.data(), size, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == data);
      }
    }
    // The next round's message must not be taken for this one's.
    OK(MPI_Sendrecv(nullptr, 0, MPI_INT, 1 - t.rank, 3, nullptr, 0, MPI_INT, 1 - t.rank, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  }
}

}  // namespace

CHAPTER(pt2pt_requests, CASE(nothing_to_wait_for), CASE(inactive_requests_are_passed_over),
        CASE(waitany_gives_the_one_that_came, .min_ranks = 2, .max_ranks = 2),
        CASE(waitsome_gives_all_in_the_end, .min_ranks = 2),
        CASE(testall_is_all_or_nothing, .min_ranks = 2, .max_ranks = 2), CASE(get_status_leaves_the_request),
        CASE(error_in_status, .min_ranks = 2, .max_ranks = 2),
        CASE(freed_while_active, .min_ranks = 2, .max_ranks = 2), CASE(cancelled_receive),
        CASE(cancel_races_with_the_message, .min_ranks = 2, .max_ranks = 2),
        CASE(cancelled_send, .min_ranks = 2, .max_ranks = 2))

}  // namespace conformance
