#include "channel/rails/rendezvous.h"

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "channel/rails/rail_core.h"

namespace hawser {
namespace {

// Of a long transfer, what is planned at once: two such pieces are under way. Adapters take up to 2 GiB.
constexpr double seconds_of_piece = 0.02, shortest_piece = 4 << 20, longest_piece = 1 << 30;

std::array<std::byte, sizeof(MessageHeader) + sizeof(StartBody)> start_head(const MessageHeader& header,
                                                                            const StartBody& body) {
  std::array<std::byte, sizeof(MessageHeader) + sizeof(StartBody)> head;
  std::memcpy(head.data(), &header, sizeof(header));
  std::memcpy(head.data() + sizeof(header), &body, sizeof(body));
  return head;
}

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

}  // namespace

// Memory.

bool Rendezvous::register_bytes(Transfer& transfer, bool writable) {
  Registration& registration = transfer.registration;
  if (transfer.bytes.contiguous())
    register_in_place(registration, transfer.bytes.data, transfer.size, writable);
  else
    register_packed(registration, transfer.size);
  for (std::size_t device = 0; device < core_.devices.size(); ++device)
    if (registration.usable(device)) return true;
  registration.clear();
  return false;
}

// With every device that takes it: one that refuses is no reason not to use the others.
void Rendezvous::register_in_place(Registration& registration, std::byte* data, std::int64_t size,
                                   bool writable) {
  registration.address = data;
  registration.cache = core_.registrations.get();
  for (std::size_t device = 0; device < core_.devices.size(); ++device) {
    const DeviceMask bit = DeviceMask{1} << device;
    if ((core_.dead_devices & bit) != 0) continue;
    if (registration.cached != nullptr) {
      core_.counters.registrations_refused += !registration.cache->add_devices(*registration.cached, bit);
    } else if (auto region = registration.cache->acquire(data, size, writable, bit)) {
      registration.cached = region.value();
    } else {
      ++core_.counters.registrations_refused;
    }
  }
}

void Rendezvous::register_packed(Registration& registration, std::int64_t size) {
  registration.packed.reset(new std::byte[static_cast<std::size_t>(size)]);
  registration.address = registration.packed.get();
  for (const auto& device : core_.devices) {
    auto region = device->register_memory(registration.address, static_cast<std::size_t>(size),
                                          rdma::Access::remote_read_write);
    registration.regions.push_back(region ? std::move(region).value() : nullptr);
  }
}

RemoteBytes Rendezvous::own_bytes(const Transfer& transfer) const {
  RemoteBytes bytes;
  bytes.address = reinterpret_cast<std::uintptr_t>(transfer.registration.address);
  for (const auto& rail : core_.rails)
    if (transfer.registration.usable(rail->device_number()))
      bytes.keys[rail->number()] = transfer.registration.remote_key(rail->device_number());
  return bytes;
}

// The two ends of the protocol.

bool Rendezvous::try_expose(VirtualChannel& peer, const MessageHeader& header, const ByteSequence& bytes,
                            void* cookie) {
  if (peer.lost) {
    landed_.push_back({cookie, true, true});
    return true;
  }
  if (!peer.room()) {
    ++core_.counters.no_room;
    return false;
  }
  Transfer& exposure = core_.exposures.take(peer);
  exposure.bytes = bytes;
  exposure.cookie = cookie;
  exposure.size = bytes.size;
  exposure.readable = core_.read_rendezvous;
  StartBody body;
  body.exposed = exposure.name;
  body.size = bytes.size;
  body.readable = exposure.readable;
  if (exposure.readable && bytes.size > 0) {
    if (!register_bytes(exposure, false)) {
      core_.exposures.release(exposure);
      return false;
    }
    if (!bytes.contiguous()) bytes.packer->pack(0, exposure.registration.address, bytes.size);
    body.bytes = own_bytes(exposure);
  }
  if (peer.send(PacketKind::start, start_head(header, body), {})) return true;
  core_.exposures.release(exposure);
  return false;
}

void Rendezvous::on_start(VirtualChannel& peer, std::span<const std::byte> packet) {
  MessageHeader header;
  StartBody body;
  if (!read_body(packet, sizeof(PacketHeader), header) ||
      !read_body(packet, sizeof(PacketHeader) + sizeof(header), body) || body.size < 0) {
    ++core_.counters.dropped_malformed;
    return;
  }
  Transfer& fetch = core_.fetches.take(peer);
  fetch.other = body.exposed;
  fetch.offered = body.size;
  fetch.remote = body.bytes;
  fetch.readable = body.readable != 0;
  const ExposeToken token{{fetch.name.place, fetch.name.generation, 0, 0}};
  core_.events->on_packet(peer.process(), header, reinterpret_cast<const std::byte*>(&token), sizeof(token),
                          body.size);
}

void Rendezvous::fetch(VirtualChannel& peer, const ExposeToken& token, const ByteSequence& into,
                       void* cookie) {
  const TransferName name{static_cast<std::uint32_t>(token.words[0]),
                          static_cast<std::uint32_t>(token.words[1])};
  Transfer* const fetch = core_.fetches.find(name, peer);
  if (peer.lost || fetch == nullptr) {
    HAWSER_ASSERT(peer.lost);
    landed_.push_back({cookie, true, false});
    return;
  }
  HAWSER_ASSERT(fetch->state == Transfer::State::offered && into.size <= fetch->offered);
  fetch->bytes = into;
  fetch->cookie = cookie;
  fetch->size = into.size;
  if (into.size == 0) {
    landed_.push_back({cookie, false, false});
    fetch->state = Transfer::State::answering;
    to_answer_.push_back(fetch);
    return;
  }
  if (fetch->readable) {
    fetch->state = Transfer::State::moving;
    fetch->remaining.push_back({0, into.size});
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
  if (fetch.readable || fetch.size == 0) {
    const DoneBody body{fetch.other};
    if (!peer.send(PacketKind::done, bytes_of(body), {})) return false;
    to_answer_.remove(&fetch);
    core_.fetches.release(fetch);
    return true;
  }
  if (!fetch.registration.made() && !register_bytes(fetch, true)) return false;
  ReplyBody body;
  body.exposed = fetch.other;
  body.fetch = fetch.name;
  body.size = fetch.size;
  body.bytes = own_bytes(fetch);
  if (!peer.send(PacketKind::reply, bytes_of(body), {})) return false;
  to_answer_.remove(&fetch);
  fetch.state = Transfer::State::moving;
  return true;
}

void Rendezvous::on_reply(VirtualChannel& peer, std::span<const std::byte> packet) {
  ReplyBody body;
  Transfer* const exposure =
      read_body(packet, sizeof(PacketHeader), body) ? core_.exposures.find(body.exposed, peer) : nullptr;
  if (exposure == nullptr || exposure->state != Transfer::State::offered || exposure->readable ||
      body.size < 1 || body.size > exposure->bytes.size) {
    ++core_.counters.dropped_malformed;
    return;
  }
  exposure->size = body.size;
  exposure->other = body.fetch;
  exposure->remote = body.bytes;
  exposure->state = Transfer::State::moving;
  exposure->remaining.push_back({0, body.size});
  to_write_.push_back(exposure);
}

void Rendezvous::on_done(VirtualChannel& peer, std::span<const std::byte> packet) {
  DoneBody body;
  Transfer* const exposure =
      read_body(packet, sizeof(PacketHeader), body) ? core_.exposures.find(body.exposed, peer) : nullptr;
  if (exposure == nullptr || exposure->state != Transfer::State::offered) {
    ++core_.counters.dropped_malformed;
    return;
  }
  end_exposure(*exposure);
}

void Rendezvous::on_finish(VirtualChannel& peer, std::span<const std::byte> packet) {
  FinishBody body;
  if (!read_body(packet, sizeof(PacketHeader), body)) {
    ++core_.counters.dropped_malformed;
    return;
  }
  Transfer* const fetch = core_.fetches.find(body.fetch, peer);
  if (fetch == nullptr || fetch->state != Transfer::State::moving || fetch->readable) {
    ++core_.counters.dropped_stale;
    return;
  }
  if (body.offset < 0 || body.size < 1 || body.size > fetch->size || body.offset > fetch->size - body.size) {
    ++core_.counters.dropped_malformed;
    return;
  }
  if (!fetch->arrived.add({body.offset, body.size})) {
    ++core_.counters.dropped_duplicate;
    if (!core_.bug(PlantedBug::duplicate_finish)) return;
  }
  fetch->done += body.size;
  if (fetch->done >= fetch->size) end_fetch(*fetch);
}

void Rendezvous::end_exposure(Transfer& exposure) {
  void* const cookie = exposure.cookie;
  core_.exposures.release(exposure);
  core_.events->on_exposed_done(cookie, {});
}

void Rendezvous::end_fetch(Transfer& fetch) {
  if (!fetch.bytes.contiguous()) fetch.bytes.packer->unpack(0, fetch.registration.address, fetch.size);
  fetch.registration.clear();
  void* const cookie = fetch.cookie;
  if (fetch.readable) {
    fetch.state = Transfer::State::answering;
    to_answer_.push_back(&fetch);
  } else {
    core_.fetches.release(fetch);
  }
  core_.events->on_fetched(cookie, {});
}

// Stripes.

bool Rendezvous::post_stripes(Transfer& transfer, Direction direction) {
  if (!transfer.registration.made()) {
    if (!register_bytes(transfer, direction == Direction::read)) return false;
    if (direction == Direction::write && !transfer.bytes.contiguous())
      transfer.bytes.packer->pack(0, transfer.registration.address, transfer.size);
  }
  VirtualChannel& peer = *transfer.peer;
  bool moved = false;
  // What is posted cannot be moved any more when a rail turns slow: a long transfer is planned piece by
  // piece.
  while (!transfer.remaining.empty() && (direction == Direction::write || read_tokens_ > 0)) {
    const std::span<SubchannelView> views = peer.views(direction == Direction::write ? 2 : 1);
    bool any = false;
    double rate = 0;
    for (SubchannelView& view : views) {
      const Subchannel& subchannel = peer.subchannels()[static_cast<std::size_t>(&view - views.data())];
      view.usable = view.usable && transfer.registration.usable(subchannel.rail.device_number()) &&
                    transfer.remote.keys[subchannel.remote_rail] != 0;
      any |= view.usable;
      if (view.usable) rate += view.bytes_per_second;
    }
    const auto piece =
        static_cast<std::int64_t>(std::clamp(rate * seconds_of_piece, shortest_piece, longest_piece));
    if (!any || transfer.posted >= 2 * piece) return moved;
    ByteRange range = transfer.remaining.back();
    transfer.remaining.pop_back();
    if (range.size > piece) {
      transfer.remaining.push_back({range.offset + piece, range.size - piece});
      range.size = piece;
    }
    StripeRequest request;
    request.bytes = range.size;
    request.direction = direction;
    request.smallest_stripe = core_.knobs.rail_stripe;
    request.traffic = core_.exposures.live() + core_.fetches.live() > 1 ? TrafficClass::nonblocking
                                                                        : TrafficClass::blocking;
    StripePlan plan;
    peer.policy().plan(request, views, plan);
    bool posted = false;
    for (Stripe stripe : plan.stripes()) {
      stripe.offset += range.offset;
      if (post_stripe(transfer, direction, stripe))
        posted = true;
      else
        transfer.remaining.push_back({stripe.offset, stripe.bytes});
    }
    if (!posted) return moved;
    moved = true;
  }
  return moved;
}

bool Rendezvous::post_stripe(Transfer& transfer, Direction direction, const Stripe& stripe) {
  Subchannel& subchannel = transfer.peer->subchannels()[stripe.subchannel];
  const std::int32_t requests = direction == Direction::write ? 2 : 1;
  if (!subchannel.room_for(requests, static_cast<std::int32_t>(core_.knobs.rail_send_depth))) return false;
  if (direction == Direction::read && read_tokens_ == 0) {
    ++core_.counters.read_tokens_waited;
    return false;
  }
  WorkEntry& entry = *core_.entries.take();
  entry.kind = direction == Direction::write ? WorkEntry::Kind::write : WorkEntry::Kind::read;
  entry.sequenced = false;
  entry.transfer = transfer.name.place;
  entry.offset = stripe.offset;
  entry.size = stripe.bytes;
  entry.posted = core_.now;
  entry.queued_before = subchannel.bytes_queued;
  const bool posted = direction == Direction::write ? post_write(transfer, entry, subchannel)
                                                    : post_read(transfer, entry, subchannel);
  if (!posted) {
    core_.free_entry(&entry);
    return false;
  }
  if (transfer.reissued) core_.failover.note_resumed();
  core_.counters.bytes_striped += static_cast<std::uint64_t>(stripe.bytes);
  ++transfer.in_flight;
  transfer.posted += stripe.bytes;
  entry.place = WorkEntry::Place::in_flight;
  entry.subchannel = &subchannel;
  if (subchannel.outstanding == 0) subchannel.last_completion = core_.now;
  subchannel.outstanding += requests;
  subchannel.rail.outstanding += requests;
  subchannel.bytes_queued += stripe.bytes;
  subchannel.rail.bytes_queued += stripe.bytes;
  core_.status.posted(subchannel.status_row, stripe.bytes);
  subchannel.in_flight.push_back(&entry);
  return true;
}

// A write and its finish, one entry: what completes the finish completes the write.
bool Rendezvous::post_write(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  entry.small = true;
  entry.buffer = core_.small_packets.take();
  if (entry.buffer == nullptr) return false;
  const FinishBody body{transfer.other, entry.offset, entry.size, 0, 0};
  PacketHeader header;
  header.kind = PacketKind::finish;
  std::memcpy(entry.buffer->data, &header, sizeof(header));
  std::memcpy(entry.buffer->data + sizeof(header), &body, sizeof(body));
  entry.bytes = sizeof(header) + sizeof(body);
  const std::size_t device = subchannel.rail.device_number();
  std::uint16_t key = subchannel.remote_rail;
  if (core_.bug(PlantedBug::wrong_key) && transfer.reissued) key = transfer.failed_rail;
  rdma::SendRequest requests[2];
  requests[0].id = entry.work_id();
  requests[0].opcode = rdma::Opcode::write;
  requests[0].signaled = false;
  requests[0].segment_count = 1;
  requests[0].segments[0] = {transfer.registration.address + entry.offset,
                             static_cast<std::uint32_t>(entry.size), transfer.registration.local_key(device)};
  requests[0].remote_address = transfer.remote.address + static_cast<std::uint64_t>(entry.offset);
  requests[0].remote_key = transfer.remote.keys[key];
  requests[1] = transfer.peer->packet_request(subchannel, entry);
  const int posted = subchannel.queue_pair->post_send(requests);
  if (posted == 0) return false;
  // Half of it: the finish never goes out, so neither may anything behind it.
  if (posted == 1) core_.failover.fail_soon(subchannel);
  entry.ordinal = subchannel.sent++;
  ++core_.counters.stripes_written;
  return true;
}

bool Rendezvous::post_read(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel) {
  std::uint16_t key = subchannel.remote_rail;
  if (core_.bug(PlantedBug::wrong_key) && transfer.reissued) key = transfer.failed_rail;
  rdma::SendRequest request;
  request.id = entry.work_id();
  request.opcode = rdma::Opcode::read;
  request.segment_count = 1;
  request.segments[0] = {transfer.registration.address + entry.offset, static_cast<std::uint32_t>(entry.size),
                         transfer.registration.local_key(subchannel.rail.device_number())};
  request.remote_address = transfer.remote.address + static_cast<std::uint64_t>(entry.offset);
  request.remote_key = transfer.remote.keys[key];
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) return false;
  --read_tokens_;
  ++core_.counters.stripes_read;
  return true;
}

void Rendezvous::on_stripe_done(WorkEntry& entry) {
  const bool read = entry.kind == WorkEntry::Kind::read;
  Transfer& transfer = read ? core_.fetches[entry.transfer] : core_.exposures[entry.transfer];
  if (read) ++read_tokens_;
  --transfer.in_flight;
  transfer.posted -= entry.size;
  transfer.done += entry.size;
  core_.free_entry(&entry);
  if (transfer.done < transfer.size) return;
  HAWSER_ASSERT(transfer.remaining.empty() && transfer.in_flight == 0);
  if (read)
    end_fetch(transfer);
  else
    end_exposure(transfer);
}

void Rendezvous::on_stripe_failed(WorkEntry& entry) {
  const bool read = entry.kind == WorkEntry::Kind::read;
  Transfer& transfer = read ? core_.fetches[entry.transfer] : core_.exposures[entry.transfer];
  if (read) ++read_tokens_;
  --transfer.in_flight;
  transfer.posted -= entry.size;
  transfer.reissued = true;
  transfer.failed_rail = entry.subchannel->remote_rail;
  transfer.remaining.push_back({entry.offset, entry.size});
  ++core_.counters.stripes_reissued;
  core_.free_entry(&entry);
  if (!transfer.link.linked()) (read ? to_read_ : to_write_).push_back(&transfer);
}

// Progress.

bool Rendezvous::progress() {
  bool moved = false;
  for (; !landed_.empty(); moved = true) {
    const Landed landed = landed_.front();
    landed_.pop_front();
    Result<> result;
    if (landed.lost) result = failure(ErrorClass::other, "the peer was lost before");
    if (landed.exposed)
      core_.events->on_exposed_done(landed.cookie, std::move(result));
    else
      core_.events->on_fetched(landed.cookie, std::move(result));
  }
  // A transfer whose peer has no room now does not hold up the others.
  const auto walk = [&](TransferList& list, auto&& advance) {
    for (Transfer* transfer = list.front(); transfer != nullptr;) {
      Transfer* const next = list.next(transfer);
      if (transfer->peer->ready() > 0) moved |= advance(*transfer);
      transfer = next;
    }
  };
  walk(to_answer_, [&](Transfer& fetch) { return answer(fetch); });
  const auto post = [&](TransferList& list, Direction direction) {
    walk(list, [&](Transfer& transfer) {
      const bool posted = post_stripes(transfer, direction);
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
      const bool told =
          !exposed &&
          (transfer.state == Transfer::State::offered ||
           (transfer.state == Transfer::State::answering && (transfer.readable || transfer.size == 0)));
      void* const cookie = transfer.cookie;
      if (transfer.link.linked()) {
        TransferList& list = transfer.state == Transfer::State::answering ? to_answer_
                             : exposed                                    ? to_write_
                                                                          : to_read_;
        list.remove(&transfer);
      }
      table.release(transfer);
      if (told) continue;
      if (exposed)
        core_.events->on_exposed_done(cookie, Error(error));
      else
        core_.events->on_fetched(cookie, Error(error));
    }
  };
  end_all(core_.exposures, true);
  end_all(core_.fetches, false);
}

bool Rendezvous::flushed() const {
  return core_.exposures.live() == 0 && to_answer_.empty() && landed_.empty();
}

}  // namespace hawser
