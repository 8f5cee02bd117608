// MPI_THREAD_MULTIPLE: several threads of each process call MPI at once. Processes only; run with --threads.
#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

const int workers = 4;

// Runs body(thread) on several threads. Checks are not made by several threads at once, so bodies count their
// mistakes, and the sum is checked at the end.
void in_parallel(Conformance& t, const std::function<int(int)>& body) {
  std::atomic<int> mistakes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) threads.emplace_back([&, i] { mistakes += body(i); });
  for (auto& thread : threads) thread.join();
  CHECK_EQ(mistakes.load(), 0);
}

int wrong(int code) { return code == MPI_SUCCESS ? 0 : 1; }

void threads_are_provided(Conformance& t) {
  int level = 0, main = 0;
  OK(MPI_Query_thread(&level));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&main));
  CHECK_EQ(main, 1);
  std::atomic<int> elsewhere{-1};
  std::thread([&] {
    int flag = -1;
    MPI_Is_thread_main(&flag);
    elsewhere = flag;
  }).join();
  CHECK_EQ(elsewhere.load(), 0);
}

void ping_pong_by_tag(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  in_parallel(t, [&](int thread) {
    int mistakes = 0;
    for (int round = 0; round < 200; ++round) {
      const int size = round % 20 == 0 ? 20'000 : 1 + round % 30;
      const auto out = values(size, t.rank * 10 + thread + round);
      std::vector<int> in(static_cast<std::size_t>(size));
      mistakes += wrong(MPI_Sendrecv(out.data(), size, MPI_INT, next, thread, in.data(), size, MPI_INT,
                                     previous, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      mistakes += in != values(size, previous * 10 + thread + round);
    }
    return mistakes;
  });
}

// One thread waits in a receive while the others go on: a blocking call must not keep the rest out.
void blocked_threads_hold_nobody_up(Conformance& t) {
  in_parallel(t, [&](int thread) {
    int value = thread, got = -1, mistakes = 0;
    if (thread == 0) {
      // Sent by thread 1 of the same process, after it had its own conversation.
      mistakes += wrong(MPI_Recv(&got, 1, MPI_INT, t.rank, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      mistakes += got != 1;
    } else if (thread == 1) {
      for (int i = 0; i < 100; ++i) {
        mistakes += wrong(MPI_Sendrecv(&i, 1, MPI_INT, t.rank, 60, &got, 1, MPI_INT, t.rank, 60,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        mistakes += got != i;
      }
      mistakes += wrong(MPI_Send(&value, 1, MPI_INT, t.rank, 50, MPI_COMM_WORLD));
    } else {
      // Two threads that wait for each other.
      const int mine = 70 + thread, other = 70 + 5 - thread;
      for (int i = 0; i < 100; ++i) {
        MPI_Request request;
        mistakes += wrong(MPI_Irecv(&got, 1, MPI_INT, t.rank, mine, MPI_COMM_WORLD, &request));
        mistakes += wrong(MPI_Ssend(&i, 1, MPI_INT, t.rank, other, MPI_COMM_WORLD));
        mistakes += wrong(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mistakes += got != i;
      }
    }
    return mistakes;
  });
}

// Collectives on a communicator for each thread.
void collectives_side_by_side(Conformance& t) {
  MPI_Comm comms[workers];
  for (auto& comm : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  in_parallel(t, [&](int thread) {
    int mistakes = 0;
    for (int round = 0; round < 50; ++round) {
      int sum = -1;
      const int mine = t.rank + thread + round;
      mistakes += wrong(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[thread]));
      mistakes += sum != t.size * (t.size - 1) / 2 + t.size * (thread + round);
      int value = t.rank == round % t.size ? round : -1;
      mistakes += wrong(MPI_Bcast(&value, 1, MPI_INT, round % t.size, comms[thread]));
      mistakes += value != round;
      mistakes += wrong(MPI_Barrier(comms[thread]));
    }
    return mistakes;
  });
  for (auto& comm : comms) OK(MPI_Comm_free(&comm));
}

// Each thread initializes, starts and frees persistent operations of its own communicator.
void persistent_side_by_side(Conformance& t) {
#if MPI_VERSION >= 4
  MPI_Comm comms[workers];
  for (auto& comm : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  in_parallel(t, [&](int thread) {
    int mistakes = 0;
    for (int round = 0; round < 12; ++round) {
      int in = 0, sum = 0;
      std::vector<int> data(10'000);
      MPI_Request requests[2];
      mistakes += wrong(
          MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comms[thread], MPI_INFO_NULL, &requests[0]));
      mistakes += wrong(MPI_Bcast_init(data.data(), 10'000, MPI_INT, round % t.size, comms[thread],
                                       MPI_INFO_NULL, &requests[1]));
      for (int start = 0; start < 10; ++start) {
        in = t.rank + start;
        // In place: the requests have its address.
        std::ranges::copy(values(10'000, t.rank == round % t.size ? thread + start : -1), data.begin());
        mistakes += wrong(MPI_Start(&requests[t.rank % 2]));
        mistakes += wrong(MPI_Start(&requests[1 - t.rank % 2]));
        mistakes += wrong(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        mistakes += sum != t.size * (t.size - 1) / 2 + t.size * start;
        mistakes += data != values(10'000, thread + start);
      }
      for (MPI_Request& request : requests) mistakes += wrong(MPI_Request_free(&request));
    }
    return mistakes;
  });
  for (auto& comm : comms) OK(MPI_Comm_free(&comm));
#endif
}

// Threads make communicators at the same time, each from its own: context ids must be agreed upon.
void communicators_made_side_by_side(Conformance& t) {
  MPI_Comm comms[workers];
  for (auto& comm : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  in_parallel(t, [&](int thread) {
    int mistakes = 0;
    for (int round = 0; round < 20; ++round) {
      MPI_Comm copy = MPI_COMM_NULL, half = MPI_COMM_NULL;
      mistakes += wrong(MPI_Comm_dup(comms[thread], &copy));
      mistakes += wrong(MPI_Comm_split(copy, t.rank % 2, 0, &half));
      int sum = -1, one = 1;
      mistakes += wrong(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half));
      mistakes += sum != (t.size + 1 - t.rank % 2) / 2;
      mistakes += wrong(MPI_Comm_free(&half));
      mistakes += wrong(MPI_Comm_free(&copy));
    }
    return mistakes;
  });
  for (auto& comm : comms) OK(MPI_Comm_free(&comm));
}

// A message that one thread probes must not be taken by another: matched probes by all threads at once.
void matched_probes_by_all(Conformance& t) {
  const int per_thread = 50, total = workers * per_thread;
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  std::vector<std::atomic<int>> seen(total);
  std::vector<int> data(total);
  std::iota(data.begin(), data.end(), 0);
  std::vector<MPI_Request> requests(total);
  for (int i = 0; i < total; ++i) {
    const auto at = static_cast<std::size_t>(i);
    OK(MPI_Isend(&data[at], 1, MPI_INT, next, 80, MPI_COMM_WORLD, &requests[at]));
  }
  in_parallel(t, [&](int) {
    int mistakes = 0;
    for (int i = 0; i < per_thread; ++i) {
      MPI_Message message;
      int got = -1;
      mistakes += wrong(MPI_Mprobe(previous, 80, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      mistakes += wrong(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
      if (got < 0 || got >= total) {
        ++mistakes;
      } else {
        ++seen[static_cast<std::size_t>(got)];
      }
    }
    return mistakes;
  });
  OK(MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE));
  for (const auto& times : seen) CHECK_EQ(times.load(), 1);
}

// One thread waits for requests that others complete by their messages.
void waiting_in_one_thread_for_another(Conformance& t) {
  in_parallel(t, [&](int thread) {
    int mistakes = 0;
    for (int round = 0; round < 50; ++round) {
      if (thread % 2 == 0) {
        int got[8] = {};
        MPI_Request requests[8];
        for (int i = 0; i < 8; ++i)
          mistakes +=
              wrong(MPI_Irecv(&got[i], 1, MPI_INT, t.rank, thread * 100 + i, MPI_COMM_WORLD, &requests[i]));
        mistakes += wrong(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 8; ++i) mistakes += got[i] != round + i;
      } else {
        for (int i = 7; i >= 0; --i) {
          const int value = round + i;
          mistakes += wrong(MPI_Send(&value, 1, MPI_INT, t.rank, (thread - 1) * 100 + i, MPI_COMM_WORLD));
        }
      }
    }
    return mistakes;
  });
}

}  // namespace

CHAPTER(threads_together, CASE(threads_are_provided, .threads = true),
        CASE(ping_pong_by_tag, .threads = true), CASE(blocked_threads_hold_nobody_up, .threads = true),
        CASE(collectives_side_by_side, .threads = true), CASE(persistent_side_by_side, .threads = true),
        CASE(communicators_made_side_by_side, .threads = true), CASE(matched_probes_by_all, .threads = true),
        CASE(waiting_in_one_thread_for_another, .threads = true))

}  // namespace conformance
