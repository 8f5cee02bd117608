// A kernel that communicates as NAS SP does (S06, figure 7 b): ranks of a torus exchange their faces while
// they compute the interior, and then solve along each dimension in a pipeline, in which a rank prepares its
// cell while the boundary of the cell before it is on its way. How long are they in MPI_Wait?
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "testbed/simulator/simulation.h"

namespace hawser::neighbour_exchange {

constexpr int iterations = 20, face = 160 << 10, boundary = 96 << 10;
// Without the network: a rank computes 2 ms in an iteration, more or less by a tenth.
constexpr Nanoseconds interior = 800 * microsecond, prepare = 150 * microsecond,
                      eliminate = 150 * microsecond;

class SolverRank {
 public:
  SolverRank(SimulatedRank& rank, int side)
      : rank_(rank),
        side_(side),
        random_(static_cast<std::uint64_t>(rank.rank()) + 1),
        out_(4, std::vector<char>(face)),
        in_(out_) {}

  double run() {
    for (int iteration = 0; iteration < iterations; ++iteration) {
      exchange_faces();
      for (const int dimension : {0, 1}) {
        sweep(dimension, 1);
        sweep(dimension, -1);
      }
    }
    return waited_;
  }

 private:
  int neighbour(int dimension, int step) const {
    const int x = rank_.rank() % side_, y = rank_.rank() / side_;
    return dimension == 0 ? y * side_ + (x + step + side_) % side_ : (y + step + side_) % side_ * side_ + x;
  }

  void compute(Nanoseconds about) {
    const double share = 0.9 + 0.2 * random_.uniform();
    rank_.compute(static_cast<Nanoseconds>(share * static_cast<double>(about)));
  }

  void wait(int count, MPI_Request* requests) {
    const double begin = MPI_Wtime();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    waited_ += MPI_Wtime() - begin;
  }

  void exchange_faces() {
    constexpr int faces = 4;
    MPI_Request requests[2 * faces];
    for (int i = 0; i < faces; ++i)
      MPI_Irecv(in_[static_cast<std::size_t>(i)].data(), face, MPI_BYTE,
                neighbour(i / 2, i % 2 == 0 ? 1 : -1), i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < faces; ++i)
      MPI_Isend(out_[static_cast<std::size_t>(i)].data(), face, MPI_BYTE,
                neighbour(i / 2, i % 2 == 0 ? -1 : 1), i, MPI_COMM_WORLD, &requests[faces + i]);
    compute(interior);
    wait(2 * faces, requests);
  }

  // In the multi-partition scheme every rank has a cell in every stage; each but the first needs the boundary
  // that the cell before it sent.
  void sweep(int dimension, int step) {
    MPI_Request received = MPI_REQUEST_NULL, sent = MPI_REQUEST_NULL;
    for (int stage = 0; stage < side_; ++stage) {
      if (stage > 0)
        MPI_Irecv(in_[0].data(), boundary, MPI_BYTE, neighbour(dimension, -step), 9, MPI_COMM_WORLD,
                  &received);
      compute(prepare);
      MPI_Request both[] = {received, sent};
      wait(2, both);
      received = sent = MPI_REQUEST_NULL;
      compute(eliminate);
      if (stage + 1 < side_)
        MPI_Isend(out_[0].data(), boundary, MPI_BYTE, neighbour(dimension, step), 9, MPI_COMM_WORLD, &sent);
    }
  }

  SimulatedRank& rank_;
  const int side_;
  Random random_;
  std::vector<std::vector<char>> out_, in_;
  double waited_ = 0;
};

struct Times {
  double waited = 0, whole = 0;  // seconds; the first of an average rank
  std::string failure;           // of the job
};

inline Times run(int side, const SimulationOptions& options) {
  Times times;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    times.waited += SolverRank(self, side).run() / self.size();
    MPI_Barrier(MPI_COMM_WORLD);
    times.whole = MPI_Wtime() - begin;
    MPI_Finalize();
  });
  if (!outcome.finished()) times.failure = outcome.report;
  return times;
}

}  // namespace hawser::neighbour_exchange
