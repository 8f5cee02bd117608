#include "collective/multicast/multicast_listener.h"

#include <algorithm>

#include "base/planted_bug.h"

namespace hawser {
namespace {

// Whether the operation `tag` begins later than `other`.
bool after(std::int32_t tag, std::int32_t other) {
  const std::int32_t ahead = (tag - other) & (operation_tags - 1);
  return ahead > 0 && ahead < operation_tags / 2;
}

}  // namespace

void MulticastListener::begin(MulticastListening& listening, bool wants_packets) {
  MulticastReceive& packets = listening.packets;
  listenings_.push_back(&listening);
  last_begun_ = packets.tag;
  listening.attached = attached() && wants_packets;
  listening.trial = listening.attached && listening.timed && policy_.begin_trial();
  for (const Held& held : held_)
    if (listening.attached && held.header.tag == packets.tag && held.header.root == packets.root)
      place(listening, held.header, held.bytes);
  std::erase_if(held_, [&](const Held& held) { return !after(held.header.tag, packets.tag); });
}

void MulticastListener::end(MulticastListening& listening, Nanoseconds now) {
  listenings_.remove(&listening);
  if (!listening.timed) return;
  if (!attached()) {
    policy_.on_wait(listening.begun == never ? 0 : now - listening.begun);
  } else if (listening.attached && !listening.from_packets()) {
    policy_.on_in_time(listening.trial);
    if (!attached()) held_.clear();
  } else if (listening.trial) {
    policy_.on_late();
  }
}

MulticastListening* MulticastListener::find(int root, std::int32_t tag) {
  for (MulticastListening* each = listenings_.front(); each != nullptr; each = listenings_.next(each))
    if (each->packets.root == root && each->packets.tag == tag) return each;
  return nullptr;
}

void MulticastListener::place(MulticastListening& listening, const MulticastHeader& header,
                              std::span<const std::byte> packet) {
  const std::uint64_t bit = std::uint64_t{1} << header.packet % most_packets;
  if ((listening.seen & bit) != 0) return;
  listening.seen |= bit;
  listening.packets.place(header, packet);
  if (planted(PlantedBug::heard_last) &&
      header.offset + static_cast<std::int64_t>(packet.size()) == header.total)
    listening.packets.done = true;
  if (listening.packets.done && !listening.trial) listening.done = true;
}

void MulticastListener::take(const MulticastHeader& header, std::span<const std::byte> packet) {
  if (header.total > most_bytes) return;
  if (MulticastListening* const listening = find(header.root, header.tag)) {
    if (listening->attached) place(*listening, header, packet);
  } else if (after(header.tag, last_begun_)) {
    if (held_.size() == most_packets) held_.pop_front();
    held_.push_back({header, {packet.begin(), packet.end()}});
  }
}

// A broadcast that began since the last look begins now, and a trial's packets that came since then came now.
void MulticastListener::look(Nanoseconds now) {
  for (MulticastListening* each = listenings_.front(); each != nullptr; each = listenings_.next(each)) {
    each->begun = std::min(each->begun, now);
    if (!each->packets.done || each->done) continue;
    if (each->due == never) each->due = now + AttachPolicy::in_time;
    each->done = now >= each->due;
  }
}

Nanoseconds MulticastListener::due() const {
  Nanoseconds earliest = never;
  for (const MulticastListening* each = listenings_.front(); each != nullptr; each = listenings_.next(each))
    if (!each->done) earliest = std::min(earliest, each->due);
  return earliest;
}

}  // namespace hawser
