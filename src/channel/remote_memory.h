// RemoteMemory: the one-sided part of a transport's contract: put, get, atomic and flush over registered
// windows, done by adapters or by stores of this process, without the target's attention. Every transport
// says for each peer and operation whether it does it natively; what it does not, the window room does with
// active messages (HandlerId::window), whose handler at the target does it there.
//
//   owner:    register_window(memory) -> WindowToken, sent to the others by the room
//   origin:   try_put(peer, {token, offset}, bytes) ... flush(peer): all of them are in the owner's memory
//
// Order: none between operations, before a flush of that peer is over. Atomics of one lane's transports are
// atomic to each other and to no other stores.
//
// All calls are made under the lane's lock, and completions come from progress, as Transport has it. A
// completion with an error: the token, the offset or the size is wrong, or the peer is lost;
// ErrorKind::unsupported: the transport cannot do this one after all, and it is to go by messages.
#pragma once

#include <cmath>

#include "channel/transport.h"

namespace hawser {

// Names a registered window to those that may reach into it. Bytes for everybody but the owner's transport
// and those of its kind.
struct WindowToken {
  std::uint64_t words[8] = {};
};

// A place in a window of a peer; `offset` in bytes.
struct RemotePlace {
  WindowToken window;
  std::int64_t offset = 0;
  // Not null: the data are not one piece there. Tells their blocks, whose addresses count from `offset`; must
  // outlive the operation.
  const Packer* layout = nullptr;
};

// On 8 bytes at an aligned place, which are given back as they were before.
enum class AtomicOperation : std::uint8_t { fetch, swap, compare_and_swap, add, bit_and, bit_or, bit_xor };

struct AtomicRequest {
  AtomicOperation operation = AtomicOperation::fetch;
  std::uint64_t operand = 0;   // swap and compare_and_swap: the new value
  std::uint64_t expected = 0;  // compare_and_swap
};

// What a transport does natively with one peer.
struct RemoteCapabilities {
  bool put = false;
  bool get = false;
  std::uint32_t atomics = 0;       // a bit for each AtomicOperation
  double shortest_run = INFINITY;  // bytes that pieces there have on average, for RemotePlace::layout

  bool atomic(AtomicOperation operation) const { return (atomics >> static_cast<int>(operation) & 1) != 0; }
};

class RemoteMemory {
 public:
  virtual RemoteCapabilities capabilities(ProcessIndex peer) const = 0;

  // This process's memory, for all peers, until it is unregistered, which needs that no peer uses it any
  // more.
  virtual Result<WindowToken> register_window(std::byte* memory, std::int64_t size) = 0;
  virtual void unregister_window(const WindowToken& window) = 0;

  // Operations that capabilities(peer) names. False: no room now, nothing was done. `end`, which may be null,
  // is told when `from` may be changed, when `into` is filled, when `before` is the former value.
  virtual bool try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from,
                       TrafficClass traffic, Completion* end) = 0;
  virtual bool try_get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into,
                       TrafficClass traffic, Completion* end) = 0;
  virtual bool try_atomic(ProcessIndex peer, const RemotePlace& at, const AtomicRequest& request,
                          std::uint64_t& before, Completion* end) = 0;
  // `end` is told when all that was begun with this peer before is done and to be seen in its memory. May be
  // called if nothing was.
  virtual void flush(ProcessIndex peer, Completion& end) = 0;

 protected:
  ~RemoteMemory() = default;
};

// What a transport does natively: nothing where it has no such part.
inline RemoteCapabilities remote_capabilities(Transport& transport, ProcessIndex peer) {
  RemoteMemory* const memory = transport.remote_memory();
  return memory == nullptr ? RemoteCapabilities{} : memory->capabilities(peer);
}

}  // namespace hawser
