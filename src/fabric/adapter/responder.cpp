#include "fabric/adapter/responder.h"

#include <algorithm>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/psn.h"

namespace hawser::fabric {
namespace {

constexpr std::size_t most_held = 4096;  // packets that came early

}  // namespace

Responder::~Responder() { reset(); }

void Responder::reset() {
  drop_held();
  responses_.clear();
  atomics_.clear();
  nak_sent_ = refusing_ = has_current_ = false;
  receive_failure_ = CompletionStatus::success;
}

void Responder::drop_held() {
  for (auto& [psn, packet] : held_) queue_pair_.adapter().services().network.free(*packet);
  held_.clear();
}

void Responder::flush() {
  drop_held();
  if (!refusing_)
    std::erase_if(responses_, [](const Response& each) { return each.kind != PacketKind::acknowledge; });
  if (has_current_) {
    has_current_ = false;
    Completion completion;
    completion.id = current_.id;
    completion.status = std::exchange(receive_failure_, CompletionStatus::success);
    if (completion.status == CompletionStatus::success) completion.status = CompletionStatus::flush_error;
    completion.opcode = CompletionOpcode::receive;
    completion.qp_number = queue_pair_.number();
    queue_pair_.deliver_receive(completion, shared_);
  }
}

void Responder::receive(Packet& packet) {
  const bool reliable = is_reliable(packet.transport);
  const std::int32_t ahead = psn_distance(packet.psn, expected_);
  if (ahead == 0) {
    accept(packet);
    release_held();
    return;
  }
  if (!reliable) {
    // An unreliable connection drops the rest of a message that lost a packet, and goes on with the next.
    if (packet.first) {
      expected_ = packet.psn;
      accept(packet);
    }
    return;
  }
  if (ahead < 0) {
    const std::int32_t end = psn_distance(psn_add(packet.psn, packet.psn_count), expected_);
    const bool data = packet.kind == PacketKind::send || packet.kind == PacketKind::write;
    if (end > 0 && data) {
      // Cut differently from the first try: the front part is here already.
      skip_ = static_cast<std::uint64_t>(-ahead) * queue_pair_.mtu();
      accept(packet);
      skip_ = 0;
    } else {
      duplicate(packet);
    }
    return;
  }
  if (queue_pair_.adapter().services().parameters.adaptive_routing) {
    hold(packet);
  } else if (!nak_sent_) {
    nak_sent_ = true;
    push({.syndrome = Syndrome::sequence_error, .psn = expected_});
  }
}

// Switches that choose the way by load let packets overtake each other: early ones wait for their turn. A
// loss is then found by the sender's time-out.
void Responder::hold(Packet& packet) {
  if (held_.size() >= most_held || held_.contains(packet.psn)) return;
  Adapter& adapter = queue_pair_.adapter();
  Packet* copy = adapter.services().network.clone(packet);
  Payload& payload = copy->payload;
  if (payload.bytes == nullptr && payload.piece_count > 0) {
    auto bytes = std::make_shared<std::vector<std::byte>>(payload.size);
    adapter.services().dma.read(payload.space, {payload.pieces.data(), payload.piece_count}, bytes->data());
    payload.bytes = std::move(bytes);
    payload.bytes_offset = 0;
  }
  copy->in_buffer = false;
  held_[packet.psn] = copy;
}

void Responder::release_held() {
  while (!held_.empty()) {
    // What was sent again meanwhile, and cut differently, is of no use any more.
    std::erase_if(held_, [this](const auto& each) {
      const bool past = psn_distance(each.first, expected_) < 0;
      if (past) queue_pair_.adapter().services().network.free(*each.second);
      return past;
    });
    const auto next = held_.find(expected_);
    if (next == held_.end()) return;
    Packet* packet = next->second;
    held_.erase(next);
    accept(*packet);  // an error drops the others
    queue_pair_.adapter().services().network.free(*packet);
    if (nak_sent_) return;  // not ready: it will come again
  }
}

// The packet that was expected.
void Responder::accept(Packet& packet) {
  const Syndrome syndrome = execute(packet);
  if (queue_pair_.configuration().type == QpType::uc) {
    if (syndrome == Syndrome::positive) {
      expected_ = psn_add(packet.psn, packet.psn_count);
    } else if (receive_failure_ != CompletionStatus::success) {
      queue_pair_.enter_error(CompletionStatus::flush_error);
    } else {
      expected_ = psn_add(expected_, 0x400000);  // nothing matches before the next message begins
    }
    return;
  }
  if (syndrome == Syndrome::lost) return;
  if (syndrome != Syndrome::positive) {
    refuse(packet, syndrome);
    return;
  }
  nak_sent_ = false;
  expected_ = psn_add(packet.psn, packet.psn_count);
  const bool answered = packet.kind == PacketKind::read_request || packet.kind == PacketKind::atomic_request;
  const bool tells = packet.congestion_marked && packet.transport != QpType::uc &&
                     queue_pair_.adapter().services().parameters.congestion_control;
  if ((packet.acknowledge_request || tells) && !answered)
    acknowledge(psn_add(expected_, psn_mask), packet.congestion_marked);
}

void Responder::refuse(Packet& packet, Syndrome syndrome) {
  if (syndrome == Syndrome::receiver_not_ready) {
    nak_sent_ = true;  // what follows is not missing, it is early
    push({.syndrome = syndrome, .psn = packet.psn});
    return;
  }
  // The refusal goes out although the queue pair stops working; what is queued before it, too.
  push({.syndrome = syndrome, .psn = packet.psn});
  refusing_ = true;
  queue_pair_.enter_error(CompletionStatus::flush_error);
  queue_pair_.raise(syndrome == Syndrome::remote_access_error ? AsyncEventType::qp_access_error
                                                              : AsyncEventType::qp_request_error);
}

// Whose receives and memory a packet is for: this queue pair's, or on XRC those of the queue that it names.
bool Responder::find_target(const Packet& packet) {
  const QueuePair::Configuration& configuration = queue_pair_.configuration();
  shared_ = configuration.shared_receive_queue;
  domain_ = configuration.domain;
  if (configuration.type != QpType::xrc_recv) return true;
  shared_ = queue_pair_.adapter().find_xrc(packet.shared_queue, configuration.xrc_domain);
  domain_ = shared_ != nullptr ? &shared_->domain : nullptr;
  return shared_ != nullptr;
}

void Responder::forget(const SharedReceiveQueue& queue) {
  if (shared_ != &queue) return;
  shared_ = nullptr;
  has_current_ = false;  // it goes with its queue
}

Syndrome Responder::execute(Packet& packet) {
  if (queue_pair_.adapter().dying()) [[unlikely]] {
    const bool data = packet.kind == PacketKind::send || packet.kind == PacketKind::write;
    return data ? Syndrome::positive : Syndrome::lost;  // acknowledged, and gone
  }
  if (!find_target(packet)) return Syndrome::invalid_request;
  switch (packet.kind) {
    case PacketKind::send:
      return execute_send(packet);
    case PacketKind::write:
      return execute_write(packet);
    case PacketKind::read_request:
      return execute_read(packet);
    case PacketKind::atomic_request:
      return execute_atomic(packet);
    case PacketKind::read_response:
    case PacketKind::atomic_response:
    case PacketKind::acknowledge:
      break;
  }
  HAWSER_UNREACHABLE();
}

Syndrome Responder::execute_write(Packet& packet) {
  Adapter& adapter = queue_pair_.adapter();
  if (packet.message_length > 0) {
    // The whole message is checked at its every packet: a region may be taken away in the middle.
    const std::uint64_t start = packet.remote_address - packet.offset;
    const bool may = (queue_pair_.attributes().access_flags & access_remote_write) != 0;
    const MemoryRegion* region = adapter.memory().check_remote(
        packet.rkey, domain_, queue_pair_.number(), start, packet.message_length, access_remote_write);
    if (!may || region == nullptr) return Syndrome::remote_access_error;
    if (packet.last && packet.with_immediate && !has_current_ && !take_receive()) {
      return Syndrome::receiver_not_ready;
    }
    const Piece piece{packet.remote_address - region->virtual_address + region->address + skip_,
                      packet.length - skip_};
    const DmaResult placed = adapter.place_payload(packet, skip_, region->space, {&piece, 1});
    if (placed == DmaResult::lost) return Syndrome::lost;
    if (placed == DmaResult::destination_gone) return Syndrome::remote_access_error;
  } else if (packet.with_immediate && !has_current_ && !take_receive()) {
    return Syndrome::receiver_not_ready;
  }
  if (packet.last && packet.with_immediate) {
    complete_receive(packet, CompletionStatus::success, packet.message_length);
  }
  return Syndrome::positive;
}

std::size_t Responder::queued_reads() const {
  return static_cast<std::size_t>(
      std::count_if(responses_.begin(), responses_.end(),
                    [](const Response& each) { return each.kind != PacketKind::acknowledge; }));
}

// Whether one more read or atomic fits. A requester that keeps to the depth and asks for more has received
// the oldest of the answers that are queued a second time.
bool Responder::has_resources() {
  const std::size_t most = queue_pair_.attributes().max_dest_rd_atomic;
  while (queued_reads() >= most) {
    const auto stale =
        std::find_if(responses_.begin(), responses_.end(), [](const Response& each) { return each.again; });
    if (stale == responses_.end()) return false;
    responses_.erase(stale);
  }
  return true;
}

Syndrome Responder::execute_read(Packet& packet) {
  const Adapter& adapter = queue_pair_.adapter();
  if (!has_resources()) return Syndrome::invalid_request;
  const bool may = (queue_pair_.attributes().access_flags & access_remote_read) != 0;
  const auto allowed = [&] {
    return may &&
           adapter.memory().check_remote(packet.rkey, domain_, queue_pair_.number(), packet.remote_address,
                                         packet.length, access_remote_read) != nullptr;
  };
  if (packet.length > 0 && !allowed()) return Syndrome::remote_access_error;
  push({.kind = PacketKind::read_response,
        .psn = packet.psn,
        .psn_count = packet.psn_count,
        .address = packet.remote_address,
        .length = packet.length,
        .rkey = packet.rkey,
        .domain = domain_});
  return Syndrome::positive;
}

Syndrome Responder::execute_atomic(Packet& packet) {
  Adapter& adapter = queue_pair_.adapter();
  constexpr std::uint64_t size = sizeof(std::uint64_t);
  const std::size_t resources = queue_pair_.attributes().max_dest_rd_atomic;
  if (!has_resources() || packet.remote_address % size != 0) return Syndrome::invalid_request;
  const bool may = (queue_pair_.attributes().access_flags & access_remote_atomic) != 0;
  const MemoryRegion* region = adapter.memory().check_remote(
      packet.rkey, domain_, queue_pair_.number(), packet.remote_address, size, access_remote_atomic);
  if (!may || region == nullptr) return Syndrome::remote_access_error;
  const Piece piece{packet.remote_address - region->virtual_address + region->address, size};
  std::uint64_t value = 0;
  auto* bytes = reinterpret_cast<std::byte*>(&value);
  if (!adapter.services().dma.read(region->space, {&piece, 1}, bytes)) return Syndrome::remote_access_error;
  const std::uint64_t before = value;
  if (packet.compare) {
    if (value == packet.compare_add) value = packet.swap;
  } else {
    value += packet.compare_add;
  }
  const DmaResult written =
      value != before ? adapter.services().dma.write(region->space, {&piece, 1}, bytes) : DmaResult::done;
  if (written == DmaResult::lost) return Syndrome::lost;
  if (written == DmaResult::destination_gone) return Syndrome::remote_access_error;
  atomics_.push_back({packet.psn, before});
  if (atomics_.size() > resources) atomics_.erase(atomics_.begin());
  push({.kind = PacketKind::atomic_response, .psn = packet.psn, .result = before});
  return Syndrome::positive;
}

// A request that was executed before: its answer was lost, or is late.
void Responder::duplicate(Packet& packet) {
  // Answers from here on will be asked for again as well.
  const auto later = [&](const Response& each) {
    return each.kind != PacketKind::acknowledge && psn_distance(each.psn, packet.psn) >= 0;
  };
  switch (packet.kind) {
    case PacketKind::send:
    case PacketKind::write:
      acknowledge(psn_add(expected_, psn_mask), packet.congestion_marked);
      return;
    case PacketKind::read_request:
      if (!find_target(packet)) return;
      std::erase_if(responses_, later);
      if (Syndrome syndrome = execute_read(packet); syndrome != Syndrome::positive) {
        refuse(packet, syndrome);
      } else {
        responses_.back().again = true;
      }
      return;
    case PacketKind::atomic_request: {
      std::erase_if(responses_, later);
      for (const Remembered& each : atomics_) {
        if (each.psn == packet.psn) {
          push(
              {.kind = PacketKind::atomic_response, .psn = packet.psn, .result = each.result, .again = true});
          return;
        }
      }
      return;  // too old to be remembered: the requester gives up in time
    }
    case PacketKind::read_response:
    case PacketKind::atomic_response:
    case PacketKind::acknowledge:
      break;
  }
  HAWSER_UNREACHABLE();
}

// ---- answers ----

void Responder::acknowledge(std::uint32_t psn, bool echo) {
  if (!responses_.empty() && responses_.back().kind == PacketKind::acknowledge &&
      responses_.back().syndrome == Syndrome::positive) {
    responses_.back().psn = psn;  // one acknowledges all before it
    responses_.back().echo |= echo;
    return;
  }
  push({.psn = psn, .echo = echo});
}

void Responder::push(const Response& response) {
  responses_.push_back(response);
  queue_pair_.kick();
}

Packet* Responder::next_response() {
  if (responses_.empty()) return nullptr;
  Response& response = responses_.front();
  if (response.kind == PacketKind::read_response) return next_read_response(response);
  Packet& packet = *queue_pair_.adapter().services().network.allocate();
  packet.kind = response.kind;
  packet.psn = response.psn;
  packet.syndrome = response.syndrome;
  packet.rnr_timer = queue_pair_.attributes().min_rnr_timer;
  packet.congestion_echo = response.echo;
  packet.first = packet.last = true;
  if (response.kind == PacketKind::atomic_response) {
    packet.atomic_result = response.result;
    packet.length = sizeof response.result;
  }
  responses_.erase(responses_.begin());
  return &packet;
}

Packet* Responder::next_read_response(Response& response) {
  Adapter& adapter = queue_pair_.adapter();
  const MemoryRegion* region = nullptr;
  if (response.length > 0) {
    region = adapter.memory().check_remote(response.rkey, response.domain, queue_pair_.number(),
                                           response.address, response.length, access_remote_read);
  }
  Packet& packet = *adapter.services().network.allocate();
  packet.psn = response.psn;
  packet.first = response.offset == 0;
  if (response.length > 0 && region == nullptr) {
    // Taken away since the request came.
    packet.kind = PacketKind::acknowledge;
    packet.syndrome = Syndrome::remote_access_error;
    responses_.clear();
    queue_pair_.enter_error(CompletionStatus::flush_error);
    queue_pair_.raise(AsyncEventType::qp_access_error);
    return &packet;
  }
  const std::uint32_t mtu = queue_pair_.mtu();
  packet.kind = PacketKind::read_response;
  packet.length = std::min(queue_pair_.chunk_bytes(), response.length);
  packet.psn_count = std::max(1u, static_cast<std::uint32_t>((packet.length + mtu - 1) / mtu));
  packet.offset = response.offset;
  packet.retried = sent_before(psn_add(packet.psn, packet.psn_count));
  packet.payload.size = packet.length;
  if (region != nullptr) {
    packet.payload.space = region->space;
    packet.payload.piece_count = 1;
    packet.payload.pieces[0] = {response.address - region->virtual_address + region->address, packet.length};
  }
  response.psn = psn_add(response.psn, packet.psn_count);
  response.address += packet.length;
  response.length -= packet.length;
  response.offset += packet.length;
  packet.last = response.length == 0;
  if (packet.last) responses_.erase(responses_.begin());
  return &packet;
}

void Responder::check_invariants() const {
  HAWSER_ASSERT(atomics_.size() <= 256 && held_.size() <= most_held);
  HAWSER_ASSERT(queued_reads() <= 256);
}

}  // namespace hawser::fabric
