#include "os/shared_memory.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/failure.h"
#include "os/local_socket.h"

namespace hawser {
namespace {

Error system_failure(const char* call) {
  const bool no_room = errno == ENOMEM || errno == EFBIG || errno == ENOSPC;
  return failure(no_room ? ErrorKind::no_memory : ErrorKind::other, "{} failed: {}", call,
                 std::strerror(errno));
}

// The address of a name in the abstract namespace, and its length.
socklen_t abstract_address(sockaddr_un& address, const std::string& name) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

// Room for one descriptor in a control message.
union DescriptorMessage {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

bool send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec piece{&byte, 1};
  DescriptorMessage control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  cmsghdr* item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(item), &fd, sizeof(fd));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec piece{&byte, 1};
  DescriptorMessage control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* item = CMSG_FIRSTHDR(&message);
  if (item == nullptr || item->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(item), sizeof(fd));
  return fd;
}

// Has the kernel drop every datagram but the password's bytes before it is queued: the names of this name
// space are public (/proc/net/unix), and any user may send there. Where the kernel does not filter local
// sockets, strangers' datagrams cost the wakes that they cause, and nothing else.
void accept_only(const FileDescriptor& socket, std::string_view password) {
  std::vector<sock_filter> program;
  const auto refuse_unless = [&](std::uint32_t value) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  };
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0));
  refuse_unless(static_cast<std::uint32_t>(password.size()));
  for (std::size_t i = 0; i < password.size(); ++i) {
    program.push_back(BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<std::uint32_t>(i)));
    refuse_unless(static_cast<unsigned char>(password[i]));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, UINT32_MAX));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

}  // namespace

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
}

Result<SharedMapping> SharedMapping::map(int fd, std::int64_t bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) return system_failure("fstat of shared memory");
  // All processes of the node compute the same length, so it does not matter who comes first.
  if (status.st_size < bytes) HAWSER_TRY(set_file_size(fd, bytes));
  void* data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return system_failure("mmap of shared memory");
  SharedMapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = bytes;
  return mapping;
}

void make_pages_present(std::byte* begin, std::int64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(begin) + static_cast<std::uintptr_t>(bytes);
  madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);
#endif
}

Result<> set_file_size(int fd, std::int64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(bytes) > limit.rlim_cur) {
    errno = EFBIG;
    return failure(ErrorKind::no_memory,
                   "shared memory needs a file of {} bytes, but the limit is {} (raise it: ulimit -f {})",
                   bytes, limit.rlim_cur, (bytes + 1023) / 1024);
  }
  if (ftruncate(fd, bytes) != 0) return system_failure("ftruncate of shared memory");
  return {};
}

void seal_size(int fd) { fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); }

