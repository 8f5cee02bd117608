// CongestionWindow: how many bytes may be under way over a path, or into a port, at once. A pure machine that
// learns from how long requests take.
//
// An adapter sends everything that is posted as fast as its link allows. Where the network is slower than
// that, the rest waits in switches, other traffic waits behind it, and after some time adapters take the
// silence for a failure. So the bytes under way are kept to what the path moves in `queueing`, beyond the
// time that a request takes when nothing is ahead of it. What a path moves is what was delivered while a
// request was under way, the most in a round trip, as in BBR (ACM Queue 14/5, 2016); whether that is too much
// under way is seen from the time that requests take, as in TIMELY and Swift (SIGCOMM 2015 and 2020). A
// window at most doubles or halves in a round trip.
//
// A process that was busy elsewhere finds requests done that were done long before. Such a delay is not the
// network's, and it shows: everything that was under way is found done at once. Where something is still
// under way, the path was busy until now.
//
// A window never stops a path: when nothing is under way, one piece may be posted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace hawser {

struct FlowSettings {
  Nanoseconds queueing = 4 * millisecond;
  std::int64_t first = 65536;  // bytes, before anything is known
  std::int64_t least = 4096;   // bytes of a piece
};
inline constexpr FlowSettings usual_flow;

class CongestionWindow {
 public:
  // The settings outlive this.
  explicit CongestionWindow(const FlowSettings& settings) : settings_(settings), bytes_(settings.first) {}

  std::int64_t bytes() const { return bytes_; }
  // How many of `wanted` bytes (> 0) may be posted as one piece while so many are under way; 0: none now.
  // Two pieces fill a window, so that the path does not run dry between them.
  std::int64_t room(std::int64_t wanted, std::int64_t under_way) {
    judge(under_way);
    const std::int64_t free = bytes_ - under_way;
    const std::int64_t piece = std::max(std::min(free, bytes_ / 2) & ~std::int64_t{4095}, settings_.least);
    if (wanted <= piece && wanted <= free) return wanted;
    limited_ = true;
    return under_way == 0 || free >= piece ? std::min(wanted, piece) : 0;
  }
  // So many bytes (> 0) are posted whatever room() says; had they had to wait, the window may grow.
  void note_demand(std::int64_t wanted, std::int64_t under_way) {
    static_cast<void>(room(wanted, under_way));
  }
  // Whether a packet of so many bytes may be posted, which cannot be cut.
  bool admits(std::int64_t bytes, std::int64_t under_way) {
    judge(under_way);
    if (under_way == 0 || under_way + bytes <= bytes_) [[likely]]
      return true;
    limited_ = true;
    return false;
  }
  // How long a byte takes where many were under way and had to wait; 0 where none were of late. A port may be
  // faster than the network behind it.
  float ns_per_byte(Nanoseconds now) const { return now - now_ < memory ? ns_per_byte_ : 0; }
  // How long a request that is posted now would wait for so many bytes ahead of it, by that.
  Nanoseconds wait(std::int64_t under_way, Nanoseconds now) const {
    const auto moved = static_cast<Nanoseconds>(static_cast<float>(under_way) * ns_per_byte(now));
    const Nanoseconds alone = measured() ? shortest_ : 0;
    return moved > alone ? moved - alone : 0;
  }
  // As much may be under way as on another way to the same peer.
  void widen_as(const CongestionWindow& other) { bytes_ = std::max(bytes_, other.bytes_); }
  // Begins with what is known of another way to the same peer.
  void begin_as(const CongestionWindow& other) {
    widen_as(other);
    if (ns_per_byte(other.now_) > 0) return;
    ns_per_byte_ = other.ns_per_byte_;
    now_ = std::max(now_, other.now_);
  }
  // Bytes of all requests that were done; to be kept with each request that is posted.
  std::int64_t delivered() const { return delivered_; }
  // A request was found done at `now`, and was not yet at `before`; what delivered() was when it was posted.
  // `alone`: it did not share its port with requests to others, so that a slow one tells of a slow path.
  void on_done(std::int64_t bytes, std::int64_t delivered_before, Nanoseconds posted, Nanoseconds before,
               Nanoseconds now, bool alone = true);
  // The path failed: what was known of it may be wrong.
  void on_failed();

  // The longest time that a request took in the last one to two seconds in which any was done; 0: none was.
  Nanoseconds slowest() const { return std::max(slowest_us_, slowest_before_us_) * microsecond; }
  bool measured() const { return shortest_ != never; }
  // Bytes per nanosecond, of late, of requests that tell: at least a KiB was under way; 0: there was none.
  float rate() const { return rate_; }

 private:
  // Of some requests: the highest rate, and the shortest and longest time.
  struct Sample {
    float rate = 0, large = 0;  // bytes per nanosecond; where at least a KiB was under way
    Nanoseconds shortest = never, longest = 0;
    void take(std::int64_t bytes, Nanoseconds time) {
      time = std::max<Nanoseconds>(time, 1);
      const float sample = static_cast<float>(bytes) / static_cast<float>(time);
      rate = std::max(rate, sample);
      if (bytes >= 1024) large = std::max(large, sample);
      shortest = std::min(shortest, time);
      longest = std::max(longest, time);
    }
  };
  // Who was found to be slow gets little to do, and is tried again after so long.
  static constexpr Nanoseconds memory = 100 * millisecond;
  // What was found done since the last call is judged when it is known what is still under way.
  void judge(std::int64_t under_way) {
    if (pending_) [[unlikely]]
      take_sample(under_way);
  }
  void take_sample(std::int64_t under_way);
  void resize(Nanoseconds target);
  void judge_pace(const Sample& most_time, const Sample& least_time);

  const FlowSettings& settings_;
  std::int64_t bytes_;
  std::int64_t delivered_ = 0;
  bool limited_ = false;     // since the last change something had to wait
  bool pending_ = false;     // something was done since the last judgement,
  bool round_over_ = false;  // and was posted in this round trip,
  bool many_ = false;        // and several packets were under way that tell
  float rate_ = 0;
  float ns_per_byte_ = 0;                                 // where requests were seen to wait
  float fastest_ = 0;                                     // rate in this round trip
  Sample earliest_, latest_;                              // that, done as early as possible, or now
  Nanoseconds longest_ = 0;                               // time
  Nanoseconds shortest_ = never;                          // of all requests
  std::uint32_t slowest_us_ = 0, slowest_before_us_ = 0;  // in this second, in the one before
  Nanoseconds second_began_ = 0;
  Nanoseconds round_began_ = 0;
  Nanoseconds now_ = 0;  // of what is pending
};

}  // namespace hawser
