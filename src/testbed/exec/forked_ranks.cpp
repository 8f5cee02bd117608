#include "testbed/exec/forked_ranks.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "testbed/exec/c_library.h"

namespace hawser {
namespace {

enum class Word : char { go_on, parked, end };

bool say(int line, Word word) {
  ssize_t sent = 0;
  do {
    sent = send(line, &word, sizeof word, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof word;
}

// False: the other process has ended.
bool hear(int line, Word& word) {
  ssize_t heard = 0;
  do {
    heard = recv(line, &word, sizeof word, 0);
  } while (heard < 0 && errno == EINTR);
  return heard == sizeof word;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

ForkedRanks::ForkedRanks(int ranks, std::function<void(int)> last)
    : memory_(ranks), last_(std::move(last)), processes_(static_cast<std::size_t>(ranks)) {}

std::optional<int> ForkedRanks::resume(int rank, FunctionRef<void()> run) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  if (process.number == 0 && !start(rank, run)) return W_EXITCODE(1, 0);
  Word word{};
  if (say(process.line.get(), Word::go_on) && hear(process.line.get(), word)) return std::nullopt;
  return wait_for(std::exchange(process.number, 0));
}

bool ForkedRanks::start(int rank, FunctionRef<void()> run) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fmt::print(stderr, "hawser sim exec: no line to the process of rank {}: {}\n", rank,
               std::strerror(errno));
    return false;
  }
  FileDescriptor own(ends[0]), other(ends[1]);
  const pid_t simulator = c_library::process();
  const pid_t made = fork();
  if (made == 0) {
    ::close(own.get());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != simulator) c_library::exit_now(1);
    live(rank, run, other.get());
  }
  if (made < 0) {
    fmt::print(stderr, "hawser sim exec: no process for rank {}: {}\n", rank, std::strerror(errno));
    return false;
  }
  Process& process = processes_[static_cast<std::size_t>(rank)];
  process.line = std::move(own);
  process.number = made;
  memory_.add(rank, made);
  if (memory_.reaches(rank)) return true;
  fmt::print(stderr, "hawser sim exec: the system refuses to read another process's memory: {}\n",
             std::strerror(errno));
  return false;
}

// What the simulator shares with this process is not touched before the first word: the simulator runs, too.
void ForkedRanks::live(int rank, FunctionRef<void()> run, int line) {
  // Or they would not see that the simulator has ended.
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (static_cast<int>(i) != rank && processes_[i].line.valid()) ::close(processes_[i].line.get());
  // The fabric's work falls to whichever process runs, and so may the reading of this one's memory.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  for (Word word{}; hear(line, word);) {
    if (word == Word::end) {
      last_(rank);
      c_library::exit_now(0);
    }
    run();
    if (!say(line, Word::parked)) break;
  }
  c_library::exit_now(1);
}

void ForkedRanks::end() {
  for (Process& each : processes_) {
    if (each.number == 0) continue;
    (void)say(each.line.get(), Word::end);
    wait_for(std::exchange(each.number, 0));
  }
}

}  // namespace hawser
