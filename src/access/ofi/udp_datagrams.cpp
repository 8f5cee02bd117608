#include "access/ofi/udp_datagrams.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "access/ofi/network_interface.h"
#include "access/ofi/ofi_device.h"
#include "base/failure.h"

namespace hawser::rdma {

Result<std::unique_ptr<UdpDatagrams>> UdpDatagrams::make(OfiDevice& device, std::uint32_t address,
                                                         std::uint32_t key) {
  std::unique_ptr<UdpDatagrams> made(new UdpDatagrams(device, key));
  made->socket_ = FileDescriptor(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = address;
  auto* const generic = reinterpret_cast<sockaddr*>(&own);
  socklen_t length = sizeof(own);
  const int socket = made->socket_.get();
  if (socket < 0 || bind(socket, generic, length) != 0 || getsockname(socket, generic, &length) != 0)
    return failure(ErrorKind::other, "a UDP socket on {}: {}", device.attributes().name,
                   std::strerror(errno));
  made->port_ = ntohs(own.sin_port);
  HAWSER_TRY(device.watch(made->socket_.get()));
  return made;
}

UdpDatagrams::~UdpDatagrams() { device_.unwatch(socket_); }

bool UdpDatagrams::send(const DatagramAddress& to, std::span<const std::byte> bytes) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = ipv4_of(to.port.gids[0]);
  there.sin_port = htons(static_cast<std::uint16_t>(to.queue_pair));
  if (there.sin_addr.s_addr == 0 || bytes.size() > most_bytes) return false;
  std::array<iovec, 2> parts = {iovec{&key_, sizeof(key_)},
                                iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_name = &there;
  message.msg_namelen = sizeof(there);
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0;
}

std::span<const std::byte> UdpDatagrams::receive() {
  // Who sends what is not for us, without end, must not hold the process up.
  for (int looks = 0; looks < most_looks; ++looks) {
    const auto got = recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (got < 0) {
      // What an earlier one met (port unreachable) is no matter.
      if (errno == ECONNREFUSED || errno == EINTR) continue;
      return {};
    }
    const auto bytes = static_cast<std::size_t>(got);
    std::uint32_t key = 0;
    if (bytes <= sizeof(key)) continue;
    std::memcpy(&key, buffer_.data(), sizeof(key));
    if (key == key_) return std::span(buffer_).subspan(sizeof(key), bytes - sizeof(key));
  }
  return {};
}

}  // namespace hawser::rdma
