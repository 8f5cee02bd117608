#include "fabric/adapter/requester.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/migration.h"
#include "fabric/adapter/psn.h"

namespace hawser::fabric {
namespace {

// Unacknowledged packets: half the distance that PSNs can tell apart, and half of that again, for answers.
constexpr std::int32_t widest_window = 1 << 21;
// A long message asks for an acknowledgement every so often, or its time-out would run though all is well.
constexpr std::int32_t acknowledge_interval = 64;

CompletionOpcode completion_opcode(Opcode opcode) {
  switch (opcode) {
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_immediate:
      return CompletionOpcode::rdma_write;
    case Opcode::send:
    case Opcode::send_with_immediate:
    case Opcode::send_with_invalidate:
      return CompletionOpcode::send;
    case Opcode::rdma_read:
      return CompletionOpcode::rdma_read;
    case Opcode::compare_and_swap:
      return CompletionOpcode::compare_and_swap;
    case Opcode::fetch_and_add:
      return CompletionOpcode::fetch_and_add;
    case Opcode::local_invalidate:
      return CompletionOpcode::local_invalidate;
    case Opcode::bind_window:
      return CompletionOpcode::bind_window;
  }
  HAWSER_UNREACHABLE();
}

bool allowed(QpType type, Opcode opcode) {
  switch (type) {
    case QpType::xrc_recv:
      return false;
    case QpType::rc:
    case QpType::xrc_send:
      return opcode <= Opcode::send_with_invalidate;
    case QpType::uc:
      return opcode <= Opcode::send_with_immediate || is_local(opcode);
    case QpType::ud:
      return opcode == Opcode::send || opcode == Opcode::send_with_immediate;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace

Requester::Requester(QueuePair& queue_pair, std::uint32_t capacity)
    : queue_pair_(queue_pair), capacity_(capacity) {}

Outcome Requester::post(const SendRequest& request) {
  const QueuePair::Configuration& configuration = queue_pair_.configuration();
  const QpCapabilities& caps = configuration.capabilities;
  if (!allowed(configuration.type, request.opcode)) return {EINVAL, "the transport has no such operation"};
  if (outstanding() >= caps.max_send_wr) return {ENOMEM, "the send queue is full"};
  const bool is_inline = (request.flags & send_inline) != 0 && request.inline_data != nullptr;
  if (request.segment_count > caps.max_send_sge) return {EINVAL, "too many gather elements"};
  if (is_inline && request.inline_length > caps.max_inline_data) return {EINVAL, "too much inline data"};
  if (configuration.type == QpType::ud && request.path == nullptr)
    return {EINVAL, "a datagram without address"};
  if (tail_ - head_ == ring_.size()) grow();
  SendEntry& entry = this->entry(tail_);
  entry.request = request;
  entry.segments.clear();
  entry.inline_bytes.reset();
  if (is_inline) {
    const auto* bytes = static_cast<const std::byte*>(request.inline_data);
    entry.inline_bytes = std::make_shared<std::vector<std::byte>>(bytes, bytes + request.inline_length);
    entry.length = request.inline_length;
  } else {
    entry.segments.assign(request.segments, request.segments + request.segment_count);
    entry.length = total_length(entry.segments);
  }
  if (entry.length > queue_pair_.adapter().limits().max_message) return {EINVAL, "the message is too long"};
  if (request.path != nullptr) entry.path = *request.path;
  entry.request.segments = nullptr;
  entry.request.inline_data = nullptr;
  entry.request.path = nullptr;
  entry.received = 0;
  entry.started = entry.done = false;
  entry.hung = std::exchange(hang_next_, false);
  entry.failure = CompletionStatus::success;
  ++tail_;
  return {};
}

// Many queue pairs never have more than a few requests under way.
void Requester::grow() {
  constexpr std::size_t first_size = 2;
  std::vector<SendEntry> larger(std::min(std::max(first_size, 2 * ring_.size()), capacity_));
  for (std::uint64_t index = head_; index != tail_; ++index)
    larger[index % larger.size()] = std::move(entry(index));
  ring_ = std::move(larger);
}

bool Requester::has_work() const { return sendable() != nullptr; }

// The request whose packet may be sent now.
const SendEntry* Requester::sendable() const {
  if (paused_ || cursor_ == tail_) return nullptr;
  const SendEntry& next = entry(cursor_);
  if (next.hung || next.failure != CompletionStatus::success) return nullptr;
  if (is_reliable(queue_pair_.configuration().type) &&
      psn_distance(sent_psn_, unacked_psn_) >= widest_window) {
    return nullptr;
  }
  if (next.started) return &next;
  if (queue_pair_.state() == QpState::sqd) return nullptr;
  if ((next.request.flags & send_fence) != 0 && data_requests_ > 0) return nullptr;
  // With a depth of 0 it begins all the same, and fails there.
  const std::uint32_t depth = queue_pair_.attributes().max_rd_atomic;
  if (next.expects_data() && depth > 0 && data_requests_ >= depth) return nullptr;
  return &next;
}

Packet* Requester::next_packet() {
  while (sendable() != nullptr) {
    SendEntry& next = entry(cursor_);
    if (next.local()) {
      execute_local(next);
      continue;
    }
    if (!next.started) begin(next);
    Packet* packet = next.failure == CompletionStatus::success ? build(next) : nullptr;
    if (packet != nullptr) return packet;
    // The fault is reported when everything before it has completed.
    complete_in_order();
  }
  return nullptr;
}

CompletionStatus Requester::check_local(const SendEntry& entry) const {
  const QueuePair::Configuration& configuration = queue_pair_.configuration();
  const Adapter& adapter = queue_pair_.adapter();
  if (configuration.type == QpType::ud && entry.length > adapter.services().parameters.mtu) {
    return CompletionStatus::local_length_error;
  }
  if (entry.expects_data() && queue_pair_.attributes().max_rd_atomic == 0) {
    return CompletionStatus::local_qp_operation_error;
  }
  const bool atomic = entry.expects_data() && entry.request.opcode != Opcode::rdma_read;
  if (atomic && entry.length != sizeof(std::uint64_t)) return CompletionStatus::local_length_error;
  const std::uint32_t access = entry.expects_data() ? std::uint32_t{access_local_write} : 0;
  std::vector<Piece> pieces;
  const bool right = gather_pieces(adapter.memory(), configuration.domain, entry.segments, 0,
                                   entry.inline_bytes != nullptr ? 0 : entry.length, access, pieces);
  return right ? CompletionStatus::success : CompletionStatus::local_protection_error;
}

// Gives a request its PSNs. A read's answers take one each, so that they can be told apart.
void Requester::begin(SendEntry& entry) {
  entry.failure = check_local(entry);
  if (entry.failure != CompletionStatus::success) return;
  entry.started = true;
  entry.first_psn = next_psn_;
  entry.psn_count = 1;
  if (queue_pair_.configuration().type != QpType::ud && entry.length > 0) {
    entry.psn_count = static_cast<std::uint32_t>((entry.length + queue_pair_.mtu() - 1) / queue_pair_.mtu());
  }
  next_psn_ = psn_add(next_psn_, entry.psn_count);
  if (entry.expects_data()) ++data_requests_;
  cursor_offset_ = 0;
}

// Takes no PSN: it completes with what was posted before it, and what is posted after it finds it done. It
// stands in the way of a resend, and is not done twice.
void Requester::execute_local(SendEntry& entry) {
  if (!entry.started) {
    MemoryTable& memory = queue_pair_.adapter().memory();
    const ProtectionDomain* const domain = queue_pair_.configuration().domain;
    const bool bind = entry.request.opcode == Opcode::bind_window;
    const bool done = bind ? memory.bind(entry.request, domain, queue_pair_.number())
                           : memory.invalidate(entry.request.invalidate_key, domain, queue_pair_.number());
    if (!done) {
      entry.failure = CompletionStatus::window_bind_error;
      complete_in_order();
      return;
    }
    entry.started = entry.done = true;
    entry.first_psn = next_psn_;
    entry.psn_count = 0;
  }
  ++cursor_;
  cursor_offset_ = 0;
  complete_in_order();
}

Packet* Requester::build(SendEntry& entry) {
  Packet& packet = *queue_pair_.adapter().services().network.allocate();
  packet.solicited = (entry.request.flags & send_solicited) != 0;
  packet.immediate = entry.request.immediate;
  packet.rkey = entry.request.rkey;
  packet.shared_queue = entry.request.remote_srq;
  packet.message_length = entry.length;
  switch (entry.request.opcode) {
    case Opcode::rdma_read:
      build_read(entry, packet);
      break;
    case Opcode::compare_and_swap:
    case Opcode::fetch_and_add:
      build_atomic(entry, packet);
      break;
    case Opcode::send:
    case Opcode::send_with_immediate:
    case Opcode::send_with_invalidate:
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_immediate:
      build_data(entry, packet);
      break;
    case Opcode::local_invalidate:
    case Opcode::bind_window:
      HAWSER_UNREACHABLE();
  }
  if (!load_payload(entry, packet)) {
    queue_pair_.adapter().services().network.free(packet);
    entry.failure = CompletionStatus::local_protection_error;  // its memory went away meanwhile
    return nullptr;
  }
  const std::uint32_t end = psn_add(packet.psn, packet.psn_count);
  packet.retried = psn_distance(end, sent_psn_) <= 0;
  if (!packet.retried) sent_psn_ = end;
  cursor_offset_ += packet.length;
  if (packet.last) {
    ++cursor_;
    cursor_offset_ = 0;
  }
  if (is_reliable(queue_pair_.configuration().type)) {
    if (packet.acknowledge_request || entry.expects_data()) {
      last_request_psn_ = end;
      watch();
    }
  } else if (packet.last) {
    entry.done = true;  // nobody will answer
    complete_in_order();
  }
  return &packet;
}

void Requester::build_data(SendEntry& entry, Packet& packet) {
  const Opcode opcode = entry.request.opcode;
  const std::uint32_t mtu = queue_pair_.mtu();
  const bool write = opcode == Opcode::rdma_write || opcode == Opcode::rdma_write_with_immediate;
  packet.kind = write ? PacketKind::write : PacketKind::send;
  packet.offset = cursor_offset_;
  packet.length = std::min(queue_pair_.chunk_bytes(), entry.length - cursor_offset_);
  packet.remote_address = entry.request.remote_address + cursor_offset_;
  packet.first = cursor_offset_ == 0;
  packet.last = cursor_offset_ + packet.length == entry.length;
  packet.with_immediate =
      packet.last && (opcode == Opcode::send_with_immediate || opcode == Opcode::rdma_write_with_immediate);
  packet.with_invalidate = packet.last && opcode == Opcode::send_with_invalidate;
  packet.invalidate_key = entry.request.invalidate_key;
  if (queue_pair_.configuration().type == QpType::ud) {
    build_datagram(entry, packet);
    return;
  }
  packet.psn = psn_add(entry.first_psn, static_cast<std::uint32_t>(cursor_offset_ / mtu));
  packet.psn_count = std::max(1u, static_cast<std::uint32_t>((packet.length + mtu - 1) / mtu));
  const std::uint32_t end = psn_add(packet.psn, packet.psn_count);
  packet.acknowledge_request = packet.last || psn_distance(end, last_request_psn_) >= acknowledge_interval;
}

void Requester::build_datagram(SendEntry& entry, Packet& packet) {
  Adapter& adapter = queue_pair_.adapter();
  packet.transport = QpType::ud;
  packet.psn = entry.first_psn;
  packet.length = entry.length;
  packet.first = packet.last = true;
  packet.source_qp = queue_pair_.number();
  packet.destination_qp = entry.request.remote_qp;
  // The controlled Q_Keys (top bit set) mean the queue pair's own.
  packet.qkey = (entry.request.remote_qkey & 0x80000000u) != 0 ? queue_pair_.attributes().qkey
                                                               : entry.request.remote_qkey;
  fill_route(adapter, adapter.port(queue_pair_.port()), entry.path, queue_pair_.number(),
             entry.request.remote_qp, packet);
}

void Requester::build_read(SendEntry& entry, Packet& packet) {
  const auto done = static_cast<std::uint32_t>(entry.received / queue_pair_.mtu());
  packet.kind = PacketKind::read_request;
  packet.psn = psn_add(entry.first_psn, done);
  packet.psn_count = entry.psn_count - done;
  packet.remote_address = entry.request.remote_address + entry.received;
  packet.offset = entry.received;
  packet.length = entry.length - entry.received;
  packet.first = packet.last = true;
}

void Requester::build_atomic(SendEntry& entry, Packet& packet) {
  packet.kind = PacketKind::atomic_request;
  packet.psn = entry.first_psn;
  packet.remote_address = entry.request.remote_address;
  packet.compare = entry.request.opcode == Opcode::compare_and_swap;
  packet.compare_add = entry.request.compare_add;
  packet.swap = entry.request.swap;
  packet.first = packet.last = true;
}

// By reference where the program may not touch its buffer before the completion, which on a reliable
// connection is after the delivery; otherwise by value.
bool Requester::load_payload(const SendEntry& entry, Packet& packet) {
  if (packet.kind != PacketKind::send && packet.kind != PacketKind::write) return true;
  Payload& payload = packet.payload;
  payload.size = packet.length;
  if (packet.length == 0) return true;
  if (entry.inline_bytes != nullptr) {
    payload.bytes = entry.inline_bytes;
    payload.bytes_offset = packet.offset;
    return true;
  }
  Adapter& adapter = queue_pair_.adapter();
  payload.space = queue_pair_.context().space();
  std::vector<Piece>& pieces = adapter.scratch();
  if (!gather_pieces(adapter.memory(), queue_pair_.configuration().domain, entry.segments, packet.offset,
                     packet.length, 0, pieces)) {
    return false;
  }
  if (is_reliable(queue_pair_.configuration().type) && pieces.size() <= Payload::most_pieces) {
    payload.piece_count = static_cast<std::uint8_t>(pieces.size());
    std::copy(pieces.begin(), pieces.end(), payload.pieces.begin());
    return true;
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(packet.length);
  if (!adapter.services().dma.read(payload.space, pieces, bytes->data())) return false;
  payload.bytes = std::move(bytes);
  return true;
}

// ---- completing ----

void Requester::complete(SendEntry& entry, CompletionStatus status) {
  const bool signaled = queue_pair_.configuration().signal_all || (entry.request.flags & send_signaled) != 0;
  if (status == CompletionStatus::success && !signaled) return;
  Completion completion;
  completion.id = entry.request.id;
  completion.status = status;
  completion.opcode = completion_opcode(entry.request.opcode);
  completion.byte_length = static_cast<std::uint32_t>(entry.length);
  completion.qp_number = queue_pair_.number();
  queue_pair_.deliver_send(completion);
}

void Requester::complete_in_order() {
  const bool reliable = is_reliable(queue_pair_.configuration().type);
  while (head_ < tail_) {
    SendEntry& oldest = entry(head_);
    if (oldest.failure != CompletionStatus::success) {
      queue_pair_.fail(oldest.failure);
      return;
    }
    if (!oldest.started) return;
    const bool acknowledged = psn_distance(unacked_psn_, psn_add(oldest.first_psn, oldest.psn_count)) >= 0;
    if (!(reliable && !oldest.expects_data() ? acknowledged : oldest.done)) return;
    ++head_;  // first, for a completion may overflow its queue and flush this one
    if (cursor_ < head_) {
      cursor_ = head_;
      cursor_offset_ = 0;
    }
    complete(oldest, CompletionStatus::success);
  }
}

void Requester::flush(CompletionStatus first) {
  const std::uint64_t end = tail_;
  cursor_ = tail_;
  cursor_offset_ = 0;
  data_requests_ = 0;
  unacked_psn_ = sent_psn_ = heard_psn_ = last_request_psn_ = next_psn_;
  paused_ = false;
  deadline_ = never;
  EventQueue& events = queue_pair_.adapter().services().events;
  events.cancel(timeout_event_);
  events.cancel(pause_event_);
  while (head_ < end) {
    SendEntry& oldest = entry(head_++);
    complete(oldest, first);
    first = CompletionStatus::flush_error;
  }
}

void Requester::reset() {
  head_ = tail_;  // without completions, as ibv_modify_qp to RESET does
  flush(CompletionStatus::flush_error);
  hang_next_ = false;
}

void Requester::start(std::uint32_t psn) {
  next_psn_ = sent_psn_ = unacked_psn_ = heard_psn_ = last_request_psn_ = psn;
  retries_left_ = queue_pair_.attributes().retry_count;
  rnr_retries_left_ = queue_pair_.attributes().rnr_retry;
}

bool Requester::drained() const { return head_ == tail_ || !entry(head_).started; }

void Requester::check_invariants() const {
  HAWSER_ASSERT(head_ <= cursor_ && cursor_ <= tail_);
  HAWSER_ASSERT(outstanding() <= capacity_);
  HAWSER_ASSERT(psn_distance(sent_psn_, unacked_psn_) >= 0);
  HAWSER_ASSERT(psn_distance(next_psn_, sent_psn_) >= 0);
  std::uint32_t data_requests = 0;
  for (std::uint64_t i = head_; i < tail_; ++i) {
    const SendEntry& each = entry(i);
    if (each.started && each.expects_data() && !each.done) ++data_requests;
  }
  HAWSER_ASSERT(data_requests == data_requests_);
}

}  // namespace hawser::fabric
