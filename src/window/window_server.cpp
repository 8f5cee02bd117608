#include "window/window_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "datatype/encoded_layout.h"
#include "message/transfer.h"
#include "mpi/failure.h"
#include "window/window.h"
#include "window/window_engine.h"

namespace hawser {

namespace {

std::byte* address(std::byte* base, std::int64_t displacement) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                      static_cast<std::uintptr_t>(displacement));
}

bool carries_data(const WindowHeader& header) {
  switch (header.kind) {
    case WindowHeader::Kind::put:
    case WindowHeader::Kind::accumulate:
      return true;
    case WindowHeader::Kind::get_accumulate:
      return header.operation != PredefinedOperator::no_op;
    default:
      return false;
  }
}

}  // namespace

// What a packet says of a place, and where that is.
struct WindowServer::Place {
  PlaceOnWire wire;
  std::int64_t count = 0;
  std::int64_t offset = 0;   // in the packed form
  Ref<const Datatype> type;  // null: one piece
  const std::byte* data = nullptr;
  std::int64_t data_bytes = 0;
  TypePacker packer;
  ByteSequence memory;  // the whole of `count` elements, or the one piece

  // In an answer's packets.
  std::int64_t named_offset() const { return type ? offset : wire.displacement; }
  FailureOnWire failure(ErrorClass error) const { return {static_cast<std::int32_t>(error), 0, wire}; }
};

// False: no process of ours sends this, which was reported.
bool WindowServer::read_place(WindowPeer& peer, const WindowHeader& header, const std::byte* payload,
                              std::int64_t size, Place& place) {
  const auto nonsense = [&](std::string what) {
    engine_.refuse(peer.link.process, std::move(what));
    return false;
  };
  const bool typed = (header.flags & WindowHeader::typed) != 0;
  const std::int64_t head = typed ? sizeof(TypedPlaceOnWire) : sizeof(PlaceOnWire);
  if (size < head) return nonsense(fmt::format("a one-sided operation of {} bytes", size));
  if (typed) {
    TypedPlaceOnWire wire;
    std::memcpy(&wire, payload, sizeof wire);
    const auto& types = peer.link.types;
    if (wire.type >= types.size() || !types[wire.type])
      return nonsense(fmt::format("an operation with datatype {}, which it has not defined", wire.type));
    place.wire = wire.place;
    place.count = wire.count;
    place.offset = wire.offset;
    place.type = types[wire.type];
    const std::int64_t type_size = std::max<std::int64_t>(place.type->size, 1);
    const bool wrong = wire.count < 0 || static_cast<std::uint64_t>(wire.count) >= place.type->count_bound ||
                       wire.offset < 0 || wire.place.bytes < 0 || wire.offset > wire.count * type_size ||
                       wire.place.bytes > wire.count * place.type->size - wire.offset;
    if (wrong)
      return nonsense(fmt::format("{} bytes at {} of {} elements of {} bytes", wire.place.bytes, wire.offset,
                                  wire.count, place.type->size));
  } else {
    std::memcpy(&place.wire, payload, sizeof place.wire);
  }
  place.data = payload + head;
  place.data_bytes = size - head;
  if (place.wire.bytes < 1 || (carries_data(header) && place.data_bytes != place.wire.bytes))
    return nonsense(
        fmt::format("a one-sided operation on {} bytes with {}", place.wire.bytes, place.data_bytes));
  return true;
}

// Finds the memory. False: it is not in the window.
bool WindowServer::find_memory(const WindowPeer& peer, Place& place) {
  const Window& window = peer.window;
  std::int64_t low = place.wire.displacement, high = 0;
  bool overflow = false;
  if (place.type) {
    std::int64_t last = 0;
    overflow |= __builtin_mul_overflow(place.count - 1, place.type->extent, &last);
    overflow |= __builtin_add_overflow(low, place.type->true_lower_bound, &low);
    overflow |= __builtin_add_overflow(low, place.type->true_extent, &high);
    overflow |= __builtin_add_overflow(high, std::max<std::int64_t>(last, 0), &high);
    overflow |= __builtin_add_overflow(low, std::min<std::int64_t>(last, 0), &low);
  } else {
    overflow = __builtin_add_overflow(low, place.wire.bytes, &high);
  }
  if (overflow) return false;
  if (window.memory_.flavor == WindowFlavor::dynamic) {
    if (!window.attached_.contains(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low)))
      return false;
  } else if (low < 0 || high > window.memory_.size) {
    return false;
  }
  std::byte* const first = address(window.memory_.base, place.wire.displacement);
  if (!place.type) {
    place.memory = {first, place.wire.bytes, nullptr};
  } else {
    place.packer = TypePacker(first, place.count, *place.type);
    place.memory = {nullptr, place.packer.size(), &place.packer};
  }
  return true;
}

