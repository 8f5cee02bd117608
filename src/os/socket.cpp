#include "os/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/failure.h"

namespace hawser {
namespace {

Error system_failure(const std::string& what) {
  return failure(ErrorKind::other, "{} failed: {}", what, std::strerror(errno));
}

FileDescriptor tcp_socket() {
  return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// A host that has lost its power ends no connection. The system asks it when nothing was said for half a
// minute, and ends the connection a minute later. (A limit for unacknowledged bytes, TCP_USER_TIMEOUT, would
// also end connections to processes that compute for long and do not read.)
void notice_silence(int socket) {
  const int on = 1, idle = 30, interval = 10, count = 6;  // seconds
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

void send_small_messages_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<FileDescriptor> listen_tcp(const std::string& text, std::uint16_t& port) {
  FileDescriptor listener = tcp_socket();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (!text.empty() && inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1)
    return failure(ErrorKind::other, "'{}' is not an IPv4 address", text);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener.valid() || bind(listener.get(), generic, length) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0 || getsockname(listener.get(), generic, &length) != 0)
    return system_failure(text.empty() ? "listening for connections of the job's other nodes"
                                       : "listening at this host's address " + text);
  port = ntohs(address.sin_port);
  return listener;
}

FileDescriptor accept_tcp(const FileDescriptor& listener, bool& exhausted) {
  FileDescriptor accepted(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  exhausted =
      !accepted.valid() && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (accepted.valid()) {
    send_small_messages_at_once(accepted.get());
    notice_silence(accepted.get());
  }
  return accepted;
}

std::int64_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT32_MAX;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
}

bool is_ipv4_address(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

Result<FileDescriptor> start_connecting(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1)
    return failure(ErrorKind::other, "'{}' is not an IPv4 address", text);
  FileDescriptor connecting = tcp_socket();
  if (!connecting.valid()) return system_failure("making a socket");
  send_small_messages_at_once(connecting.get());
  notice_silence(connecting.get());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(connecting.get(), generic, sizeof(address)) != 0 && errno != EINPROGRESS)
    return system_failure(fmt::format("connecting to {}:{}", text, port));
  return connecting;
}

Result<> connect_outcome(const FileDescriptor& connecting) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(connecting.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0) return {};
  return failure(ErrorKind::other, "connecting failed: {}", std::strerror(error));
}

std::vector<std::string> host_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_INET) continue;
    if ((item->ifa_flags & IFF_LOOPBACK) != 0 || (item->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET_ADDRSTRLEN> text;
    const auto* address = reinterpret_cast<const sockaddr_in*>(item->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr)
      addresses.emplace_back(text.data());
  }
  freeifaddrs(list);
  return addresses;
}

std::string network_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  // Containers of one host have networks of their own.
  std::array<char, 64> name{};
  const ssize_t length = readlink("/proc/self/ns/net", name.data(), name.size());
  return boot + "/" + std::string(name.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

Transferred read_now(const FileDescriptor& socket, std::span<std::byte> into) {
  const ssize_t bytes = recv(socket.get(), into.data(), into.size(), 0);
  if (bytes > 0) return {static_cast<std::size_t>(bytes), false};
  return {0, bytes == 0 || !again()};
}

Transferred write_now(const FileDescriptor& socket, std::span<const std::byte> from) {
  const ssize_t bytes = send(socket.get(), from.data(), from.size(), MSG_NOSIGNAL);
  if (bytes >= 0) return {static_cast<std::size_t>(bytes), false};
  return {0, !again()};
}

}  // namespace hawser
