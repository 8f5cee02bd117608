// SchedulingPolicy: which subchannels carry a message, and how much of it each (V07 sections 4.3, 6.3, 7.4,
// 8). Pure: what it may know is in its arguments. One policy per file in policies/; the table is in
// policy_table.cpp.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "channel/traffic_class.h"

namespace hawser {

// RDMA writes load this end's send side, reads its receive side.
enum class Direction : std::uint8_t { write, read };

// What a policy may know of a subchannel. Views are indexed as the subchannels of the virtual channel are.
struct SubchannelView {
  bool usable = false;     // ready, and may take one more request
  std::uint16_t rail = 0;  // rail pair
  std::uint16_t path = 0;
  std::uint16_t engine = 0;
  // Messages take it as long as it is not much slower than others of its rail (path_spread.h); if none of a
  // rail is preferred and usable, all of them count alike.
  bool preferred = true;
  double bytes_per_second = 0;  // the weight: nominal at first, then measured (path_weights.h); > 0
  double nominal = 0;           // of the rail's port, bytes per second; all of a rail's subchannels share it
  std::int64_t bytes_queued = 0;          // posted by this process on the whole rail, and not moved yet
  std::int64_t bytes_on_it = 0;           // of these, on this subchannel
  std::int64_t moved = 0;                 // of what is posted there, and is not completed
  std::int64_t packets_on_it = 0;         // bytes of packets, which bytes_queued has not
  double packet_rate = INFINITY;          // bytes per second, where packets were seen to be slow
  Nanoseconds packet_wait = 0;            // until those ahead of one that is posted now have left
  std::int32_t requests_queued = 0;       // on this subchannel
  Nanoseconds latency = 2 * microsecond;  // of a stripe of no length, with its FIN: known or a guess
};

struct Stripe {
  std::uint16_t subchannel = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

inline constexpr int max_stripes = 64;

// Covers [0, size) without gap or overlap, in ascending order; at most max_stripes; every stripe on a usable
// subchannel; no stripe empty unless size is 0 (then one).
class StripePlan {
 public:
  void clear() { count_ = 0; }
  bool full() const { return count_ == max_stripes; }
  void add(const Stripe& stripe) { stripes_[static_cast<std::size_t>(count_++)] = stripe; }
  std::span<const Stripe> stripes() const { return {stripes_.data(), static_cast<std::size_t>(count_)}; }
  int size() const { return count_; }

 private:
  std::array<Stripe, max_stripes> stripes_ = {};
  int count_ = 0;
};

struct StripeRequest {
  std::int64_t bytes = 0;
  TrafficClass traffic = TrafficClass::blocking;
  std::int64_t smallest_stripe = 8192;  // do not cut finer (knob)
};

// For how long the choice of a subchannel for packets stands: for so many packets, the chosen one included,
// of at most so many bytes; while at most so many bytes are queued on its rail and fewer requests than that
// on the subchannel; while those that were posted before wait no longer and have as many bytes; and as long
// as neither the health nor the weight of any subchannel changes.
struct PacketHold {
  std::int32_t packets = 1;
  std::int64_t most_bytes = INT64_MAX;
  std::int64_t most_queued = INT64_MAX;
  std::int32_t most_requests = INT32_MAX;
  Nanoseconds most_wait = INT64_MAX / 2;  // SubchannelView::packet_wait
  std::int64_t least_ahead = 0;           // bytes of packets that are under way on the subchannel
};
inline constexpr std::int32_t any_packets = INT32_MAX;

// A long transfer is best planned piece by piece, each worth some 20 ms of all rails together: what is posted
// cannot be moved any more when a rail turns slow.
class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  virtual const char* name() const = 0;
  // Whether it looks at SubchannelView::preferred.
  virtual bool prefers() const { return false; }
  // At least one view is usable; `plan` is filled anew. May keep state of its own (where round robin stands);
  // one policy object per virtual channel.
  virtual void plan(const StripeRequest& request, std::span<const SubchannelView> views,
                    StripePlan& plan) = 0;
  // The subchannel for a packet of an eager message or the protocol; -1 when none is usable. Small messages
  // prefer the primary network (V07 10.2.2): of the usable ones the fastest rail's, unless the policy spreads
  // them.
  virtual int choose(std::int64_t bytes, TrafficClass traffic, std::span<const SubchannelView> views) = 0;
  // How long choose() would choose the same again, which it just did; so that whoever sends packets need not
  // ask for each.
  virtual PacketHold hold(int /*chosen*/, std::int64_t /*bytes*/,
                          std::span<const SubchannelView> /*views*/) const {
    return {};
  }
};

// What a policy may be told: the numbers in the brackets of "bss(12,3)", or its defaults where absent.
struct PolicyParameters {
  int first = 0;
  int second = 0;
  // Where a policy that has to begin somewhere begins (binding, round robin): unlike in the processes of a
  // node, so that they do not all begin on one rail. The index of the process on its node will do.
  int rotation = 0;
  int home = 0;  // the same for packets of collective operations
};

struct PolicyInfo {
  std::string_view name;  // value of the knob rail_policy
  std::string_view source;
  std::string_view doc;
  int parameters;     // how many numbers it takes at most: 0..2
  int first, second;  // their defaults; each must be at least 1
  std::unique_ptr<SchedulingPolicy> (*make)(const PolicyParameters& parameters);
};
std::span<const PolicyInfo> scheduling_policies();
// `text`: a name, or a name with numbers: "window(8)". An error lists the names there are.
Result<std::unique_ptr<SchedulingPolicy>> make_scheduling_policy(std::string_view text, int rotation = 0,
                                                                 int home = 0);

}  // namespace hawser