bool WindowServer::on_packet(WindowPeer& peer, const WindowHeader& header, const std::byte* payload,
                             std::int64_t size) {
  using Kind = WindowHeader::Kind;
  switch (header.kind) {
    case Kind::put:
    case Kind::accumulate:
    case Kind::get_accumulate:
    case Kind::compare_and_swap:
    case Kind::get:
    case Kind::put_offer: {
      Place place;
      if (read_place(peer, header, payload, size, place)) operate(peer, header, place);
      return true;
    }
    case Kind::flush:
    case Kind::unlock:
    case Kind::completed:
      if (peer.arriving > 0 || !peer.after_arrival.empty())
        peer.after_arrival.push_back(header);
      else
        synchronize(peer, header);
      return true;
    case Kind::lock:
      lock(peer, header);
      return true;
    case Kind::ask_token:
      send_token(peer);
      return true;
    case Kind::offer:
    case Kind::data:
    case Kind::failed:
    case Kind::type_definition:
    case Kind::flushed:
    case Kind::granted:
    case Kind::posted:
    case Kind::token:
      return false;
  }
  return false;
}

void WindowServer::operate(WindowPeer& peer, const WindowHeader& header, Place& place) {
  using Kind = WindowHeader::Kind;
  const bool found = find_memory(peer, place);
  if (header.kind == Kind::put_offer) return announce(peer, place, found);
  if (!found) return refuse_place(peer, header, place);
  switch (header.kind) {
    case Kind::put:
      if (place.memory.contiguous())
        copy_bytes(place.memory.data, place.data, place.data_bytes);
      else
        place.packer.unpack(place.offset, place.data, place.data_bytes);
      return;
    case Kind::get:
      return get(peer, header, place);
    case Kind::compare_and_swap:
      return compare_and_swap(peer, header, place);
    default:
      return accumulate(peer, header, place);
  }
}

void WindowServer::refuse_place(WindowPeer& peer, const WindowHeader& header, const Place& place) {
  const FailureOnWire failure = place.failure(ErrorClass::rma_range);
  if (header.kind == WindowHeader::Kind::put || header.kind == WindowHeader::Kind::accumulate) {
    if (peer.refused.error == 0) peer.refused = failure;
    return;
  }
  WindowHeader answer = WindowEngine::header_to(peer, WindowHeader::Kind::failed);
  answer.number = header.number;
  engine_.answer(peer.link, answer, &failure, sizeof failure);
}

void WindowServer::accumulate(WindowPeer& peer, const WindowHeader& header, const Place& place) {
  const Accumulation accumulation(header.operation, {header.element, {header.pair_value, header.pair_index}});
  const std::int64_t bytes = place.wire.bytes;
  if (!accumulation.sound() || bytes % accumulation.unit() != 0 || place.offset % accumulation.unit() != 0 ||
      bytes > Transport::one_piece)
    return engine_.refuse(peer.link.process,
                          fmt::format("an accumulate of {} bytes of elementary kind {} by operator {}", bytes,
                                      static_cast<int>(header.element), static_cast<int>(header.operation)));
  const Calculating calculating(peer.window.members_.at(peer.window.rank()).control);
  if (header.kind == WindowHeader::Kind::accumulate)
    return accumulation.apply(place.memory, place.offset, place.data, bytes, nullptr);
  std::byte before[sizeof(std::int64_t) + Transport::one_piece];
  const std::int64_t offset = place.named_offset();
  std::memcpy(before, &offset, sizeof offset);
  accumulation.apply(place.memory, place.offset, place.data, bytes, before + sizeof offset);
  send_answer(peer, header, before, bytes);
}

