// Connections between processes of one machine and one user: packets with descriptors, over sockets of the
// abstract name space, so that nothing stays behind in a file system.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/file_descriptor.h"

namespace hawser {

inline constexpr std::size_t longest_packet = 64 * 1024;

// The name has the user's number in it, and both ends check the other's user: the name space is open to all.
Result<FileDescriptor> listen_local(const std::string& name);  // fails when somebody listens already
// An error text of one sentence; `name` is what people call it.
Result<FileDescriptor> connect_local(const std::string& name);
// The next connection that waits; not valid when there is none, or it is another user's.
FileDescriptor accept_local(const FileDescriptor& listener);
pid_t peer_process(const FileDescriptor& socket);
// Whether the other side of a local connection runs as this process's user. Root is no exception, either way:
// it needs no favour from us, and a job of root's takes nothing from others.
bool same_user(const FileDescriptor& socket);
// The user behind it, for messages; -1: not known.
std::int64_t peer_user(const FileDescriptor& socket);

struct LocalPacket {
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> descriptors;
};
enum class PacketOutcome { done, nothing, closed };
// False when the other side is gone, or (without waiting) does not read.
bool send_packet(const FileDescriptor& socket, std::span<const std::byte> bytes,
                 std::span<const int> descriptors = {}, bool wait = true);
// One packet; `nothing` only without waiting.
PacketOutcome receive_packet(const FileDescriptor& socket, LocalPacket& packet, bool wait = true);
// Whether the other side has hung up; takes nothing.
bool is_closed(const FileDescriptor& socket);

}  // namespace hawser
