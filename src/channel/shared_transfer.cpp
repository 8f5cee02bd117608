// Large messages in shared memory: expose and fetch.
//
//   sender                                  receiver
//   expose(id, address, size)         ->    fetch
//                                     <-    pull(id, number): also opens
//                                           SharedTransfer[number], where parts are claimed
//   claims a part, data(position) ... ->    copies out, piece by piece
//   (nothing left to claim) left      ->    number may be used again
//                                           waited in vain: claims a part, copies it from the sender's memory
//                                     <-    done(id), if it copied any itself
//   or, where the kernel's copies cost less than both copies through the ring:
//                                     <-    help(id, number, address); claims parts and copies them
//   claims parts, writes them ...     ->
//   wrote(number, bytes) or left            number may be used again
//   was not asked for long: shared_write.cpp
//
// The sender's buffer is free when it has streamed all that is wanted, or when the receiver says done and no
// stream of it is open any more.
#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"
#include "base/ticks.h"
#include "channel/shared_memory_channel.h"

namespace hawser {
namespace {

// How many pieces a sender claims at once.
constexpr std::int64_t stream_claim_pieces = 16;
// One in so many pieces is timed.
constexpr std::uint32_t timed_pieces = 4;
// Fetches that are looked at in one pass; the others follow when these are through.
constexpr int fetches_per_pass = 8;

template <class T>
T payload_of(const Slot& slot) {
  T payload;
  std::memcpy(&payload, slot.payload, sizeof(T));
  return payload;
}

}  // namespace

bool SharedMemoryChannel::try_expose(ProcessIndex process, const TransportHeader& header,
                                     const ByteSequence& bytes, Completion* end) {
  Peer& peer = peer_of(process);
  if (refuses(peer, end)) return true;
  if (!peer.sender.room(1, 0)) return false;
  std::uint32_t id;
  if (free_exposed_.empty()) {
    id = static_cast<std::uint32_t>(exposed_.size());
    exposed_.emplace_back();
  } else {
    id = free_exposed_.back();
    free_exposed_.pop_back();
  }
  const std::uint32_t number = peer.sender.last_number() + 1;
  exposed_[id] = {.peer = &peer, .bytes = bytes, .end = end, .header = header, .number = number};
  unasked_.push_back(id);
  Slot& slot = peer.sender.next_slot();
  slot.header = header;
  slot.header.channel_word = Slot::expose;
  const auto address = bytes.contiguous() ? reinterpret_cast<std::uint64_t>(bytes.data) : 0;
  const ExposeToken token{{id, address, static_cast<std::uint64_t>(bytes.size), 0}};
  std::memcpy(slot.payload, &token, sizeof(token));
  peer.sender.publish(slot);
  return true;
}

void SharedMemoryChannel::fetch(ProcessIndex process, const ExposeToken& token, const ByteSequence& into,
                                Completion* end) {
  if (refuses(peer_of(process), end)) return;
  Fetch& fetch = make_fetch(process, token, into, end);
  // Only the oldest are looked at, so all that are older have a number.
  if (into.size > 0 && (free_numbers_.empty() || !without_number_.empty()))
    return without_number_.push_back(&fetch);
  start_fetch(fetch);
}

SharedMemoryChannel::Fetch& SharedMemoryChannel::make_fetch(ProcessIndex process, const ExposeToken& token,
                                                            const ByteSequence& into, Completion* end) {
  Fetch* fetch;
  if (free_fetches_.empty()) {
    fetch = &fetch_pool_.emplace_back();
  } else {
    fetch = free_fetches_.back();
    free_fetches_.pop_back();
    *fetch = {};
  }
  fetch->peer = &peer_of(process);
  fetch->expose = static_cast<std::uint32_t>(token.words[0]);
  fetch->address = token.words[1];
  fetch->into = into;
  fetch->end = end;
  return *fetch;
}

// A number is free. Asks the sender for the bytes, if they are not to be copied from here alone.
void SharedMemoryChannel::start_fetch(Fetch& fetch) {
  enter(fetch);
  if (fetch.into.size == 0) {
    const Done done{fetch.expose};
    send_control(*fetch.peer, Slot::done, &done, sizeof(done));
    return;
  }
  fetch.number = free_numbers_.back();
  free_numbers_.pop_back();
  fetch_by_number_[static_cast<std::size_t>(fetch.number)] = &fetch;
  own_block().transfers[fetch.number].claimed.store(0, std::memory_order_relaxed);
  if (choose_kernel(fetch))
    ask_for_help(fetch);
  else
    ask_for(fetch);
}

// What is copied by the kernel at a time: both ends get a share of what both copy.
std::int64_t SharedMemoryChannel::chunk_of(std::int64_t size, bool shared) const {
  return std::min(chunk_, shared ? std::clamp(size / 4, least_chunk, most_shared_chunk) : size);
}

// The sender is to send what it can claim.
void SharedMemoryChannel::ask_for(Fetch& fetch) {
  fetch.pulled = true;
  const Pull pull{fetch.expose, static_cast<std::uint32_t>(fetch.number), -1, fetch.into.size,
                  fetch.into.size};
  send_control(*fetch.peer, Slot::pull, &pull, sizeof(pull));
}

bool SharedMemoryChannel::progress_transfers(TransportEvents& events) {
  ++pass_;
  bool moved = pending_slots_ > 0 && flush_pending();
  if (!streams_.empty()) moved |= push_streams(events);
  while (!free_numbers_.empty() && !without_number_.empty()) start_fetch(*without_number_.pop_front());
  if (!fetches_.empty()) moved |= advance_fetches();
  if (!unasked_.empty() || !contradictions_.empty()) moved |= write_unasked(events);
  missed_passes_ = 0;
  if (!refused_.empty()) tell_refused();
  if (remote_memory_.pending()) moved |= remote_memory_.progress(events);
  return moved;
}

// The receiving side.

bool SharedMemoryChannel::advance_fetches() {
  bool moved = false;
  int looked_at = 0;
  for (Fetch* fetch = fetches_.front(); fetch != nullptr && looked_at < fetches_per_pass; ++looked_at) {
    Fetch* const next = fetches_.next(fetch);
    if (fetch->into.size == 0) {
      report_fetch(*fetch);
      moved = true;
    } else if (!fetch->all_claimed && fetch->peer->fetch_pass != pass_) {
      Peer& peer = *fetch->peer;
      peer.fetch_pass = pass_;
      // With more processes than cores a pass is a turn of the other processes. A few of them are worth it
      // (both sides then copy through the cache, in half the time), but not more: the sender may not run for
      // a while.
      peer.quiet_passes += 1 + missed_passes_;
      const bool wanted = fetch->by_kernel || !fetch->pulled ||
                          (single_copy_ != SingleCopy::never && patience_over(peer.quiet_passes));
      if (wanted && may_copy(*fetch)) moved |= copy_chunks(*fetch);
    }
    fetch = next;
  }
  return moved;
}

// As many as one pass is for: the sender may claim some between them.
bool SharedMemoryChannel::copy_chunks(Fetch& fetch) {
  const std::int64_t chunk = chunk_of(fetch.into.size, fetch.helped);
  const std::int64_t most = fetch.helped ? std::min(chunk_, most_shared_chunk) : chunk;
  bool moved = false, more = true;
  for (std::int64_t bytes = 0; more && bytes < most; bytes += chunk) moved |= copy_chunk(fetch, more);
  return moved;
}

// `more`: there may be another. If not, the fetch may be over, and its place used again.
bool SharedMemoryChannel::copy_chunk(Fetch& fetch, bool& more) {
  SharedTransfer& transfer = own_block().transfers[fetch.number];
  const std::int64_t chunk = chunk_of(fetch.into.size, fetch.helped);
  const std::int64_t position = transfer.claimed.fetch_add(chunk, std::memory_order_acq_rel);
  const std::int64_t bytes = position < 0 ? 0 : std::min(chunk, fetch.into.size - position);
  fetch.all_claimed = position >= fetch.into.size - chunk;
  more = !fetch.all_claimed;
  if (bytes <= 0) return false;
  Peer& peer = *fetch.peer;
  const std::uint64_t begin = ticks();
  if (fetch.timed_bytes == 0) fetch.copying = begin;
  if (copy_from_process(peer_pid(peer), fetch.into.data + position,
                        fetch.address + static_cast<std::uint64_t>(position), bytes)) {
    fetch.ticks += ticks() - begin;
    fetch.timed_bytes += bytes;
    fetch.copied_here = true;
    bytes_copied_ += static_cast<std::uint64_t>(bytes);
    arrive(fetch, bytes);
    return true;
  }
  more = false;
  // What was claimed here cannot be had this way (memory of a kind that the kernel does not copy): ask for
  // just that part, and for the rest if the sender was not asked yet.
  peer.copyable = Peer::Copyable::no;
  Pull pull{fetch.expose, static_cast<std::uint32_t>(fetch.number), position, bytes, fetch.into.size};
  send_control(peer, Slot::pull, &pull, sizeof(pull));
  if (!fetch.pulled) {
    fetch.pulled = true;
    pull.position = -1;
    pull.size = fetch.into.size;
    send_control(peer, Slot::pull, &pull, sizeof(pull));
  }
  return true;
}

// The transfer of this number that the neighbour is to fill; null if there is none.
SharedMemoryChannel::Fetch* SharedMemoryChannel::fetch_from(const Peer& peer, std::uint32_t number) {
  Fetch* const fetch = number < fetch_by_number_.size() ? fetch_by_number_[number] : nullptr;
  return fetch != nullptr && fetch->peer == &peer && (fetch->pulled || fetch->written) ? fetch : nullptr;
}

void SharedMemoryChannel::receive_data(Peer& peer, const Data& data, TransportEvents& events) {
  peer.quiet_passes = 0;
  Fetch* const fetch = fetch_from(peer, data.fetch);
  if (fetch == nullptr || fetch->reported || data.position < 0 ||
      data.position > fetch->into.size - data.piece.size)
    return refuse(peer,
                  fmt::format("{} bytes at position {} of transfer {}, which were not asked for",
                              data.piece.size, data.position, data.fetch),
                  events);
  if (!peer.receiver.valid(data.piece)) return refuse(peer, bad_place(data.piece), events);
  const std::byte* from = peer.receiver.at(data.piece);
  if (!fetch->into.contiguous()) {
    fetch->into.packer->unpack(data.position, from, data.piece.size);
  } else if (pieces_came_++ % timed_pieces == 0) {
    const std::uint64_t begin = ticks();
    std::memcpy(fetch->into.data + data.position, from, data.piece.size);
    fetch->ticks += ticks() - begin;
    fetch->timed_bytes += data.piece.size;
    fetch->ring_cost = data.cost;
  } else {
    std::memcpy(fetch->into.data + data.position, from, data.piece.size);
  }
  peer.receiver.took(data.piece);
  if (data.last != 0) fetch->left = fetch->all_claimed = true;
  arrive(*fetch, data.piece.size);
}

void SharedMemoryChannel::arrive(Fetch& fetch, std::int64_t bytes) {
  fetch.arrived += bytes;
  if (fetch.arrived < fetch.into.size) return;
  if (fetch.copied_here) {
    const Done done{fetch.expose};
    send_control(*fetch.peer, Slot::done, &done, sizeof(done));
  }
  report_fetch(fetch);
}

void SharedMemoryChannel::report_fetch(Fetch& fetch) {
  record_cost(fetch);
  fetches_.remove(&fetch);
  if (--fetch.peer->fetches == 0) --sources_;
  fetch.reported = true;
  Completion* const end = fetch.end;
  retire_if_over(fetch);
  tell(end, {});
}

// The number is free when the sender cannot touch its SharedTransfer any more.
void SharedMemoryChannel::retire_if_over(Fetch& fetch) {
  if (!fetch.reported || (fetch.pulled && !fetch.left)) return;
  if (fetch.number >= 0) {
    fetch_by_number_[static_cast<std::size_t>(fetch.number)] = nullptr;
    free_numbers_.push_back(fetch.number);
  }
  free_fetches_.push_back(&fetch);
}

// The sending side.

void SharedMemoryChannel::receive_transfer(Peer& peer, const Slot& slot, TransportEvents& events) {
  switch (slot.header.channel_word) {
    case Slot::data:
      receive_data(peer, payload_of<Data>(slot), events);
      break;
    case Slot::pull:
      begin_stream(peer, payload_of<Pull>(slot), events);
      break;
    case Slot::help:
      begin_help(peer, payload_of<Help>(slot), events);
      break;
    case Slot::left: {
      const auto number = payload_of<Left>(slot).fetch;
      Fetch* const fetch = fetch_from(peer, number);
      if (fetch == nullptr || fetch->left)
        return refuse(peer, fmt::format("the end of transfer {}, which it does not fill", number), events);
      fetch->left = fetch->all_claimed = true;
      retire_if_over(*fetch);
      break;
    }
    case Slot::wrote:
      receive_wrote(peer, payload_of<Wrote>(slot), events);
      break;
    case Slot::done: {
      const auto id = payload_of<Done>(slot).expose;
      Exposed* const exposed = exposed_to(peer, id);
      if (exposed == nullptr || exposed->done)
        return refuse(peer, fmt::format("the end of message {}, which was not offered to it", id), events);
      exposed->done = true;
      if (!exposed->claimed) note_their_way(peer, exposed->bytes.size, by_kernel);
      if (exposed->helps) return end_writing(*exposed, id);
      settle_exposed(id);
      break;
    }
    default:
      refuse(peer, fmt::format("a packet of unknown format {}", slot.header.channel_word), events);
  }
}

SharedMemoryChannel::Exposed* SharedMemoryChannel::exposed_to(const Peer& peer, std::uint32_t id) {
  return id < exposed_.size() && exposed_[id].peer == &peer ? &exposed_[id] : nullptr;
}

void SharedMemoryChannel::begin_stream(Peer& peer, const Pull& pull, TransportEvents& events) {
  Exposed* const exposed = exposed_to(peer, pull.expose);
  const bool claims = pull.position < 0;
  // The rest is asked for once, and once a part that the receiver claimed and then could not copy.
  const bool asked_before = exposed != nullptr && (claims ? exposed->claimed : exposed->repeated);
  if (exposed == nullptr || exposed->done || asked_before || pull.fetch >= ProcessBlock::transfers_count ||
      pull.wanted < 1 || pull.wanted > exposed->bytes.size ||
      (exposed->wanted >= 0 && exposed->wanted != pull.wanted) ||
      (!claims && (pull.size < 1 || pull.size > pull.wanted || pull.position > pull.wanted - pull.size)))
    return refuse(peer,
                  fmt::format("a request for {} bytes at position {} of {} in message {}, which were not "
                              "offered to it",
                              pull.size, pull.position, pull.wanted, pull.expose),
                  events);
  peer.unasked_passes = 0;
  if (exposed->asks) {
    exposed->asks = false;
    tell_written(*exposed, false);
  }
  exposed->wanted = pull.wanted;
  if (claims) note_their_way(peer, pull.wanted, by_ring);
  (claims ? exposed->claimed : exposed->repeated) = true;
  open_stream(pull.expose, pull.fetch, pull.position, pull.size);
}

// Sends what can be claimed (position -1) or just that part through the ring.
void SharedMemoryChannel::open_stream(std::uint32_t id, std::uint32_t fetch, std::int64_t position,
                                      std::int64_t bytes) {
  const bool claims = position < 0;
  Exposed& exposed = exposed_[id];
  ++exposed.streams;
  if (exposed.peer->streams++ == 0) ++targets_;
  auto stream = std::make_unique<Stream>();
  *stream = {.peer = exposed.peer,
             .expose = id,
             .fetch = fetch,
             .position = claims ? 0 : position,
             .end = claims ? 0 : position + bytes,
             .size = exposed.wanted,
             .claims = claims};
  streams_.push_back(std::move(stream));
}

bool SharedMemoryChannel::push_streams(TransportEvents& events) {
  bool moved = false;
  for (std::size_t i = 0; i < streams_.size();) {
    Stream& stream = *streams_[i];
    // A full ring is full for all streams to that neighbour, and the oldest goes first.
    if (stream.peer->stream_pass == pass_) {
      ++i;
      continue;
    }
    if (push_stream(stream, events)) {
      stream.peer->unasked_passes = 0;
      moved = true;
    }
    if (stream.position < stream.end || stream.claims) {
      stream.peer->stream_pass = pass_;
      ++i;
      continue;
    }
    const std::uint32_t expose = stream.expose;
    if (--stream.peer->streams == 0) --targets_;
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
    --exposed_[expose].streams;
    settle_exposed(expose);
    moved = true;
  }
  return moved;
}

// Copies in as many pieces as there is room for, up to a bound: what arrives meanwhile wants attention too.
bool SharedMemoryChannel::push_stream(Stream& stream, TransportEvents& events) {
  bool moved = false;
  RingSender& ring = stream.peer->sender;
  Exposed& exposed = exposed_[stream.expose];
  for (std::int64_t pieces = 0; pieces < pieces_in_turn; ++pieces) {
    if (stream.position == stream.end && !claim_for_stream(stream, events)) break;
    const auto size =
        static_cast<std::uint32_t>(std::min<std::int64_t>(piece_, stream.end - stream.position));
    if (!ring.room(1, RingSender::padded(size) + piece_)) break;
    const Piece piece = ring.reserve(size);
    if (exposed.bytes.contiguous())
      ring.copy_in(piece, exposed.bytes.data + stream.position);
    else
      ring.pack_in(piece, *exposed.bytes.packer, stream.position);
    const bool last = stream.last_claimed && stream.position + size == stream.end;
    const float cost = ring.copy_cost() * static_cast<float>(targets_);
    const Data data{piece, stream.position, stream.fetch, last, cost};
    if (last) stream.claims = false;
    Slot& slot = ring.next_slot();
    slot.header.channel_word = Slot::data;
    std::memcpy(slot.payload, &data, sizeof(data));
    ring.publish(slot);
    stream.position += size;
    exposed.streamed += size;
    moved = true;
  }
  return moved;
}

// Claims the next part of the transfer; false when there is none left, which the receiver is told.
bool SharedMemoryChannel::claim_for_stream(Stream& stream, TransportEvents& events) {
  if (!stream.claims) return false;
  const std::int64_t part = stream_claim_pieces * piece_;
  SharedTransfer& transfer = segment_.block(stream.peer->index).transfers[stream.fetch];
  const std::int64_t position = transfer.claimed.fetch_add(part, std::memory_order_acq_rel);
  if (position >= stream.size) {
    stream.claims = false;
    const Left left{stream.fetch};
    send_control(*stream.peer, Slot::left, &left, sizeof(left));
    return false;
  }
  // The counter lies in the receiver's memory.
  if (position < 0 || exposed_[stream.expose].streamed > stream.size) {
    stream.claims = false;
    refuse(*stream.peer,
           fmt::format("position {} as the next of a transfer of {} bytes", position, stream.size), events);
    return false;
  }
  stream.position = position;
  stream.end = std::min(position + part, stream.size);
  stream.last_claimed = position + part >= stream.size;
  return true;
}

void SharedMemoryChannel::settle_exposed(std::uint32_t id) {
  Exposed& exposed = exposed_[id];
  if (exposed.streams > 0 || exposed.asks || exposed.helps ||
      !(exposed.done || exposed.streamed == exposed.wanted))
    return;
  Completion* const end = exposed.end;
  exposed = {};
  free_exposed_.push_back(id);
  tell(end, {});
}

}  // namespace hawser
