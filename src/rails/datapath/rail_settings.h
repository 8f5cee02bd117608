// RailSettings: what whoever opens the rails of a process says about it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "channel/transport.h"
#include "os/memory_watch.h"
#include "os/thread_use.h"
#include "rails/status/status_table.h"

namespace hawser {

struct RailSettings {
  ProcessIndex self = 0;
  std::int32_t job_size = 1;
  std::int32_t processes_here = 1;  // of the job on this host, which share the adapters
  std::string job_id;               // the same in all processes of the job, unlike other jobs'
  // Process 0's becomes the job's: by it processes know each other's datagrams. From the kernel's random
  // source, for what the rails draw from `seed` goes over the wire.
  std::array<std::uint64_t, 2> secret = {};
  // All invariants are walked through after every so many passes of progress; 0: never. What is counted is
  // checked in every pass.
#ifdef __OPTIMIZE__
  std::uint32_t walk_every = 0;
#else
  std::uint32_t walk_every = 1;
#endif
  // Messages change between paths and engines about every so many stripes, whatever is measured; 0: as
  // measured. For the campaign of faults, whose messages are over before anything is.
  std::uint32_t restless_paths = 0;
  // So many requests are under way on a connection when small messages begin to share packets.
  std::int32_t bundles_behind = 4;
  // Peers that were not spoken to for so long, and have no connection, are retired (PeerTable).
  Nanoseconds peer_rest = 5 * second;
  // Tells what memory of the application goes away; outlives the channel. Null: no registration is kept.
  MemoryWatch* memory_watch = nullptr;
  // Shown what happens to paths; outlives the channel. Null: nobody wants to know.
  RailStatus* status = nullptr;
  // Read at the start, and where the time that progress is told may be too old; outlives the channel. Null:
  // that time will do.
  Clock* clock = nullptr;
  // Tells what the thread that calls had of the processor. Null: all the time that passes.
  ThreadUse (*thread_use)() = nullptr;
};

}  // namespace hawser
