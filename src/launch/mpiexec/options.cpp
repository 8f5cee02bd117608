#include "launch/mpiexec/options.h"

#include <algorithm>
#include <climits>
#include <optional>

#include "base/failure.h"
#include "base/knob_value.h"
#include "base/quantity.h"

namespace hawser {

namespace {

Error bad(std::string text) { return Error{ErrorKind::invalid_argument, std::move(text)}; }

Result<int> parse_ranks(std::string_view option, std::string_view text) {
  const auto ranks = parse_count(text, {1, 1'000'000}, "a number of ranks");
  if (!ranks) return bad(fmt::format("{} {}: {}", option, text, ranks.error().text));
  return static_cast<int>(ranks.value());
}

Result<HostSlots> parse_host(std::string_view text) {
  const std::size_t colon = text.find(':');
  HostSlots host{std::string(text.substr(0, colon)), 0};
  if (host.name.empty()) return bad(fmt::format("'{}': the host has no name", text));
  if (colon == std::string_view::npos) return host;
  const auto slots = parse_count(text.substr(colon + 1), {1, 1'000'000}, "a number of slots");
  if (!slots) return bad(fmt::format("{}: {}", text, slots.error().text));
  host.slots = static_cast<int>(slots.value());
  return host;
}

// What is being read: the job and its current program.
struct Reading {
  JobOptions& job;
  ProgramOptions& program;
};

using Values = std::span<const std::string_view>;

struct Option {
  std::string_view names;  // separated by blanks, without dashes; the first is the one that help shows first
  int value_count;
  std::string_view value_names;
  std::string_view help;
  Result<> (*apply)(Reading, std::string_view option, Values values);
};

Result<> set_ranks(Reading reading, std::string_view option, Values values) {
  const Result<int> count = parse_ranks(option, values[0]);
  if (!count) return Error(count.error());
  reading.program.ranks = count.value();
  return {};
}

Result<> set_ranks_per_node(Reading reading, std::string_view option, Values values) {
  const Result<int> count = parse_ranks(option, values[0]);
  if (!count) return Error(count.error());
  reading.job.ranks_per_node = count.value();
  return {};
}

Result<> set_hosts(Reading reading, std::string_view, Values values) {
  std::string_view rest = values[0];
  reading.job.hosts.clear();
  while (true) {
    const std::size_t comma = rest.find(',');
    Result<HostSlots> host = parse_host(rest.substr(0, comma));
    if (!host) return host.take_error();
    for (const HostSlots& other : reading.job.hosts)
      if (other.name == host.value().name) return bad(fmt::format("-hosts: {} is named twice", other.name));
    reading.job.hosts.push_back(std::move(host).value());
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

Result<> set_host_file(Reading reading, std::string_view, Values values) {
  reading.job.host_file = values[0];
  return {};
}

Result<> set_fabric(Reading reading, std::string_view option, Values values) {
  if (values[0].empty()) return bad(fmt::format("{} needs a fabric's name or a topology", option));
  reading.job.fabric = values[0];
  return {};
}

Result<> export_variable(Reading reading, std::string_view option, Values values) {
  const std::size_t equals = values[0].find('=');
  if (values[0].empty() || equals == 0)
    return bad(fmt::format("{} {}: the variable has no name", option, values[0]));
  if (equals == std::string_view::npos)
    reading.job.exported.emplace_back(values[0]);
  else
    reading.job.environment.emplace_back(values[0].substr(0, equals), values[0].substr(equals + 1));
  return {};
}

Result<> check_variable_name(std::string_view option, std::string_view name) {
  if (name.empty() || name.find('=') != std::string_view::npos)
    return bad(fmt::format("{} {}: not a valid variable name (write {} NAME VALUE)", option, name, option));
  return {};
}

Result<> set_global_variable(Reading reading, std::string_view option, Values values) {
  HAWSER_TRY(check_variable_name(option, values[0]));
  reading.job.environment.emplace_back(values[0], values[1]);
  return {};
}

Result<> set_variable(Reading reading, std::string_view option, Values values) {
  HAWSER_TRY(check_variable_name(option, values[0]));
  reading.program.environment.emplace_back(values[0], values[1]);
  return {};
}

Result<> set_working_directory(Reading reading, std::string_view option, Values values) {
  if (values[0].empty()) return bad(fmt::format("{}: the directory is empty text", option));
  reading.program.working_directory = values[0];
  return {};
}

Result<> set_bind(Reading reading, std::string_view option, Values values) {
  if (values[0] == "auto")
    reading.job.bind = BindMode::automatic;
  else if (values[0] == "core")
    reading.job.bind = BindMode::core;
  else if (values[0] == "none")
    reading.job.bind = BindMode::none;
  else
    return bad(fmt::format("{} {}: must be core, none or auto", option, values[0]));
  return {};
}

Result<> set_stdin(Reading reading, std::string_view option, Values values) {
  if (values[0] == "none") {
    reading.job.stdin_rank = -1;
    return {};
  }
  const auto rank = parse_count(values[0], {0, INT_MAX}, "a rank");
  if (!rank) return bad(fmt::format("{} {}: must be a rank or none", option, values[0]));
  reading.job.stdin_rank = static_cast<int>(rank.value());
  return {};
}

Result<> set_timeout(Reading reading, std::string_view option, Values values) {
  const auto timeout = parse_duration(values[0], {1, 1'000'000'000 * second}, second);
  if (!timeout) return bad(fmt::format("{} {}: {}", option, values[0], timeout.error().text));
  reading.job.timeout = timeout.value();
  return {};
}

Result<> set_label(Reading reading, std::string_view, Values) { return reading.job.label = true, Result<>(); }
Result<> set_verbose(Reading reading, std::string_view, Values) {
  return reading.job.verbose = true, Result<>();
}
Result<> set_oversubscribe(Reading reading, std::string_view, Values) {
  reading.job.oversubscribe = true;
  return {};
}
Result<> set_survive(Reading reading, std::string_view, Values) {
  reading.job.survive = true;
  return {};
}
Result<> accept(Reading, std::string_view, Values) { return {}; }
Result<> ask_help(Reading reading, std::string_view, Values) {
  reading.job.action = JobOptions::Action::help;
  return {};
}
Result<> ask_version(Reading reading, std::string_view, Values) {
  reading.job.action = JobOptions::Action::version;
  return {};
}

constexpr Option options[] = {
    {"n np", 1, "N", "start N ranks of this program (default: the hosts' slots if given, else 1)", set_ranks},
    {"hosts host H", 1, "H1[:N],H2...",
     "virtual nodes on this machine, with N slots each; ranks of different nodes never share memory",
     set_hosts},
    {"hostfile f machinefile", 1, "FILE", "the same from a file with one host per line", set_host_file},
    {"ppn ranks-per-node", 1, "N",
     "ranks per node, whatever its slots, before the next node is filled; ranks that are left start another "
     "round (default: the host's slots, else as even as possible)",
     set_ranks_per_node},
    {"fabric", 1, "F|'WHAT OPTIONS'",
     "run the ranks on the hosts of a virtual fabric, all of them unless -hosts names some: the name of one "
     "that is up, or the arguments of `hawser fabric up` for one that is up as long as the job",
     set_fabric},
    {"x", 1, "NAME[=VALUE]",
     "set an environment variable for all programs; without a value it must already be set", export_variable},
    {"genv", 2, "NAME VALUE", "set an environment variable for all programs", set_global_variable},
    {"env", 2, "NAME VALUE", "set an environment variable for this program", set_variable},
    {"wdir wd", 1, "DIR", "run this program in this directory", set_working_directory},
    {"l label", 0, "", "begin every line of output with the rank, as in [3]", set_label},
    {"stdin", 1, "RANK|none", "which rank gets standard input (default 0)", set_stdin},
    {"bind bind-to", 1, "core|none|auto",
     "core: bind each rank to a core of its own; none: leave it to the kernel; auto (default): divide the "
     "cores among the ranks, if there are enough",
     set_bind},
    {"survive", 0, "",
     "go on with the others when a rank fails, for programs that use MPIX_Comm_shrink and its like; it fails "
     "if it is killed, or exits without MPI_Finalize",
     set_survive},
    {"timeout", 1, "TIME",
     "end the job after this time (90, 1.5s, 200ms; seconds without a unit), with exit code 124",
     set_timeout},
    {"verbose v", 0, "", "print on stderr what is started where", set_verbose},
    {"version V", 0, "", "print the version", ask_version},
    {"help h", 0, "", "print this text", ask_help},
    {"oversubscribe", 0, "",
     "allow more ranks than the hosts have slots; the hosts are then filled in turn again (more ranks than "
     "cores are always allowed)",
     set_oversubscribe},
    {"genvall envall", 0, "", "accepted without effect: the environment is always passed on", accept},
};

// Calls visit(name) for each of the option's names until it answers true.
template <class Visit>
bool any_name(const Option& option, Visit visit) {
  std::string_view rest = option.names;
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    if (visit(rest.substr(0, blank))) return true;
    if (blank == std::string_view::npos) break;
    rest.remove_prefix(blank + 1);
  }
  return false;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : options)
    if (any_name(option, [&](std::string_view known) { return known == name; })) return &option;
  return nullptr;
}

std::string written(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 || name == "np" || name == "ppn" ? "-" : "--", name);
}

Error unknown_option(std::string_view word, std::string_view name) {
  int nearest_distance = INT_MAX;
  std::string_view nearest;
  for (const Option& option : options)
    any_name(option, [&](std::string_view known) {
      const int distance = edit_distance(name, known);
      if (distance < nearest_distance) nearest_distance = distance, nearest = known;
      return false;
    });
  // A name with hardly a letter in common would only puzzle.
  if (2 * nearest_distance > static_cast<int>(name.size()))
    return bad(fmt::format("unknown option {} (see mpiexec --help)", word));
  return bad(
      fmt::format("unknown option {}; the nearest is {} (see mpiexec --help)", word, written(nearest)));
}

// Reads one option at the front of `words` and answers how many words it took.
Result<std::size_t> read_option(Reading reading, std::span<const std::string_view> words) {
  const std::string_view word = words[0];
  std::string_view name = word.substr(word.starts_with("--") ? 2 : 1);
  std::optional<std::string_view> attached;
  const Option* option = find_option(name);
  if (const std::size_t equals = name.find('='); option == nullptr && equals != std::string_view::npos) {
    attached = name.substr(equals + 1);
    name = name.substr(0, equals);
    option = find_option(name);
  }
  if (option == nullptr || (attached && option->value_count != 1)) return unknown_option(word, name);
  const auto wanted = attached ? 0 : static_cast<std::size_t>(option->value_count);
  if (words.size() - 1 < wanted) return bad(fmt::format("{} needs {}", word, option->value_names));
  const Values values = attached ? Values(&*attached, 1) : words.subspan(1, wanted);
  HAWSER_TRY(option->apply(reading, word.substr(0, word.find('=')), values));
  return 1 + wanted;
}

// Reads the words of one program, which end before `:` or with the line.
Result<ProgramOptions> read_program(JobOptions& job, std::span<const std::string_view> words) {
  ProgramOptions program;
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
    const Result<std::size_t> taken = read_option({job, program}, words.subspan(at));
    if (!taken) return Error(taken.error());
    if (job.action != JobOptions::Action::run) return program;
    at += taken.value();
  }
  if (at < words.size() && words[at] == "--") ++at;
  program.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (program.command.empty()) return bad("no program to start (see mpiexec --help)");
  if (program.command[0].empty()) return bad("the program's name is empty");
  return program;
}

}  // namespace

Result<JobOptions> parse_options(std::span<const std::string_view> words) {
  JobOptions job;
  while (true) {
    const auto colon = std::find(words.begin(), words.end(), ":");
    const auto length = static_cast<std::size_t>(colon - words.begin());
    Result<ProgramOptions> program = read_program(job, words.first(length));
    if (!program) return program.take_error();
    if (job.action != JobOptions::Action::run) return job;
    job.programs.push_back(std::move(program).value());
    if (colon == words.end()) return job;
    words = words.subspan(length + 1);
  }
}

Result<std::vector<HostSlots>> parse_host_file(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string line(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    line.resize(std::min(line.find('#'), line.size()));
    // `name slots=4` is another spelling of `name:4`.
    if (const std::size_t slots = line.find(" slots="); slots != std::string::npos)
      line.replace(slots, 7, ":");
    line.erase(
        std::remove_if(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; }),
        line.end());
    if (line.empty()) continue;
    Result<HostSlots> host = parse_host(line);
    if (!host) return host.take_error();
    hosts.push_back(std::move(host).value());
  }
  if (hosts.empty()) return bad("the host file names no host");
  return hosts;
}

std::string help_text() {
  std::string text =
      "Usage: mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n\n"
      "Starts the ranks of an MPI job on this machine. Options may be written with one dash or two.\n\n";
  for (const Option& option : options) {
    std::string line = "  ";
    any_name(option, [&](std::string_view name) {
      if (line.size() > 2) line += ", ";
      line += written(name);
      return false;
    });
    if (!option.value_names.empty()) line += fmt::format(" {}", option.value_names);
    text += fmt::format("{}\n        {}\n", line, option.help);
  }
  text +=
      "\nThe job ends as a whole if a rank is killed, aborts, or exits after MPI_Init without "
      "MPI_Finalize\n(but see --survive).\n"
      "Exit code: 0 if all ranks exit with 0; else that of the rank that failed first, 128 + N if signal N "
      "killed\n"
      "it, the code passed to MPI_Abort; 2 for a bad command line, 126 or 127 if a program cannot be "
      "started.\n"
      "Signals INT, TERM, HUP, QUIT, USR1, USR2, TSTP and CONT are passed on to all ranks; a second INT or "
      "TERM\n"
      "kills them. Settings of the library: see `hawser info --knobs`.\n";
  return text;
}

}  // namespace hawser
