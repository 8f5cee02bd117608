#include "rails/protocol/rendezvous.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/failure.h"
#include "base/list_tail.h"
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

// What a writer may have under way before it knows anything of its paths.
std::int64_t granted_part(const Fetch& fetch, const FlowSettings& flow) {
  return std::min(fetch.size, flow.first * std::max(fetch.peer().paths().ready(), 1));
}

std::uint32_t checksum_of(const RendezvousTransfer& transfer) {
  return crc32c({transfer.local().address(), static_cast<std::size_t>(transfer.size)});
}

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

// The transfers whose peers have a path; one whose peer has no room does not hold up the others.
template <class List, class Visit>
void for_each_reached(List& list, RendezvousTransfer* first, Visit&& visit) {
  for (RendezvousTransfer* transfer = first; transfer != nullptr;) {
    RendezvousTransfer* const next = list.next(transfer);
    if (transfer->peer().paths().ready() > 0)
      visit(*transfer);
    else
      (void)transfer->peer().room();  // it is connected with
    transfer = next;
  }
}

}  // namespace

Rendezvous::Rendezvous(RailContext& context, RailResources& resources, StripeEngine& stripes,
                       const PeerTable& peers, Upward& upward)
    : context_(context),
      resources_(resources),
      stripes_(stripes),
      peers_(peers),
      // Only the reader can check what was moved before anybody is told.
      reads_(context.knobs.rail_rendezvous == "read" || context.knobs.checksum),
      finishes_(context.knobs.progress == "interrupt" && !context.knobs.checksum),
      grants_(context_.port_flow) {
  upward.handle({PacketKind::start, PacketKind::reply, PacketKind::done, PacketKind::data, PacketKind::finish,
                 PacketKind::keys, PacketKind::read_finish},
                *this);
}

void Rendezvous::on_packet(const ReceivedPacket& packet) {
  switch (packet.kind) {
    case PacketKind::start:
      return on_start(packet.peer, packet.bytes);
    case PacketKind::reply:
      return on_reply(packet.peer, packet.bytes);
    case PacketKind::done:
      return on_confirmed(packet.peer, packet.bytes);
    case PacketKind::data:
      return on_data(packet.peer, packet.bytes);
    case PacketKind::finish:
      return on_finish(packet.peer, packet.bytes);
    case PacketKind::keys:
      return on_keys(packet.peer, packet.bytes);
    case PacketKind::read_finish:
      return on_read_finish(packet.peer, packet.bytes);
    default:
      HAWSER_UNREACHABLE();  // it registered for no other
  }
}

// The two ends of the protocol.

bool Rendezvous::try_expose(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& bytes,
                            Completion* end) {
  if (peer.lost()) {
    landed_.push_back({end, true});
    return true;
  }
  if (!peer.room()) {
    ++context_.counters.no_room;
    return false;
  }
  Exposure& exposure = exposures_.take(peer, header.traffic, *this);
  context_.open_reads.exposed = exposures_.live();
  exposure.bytes = bytes;
  exposure.end = end;
  exposure.size = bytes.size;
  exposure.readable =
      reads_ && peer.paths().reads() && (context_.knobs.checksum || readable(peer) > 0 || !many_readers());
  StartBody body;
  body.exposed = exposure.name;
  body.size = bytes.size;
  body.readable = exposure.readable;
  body.takes_finishes = exposure.readable && finishes_;
  if (exposure.readable && bytes.size > 0 && !register_bytes(exposure, false)) {
    exposure.readable = false;
    exposure.in_packets = true;
    body.readable = 0;
  }
  if (exposure.readable && bytes.size > 0) {
    if (!bytes.contiguous()) bytes.packer->pack(0, exposure.local().address(), bytes.size);
    body.bytes = resources_.reachable(exposure.local());
    if (context_.knobs.checksum) {
      body.checked = 1;
      body.checksum = checksum_of(exposure);
    }
  }
  if (peer.send(PacketKind::start, header.traffic, start_head(header, body), {})) {
    begin_readable(exposure);
    return true;
  }
  exposures_.release(exposure);
  context_.open_reads.exposed = exposures_.live();
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
  Fetch& fetch = fetches_.take(peer, header.traffic, *this);
  fetch.other = body.exposed;
  fetch.offered = body.size;
  fetch.checked = body.checked != 0;
  fetch.checksum = body.checksum;
  fetch.set_remote(body.bytes);
  fetch.readable = body.readable != 0;
  fetch.takes_finishes = body.takes_finishes != 0;
  const ExposeToken token{{fetch.name.place, fetch.name.generation, 0, 0}};
  context_.events->on_offer(peer.process(), header, token, body.size);
}

