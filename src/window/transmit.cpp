// How operations become packets: each in as many as its bytes need, in order, as far as there is room.
#include <algorithm>
#include <cstring>

#include "base/planted_bug.h"
#include "datatype/encoded_layout.h"
#include "message/transfer.h"
#include "window/window_engine.h"

namespace hawser {

namespace {

// Puts of so many bytes are fetched by the target: one copy less, and no packets that wait for room.
constexpr std::int64_t put_offered_from = 16384;

bool is_offered(const WindowCall& call) {
  return call.kind == WindowCall::Kind::put && call.bytes >= put_offered_from;
}

// A packet as it is put together.
class Packet {
 public:
  template <class T>
  void add(const T& value) {
    std::memcpy(bytes_ + size_, &value, sizeof value);
    size_ += static_cast<std::int64_t>(sizeof value);
  }
  void add_place(const WindowCall& call, int type, std::int64_t offset, std::int64_t bytes) {
    if (call.type == nullptr) return add(PlaceOnWire{call.displacement + offset, bytes});
    add(TypedPlaceOnWire{
        {call.displacement, bytes}, call.count, offset, static_cast<std::uint32_t>(type), 0});
  }
  void add_data(const ByteSequence& from, std::int64_t offset, std::int64_t bytes) {
    if (from.contiguous())
      copy_bytes(bytes_ + size_, from.data + offset, bytes);
    else
      from.packer->pack(offset, bytes_ + size_, bytes);
    size_ += bytes;
  }
  void add_bytes(const void* from, std::int64_t bytes) {
    copy_bytes(bytes_ + size_, static_cast<const std::byte*>(from), bytes);
    size_ += bytes;
  }
  ByteSequence all() { return {bytes_, size_, nullptr}; }

