// Job: everything up to the moment when all ranks run.
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/failure.h"
#include "launch/environment_variables.h"
#include "launch/mpiexec/core_binding.h"
#include "launch/mpiexec/job.h"
#include "os/child_process.h"

namespace hawser {

namespace {

constexpr int ignored_signals[] = {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU};

Error system_error(std::string_view what) {
  return failure(ErrorKind::other, "cannot {}: {}", what, std::strerror(errno));
}

}  // namespace

Result<> Job::prepare(std::span<const std::string_view> environment) {
  HAWSER_TRY(prepare_images(environment));
  HAWSER_TRY(prepare_signals());
  null_fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd_ < 0) return system_error("open /dev/null");
  prepare_stdin();

  // Each rank takes three descriptors here; the usual limit of 1024 would end at 340 ranks.
  getrlimit(RLIMIT_NOFILE, &old_open_files_);
  rlimit more = old_open_files_;
  more.rlim_cur = more.rlim_max;
  setrlimit(RLIMIT_NOFILE, &more);
  // Said now, rather than after starting as many as there is room for. Besides the ranks' there are the
  // nodes' and a few of mpiexec's own.
  const rlim_t needed = 3 * static_cast<rlim_t>(size()) + placement_.host_names.size() + 16;
  if (needed > more.rlim_max)
    return failure(ErrorKind::invalid_argument,
                   "{} ranks need {} open files, but the limit is {} (see ulimit -n)", size(), needed,
                   more.rlim_max);

  // The memory that the ranks of a node share. It has no name, so nothing can be left behind. It is empty;
  // the ranks give it the size they need.
  for (const std::string& host : placement_.host_names) {
    const int fd = memfd_create(fmt::format("hawser-{}", host).substr(0, 200).c_str(), MFD_CLOEXEC);
    if (fd < 0) return system_error("make a node's shared memory");
    node_fds_.push_back(fd);
  }
  for (int which = 0; which < 2; ++which) {
    Output& output = outputs_[which];
    const auto kind = which == 0 ? Token::Kind::own_stdout : Token::Kind::own_stderr;
    output.pollable = static_cast<bool>(ready_.add(output.sink.fd(), Token{kind}, false, false));
  }
  // The daemon of a virtual fabric carries messages between its hosts, and needs a core, too.
  const bool daemon_works = !fabric_.hosts.empty() && placement_.host_names.size() > 1;
  processors_ = bind_ranks(size(), size() + (daemon_works ? 1 : 0), options_.bind);
  own_cores_ = apart(processors_);
  return {};
}

Result<> Job::prepare_images(std::span<const std::string_view> environment) {
  for (ProgramOptions& program : options_.programs) {
    Image image;
    auto variables = program_environment(environment, options_, program);
    if (!variables) return variables.take_error();
    image.environment = std::move(variables).value();
    const std::vector<std::string_view> views(image.environment.begin(), image.environment.end());
    int error = 0;
    image.path = find_program(program.command[0], find_variable(views, "PATH"), error);
    if (error != 0) image.path = program.command[0];  // start_rank reports it, with the rank it is for
    for (std::string& word : program.command) image.arguments.push_back(word.data());
    image.arguments.push_back(nullptr);
    images_.push_back(std::move(image));
  }
  // The paths stay where they are from here on.
  for (Image& image : images_) {
    image.script_arguments = {const_cast<char*>("/bin/sh"), image.path.data()};
    image.script_arguments.insert(image.script_arguments.end(), image.arguments.begin() + 1,
                                  image.arguments.end());
  }
  return {};
}

Result<> Job::prepare_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
    sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, &old_signal_mask_);
  signal_fd_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) return system_error("make a signal descriptor");
  HAWSER_TRY(ready_.add(signal_fd_, Token{Token::Kind::signal}, true, false));
  if (fabric_lifeline_ >= 0)
    HAWSER_TRY(ready_.add(fabric_lifeline_, Token{Token::Kind::fabric}, true, false));
  // Writing to a reader that left or beyond ulimit -f, and touching the terminal from the background, must
  // not end or stop mpiexec while it looks after ranks.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : ignored_signals) sigaction(number, &ignore, nullptr);
  return {};
}

// Files and pipes are simply handed to the rank. A terminal is not: the rank is in another process group,
// which the terminal would stop for reading, so mpiexec reads for it.
void Job::prepare_stdin() {
  if (options_.stdin_rank < 0) return;
  int ends[2];
  if (!isatty(0) || pipe2(ends, O_CLOEXEC) != 0) return;
  stdin_for_rank_ = ends[0];
  stdin_pipe_ = ends[1];
  fcntl(stdin_pipe_, F_SETFL, O_NONBLOCK);
  terminal_polled_ = static_cast<bool>(ready_.add(0, Token{Token::Kind::terminal}, true, false));
}

