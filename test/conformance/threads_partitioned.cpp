// Partitions made ready, and asked for, by several threads at once (MPI-5.0 section 4.2).
#include <atomic>
#include <thread>
#include <vector>

#include "conformance.h"

namespace conformance {

#if MPI_VERSION >= 4
namespace {

constexpr int threads = 4;

void threads_fill_partitions(Conformance& t) {
  constexpr int each = 8, count = 3000, partitions = threads * each;
  const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
  std::vector<int> out(partitions * count), in(out.size());
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  OK(MPI_Psend_init(out.data(), partitions, count, MPI_INT, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in.data(), partitions, count, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  for (int round = 0; round < 10; ++round) {
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        // Partitions of a thread are not neighbours, so that threads complete messages together.
        for (int p = thread; p < partitions; p += threads) {
          for (int i = p * count; i < (p + 1) * count; ++i)
            out[static_cast<std::size_t>(i)] = value_at(i, t.rank + round);
          wrong += MPI_Pready(p, send) != MPI_SUCCESS;
        }
        for (int p = thread; p < partitions; p += threads) {
          for (int flag = 0; !flag;) wrong += MPI_Parrived(receive, p, &flag) != MPI_SUCCESS;
          for (int i = p * count; i < (p + 1) * count; ++i)
            wrong += in[static_cast<std::size_t>(i)] != value_at(i, from + round);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    CHECK_EQ(wrong.load(), 0);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

}  // namespace

CHAPTER(threads_partitioned, CASE(threads_fill_partitions, .threads = true))
#else
CHAPTER(threads_partitioned, Case{.name = "none", .body = [](Conformance&) {}})
#endif

}  // namespace conformance
