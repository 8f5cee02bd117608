// clang-format off
// Faults as people write them, in a command or a line of a schedule:
//
//   link PORT down | up                     cable out, cable in; both ends see it
//   link PORT rate 10% | 100MB/s            of the configured rate, or absolute; 100% heals
//   link PORT loss 0.01                     each packet vanishes with this probability, both ways
//   link PORT blackhole [out | in | both]   packets vanish and nobody is told; out: those that leave by PORT
//   link PORT delay 50us                    on top of the latency, both ways
//   link PORT clear                         no loss, no black hole, no delay, configured rate (but not up)
//   switch NAME dead | alive
//   adapter NAME dead | alive
//   adapter NAME dying                      acknowledges what arrives, but loses it; until dead or alive
//   qp ADAPTER NUMBER|any|all kill          fatal error: flush, QP_FATAL; any: the lowest in RTS
//   qp ADAPTER NUMBER|any|all hang          its next work request never completes by itself
//   acks PORT lose [N] | keep               acknowledgements that arrive at PORT vanish: the next N, or all
//   payload PORT corrupt [N] | keep         a bit flips in payload that arrives at PORT
//   gid PORT move FROM TO                   the entries of the GID table change places (a RoCE port flapped)
//   gid PORT set INDEX v1|v2|ib ADDRESS     an address comes: 10.0.0.1 or fe80::1, of RoCE version 1 or 2
//   gid PORT drop INDEX                     an address goes
//   lid PORT NEW                            the subnet manager gives another address
//   tables reroute                          the built-in router, around what is down
//   tables SWITCH LID PORTNUMBER            one entry
//   sm change                               another port runs the manager (SM_CHANGE, CLIENT_REREGISTER)
//
// PORT is n0/hw0, n0/hw0:2 or LEAF03:13. What names nothing in the topology is refused with a reason.
// clang-format on
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fabric/adapter/types.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

enum class FaultKind : std::uint8_t {
  link_up,          // on
  link_rate,        // rate, or share when it is not negative
  link_loss,        // share
  link_black_hole,  // outward, inward
  link_delay,       // delay
  link_clear,
  switch_alive,   // on
  adapter_alive,  // on
  adapter_dying,
  qp_kill,          // number
  qp_hang,          // number
  lose_acks,        // count
  corrupt_payload,  // count
  gid_move,         // from, to
  gid_set,          // to, gid; an empty one: it goes
  lid_change,       // lid
  reroute,
  table_entry,  // lid, out_port
  sm_change,
};

struct Fault {
  static constexpr std::int64_t any_qp = -1, all_qps = -2;

  FaultKind kind = FaultKind::reroute;
  PortName port;  // of a switch or adapter only the node counts
  bool on = false;
  bool outward = false, inward = false;
  double rate = 0;
  double share = -1;
  Nanoseconds delay = 0;
  std::int64_t number = 0;  // of a queue pair; or how many times, -1 for ever
  std::size_t from = 0, to = 0;
  GidEntry gid;
  Lid lid = 0;
  std::uint8_t out_port = 0;
  std::string text;  // as it was written, for the log
};

Result<Fault> parse_fault(std::string_view text, const Topology& topology);

struct ScheduledFault {
  Nanoseconds after = 0;  // from the start of the schedule
  Fault fault;
};
// Lines of `<time> <fault>`, with comments; a time without a unit is in seconds; errors are "file:line: ...".
Result<std::vector<ScheduledFault>> parse_schedule(std::string_view text, std::string_view file,
                                                   const Topology& topology);

}  // namespace hawser::fabric