void Rendezvous::fetch(VirtualChannel& peer, const ExposeToken& token, const ByteSequence& into,
                       Completion* end) {
  const TransferName name{static_cast<std::uint32_t>(token.words[0]),
                          static_cast<std::uint32_t>(token.words[1])};
  Fetch* const fetch = fetches_.find(name, peer);
  if (peer.lost() || fetch == nullptr) {
    HAWSER_ASSERT(peer.lost());
    landed_.push_back({end, true});
    return;
  }
  HAWSER_ASSERT(fetch->state == RendezvousTransfer::State::offered && into.size <= fetch->offered);
  fetch->bytes = into;
  fetch->end = end;
  fetch->size = into.size;
  if (into.size == 0) {
    landed_.push_back({end, false});
    await_answer(*fetch);
    return;
  }
  // Only the whole can be checked. A part comes in packets, which have checksums of their own.
  if (fetch->checked && into.size < fetch->offered) {
    fetch->in_packets = true;
    fetch->readable = fetch->checked = false;
  }
  if (fetch->readable) {
    fetch->state = RendezvousTransfer::State::moving;
    if (takes_finishes(*fetch)) fetch->want_finishes(fetch->other);
    stripes_.add(*fetch, {0, fetch->size});
  } else {
    await_answer(*fetch);
  }
}

void Rendezvous::await_answer(Fetch& fetch) {
  fetch.state = RendezvousTransfer::State::answering;
  to_answer_.push_back(&fetch);
  ++added_answers_;
}

bool Rendezvous::tell_done(Fetch& fetch) {
  const DoneBody body{fetch.other};
  if (!fetch.peer().send(PacketKind::done, fetch.traffic(), bytes_of(body), {})) return false;
  stripes_.on_told(fetch.peer());
  to_answer_.remove(&fetch);
  stripes_.withdraw(fetch);
  fetches_.release(fetch);
  return true;
}

// Reply or done. False: no room now.
bool Rendezvous::answer(Fetch& fetch) {
  VirtualChannel& peer = fetch.peer();
  if (!peer.room()) return false;
  if (fetch.readable || fetch.all_moved()) return tell_done(fetch);
  const std::int64_t part = granted_part(fetch, context_.stripe_flow);
  if (!grants_.admits(peer.process(), part)) return false;
  if (!fetch.local().made() && (fetch.in_packets || !register_bytes(fetch, true))) lay_out(fetch);
  ReplyBody body;
  body.exposed = fetch.other;
  body.fetch = fetch.name;
  body.size = fetch.size;
  body.bytes = resources_.reachable(fetch.local());
  if (!peer.send(PacketKind::reply, fetch.traffic(), bytes_of(body), {})) return false;
  to_answer_.remove(&fetch);
  fetch.state = RendezvousTransfer::State::moving;
  grants_.give(fetch.grant, peer.process(), part, context_.now);
  return true;
}

// Whoever reads from here does not know of the others, and the answers to all of them wait for this end's
// ports. Beyond some readers the others are asked where to write to, which this end does in its own time. How
// many are too many follows from what the ports were seen to move: each has about a piece under way.
bool Rendezvous::many_readers() const {
  if (reading_peers_ < 2) return false;
  std::int64_t bytes = 0;
  for (const auto& rail : resources_.rails)
    bytes +=
        std::max(rail->traffic.flow_of(PortSide::in).bytes(), rail->traffic.flow_of(PortSide::out).bytes());
  const auto rails = static_cast<std::int64_t>(resources_.rails.size());
  return reading_peers_ * rails * context_.stripe_flow.first >= 2 * bytes;
}

int& Rendezvous::readable(const VirtualChannel& peer) {
  const auto place = static_cast<std::size_t>(peer.process());
  if (place >= readable_.size()) readable_.resize(place + 1);
  return readable_[place];
}

void Rendezvous::begin_readable(Exposure& exposure) {
  if (exposure.readable && readable(exposure.peer())++ == 0) ++reading_peers_;
}

void Rendezvous::end_readable(Exposure& exposure) {
  if (exposure.readable && --readable(exposure.peer()) == 0) --reading_peers_;
}