void WindowServer::compare_and_swap(WindowPeer& peer, const WindowHeader& header, const Place& place) {
  const std::int64_t bytes = place.wire.bytes;
  if (place.type || bytes > largest_compared || place.data_bytes != 2 * bytes)
    return engine_.refuse(peer.link.process,
                          fmt::format("{} bytes to compare {} with", place.data_bytes, bytes));
  std::byte before[sizeof(std::int64_t) + largest_compared];
  std::memcpy(before, &place.wire.displacement, sizeof place.wire.displacement);
  const Calculating calculating(peer.window.members_.at(peer.window.rank()).control);
  Accumulation::compare_and_swap(place.memory.data, bytes, place.data, place.data + bytes,
                                 before + sizeof(std::int64_t));
  send_answer(peer, header, before, bytes);
}

// `packet`: room for the offset, which stands there, and the bytes behind it.
void WindowServer::send_answer(WindowPeer& peer, const WindowHeader& header, const std::byte* packet,
                               std::int64_t bytes) {
  WindowHeader answer = WindowEngine::header_to(peer, WindowHeader::Kind::data);
  answer.number = header.number;
  engine_.answer(peer.link, answer, packet, static_cast<std::int64_t>(sizeof(std::int64_t)) + bytes);
}

void WindowServer::get(WindowPeer& peer, const WindowHeader& header, Place& place) {
  const std::int64_t bytes = place.wire.bytes;
  if (bytes >= answer_offered_from) {
    auto* const exposed = new ExposedAnswer(peer.window);
    exposed->type = place.type;
    exposed->packer = place.packer;
    exposed->bytes = front_of(place.memory, bytes);
    if (!exposed->bytes.contiguous()) exposed->bytes.packer = &exposed->packer;
    WindowHeader answer = WindowEngine::header_to(peer, WindowHeader::Kind::offer);
    answer.flags = WindowHeader::answer;
    answer.number = header.number;
    return engine_.answer(peer.link, answer, *exposed);
  }
  const std::int64_t most = peer.link.packet_limit - static_cast<std::int64_t>(sizeof(std::int64_t));
  for (std::int64_t at = 0; at < bytes; at += most) {
    std::byte packet[Transport::one_piece];
    const std::int64_t n = std::min(most, bytes - at);
    const std::int64_t offset = place.named_offset() + at;
    std::memcpy(packet, &offset, sizeof offset);
    if (place.memory.contiguous())
      copy_bytes(packet + sizeof offset, place.memory.data + at, n);
    else
      place.packer.pack(at, packet + sizeof offset, n);
    send_answer(peer, header, packet, n);
  }
}

ExposedAnswer::ExposedAnswer(Window& of) : window(&of) { ++of.exposed_answers_; }
ExposedAnswer::~ExposedAnswer() { --window->exposed_answers_; }
void ExposedAnswer::on_complete(Result<>) { delete this; }

// --- Large puts ---

void WindowServer::announce(WindowPeer& peer, Place& place, bool found) {
  if (peer.announced != nullptr)
    return engine_.refuse(peer.link.process, "a large put before the bytes of the last one");
  auto put = std::make_unique<ArrivingPut>(engine_, peer);
  put->bytes = place.wire.bytes;
  if (found) {
    put->type = place.type;
    put->packer = place.packer;
    put->to = front_of(place.memory, place.wire.bytes);
    if (!put->to.contiguous()) put->to.packer = &put->packer;
  } else if (peer.refused.error == 0) {
    peer.refused = place.failure(ErrorClass::rma_range);
  }
  peer.announced = std::move(put);
}

void WindowServer::on_put_offer(WindowPeer& peer, const ExposeToken& token, std::int64_t size) {
  if (peer.announced == nullptr || peer.announced->bytes != size)
    return engine_.refuse(peer.link.process,
                          fmt::format("an offer of {} bytes that it did not announce", size));
  ArrivingPut* const put = peer.announced.release();
  ++peer.arriving;
  peer.link.channel->fetch(peer.link.process, token, put->to, put);
}

