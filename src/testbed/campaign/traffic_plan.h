// TrafficPlan: a random MPI program, drawn from a seed. All ranks draw the same plan and carry out their part
// of it (traffic.h). It is free of deadlock by construction: within a phase, a blocking send has a receive
// that its receiver posts before it waits for anything, and no phase waits for a later one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "testbed/campaign/epoch_plan.h"
#include "testbed/campaign/window_plan.h"

namespace hawser {

struct PlannedMessage {
  enum class Send : std::uint8_t { send, synchronous, immediate, immediate_synchronous };
  enum class Receive : std::uint8_t {
    posted,         // before the rank sends anything in this phase
    late,           // MPI_Recv after the rank's sends
    probed,         // MPI_Probe, then MPI_Recv
    matched_probe,  // MPI_Mprobe, then MPI_Mrecv
    polled,         // MPI_Iprobe until it is there, then MPI_Recv
  };
  enum class Layout : std::uint8_t { contiguous, strided, scattered };

  int source = 0;
  int destination = 0;
  int tag = 0;
  std::int32_t bytes = 0;
  Send send = Send::immediate;
  Receive receive = Receive::posted;
  Layout send_layout = Layout::contiguous;
  Layout receive_layout = Layout::contiguous;
  bool any_source = false;
  std::uint64_t key = 0;  // of the payload
};

struct PlannedCollective {
  enum class Kind : std::uint8_t {
    barrier,
    broadcast,
    allreduce,
    alltoall,
    allgather,
    reduce,
    immediate_broadcast,  // with the phase's messages under way
    immediate_allreduce,
    immediate_barrier,
  };
  Kind kind = Kind::barrier;
  int root = 0;
  std::int32_t count = 0;  // bytes; of reductions 64-bit integers
  std::uint64_t key = 0;
};

struct PlannedPhase {
  enum class Completion : std::uint8_t { wait_all, wait_any, test_some };
  std::vector<PlannedMessage> messages;
  std::vector<PlannedCollective> collectives;
  Completion completion = Completion::wait_all;
  Nanoseconds most_computing = 0;  // each rank computes for up to so long before the phase
  Nanoseconds most_aside = 0;      // and now and then for up to so long while messages are under way
  bool reuse_buffers = false;
  int stopped = -1;  // this rank computes for `stop` before the phase
  Nanoseconds stop = 0;
  // Ranks that are a multiple of this compute for `late` before each collective operation; 0: none.
  int late_every = 0;
  Nanoseconds late = 0;
  std::string describe() const;
};

struct TrafficPlan {
  std::vector<PlannedPhase> phases;
  WindowPlan windows;
  EpochPlan epochs;
  // A rendezvous that its sender waits for takes no longer once its receive is posted, whatever the receiver
  // does. 0: nobody knows.
  Nanoseconds longest_send = 0;
  std::int32_t rendezvous = 0;  // messages of more bytes are one
  std::uint64_t messages() const;
};

struct TrafficShape {
  int ranks = 2;
  int phases = 8;
  int messages_per_phase = 12;     // at most
  std::int32_t largest = 65536;    // bytes
  std::int32_t rendezvous = 8192;  // sizes around it are likely
  Nanoseconds most_computing = 100'000;
};

TrafficPlan draw_traffic(const TrafficShape& shape, Random& random);

}  // namespace hawser
