#include "launch/mpiexec/fabric_lease.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "os/child_process.h"

namespace hawser {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(" \t\n"), text.size());
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

std::string read_all(int fd) {
  std::string text;
  char bytes[4096];
  while (true) {
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(got));
  }
}

// A fabric that was up before does not depend on the job: then a connection to its daemon comes, in place of
// the other end that a daemon of the job's own has. -1: none did.
int take_descriptor(int socket) {
  char byte;
  iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const cmsghdr* const header =
      recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

}  // namespace

Result<FabricLease> FabricLease::take(std::string_view words) {
  const std::vector<std::string> wanted = split(words);
  if (wanted.empty())
    return failure(ErrorKind::invalid_argument, "--fabric needs a fabric's name or a topology");
  auto folder = program_folder();
  if (!folder) return failure(ErrorKind::other, "--fabric: {}", folder.error().text);
  int life[2], out[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return failure(ErrorKind::other, "--fabric: cannot make a socket: {}", std::strerror(errno));
  const int kept[] = {life[1]};
  Program hawser{.words = {folder.value() + "/hawser", "fabric", "use", "--name",
                           fmt::format("mpiexec-{}", getpid()), "--lifeline", std::to_string(life[1]), "--"},
                 .output = out[1],
                 .inherited = kept};
  hawser.words.insert(hawser.words.end(), wanted.begin(), wanted.end());
  auto child = ChildProcess::start(hawser);
  close(life[1]);
  close(out[1]);
  FabricLease lease({}, life[0]);
  const std::string answer = child ? read_all(out[0]) : std::string();
  close(out[0]);
  if (!child) return failure(ErrorKind::other, "--fabric: {}", child.error().text);
  if (child.value().await().exit_code() != 0)
    return failure(ErrorKind::invalid_argument, "--fabric {}: cannot use the fabric", words);
  auto plan = parse_fabric_plan(answer);
  if (!plan) return plan.take_error();
  lease.plan_ = std::move(plan).value();
  if (const int connection = take_descriptor(life[0]); connection >= 0) {
    close(std::exchange(lease.lifeline_, connection));
    lease.brought_up_ = false;
  }
  return lease;
}

FabricLease::FabricLease(FabricLease&& other) noexcept
    : plan_(std::move(other.plan_)),
      lifeline_(std::exchange(other.lifeline_, -1)),
      brought_up_(other.brought_up_) {}

FabricLease::~FabricLease() {
  if (lifeline_ < 0) return;
  if (brought_up_) {
    shutdown(lifeline_, SHUT_WR);
    read_all(lifeline_);  // until the daemon, which writes nothing, has ended
  }
  close(lifeline_);
}

}  // namespace hawser
