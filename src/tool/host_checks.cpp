#include "tool/host_checks.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "launch/core_place.h"
#include "os/shared_memory.h"
#include "os/socket.h"

namespace hawser {
namespace {

using Level = Finding::Level;

constexpr rlim_t mebibyte = 1 << 20;
// What a rank registers with the default settings: packet buffers (8 MiB a rail at most) and messages.
constexpr rlim_t least_locked = 64 * mebibyte, least_file = 64 * mebibyte, least_descriptors = 256;

std::string amount(rlim_t value, bool bytes) {
  if (value == RLIM_INFINITY) return "unlimited";
  return !bytes              ? std::to_string(value)
         : value >= mebibyte ? fmt::format("{} MiB", value / mebibyte)
                             : fmt::format("{} KiB", value / 1024);
}

struct Limit {
  int resource;
  const char* name;
  const char* command;
  rlim_t least;
  bool bytes;
  const char* otherwise;
};

void check_limit(const Limit& limit, Findings& findings) {
  rlimit value;
  if (getrlimit(limit.resource, &value) != 0) return;
  const std::string text = fmt::format("{} ({})", amount(value.rlim_cur, limit.bytes), limit.command);
  if (value.rlim_cur >= limit.least)
    findings.push_back({Level::right, limit.name, text, ""});
  else
    findings.push_back(
        {Level::wrong, limit.name, text + ": " + limit.otherwise,
         fmt::format("`{} {}` or more where ranks are started: /etc/security/limits.conf, or in the unit "
                     "of the batch system's daemon (systemd: LimitMEMLOCK=, LimitNOFILE=, LimitFSIZE=)",
                     limit.command, limit.bytes ? "unlimited" : amount(limit.least, false))});
}

// CAP_IPC_LOCK: then the limit does not count (capabilities(7)).
bool locks_without_limit() {
  constexpr int ipc_lock = 14;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "CapEff:") {
      std::uint64_t capabilities = 0;
      status >> std::hex >> capabilities;
      return (capabilities >> ipc_lock & 1) != 0;
    }
  return false;
}

// A child's memory, which nobody may be kept from reading but by a filter of system calls.
bool may_read_processes() {
  int value = 1;
  int ready[2];
  if (pipe(ready) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ready[1]);
    _exit(read(ready[0], &byte, 1) == 0 ? 0 : 1);  // until the parent closes its end
  }
  int copy = 0;
  const iovec here{&copy, sizeof copy}, there{&value, sizeof value};
  const bool read = child > 0 && process_vm_readv(child, &here, 1, &there, 1, 0) == ssize_t{sizeof copy};
  close(ready[0]);
  close(ready[1]);
  if (child > 0) waitpid(child, nullptr, 0);
  return read;
}

}  // namespace

void check_limits(bool adapters, Findings& findings) {
  if (adapters && locks_without_limit())
    findings.push_back({Level::right, "locked memory", "as much as there is (CAP_IPC_LOCK)", ""});
  else if (adapters)
    check_limit({RLIMIT_MEMLOCK, "locked memory", "ulimit -l", least_locked, true,
                 "adapters reach so little memory that messages go in small packets, or not at all"},
                findings);
  check_limit({RLIMIT_NOFILE, "open files", "ulimit -n", least_descriptors, false,
               "too few for the connections and adapters of a rank"},
              findings);
  check_limit({RLIMIT_FSIZE, "size of files", "ulimit -f", least_file, true,
               "it bounds shared memory, too, which the ranks of a node need"},
              findings);
}

void check_shared_memory(Findings& findings) {
  const auto file = make_memory_file("hawser-doctor");
  if (!file || ftruncate(file.value().get(), mebibyte) != 0) {
    findings.push_back(
        {Level::wrong, "shared memory",
         file ? fmt::format("cannot be made: {}", std::strerror(errno)) : file.error().text,
         "ranks of one host need memfd_create: look at the container's filter of system calls"});
    return;
  }
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope > 0)
    findings.push_back(
        {Level::note, "shared memory",
         fmt::format("ranks may not read each other's memory (kernel.yama.ptrace_scope is {}), so large "
                     "messages within a host are copied twice",
                     scope),
         "sysctl kernel.yama.ptrace_scope=0"});
  else if (!may_read_processes())
    findings.push_back(
        {Level::note, "shared memory",
         "process_vm_readv is refused, so large messages within a host are copied twice",
         "let the container's filter of system calls allow it (docker: --cap-add SYS_PTRACE)"});
  else
    findings.push_back({Level::right, "shared memory", "ranks of a host read each other's memory", ""});
}

void check_addresses(Findings& findings) {
  const std::vector<std::string> addresses = host_addresses();
  if (addresses.empty())
    findings.push_back({Level::note, "addresses",
                        "this host has none but loopback: sockets reach no other host",
                        "bring a network interface up if jobs are to use several hosts"});
  else
    findings.push_back({Level::right, "addresses", fmt::format("{}", fmt::join(addresses, " ")), ""});
}

void check_processors(Findings& findings) {
  const std::vector<int> bound = bound_processors();
  if (bound.empty())
    findings.push_back({Level::right, "processors", fmt::format("{}", online_cpus()), ""});
  else
    findings.push_back({Level::note, "processors",
                        fmt::format("this process may use {} of {}", bound.size(), online_cpus()),
                        "as it should be under a batch system; mpiexec binds ranks within what it has"});
}

}  // namespace hawser
