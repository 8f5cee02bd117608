// Threads that each have a communicator of their own, so that an MPI may let them work side by side: whatever
// they do there at once, what belongs to the process (buffers, datatypes, requests of several communicators)
// must come to no harm. Threads only gather what they saw; the case's own thread checks it.
#include "conformance.h"
#include "owned.h"

#include <atomic>
#include <thread>
#include <vector>

namespace conformance {
namespace {

constexpr int threads_per_rank = 3;

class Apart {
 public:
  Apart(const Conformance& t, int messages)
      : next((t.rank + 1) % t.size), previous((t.rank + t.size - 1) % t.size), messages_(messages) {
    for (MPI_Comm& comm : comms_) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  ~Apart() {
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }
  Apart(const Apart&) = delete;

  // exchange(communicator, number) on each thread, so often; answers how many went wrong.
  template <class Exchange>
  int run(Exchange&& exchange) {
    std::atomic<int> mistakes{0};
    std::vector<std::thread> threads;
    for (const MPI_Comm comm : comms_)
      threads.emplace_back([&, comm] {
        for (int i = 0; i < messages_; ++i) mistakes += exchange(comm, i) ? 0 : 1;
      });
    for (std::thread& thread : threads) thread.join();
    return mistakes;
  }
  MPI_Comm comm(int thread) const { return comms_[static_cast<std::size_t>(thread)]; }

  const int next, previous;

 private:
  const int messages_;
  MPI_Comm comms_[threads_per_rank];
};

void every_size(Conformance& t) {
  Apart apart(t, 40);
  const std::vector<int> sizes = message_sizes();
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    const int size = sizes[static_cast<std::size_t>(i) % sizes.size()];
    const std::vector<unsigned char> data = bytes(size, t.rank + i);
    std::vector<unsigned char> into(static_cast<std::size_t>(size));
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(into.data(), size, MPI_BYTE, apart.previous, i, comm, &request);
    MPI_Send(data.data(), size, MPI_BYTE, apart.next, i, comm);
    MPI_Wait(&request, &status);
    return into == bytes(size, apart.previous + i) && status.MPI_SOURCE == apart.previous &&
           status.MPI_TAG == i;
  }),
           0);
}

void any_source_after_a_probe(Conformance& t) {
  Apart apart(t, 100);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    int value = -1, flag = 0;
    MPI_Status status;
    MPI_Send(&i, 1, MPI_INT, apart.next, i, comm);
    if (i % 2 == 0)
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    else
      while (flag == 0) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    const bool good = status.MPI_SOURCE == apart.previous && status.MPI_TAG == i;
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    return good && value == i;
  }),
           0);
}

void matched_probes(Conformance& t) {
  Apart apart(t, 100);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    int value = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Send(&i, 1, MPI_INT, apart.next, 3, comm);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    return value == i && message == MPI_MESSAGE_NULL;
  }),
           0);
}

// The threads share one datatype, which each message in pieces keeps.
void one_datatype(Conformance& t) {
  Apart apart(t, 60);
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(500, 1, 2, MPI_INT, &every_other));
  OK(MPI_Type_commit(&every_other));
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    const std::vector<int> data = values(1000, t.rank + i);
    const std::vector<int> expected = values(1000, apart.previous + i);
    std::vector<int> into(1000, -1);
    MPI_Request requests[2];
    MPI_Irecv(into.data(), 1, every_other, apart.previous, 0, comm, &requests[0]);
    if (i % 2 == 0) {
      MPI_Isend(data.data(), 1, every_other, apart.next, 0, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Ssend(data.data(), 1, every_other, apart.next, 0, comm);
      int done = 0;
      while (done == 0) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
    bool good = true;
    for (std::size_t k = 0; k < 1000; ++k) good &= into[k] == (k % 2 == 0 ? expected[k] : -1);
    return good;
  }),
           0);
  OK(MPI_Type_free(&every_other));
}