void Rendezvous::on_reply(VirtualChannel& peer, std::span<const std::byte> packet) {
  ReplyBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous reply", packet.size());
  Exposure* const exposure = exposures_.find(body.exposed, peer);
  if (exposure == nullptr || exposure->state != RendezvousTransfer::State::offered)
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
  exposure->size = body.size;
  exposure->other = body.fetch;
  exposure->set_remote(body.bytes);
  exposure->set_remote_name(body.fetch);
  exposure->state = RendezvousTransfer::State::moving;
  if (keys && !exposure->in_packets) return stripes_.add(*exposure, {0, body.size});
  exposure->rest().push_back({0, body.size});
  in_packets_.push_back(exposure);
}

void Rendezvous::on_confirmed(VirtualChannel& peer, std::span<const std::byte> packet) {
  DoneBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous completion", packet.size());
  Exposure* const exposure = exposures_.find(body.exposed, peer);
  if (exposure == nullptr && finishes_) {
    ++context_.counters.dropped_stale;  // asked for when its finishes were still to come
    return;
  }
  const bool moving = exposure != nullptr && exposure->state == RendezvousTransfer::State::moving;
  if (exposure == nullptr || exposure->confirmed ||
      (!moving && exposure->state != RendezvousTransfer::State::offered))
    return context_.report_malformed(
        peer.process(),
        fmt::format("a rendezvous completion for transfer {}, which is over", body.exposed.place));
  exposure->confirmed = true;
  if (!moving || written(*exposure)) end_exposure(*exposure);
}

