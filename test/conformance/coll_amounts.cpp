// Collectives whose ranks do not agree on how much moves. A program that does that is wrong; it hears of it,
// and can go on.
#include <vector>

#include "conformance.h"

namespace conformance {
namespace {

[[maybe_unused]] void in_step(Conformance& t) {
  int sum = 0;
  OK(MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, t.size * (t.size - 1) / 2);
}

// All ranks but the root hear of it.
void bcast_of_other_amounts([[maybe_unused]] Conformance& t) {
#if defined(HAWSER)
  for (bool blocking : {true, false}) {
    for (int n : {1, 10}) {
      std::vector<int> data(10, t.rank);
      const int amount = t.rank == 0 ? n : 11 - n;
      MPI_Request request = MPI_REQUEST_NULL;
      const auto move = [&] {
        return blocking ? MPI_Bcast(data.data(), amount, MPI_INT, 0, MPI_COMM_WORLD)
                        : MPI_Ibcast(data.data(), amount, MPI_INT, 0, MPI_COMM_WORLD, &request);
      };
      if (t.rank == 0) {
        OK(move());
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      } else if (blocking) {
        CHECK_FAILS(move(), MPI_ERR_TRUNCATE);
      } else {
        OK(move());
        CHECK_FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      }
      in_step(t);
    }
  }
#endif
}

// Rank 0 has more or less for rank 1 than that expects, which alone hears of it.
void alltoallv_of_other_amounts([[maybe_unused]] Conformance& t) {
#if defined(HAWSER)
  if (t.size < 2) return;
  const auto n = static_cast<std::size_t>(t.size);
  for (const int sent : {1, 100, 5000, 30000}) {
    for (const int wanted : {1, 99, 101, 4000, 31000}) {
      std::vector<int> to(n), from(n), places(n), data(30000, 7), in(31001, -1);
      if (t.rank == 0) to[1] = sent;
      if (t.rank == 1) from[0] = wanted;
      const int code = MPI_Alltoallv(data.data(), to.data(), places.data(), MPI_INT, in.data(), from.data(),
                                     places.data(), MPI_INT, MPI_COMM_WORLD);
      if (t.rank == 1 && sent != wanted)
        CHECK_FAILS(code, MPI_ERR_TRUNCATE);
      else
        OK(code);
      CHECK_EQ(in[t.rank == 1 ? static_cast<std::size_t>(wanted) : 0], -1);
      in_step(t);
    }
  }
#endif
}

}  // namespace

CHAPTER(coll_amounts, CASE(bcast_of_other_amounts), CASE(alltoallv_of_other_amounts))

}  // namespace conformance