// All take from one buffer, and give back while others take.
void one_buffer(Conformance& t) {
  Apart apart(t, 60);
  constexpr int size = 30000;
  std::vector<unsigned char> room(static_cast<std::size_t>(threads_per_rank * 2) *
                                  (size + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())));
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    const std::vector<unsigned char> data = bytes(size, t.rank + i);
    std::vector<unsigned char> into(size);
    if (MPI_Bsend(data.data(), size, MPI_BYTE, apart.next, 0, comm) != MPI_SUCCESS) return false;
    MPI_Recv(into.data(), size, MPI_BYTE, apart.previous, 0, comm, MPI_STATUS_IGNORE);
    // Everybody's has left its buffer before the next one takes room.
    MPI_Barrier(comm);
    return into == bytes(size, apart.previous + i);
  }),
           0);
  void* address = nullptr;
  int bytes_there = 0;
  OK(MPI_Buffer_detach(&address, &bytes_there));
  CHECK(address == room.data());
}

void both_in_one_request(Conformance& t) {
  Apart apart(t, 60);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    const std::vector<int> data = values(20000, t.rank + i);
    std::vector<int> into(20000);
    MPI_Request request;
    MPI_Isendrecv(data.data(), 20000, MPI_INT, apart.next, 0, into.data(), 20000, MPI_INT, apart.previous, 0,
                  comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    std::vector<int> replaced = data;
    MPI_Sendrecv_replace(replaced.data(), 20000, MPI_INT, apart.next, 1, apart.previous, 1, comm,
                         MPI_STATUS_IGNORE);
    return into == values(20000, apart.previous + i) && replaced == into;
  }),
           0);
}

void persistent_ones(Conformance& t) {
  Apart apart(t, 10);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    int sent = 0, value = -1;
    bool good = true;
    MPI_Request requests[2];
    MPI_Recv_init(&value, 1, MPI_INT, apart.previous, i, comm, &requests[0]);
    MPI_Send_init(&sent, 1, MPI_INT, apart.next, i, comm, &requests[1]);
    for (sent = 0; sent < 10; ++sent) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      good &= value == sent;
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
    return good;
  }),
           0);
}

// Requests that their thread gives up at once, of data in pieces: the datatype is theirs until they end.
void given_up_requests(Conformance& t) {
  Apart apart(t, 60);
  std::vector<int> data[threads_per_rank];
  for (std::vector<int>& numbers : data) numbers = values(40000, t.rank);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int) {
    MPI_Datatype pieces;
    MPI_Type_vector(10000, 2, 4, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Request request;
    MPI_Isend(data[0].data(), 1, pieces, apart.next, 0, comm, &request);
    MPI_Request_free(&request);
    MPI_Type_free(&pieces);
    std::vector<int> into(20000);
    MPI_Recv(into.data(), 20000, MPI_INT, apart.previous, 0, comm, MPI_STATUS_IGNORE);
    const std::vector<int> expected = values(40000, apart.previous);
    bool good = true;
    for (std::size_t k = 0; k < 20000; ++k) good &= into[k] == expected[k / 2 * 4 + k % 2];
    return good;
  }),
           0);
  // Only what all have received has left the data.
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// One thread waits for requests of all communicators and of MPI_COMM_WORLD.
void requests_of_several(Conformance& t) {
  Apart apart(t, 1);
  for (int i = 0; i < 50; ++i) {
    int into[threads_per_rank + 1];
    MPI_Request requests[threads_per_rank + 1];
    const auto comm_of = [&](int k) { return k < threads_per_rank ? apart.comm(k) : MPI_COMM_WORLD; };
    for (int k = 0; k <= threads_per_rank; ++k)
      OK(MPI_Irecv(&into[k], 1, MPI_INT, apart.previous, 7, comm_of(k), &requests[k]));
    for (int k = threads_per_rank; k >= 0; --k) {
      const int value = i * 10 + k;
      OK(MPI_Send(&value, 1, MPI_INT, apart.next, 7, comm_of(k)));
    }
    if (i % 3 == 0) {
      OK(MPI_Waitall(threads_per_rank + 1, requests, MPI_STATUSES_IGNORE));
    } else if (i % 3 == 1) {
      for (int found = 0, which = 0; found <= threads_per_rank; ++found) {
        OK(MPI_Waitany(threads_per_rank + 1, requests, &which, MPI_STATUS_IGNORE));
        CHECK(which != MPI_UNDEFINED);
      }
    } else {
      for (int done = 0; done == 0;)
        OK(MPI_Testall(threads_per_rank + 1, requests, &done, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k <= threads_per_rank; ++k) CHECK_EQ(into[k], i * 10 + k);
  }
}

// Freed while a message is under way, and another takes its place.
void freed_under_way(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (int i = 0; i < 20; ++i) {
    const std::vector<int> data = values(50000, t.rank + i);
    std::vector<int> into(50000);
    MPI_Comm comm;
    MPI_Request requests[2];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(into.data(), 50000, MPI_INT, previous, 0, comm, &requests[0]));
    OK(MPI_Isend(data.data(), 50000, MPI_INT, next, 0, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(into == values(50000, previous + i));
  }
}

// Communicators that come and go while other threads use theirs.
void made_beside(Conformance& t) {
  Apart apart(t, 20);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    MPI_Comm inner;
    int value = -1;
    MPI_Comm_dup(comm, &inner);
    MPI_Sendrecv(&i, 1, MPI_INT, apart.next, 0, &value, 1, MPI_INT, apart.previous, 0, inner,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&inner);
    return value == i;
  }),
           0);
}

