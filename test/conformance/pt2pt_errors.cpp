// Errors of point-to-point calls: truncation, and arguments that cannot be right.
#include <algorithm>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// The bytes that fit may be written, nothing behind them; the messages that follow are whole.
void truncation_spoils_nothing(Conformance& t) {
  const int sizes[] = {8, 40, 1000, 10'000, 20'000, 100'000, 1 << 20};
  for (bool expected : {false, true}) {
    for (int size : sizes) {
      for (int room : {0, size / 2, size - 1}) {
        if (t.rank == 0) {
          if (expected) OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          for (int i = 0; i < 3; ++i) {
            const auto data = bytes(size, i);
            OK(MPI_Send(data.data(), size, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
          }
        } else {
          std::vector<unsigned char> got[3];
          MPI_Request requests[3];
          for (auto& buffer : got) buffer.assign(static_cast<std::size_t>(size), 0xee);
          for (int i = 0; i < 3; ++i) {
            OK(MPI_Irecv(got[i].data(), i == 1 ? room : size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]));
          }
          if (expected) OK(MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD));
          OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
          CHECK_FAILS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
          OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
          CHECK(got[0] == bytes(size, 0));
          CHECK(got[2] == bytes(size, 2));
          CHECK(std::all_of(got[1].begin() + room, got[1].end(), [](unsigned char c) { return c == 0xee; }));
        }
      }
    }
  }
}

void truncation_by_recv_and_sendrecv(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int size : {100, 200'000}) {
    const auto data = bytes(size, t.rank);
    std::vector<unsigned char> got(static_cast<std::size_t>(size));
    CHECK_FAILS(MPI_Sendrecv(data.data(), size, MPI_BYTE, peer, 1, got.data(), size / 3, MPI_BYTE, peer, 1,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    MPI_Request request;
    OK(MPI_Isend(data.data(), size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request));
    MPI_Status status;
    CHECK_FAILS(MPI_Recv(got.data(), size - 1, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
                MPI_ERR_TRUNCATE);
    CHECK_EQ(status.MPI_SOURCE, peer);
    CHECK_EQ(status.MPI_TAG, 2);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    // To oneself.
    OK(MPI_Isend(data.data(), size, MPI_BYTE, t.rank, 3, MPI_COMM_WORLD, &request));
    CHECK_FAILS(MPI_Recv(got.data(), size - 1, MPI_BYTE, t.rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

// A test that finds an error has found the operation complete.
void truncation_found_by_tests(Conformance& t) {
  const int sent[4] = {};
  int got = 0, other = 0;
  for (bool all : {false, true}) {
    MPI_Request requests[2];
    OK(MPI_Irecv(&got, 1, MPI_INT, t.rank, 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&other, 1, MPI_INT, t.rank, 5, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send(sent, 1, MPI_INT, t.rank, 5, MPI_COMM_WORLD));
    OK(MPI_Send(sent, 4, MPI_INT, t.rank, 4, MPI_COMM_WORLD));
    int flag = 0, code = MPI_SUCCESS;
    MPI_Status statuses[2];
    while (!flag && code == MPI_SUCCESS) {
      code = all ? MPI_Testall(2, requests, &flag, statuses) : MPI_Test(&requests[0], &flag, statuses);
    }
    CHECK(flag);
    CHECK_FAILS(code, all ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
}

void wrong_arguments(Conformance& t) {
  int value = 0, flag = 0, index = 0;
  MPI_Request request;
  MPI_Status status;
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK_FAILS(MPI_Send(&value, -1, MPI_INT, t.rank, 0, world), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, t.size + 1000, 0, world), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, -77, 0, world), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, t.rank, -5, world), MPI_ERR_TAG);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, t.rank, MPI_ANY_TAG, world), MPI_ERR_TAG);
  CHECK_FAILS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, t.rank, 0, world), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Send(nullptr, 1, MPI_INT, t.rank, 0, world), MPI_ERR_BUFFER);
  CHECK_FAILS(MPI_Recv(nullptr, 1, MPI_INT, t.rank, 0, world, &status), MPI_ERR_BUFFER);
  CHECK_FAILS(MPI_Recv(&value, -1, MPI_INT, t.rank, 0, world, &status), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Recv(&value, 1, MPI_INT, t.size + 1000, 0, world, &status), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Recv(&value, 1, MPI_INT, t.rank, -5, world, &status), MPI_ERR_TAG);
  CHECK_FAILS(MPI_Recv(&value, 1, MPI_DATATYPE_NULL, t.rank, 0, world, &status), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Isend(&value, -1, MPI_INT, t.rank, 0, world, &request), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Issend(&value, 1, MPI_INT, t.size + 1000, 0, world, &request), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Irecv(&value, 1, MPI_INT, t.size + 1000, 0, world, &request), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Send_init(&value, 1, MPI_INT, t.rank, -5, world, &request), MPI_ERR_TAG);
  CHECK_FAILS(MPI_Iprobe(t.size + 1000, 0, world, &flag, &status), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Iprobe(t.rank, -5, world, &flag, &status), MPI_ERR_TAG);
  CHECK_FAILS(MPI_Sendrecv(&value, 1, MPI_INT, t.rank, 0, &value, -1, MPI_INT, t.rank, 0, world, &status),
              MPI_ERR_COUNT);
  MPI_Request null = MPI_REQUEST_NULL;
  CHECK_FAILS(MPI_Start(&null), MPI_ERR_REQUEST);
  CHECK_FAILS(MPI_Request_free(&null), MPI_ERR_REQUEST);
  CHECK_FAILS(MPI_Cancel(&null), MPI_ERR_REQUEST);
  CHECK(MPI_Waitall(-1, &null, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
  CHECK(MPI_Waitany(-1, &null, &index, &status) != MPI_SUCCESS);
}

// Errors on MPI_COMM_NULL go to the handler of MPI_COMM_SELF (or, before MPI-4, of MPI_COMM_WORLD): both
// return here.
void null_communicator(Conformance& t) {
  int value = 0;
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_FAILS(MPI_Comm_rank(MPI_COMM_NULL, &value), MPI_ERR_COMM);
  CHECK_FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

void uncommitted_type(Conformance& t) {
  OwnedType type;
  OK(MPI_Type_contiguous(2, MPI_INT, type.out()));
  int values[2] = {};
  CHECK_FAILS(MPI_Send(values, 1, type, t.rank, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
}

// A persistent request that is active must not be started, nor an operation that is not persistent.
void wrong_starts(Conformance& t) {
  int value = 0;
  MPI_Request request;
  OK(MPI_Irecv(&value, 1, MPI_INT, t.rank, 1, MPI_COMM_WORLD, &request));
  CHECK_FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// What an erroneous call did not send is not there; the library goes on working.
void errors_leave_no_traces(Conformance& t) {
  int value = 1, flag = 1;
  for (int i = 0; i < 100; ++i) {
    CHECK_FAILS(MPI_Send(&value, -1, MPI_INT, t.rank, 4711, MPI_COMM_WORLD), MPI_ERR_COUNT);
  }
  OK(MPI_Iprobe(t.rank, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  int got = 0;
  OK(MPI_Sendrecv(&value, 1, MPI_INT, t.rank, 1, &got, 1, MPI_INT, t.rank, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_EQ(got, 1);
}

// Parts of an element cannot come of matching types; data in pieces is looked at.
void parts_of_elements([[maybe_unused]] Conformance& t) {
#if defined(HAWSER)
  OwnedType type;
  OK(MPI_Type_vector(2, 1, 3, MPI_INT, type.out()));
  OK(MPI_Type_commit(type.out()));
  const char sent[8] = {};
  int got[8] = {};
  MPI_Request request;
  for (int size : {3, 7}) {
    OK(MPI_Isend(sent, size, MPI_CHAR, t.rank, 6, MPI_COMM_WORLD, &request));
    CHECK_FAILS(MPI_Recv(got, 1, type, t.rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(got, 1, type, t.rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Send(sent, size, MPI_CHAR, t.rank, 6, MPI_COMM_WORLD));
    CHECK_FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  }
  OK(MPI_Irecv(got, 1, type, t.rank, 6, MPI_COMM_WORLD, &request));
  OK(MPI_Send(sent, 4, MPI_CHAR, t.rank, 6, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
#endif
}

}  // namespace

CHAPTER(pt2pt_errors, CASE(truncation_spoils_nothing, .min_ranks = 2, .max_ranks = 2),
        CASE(truncation_by_recv_and_sendrecv, .min_ranks = 2, .max_ranks = 2),
        CASE(truncation_found_by_tests), CASE(wrong_arguments), CASE(null_communicator),
        CASE(uncommitted_type), CASE(wrong_starts), CASE(parts_of_elements), CASE(errors_leave_no_traces))

}  // namespace conformance
