// Blame: whose fault a failure is, from how the paths beside it fare: which other connections through the
// same port, adapter, peer or route failed too, are silent, or get through. Pure. A verdict is an opinion: it
// says what to avoid and to test at once (containment.h), and is never a reason to stop what works.
#pragma once

#include <cstdint>
#include <span>

#include "channel/transport.h"

namespace hawser {

enum class Verdict : std::uint8_t {
  undecided,       // nobody to compare with: what lies between two ports, or one of them
  path,            // a route between two ports that work
  network,         // a switch or cable that this route leads over to several peers
  remote_port,     // the peer's, or its cable
  remote_adapter,  // several of its ports, or its host
  local_port,      // or its cable, or the switch behind it
  local_adapter,   // several of its ports
};
const char* verdict_name(Verdict verdict);
inline constexpr int verdicts = 7;

enum class Testimony : std::uint8_t {
  none,    // nothing was tried lately
  well,    // something got through while the failed one was silent
  silent,  // something was posted about as long ago, and nothing completes
  failed,  // at about the same time
};

// A connection and what it has to say.
struct Witness {
  std::uint16_t rail = 0, adapter = 0;  // here
  ProcessIndex peer = -1;
  std::uint16_t remote_rail = 0, remote_adapter = 0;  // there
  std::uint16_t path = 0;
  Testimony says = Testimony::none;
};

// `others`: all connections of this process but the one that failed.
Verdict judge(const Witness& failed, std::span<const Witness> others);
// Whether a connection goes through what a verdict on another one blames.
bool implicated(Verdict verdict, const Witness& failed, const Witness& other);

}  // namespace hawser
