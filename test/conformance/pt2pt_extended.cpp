// Generalized requests, combined send and receive under one request, and what MPI-4.1 added: buffers of
// communicators, automatic buffers, flushing, and looking at several requests.
#include "conformance.h"
#include "owned.h"

#include <vector>

namespace conformance {
namespace {

int next_of(const Conformance& t) { return (t.rank + 1) % t.size; }
int previous_of(const Conformance& t) { return (t.rank + t.size - 1) % t.size; }

struct Calls {
  int query = 0, free = 0, cancel = 0, complete_at_cancel = -1;
};
int on_query(void* state, MPI_Status* status) {
  ++static_cast<Calls*>(state)->query;
  MPI_Status_set_elements(status, MPI_INT, 7);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 3;
  status->MPI_TAG = 4;
  return MPI_SUCCESS;
}
int on_free(void* state) {
  ++static_cast<Calls*>(state)->free;
  return MPI_SUCCESS;
}
int on_cancel(void* state, int complete) {
  ++static_cast<Calls*>(state)->cancel;
  static_cast<Calls*>(state)->complete_at_cancel = complete;
  return MPI_SUCCESS;
}

void generalized(Conformance& t) {
  Calls calls;
  MPI_Request request;
  MPI_Status status;
  int flag = 1, count = 0;
  OK(MPI_Grequest_start(on_query, on_free, on_cancel, &calls, &request));
  OK(MPI_Test(&request, &flag, &status));
  CHECK(!flag);
  OK(MPI_Cancel(&request));
  CHECK_EQ(calls.cancel, 1);
  CHECK_EQ(calls.complete_at_cancel, 0);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(flag);
  CHECK_EQ(calls.query, 1);
  CHECK_EQ(calls.free, 0);
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_EQ(calls.query, 2);
  CHECK_EQ(calls.free, 1);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 7);
  CHECK_EQ(status.MPI_SOURCE, 3);
  CHECK_EQ(status.MPI_TAG, 4);
}

void generalized_freed(Conformance& t) {
  Calls calls;
  MPI_Request request;
  OK(MPI_Grequest_start(on_query, on_free, on_cancel, &calls, &request));
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_EQ(calls.free, 1);
}

#if MPI_VERSION >= 4
void combined(Conformance& t) {
  for (const int size : {0, 1, 9, 5000, 100000}) {
    const std::vector<int> data = values(size, t.rank);
    std::vector<int> into(static_cast<std::size_t>(size));
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Isendrecv(data.data(), size, MPI_INT, next_of(t), 5, into.data(), size, MPI_INT, previous_of(t),
                     MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(into == values(size, previous_of(t)));
    CHECK_EQ(status.MPI_SOURCE, previous_of(t));
    CHECK_EQ(status.MPI_TAG, 5);
    OK(MPI_Isendrecv_replace(into.data(), size, MPI_INT, previous_of(t), 6, next_of(t), 6, MPI_COMM_WORLD,
                             &request));
    OK(MPI_Wait(&request, &status));
    CHECK(into == values(size, t.rank));
    CHECK_EQ(status.MPI_SOURCE, next_of(t));
  }
}

void combined_with_nobody(Conformance& t) {
  int value = 42;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Isendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(value, 42);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}
#endif

#if MPI_VERSION >= 5
void buffer_of_communicator(Conformance& t) {
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, comm.out()));
  const int size = 5000;
  std::vector<char> buffer(static_cast<std::size_t>(size) * sizeof(int) * 2 + 2 * MPI_BSEND_OVERHEAD);
  OK(MPI_Comm_attach_buffer(comm, buffer.data(), static_cast<int>(buffer.size())));
  CHECK_FAILS(MPI_Comm_attach_buffer(comm, buffer.data(), 10), MPI_ERR_BUFFER);
  std::vector<int> data = values(size, t.rank);
  OK(MPI_Bsend(data.data(), size, MPI_INT, next_of(t), 1, comm));
  data.assign(data.size(), -1);
  std::vector<int> into(data.size());
  MPI_Request flush;
  OK(MPI_Comm_iflush_buffer(comm, &flush));
  OK(MPI_Recv(into.data(), size, MPI_INT, previous_of(t), 1, comm, MPI_STATUS_IGNORE));
  CHECK(into == values(size, previous_of(t)));
  OK(MPI_Wait(&flush, MPI_STATUS_IGNORE));
  OK(MPI_Comm_flush_buffer(comm));
  // The process has none of its own.
  CHECK_FAILS(MPI_Bsend(into.data(), 1, MPI_INT, next_of(t), 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  void* address = nullptr;
  int bytes = 0;
  OK(MPI_Comm_detach_buffer(comm, &address, &bytes));
  CHECK(address == buffer.data());
  CHECK_EQ(bytes, static_cast<int>(buffer.size()));
}

void automatic_buffer(Conformance& t) {
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  for (const int size : {1, 1000, 200000}) {
    std::vector<int> data = values(size, t.rank);
    OK(MPI_Bsend(data.data(), size, MPI_INT, next_of(t), 1, MPI_COMM_WORLD));
    data.assign(data.size(), -1);
    std::vector<int> into(data.size());
    OK(MPI_Recv(into.data(), size, MPI_INT, previous_of(t), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(into == values(size, previous_of(t)));
  }
  OK(MPI_Buffer_flush());
  void* address = nullptr;
  int bytes = -1;
  OK(MPI_Buffer_detach(&address, &bytes));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  CHECK_EQ(bytes, 0);
}

void looking_at_several(Conformance& t) {
  int into[3] = {-1, -1, -1}, sent[3] = {t.rank, t.rank + 1, t.rank + 2};
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int index = -1, flag = 1, count = -1, indices[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Irecv(&into[i], 1, MPI_INT, t.rank, i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]));
  CHECK(!flag);
  OK(MPI_Send(&sent[1], 1, MPI_INT, t.rank, 1, MPI_COMM_WORLD));
  flag = 0;
  while (flag == 0) OK(MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]));
  CHECK_EQ(index, 1);
  CHECK_EQ(statuses[0].MPI_TAG, 1);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK(!flag);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, 1);
  CHECK_EQ(indices[0], 1);
  OK(MPI_Send(&sent[0], 1, MPI_INT, t.rank, 0, MPI_COMM_WORLD));
  OK(MPI_Send(&sent[2], 1, MPI_INT, t.rank, 2, MPI_COMM_WORLD));
  flag = 0;
  while (flag == 0) OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  for (int i = 0; i < 3; ++i) CHECK_EQ(statuses[i].MPI_TAG, i);
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 3; ++i) CHECK_EQ(into[i], t.rank + i);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, MPI_UNDEFINED);
}

