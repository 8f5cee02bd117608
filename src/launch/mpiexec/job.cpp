#include "launch/mpiexec/job.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/failure.h"
#include "launch/process_mapping.h"

namespace hawser {

Job::Job(JobOptions options, Placement placement, FabricPlan fabric, Guard guard, Poller poller)
    : options_(std::move(options)),
      placement_(std::move(placement)),
      fabric_(std::move(fabric)),
      guard_(std::move(guard)),
      poller_(std::move(poller)),
      description_{fmt::format("hawser-{}-{:x}", getpid(), MonotonicClock().now()),
                   format_process_mapping(placement_.node_of_rank)},
      server_({description_.id, description_.process_mapping, placement_.universe_size,
               placement_.program_of_rank}),
      ranks_(placement_.node_of_rank.size()),
      outputs_{{LineMerger(placement_.size(), options_.label), OutputSink(1)},
               {LineMerger(placement_.size(), options_.label), OutputSink(2)}} {}

Job::~Job() {
  for (const Rank& rank : ranks_)
    for (const int fd : {rank.pmi_fd, rank.output_fd[0], rank.output_fd[1]})
      if (fd >= 0) close(fd);
  for (const int fd : {signal_fd_, null_fd_, stdin_pipe_})
    if (fd >= 0) close(fd);
}

Result<int> Job::run(std::span<const std::string_view> environment) {
  HAWSER_TRY(prepare(environment));
  if (options_.timeout > 0) timeout_time_ = clock_.now() + options_.timeout;
  start_ranks();
  loop();
  guard_.dismiss();
  sigprocmask(SIG_SETMASK, &old_signal_mask_, nullptr);  // the last words may have to wait for their reader
  finish_output();
  return exit_code_;
}

void Job::loop() {
  while (living_ > 0) {
    for (const epoll_event& event : poller_.wait(clock_.now(), next_deadline()))
      handle(Poller::token_of(event), event.events);
    on_deadlines();
    flush_pmi();
  }
}

void Job::handle(Token token, std::uint32_t events) {
  const auto rank = static_cast<int>(token.index);
  switch (token.kind) {
    case Token::Kind::signal:
      return on_signals();
    case Token::Kind::pmi:
      if ((events & EPOLLOUT) != 0) send_pmi(rank);
      return on_pmi(rank);
    case Token::Kind::rank_stdout:
      return read_output(rank, 0, false);
    case Token::Kind::rank_stderr:
      return read_output(rank, 1, false);
    case Token::Kind::own_stdout:
    case Token::Kind::own_stderr: {
      const int which = token.kind == Token::Kind::own_stdout ? 0 : 1;
      push_output(which);
      // An error that writing would not find, for lack of something to write.
      if ((events & (EPOLLERR | EPOLLHUP)) != 0) poller_.remove(outputs_[which].sink.fd());
      return;
    }
    case Token::Kind::terminal:
      return read_terminal();
    case Token::Kind::rank_stdin:
      return write_rank_stdin();
  }
}

Nanoseconds Job::next_deadline() const {
  return std::min(
      {kill_time_, timeout_time_, outputs_[0].merger.next_flush(), outputs_[1].merger.next_flush()});
}

void Job::on_deadlines() {
  const Nanoseconds now = clock_.now();
  for (const int which : {0, 1}) {
    if (outputs_[which].merger.next_flush() > now) continue;
    outputs_[which].merger.flush_stale(now);
    push_output(which);
  }
  if (timeout_time_ <= now) {
    timeout_time_ = never;
    end_job(124, fmt::format("the job took longer than --timeout allows ({} s)", options_.timeout / second));
  }
  if (kill_time_ <= now) {
    kill_time_ = never;
    signal_ranks(SIGKILL);
  }
}

void Job::on_signals() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == sizeof info) on_signal(static_cast<int>(info.ssi_signo));
}

void Job::on_signal(int number) {
  switch (number) {
    case SIGCHLD:
      return reap();
    case SIGTSTP:
      signal_ranks(SIGTSTP);
      raise(SIGSTOP);  // continues here when mpiexec is continued; SIGCONT is then read and passed on
      return;
    case SIGCONT:
      if (stdin_pipe_ >= 0 && !terminal_polled_)
        terminal_polled_ = poller_.add(0, EPOLLIN, {Token::Kind::terminal});
      return signal_ranks(SIGCONT);
    case SIGUSR1:
    case SIGUSR2:
      return signal_ranks(number);
    default:
      // The user wants an end. The ranks may make theirs, but only once.
      signal_ranks(user_signal_ == 0 ? number : SIGKILL);
      if (user_signal_ == 0) user_signal_ = number;
  }
}

