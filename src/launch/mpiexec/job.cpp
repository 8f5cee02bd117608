#include "launch/mpiexec/job.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/failure.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "launch/core_place.h"
#include "launch/mpiexec/bytes_waiting.h"
#include "launch/process_mapping.h"

namespace hawser {

namespace {

constexpr std::size_t pmi_piece = 16 * 1024;
constexpr std::size_t most_unsent_pmi = 1024 * 1024;

}  // namespace

Job::Job(JobOptions options, Placement placement, FabricPlan fabric, int fabric_lifeline, Guard guard,
         ReadySet ready)
    : options_(std::move(options)),
      placement_(std::move(placement)),
      fabric_(std::move(fabric)),
      fabric_lifeline_(fabric_lifeline),
      guard_(std::move(guard)),
      ready_(std::move(ready)),
      description_{fmt::format("hawser-{}-{:x}", getpid(), MonotonicClock().now()),
                   format_process_mapping(placement_.node_of_rank), options_.survive, usable_cores()},
      server_({description_.id, description_.process_mapping, placement_.universe_size,
               placement_.program_of_rank}),
      unreachable_(placement_.node_of_rank, reporting_time),
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
  loop();
  guard_.dismiss();
  sigprocmask(SIG_SETMASK, &old_signal_mask_, nullptr);  // the last words may have to wait for their reader
  finish_output();
  return exit_code_ != 0 ? exit_code_ : output_exit_code();
}

static Nanoseconds time_until(Nanoseconds deadline, Nanoseconds now) {
  return deadline == never ? never : std::max<Nanoseconds>(deadline - now, 0);
}

void Job::loop() {
  while (starting_ || living_ > 0) {
    // Between two starts nothing is waited for, but everything is looked at.
    if (starting_) start_next_rank();
    const Nanoseconds now = clock_.now();
    for (const ReadySet::Ready& ready : ready_.wait(starting_ ? 0 : time_until(next_deadline(), now)))
      handle(ready);
    on_deadlines();
    flush_pmi();
  }
}

void Job::handle(const ReadySet::Ready& ready) {
  const Token token = Token::of(ready.key);
  const auto rank = static_cast<int>(token.index);
  switch (token.kind) {
    case Token::Kind::signal:
      return on_signals();
    case Token::Kind::pmi:
      if (ready.writable && !ready.failed) send_pmi(rank);
      if (ready.readable) on_pmi(rank, pmi_piece);
      return;
    case Token::Kind::rank_stdout:
      return read_output(rank, 0);
    case Token::Kind::rank_stderr:
      return read_output(rank, 1);
    case Token::Kind::own_stdout:
    case Token::Kind::own_stderr: {
      const int which = token.kind == Token::Kind::own_stdout ? 0 : 1;
      push_output(which);
      // An error that writing would not find, for lack of something to write.
      if (ready.failed) ready_.remove(outputs_[which].sink.fd());
      return;
    }
    case Token::Kind::fabric:
      return on_fabric_end();
    case Token::Kind::terminal:
      return read_terminal();
    case Token::Kind::rank_stdin:
      return write_rank_stdin();
  }
}

Nanoseconds Job::next_deadline() const {
  return std::min({kill_time_, timeout_time_, unreachable_.deadline(), outputs_[0].merger.next_flush(),
                   outputs_[1].merger.next_flush()});
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
    end_job(124,
            fmt::format("the job took longer than --timeout allows ({})", format_duration(options_.timeout)));
  }
  if (unreachable_.deadline() <= now) end_unreachable();
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
        terminal_polled_ = static_cast<bool>(ready_.add(0, Token{Token::Kind::terminal}, true, false));
      return signal_ranks(SIGCONT);
    case SIGUSR1:
    case SIGUSR2:
      return signal_ranks(number);
    default:
      // The user wants an end. The ranks may make theirs, but only once, and no more are started.
      if (starting_)
        end_job(128 + number, fmt::format("ended by signal {} ({}) when {} of {} ranks were started", number,
                                          signal_description(number), started_, size()));
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

// The ranks' adapters died with it, and nothing that they wait for will come. Those that have finalized need
// none.
void Job::on_fabric_end() {
  ready_.remove(fabric_lifeline_);
  bool needed = starting_;
  for (int rank = 0; rank < size(); ++rank)
    needed |= at(rank).alive && server_.phase(rank) != PmiServer::Phase::finalized;
  if (needed)
    end_job(1, fmt::format("the job's virtual fabric (--fabric '{}') has ended before the job: its daemon, "
                           "hawser-fabricd, was killed or told to end",
                           options_.fabric));
}

