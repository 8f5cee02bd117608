// NetworkCost: what a message costs in the simulator, declared in a few numbers (in the manner of LogGP). All
// integers, so that two machines compute the same times.
//
// A message of b bytes keeps the sender's processor busy for `overhead`, its adapter for
// max(gap, b * picoseconds_per_byte / 1000), travels for `latency`, keeps the receiver's adapter busy as
// long, and costs the receiver's processor `overhead` when it is taken out. Ranks of one virtual node
// have a path of their own beside the network's. Computing costs nothing unless the rank says so.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace hawser {

struct PathCost {
  Nanoseconds latency = 0;
  Nanoseconds gap = 0;                    // from one message to the next, at each end
  std::int64_t picoseconds_per_byte = 0;  // 80 is 12.5 GB/s

  // At least 1, so that the packets of a pair come in at different times.
  Nanoseconds occupancy(std::int64_t bytes) const {
    const Nanoseconds transfer = (bytes * picoseconds_per_byte + 999) / 1000;
    return std::max<Nanoseconds>({transfer, gap, 1});
  }
};

struct NetworkCost {
  PathCost network{1200, 100, 80};
  PathCost node{150, 20, 60};        // between ranks of one virtual node
  Nanoseconds overhead = 200;        // processor time per message, at each end
  Nanoseconds empty_poll = 50;       // of a pass that finds nothing, when passes follow each other
  std::int64_t eager_limit = 16384;  // bytes; longer messages are exposed and fetched
  // Eager messages longer than this are reported in two pieces, as they come in; 0: always in one. At least
  // Transport::one_piece where there are windows, which rely on that.
  std::int64_t one_piece_limit = 0;
  // Packets on their way to one peer, not yet taken out, before the channel says that there is no room.
  std::int32_t window = 1024;
  // Up to this fraction is added to latency and overhead of each message, at random from the seed.
  double jitter = 0;
};

// What messages within a node copy, and what is reduced from them, of the processor's time, in picoseconds a
// byte. Measured between two cores of Zen 5 that share an L3, of 4 KiB to 1 MiB, in processes: to send 8 KiB
// takes 45 and to receive what is there 50; an exposed message 54 to 82; a reduction by messages 66 to 110
// more than a broadcast. 50 and 50 are what 16 KiB took where areas were measured.
struct MessageCopies {
  std::int64_t in = 50;       // by the sender of an eager message, in pieces
  std::int64_t out = 50;      // by its receiver, once a piece is there
  std::int64_t fetched = 62;  // by the receiver of an exposed message
  std::int64_t reduced = 80;
  std::int64_t within = 60;   // by a collective algorithm, within its rank's memory
  Nanoseconds begun = 3;      // for each of these
  std::int64_t piece = 8192;  // bytes

  static Nanoseconds time(std::int64_t bytes, std::int64_t picoseconds) { return bytes * picoseconds / 1000; }
};

// What the areas cost that the ranks of a node share for collectives (channel/shared_areas.h). Measured
// between two cores of Zen 5: a barrier takes 0.32 us, a broadcast 0.38 us of 8 B, 2.2 us of 16 KiB and 80 us
// of 1 MiB.
struct AreaCost {
  Nanoseconds flag = 60;   // to write a line that others wait for
  Nanoseconds line = 100;  // to read one that another rank wrote
  Nanoseconds wait = 150;  // more, if it was not there at first
  // Into an area, and out of one; 60 is 16.7 GB/s.
  std::int64_t in_picoseconds_per_byte = 60;
  std::int64_t out_picoseconds_per_byte = 60;
  MessageCopies messages;  // so that neither way is cheaper only because it is not charged
};

// What verbs calls cost a rank's processor; the time on the network is the fabric's own.
struct VerbsCost {
  Nanoseconds call = 1000;  // a system call: objects, queries
  // Of a queue pair on its way from nothing to ready to send, all steps together; it goes in a quarter of it.
  // 0: each step is a call like others.
  Nanoseconds queue_pair = 0;
  Nanoseconds registration =
      1000;               // of memory, and its end; 0: as with buffers that the registration cache has
  Nanoseconds post = 80;  // a doorbell
  // Each list of requests has a doorbell of its own, as with real adapters, and comes to the adapter when its
  // rank's processor has got so far. Else what is posted before an earlier doorbell of the queue pair rings
  // goes with it, earlier than its processor posts it, and takes no time.
  bool doorbell_per_post = false;
  // Then each request after a list's first takes this: an estimate, of 80 instructions of the library and the
  // adapter's own, of which 1,027 are taken to be 250 ns.
  Nanoseconds further_request = 20;
  Nanoseconds completion = 60;  // one that is polled
  // An interrupt: from the completion to the first instruction of its handler, and back. Also of a rank that
  // is in a call of MPI, for whom it is of no use.
  Nanoseconds interrupt = 2000;
};

}  // namespace hawser
