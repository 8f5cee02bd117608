// Locates a fault: the port, adapter, route or peer that a failure is due to, judged by the other connections
// through the same parts, which failed too, are silent, or get through. Pure. The result may be wrong: it
// says what to avoid and to test at once (quarantine.h), and is never a reason to stop what works.
#pragma once

#include <cstdint>
#include <span>

#include "channel/transport.h"

namespace hawser {

enum class FaultLocation : std::uint8_t {
  undecided,       // nobody to compare with: what lies between two ports, or one of them
  path,            // a route between two ports that work
  network,         // a switch or cable that this route leads over to several peers
  remote_port,     // the peer's, or its cable
  remote_adapter,  // several of its ports, or its host
  local_port,      // or its cable, or the switch behind it
  local_adapter,   // several of its ports
};
const char* fault_location_name(FaultLocation location);
inline constexpr int fault_locations = 7;

enum class Evidence : std::uint8_t {
  none,    // nothing was tried lately
  well,    // something got through while the failed one was silent
  silent,  // something was posted about as long ago, and nothing completes
  failed,  // at about the same time
};

// A connection and what it has to say.
struct Observation {
  std::uint16_t rail = 0, adapter = 0;  // here
  ProcessIndex peer = -1;
  std::uint16_t remote_rail = 0, remote_adapter = 0;  // there
  std::uint16_t path = 0;
  Evidence says = Evidence::none;
};

// `others`: all connections of this process but the one that failed.
FaultLocation judge(const Observation& failed, std::span<const Observation> others);
// Whether a connection goes through the located part.
bool is_affected(FaultLocation location, const Observation& failed, const Observation& other);

}  // namespace hawser