void errors_of_each(Conformance& t) {
  Apart apart(t, 20);
  for (int k = 0; k < threads_per_rank; ++k) OK(MPI_Comm_set_errhandler(apart.comm(k), MPI_ERRORS_RETURN));
  CHECK_EQ(apart.run([&](MPI_Comm comm, int i) {
    const int data[2] = {i, i};
    int into = -1, error_class = MPI_SUCCESS;
    MPI_Send(data, 2, MPI_INT, apart.next, 0, comm);
    MPI_Status status;
    MPI_Error_class(MPI_Recv(&into, 1, MPI_INT, apart.previous, 0, comm, &status), &error_class);
    if (error_class != MPI_ERR_TRUNCATE) return false;
    MPI_Request request;
    MPI_Irecv(&into, 1, MPI_INT, apart.previous, 1, comm, &request);
    MPI_Send(data, 2, MPI_INT, apart.next, 1, comm);
    MPI_Error_class(MPI_Wait(&request, &status), &error_class);
    if (error_class != MPI_ERR_TRUNCATE) return false;
    MPI_Error_class(MPI_Send(data, 1, MPI_INT, t.size + 5, 0, comm), &error_class);
    if (error_class != MPI_ERR_RANK) return false;
    MPI_Error_class(MPI_Send(data, -1, MPI_INT, apart.next, 0, comm), &error_class);
    return error_class == MPI_ERR_COUNT;
  }),
           0);
}

void cancelled_receives(Conformance& t) {
  Apart apart(t, 60);
  CHECK_EQ(apart.run([&](MPI_Comm comm, int) {
    int into = -1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&into, 1, MPI_INT, apart.previous, 9, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    return cancelled != 0;
  }),
           0);
}

}  // namespace

CHAPTER(threads_apart, CASE(every_size, .threads = true), CASE(any_source_after_a_probe, .threads = true),
        CASE(matched_probes, .threads = true), CASE(one_datatype, .threads = true),
        CASE(one_buffer, .threads = true), CASE(both_in_one_request, .threads = true),
        CASE(persistent_ones, .threads = true), CASE(given_up_requests, .threads = true),
        CASE(requests_of_several, .threads = true), CASE(freed_under_way, .threads = true),
        CASE(made_beside, .threads = true), CASE(errors_of_each, .threads = true),
        CASE(cancelled_receives, .threads = true))

}  // namespace conformance
