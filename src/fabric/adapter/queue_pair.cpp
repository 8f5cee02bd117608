#include "fabric/adapter/queue_pair.h"

#include <algorithm>
#include <cerrno>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/migration.h"

namespace hawser::fabric {

QueuePair::QueuePair(Adapter& adapter, Context& context, std::uint32_t number,
                     const Configuration& configuration)
    : adapter_(adapter),
      context_(&context),
      number_(number),
      configuration_(configuration),
      requester_(*this, std::max(1u, configuration.capabilities.max_send_wr)),
      responder_(*this),
      receives_(std::max(1u, configuration.capabilities.max_recv_wr),
                configuration.capabilities.max_recv_sge) {
  receives_.cookie = configuration.cookie;
  receive_engine =
      static_cast<int>(number % static_cast<std::uint32_t>(adapter.services().parameters.receive_engines));
  if (configuration_.domain != nullptr) ++configuration_.domain->users;
  if (configuration_.send_queue != nullptr) ++configuration_.send_queue->users;
  if (configuration_.receive_queue != nullptr) ++configuration_.receive_queue->users;
  if (configuration_.shared_receive_queue != nullptr) ++configuration_.shared_receive_queue->users;
  adapter_.attach(*this);
}

QueuePair::~QueuePair() {
  while (!multicast_.empty()) detach_multicast(multicast_.back().gid, multicast_.back().lid);
  detach_packets();
  adapter_.detach(*this);
  if (configuration_.domain != nullptr) --configuration_.domain->users;
  if (configuration_.send_queue != nullptr) --configuration_.send_queue->users;
  if (configuration_.receive_queue != nullptr) --configuration_.receive_queue->users;
  if (configuration_.shared_receive_queue != nullptr) --configuration_.shared_receive_queue->users;
}

Outcome QueuePair::post_send(const SendRequest& request) {
  switch (state()) {
    case QpState::reset:
    case QpState::init:
    case QpState::rtr:
      return {EINVAL, "the queue pair is not ready to send"};
    case QpState::rts:
    case QpState::sqd:
    case QpState::sqe:
    case QpState::err:
      break;
  }
  const Outcome posted = requester_.post(request);
  if (!posted.ok()) return posted;
  if (state() == QpState::err || state() == QpState::sqe) {
    requester_.flush(CompletionStatus::flush_error);
  } else {
    kick();
  }
  return {};
}

Outcome QueuePair::post_receive(const ReceiveRequest& request) {
  if (configuration_.shared_receive_queue != nullptr)
    return {EINVAL, "receives go to the shared receive queue"};
  if (state() == QpState::reset) return {EINVAL, "the queue pair is in RESET"};
  if (configuration_.receive_queue == nullptr) return {EINVAL, "XRC queue pairs have no receive queue"};
  if (configuration_.capabilities.max_recv_wr == 0) return {ENOMEM, "the receive queue has no room"};
  const Outcome posted = receives_.post(request);
  if (posted.ok() && state() == QpState::err) flush_receives();
  return posted;
}

Lid multicast_lid(const FabricServices& services, const Gid& group) {
  constexpr std::size_t most = 0xffff - first_multicast_lid;  // then groups share LIDs
  auto [entry, added] = services.multicast_lids.try_emplace(group);
  if (added) entry->second = static_cast<Lid>(0xfffe - (services.multicast_lids.size() - 1) % most);
  return entry->second;
}

Outcome QueuePair::attach_multicast(const Gid& gid, Lid lid) {
  if (configuration_.type != QpType::ud) return {EINVAL, "only UD queue pairs receive multicast"};
  if (gid[0] != 0xff || !adapter_.valid_port(port())) return {EINVAL, "not a multicast GID, or no port yet"};
  const FabricServices& services = adapter_.services();
  // Ethernet has no multicast LIDs: the model gives every group one of its own.
  if (lid < first_multicast_lid) lid = multicast_lid(services, gid);
  for (const Multicast& group : multicast_) {
    if (group.gid == gid && group.lid == lid) return {};
  }
  multicast_.push_back({gid, lid});
  adapter_.count_multicast(1);
  services.network.multicast().join(lid, adapter_.port(port()).name());
  return {};
}

Outcome QueuePair::detach_multicast(const Gid& gid, Lid lid) {
  for (auto group = multicast_.begin(); group != multicast_.end(); ++group) {
    if (group->gid != gid || (lid >= first_multicast_lid && group->lid != lid)) continue;
    adapter_.services().network.multicast().leave(group->lid, adapter_.port(port()).name());
    adapter_.count_multicast(-1);
    multicast_.erase(group);
    return {};
  }
  return {EINVAL, "the queue pair is not attached to the group"};
}

// ---- packets ----

QpType QueuePair::type_of_peer() const {
  switch (configuration_.type) {
    case QpType::rc:
    case QpType::uc:
    case QpType::ud:
      return configuration_.type;
    case QpType::xrc_send:
      return QpType::xrc_recv;
    case QpType::xrc_recv:
      return QpType::xrc_send;
  }
  HAWSER_UNREACHABLE();
}

void QueuePair::receive(Packet& packet) {
  if (context_->defunct()) return;
  switch (state()) {
    case QpState::reset:
    case QpState::init:
    case QpState::err:
      return;  // not listening: the sender's time-out runs
    case QpState::rtr:
    case QpState::rts:
    case QpState::sqd:
    case QpState::sqe:
      break;
  }
  if (packet.transport != type_of_peer()) return;
  if (configuration_.type == QpType::ud) {
    responder_.receive_datagram(packet);
    return;
  }
  if (packet.source_qp != attributes_.destination_qp) return;
  if (state() == QpState::rtr && !established_) {
    established_ = true;
    raise(AsyncEventType::communication_established);
  }
  note_migration_bit(packet);
  switch (packet.kind) {
    case PacketKind::send:
    case PacketKind::write:
    case PacketKind::read_request:
    case PacketKind::atomic_request:
      responder_.receive(packet);
      break;
    case PacketKind::read_response:
    case PacketKind::atomic_response:
      if (state() != QpState::rtr) requester_.receive_response(packet);
      break;
    case PacketKind::acknowledge:
      if (state() != QpState::rtr) requester_.receive_acknowledge(packet);
      break;
  }
  check_drained();
}

bool QueuePair::has_work() const {
  return has_urgent() || has_work(Stream::responses) || has_work(Stream::requests);
}

bool QueuePair::has_work(Stream stream) const {
  if (context_->defunct()) return false;
  if (stream == Stream::responses) return responder_.has_work() && !responder_.has_urgent();
  return may_request() && requester_.has_work();
}

// A dying adapter does not reach the requests in memory.
bool QueuePair::may_request() const {
  return (state() == QpState::rts || state() == QpState::sqd) && !adapter_.dying();
}

bool QueuePair::has_urgent() const { return !context_->defunct() && responder_.has_urgent(); }

Packet* QueuePair::next_urgent() { return has_urgent() ? finish(responder_.next_response()) : nullptr; }

Packet* QueuePair::next_packet(Stream stream, std::uint32_t most) {
  if (!has_work(stream)) return nullptr;
  most_mtus_ = most;
  return finish(stream == Stream::responses ? responder_.next_response() : requester_.next_packet());
}

Packet* QueuePair::next_packet() {
  if (Packet* packet = next_urgent()) return packet;
  if (Packet* packet = next_packet(Stream::responses)) return packet;
  return next_packet(Stream::requests);
}

Packet* QueuePair::finish(Packet* packet) {
  if (packet == nullptr) return nullptr;
  if (configuration_.type != QpType::ud) address(*packet);
  const std::uint32_t headers = adapter_.services().parameters.header_bytes * packet->psn_count;
  constexpr std::uint64_t smallest = 32;  // an acknowledgement on the wire
  const bool bare = packet->kind == PacketKind::read_request;
  packet->wire_bytes =
      static_cast<std::uint32_t>(std::max(smallest, bare ? 0 : packet->payload.size + headers));
  if (packet->psn_count > 1 && packet->payload.size > 0) packet->mtu = mtu();
  if (packet->payload.piece_count > 0 && packet->payload.bytes == nullptr) in_flight_.push_back(packet);
  return packet;
}

// Where a packet of a connected queue pair goes: along the primary path.
void QueuePair::address(Packet& packet) {
  const AddressVector& path = attributes_.path;
  AdapterPort& from = adapter_.port(path.port);
  packet.transport = configuration_.type;
  packet.destination_qp = attributes_.destination_qp;
  packet.source_qp = number_;
  packet.migrated = attributes_.migration_state == MigrationState::migrated;
  fill_route(adapter_, from, path, number_, attributes_.destination_qp, packet);
}

std::uint32_t QueuePair::mtu() const {
  return configuration_.type == QpType::ud ? adapter_.services().parameters.mtu : attributes_.path_mtu;
}

// Without rates a long message is cut only to let others in between; otherwise by the parameter.
std::uint64_t QueuePair::chunk_bytes() const {
  constexpr std::uint64_t uninterrupted = 1 << 20;
  const Network& network = adapter_.services().network;
  const std::uint64_t wanted =
      network.fast() ? uninterrupted
                     : std::min<std::uint64_t>(adapter_.services().parameters.chunk, network.largest_chunk());
  return std::clamp<std::uint64_t>(wanted / mtu(), 1, most_mtus_) * mtu();
}

void QueuePair::kick() {
  if (has_work() && adapter_.valid_port(port())) adapter_.port(port()).kick(*this);
}

// ---- completions, errors ----

void QueuePair::deliver(CompletionQueue& queue, const Completion& completion, const CarriedData& carried) {
  if (queue.overflowed || adapter_.dying()) return;
  adapter_.services().trace.note(TraceKind::completion, adapter_.now(), completion.id,
                                 (static_cast<std::uint64_t>(completion.status) << 32) | number_);
  ++queue.delivered;
  if (!queue.port.deliver(completion, carried)) adapter_.overflow(queue);
}

void QueuePair::deliver_send(const Completion& completion) {
  deliver(*configuration_.send_queue, completion, {});
}

void QueuePair::deliver_receive(const Completion& completion, SharedReceiveQueue* shared,
                                const CarriedData& carried) {
  const bool xrc = configuration_.type == QpType::xrc_recv;
  deliver(xrc ? *shared->completion_queue : *configuration_.receive_queue, completion, carried);
}

void QueuePair::raise(AsyncEventType type) {
  adapter_.services().trace.note(TraceKind::async_event, adapter_.now(), static_cast<std::uint64_t>(type),
                                 number_);
  context_->port().asynchronous_event({.type = type, .queue_pair = this});
  for (Context* each : openers_) each->port().asynchronous_event({.type = type, .queue_pair = this});
}

void QueuePair::fail(CompletionStatus status) {
  if (is_reliable(configuration_.type)) {
    enter_error(status);
  } else {
    enter_send_error(status);
  }
}

void QueuePair::enter_send_error(CompletionStatus first_send) {
  attributes_.state = QpState::sqe;
  detach_packets();
  requester_.flush(first_send);
}

void QueuePair::enter_error(CompletionStatus first_send) {
  if (state() == QpState::err) return;
  attributes_.state = QpState::err;
  detach_packets();
  requester_.flush(first_send);
  responder_.flush();
  flush_receives();
  if (configuration_.shared_receive_queue != nullptr) raise(AsyncEventType::last_wqe_reached);
  kick();  // a refusal may still have to go out
}

void QueuePair::flush_receives() {
  ReceiveEntry entry;
  for (;;) {
    if (receives_.size() == 0) context_->port().refill(receives_);
    if (!receives_.take(entry)) return;
    Completion completion;
    completion.id = entry.id;
    completion.status = CompletionStatus::flush_error;
    completion.opcode = CompletionOpcode::receive;
    completion.qp_number = number_;
    deliver_receive(completion, nullptr);
  }
}

// The client may use its buffers again: packets on the way take their bytes with them.
void QueuePair::detach_packets() {
  while (Packet* packet = in_flight_.front()) detach_packet(*packet);
}

void QueuePair::detach_packets(const MemoryRegion& region) {
  for (Packet* packet = in_flight_.front(); packet != nullptr;) {
    Packet* next = in_flight_.next(packet);
    const Payload& payload = packet->payload;
    const auto inside = [&region](const Piece& piece) {
      return piece.address - region.address < region.length;
    };
    if (payload.space == region.space &&
        std::any_of(payload.pieces.begin(), payload.pieces.begin() + payload.piece_count, inside))
      detach_packet(*packet);
    packet = next;
  }
}

void QueuePair::detach_packet(Packet& packet) {
  in_flight_.remove(&packet);
  Payload& payload = packet.payload;
  auto bytes = std::make_shared<std::vector<std::byte>>(payload.size);
  if (!adapter_.services().dma.read(payload.space, {payload.pieces.data(), payload.piece_count},
                                    bytes->data())) {
    packet.destination_lid = 0;  // the process is dead and its bytes with it: the packet reaches nobody
  }
  payload.bytes = std::move(bytes);
  payload.bytes_offset = 0;
}

void QueuePair::move_to(Context& opener) {
  context_ = &opener;
  std::erase(openers_, &opener);
}

void QueuePair::kill() {
  if (state() == QpState::err || state() == QpState::reset) return;
  enter_error(CompletionStatus::flush_error);
  raise(AsyncEventType::qp_fatal);
}

void QueuePair::check_drained() {
  if (state() != QpState::sqd || drained_told_ || !requester_.drained()) return;
  drained_told_ = true;
  if (attributes_.sqd_notify) raise(AsyncEventType::sq_drained);
}

void QueuePair::check_invariants() const {
  requester_.check_invariants();
  responder_.check_invariants();
  HAWSER_ASSERT(state() != QpState::err || requester_.outstanding() == 0);
  HAWSER_ASSERT(state() != QpState::err || receives_.size() == 0);
  HAWSER_ASSERT(state() != QpState::reset || requester_.outstanding() == 0);
}

}  // namespace hawser::fabric