void ArrivingPut::on_complete(Result<> result) {
  if (!result && peer_.refused.error == 0)
    peer_.refused.error = static_cast<std::int32_t>(error_class_of(result.error()));
  --peer_.arriving;
  engine_.after_arrival(peer_);
  delete this;
}

void WindowServer::after_arrival(WindowPeer& peer) {
  if (peer.arriving > 0) return;
  for (const WindowHeader& header : std::exchange(peer.after_arrival, {})) synchronize(peer, header);
}

// --- Synchronization ---

void WindowServer::synchronize(WindowPeer& peer, const WindowHeader& header) {
  if (header.kind == WindowHeader::Kind::completed) {
    ++peer.completions;
    return;
  }
  if (header.kind == WindowHeader::Kind::unlock) {
    if (peer.served_lock != WindowPeer::Lock::held)
      return engine_.refuse(peer.link.process, "the end of a lock that it does not have");
    peer.served_lock = WindowPeer::Lock::none;
    peer.window.end_turn(peer.window.rank(), peer.served_type);
  }
  WindowHeader answer = WindowEngine::header_to(peer, WindowHeader::Kind::flushed);
  answer.number = header.number;
  const FailureOnWire failure = std::exchange(peer.refused, {});
  engine_.answer(peer.link, answer, &failure, sizeof failure);
  if (header.kind == WindowHeader::Kind::unlock) grant_locks();
}

void WindowServer::lock(WindowPeer& peer, const WindowHeader& header) {
  if (peer.served_lock != WindowPeer::Lock::none)
    return engine_.refuse(peer.link.process, "a second lock of the same window");
  peer.served_lock = WindowPeer::Lock::wanted;
  peer.served_type = (header.flags & WindowHeader::shared) != 0 ? LockType::shared : LockType::exclusive;
  waiting_locks_.push_back({&peer});
  grant_locks();
}

// One of them at a time takes its turn among the processes that share the lock.
bool WindowServer::grant_locks() {
  const auto granted = [this](WaitingLock& waiting) {
    WindowPeer& peer = *waiting.peer;
    Window& window = peer.window;
    if (!waiting.drawn) {
      if (window.turn_drawn_) return false;
      window.turn_drawn_ = waiting.drawn = true;
      waiting.ticket = window.draw_turn(window.rank());
    }
    if (!window.take_turn(window.rank(), waiting.ticket, peer.served_type)) return false;
    window.turn_drawn_ = false;
    peer.served_lock = WindowPeer::Lock::held;
    engine_.answer(peer.link, WindowEngine::header_to(peer, WindowHeader::Kind::granted), nullptr, 0);
    return true;
  };
  return std::erase_if(waiting_locks_, granted) > 0;
}

void WindowServer::forget(const Window& window) {
  std::erase_if(waiting_locks_, [&](const WaitingLock& waiting) { return &waiting.peer->window == &window; });
}

// --- Datatypes ---

void WindowServer::on_type_definition(ProcessIndex source, const std::byte* payload, std::int64_t size) {
  TypeOnWire part;
  const std::int64_t bytes = size - static_cast<std::int64_t>(sizeof part);
  if (bytes > 0) std::memcpy(&part, payload, sizeof part);
  WindowLink& link = engine_.link(source);
  std::vector<std::byte>& all = link.arriving_definition;
  if (part.offset == 0) {
    link.arriving_type = part;
    all.clear();
  }
  const auto known = static_cast<std::int64_t>(all.size());
  if (bytes <= 0 || part.type >= defined_types || part.type != link.arriving_type.type ||
      part.total != link.arriving_type.total || part.offset != known || bytes > part.total - known)
    return engine_.refuse(source, fmt::format("{} bytes at {} of {} that define datatype {}", bytes,
                                              part.offset, part.total, part.type));
  all.insert(all.end(), payload + sizeof part, payload + size);
  if (known + bytes < part.total) return;
  auto type = decode_layout(all);
  all = {};
  if (!type) return engine_.refuse(source, std::move(type.take_error().text));
  if (link.types.size() <= part.type) link.types.resize(part.type + 1);
  link.types[part.type] = std::move(type).value();
}

}  // namespace hawser
