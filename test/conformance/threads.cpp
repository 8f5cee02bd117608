// Several threads of a process in MPI at once (MPI-5.0 section 11.6): blocking calls must not keep other
// threads out, and messages find their thread by communicator, tag and request. Threads only gather what
// they saw; the case's own thread checks it, because the frame is not for threads.
#include "conformance.h"
#include "owned.h"

#include <atomic>
#include <thread>
#include <vector>

namespace conformance {
namespace {

constexpr int threads_per_rank = 4;

// Runs body(thread number) on several threads; the sum of what they return.
template <class Body>
int run_threads(int threads, Body&& body) {
  std::atomic<int> mistakes{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&, i] { mistakes += body(i); });
  for (std::thread& thread : running) thread.join();
  return mistakes;
}

int next_of(const Conformance& t) { return (t.rank + 1) % t.size; }
int previous_of(const Conformance& t) { return (t.rank + t.size - 1) % t.size; }

void level_is_multiple(Conformance& t) {
  int provided = 0, is_main = 0;
  OK(MPI_Query_thread(&provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&is_main));
  CHECK(is_main);
  CHECK_EQ(run_threads(2,
                       [](int) {
                         int here = 1;
                         MPI_Is_thread_main(&here);
                         return here;
                       }),
           0);
}

// A thread that waits in MPI_Recv must let the one in that sends what it waits for.
void receive_waits_for_own_thread(Conformance& t) {
  const int mistakes = run_threads(2, [&](int thread) {
    int wrong = 0;
    for (int i = 0; i < 200; ++i) {
      int value = -1;
      if (thread == 0) {
        MPI_Recv(&value, 1, MPI_INT, t.rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += value != i;
        MPI_Ssend(&value, 1, MPI_INT, t.rank, 2, MPI_COMM_WORLD);
      } else {
        MPI_Ssend(&i, 1, MPI_INT, t.rank, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, t.rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += value != i;
      }
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
}

void rings_by_tag(Conformance& t) {
  const int mistakes = run_threads(threads_per_rank, [&](int thread) {
    int wrong = 0;
    for (int i = 0; i < 100; ++i) {
      const int size = (i % 5) * 5000 + thread;
      const std::vector<int> data = values(size, t.rank * 1000 + thread * 100 + i);
      std::vector<int> into(static_cast<std::size_t>(size));
      MPI_Request requests[2];
      MPI_Irecv(into.data(), size, MPI_INT, previous_of(t), thread, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(data.data(), size, MPI_INT, next_of(t), thread, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      wrong += into != values(size, previous_of(t) * 1000 + thread * 100 + i);
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
}

void rings_by_communicator(Conformance& t) {
  std::vector<OwnedComm> comms(threads_per_rank);
  for (OwnedComm& comm : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, comm.out()));
  const int mistakes = run_threads(threads_per_rank, [&](int thread) {
    int wrong = 0;
    const MPI_Comm comm = comms[static_cast<std::size_t>(thread)];
    for (int i = 0; i < 100; ++i) {
      int sent = t.rank * 100 + i, value = -1;
      MPI_Sendrecv(&sent, 1, MPI_INT, next_of(t), 0, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                   MPI_STATUS_IGNORE);
      wrong += value != previous_of(t) * 100 + i;
      int sum = 0;
      MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
      wrong += sum != i * t.size;
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
}

// All threads take from the same pot; a matched probe gives each message to one of them.
void matched_probes_share(Conformance& t) {
  constexpr int per_thread = 50;
  std::atomic<int> sum{0};
  const int mistakes = run_threads(threads_per_rank, [&](int) {
    int wrong = 0;
    for (int i = 0; i < per_thread; ++i) {
      const int length = 1 + i % 7;
      const std::vector<int> data(static_cast<std::size_t>(length), length);
      MPI_Send(data.data(), length, MPI_INT, next_of(t), 5, MPI_COMM_WORLD);
      MPI_Message message;
      MPI_Status status;
      int count = 0;
      MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      std::vector<int> into(static_cast<std::size_t>(count));
      MPI_Mrecv(into.data(), count, MPI_INT, &message, MPI_STATUS_IGNORE);
      for (const int value : into) wrong += value != count;
      sum += count;
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
  int expected = 0;
  for (int i = 0; i < per_thread; ++i) expected += threads_per_rank * (1 + i % 7);
  int total = 0, mine = sum;
  OK(MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(total, expected * t.size);
}

// Some threads poll while others block.
void testers_among_waiters(Conformance& t) {
  const int mistakes = run_threads(threads_per_rank, [&](int thread) {
    int wrong = 0;
    for (int i = 0; i < 100; ++i) {
      int sent = i * 10 + thread, value = -1, flag = 0, index = -1;
      MPI_Request requests[2];
      MPI_Irecv(&value, 1, MPI_INT, previous_of(t), 10 + thread, MPI_COMM_WORLD, &requests[0]);
      MPI_Issend(&sent, 1, MPI_INT, next_of(t), 10 + thread, MPI_COMM_WORLD, &requests[1]);
      if (thread % 2 == 0) {
        while (flag == 0) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      } else {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      }
      wrong += value != sent;
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
}

// Communicators are made and freed by several threads at the same time, each from its own parent.
void communicators_come_and_go(Conformance& t) {
  std::vector<OwnedComm> parents(threads_per_rank);
  for (OwnedComm& comm : parents) OK(MPI_Comm_dup(MPI_COMM_WORLD, comm.out()));
  const int mistakes = run_threads(threads_per_rank, [&](int thread) {
    int wrong = 0;
    for (int i = 0; i < 20; ++i) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_dup(parents[static_cast<std::size_t>(thread)], &comm);
      int sent = t.rank + i, value = -1;
      MPI_Sendrecv(&sent, 1, MPI_INT, next_of(t), 3, &value, 1, MPI_INT, previous_of(t), 3, comm,
                   MPI_STATUS_IGNORE);
      wrong += value != previous_of(t) + i;
      MPI_Comm_free(&comm);
    }
    return wrong;
  });
  CHECK_EQ(mistakes, 0);
}

}  // namespace

CHAPTER(threads, CASE(level_is_multiple, .threads = true),
        CASE(receive_waits_for_own_thread, .threads = true), CASE(rings_by_tag, .threads = true),
        CASE(rings_by_communicator, .threads = true), CASE(matched_probes_share, .threads = true),
        CASE(testers_among_waiters, .threads = true), CASE(communicators_come_and_go, .threads = true))

}  // namespace conformance
