#include "collective/multicast/multicast_root.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "collective/multicast/multicast_engine.h"

namespace hawser {
namespace {

// With less in a packet, trees are better.
constexpr std::int64_t least_packet_bytes = 256;

// Of a packet, as the rails are now; 0: there is no multicast now.
std::int64_t packet_bytes_to(MulticastEngine& engine, const std::vector<ProcessIndex>& leaders) {
  if (engine.network() == nullptr) return 0;
  std::int64_t bytes = engine.network()->payload_bytes();
  // What is sent again is one active message.
  for (const ProcessIndex leader : leaders)
    bytes = std::min(bytes, std::min(Transport::one_piece, engine.channel_of(leader)->eager_limit(leader)) -
                                static_cast<std::int64_t>(sizeof(MulticastHeader)));
  return bytes < least_packet_bytes ? 0 : bytes;
}

}  // namespace

MulticastRoot::MulticastRoot(MulticastEngine& engine, const MulticastKey& key, int rank,
                             std::vector<ProcessIndex> leaders)
    : engine_(engine),
      key_(key),
      rank_(rank),
      leaders_(std::move(leaders)),
      machine_(static_cast<int>(leaders_.size())) {}

std::uint32_t MulticastRoot::rails() const {
  return packet_bytes_ == 0 ? 0 : engine_.network()->joined(key_);
}

bool MulticastRoot::chooses_multicast(Nanoseconds now) {
  if (packet_bytes_ == 0) packet_bytes_ = packet_bytes_to(engine_, leaders_);
  const std::uint64_t before = machine_.suspensions();
  const bool chosen = machine_.chooses_multicast(rails(), now);
  engine_.counters().suspensions += machine_.suspensions() - before;
  return chosen;
}

void MulticastRoot::begin(MulticastSend& send) {
  sends_.push_back(&send);
  engine_.touch();
  advance(engine_.now());
}

void MulticastRoot::withdraw(MulticastSend& send) {
  if (send.link.linked()) sends_.remove(&send);
}

bool MulticastRoot::on_status(int leader, const LeaderStatus& status, Nanoseconds now) {
  return machine_.on_status(leader, status, now);
}

// False: no room.
bool MulticastRoot::send_next(MulticastSend& send, Nanoseconds now) {
  if (slots_ == nullptr) slots_ = std::make_unique<std::array<Slot, MulticastSender::window>>();
  const std::uint32_t number = machine_.next();
  Slot& slot = (*slots_)[number % MulticastSender::window];
  slot.header = {key_, rank_, number, send.tag, send.flags, send.sent, send.bytes};
  const std::int64_t count = std::min(packet_bytes_, send.bytes - send.sent);
  const std::span<const std::byte> bytes(send.data + send.sent, static_cast<std::size_t>(count));
  const std::uint32_t rails = this->rails() & machine_.rails();
  if (rails == 0) {
    machine_.on_no_way(now);
  } else {
    // In turn over the rails.
    std::uint32_t left = rails;
    for (std::uint32_t skip = number % static_cast<std::uint32_t>(std::popcount(rails)); skip > 0; --skip)
      left &= left - 1;
    if (!engine_.network()->send(key_, std::countr_zero(left), std::as_bytes(std::span(&slot.header, 1)),
                                 bytes))
      return false;
    machine_.on_sent();
  }
  slot.bytes.assign(bytes.begin(), bytes.end());
  send.sent += count;
  return true;
}

bool MulticastRoot::repair(int leader, std::uint32_t packet) {
  const Slot& slot = (*slots_)[packet % MulticastSender::window];
  HAWSER_ASSERT(slot.header.packet == packet);
  return engine_.tell_repair(leaders_[static_cast<std::size_t>(leader)], slot.header, slot.bytes);
}

bool MulticastRoot::advance(Nanoseconds now) {
  bool moved = false;
  wants_room_ = false;
  machine_.on_return(engine_.returned());
  machine_.repair(now, [&](int leader, std::uint32_t packet) {
    const bool sent = repair(leader, packet);
    moved |= sent;
    engine_.counters().repairs += sent;
    wants_room_ |= !sent;
    return sent;
  });
  while (MulticastSend* const send = sends_.front()) {
    while (send->sent < send->bytes && machine_.admits()) {
      if (!send_next(*send, now)) {
        wants_room_ = true;
        return moved;
      }
      moved = true;
    }
    if (send->sent < send->bytes) break;
    sends_.remove(send);
    send->done = true;
  }
  return moved;
}

}  // namespace hawser
