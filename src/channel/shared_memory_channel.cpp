#include "channel/shared_memory_channel.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {
namespace {

void copy_in(RingSender& ring, const Piece& piece, const ByteSequence& from, std::int64_t offset) {
  if (from.contiguous())
    ring.copy_in(piece, from.data + offset);
  else
    ring.pack_in(piece, *from.packer, offset);
}

}  // namespace

SharedMemoryChannel::SharedMemoryChannel(SharedSegment segment, std::int32_t self,
                                         std::vector<ProcessIndex> processes, std::int32_t job_size,
                                         const Knobs& knobs, std::int32_t cores)
    : segment_(std::move(segment)),
      self_(self),
      processes_(std::move(processes)),
      load_(segment_, self),
      fence_(!knobs.wait_membarrier || !accept_remote_barriers()),
      remote_memory_(segment_, self, processes_, senders_, load_, fence_, knobs.shm_single_copy != "never"),
      chunk_(knobs.shm_single_copy_chunk),
      patience_(knobs.shm_patience),
      posted_(segment_, self),
      crowded_(node_size() > cores) {
  const SegmentLayout& layout = segment_.layout();
  HAWSER_ASSERT(layout.processes == static_cast<std::int32_t>(processes_.size()));
  eager_limit_ = std::min<std::int64_t>(knobs.shm_eager_limit, layout.ring_bytes / 4);
  // Its pieces must also fit the slots.
  eager_limit_ = std::min<std::int64_t>(eager_limit_, layout.ring_slots / 4 * eager_piece);
  piece_ = static_cast<std::uint32_t>(std::min<std::int64_t>(knobs.shm_piece, layout.ring_bytes / 8));
  single_copy_ = knobs.shm_single_copy == "never"    ? SingleCopy::never
                 : knobs.shm_single_copy == "always" ? SingleCopy::always
                                                     : SingleCopy::when_sender_is_busy;
  senders_.resize(static_cast<std::size_t>(job_size));
  by_process_.resize(senders_.size());
  peers_.resize(processes_.size());
  for (std::int32_t i = 0; i < node_size(); ++i) {
    if (i == self_) continue;
    const ProcessIndex process = processes_[static_cast<std::size_t>(i)];
    auto peer = std::make_unique<Peer>(segment_, self_, i, process, waker_, fence_);
    senders_[static_cast<std::size_t>(process)] = &peer->sender;
    by_process_[static_cast<std::size_t>(process)] = peer.get();
    peers_[static_cast<std::size_t>(i)] = std::move(peer);
  }
  known_incoming_.resize((processes_.size() + 63) / 64);
  areas_.resize(static_cast<std::size_t>(layout.areas));
  died_.resize(processes_.size());
  for (std::int32_t i = ProcessBlock::transfers_count; i-- > 0;) free_numbers_.push_back(i);

  allow_copies_by_others();
  ProcessBlock& block = own_block();
  block.pid = own_pid();
  block.identity = own_identity();
  block.cpus = usable_cpus();
  block.block_address = reinterpret_cast<std::uint64_t>(&block);
  block.present.store(random_word() | 1, std::memory_order_release);
}

SharedMemoryChannel::~SharedMemoryChannel() { own_block().left.store(1, std::memory_order_release); }

void SharedMemoryChannel::look_at_some(TransportEvents& events, Nanoseconds now) {
  // Each look costs some microseconds.
  constexpr Nanoseconds pause = 100 * millisecond;
  constexpr std::int64_t looks_per_pause = 4;
  const std::int64_t looks = std::min<std::int64_t>(
      node_size(), looks_per_pause * std::max<Nanoseconds>((now - last_look_) / pause, 1));
  const bool first = std::exchange(last_look_, now) == 0;
  next_look_ = now + (first ? 10 : 1) * pause;  // the others may only just be starting
  if (first) return;
  for (std::int64_t i = 0; i < looks; ++i) {
    const std::int32_t index = std::exchange(next_looked_at_, (next_looked_at_ + 1) % node_size());
    const ProcessBlock& block = segment_.block(index);
    if (index == self_ || died_[static_cast<std::size_t>(index)] ||
        block.present.load(std::memory_order_acquire) == 0 || !has_died(block.identity))
      continue;
    if (block.left.load(std::memory_order_acquire) != 0) continue;
    died_[static_cast<std::size_t>(index)] = true;
    const ProcessIndex process = processes_[static_cast<std::size_t>(index)];
    events.on_peer_lost(process, failure(ErrorKind::peer_lost, "rank {} (process {} of this node) has died",
                                         process, block.pid));
  }
}