 private:
  std::int64_t size_ = 0;
  alignas(16) std::byte bytes_[Transport::one_piece];
};

std::int64_t place_bytes(const WindowCall& call) {
  return call.type == nullptr ? sizeof(PlaceOnWire) : sizeof(TypedPlaceOnWire);
}

}  // namespace

WindowHeader WindowEngine::header_to(const WindowPeer& peer, WindowHeader::Kind kind) {
  WindowHeader header;
  header.kind = kind;
  header.window = peer.window.id();
  header.source_rank = peer.window.rank();
  return header;
}

WindowHeader WindowEngine::header_of(const WindowPeer& peer, const WindowCall& call, std::uint32_t number) {
  WindowHeader header = header_to(peer, call.kind);
  header.number = number;
  header.operation = call.operation;
  header.element = call.element.element;
  header.pair_value = call.element.pair.value;
  header.pair_index = call.element.pair.index;
  if (call.type != nullptr) header.flags = WindowHeader::typed;
  return header;
}

void WindowEngine::send_packet(WindowPeer& peer, const WindowHeader& packet) {
  if (peer.queue.empty() && peer.lock != WindowPeer::Lock::asked && try_send_packet(peer, packet)) return;
  WindowOperation& operation = operations_.take();
  operation.begin(packet, peer);
  enqueue(peer, operation);
}

// From a lock's request on, nothing goes until it is answered; what was queued before it does.
bool WindowEngine::try_send_packet(WindowPeer& peer, const WindowHeader& packet) {
  const WindowPeer::Lock before = peer.lock;
  if (packet.kind == WindowHeader::Kind::lock) peer.lock = WindowPeer::Lock::asked;
  if (peer.link.channel->try_send(peer.link.process, packet, {})) return true;
  peer.lock = before;
  return false;
}

void WindowEngine::enqueue(WindowPeer& peer, WindowOperation& operation) {
  if (peer.queue.empty()) waiting_peers_.push_back(&peer);
  peer.queue.push_back(&operation);
}

void WindowEngine::send_operation(WindowPeer& peer, const WindowCall& call, WindowRequest* request) {
  const bool answered = call.kind != WindowCall::Kind::put && call.kind != WindowCall::Kind::accumulate;
  const bool native = goes_natively(peer, call);
  if (!answered && !native) ++peer.sent;
  std::int64_t sent = 0;
  const bool may_go = peer.queue.empty() && peer.lock != WindowPeer::Lock::asked;
  if (may_go && !answered && !native && call.type == nullptr && !is_offered(call) &&
      send_data(peer, call, header_of(peer, call, 0), -1, sent)) {
    if (request != nullptr) request->end({});
    return;
  }
  WindowOperation& operation = operations_.take();
  operation.begin(call, peer);
  operation.native = native;
  operation.sent = sent;
  operation.request = request;
  ++peer.in_use;
  enqueue(peer, operation);
  if (may_go) push(peer);
}

void WindowEngine::push(WindowPeer& peer) {
  // Its requests have ended, so what they would send may not be there any more.
  if (trouble().any() && trouble().has_failed(peer.link.process)) [[unlikely]]
    return;
  while (WindowOperation* const operation = peer.queue.front()) {
    if (peer.lock == WindowPeer::Lock::asked) return;
    if (!transmit(peer, *operation)) return;
    peer.queue.remove(operation);
    if (peer.queue.empty()) waiting_peers_.remove(&peer);
    after_transmission(*operation);
  }
  if (peer.native.flush_wanted) peer.native.flush(peer.link.process);
}

bool WindowEngine::transmit(WindowPeer& peer, WindowOperation& operation) {
  const WindowCall& call = operation.call;
  WindowLink& link = peer.link;
  if (operation.is_packet) return try_send_packet(peer, operation.packet);
  if (operation.native) return begin_natively(peer, operation);
  int type = -1;
  if (call.type != nullptr && operation.stage != WindowOperation::Stage::described) {
    type = define_type(link, operation);
    if (type < 0) return false;
  }
  WindowHeader header = header_of(peer, call, operation.number);
  if (is_offered(call)) return offer(peer, operation, header, type);
  if (call.kind == WindowCall::Kind::get || call.kind == WindowCall::Kind::compare_and_swap) {
    if (link.awaited >= most_awaited) return false;
    Packet packet;
    packet.add_place(call, type, 0, call.bytes);
    if (call.kind == WindowCall::Kind::compare_and_swap) {
      packet.add_bytes(call.compared, call.bytes);
      packet.add_bytes(call.origin.data, call.bytes);
    }
    if (!link.channel->try_send(link.process, header, packet.all())) return false;
    ++link.awaited;
    return true;
  }
  return send_data(peer, call, header, type, operation.sent);
}

bool WindowEngine::send_data(WindowPeer& peer, const WindowCall& call, const WindowHeader& header, int type,
                             std::int64_t& sent) {
  WindowLink& link = peer.link;
  const std::int64_t unit = call.kind == WindowCall::Kind::put ? 1 : call.element.size();
  const std::int64_t room = (link.packet_limit - place_bytes(call)) / unit * unit;
  const bool has_data = call.kind == WindowCall::Kind::put || call.operation != PredefinedOperator::no_op;
  const bool answered = call.kind == WindowCall::Kind::get_accumulate;
  while (sent < call.bytes) {
    if (answered && link.awaited >= most_awaited) return false;
    const std::int64_t bytes = std::min(room, call.bytes - sent);
    Packet packet;
    packet.add_place(call, type, sent, bytes);
    if (has_data) packet.add_data(call.origin, sent, bytes);
    if (!link.channel->try_send(link.process, header, packet.all())) {
      const bool once = call.kind == WindowCall::Kind::accumulate && sent == room;
      if (planted(PlantedBug::accumulate_twice) && once) sent = 0;
      return false;
    }
    sent += bytes;
    link.awaited += answered;
  }
  return true;
}

bool WindowEngine::offer(WindowPeer& peer, WindowOperation& operation, WindowHeader header, int type) {
  const WindowCall& call = operation.call;
  WindowLink& link = peer.link;
  if (operation.stage != WindowOperation::Stage::described) {
    Packet packet;
    packet.add_place(call, type, 0, call.bytes);
    header.kind = WindowHeader::Kind::put_offer;
    if (!link.channel->try_send(link.process, header, packet.all())) return false;
    operation.stage = WindowOperation::Stage::described;
  }
  header.kind = WindowHeader::Kind::offer;
  return link.channel->try_expose(link.process, header, call.origin, &operation);
}

void WindowEngine::after_transmission(WindowOperation& operation) {
  if (operation.is_packet) return operations_.give_back(operation);
  const WindowCall& call = operation.call;
  if (operation.native) {
    operation.stage = WindowOperation::Stage::native;
  } else if (is_offered(call)) {
    operation.stage = WindowOperation::Stage::exposed;
  } else if (call.kind == WindowCall::Kind::put || call.kind == WindowCall::Kind::accumulate) {
    end(operation);
  } else {
    operation.stage = WindowOperation::Stage::awaiting;
  }
}

// --- Datatypes ---

int WindowEngine::define_type(WindowLink& link, WindowOperation& operation) {
  const Datatype* const type = operation.call.type;
  for (std::size_t i = 0; i < link.defined.size(); ++i)
    if (link.defined[i].get() == type) return static_cast<int>(i);
  if (link.defining != nullptr && link.defining != &operation) return -1;
  const std::uint32_t place = link.next_defined % defined_types;
  if (link.defining == nullptr) {
    if (link.defined.size() <= place) link.defined.resize(place + 1);
    link.defined[place] = nullptr;
    link.defining = &operation;
    operation.defined = 0;
  }
  if (!send_definition(link, operation, place)) return -1;
  link.defining = nullptr;
  link.defined[place] = Ref<const Datatype>(type);
  ++link.next_defined;
  return static_cast<int>(place);
}

bool WindowEngine::send_definition(WindowLink& link, WindowOperation& operation, std::uint32_t place) {
  encode_layout(*operation.call.type, definition_);
  const auto total = static_cast<std::int64_t>(definition_.size());
  WindowHeader header;
  header.kind = WindowHeader::Kind::type_definition;
  while (operation.defined < total) {
    const std::int64_t bytes = std::min<std::int64_t>(
        total - operation.defined, link.packet_limit - static_cast<std::int64_t>(sizeof(TypeOnWire)));
    Packet packet;
    packet.add(TypeOnWire{place, 0, total, operation.defined});
    packet.add_bytes(definition_.data() + operation.defined, bytes);
    if (!link.channel->try_send(link.process, header, packet.all())) return false;
    operation.defined += bytes;
  }
  return true;
}

}  // namespace hawser