// Takes requests of at most so many bytes, for others wait too, and a rank may write for ever.
void Job::on_pmi(int rank, std::size_t most) {
  Rank& self = at(rank);
  char bytes[pmi_piece];
  while (self.pmi_fd >= 0 && most > 0) {
    const ssize_t got = read(self.pmi_fd, bytes, std::min(sizeof bytes, most));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      close(self.pmi_fd);
      self.pmi_fd = -1;
      break;
    }
    server_.receive(rank, std::string_view(bytes, static_cast<std::size_t>(got)));
    most -= static_cast<std::size_t>(got);
  }
  check_pmi();
  note_unreachable();
}

// Looks at what the requests mean for the job as a whole.
void Job::check_pmi() {
  if (ending_) return;
  if (const auto& abort = server_.abort()) {
    for (const int which : {0, 1}) read_last_output(abort->rank, which);
    if (!abort->asked_for)
      return end_job(abort->exit_code, fmt::format("{} {}", describe(abort->rank), printable(abort->reason)));
    const std::string reason = abort->reason.empty() ? "" : ": " + printable(abort->reason);
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
  if (self.pmi_fd < 0) return self.unsent.clear();
  std::size_t sent = 0;
  while (sent < self.unsent.size()) {
    const ssize_t some =
        send(self.pmi_fd, self.unsent.data() + sent, self.unsent.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno != EAGAIN) sent = self.unsent.size();  // the rank is gone, which its end will tell
    if (some < 0) break;
    sent += static_cast<std::size_t>(some);
  }
  self.unsent.erase(0, sent);
  // A rank that does not read its answers is asked for no more requests until it does.
  ready_.change(self.pmi_fd, Token{Token::Kind::pmi, static_cast<std::uint32_t>(rank)},
                self.unsent.size() < most_unsent_pmi, !self.unsent.empty());
}

void Job::reap() {
  while (const auto ended = next_child_end()) {
    const auto& [pid, end] = *ended;
    if (pid == guard_.group()) guard_.forget();
    for (int rank = 0; rank < size(); ++rank) {
      if (at(rank).pid != pid || !at(rank).alive) continue;
      on_rank_end(rank, end);
      break;
    }
  }
}

void Job::on_rank_end(int rank, const ChildEnd& end) {
  Rank& self = at(rank);
  self.alive = false;
  --living_;
  on_pmi(rank, bytes_waiting(self.pmi_fd));  // its last words count: an abort, or that it finalized
  for (const int which : {0, 1}) read_last_output(rank, which);
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
      if (survives_without(rank, verdict)) return;
      return end_job(verdict.exit_code, fmt::format("{} {}", describe(rank), verdict.reason));
  }
}

// Whether the others are to go on, and are told. A job that has not begun as a whole cannot.
bool Job::survives_without(int rank, const Verdict& verdict) {
  if (!options_.survive || !server_.started()) return false;
  const std::string line = fmt::format("{} {}", describe(rank), verdict.reason);
  server_.lose(rank, verdict.reason);
  unreachable_.forget(rank);
  if (living_ == 0 || !server_.any_active()) {
    // Nobody is left to succeed without it, unless somebody has.
    bool any_finalized = false;
    for (int other = 0; other < size(); ++other)
      any_finalized |= server_.phase(other) == PmiServer::Phase::finalized;
    if (!any_finalized) return false;
  }
  say(fmt::format("{}; the job goes on without it (--survive)", line));
  return true;
}

// A rank that finalized needs nobody any more.
void Job::note_unreachable() {
  const auto takes_part = [this](int rank) {
    return at(rank).alive && server_.phase(rank) == PmiServer::Phase::active;
  };
  for (PmiServer::Unreached& each : server_.take_unreached())
    if (takes_part(each.reporter) && takes_part(each.accused))
      unreachable_.report(each.reporter, each.accused, std::move(each.why), clock_.now());
  for (const auto& [witness, about] : unreachable_.take_questions())
    server_.ask_whether_reached(witness, about);
  for (const auto& [witness, about] : server_.take_reached()) unreachable_.note_reached(witness, about);
}

void Job::end_unreachable() {
  for (const auto& [rank, why] : unreachable_.decide()) {
    if (!at(rank).alive) continue;
    say(fmt::format("{} is killed, because others and it cannot reach each other ({})", describe(rank),
                    printable(why)));
    kill(at(rank).pid, SIGKILL);
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
