// Multicast: the part of a transport's contract that reaches many processes with one packet, by groups that
// switches copy for. Packets may be lost, doubled and reordered; who uses it makes up for that
// (collective/multicast/). One group is named by a key that all its members know.
//
// Every process has rails, numbered from 0, and a group of its own on each: what is sent to the group on one
// rail reaches those who are attached on their rail of the same number.
//
// All calls are made under the lane's lock, and packets come from progress, as Transport has it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.h"

namespace hawser {

struct MulticastKey {
  std::uint32_t context = 0;
  std::uint32_t generation = 0;
  auto operator<=>(const MulticastKey&) const = default;
};

class MulticastHandler {
 public:
  // A packet that a process of this job sent to a group. The bytes are valid only during the call.
  virtual void on_multicast(std::span<const std::byte> header, std::span<const std::byte> payload) = 0;

 protected:
  ~MulticastHandler() = default;
};

class Multicast {
 public:
  // Of every packet, before its payload.
  static constexpr std::size_t header_bytes = 40;

  // Null: packets are dropped.
  virtual void set_multicast_handler(MulticastHandler* handler) = 0;
  // The largest payload; 0: there is no multicast.
  virtual std::int32_t payload_bytes() const = 0;

  // Begins to join the group on all rails, as one who also receives or only sends. Asks again where it was
  // refused some time ago.
  enum class Member : std::uint8_t { receives, sends_only };
  virtual void join(const MulticastKey& key, Member member) = 0;
  // Packets to the group are no longer taken on any rail, until the next join() of one who receives. The port
  // stays a member, because of other processes that share it.
  virtual void stop_receiving(const MulticastKey& key) = 0;
  // Rails on which it has joined and that work now: bit i is rail i.
  virtual std::uint32_t joined(const MulticastKey& key) const = 0;
  virtual void leave(const MulticastKey& key) = 0;
  // Copies the bytes. False: no room now.
  virtual bool send(const MulticastKey& key, int rail, std::span<const std::byte> header,
                    std::span<const std::byte> payload) = 0;
  // When the user of this wants to be called by progress though nothing arrives; never: not by itself.
  virtual void set_due(Nanoseconds due) = 0;

 protected:
  ~Multicast() = default;
};

}  // namespace hawser
