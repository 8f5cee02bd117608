// The parameters of a fabric: what the topology text does not say. A file of `key value` lines:
//
// clang-format off
//   link-rate 200MB/s        # of every link; 0 = unlimited (all rates: of payload, headers are free
//                            # unless said)
//   link-latency 2us         # of every cable
//   switch-latency 200ns     # added by every switch on the way
//   mtu 2048                 # 256, 512, 1024, 2048, 4096
//   chunk 64K                # how much moves as one packet; 0 = the path MTU. Coarser is cheaper to
//                            # simulate, and is made finer where `buffer` is small
//   header-bytes 30          # added to every MTU of payload; 0 by default: a rate is what programs see
//   buffer 32K               # of an input port per virtual lane; 0 = enough for the link's round trip
//   virtual-lanes 2          # service level s goes on lane s mod n
//   send-engines 2  send-engine-rate 900MB/s  receive-engines 2  receive-engine-rate 900MB/s   # per port
//   bus-rate 1GB/s  bus half # an adapter's I/O bus; half: one direction at a time
//   ecn-threshold 4K         # packets that find so much waiting for their output are marked; 0 = never.
//                            # What waits is the first packet of each input: a few packets are much
//   congestion-control on    # marks make senders slow down (adapter/congestion.h); off by default; with
//   ccti-increase 1  ccti-limit 127  ccti-timer 150us  cct-divisor 8
//   service-levels 4        # the subnet administrator spreads the pairs of ports over so many levels, as
//                            # layered routing does; 1 by default: level 0 everywhere
//   adaptive-routing on      # switches choose among equally long ways by their load
//   reroute-delay 27ms       # after a cable or switch fails or returns, new tables; 0 = never
//   shuffle-seed 5           # uneven routes: the built-in router draws among equal ways, OpenSM visits the
//                            # ports in a drawn order; 0 = even
//   lmc 2  link-layer infiniband|ethernet  seed 1
//   max-message 8M           # the longest message of an adapter, in bytes; 2G by default
//   queue-pairs 64           # of an adapter, for all processes; 65536 by default
//   endless-retries on       # a retry count of 7 means for ever, as some adapters take it; off by default
//   locked-memory 8M         # what a process may register with one adapter (RLIMIT_MEMLOCK); 0 = unlimited
//   neighbour-time 1s        # Ethernet: how long a call takes that makes an address handle or connects, and
//                            # fails, when the port of this GID does not answer; 0 = neither
//   host n0 H000 H001        # rails of a host, in order
//   link LEAF00:13 rate 100MB/s latency 5us
// clang-format on
// Rates are from 1KB/s to 1e6GB/s or 0, times up to 1000s, chunks up to 16M.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

enum class LinkLayer : std::uint8_t {
  infiniband,  // addresses are LIDs; a path is chosen by the DLID
  ethernet,    // RoCE: addresses are GIDs; a path is chosen by a hash of flow label and queue pairs
};

struct LinkParameters {
  PortName port;
  std::optional<double> rate;
  std::optional<Nanoseconds> latency;
};

struct Parameters {
  double link_rate = 0;  // bytes per second; 0 is unlimited, here and below
  Nanoseconds link_latency = 0;
  Nanoseconds switch_latency = 0;
  std::uint32_t mtu = 2048;
  std::uint32_t chunk = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t buffer = 0;
  int virtual_lanes = 1;
  int service_levels = 1;
  int send_engines = 1;
  double send_engine_rate = 0;
  int receive_engines = 1;
  double receive_engine_rate = 0;
  double bus_rate = 0;
  bool bus_half_duplex = false;
  std::uint64_t ecn_threshold = 0;
  bool adaptive_routing = false;
  bool congestion_control = false;
  int ccti_increase = 1;
  int ccti_limit = 127;
  Nanoseconds ccti_timer = 150 * microsecond;
  int cct_divisor = 8;
  Nanoseconds reroute_delay = 0;
  std::uint64_t shuffle_seed = 0;
  int lmc = 0;
  LinkLayer link_layer = LinkLayer::infiniband;
  std::uint64_t max_message = std::uint64_t{1} << 31;
  std::uint32_t queue_pairs = 65536;
  bool endless_retries = false;
  std::uint64_t locked_memory = 0;
  Nanoseconds neighbour_time = 0;
  std::uint64_t seed = 1;
  std::vector<LinkParameters> links;

  // Nothing in this fabric takes time in proportion to bytes, and nothing depends on load: messages can cross
  // in one event.
  bool unlimited() const;
};

// Reads the text over what `parameters` holds; `host` lines change the topology. Errors: "file:line: ...".
Result<> parse_parameters(std::string_view text, std::string_view file, Topology& topology,
                          Parameters& parameters);

}  // namespace hawser::fabric