int SharedMemoryChannel::place_of(ProcessIndex process) const { return place_among(processes_, process); }

int SharedMemoryChannel::allocate() {
  const auto found = std::find(areas_.begin(), areas_.end(), false);
  if (found == areas_.end()) return -1;
  *found = true;
  return static_cast<int>(found - areas_.begin());
}

void SharedMemoryChannel::release(int index) { areas_[static_cast<std::size_t>(index)] = false; }

bool SharedMemoryChannel::copy_from(int place, std::byte* to, std::uint64_t address, std::int64_t bytes) {
  Peer* const peer = peers_[static_cast<std::size_t>(place)].get();
  return single_copy_ != SingleCopy::never && peer != nullptr && copyable(*peer) &&
         copy_from_process(peer_pid(*peer), to, address, bytes);
}

void SharedMemoryChannel::wake(int place) {
  if (Peer* peer = peers_[static_cast<std::size_t>(place)].get()) peer->sender.wake_if_asleep();
}

bool SharedMemoryChannel::try_send(ProcessIndex process, const TransportHeader& header,
                                   const ByteSequence& payload) {
  Peer& peer = peer_of(process);
  if (peer.lost) [[unlikely]]
    return true;  // swallowed
  RingSender& ring = peer.sender;
  HAWSER_ASSERT(payload.size <= eager_limit_);
  const auto size = static_cast<std::uint32_t>(payload.size);
  if (size <= Slot::inline_limit) {
    if (payload.contiguous()) return ring.try_send_inline(header, payload.data, size);
    std::byte packed[Slot::inline_limit];
    payload.packer->pack(0, packed, size);
    return ring.try_send_inline(header, packed, size);
  }
  const std::uint32_t pieces = (size + eager_piece - 1) / eager_piece;
  if (!ring.room(pieces, RingSender::padded(size) + eager_piece)) return false;
  for (std::uint32_t offset = 0; offset < size; offset += eager_piece) {
    const Piece piece = ring.reserve(std::min(eager_piece, size - offset));
    copy_in(ring, piece, payload, offset);
    Slot& slot = ring.next_slot();
    if (offset == 0) {
      slot.header = header;
      slot.header.channel_word = pieces == 1 ? Slot::packet : Slot::eager_begin;
      const EagerBegin begin{piece, size};
      std::memcpy(slot.payload, &begin, sizeof(begin));
    } else {
      slot.header.channel_word = Slot::eager_more;
      std::memcpy(slot.payload, &piece, sizeof(piece));
    }
    ring.publish(slot);
  }
  if (size <= RingSender::most_expected) ring.expect_piece(size);
  return true;
}

bool SharedMemoryChannel::flushed() const { return pending_slots_ == 0 && streams_.empty() && !offers(); }

std::vector<ChannelCounter> SharedMemoryChannel::list_counters() const {
  std::uint64_t packets_sent = 0, packets_received = 0, bytes_sent = 0, bytes_received = 0;
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    packets_sent += peer->sender.messages();
    bytes_sent += peer->sender.bytes();
    packets_received += peer->receiver.messages();
    bytes_received += peer->receiver.bytes();
  }
  return {{"packets_sent", packets_sent},
          {"packets_received", packets_received},
          {"ring_bytes_sent", bytes_sent},
          {"ring_bytes_received", bytes_received},
          {"bytes_copied_from_senders", bytes_copied_},
          {"bytes_written_to_receivers", bytes_written_}};
}

// A neighbour announced that it sends: its ring is polled from now on.
void SharedMemoryChannel::admit_senders() {
  const ProcessBlock& block = own_block();
  for (std::size_t word = 0; word < known_incoming_.size(); ++word) {
    const std::uint64_t now = block.incoming[word].load(std::memory_order_acquire);
    for (std::uint64_t fresh = now & ~known_incoming_[word]; fresh != 0; fresh &= fresh - 1) {
      const std::size_t index = word * 64 + static_cast<std::size_t>(__builtin_ctzll(fresh));
      if (index < peers_.size() && peers_[index] != nullptr) polled_.push_back(peers_[index].get());
    }
    known_incoming_[word] = now;
  }
}

