// Puts and gets that the transport does by itself (channel/remote_memory.h), where it can and the target's
// data are one piece, or long ones.
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "mpi/failure.h"
#include "window/window_engine.h"

namespace hawser {

void NativeWay::flush(ProcessIndex process) {
  unflushed = flush_wanted = false;
  ++flushing;
  memory->flush(process, *this);
}

void NativeWay::on_complete(Result<> result) {
  --flushing;
  if (!result && failure.error == 0)
    failure.error = static_cast<std::int32_t>(error_class_of(result.error()));
}

// Whether an operation is the transport's; asks for the token if it may be.
bool WindowEngine::goes_natively(WindowPeer& peer, const WindowCall& call) {
  if (call.kind != WindowCall::Kind::put && call.kind != WindowCall::Kind::get) return false;
  NativeWay& way = peer.native;
  const double run = call.type == nullptr ? INFINITY : call.type->layout()->average_run;
  if (way.state == NativeWay::State::unknown) {
    const RemoteCapabilities can = remote_capabilities(*peer.link.channel, peer.link.process);
    way.shortest_run = can.shortest_run;
    if (run < way.shortest_run) return false;
    const bool dynamic = peer.window.memory().flavor == WindowFlavor::dynamic;
    way.state = can.put && can.get && !dynamic ? NativeWay::State::asked : NativeWay::State::none;
    if (way.state == NativeWay::State::asked)
      send_packet(peer, header_to(peer, WindowHeader::Kind::ask_token));
  }
  return way.state == NativeWay::State::known && run >= way.shortest_run;
}

bool WindowEngine::begin_natively(WindowPeer& peer, WindowOperation& operation) {
  WindowCall& call = operation.call;
  NativeWay& way = peer.native;
  RemotePlace place{way.token, call.displacement};
  if (call.type != nullptr) {
    call.target_packer = TypePacker(reinterpret_cast<void*>(call.displacement), call.count, *call.type);
    place = {way.token, 0, &call.target_packer};
  }
  constexpr TrafficClass traffic = TrafficClass::one_sided;
  const bool begun = call.kind == WindowCall::Kind::get
                         ? way.memory->try_get(peer.link.process, place, call.result, traffic, &operation)
                         : way.memory->try_put(peer.link.process, place, call.origin, traffic, &operation);
  way.unflushed |= begun;
  return begun;
}

// The transport cannot after all.
void WindowEngine::send_instead(WindowOperation& operation) {
  WindowPeer& peer = *operation.peer;
  peer.native.state = NativeWay::State::none;
  operation.native = false;
  operation.stage = WindowOperation::Stage::queued;
  if (operation.call.kind == WindowCall::Kind::put) ++peer.sent;
  enqueue(peer, operation);
  push(peer);
  // Who waits for a flush asked before.
  peer.window.ask_for_flush(peer);
}

void WindowEngine::on_token(WindowPeer& peer, const std::byte* payload, std::int64_t size) {
  NativeWay& way = peer.native;
  if (way.state != NativeWay::State::asked ||
      (size != 0 && size != static_cast<std::int64_t>(sizeof way.token)))
    return refuse(peer.link.process, fmt::format("a window's token of {} bytes", size));
  way.state = NativeWay::State::none;
  if (size == 0) return;
  std::memcpy(&way.token, payload, sizeof way.token);
  way.memory = peer.link.channel->remote_memory();
  way.state = NativeWay::State::known;
}

// --- The owner of the memory ---

// The token of this process's memory for a transport; null: it has none.
const WindowToken* Window::token_for(RemoteMemory* remote) {
  if (remote == nullptr || memory_.flavor == WindowFlavor::dynamic || memory_.size == 0) return nullptr;
  for (const Registered& known : registered_)
    if (known.remote == remote) return known.refused ? nullptr : &known.token;
  Registered& added = registered_.emplace_back();
  added.remote = remote;
  auto token = remote->register_window(memory_.base, memory_.size);
  added.refused = !token;
  if (token) added.token = token.value();
  return added.refused ? nullptr : &added.token;
}

void Window::unregister() {
  for (const Registered& known : std::exchange(registered_, {}))
    if (!known.refused) known.remote->unregister_window(known.token);
}

void WindowServer::send_token(WindowPeer& peer) {
  const WindowHeader header = WindowEngine::header_to(peer, WindowHeader::Kind::token);
  const WindowToken* const token = peer.window.token_for(peer.link.channel->remote_memory());
  engine_.answer(peer.link, header, token, token == nullptr ? 0 : sizeof *token);
}

}  // namespace hawser
