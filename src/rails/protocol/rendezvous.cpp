#include "rails/protocol/rendezvous.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/failure.h"
#include "base/planted_bug.h"

namespace hawser {
namespace {

std::array<std::byte, sizeof(TransportHeader) + sizeof(StartBody)> start_head(const TransportHeader& header,
                                                                              const StartBody& body) {
  std::array<std::byte, sizeof(TransportHeader) + sizeof(StartBody)> head;
  std::memcpy(head.data(), &header, sizeof(header));
  std::memcpy(head.data() + sizeof(header), &body, sizeof(body));
  return head;
}

// A writer that is not heard of for so long does not count among those who write here.
constexpr Nanoseconds shortest_silence = 100 * millisecond, longest_silence = 2 * second;

// What a writer may have under way before it knows anything of its paths.
std::int64_t granted_part(const Transfer& fetch, const FlowSettings& flow) {
  return std::min(fetch.size, flow.first * std::max(fetch.peer->ready(), 1));
}

std::uint32_t checksum_of(const Transfer& transfer) {
  return crc32c({transfer.registration.address, static_cast<std::size_t>(transfer.size)});
}

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

}  // namespace

Rendezvous::Rendezvous(RailContext& context, RailResources& resources, const PeerTable& peers, Upward& upward)
    : context_(context),
      resources_(resources),
      peers_(peers),
      upward_(upward),
      // Only the reader can check what was moved before anybody is told.
      reads_(context.knobs.rail_rendezvous == "read" || context.knobs.checksum),
      read_tokens_(context.knobs.rail_reads),
      grant_window_(context.port_flow) {
  upward.handle(
      {PacketKind::start, PacketKind::reply, PacketKind::done, PacketKind::data, PacketKind::finish}, *this);
  upward.stripes = this;
}

void Rendezvous::on_packet(const ReceivedPacket& packet) {
  switch (packet.kind) {
    case PacketKind::start:
      return on_start(packet.peer, packet.bytes);
    case PacketKind::reply:
      return on_reply(packet.peer, packet.bytes);
    case PacketKind::done:
      return on_done(packet.peer, packet.bytes);
    case PacketKind::data:
      return on_data(packet.peer, packet.bytes);
    case PacketKind::finish:
      return on_finish(packet.peer, packet.bytes);
    default:
      HAWSER_UNREACHABLE();  // it registered for no other
  }
}

// The two ends of the protocol.

bool Rendezvous::try_expose(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& bytes,
                            Completion* end) {
  if (peer.lost) {
    landed_.push_back({end, true});
    return true;
  }
  if (!peer.room()) {
    ++context_.counters.no_room;
    return false;
  }
  Transfer& exposure = exposures_.take(peer);
  exposure.bytes = bytes;
  exposure.end = end;
  exposure.traffic = header.traffic;
  exposure.size = bytes.size;
  exposure.readable =
      reads_ && peer.reads() && (context_.knobs.checksum || peer.readable > 0 || !many_readers());
  StartBody body;
  body.exposed = exposure.name;
  body.size = bytes.size;
  body.readable = exposure.readable;
  if (exposure.readable && bytes.size > 0 && !register_bytes(exposure, false)) {
    exposure.readable = false;
    exposure.in_packets = true;
    body.readable = 0;
  }
  if (exposure.readable && bytes.size > 0) {
    if (!bytes.contiguous()) bytes.packer->pack(0, exposure.registration.address, bytes.size);
    body.bytes = own_bytes(exposure);
    if (context_.knobs.checksum) {
      body.checked = 1;
      body.checksum = checksum_of(exposure);
    }
  }
  if (peer.send(PacketKind::start, header.traffic, start_head(header, body), {})) {
    if (exposure.readable && peer.readable++ == 0) ++reading_peers_;
    return true;
  }
  exposures_.release(exposure);
  return false;
}

void Rendezvous::on_start(VirtualChannel& peer, std::span<const std::byte> packet) {
  TransportHeader header;
  StartBody body;
  if (!read_body(packet, sizeof(PacketHeader), header) ||
      !read_body(packet, sizeof(PacketHeader) + sizeof(header), body) || body.size < 0) {
    return context_.report_malformed(peer.process(),
                                     "a rendezvous start that is too short or of a negative size");
  }
  if (!known(header.traffic))
    return context_.report_malformed(
        peer.process(),
        fmt::format("a rendezvous start of unknown traffic class {}", static_cast<int>(header.traffic)));
  Transfer& fetch = fetches_.take(peer);
  fetch.traffic = header.traffic;
  fetch.other = body.exposed;
  fetch.offered = body.size;
  fetch.checked = body.checked != 0;
  fetch.checksum = body.checksum;
  fetch.remote = body.bytes;
  fetch.readable = body.readable != 0;
  const ExposeToken token{{fetch.name.place, fetch.name.generation, 0, 0}};
  context_.events->on_offer(peer.process(), header, token, body.size);
}

void Rendezvous::fetch(VirtualChannel& peer, const ExposeToken& token, const ByteSequence& into,
                       Completion* end) {
  const TransferName name{static_cast<std::uint32_t>(token.words[0]),
                          static_cast<std::uint32_t>(token.words[1])};
  Transfer* const fetch = fetches_.find(name, peer);
  if (peer.lost || fetch == nullptr) {
    HAWSER_ASSERT(peer.lost);
    landed_.push_back({end, true});
    return;
  }
  HAWSER_ASSERT(fetch->state == Transfer::State::offered && into.size <= fetch->offered);
  fetch->bytes = into;
  fetch->end = end;
  fetch->size = into.size;
  if (into.size == 0) {
    landed_.push_back({end, false});
    fetch->state = Transfer::State::answering;
    to_answer_.push_back(fetch);
    return;
  }
  if (fetch->readable) {
    fetch->state = Transfer::State::moving;
    // Only the whole can be checked.
    if (fetch->checked) fetch->size = fetch->offered;
    fetch->remaining.push_back({0, fetch->size});
    to_read_.push_back(fetch);
  } else {
    fetch->state = Transfer::State::answering;
    to_answer_.push_back(fetch);
  }
}

// Reply or done. False: no room now.
bool Rendezvous::answer(Transfer& fetch) {
  VirtualChannel& peer = *fetch.peer;
  if (!peer.room()) return false;
  if (fetch.readable || fetch.done >= fetch.size) {
    const DoneBody body{fetch.other};
    if (!peer.send(PacketKind::done, fetch.traffic, bytes_of(body), {})) return false;
    to_answer_.remove(&fetch);
    fetches_.release(fetch);
    return true;
  }
  if (!grant(fetch)) return false;
  if (!fetch.registration.made() && (fetch.in_packets || !register_bytes(fetch, true))) lay_out(fetch);
  ReplyBody body;
  body.exposed = fetch.other;
  body.fetch = fetch.name;
  body.size = fetch.size;
  body.bytes = own_bytes(fetch);
  if (!peer.send(PacketKind::reply, fetch.traffic, bytes_of(body), {})) return false;
  to_answer_.remove(&fetch);
  fetch.state = Transfer::State::moving;
  fetch.granted = true;
  if (peer.writing++ == 0) {
    peer.writing_part = granted_part(fetch, context_.stripe_flow);
    granted_bytes_ += peer.writing_part;
  }
  fetch.granted_with = grant_window_.delivered();
  fetch.granted_at = fetch.granted_heard = context_.now;
  granted_.push_back(&fetch);
  return true;
}

// Writers are many where all send to one process, and each of them has at least a piece under way: so only
// some are let write at once; several transfers of one of them are its own business. One that is not heard of
// does something else, and must not hold up the others.
bool Rendezvous::grant(const Transfer& fetch) {
  return fetch.peer->writing > 0 ||
         grant_window_.admits(granted_part(fetch, context_.stripe_flow), granted_bytes_);
}

void Rendezvous::hear_of_grant(Transfer& fetch) {
  if (!fetch.granted) return;
  if (fetch.granted_heard == fetch.granted_at)
    grant_window_.on_done(fetch.peer->writing_part, fetch.granted_with, fetch.granted_at, fetch.granted_at,
                          context_.now);
  fetch.granted_heard = context_.now;
  granted_.remove(&fetch);
  granted_.push_back(&fetch);
}

void Rendezvous::end_grant(Transfer& fetch) {
  if (!fetch.granted) return;
  if (--fetch.peer->writing == 0) granted_bytes_ -= fetch.peer->writing_part;
  fetch.granted = false;
  granted_.remove(&fetch);
}

Nanoseconds Rendezvous::deadline() const {
  return to_answer_.empty() || granted_.empty() ? never : granted_.front()->granted_heard + silence();
}

Nanoseconds Rendezvous::silence() const {
  return std::clamp(4 * grant_window_.slowest(), shortest_silence, longest_silence);
}

// Whoever reads from here does not know of the others, and the answers to all of them wait for this end's
// ports. Beyond some readers the others are asked where to write to, which this end does in its own time. How
// many are too many follows from what the ports were seen to move: each has about a piece under way.
bool Rendezvous::many_readers() const {
  if (reading_peers_ < 2) return false;
  std::int64_t bytes = 0;
  for (const auto& rail : resources_.rails)
    bytes += std::max(rail->read_flow.bytes(), rail->write_flow.bytes());
  const auto rails = static_cast<std::int64_t>(resources_.rails.size());
  return reading_peers_ * rails * context_.stripe_flow.first >= 2 * bytes;
}

void Rendezvous::end_readable(Transfer& exposure) {
  if (exposure.readable && --exposure.peer->readable == 0) --reading_peers_;
}

void Rendezvous::on_reply(VirtualChannel& peer, std::span<const std::byte> packet) {
  ReplyBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous reply", packet.size());
  Transfer* const exposure = exposures_.find(body.exposed, peer);
  if (exposure == nullptr || exposure->state != Transfer::State::offered)
    return context_.report_malformed(
        peer.process(),
        fmt::format("a rendezvous reply for transfer {}, which waits for none", body.exposed.place));
  const bool keys =
      std::any_of(body.bytes.keys.begin(), body.bytes.keys.end(), [](auto key) { return key != 0; });
  if ((exposure->readable && keys) || body.size < 1 || body.size > exposure->bytes.size)
    return context_.report_malformed(
        peer.process(),
        fmt::format("a rendezvous reply that asks for {} of {} bytes{}", body.size, exposure->bytes.size,
                    exposure->readable && keys ? " to be written, which it may only read" : ""));
  end_readable(*exposure);
  exposure->readable = false;
  exposure->in_packets |= !keys;
  exposure->size = body.size;
  exposure->other = body.fetch;
  exposure->remote = body.bytes;
  exposure->state = Transfer::State::moving;
  exposure->remaining.push_back({0, body.size});
  to_write_.push_back(exposure);
}

void Rendezvous::on_done(VirtualChannel& peer, std::span<const std::byte> packet) {
  DoneBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous completion", packet.size());
  Transfer* const exposure = exposures_.find(body.exposed, peer);
  const bool moving = exposure != nullptr && exposure->state == Transfer::State::moving;
  if (exposure == nullptr || exposure->confirmed || (!moving && exposure->state != Transfer::State::offered))
    return context_.report_malformed(
        peer.process(),
        fmt::format("a rendezvous completion for transfer {}, which is over", body.exposed.place));
  exposure->confirmed = true;
  if (!moving || written(*exposure)) end_exposure(*exposure);
}

// The fetch that these bytes were written to or came for. Null: it is over, or has no such bytes.
Transfer* Rendezvous::written_fetch(VirtualChannel& peer, const TransferName& name, const ByteRange& range) {
  Transfer* const fetch = fetches_.find(name, peer);
  if (fetch == nullptr || fetch->state != Transfer::State::moving || fetch->readable) {
    ++context_.counters.dropped_stale;
    return nullptr;
  }
  if (range.offset < 0 || range.size < 1 || range.size > fetch->size ||
      range.offset > fetch->size - range.size) {
    context_.report_malformed(peer.process(), fmt::format("{} bytes at offset {} of a message of {} bytes",
                                                          range.size, range.offset, fetch->size));
    return nullptr;
  }
  return fetch;
}

void Rendezvous::on_finish(VirtualChannel& peer, std::span<const std::byte> packet) {
  FinishBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a write completion", packet.size());
  const ByteRange range{body.offset, body.size};
  if (Transfer* const fetch = written_fetch(peer, body.fetch, range)) arrived(*fetch, range);
}

void Rendezvous::arrived(Transfer& fetch, const ByteRange& range) {
  if (!fetch.arrived.add(range)) {
    ++context_.counters.dropped_duplicate;
    if (!planted(PlantedBug::duplicate_finish)) return;
  }
  hear_of_grant(fetch);
  fetch.done += range.size;
  if (fetch.done >= fetch.size) end_fetch(fetch);
}

void Rendezvous::end_exposure(Transfer& exposure) {
  Completion* const end = exposure.end;
  forget_acknowledged(exposure);
  end_readable(exposure);
  exposures_.release(exposure);
  tell(end, {});
}

void Rendezvous::forget_acknowledged(Transfer& exposure) {
  while (WorkEntry* entry = exposure.acknowledged.pop_front()) resources_.free_entry(entry);
}

// Everything was read, and is not what was exposed. It is not known which path did it: all of it is read
// again over one path, each time over another one.
void Rendezvous::read_again(Transfer& fetch) {
  ++context_.counters.checksum_errors;
  ++fetch.damaged;
  fetch.done = 0;
  fetch.remaining.push_back({0, fetch.size});
  to_read_.push_back(&fetch);
}

void Rendezvous::end_fetch(Transfer& fetch) {
  end_grant(fetch);
  if (fetch.checked && fetch.readable && checksum_of(fetch) != fetch.checksum) {
    read_again(fetch);
    return;
  }
  if (!fetch.bytes.contiguous())
    fetch.bytes.packer->unpack(0, fetch.registration.address, fetch.bytes.size);
  else if (fetch.copied())
    std::memcpy(fetch.bytes.data, fetch.registration.address, static_cast<std::size_t>(fetch.bytes.size));
  fetch.registration.clear();
  Completion* const end = fetch.end;
  fetch.state = Transfer::State::answering;
  to_answer_.push_back(&fetch);
  tell(end, {});
}

// Progress.

bool Rendezvous::progress() {
  if (landed_.empty() && to_answer_.empty() && to_write_.empty() && to_read_.empty() && granted_.empty())
      [[likely]]
    return false;
  bool moved = false;
  for (; !landed_.empty(); moved = true) {
    const Landed landed = landed_.front();
    landed_.pop_front();
    Result<> result;
    if (landed.lost) result = failure(ErrorKind::other, "the peer was lost before");
    tell(landed.end, std::move(result));
  }
  // A transfer whose peer has no room now does not hold up the others.
  const auto walk = [&](TransferList& list, auto&& advance) {
    for (Transfer* transfer = list.front(); transfer != nullptr;) {
      Transfer* const next = list.next(transfer);
      if (transfer->peer->ready() > 0) moved |= advance(*transfer);
      transfer = next;
    }
  };
  while (Transfer* silent = granted_.front()) {
    if (context_.now - silent->granted_heard < silence()) break;
    end_grant(*silent);
  }
  walk(to_answer_, [&](Transfer& fetch) { return answer(fetch); });
  backed_up_.clear();
  const auto post = [&](TransferList& list, Direction direction) {
    walk(list, [&](Transfer& transfer) {
      if (direction == Direction::write &&
          std::find(backed_up_.begin(), backed_up_.end(), transfer.peer) != backed_up_.end())
        return false;
      const bool posted = transfer.in_packets ? false : post_stripes(transfer, direction);
      if (transfer.in_packets) return move_in_packets(transfer, direction) || posted;
      if (transfer.remaining.empty()) list.remove(&transfer);
      return posted;
    });
  };
  post(to_write_, Direction::write);
  if (read_tokens_ > 0) post(to_read_, Direction::read);
  return moved;
}

void Rendezvous::abandon(VirtualChannel& peer, const Error& error) {
  const auto end_all = [&](TransferTable& table, bool exposed) {
    for (std::uint32_t place = 0; place < table.places(); ++place) {
      Transfer& transfer = table[place];
      if (transfer.state == Transfer::State::free || transfer.peer != &peer) continue;
      // What was only offered is asked for later, and a fetch that only has to say so was reported.
      const bool told = !exposed && (transfer.state == Transfer::State::offered ||
                                     (transfer.state == Transfer::State::answering &&
                                      (transfer.readable || transfer.done >= transfer.size)));
      Completion* const end = transfer.end;
      if (exposed)
        end_readable(transfer);
      else
        end_grant(transfer);
      if (transfer.link.linked()) {
        TransferList& list = transfer.state == Transfer::State::answering ? to_answer_
                             : exposed                                    ? to_write_
                                                                          : to_read_;
        list.remove(&transfer);
      }
      forget_acknowledged(transfer);
      table.release(transfer);
      if (!told) tell(end, Error(error));
    }
  };
  end_all(exposures_, true);
  end_all(fetches_, false);
}

bool Rendezvous::flushed() const { return exposures_.live() == 0 && to_answer_.empty() && landed_.empty(); }

void Rendezvous::check_invariants() const {
  std::vector<int> readable(peers_.capacity());
  for (std::uint32_t place = 0; place < exposures_.places(); ++place) {
    const Transfer& exposure = exposures_[place];
    if (exposure.state != Transfer::State::free && exposure.readable)
      ++readable[static_cast<std::size_t>(exposure.peer->process())];
  }
  int reading_peers = 0;
  for (const VirtualChannel* peer : peers_.known()) {
    HAWSER_ASSERT(peer->readable == readable[static_cast<std::size_t>(peer->process())]);
    reading_peers += peer->readable > 0;
  }
  HAWSER_ASSERT(reading_peers == reading_peers_);
}

}  // namespace hawser
