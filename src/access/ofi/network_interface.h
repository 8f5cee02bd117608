// Network interfaces of this host: what they are, and when that changes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/file_descriptor.h"

namespace hawser::rdma {

// An IPv4 address in an IPv6 one (RFC 4291 2.5.5.2), as RoCE has them too.
using MappedAddress = std::array<std::uint8_t, 16>;
MappedAddress mapped_address(std::uint32_t network_order);
// 0: it is none.
std::uint32_t ipv4_of(const MappedAddress& address);

struct InterfaceAttributes {
  std::string name;      // "eth0"
  bool running = false;  // up, with a carrier
  bool loopback = false;
  std::uint32_t address = 0;  // IPv4, network order; 0: none
};

// Those that exist now; with `name` only that one.
std::vector<InterfaceAttributes> network_interfaces(const std::string& name = "");
// Those that a list means: names with commas between them, each with an IPv4 address; or `all` that are up,
// have one, and are not the loopback. An error says which name is wrong.
Result<std::vector<InterfaceAttributes>> listed_interfaces(const std::string& list);
// Bytes per second as the kernel knows it; 1 Gbit/s where it does not.
std::int64_t interface_rate(const std::string& name);

// Tells that some interface changed (rtnetlink).
class InterfaceWatch {
 public:
  static Result<InterfaceWatch> make();
  int descriptor() const { return socket_.get(); }
  // True if something changed since the last call.
  bool take();

 private:
  FileDescriptor socket_;
};

}  // namespace hawser::rdma
