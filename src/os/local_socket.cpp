#include "os/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::size_t most_descriptors = 4;

struct Address {
  sockaddr_un address{};
  socklen_t length = 0;
};

Result<Address> address_of(const std::string& name) {
  Address out;
  out.address.sun_family = AF_UNIX;
  const std::string text = fmt::format("hawser/{}/{}", getuid(), name);
  // The first byte of an abstract name is 0.
  if (name.empty() || text.size() + 1 > sizeof out.address.sun_path)
    return failure(ErrorKind::invalid_argument, "'{}' is not a valid name; it must have 1 to 64 characters",
                   name);
  std::memcpy(out.address.sun_path + 1, text.data(), text.size());
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return out;
}

Result<FileDescriptor> packet_socket() {
  FileDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made.valid())
    return failure(ErrorKind::other, "making a local socket failed: {}", std::strerror(errno));
  const int room = 4 * static_cast<int>(longest_packet);
  setsockopt(made.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return made;
}

}  // namespace

Result<FileDescriptor> listen_local(const std::string& name) {
  auto address = address_of(name);
  if (!address) return address.take_error();
  auto made = packet_socket();
  if (!made) return made.take_error();
  FileDescriptor socket = std::move(made).value();
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address.value().address), address.value().length) !=
      0) {
    if (errno == EADDRINUSE) return failure(ErrorKind::name_taken, "the name '{}' is already in use", name);
    return failure(ErrorKind::other, "bind failed: {}", std::strerror(errno));
  }
  if (listen(socket.get(), SOMAXCONN) != 0)
    return failure(ErrorKind::other, "listen failed: {}", std::strerror(errno));
  return socket;
}

Result<FileDescriptor> connect_local(const std::string& name) {
  auto address = address_of(name);
  if (!address) return address.take_error();
  auto made = packet_socket();
  if (!made) return made.take_error();
  FileDescriptor socket = std::move(made).value();
  const auto* const where = reinterpret_cast<const sockaddr*>(&address.value().address);
  while (connect(socket.get(), where, address.value().length) != 0) {
    if (errno == EINTR) continue;
    return failure(ErrorKind::not_found, "nothing of the name '{}' is running ({})", name,
                   std::strerror(errno));
  }
  if (!same_user(socket)) return failure(ErrorKind::access_denied, "'{}' belongs to another user", name);
  return socket;
}

FileDescriptor accept_local(const FileDescriptor& listener) {
  FileDescriptor made(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (made.valid() && !same_user(made)) made.close();
  return made;
}

pid_t peer_process(const FileDescriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : -1;
}

std::int64_t peer_user(const FileDescriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? std::int64_t{peer.uid} : -1;
}

bool same_user(const FileDescriptor& socket) { return peer_user(socket) == std::int64_t{geteuid()}; }

bool send_packet(const FileDescriptor& socket, std::span<const std::byte> bytes,
                 std::span<const int> descriptors, bool wait) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_descriptors)] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    HAWSER_ASSERT(descriptors.size() <= most_descriptors);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket.get(), &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    if (sent >= 0) return true;
    if (errno != EINTR) return false;
  }
}

PacketOutcome receive_packet(const FileDescriptor& socket, LocalPacket& packet, bool wait) {
  packet.bytes.resize(longest_packet);
  packet.descriptors.clear();
  iovec piece{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_descriptors)];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received = 0;
  do {
    received = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (received < 0 && errno == EINTR);
  if (received < 0) return errno == EAGAIN ? PacketOutcome::nothing : PacketOutcome::closed;
  if (received == 0) return PacketOutcome::closed;
  packet.bytes.resize(static_cast<std::size_t>(received));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      packet.descriptors.emplace_back(fd);
    }
  }
  return PacketOutcome::done;
}

bool is_closed(const FileDescriptor& socket) {
  char byte = 0;
  const ssize_t seen = recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return seen == 0 || (seen < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace hawser