// The fetch that these bytes were written to or came for. Null: it is over, or has no such bytes.
Fetch* Rendezvous::written_fetch(VirtualChannel& peer, const TransferName& name, const ByteRange& range) {
  Fetch* const fetch = fetches_.find(name, peer);
  if (fetch == nullptr || fetch->state != RendezvousTransfer::State::moving || fetch->readable) {
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
  if (Fetch* const fetch = written_fetch(peer, body.fetch, range)) arrived(*fetch, range);
}

void Rendezvous::arrived(Fetch& fetch, const ByteRange& range) {
  if (!fetch.arrived.add(range)) {
    ++context_.counters.dropped_duplicate;
    if (!planted(PlantedBug::duplicate_finish)) return;
  }
  grants_.on_arrived(fetch.grant, context_.now);
  fetch.note_moved(range.size);
  if (fetch.all_moved()) end_fetch(fetch);
}

// What the stripe engine asks and tells.

bool Rendezvous::prepare(StripedTransfer& transfer) {
  if (transfer.direction() == Direction::read) return register_bytes(static_cast<Fetch&>(transfer), true);
  auto& exposure = static_cast<Exposure&>(transfer);
  if (!register_bytes(exposure, false)) return false;
  if (!exposure.bytes.contiguous()) exposure.bytes.packer->pack(0, exposure.local().address(), exposure.size);
  return true;
}

void Rendezvous::on_done(StripedTransfer& transfer, const ByteRange&) {
  if (transfer.direction() == Direction::read) {
    auto& fetch = static_cast<Fetch&>(transfer);
    if (fetch.all_moved()) end_fetch(fetch);
  } else {
    auto& exposure = static_cast<Exposure&>(transfer);
    if (written(exposure)) end_exposure(exposure);
  }
}

void Rendezvous::on_failed(StripedTransfer& transfer) {
  if (transfer.direction() == Direction::read) return ask_for_packets(static_cast<Fetch&>(transfer));
  auto& exposure = static_cast<Exposure&>(transfer);
  if (!exposure.link.linked()) in_packets_.push_back(&exposure);
}

// With every device that takes it.
bool Rendezvous::register_bytes(RendezvousTransfer& transfer, bool writable) {
  Registration& local = transfer.local();
  context_.counters.registrations_refused +=
      transfer.copied()
          ? local.register_buffer(*resources_.registrations, transfer.size, resources_.devices.size())
          : local.register_in_place(*resources_.registrations, transfer.bytes.data, transfer.size, writable,
                                    resources_.open_devices());
  for (std::size_t device = 0; device < resources_.devices.size(); ++device)
    if (local.usable(device)) return true;
  local.clear();
  return false;
}

// Whom to tell.
Completion* Rendezvous::forget(Exposure& exposure) {
  Completion* const end = exposure.end;
  end_readable(exposure);
  if (exposure.link.linked()) in_packets_.remove(&exposure);
  stripes_.withdraw(exposure);
  exposures_.release(exposure);
  context_.open_reads.exposed = exposures_.live();
  return end;
}

void Rendezvous::end_exposure(Exposure& exposure) { tell(forget(exposure), {}); }

void Rendezvous::end_fetch(Fetch& fetch) {
  grants_.end(fetch.grant);
  if (fetch.checked && fetch.readable && checksum_of(fetch) != fetch.checksum) {
    // It is not known which path did it.
    ++context_.counters.checksum_errors;
    fetch.reset_moved();
    fetch.take_another_path();
    stripes_.add(fetch, {0, fetch.size});
    return;
  }
  if (fetch.copied()) fetch.bytes.packer->unpack(0, fetch.local().address(), fetch.bytes.size);
  fetch.local().clear();
  Completion* const end = fetch.end;
  if (fetch.finished()) {
    stripes_.withdraw(fetch);
    fetches_.release(fetch);
  } else {
    await_answer(fetch);
  }
  tell(end, {});
}

// Progress.

bool Rendezvous::progress() {
  if (landed_.empty() && untold_.empty() && ends_.empty() && to_answer_.empty() && in_packets_.empty() &&
      grants_.none()) [[likely]]
    return false;
  bool moved = !landed_.empty();
  report_landed();
  if (!untold_.empty()) moved |= tell_keys();
  if (!ends_.empty()) moved |= tell_ends();
  grants_.end_silent(context_.now);
  moved |= send_answers();
  for_each_reached(in_packets_, in_packets_.front(), [&](RendezvousTransfer& exposure) {
    moved |= send_packets(static_cast<Exposure&>(exposure));
  });
  return moved;
}

bool Rendezvous::send_answers(RendezvousTransfer* first) {
  bool moved = false;
  added_answers_ = 0;
  for_each_reached(to_answer_, first,
                   [&](RendezvousTransfer& fetch) { moved |= answer(static_cast<Fetch&>(fetch)); });
  return moved;
}

void Rendezvous::send_added_answers() { send_answers(first_of_last(to_answer_, added_answers_)); }

void Rendezvous::report_landed() {
  while (!landed_.empty()) {
    const Landed landed = landed_.front();
    landed_.pop_front();
    Result<> result;
    if (landed.lost) result = failure(ErrorKind::peer_lost, "the peer was lost before");
    tell(landed.end, std::move(result));
  }
}

void Rendezvous::abandon(VirtualChannel& peer, const Error& error) {
  std::erase_if(ends_, [&](const End& end) { return end.peer == &peer; });
  exposures_.visit([&](Exposure& exposure) {
    if (&exposure.peer() != &peer) return;
    tell(forget(exposure), Error(error));
  });
  fetches_.visit([&](Fetch& fetch) {
    if (&fetch.peer() != &peer) return;
    // What was only offered is asked for later, and a fetch that only has to say so was reported.
    const bool told =
        fetch.state == RendezvousTransfer::State::offered ||
        (fetch.state == RendezvousTransfer::State::answering && (fetch.readable || fetch.all_moved()));
    Completion* const end = fetch.end;
    grants_.end(fetch.grant);
    if (fetch.link.linked()) to_answer_.remove(&fetch);
    stripes_.withdraw(fetch);
    fetches_.release(fetch);
    if (!told) tell(end, Error(error));
  });
}

bool Rendezvous::concerns(const VirtualChannel& peer) const {
  bool any = std::ranges::find(ends_, &peer, &End::peer) != ends_.end();
  exposures_.visit([&](const Exposure& exposure) { any |= &exposure.peer() == &peer; });
  fetches_.visit([&](const Fetch& fetch) { any |= &fetch.peer() == &peer; });
  return any;
}

bool Rendezvous::flushed() const {
  return exposures_.live() == 0 && to_answer_.empty() && landed_.empty() && ends_.empty();
}

void Rendezvous::check_invariants() const {
  std::vector<int> readable(readable_.size());
  exposures_.visit([&](const Exposure& exposure) {
    if (exposure.readable) ++readable[static_cast<std::size_t>(exposure.peer().process())];
  });
  HAWSER_ASSERT(readable == readable_);
  HAWSER_ASSERT(reading_peers_ ==
                std::count_if(readable.begin(), readable.end(), [](int n) { return n > 0; }));
}

}  // namespace hawser
