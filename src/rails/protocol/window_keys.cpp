// RemoteWindows: the keys of windows whose adapters were opened again after the token was made. An origin
// that finds a connection to such an adapter asks for them; what it moves meanwhile goes over other rails.
#include <algorithm>

#include <fmt/core.h>

#include "base/failure.h"
#include "rails/protocol/remote_windows.h"

namespace hawser {
namespace {

// Windows of one peer with later keys; others are forgotten, and asked for again.
constexpr std::size_t most_later_keys = 64;
// A peer has asked once about each window, and about a few of before; the answers wait until it has room.
constexpr std::size_t spare_questions = 64;

}  // namespace

void RemoteWindows::on_keys_wanted(StripedTransfer& transfer) {
  const auto& operation = static_cast<RemoteOperation&>(transfer);
  PeerOperations& own = operations_with(transfer.peer());
  PeerOperations::LaterKeys* keys = own.find_keys(operation.window);
  if (keys == nullptr) {
    if (own.keys.size() >= most_later_keys)
      std::erase_if(own.keys, [](const PeerOperations::LaterKeys& each) { return !each.asked; });
    own.keys.push_back({.window = operation.window, .asked = false, .known = false, .bytes = {}});
    keys = &own.keys.back();
  }
  if (keys->asked) return;
  keys->asked = true;
  to_send_.push_back({transfer.peer().process(), operation.window, false});
}

bool RemoteWindows::send(const KeyPacket& packet) {
  VirtualChannel& peer = *peers_.find(packet.process);
  if (!peer.room()) return false;
  WindowKeysBody body;
  body.window = packet.window;
  const Window* const window = packet.answer ? find(packet.window) : nullptr;
  if (window != nullptr) {
    body.open = 1;
    body.bytes = keys_of(*window);
  }
  return peer.send(packet.answer ? PacketKind::window_keys : PacketKind::ask_window_keys,
                   TrafficClass::one_sided, std::as_bytes(std::span(&body, 1)), {});
}

// As far as there is room; true if any were sent.
bool RemoteWindows::send_keys() {
  bool any = false;
  for (std::size_t count = to_send_.size(); count > 0; --count) {
    const KeyPacket packet = to_send_.front();
    to_send_.pop_front();
    if (send(packet))
      any = true;
    else
      to_send_.push_back(packet);
  }
  return any;
}

void RemoteWindows::on_packet(const ReceivedPacket& packet) {
  VirtualChannel& peer = packet.peer;
  WindowKeysBody body;
  if (!read_body(packet.bytes, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a packet of window keys", packet.bytes.size());
  if (packet.kind == PacketKind::window_keys) return on_keys(peer, body);
  const auto unanswered =
      static_cast<std::size_t>(std::count_if(to_send_.begin(), to_send_.end(), [&](const KeyPacket& each) {
        return each.answer && each.process == peer.process();
      }));
  if (unanswered >= windows_.size() + spare_questions)
    return context_.report_malformed(
        peer.process(),
        fmt::format("{} questions about windows and reads no answer to them", unanswered + 1));
  to_send_.push_back({peer.process(), body.window, true});
}

void RemoteWindows::on_keys(VirtualChannel& peer, const WindowKeysBody& body) {
  PeerOperations& own = operations_with(peer);
  PeerOperations::LaterKeys* const keys = own.find_keys(body.window);
  if (keys == nullptr || !keys->asked)
    return context_.report_malformed(
        peer.process(), fmt::format("keys of window {} that nobody asked for", body.window.place));
  keys->asked = false;
  keys->known = true;
  keys->bytes = body.bytes;
  // A window that is closed has none, whatever adapter a connection goes to.
  if (body.open == 0) {
    keys->bytes = {};
    for (const Subchannel& subchannel : peer.subchannels())
      keys->bytes.device_generations[subchannel.remote_rail] = subchannel.ends.remote_device_generation;
  }
  for (RemoteOperation* each = own.operations.front(); each != nullptr; each = own.operations.next(each)) {
    if (each->window != body.window) continue;
    RemoteBytes bytes = keys->bytes;
    bytes.address = each->remote().address;
    each->set_remote(bytes);
  }
  // What was under way there ends when the engine finds no keys.
  if (body.open == 0) own.keys.erase(own.keys.begin() + (keys - own.keys.data()));
}

}  // namespace hawser
