// The command line of mpiexec: a pure function from words to what is to be started. An own parser, because
// the options that MPI users have in their fingers (-np 4, -hosts a,b, several programs with `:`, everything
// behind the program's name left alone) are not those of any library. The table is also `--help`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace hawser {

struct HostSlots {
  std::string name;
  int slots = 0;  // 0: not said
};

enum class BindMode { automatic, core, none };

// One of the programs separated by `:`.
struct ProgramOptions {
  int ranks = 0;  // 0: not said
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string working_directory;  // empty: mpiexec's
};

struct JobOptions {
  enum class Action { run, help, version };
  Action action = Action::run;
  std::vector<ProgramOptions> programs;
  std::vector<HostSlots> hosts;  // empty: this machine
  std::string fabric;            // empty: none; a name, or what `hawser fabric up` takes
  std::string host_file;         // empty: none; whoever runs the job reads it with parse_host_file
  int ranks_per_node = 0;        // 0: not said
  std::vector<std::pair<std::string, std::string>> environment;  // for all programs
  std::vector<std::string> exported;                             // -x NAME: must be set, is passed on
  bool oversubscribe = false;                                    // more ranks than slots
  bool survive = false;                                          // the failure of ranks
  bool label = false;
  bool verbose = false;
  BindMode bind = BindMode::automatic;
  int stdin_rank = 0;       // -1: nobody reads standard input
  Nanoseconds timeout = 0;  // 0: none
};

// `words` are argv without argv[0]. The error is a sentence for the user.
Result<JobOptions> parse_options(std::span<const std::string_view> words);

// Lines `name` or `name:slots` (or `name slots=N`), with # comments.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text);

std::string help_text();

}  // namespace hawser
