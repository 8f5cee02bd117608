// A process that lies: what its adapters are given to send is changed before they get it.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <ostream>
#include <span>

#include "access/verbs/verbs_functions.h"
#include "rails/wire/packet.h"

namespace hawser::rails_test {

// May change a packet or a datagram of the process, and says how many of its bytes are sent.
using Lie = std::function<std::size_t(bool datagram, std::span<std::byte>)>;

// The packet as it is sent instead.
class Packet {
 public:
  explicit Packet(std::span<std::byte> bytes) : bytes_(bytes), left(bytes.size()) {
    if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
  }
  ~Packet() { std::memcpy(bytes_.data(), &header, sizeof(header)); }
  template <class Body, class Change>
  void body(Change&& change) {
    Body body;
    std::memcpy(&body, bytes_.data() + sizeof(header), sizeof(body));
    change(body);
    std::memcpy(bytes_.data() + sizeof(header), &body, sizeof(body));
  }

 private:
  std::span<std::byte> bytes_;

 public:
  PacketHeader header;
  std::size_t left;  // bytes that are sent
};

// A lie that is told once: the first packet of a kind is another one.
struct Untruth {
  const char* name;
  PacketKind kind;
  std::function<void(Packet&)> change;
  const char* complaint;  // of process 1; empty: none
};
inline std::ostream& operator<<(std::ostream& out, const Untruth& untruth) { return out << untruth.name; }
// `told`: whether it was.
inline Lie telling(const Untruth& untruth, bool& told) {
  return [&](bool datagram, std::span<std::byte> bytes) {
    if (datagram || told || static_cast<PacketKind>(bytes[0]) != untruth.kind) return bytes.size();
    told = true;
    Packet packet(bytes);
    untruth.change(packet);
    return packet.left;
  };
}
inline void cut(Packet& packet) { packet.left = sizeof(PacketHeader) + 3; }

// While it says so, the adapters of the process carry out its requests and write no completions of them, as
// one may do that dies soon. Those with errors, and what is received, are still told of.
using Forgets = std::function<bool()>;

// The linked library's functions, for one process at a time; the lie outlives what they open.
rdma::VerbsFunctions lying_functions(const Lie& lie, const Forgets& forgets);

}  // namespace hawser::rails_test