bool cannot_shrink(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

Result<FileDescriptor> make_memory_file(const char* label) {
  const int fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return system_failure("memfd_create");
  return FileDescriptor(fd);
}

Result<FileDescriptor> open_descriptor_of(pid_t pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return system_failure(path.c_str());
  return FileDescriptor(opened);
}

std::string file_identity(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return {};
  return fmt::format("{}-{}", status.st_dev, status.st_ino);
}

Result<DescriptorPasser> DescriptorPasser::listen() {
  DescriptorPasser passer;
  passer.name_ = fmt::format("hawser-{:016x}", random_word());
  passer.socket_ = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = abstract_address(address, passer.name_);
  if (!passer.socket_.valid() ||
      bind(passer.socket_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(passer.socket_.get(), SOMAXCONN) != 0)
    return system_failure("listening on a local socket");
  return passer;
}

Result<> DescriptorPasser::give(int fd, int takers) {
  while (takers > 0) {
    const FileDescriptor taker(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taker.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return system_failure("passing the node's segment to a neighbour");
    }
    if (!same_user(taker)) continue;  // the name space is open to all users of the machine
    if (!send_descriptor(taker.get(), fd)) return system_failure("passing the node's segment to a neighbour");
    --takers;
  }
  return {};
}

Result<FileDescriptor> DescriptorPasser::take(const std::string& name) {
  const auto giver = reach(name);
  if (!giver) return giver.error();
  return receive(giver.value(), name);
}

Result<FileDescriptor> DescriptorPasser::reach(const std::string& name) {
  FileDescriptor giver(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = abstract_address(address, name);
  if (!giver.valid() || connect(giver.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    return system_failure("connecting to the maker of the node's segment");
  if (!same_user(giver))
    return failure(
        ErrorKind::access_denied,
        "the node's segment is offered by a process of user {} at @{}, not by one of user {}; have all "
        "ranks of a node run as one user",
        peer_user(giver), name, geteuid());
  return giver;
}

Result<FileDescriptor> DescriptorPasser::receive(const FileDescriptor& giver, const std::string& name) {
  const int fd = receive_descriptor(giver.get());
  if (fd < 0)
    return failure(ErrorKind::other,
                   "the maker of the node's segment closed the connection at @{} before it "
                   "passed the segment",
                   name);
  return FileDescriptor(fd);
}

void CpuSet::add(const CpuSet& other) {
  for (std::size_t i = 0; i < std::size(words); ++i) words[i] |= other.words[i];
}

bool CpuSet::contains(const CpuSet& other) const {
  for (std::size_t i = 0; i < std::size(words); ++i)
    if ((other.words[i] & ~words[i]) != 0) return false;
  return true;
}

int CpuSet::count() const {
  int cpus = 0;
  for (const std::uint64_t word : words) cpus += std::popcount(word);
  return cpus;
}

CpuSet usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuSet cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    // A machine with more CPUs than the set holds: take it that we may use the first ones.
    cpus.words[0] = ~std::uint64_t{0};
    return cpus;
  }
  static_assert(CPU_SETSIZE == 64 * std::size(cpus.words));
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.words[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  return cpus;
}

int online_cpus() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

int current_cpu() { return sched_getcpu(); }

void move_to_cpu(int cpu) {
  cpu_set_t before, wanted;
  CPU_ZERO(&wanted);
  CPU_SET(static_cast<unsigned>(cpu), &wanted);
  if (sched_getaffinity(0, sizeof(before), &before) != 0 ||
      sched_setaffinity(0, sizeof(wanted), &wanted) != 0)
    return;
  sched_setaffinity(0, sizeof(before), &before);
}

bool stays_on_its_core() {
  const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_RR || policy == SCHED_FIFO;
}

Nanoseconds yield_cpu() {
  MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  sched_yield();
  return clock.now() - begin;
}

pid_t own_pid() { return getpid(); }

namespace {

// What /proc/<pid>/stat says; false if there is no such process.
struct ProcessFacts {
  char state = '?';
  std::uint64_t started = 0;
};
enum class Found : std::uint8_t { yes, no, unknown };

Found look_at_process(pid_t pid, ProcessFacts& facts) {
  const FileDescriptor file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno == ENOENT ? Found::no : Found::unknown;
  char text[1024];
  const ssize_t length = read(file.get(), text, sizeof(text) - 1);
  if (length <= 0) return length < 0 && errno == ESRCH ? Found::no : Found::unknown;
  text[length] = 0;
  // "pid (name) state ...": the name may contain anything; the start is the 20th field after the state.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return Found::unknown;
  facts.state = at[2];
  at += 2;
  for (int field = 0; field < 19; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at == nullptr) return Found::unknown;
  }
  facts.started = std::strtoull(at, nullptr, 10);
  return Found::yes;
}

std::uint64_t own_numbering() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ProcessIdentity own_identity() {
  ProcessFacts facts;
  if (look_at_process(getpid(), facts) != Found::yes) facts.started = 0;
  return {getpid(), facts.started, own_numbering()};
}

bool has_died(const ProcessIdentity& process) {
  if (process.started == 0 || process.numbering == 0 || process.numbering != own_numbering()) return false;
  ProcessFacts facts;
  switch (look_at_process(process.pid, facts)) {
    case Found::no:
      return true;
    case Found::yes:
      return facts.started != process.started || facts.state == 'Z' || facts.state == 'X';
    case Found::unknown:
      break;
  }
  return false;
}

std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = static_cast<std::uint64_t>(getpid());
  return word;
}

Result<Secret> random_secret() {
  Secret secret;
  ssize_t got = 0;
  do got = getrandom(secret.data(), sizeof(secret), 0);
  while (got < 0 && errno == EINTR);
  if (got == sizeof(secret)) return secret;
  return failure(ErrorKind::other, "cannot get random numbers for the job's secret (getrandom: {})",
                 got < 0 ? std::strerror(errno) : "too few bytes");
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanoseconds timeout) {
  timespec limit{timeout / second, timeout % second};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool accept_remote_barriers() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool remote_barrier() { return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0; }

Result<FileDescriptor> make_wake_listener(std::string& wake_address) {
  const std::string name = fmt::format("hawser-wake-{:016x}", random_word());
  const std::string password = fmt::format("{:016x}", random_word());
  wake_address = name + ' ' + password;
  FileDescriptor listener(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return system_failure("making a local socket for wakes");
  accept_only(listener, password);
  sockaddr_un address;
  const socklen_t length = abstract_address(address, name);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    return system_failure("making a local socket for wakes");
  return listener;
}

FileDescriptor make_wake_socket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void send_wake(const FileDescriptor& socket, std::string_view wake_address) {
  const std::size_t space = std::min(wake_address.find(' '), wake_address.size());
  const std::string_view password = wake_address.substr(std::min(space + 1, wake_address.size()));
  sockaddr_un address;
  const socklen_t length = abstract_address(address, std::string(wake_address.substr(0, space)));
  // A full queue means that wakes are waiting there already; a peer that is gone needs none.
  [[maybe_unused]] const ssize_t sent =
      sendto(socket.get(), password.data(), password.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<sockaddr*>(&address), length);
}

void drain_wakes(const FileDescriptor& listener) {
  char bytes[64];
  while (recv(listener.get(), bytes, sizeof(bytes), 0) > 0) {
  }
}

bool wait_readable(int first, int other, Nanoseconds timeout) {
  pollfd descriptors[2] = {{first, POLLIN, 0}, {other, POLLIN, 0}};
  const timespec limit{timeout / second, timeout % second};
  return ppoll(descriptors, 2, &limit, nullptr) > 0;
}

void allow_copies_by_others() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

namespace {

// One of the kernel's two copies between processes, as often as it takes.
template <class Copy>
bool copy_between_processes(Copy&& copy, pid_t pid, void* here, std::uint64_t there, std::int64_t bytes) {
  auto* place = static_cast<std::byte*>(here);
  while (bytes > 0) {
    iovec own{place, static_cast<std::size_t>(bytes)};
    iovec remote{reinterpret_cast<void*>(there), static_cast<std::size_t>(bytes)};
    const ssize_t copied = copy(pid, &own, 1, &remote, 1, 0);
    if (copied <= 0) return false;
    place += copied;
    there += static_cast<std::uint64_t>(copied);
    bytes -= copied;
  }
  return true;
}

}  // namespace

bool copy_from_process(pid_t pid, void* into, std::uint64_t remote_address, std::int64_t bytes) {
  return copy_between_processes(process_vm_readv, pid, into, remote_address, bytes);
}

bool copy_to_process(pid_t pid, std::uint64_t remote_address, const void* from, std::int64_t bytes) {
  return copy_between_processes(process_vm_writev, pid, const_cast<void*>(from), remote_address, bytes);
}

}  // namespace hawser
