// A running job: starts the ranks, serves their PMI requests, passes on output, input and signals, and
// ends the job as a whole when something goes wrong. One thread, one loop, no waiting anywhere else.
//
// job.cpp holds the loop, signals and the job's end; job_start.cpp the start; job_output.cpp the output.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "launch/mpiexec/fabric_plan.h"
#include "launch/mpiexec/guard.h"
#include "launch/mpiexec/line_merger.h"
#include "launch/mpiexec/options.h"
#include "launch/mpiexec/output_sink.h"
#include "launch/mpiexec/placement.h"
#include "launch/mpiexec/pmi_server.h"
#include "launch/mpiexec/rank_end.h"
#include "launch/mpiexec/rank_environment.h"
#include "launch/mpiexec/token.h"
#include "launch/unreachable.h"
#include "os/ready_set.h"

namespace hawser {

class Job {
 public:
  // A plan without hosts: no fabric. `fabric_lifeline` is at its end when the job's fabric has gone; -1:
  // there is none.
  Job(JobOptions options, Placement placement, FabricPlan fabric, int fabric_lifeline, Guard guard,
      ReadySet ready);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  // Runs the job from start to finish and answers mpiexec's exit code. An error means that nothing ran.
  Result<int> run(std::span<const std::string_view> environment);

 private:
  struct Rank {
    int pid = -1;
    bool alive = false;
    bool ended_before_init = false;
    int pmi_fd = -1;
    int output_fd[2] = {-1, -1};  // what it prints: stdout, stderr
    std::string unsent;           // PMI answers that its socket has no room for yet
  };
  // One of the two outputs: what ranks print, merged, on its way to mpiexec's own descriptor.
  struct Output {
    LineMerger merger;
    OutputSink sink;
    bool pollable = true;  // false for files, which are always ready
    bool paused = false;   // ranks are not read from because the reader is slow
    bool lost = false;     // it cannot be written, which has been said
  };
  // What can be executed, made once for all ranks of a program.
  struct Image {
    std::string path;
    std::vector<char*> arguments;
    std::vector<char*> script_arguments;  // of the shell that runs it, if it is a script without #!
    std::vector<std::string> environment;
  };
  // A child's ends of what connects it to mpiexec.
  struct ChildEnds {
    int pmi_fd = -1;
    int output_fd[2] = {-1, -1};
  };

  // job_start.cpp
  Result<> prepare(std::span<const std::string_view> environment);
  Result<> prepare_images(std::span<const std::string_view> environment);
  Result<> prepare_signals();
  void prepare_stdin();
  Result<ChildEnds> connect_rank(int rank);
  bool start_rank(int rank, const std::vector<int>* processors);
  void start_next_rank();

  // job_output.cpp
  void read_output(int rank, int which);
  void read_last_output(int rank, int which);
  bool read_some_output(int rank, int which, std::size_t& most);
  void push_output(int which);
  void lose_output(int which);
  void close_output(int rank, int which);
  void pause_output(int which, bool pause);
  void finish_output();
  int output_exit_code() const;
  void say(const std::string& text);
  void read_terminal();
  void write_rank_stdin();
  void stop_stdin();

  // job.cpp
  void loop();
  void handle(const ReadySet::Ready& ready);
  Nanoseconds next_deadline() const;
  void on_deadlines();
  void on_signals();
  void on_signal(int number);
  void on_fabric_end();
  void on_pmi(int rank, std::size_t most);
  void flush_pmi();
  void send_pmi(int rank);
  void check_pmi();
  void reap();
  void on_rank_end(int rank, const ChildEnd& end);
  bool survives_without(int rank, const Verdict& verdict);
  void note_unreachable();
  void end_unreachable();
  void signal_ranks(int number);
  void end_job(int exit_code, const std::string& line);
  std::string describe(int rank) const;

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  int size() const { return placement_.size(); }

  JobOptions options_;
  Placement placement_;
  FabricPlan fabric_;
  int fabric_lifeline_;
  Guard guard_;
  ReadySet ready_;
  JobDescription description_;
  PmiServer server_;
  Unreachable unreachable_;
  MonotonicClock clock_;
  std::vector<Rank> ranks_;
  std::vector<Image> images_;
  std::vector<int> node_fds_;
  Output outputs_[2];
  int living_ = 0;

  int signal_fd_ = -1;
  int null_fd_ = -1;
  sigset_t old_signal_mask_{};
  rlimit old_open_files_{};
  int stdin_for_rank_ = 0;  // what the reading rank gets as standard input
  int stdin_pipe_ = -1;     // mpiexec's end, if standard input is a terminal
  bool terminal_polled_ = false;
  std::string unread_stdin_;  // read from the terminal, not yet taken by the rank

  std::vector<std::vector<int>> processors_;  // that the ranks are bound to; empty: they are not
  bool own_cores_ = false;                    // no processor belongs to two ranks
  bool starting_ = true;
  int started_ = 0;  // ranks, in their order
  bool ending_ = false;
  int exit_code_ = 0;
  int user_signal_ = 0;  // INT, TERM, HUP or QUIT that mpiexec was sent
  Nanoseconds kill_time_ = never;
  Nanoseconds timeout_time_ = never;
};

// How long ranks that were told to end may take before they are killed.
inline constexpr Nanoseconds ending_patience = 1 * second;
// From a word of a rank that cannot reach another until it is decided who goes, if no other follows: the
// halves of a network that is cut in two do not notice it at the same time.
inline constexpr Nanoseconds reporting_time = 1 * second;

}  // namespace hawser