// Null requests give the empty status, of which the error field is a part (MPI-5.0 section 3.7.3).
void looking_at_nothing(Conformance& t) {
  MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto check_empty = [&](const MPI_Status& status) {
    int bytes = -1;
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(status.MPI_ERROR, MPI_SUCCESS);
    OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
    CHECK_EQ(bytes, 0);
  };
  MPI_Status wrong{};
  wrong.MPI_SOURCE = wrong.MPI_TAG = 1;
  wrong.MPI_ERROR = MPI_ERR_OTHER;
  MPI_Status status = wrong;
  int index = 0, flag = 0;
  OK(MPI_Request_get_status_any(2, requests, &index, &flag, &status));
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EQ(flag, 1);
  check_empty(status);
  status = wrong;
  OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  check_empty(status);
  status = wrong;
  OK(MPI_Wait(&requests[0], &status));
  check_empty(status);
  status = wrong;
  OK(MPI_Testany(2, requests, &index, &flag, &status));
  check_empty(status);
  status = wrong;
  OK(MPI_Waitany(2, requests, &index, &status));
  check_empty(status);
  MPI_Status statuses[] = {wrong, wrong};
  OK(MPI_Waitall(2, requests, statuses));
  for (const MPI_Status& each : statuses) check_empty(each);
}

// Where nobody is there is no type either, as other libraries have it.
void null_type_from_and_to_nobody(Conformance& t) {
  MPI_Request requests[2];
  MPI_Status status;
  OK(MPI_Irecv(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  OK(MPI_Sendrecv(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, nullptr, 0, MPI_DATATYPE_NULL,
                  MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  OK(MPI_Recv_init(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Start(&requests[0]));
  OK(MPI_Wait(&requests[0], &status));
  OK(MPI_Request_free(&requests[0]));
  int data = 0;
  CHECK_FAILS(MPI_Recv(&data, 0, MPI_DATATYPE_NULL, t.rank, 0, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
}
#endif

}  // namespace

#if MPI_VERSION >= 5
CHAPTER(pt2pt_extended, CASE(generalized), CASE(generalized_freed), CASE(combined),
        CASE(combined_with_nobody), CASE(buffer_of_communicator), CASE(automatic_buffer),
        CASE(looking_at_several), CASE(looking_at_nothing), CASE(null_type_from_and_to_nobody))
#elif MPI_VERSION == 4
CHAPTER(pt2pt_extended, CASE(generalized), CASE(generalized_freed), CASE(combined),
        CASE(combined_with_nobody))
#else
CHAPTER(pt2pt_extended, CASE(generalized), CASE(generalized_freed))
#endif

}  // namespace conformance
