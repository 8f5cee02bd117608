#include "rails/decision/packet_times.h"

#include <algorithm>
#include <cmath>

#include "rails/decision/rising_least.h"

namespace hawser {
namespace {

// Up to so many bytes a packet tells of the latency.
constexpr std::uint32_t small_bytes = 128;
constexpr int first_of_port = 4;
// So many are timed first, more while it is not known how far the peer is; then one now and then.
constexpr std::uint8_t first_packets = 24, most_first_packets = 200;
constexpr Nanoseconds pause = 10 * millisecond;
// The fastest of so many says how fast a path is; of more where others were ahead of each of them.
constexpr std::uint8_t telling_samples = 3, samples_behind_others = 4;
// What is not known of the latency; and what it probably is.
constexpr Nanoseconds longest_packet_latency = 20 * microsecond, jitter = 500,
                      likely_packet_latency = 3 * microsecond;
// A time is a sample if it is known to this part.
constexpr Nanoseconds packet_sharpness = 4;
// So much below the port's rate it is worth while to look whether it still is.
constexpr float packets_as_nominal = 0.8F;
// And so much below what is known one says something else.
constexpr float as_known = 0.8F;
constexpr float much_slower = 0.2F;
// One that is behind others says something if it is so much below the fastest way to the peer.
constexpr float slower_behind_others = 0.35F;
constexpr Nanoseconds first_trial = 50 * millisecond, longest_trial = 500 * millisecond;

// Bytes per second.
double rate_of(std::int64_t bytes, Nanoseconds moving) {
  return moving > 0 ? static_cast<double>(bytes) * static_cast<double>(second) / static_cast<double>(moving)
                    : INFINITY;
}

}  // namespace

void PortLatency::add(const TimedPacket& packet) {
  if (packet.bytes > small_bytes) return;
  least_ = rising_least(least_, packet.most);
  if (packets_ < first_of_port) ++packets_;
}

Nanoseconds PortLatency::at_most() const {
  const Nanoseconds most = packets_ < first_of_port ? likely_packet_latency : longest_packet_latency;
  return least_ == 0 ? most : std::min(least_, most);
}

bool PacketTimes::on_done(const TimedPacket& packet, double nominal, const PeerTimes& peer, Nanoseconds now) {
  const bool sharp = is_sharp(packet);
  note_latency(packet, sharp);
  const bool tells = sharp && packet.bytes >= telling_bytes;
  const bool slow = tells && note_rate(packet, static_cast<float>(nominal), peer, now);
  if (!tells) in_doubt_ = false;
  plan_look(peer.latency_known(), now);
  return slow;
}

bool PacketTimes::is_sharp(const TimedPacket& packet) {
  return (packet.most - packet.least) * packet_sharpness <= packet.most;
}

void PacketTimes::note_latency(const TimedPacket& packet, bool sharp) {
  const bool small = packet.bytes <= small_bytes;
  small_ += small && small_ < first_small;
  const auto time = static_cast<std::int32_t>(std::min(packet.most, longest_packet_latency));
  if (time < latency_ || latency_ == 0 || (small && sharp))
    latency_ = static_cast<std::int32_t>(rising_least(latency_, time));
}

double PacketTimes::most(const TimedPacket& packet, Nanoseconds idle) {
  return rate_of(packet.ahead + packet.bytes, packet.least - idle);
}

// Part of the one before it may have moved when a packet was posted. It began to move then, or when that one
// had left, which moved since it was posted: whichever was later.
double PacketTimes::told(const TimedPacket& packet, Nanoseconds idle) {
  if (packet.behind_one < 0) return most(packet, idle);
  const Nanoseconds moving = packet.least - idle;
  return std::max(rate_of(packet.bytes, moving),
                  rate_of(packet.ahead + packet.bytes, moving + packet.behind_one));
}

bool PacketTimes::note_rate(const TimedPacket& packet, float nominal, const PeerTimes& peer,
                            Nanoseconds now) {
  const float known = std::min(rate_, nominal);
  const Nanoseconds idle = peer.latency() == 0 ? longest_packet_latency : peer.latency() + jitter;
  const auto sample = static_cast<float>(std::min<double>(told(packet, idle), nominal));
  // Who is behind others may be late for another reason, too. But some packets are never the first.
  const bool behind = packet.ahead > 0 && packet.behind_one < 0 && sample > much_slower * nominal;
  in_doubt_ = false;
  if (behind && sample > slower_behind_others * static_cast<float>(peer.fastest())) return false;
  fastest_ = std::max(fastest_, sample);
  in_doubt_ = !behind && sample < as_known * known;
  rate_ = std::max(known, fastest_);
  samples_ = static_cast<std::uint8_t>(samples_ + (behind ? 1 : samples_behind_others));
  const bool judged = samples_ >= telling_samples * samples_behind_others;
  if (judged) {
    rate_ = fastest_;
    samples_ = 0;
    fastest_ = 0;
  }
  slow_ = rate_ < packets_as_nominal * nominal;
  if (!behind || next_trial_ <= 0) {
    trial_pause_ = rate_ > known ? first_trial : std::clamp(2 * trial_pause_, first_trial, longest_trial);
    next_trial_ = now + trial_pause_;
  }
  return judged && slow_;
}

// What was found before it was known how far the peer is may be wrong, so it is found out once more.
void PacketTimes::plan_look(bool latency_known, Nanoseconds now) {
  if (latency_known && !latency_known_) all_ = 0;
  latency_known_ = latency_known;
  if (all_ < (latency_known ? first_packets : most_first_packets)) {
    ++all_;
    timed_from_ = small_ < first_small ? 0 : telling_bytes;
  } else if (!in_doubt_) {
    timed_from_ = never_timed;
    next_look_ = now + pause;
  }
}

}  // namespace hawser