// Makes the rank's socket and pipes; keeps mpiexec's ends and answers the child's.
Result<Job::ChildEnds> Job::connect_rank(int rank) {
  Rank& self = at(rank);
  ChildEnds ends;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("make a socket");
  self.pmi_fd = pair[0];
  ends.pmi_fd = pair[1];
  fcntl(self.pmi_fd, F_SETFL, O_NONBLOCK);
  const auto index = static_cast<std::uint32_t>(rank);
  HAWSER_TRY(ready_.add(self.pmi_fd, Token{Token::Kind::pmi, index}, true, false));
  for (int which = 0; which < 2; ++which) {
    if (pipe2(pair, O_CLOEXEC) != 0) return system_error("make a pipe");
    self.output_fd[which] = pair[0];
    ends.output_fd[which] = pair[1];
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    if (!outputs_[which].paused)
      HAWSER_TRY(ready_.add(pair[0],
                            Token{which == 0 ? Token::Kind::rank_stdout : Token::Kind::rank_stderr, index},
                            true, false));
  }
  return ends;
}

bool Job::start_rank(int rank, const std::vector<int>* processors) {
  const auto index = static_cast<std::size_t>(rank);
  const auto program = static_cast<std::size_t>(placement_.program_of_rank[index]);
  const auto node = placement_.node_of_rank[index];
  const auto ends = connect_rank(rank);
  if (!ends) {
    end_job(1, fmt::format("cannot start {}: {}", describe(rank), ends.error().text));
    return false;
  }
  RankDescription place{rank,      0, 0, ends.value().pmi_fd, node_fds_[static_cast<std::size_t>(node)],
                        own_cores_};
  for (std::size_t other = 0; other < placement_.node_of_rank.size(); ++other) {
    if (placement_.node_of_rank[other] != node) continue;
    ++place.local_size;
    if (other < index) ++place.local_rank;
  }
  const std::vector<std::string> own = rank_environment(description_, placement_, place);
  const FabricPlan::Host* const host = fabric_.find(placement_.host_names[static_cast<std::size_t>(node)]);
  std::vector<std::string> fabric_environment;
  if (host != nullptr) fabric_environment = on_host(fabric_, *host, images_[program].environment);
  std::vector<char*> environment;
  for (const std::vector<std::string>* variables :
       {host != nullptr ? &std::as_const(fabric_environment) : &std::as_const(images_[program].environment),
        &own})
    for (const std::string& entry : *variables) environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);

  ChildPlan plan;
  plan.path = images_[program].path.c_str();
  plan.arguments = images_[program].arguments.data();
  plan.script_arguments = images_[program].script_arguments.data();
  plan.environment = environment.data();
  const std::string& directory = options_.programs[program].working_directory;
  if (!directory.empty()) plan.working_directory = directory.c_str();
  plan.stdin_fd = rank == options_.stdin_rank ? stdin_for_rank_ : null_fd_;
  plan.stdout_fd = ends.value().output_fd[0];
  plan.stderr_fd = ends.value().output_fd[1];
  const int inherited[] = {place.pmi_fd, place.node_fd};
  plan.inherited = inherited;
  plan.processors = processors;
  plan.group = guard_.group();
  plan.ends_with_us = true;
  plan.default_signals = ignored_signals;
  plan.signal_mask = &old_signal_mask_;
  plan.open_files = &old_open_files_;
  const ChildStart start = start_child(plan);
  for (const int fd : {ends.value().pmi_fd, plan.stdout_fd, plan.stderr_fd}) close(fd);
  if (start.pid < 0) {
    end_job(start.error == ENOENT ? 127 : 126,
            fmt::format("cannot start {}: {}{}: {} (errno {})", describe(rank),
                        start.step == directory && !directory.empty() ? "working directory " : "", start.step,
                        std::strerror(start.error), start.error));
    return false;
  }
  at(rank).pid = start.pid;
  at(rank).alive = true;
  ++living_;
  if (options_.verbose)
    say(fmt::format(
        "{} runs {}{}", describe(rank), plan.path,
        processors == nullptr ? "" : fmt::format(" on processors {}", fmt::join(*processors, ","))));
  return true;
}

// Starts one, unless the job ends already; after the last one, gives away what only starting needs.
void Job::start_next_rank() {
  const auto index = static_cast<std::size_t>(started_);
  if (!ending_ && start_rank(started_, processors_.empty() ? nullptr : &processors_[index])) ++started_;
  starting_ = !ending_ && started_ < size();
  if (starting_) return;
  if (stdin_for_rank_ != 0) close(stdin_for_rank_);
  // The nodes' memory belongs to the ranks now: it goes when they go.
  for (const int fd : node_fds_) close(fd);
  node_fds_.clear();
}

}  // namespace hawser
