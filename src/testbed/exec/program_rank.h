// ProgramRank: one rank of a program that runs unmodified in the simulator. It holds what the C library keeps
// once for a process and what a rank must have for itself: standard streams, errno, environment, locale,
// working directory, random numbers, functions to call at the end, handlers of signals, thread-local
// variables. Whenever the rank's fiber runs, these are in place (enter), and whenever it does not, the
// simulator's own are (leave).
//
// The functions of the C library that the program calls, where they must mean the rank and not the simulator,
// are in c_*.cpp; they find the rank by current_rank().
#pragma once

#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <string>
#include <vector>

#include "os/file_descriptor.h"
#include "testbed/exec/call_times.h"
#include "testbed/exec/program_image.h"
#include "testbed/exec/rank_output.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

struct ProgramOptions {
  std::vector<std::string> arguments;    // the program's name and its own
  std::vector<std::string> environment;  // NAME=value
  double compute_scale = 1;              // virtual time of computing per real time; 0: computing takes none
};

// How a rank ended.
struct RankEnd {
  bool ended = false;
  int code = 0;
  int signal = 0;      // that ended it; 0: none
  std::string reason;  // in words, where the simulator ended it
};

class ProgramRank {
 public:
  ProgramRank(const ProgramImage& image, const ProgramOptions& options, OutputMerger& merger, int rank);
  ProgramRank(const ProgramRank&) = delete;
  ~ProgramRank();

  // In the rank's fiber: loads the program, runs it, and returns when it has ended.
  void run(SimulatedRank& simulated);
  const RankEnd& end() const { return end_; }
  CallTimes& calls() { return calls_; }
  int rank() const { return rank_; }

  // At switches of fibers.
  void enter();
  void leave();

  // --- For the functions of the C library ---
  SimulatedRank& simulated() { return *simulated_; }
  RankOutput& output() { return output_; }
  // Virtual time, with what was computed since it was asked last.
  Nanoseconds now();
  void sleep(Nanoseconds duration);
  // The program gives the processor to the library, and takes it back.
  void begin_call(int function);
  void end_call();

  [[noreturn]] void exit(int code);      // with what is to be done at the end
  [[noreturn]] void exit_now(int code);  // without
  [[noreturn]] void die(int signal);
  // Ends the rank because the program asks for what cannot be simulated; `what` goes on after "rank 3 ".
  [[noreturn]] void refuse(const std::string& what);

  struct AtExit {
    void (*function)(void*);
    void (*with_code)(int, void*);  // of on_exit
    void* argument;
  };
  void at_exit(const AtExit& last) { at_exit_.push_back(last); }

  int main(int (*program)(int, char**, char**));
  int change_folder(int descriptor);  // 0, or -1 with errno
  // Whether the environment has room for one more.
  bool room_for_variable();
  // A text that lives as long as the rank.
  char* keep(std::string text);
  struct sigaction& handler(int signal) {
    return handlers_[static_cast<std::size_t>(signal)];
  }
  void raise(int signal);

  random_data random{};
  std::array<char, 128> random_state{};
  drand48_data drand{};
  char* token = nullptr;          // strtok's
  std::string locale_name = "C";  // setlocale's answer

  // Of getopt, as the program sees them.
  struct Options {
    int* index;
    int* errors;
    int* option;
    char** argument;
    bool begun;
  };
  Options& getopt_variables() { return getopt_; }

 private:
  void start();
  void find_copied_variables();
  void run_at_exit(int code);
  void run_finalizers();
  void charge_computing();
  std::vector<char*> start_words();

  const ProgramImage& image_;
  const ProgramOptions& options_;
  const int rank_;
  RankOutput output_;
  CallTimes calls_;
  SimulatedRank* simulated_ = nullptr;
  ProgramImage::Loaded loaded_;
  RankEnd end_;
  sigjmp_buf after_end_;
  std::vector<AtExit> at_exit_;
  int depth_ = 0;                     // of calls of the library
  std::int64_t computing_since_ = 0;  // processor time

  // Of the rank while another runs; of the simulator while the rank runs.
  struct Swapped {
    int error = 0;
    std::FILE* in = nullptr;
    std::FILE* out = nullptr;
    std::FILE* err = nullptr;
    char** environment = nullptr;
    locale_t locale = LC_GLOBAL_LOCALE;
    std::vector<std::byte> thread_local_variables;
  };
  void swap();
  Swapped swapped_;
  std::list<std::string> texts_;
  std::vector<char*> environment_;
  FileDescriptor folder_;  // none: the simulator's
  std::array<struct sigaction, 65> handlers_{};
  int option_index_ = 1, option_errors_ = 1, option_ = '?';
  char* option_argument_ = nullptr;
  Options getopt_{&option_index_, &option_errors_, &option_, &option_argument_, false};
};

// Exit codes of the simulator itself; the program's own are handed on.
inline constexpr int exit_unsupported = 121, exit_deadlock = 122, exit_livelock = 123, exit_time_limit = 124;

// The rank whose fiber runs; null: none, the simulator itself.
ProgramRank* current_rank();
// Where the simulator was started; ranks begin there.
int folder_of_simulator();

}  // namespace hawser
