// Large messages in shared memory whose receiver computes: the sender writes into the receive that waits.
//
//   receiver                                sender
//   show: posts the receive's memory
//                                      <-   expose(id, address, size)
//   computes                                nobody asks: claims the posted memory, then part by part of the
//                                           SharedTransfer, as everybody who moves parts; writes them
//                                      <-   wrote(number, all): the send is complete
//   finds the message, whose receive
//   is full
//
// A receiver that comes back in the middle asks for the rest as usual (shared_transfer.cpp).
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "channel/shared_memory_channel.h"

namespace hawser {

namespace {
// Exposed messages that are looked at in one pass.
constexpr std::size_t looks_per_pass = 8;
}  // namespace

// The receiving side.

// Whether this process can copy from the sender's memory: both ends in one piece, and allowed.
bool SharedMemoryChannel::may_copy(Fetch& fetch) {
  return fetch.address != 0 && fetch.into.contiguous() && copyable(*fetch.peer);
}

bool SharedMemoryChannel::copyable(Peer& peer) {
  if (peer.copyable == Peer::Copyable::unknown)
    peer.copyable = can_copy_from(segment_.block(peer.index)) ? Peer::Copyable::yes : Peer::Copyable::no;
  return peer.copyable == Peer::Copyable::yes;
}

int SharedMemoryChannel::show(ProcessIndex source, const TransportHeader& header, const TransportHeader& mask,
                              const ByteSequence& into) {
  if (free_numbers_.empty()) return -1;
  Peer& peer = peer_of(source);
  const std::int32_t number = free_numbers_.back();
  own_block().transfers[number].claimed.store(0, std::memory_order_relaxed);
  peer.receiver.tell_looked_at(false);
  const int place = posted_.show(peer.index, static_cast<std::uint32_t>(number), header, mask, into);
  if (place < 0) return -1;
  free_numbers_.pop_back();
  // The message may have come already, and its sender sleep.
  if (peer.receiver.front() != nullptr) peer.sender.wake_if_asleep();
  return place;
}

bool SharedMemoryChannel::withdraw(int place) {
  if (!posted_.withdraw(place)) return false;
  free_numbers_.push_back(static_cast<std::int32_t>(posted_.transfer_of(place)));
  return true;
}

void SharedMemoryChannel::take_away(int place) {
  posted_.take_away(place);
  free_numbers_.push_back(static_cast<std::int32_t>(posted_.transfer_of(place)));
}

void SharedMemoryChannel::fetch_shown(int place, ProcessIndex source, const ExposeToken& token,
                                      const ByteSequence& into, Completion* end) {
  Fetch& fetch = make_fetch(source, token, into, end);
  enter(fetch);
  const std::uint32_t transfer = posted_.transfer_of(place);
  const PostedBuffers::Met met = posted_.meet(place, fetch.expose, fetch.peer->receiver);
  fetch.number = static_cast<std::int32_t>(transfer);
  fetch_by_number_[transfer] = &fetch;
  if (met == PostedBuffers::Met::finished) {
    fetch.written = fetch.all_claimed = true;
    return;
  }
  if (met == PostedBuffers::Met::by_another) contradictions_.push_back(fetch.peer);
  if (met == PostedBuffers::Met::by_another || !choose_kernel(fetch))
    ask_for(fetch);
  else if (met == PostedBuffers::Met::claimed)
    send_help(fetch);  // it has begun
  else
    ask_for_help(fetch);
}

void SharedMemoryChannel::receive_wrote(Peer& peer, const Wrote& wrote, TransportEvents& events) {
  Fetch* const fetch = fetch_from(peer, wrote.fetch);
  const std::int64_t missing = fetch == nullptr || fetch->reported ? 0 : fetch->into.size - fetch->arrived;
  const bool last = wrote.last != 0;
  if (wrote.bytes < 1 || wrote.bytes > missing || (fetch->written && wrote.bytes != missing) ||
      (last && fetch->left))
    return refuse(peer,
                  fmt::format("that it wrote {} bytes of transfer {}, where {} are missing", wrote.bytes,
                              wrote.fetch, missing),
                  events);
  if (last) fetch->left = fetch->all_claimed = true;
  arrive(*fetch, wrote.bytes);
}

// The sending side.

bool SharedMemoryChannel::write_unasked(TransportEvents& events) {
  for (Peer* peer : contradictions_)
    refuse(*peer, "a message that meets another receive than the one that it was written to", events);
  contradictions_.clear();
  for (std::size_t looks = std::min(looks_per_pass, unasked_.size()); looks > 0; --looks) {
    if (next_unasked_ >= unasked_.size()) next_unasked_ = 0;
    const auto place = unasked_.begin() + static_cast<std::ptrdiff_t>(next_unasked_);
    const std::uint32_t id = *place;
    Exposed& exposed = exposed_[id];
    if (exposed.peer == nullptr || (!exposed.helps && (exposed.claimed || exposed.done))) {
      unasked_.erase(place);
      continue;
    }
    if (may_write(exposed, id)) {
      if (!write_chunk(exposed, id, events)) unasked_.erase(place);
      return true;
    }
    ++next_unasked_;
  }
  return false;
}

// The receiver copies the message, and we have the time, too. Or it came back while we wrote.
void SharedMemoryChannel::begin_help(Peer& peer, const Help& help, TransportEvents& events) {
  Exposed* const exposed = exposed_to(peer, help.expose);
  const bool begun = exposed != nullptr && exposed->asks;
  if (exposed == nullptr || exposed->done || exposed->claimed || !exposed->bytes.contiguous() ||
      help.fetch >= ProcessBlock::transfers_count || help.wanted < 1 || help.wanted > exposed->bytes.size ||
      (begun ? help.wanted != exposed->wanted || help.fetch != exposed->target->transfer ||
                   help.address != exposed->target->address
             : exposed->wanted >= 0))
    return refuse(peer,
                  fmt::format("a request for help with {} bytes of message {}, which it cannot have",
                              help.wanted, help.expose),
                  events);
  peer.unasked_passes = 0;
  note_their_way(peer, help.wanted, by_kernel);
  exposed->claimed = exposed->helps = true;
  if (begun) {
    exposed->asks = false;
    tell_written(*exposed, false);
    if (std::find(unasked_.begin(), unasked_.end(), help.expose) == unasked_.end())
      unasked_.push_back(help.expose);  // whether there is more to be written shows there
    return;
  }
  exposed->wanted = help.wanted;
  exposed->target = PostedBuffers::Found{peer.index, -1, 0, help.fetch, help.address, help.wanted};
}

// Whether the receiver does not come, and the receive that takes this message is known and claimed.
bool SharedMemoryChannel::may_write(Exposed& exposed, std::uint32_t id) {
  // Who has messages of its own to copy does that first: the receiver can do without help.
  if (exposed.helps) return fetches_.empty();
  Peer& peer = *exposed.peer;
  if (peer.unasked_pass != pass_) {
    peer.unasked_pass = pass_;
    peer.unasked_passes += 1 + missed_passes_;
  }
  // A receiver that comes later loses nothing, so the sender waits less long for it than it would for us.
  constexpr std::int64_t haste = 8;
  if (!patience_over(haste * peer.unasked_passes)) return false;
  if (exposed.target.has_value()) return true;
  if (!exposed.bytes.contiguous() || exposed.bytes.size == 0 || !copyable(peer)) return false;
  auto found = posted_.find(peer.index, exposed.header);
  if (!found.has_value() || found->size < 1 || found->transfer >= ProcessBlock::transfers_count) return false;
  // Read after the buffers, see posted_buffers.h.
  const std::uint32_t looked_at = peer.sender.looked_at();
  const std::uint32_t before = exposed.number - 1;
  const bool all_looked_at = before == looked_at;
  if (!all_looked_at && (looked_at != peer.claims_from || before != peer.claims_to)) return false;
  if (!posted_.unchanged(*found) || !posted_.claim(*found, id)) return false;
  // Both or neither: what is behind claims_to was not looked at when claims_from was.
  if (all_looked_at) peer.claims_from = looked_at;
  peer.claims_to = exposed.number;
  exposed.target = found;
  exposed.wanted = std::min(found->size, exposed.bytes.size);
  exposed.asks = true;
  return true;
}

// False: there is no more to be written.
bool SharedMemoryChannel::write_chunk(Exposed& exposed, std::uint32_t id, TransportEvents& events) {
  Peer& peer = *exposed.peer;
  const PostedBuffers::Found& target = *exposed.target;
  std::atomic<std::int64_t>& claimed = segment_.block(peer.index).transfers[target.transfer].claimed;
  const std::int64_t chunk = chunk_of(exposed.wanted, exposed.wanted >= least_helped);
  const std::int64_t position = claimed.fetch_add(chunk, std::memory_order_acq_rel);
  if (position < 0) {
    refuse(peer, fmt::format("position {} as the next of a message", position), events);
    return false;
  }
  const std::int64_t bytes = std::min(chunk, exposed.wanted - position);
  if (bytes > 0) {
    if (!copy_to_process(peer_pid(peer), target.address + static_cast<std::uint64_t>(position),
                         exposed.bytes.data + position, bytes)) {
      write_no_more(exposed, id, position, bytes);
      return false;
    }
    exposed.written += bytes;
    exposed.streamed += bytes;
    bytes_written_ += static_cast<std::uint64_t>(bytes);
  }
  if (position < exposed.wanted - chunk) {
    if (exposed.helps) tell_written(exposed, false);
    return true;
  }
  end_writing(exposed, id);
  return false;
}

// Nothing is left to be claimed.
void SharedMemoryChannel::end_writing(Exposed& exposed, std::uint32_t id) {
  if (exposed.helps) {
    exposed.helps = false;
    tell_written(exposed, true);
  } else if (exposed.written == exposed.wanted && posted_.finish(*exposed.target)) {
    exposed.asks = false;
    tell_written(exposed, true);
  } else {
    return;
  }
  settle_exposed(id);
}

// The kernel refuses: what was claimed goes through the ring. So does the rest, for which a receiver that
// comes yet asks itself.
void SharedMemoryChannel::write_no_more(Exposed& exposed, std::uint32_t id, std::int64_t position,
                                        std::int64_t bytes) {
  exposed.peer->copyable = Peer::Copyable::no;
  open_stream(id, exposed.target->transfer, position, bytes);
  if (!exposed.helps) return;
  exposed.helps = false;
  tell_written(exposed, false);
  open_stream(id, exposed.target->transfer, -1, 0);
}

// Tells what was written since it was last told; `last`: and that no more will be.
void SharedMemoryChannel::tell_written(Exposed& exposed, bool last) {
  const std::int64_t news = exposed.written - std::exchange(exposed.told, exposed.written);
  if (news == 0 && !last) return;
  Peer& peer = *exposed.peer;
  const bool next = peer.claims_to == peer.sender.last_number();
  const std::uint32_t transfer = exposed.target->transfer;
  if (news > 0) {
    const Wrote wrote{transfer, last ? 1u : 0u, news};
    send_control(peer, Slot::wrote, &wrote, sizeof(wrote));
  } else {
    const Left left{transfer};
    send_control(peer, Slot::left, &left, sizeof(left));
  }
  // This packet matches no receive, so it does not end a row of messages that claimed theirs.
  if (next && peer.pending.empty()) peer.claims_to = peer.sender.last_number();
}

}  // namespace hawser
