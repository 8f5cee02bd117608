// TCP sockets, as the socket channel needs them: never blocking, never raising a signal, every
// outcome a value. IPv4 only: this is the plain fallback between nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/file_descriptor.h"

namespace hawser {

// Listens on this address of this host, on a port that the system picks; empty: on all addresses.
Result<FileDescriptor> listen_tcp(const std::string& address, std::uint16_t& port);
// Whether start_connecting takes it.
bool is_ipv4_address(const std::string& text);
// The next waiting connection; not valid() if there is none, or if the system has no room for it
// (`exhausted`: too many open files, no memory), in which case it goes on waiting.
FileDescriptor accept_tcp(const FileDescriptor& listener, bool& exhausted);
// How many descriptors this process may have open.
std::int64_t descriptor_limit();
// Starts to connect. The outcome shows when the socket becomes writable: see connect_outcome.
Result<FileDescriptor> start_connecting(const std::string& address, std::uint16_t port);
Result<> connect_outcome(const FileDescriptor& socket);

// This host's addresses, loopback left out.
std::vector<std::string> host_addresses();
// Equal for processes that reach each other through the loopback address.
std::string network_identity();

struct Transferred {
  std::size_t bytes = 0;
  bool closed = false;  // the other side is gone, or the connection broke
};
// As much as goes now, perhaps nothing.
Transferred read_now(const FileDescriptor& socket, std::span<std::byte> into);
Transferred write_now(const FileDescriptor& socket, std::span<const std::byte> from);

}  // namespace hawser
