#include "launch/pmi_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace hawser {

PmiConnection::PmiConnection(int fd) : fd_(fd) { fcntl(fd_, F_SETFD, FD_CLOEXEC); }

PmiConnection::~PmiConnection() {
  if (close_at_end_) close(fd_);
}

void PmiConnection::forget() {
  close(fd_);
  fd_ = -1;
  close_at_end_ = false;
}

Result<> PmiConnection::send(std::string_view text) {
  while (!text.empty()) {
    ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK) sent = write(fd_, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return failure(ErrorKind::other, "cannot write to the launcher: {}", std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

bool PmiConnection::readable() const {
  if (stream_.waiting() > 0) return true;
  pollfd waiting{fd_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

Result<> PmiConnection::fill() {
  char bytes[16384];
  while (true) {
    const ssize_t got = read(fd_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(ErrorKind::other, "cannot read from the launcher: {}", std::strerror(errno));
    if (got == 0) return failure(ErrorKind::other, "the launcher closed the connection");
    stream_.append(std::string_view(bytes, static_cast<std::size_t>(got)));
    return {};
  }
}

Result<PmiMessage> PmiConnection::receive() {
  while (true) {
    if (const auto line = stream_.take_line()) return PmiMessage::parse(*line);
    HAWSER_TRY(fill());
  }
}

Result<std::string_view> PmiConnection::receive_bytes(std::size_t size) {
  while (true) {
    if (const auto bytes = stream_.take_bytes(size)) return *bytes;
    HAWSER_TRY(fill());
  }
}

Result<int> connect_to_port(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos)
    return failure(ErrorKind::other, "PMI_PORT={}: not host:port", host_and_port);
  const std::string host(host_and_port.substr(0, colon));
  const std::string port(host_and_port.substr(colon + 1));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses); error != 0)
    return failure(ErrorKind::other, "PMI_PORT={}: {}", host_and_port, gai_strerror(error));
  int fd = -1;
  int last_error = 0;
  for (const addrinfo* address = addresses; address != nullptr && fd < 0; address = address->ai_next) {
    fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0) break;
    last_error = errno;
    if (fd >= 0) close(fd);
    fd = -1;
  }
  freeaddrinfo(addresses);
  if (fd < 0)
    return failure(ErrorKind::other, "PMI_PORT={}: cannot connect: {}", host_and_port,
                   std::strerror(last_error));
  return fd;
}

}  // namespace hawser