void Job::signal_ranks(int number) {
  guard_.signal(number);
  // A program such as timeout(1) leads a process group of its own. SIGKILL takes the guard along, and
  // with it what says whether the rank was reached; twice does no harm then.
  for (const Rank& rank : ranks_)
    if (rank.alive && (number == SIGKILL || getpgid(rank.pid) != guard_.group())) kill(rank.pid, number);
}

void Job::on_pmi(int rank) {
  Rank& self = at(rank);
  char bytes[16384];
  while (self.pmi_fd >= 0) {
    const ssize_t got = read(self.pmi_fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      close(self.pmi_fd);
      self.pmi_fd = -1;
      break;
    }
    server_.receive(rank, std::string_view(bytes, static_cast<std::size_t>(got)));
    if (static_cast<std::size_t>(got) < sizeof bytes) break;
  }
  check_pmi();
}

// Looks at what the requests mean for the job as a whole.
void Job::check_pmi() {
  if (ending_) return;
  if (const auto& abort = server_.abort()) {
    for (const int which : {0, 1}) read_output(abort->rank, which, true);
    if (!abort->asked_for)
      return end_job(abort->exit_code, fmt::format("{} {}", describe(abort->rank), abort->reason));
    const std::string reason = abort->reason.empty() ? "" : ": " + abort->reason;
    end_job(
        visible_exit_code(abort->exit_code),
        fmt::format("{} aborted the job with code {}{}", describe(abort->rank), abort->exit_code, reason));
    return;
  }
  if (!server_.any_active()) return;
  for (int rank = 0; rank < size(); ++rank)
    if (at(rank).ended_before_init)
      return end_job(
          1, fmt::format("{} exited without calling MPI_Init, which other ranks called", describe(rank)));
}

void Job::flush_pmi() {
  for (const int rank : server_.take_ranks_with_output()) {
    at(rank).unsent += server_.take_output(rank);
    send_pmi(rank);
  }
}

void Job::send_pmi(int rank) {
  Rank& self = at(rank);
  while (self.pmi_fd >= 0 && !self.unsent.empty()) {
    const ssize_t sent = send(self.pmi_fd, self.unsent.data(), self.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    const Token token{Token::Kind::pmi, static_cast<std::uint32_t>(rank)};
    if (sent < 0 && errno == EAGAIN) return poller_.modify(self.pmi_fd, EPOLLIN | EPOLLOUT, token);
    if (sent < 0) break;  // the rank is gone, which its end will tell
    self.unsent.erase(0, static_cast<std::size_t>(sent));
    if (self.unsent.empty()) poller_.modify(self.pmi_fd, EPOLLIN, token);
  }
  self.unsent.clear();
}

void Job::reap() {
  int status = 0;
  while (true) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid == guard_.group()) guard_.forget();
    for (int rank = 0; rank < size(); ++rank) {
      if (at(rank).pid != pid || !at(rank).alive) continue;
      RankEnd end;
      end.signaled = WIFSIGNALED(status);
      end.code = end.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
      end.core_dumped = end.signaled && WCOREDUMP(status);
      on_rank_end(rank, end);
      break;
    }
  }
}

void Job::on_rank_end(int rank, const RankEnd& end) {
  Rank& self = at(rank);
  self.alive = false;
  --living_;
  on_pmi(rank);  // its last words count: an abort, or that it finalized
  for (const int which : {0, 1}) read_output(rank, which, true);
  if (rank == options_.stdin_rank) stop_stdin();
  if (ending_) return;
  if (end.signaled && user_signal_ != 0)
    return end_job(128 + user_signal_,
                   fmt::format("ended by signal {} ({})", user_signal_, signal_description(user_signal_)));
  const Verdict verdict = judge(end, server_.phase(rank), server_.any_active());
  switch (verdict.kind) {
    case Verdict::Kind::fine:
      self.ended_before_init = server_.phase(rank) == PmiServer::Phase::absent;
      return;
    case Verdict::Kind::late_failure:
      if (exit_code_ == 0) say(fmt::format("{} {}", describe(rank), verdict.reason));
      exit_code_ = std::max(exit_code_, verdict.exit_code);
      return;
    case Verdict::Kind::failure:
      return end_job(verdict.exit_code, fmt::format("{} {}", describe(rank), verdict.reason));
  }
}

void Job::end_job(int exit_code, const std::string& line) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  say(line);
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);  // a stopped process acts on nothing but this
  kill_time_ = clock_.now() + ending_patience;
}

std::string Job::describe(int rank) const {
  const auto node = static_cast<std::size_t>(placement_.node_of_rank[static_cast<std::size_t>(rank)]);
  const std::string pid = at(rank).pid < 0 ? "" : fmt::format(" (pid {})", at(rank).pid);
  return fmt::format("rank {} on host {}{}", rank, placement_.host_names[node], pid);
}

}  // namespace hawser
