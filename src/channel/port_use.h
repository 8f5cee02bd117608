// PortUse: whether other processes of this node have large messages under way on a port of its adapters. Who
// shares a port learns nothing from how fast its own messages are, and its adapter's other engines are taken.
//
// The processes tell each other in memory that they share. All zeros: nobody uses a port. It is a hint: every
// 64th processes of a node count as one, and so do two ports in the unlikely case that their names are alike.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace hawser {

enum class PortSide : std::uint8_t { out, in };

struct alignas(64) PortLine {
  std::atomic<std::uint64_t> name;                  // of the port; 0: the line is free
  std::array<std::atomic<std::uint64_t>, 2> users;  // a bit each; by side
};
inline constexpr int port_lines = 32;
using NodePorts = std::array<PortLine, port_lines>;

inline std::uint64_t port_user(int place) { return std::uint64_t{1} << (place & 63); }

// The process at this place of the node has died.
inline void forget_port_user(NodePorts& ports, int place) {
  for (PortLine& line : ports)
    for (std::atomic<std::uint64_t>& users : line.users)
      users.fetch_and(~port_user(place), std::memory_order_relaxed);
}

class PortUse {
 public:
  PortUse() = default;  // nobody else has this port
  // `name` is not 0, and the same in all processes of the node. A port that finds no line seems to be nobody
  // else's.
  PortUse(NodePorts& ports, std::uint64_t name, int place)
      : line_(line_of(ports, name)), self_(port_user(place)) {}

  void begin(PortSide side) {
    if (line_ != nullptr) users(side).fetch_or(self_, std::memory_order_relaxed);
  }
  void end(PortSide side) {
    if (line_ != nullptr) users(side).fetch_and(~self_, std::memory_order_relaxed);
  }
  bool shared(PortSide side) const {
    return line_ != nullptr && (users(side).load(std::memory_order_relaxed) & ~self_) != 0;
  }

 private:
  static PortLine* line_of(NodePorts& ports, std::uint64_t name) {
    for (PortLine& line : ports) {
      std::uint64_t found = 0;
      if (line.name.compare_exchange_strong(found, name, std::memory_order_relaxed) || found == name)
        return &line;
    }
    return nullptr;
  }
  std::atomic<std::uint64_t>& users(PortSide side) const {
    return line_->users[static_cast<std::size_t>(side)];
  }

  PortLine* line_ = nullptr;
  std::uint64_t self_ = 0;
};

}  // namespace hawser
