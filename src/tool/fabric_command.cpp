#include "tool/fabric_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/failure.h"
#include "base/machine.h"
#include "fabric/topology/makers.h"
#include "os/child_process.h"
#include "os/local_socket.h"
#include "tool/fabric_client.h"
#include "tool/fabric_environment.h"
#include "tool/fabric_watch.h"
#include "tool/subcommand.h"

namespace hawser {
namespace {

using Words = std::span<const std::string_view>;

void print_usage(std::FILE* file) {
  fmt::print(file,
             "Usage: hawser fabric up FILE|back-to-back|single-switch|two-switch|fat-tree-144 [OPTIONS]\n"
             "       hawser fabric down|status [--name F]\n"
             "       hawser fabric watch [--name F] [--interval 1s] [--count N | --once]\n"
             "                           [--all | --record FILE]\n"
             "       hawser fabric topology [--name F | WHAT OPTIONS-OF-up] [--paths] [--flows PATTERN]\n"
             "                              [--lid-offset N|all] [--svg OUT]\n"
             "       hawser fabric fault 'link n0/hw0 down' [--name F]\n"
             "       hawser fabric schedule FILE [--name F]\n"
             "       hawser fabric run [--host n0] [--name F] -- COMMAND...\n"
             "       hawser fabric use [--name F] [--lifeline FD] -- F|WHAT [OPTIONS]     (for launchers)\n"
             "\n`hawser fabric up --help` tells the options of a new fabric. Faults: man hawser.\n");
}

int fail(const std::string& text) {
  fmt::print(stderr, "hawser fabric: {}\n", text);
  return 1;
}

int wrong(const std::string& text) {
  fmt::print(stderr, "hawser fabric: {}\n\n", text);
  print_usage(stderr);
  return exit_usage;
}

// What stands between the subcommand and `--`: options with a value, and other words.
struct Arguments {
  std::string name = "fabric", host = "n0", svg, lifeline, flows, lid_offset = "0";
  bool paths = false;
  std::vector<std::string> words;
  std::vector<std::string> command;
  std::string error;
};

Arguments parse(Words words) {
  Arguments out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      out.command.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return out;
    }
    std::string* const value = words[i] == "--name"         ? &out.name
                               : words[i] == "--host"       ? &out.host
                               : words[i] == "--svg"        ? &out.svg
                               : words[i] == "--lifeline"   ? &out.lifeline
                               : words[i] == "--flows"      ? &out.flows
                               : words[i] == "--lid-offset" ? &out.lid_offset
                                                            : nullptr;
    if (words[i] == "--paths") {
      out.paths = true;
    } else if (value == nullptr) {
      if (words[i].starts_with("--")) out.error = fmt::format("unknown option {}", words[i]);
      out.words.emplace_back(words[i]);
    } else if (i + 1 == words.size()) {
      out.error = fmt::format("{} needs a value", words[i]);
    } else {
      *value = words[++i];
    }
  }
  return out;
}

// The words of the daemon's program, which lies beside ours.
Result<std::vector<std::string>> fabricd(std::vector<std::string> first, Words words) {
  auto folder = program_folder();
  if (!folder) return folder.take_error();
  first.insert(first.begin(), folder.value() + "/hawser-fabricd");
  first.insert(first.end(), words.begin(), words.end());
  return first;
}

// Starts the daemon and waits until it is ready, or has said why not.
int up(Words words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("pipe failed: {}", std::strerror(errno)));
  const FileDescriptor heard(ends[0]);
  FileDescriptor ready(ends[1]);
  auto line = fabricd({}, words);
  if (!line) return fail(line.error().text);
  line.value().insert(line.value().end(), {"--ready", std::to_string(ready.get())});
  const int kept[] = {ready.get()};
  auto daemon =
      ChildProcess::start({.words = std::move(line).value(), .inherited = kept, .new_session = true});
  if (!daemon) return fail(daemon.error().text);
  ready = {};
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(heard.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return daemon.value().await().exit_code();
  daemon.value().release();
  return 0;
}

// A command whose answer is printed.
int ask(const std::string& fabric, const std::string& line) {
  auto answer = command_fabric(fabric, line);
  if (!answer) return fail(answer.error().text);
  fmt::print("{}", answer.value());
  return 0;
}

int down(const Arguments& arguments) {
  auto answer = command_fabric(arguments.name, "down");
  if (!answer) return fail(answer.error().text);
  wait_until_gone(arguments.name);
  return 0;
}

// Of the running fabric, with its tables as they are now.
int topology(const Arguments& arguments) {
  const std::string pattern = arguments.lid_offset + " " + arguments.flows;
  if (!arguments.paths && arguments.flows.empty() && arguments.svg.empty())
    return ask(arguments.name, "topology");
  if (arguments.paths && ask(arguments.name, "topology paths") != 0) return 1;
  if (!arguments.flows.empty() && ask(arguments.name, "topology flows " + pattern) != 0) return 1;
  if (arguments.svg.empty()) return 0;
  auto picture =
      command_fabric(arguments.name, arguments.flows.empty() ? "topology svg" : "topology svg " + pattern);
  if (!picture) return fail(picture.error().text);
  std::ofstream file(arguments.svg);
  file << picture.value();
  file.close();
  return file ? 0 : fail(fmt::format("cannot write '{}'", arguments.svg));
}

