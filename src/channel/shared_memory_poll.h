// The polling loop of SharedMemoryChannel, a template so that the message room's on_packet is called without
// an indirection. Included by shared_memory_channel.h only.
#pragma once

namespace hawser {

template <class Events>
bool SharedMemoryChannel::poll(Events& events) {
  const ProcessBlock& block = segment_.block(self_);
  for (std::size_t word = 0; word < known_incoming_.size(); ++word)
    if (block.incoming[word].load(std::memory_order_relaxed) != known_incoming_[word]) [[unlikely]]
      admit_senders();
  bool moved = false;
  for (Peer* peer : polled_) {
    peer->receiver.await_piece();
    if (const Slot* slot = peer->receiver.front(); slot != nullptr) {
      moved = true;
      drain(*peer, slot, events);
    }
  }
  return moved;
}

template <class Events>
void SharedMemoryChannel::drain(Peer& peer, const Slot* slot, Events& events) {
  // Bounded, so that one chatty neighbour does not keep the others waiting; and so that a program which
  // receives one long message after the other finds the next ones in the ring, not copied out as unexpected.
  std::uint32_t eager_bytes = 0;
  for (int messages = 0; slot != nullptr && messages < 64 && eager_bytes < eager_bytes_per_pass;
       ++messages, slot = peer.receiver.front()) {
    const std::uint32_t word = slot->header.channel_word;
    if (word <= Slot::inline_limit) [[likely]] {
      events.on_packet(peer.process, slot->header, slot->payload, word);
    } else if (word == Slot::packet) {
      __builtin_prefetch(peer.receiver.expected_piece());
      Piece piece;
      std::memcpy(&piece, slot->payload, sizeof(piece));
      if (!peer.receiver.valid(piece)) [[unlikely]]
        return refuse(peer, bad_place(piece), events);
      events.on_packet(peer.process, slot->header, peer.receiver.at(piece), piece.size);
      peer.receiver.took(piece);
      eager_bytes += piece.size;
    } else {
      if (word == Slot::eager_begin || word == Slot::eager_more) eager_bytes += eager_piece;
      receive_other(peer, *slot, events);
    }
    peer.receiver.pop();
  }
  if (peer.receiver.settle_credit()) peer.sender.wake_if_asleep();
}

}  // namespace hawser