void SharedMemoryChannel::receive_other(Peer& peer, const Slot& slot, TransportEvents& events) {
  switch (slot.header.channel_word) {
    case Slot::eager_begin: {
      EagerBegin begin;
      std::memcpy(&begin, slot.payload, sizeof(begin));
      if (peer.eager_size != 0 || begin.message_size < 1 || begin.message_size > segment_.layout().ring_bytes)
        return refuse(peer, fmt::format("a message of {} bytes in pieces", begin.message_size), events);
      peer.eager_size = begin.message_size;
      peer.eager_landed = 0;
      const TransportHeader header = slot.header;  // which its sender cannot change any more
      peer.sink = events.on_eager_begin(peer.process, header, begin.message_size);
      land_eager(peer, begin.piece, events);
      break;
    }
    case Slot::eager_more: {
      Piece piece;
      std::memcpy(&piece, slot.payload, sizeof(piece));
      land_eager(peer, piece, events);
      break;
    }
    case Slot::expose: {
      ExposeToken token;
      std::memcpy(&token, slot.payload, sizeof(token));
      const auto size = static_cast<std::int64_t>(token.words[2]);
      if (size < 0) return refuse(peer, fmt::format("an offer of {} bytes", size), events);
      events.on_offer(peer.process, slot.header, token, size);
      break;
    }
    case Slot::serve:
      return receive_served(peer, slot, events);
    default:
      receive_transfer(peer, slot, events);
  }
}

void SharedMemoryChannel::receive_served(Peer& peer, const Slot& slot, TransportEvents& events) {
  ServedCommand command;
  std::memcpy(&command, slot.payload, sizeof(command));
  const std::byte* data = slot.payload + sizeof(command);
  if (ServedOperations::in_ring(command)) {
    Piece piece;
    std::memcpy(&piece, data, sizeof(piece));
    if (!peer.receiver.valid(piece) || piece.size != command.size)
      return refuse(peer, bad_place(piece), events);
    data = peer.receiver.at(piece);
    peer.receiver.took(piece);
  }
  if (!remote_memory_.served().serve(peer.index, command, data))
    return refuse(peer,
                  fmt::format("a {} of {} bytes at offset {} of window {}, which is not there",
                              command.put != 0 ? "put" : "get", command.size, command.offset, command.window),
                  events);
  peer.sender.wake_if_asleep();
}

void SharedMemoryChannel::land_eager(Peer& peer, const Piece& piece, TransportEvents& events) {
  if (peer.eager_size == 0) return refuse(peer, "a piece of a message that never began", events);
  if (!peer.receiver.valid(piece) || piece.size == 0) return refuse(peer, bad_place(piece), events);
  const ByteSequence& into = peer.sink.into;
  const std::int64_t bytes = std::min<std::int64_t>(piece.size, into.size - peer.eager_landed);
  if (bytes > 0) {
    if (into.contiguous())
      std::memcpy(into.data + peer.eager_landed, peer.receiver.at(piece), static_cast<std::size_t>(bytes));
    else
      into.packer->unpack(peer.eager_landed, peer.receiver.at(piece), bytes);
  }
  peer.receiver.took(piece);
  peer.eager_landed += piece.size;
  if (peer.eager_landed < peer.eager_size) return;
  peer.eager_size = 0;
  tell(peer.sink.end, {});
}

void SharedMemoryChannel::refuse(Peer& peer, std::string what, TransportEvents& events) {
  peer.receiver.close();
  events.on_bad_packet(peer.process, std::move(what));
}

std::string SharedMemoryChannel::bad_place(const Piece& piece) {
  return fmt::format("{} bytes at offset {}, which is outside their ring", piece.size, piece.offset);
}

// Sends a packet of the channel's own. If there is no room it goes out from progress: the order among these
// packets and messages does not matter, each names what it is about.
void SharedMemoryChannel::send_control(Peer& peer, std::uint32_t format, const void* payload,
                                       std::size_t size) {
  if (peer.pending.empty() && try_control(peer, format, payload, size)) return;
  auto& [pending_format, bytes] = peer.pending.emplace_back();
  pending_format = format;
  std::memcpy(bytes.data(), payload, size);
  ++pending_slots_;
}

bool SharedMemoryChannel::try_control(Peer& peer, std::uint32_t format, const void* payload,
                                      std::size_t size) {
  if (!peer.sender.room(1, 0)) return false;
  Slot& slot = peer.sender.next_slot();
  slot.header.channel_word = format;
  std::memcpy(slot.payload, payload, size);
  peer.sender.publish(slot);
  return true;
}

bool SharedMemoryChannel::flush_pending() {
  bool moved = false;
  for (const auto& peer : peers_) {
    while (peer != nullptr && !peer->pending.empty()) {
      const auto& [format, bytes] = peer->pending.front();
      if (!try_control(*peer, format, bytes.data(), bytes.size())) break;
      peer->pending.erase(peer->pending.begin());
      --pending_slots_;
      moved = true;
    }
  }
  return moved;
}

}  // namespace hawser