// Of a fabric that need not be up: the daemon's program knows how fabrics are made.
int explain(Words words) {
  auto line = fabricd({"topology"}, words);
  return fail(line ? become_program(std::move(line).value()).text : line.error().text);
}

int schedule(const Arguments& arguments) {
  if (arguments.words.size() != 1) return wrong("schedule needs exactly one file");
  const auto text = read_text(arguments.words[0]);
  if (!text) return fail(text.error().text);
  return ask(arguments.name, "schedule " + text.value());
}

int fault(const Arguments& arguments) {
  if (arguments.words.empty()) return wrong("fault needs a fault, such as 'link n0/hw0 down'");
  std::string line = "fault";
  for (const std::string& word : arguments.words) line += " " + word;
  return ask(arguments.name, line);
}

// Whether a word names a topology rather than a fabric that is up.
bool names_topology(const std::string& word) {
  return fabric::is_maker(word) || std::filesystem::is_regular_file(word);
}

// A fabric that was up before goes on without the job, but not the job without the fabric: whoever has the
// other end of the lifeline gets a connection to the daemon, on which nothing is said, to see its end.
Result<> give_connection(const std::string& fabric, const std::string& lifeline) {
  auto connection = connect_local(fabric);
  if (!connection) return connection.take_error();
  const FileDescriptor to(dup(std::atoi(lifeline.c_str())));
  const int descriptor = connection.value().get();
  constexpr std::byte nothing{};
  if (send_packet(to, {&nothing, 1}, {&descriptor, 1})) return {};
  return failure(ErrorKind::other, "--lifeline {}: {}", lifeline, std::strerror(errno));
}

// For launchers: WORDS name a fabric that is up, or are what `up` takes; then it is brought up, for as long
// as the descriptor of --lifeline stays open at the other end. Prints what the programs are to be given:
// lines NAME=VALUE, and NAME+=VALUE for what goes before the list that the variable has; those after `host H`
// are for that host alone.
int use(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.command;
  if (words.empty()) return wrong("use needs `-- FABRIC` or `-- TOPOLOGY OPTIONS`");
  std::string name = words[0];
  auto hosts = command_fabric(name, "hosts");
  if (words.size() > 1 || !hosts) {
    if (words.size() == 1 && !names_topology(name))
      return fail(fmt::format("no fabric '{}' is up, and there is no such topology", name));
    std::vector<std::string_view> line(words.begin(), words.end());
    const auto given = std::find(line.begin(), line.end(), "--name");
    name = given != line.end() && given + 1 != line.end() ? std::string(given[1]) : arguments.name;
    if (given == line.end()) line.insert(line.end(), {"--name", arguments.name});
    if (!arguments.lifeline.empty()) line.insert(line.end(), {"--lifeline", arguments.lifeline});
    if (const int code = up(line); code != 0) return code;
    hosts = command_fabric(name, "hosts");
  } else if (!arguments.lifeline.empty()) {
    if (const auto given = give_connection(name, arguments.lifeline); !given) return fail(given.error().text);
  }
  if (!hosts) return fail(hosts.error().text);
  auto common = fabric_variables(name);
  if (!common) return fail(common.error().text);
  const auto show = [](const FabricVariable& variable) {
    fmt::print("{}{}={}\n", variable.name, variable.in_front ? "+" : "", variable.value);
  };
  std::for_each(common.value().begin(), common.value().end(), show);
  std::istringstream lines(hosts.value());
  for (std::string host, adapters; lines >> host >> adapters;) {
    fmt::print("host {}\n", host);
    for (const FabricVariable& variable : host_variables(host, adapters)) show(variable);
  }
  return 0;
}

// The command takes our place, with the drop-in before the system's libibverbs.
int run(Arguments arguments) {
  if (arguments.command.empty()) return wrong("run needs `-- COMMAND`");
  const auto adapters = command_fabric(arguments.name, "host " + arguments.host);
  if (!adapters) return fail(adapters.error().text);
  const auto common = fabric_variables(arguments.name);
  if (!common) return fail(common.error().text);
  for (const FabricVariable& variable : common.value()) set_variable(variable);
  for (const FabricVariable& variable : host_variables(arguments.host, adapters.value()))
    set_variable(variable);
  return fail(become_program(std::move(arguments.command)).text);
}

}  // namespace

int run_fabric(Words words) {
  if (words.empty()) return wrong("the verb is missing");
  const std::string_view verb = words[0];
  if (verb == "--help" || verb == "-h") {
    print_usage(stdout);
    return 0;
  }
  if (verb == "up") return up(words.subspan(1));
  if (verb == "watch") return watch_fabric(words.subspan(1));
  if (verb == "topology" && words.size() > 1 && (!words[1].starts_with("--") || words[1] == "--help"))
    return explain(words.subspan(1));
  if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h")) {
    print_usage(stdout);
    return 0;
  }
  Arguments arguments = parse(words.subspan(1));
  if (!arguments.error.empty()) return wrong(arguments.error);
  if (verb == "use") return use(arguments);
  if (verb == "run") return run(std::move(arguments));
  if (verb == "down") return down(arguments);
  if (verb == "status") return ask(arguments.name, "status");
  if (verb == "topology") return topology(arguments);
  if (verb == "fault") return fault(arguments);
  if (verb == "schedule") return schedule(arguments);
  return wrong(fmt::format("unknown verb {}", verb));
}

}  // namespace hawser
