// PacketTimes: what single packets tell of a subchannel, where no stripe does: how long a small one takes
// there and back, and from that and from how long larger ones take, how fast the subchannel is. Ports say a
// standard rate, and the network behind them may be slower. So of two rails that look alike one may be much
// slower, and small messages that began there would stay there.
//
// Whatever else is on the way makes a packet late, nothing makes it early. So the shortest times count: the
// fastest of a few packets says how fast the subchannel is.
//
// The clock is read for a packet that is timed. So few are: the first small ones, the first larger ones, and
// later one now and then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace hawser {

// A packet that was found done.
struct TimedPacket {
  std::uint32_t bytes = 0;
  std::int64_t ahead = 0;           // bytes that were ahead of it when it was posted
  Nanoseconds least = 0, most = 0;  // it took between these
  // If one packet on the same subchannel was all that was ahead, and no longer: how long before it that was
  // posted. -1: it was not so.
  Nanoseconds behind_one = -1;
};

// There and back of a packet of no length, for all peers of a port.
class PortLatency {
 public:
  void add(const TimedPacket& packet);
  // Some packets wait for the other end, or behind others; a few have to tell of it.
  Nanoseconds at_most() const;
  Nanoseconds least() const { return least_; }  // 0: there were none

 private:
  Nanoseconds least_ = 0;
  int packets_ = 0;
};

// What is known of a peer over all its subchannels.
class PeerTimes {
 public:
  // There and back of a packet of no length. `known`: rather than the least that a few packets took, which
  // others may have delayed.
  void add_latency(Nanoseconds time, bool known) {
    if (time > 0 && (latency_ == 0 || time < latency_)) latency_ = time;
    latency_known_ |= known;
  }
  // The least to any peer of a port. A peer of which little is known is hardly twice as far.
  void limit_latency(Nanoseconds least_of_port) {
    if (!latency_known_) add_latency(2 * least_of_port, false);
  }
  void lengthen(Nanoseconds detour) { latency_ += detour; }
  void add_rate(double rate) { fastest_ = std::max(fastest_, rate); }
  Nanoseconds latency() const { return latency_; }  // 0: nothing was seen
  bool latency_known() const { return latency_known_; }
  double fastest() const { return fastest_; }  // bytes per second

 private:
  Nanoseconds latency_ = 0;
  bool latency_known_ = false;
  double fastest_ = 0;
};

class PacketTimes {
 public:
  // Packets of so many bytes are to be timed.
  std::uint32_t timed_from() const { return timed_from_; }
  // `nominal`: of the port, bytes per second. True: it was found again how fast the subchannel is, and it is
  // slow.
  bool on_done(const TimedPacket& packet, double nominal, const PeerTimes& peer, Nanoseconds now);
  // Packets go that way, and have for a while: one of them is to be timed.
  void look(Nanoseconds now) {
    if (timed_from_ == never_timed && now >= next_look_) timed_from_ = telling_bytes;
  }
  // The subchannel was slow, and no packet told of it for some time: one of so many bytes should try it.
  bool wants_trial(std::int64_t bytes, Nanoseconds now) const {
    return slow_ && now >= next_trial_ && bytes >= telling_bytes;
  }
  void begin_trial(Nanoseconds now) {
    next_trial_ = now + trial_pause_;
    timed_from_ = telling_bytes;
  }

  // What said that the subchannel is slow may have been wrong. One that told something since then needs no
  // trial.
  void doubt(Nanoseconds now, Nanoseconds since) {
    if (next_trial_ - trial_pause_ < since) next_trial_ = std::min(next_trial_, now);
  }

  // Whether a packet is large enough, and its time known, to tell of a path.
  static bool tells_of_path(const TimedPacket& packet) {
    return packet.bytes >= telling_bytes && is_sharp(packet);
  }
  // Bytes per second that a packet tells of, at most. `idle`: the part of its time in which nothing moved.
  static double most(const TimedPacket& packet, Nanoseconds idle);
  // There and back of a packet of no length; 0: nothing was seen. Whether small packets enough told of it.
  Nanoseconds latency() const { return latency_; }
  bool knows_latency() const { return small_ >= first_small; }
  // Bytes per second; as the port says, where nothing is known.
  double rate(double nominal) const { return std::min(nominal, static_cast<double>(rate_)); }

 private:
  static constexpr std::uint8_t first_small = 4;
  static constexpr std::uint32_t telling_bytes = 200, never_timed = UINT32_MAX;
  static bool is_sharp(const TimedPacket& packet);
  static double told(const TimedPacket& packet, Nanoseconds idle);
  void note_latency(const TimedPacket& packet, bool sharp);
  bool note_rate(const TimedPacket& packet, float nominal, const PeerTimes& peer, Nanoseconds now);
  void plan_look(bool latency_known, Nanoseconds now);

  float rate_ = std::numeric_limits<float>::infinity();
  float fastest_ = 0;  // of the samples since the rate was judged
  std::int32_t latency_ = 0;
  std::uint32_t timed_from_ = 0;
  std::uint8_t small_ = 0, all_ = 0;  // packets, up to those that are wanted first
  std::uint8_t samples_ = 0;          // since the rate was judged
  bool slow_ = false;
  bool in_doubt_ = true;        // the last sample says something else
  bool latency_known_ = false;  // when the last packet was done
  Nanoseconds trial_pause_ = 0;
  Nanoseconds next_look_ = 0, next_trial_ = 0;
};

}  // namespace hawser
