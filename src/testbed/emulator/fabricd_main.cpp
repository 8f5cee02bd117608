// hawser-fabricd: the emulator's daemon, as `hawser fabric up` starts it. It says what is wrong on standard
// error and ends with 1, or writes a byte to the descriptor of --ready when clients may come, and runs until
// `hawser fabric down`. With `topology` as the first word it tells what a fabric would be, and ends.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "base/checked_output.h"
#include "base/failure.h"
#include "base/option_errors.h"
#include "testbed/emulator/daemon.h"
#include "testbed/emulator/plan.h"
#include "testbed/emulator/topology_command.h"

namespace hawser::emulator {
namespace {

struct Options {
  PlanOptions plan;
  std::string name = "fabric";
  int ready = -1;
  int lifeline = -1;
};

// Away from the terminal and the pipes of whoever brought the fabric up.
void leave_terminal() {
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  if (nothing > STDERR_FILENO) close(nothing);
  [[maybe_unused]] const int moved = chdir("/");
}

Result<> serve(const Options& options) {
  auto made = make_plan(options.plan);
  if (!made) return made.take_error();
  Plan& plan = made.value();
  if (const std::string warning = chunk_warning(plan.parameters); !warning.empty())
    fmt::print(stderr, "hawser fabric: warning: {}\n", warning);
  auto listener = listen_local(options.name);
  if (!listener)
    return failure(ErrorKind::name_taken, "fabric '{}': {}", options.name, listener.error().text);
  Daemon daemon(options.name, std::move(listener).value(), std::move(plan.topology), std::move(plan.tables),
                plan.parameters, plan.routing);
  if (!daemon.usable()) return failure(ErrorKind::other, "no more descriptors are available");
  if (options.lifeline >= 0) daemon.end_with(FileDescriptor(options.lifeline));
  if (options.ready >= 0) {
    leave_terminal();
    const char ready = 1;
    [[maybe_unused]] const ssize_t written = write(options.ready, &ready, 1);
    close(options.ready);
  }
  daemon.run();
  return {};
}

}  // namespace
}  // namespace hawser::emulator

int main(int argc, char** argv) {
  using namespace hawser;
  if (argc > 1 && std::string_view(argv[1]) == "topology")
    return with_checked_output("hawser fabric", [&] { return emulator::print_topology(argc - 1, argv + 1); });
  emulator::Options options;
  CLI::App app("Runs a virtual InfiniBand fabric for the processes of this user", "hawser fabric up");
  emulator::declare_options(app, options.plan);
  app.add_option("--name", options.name, "name of the fabric")->capture_default_str();
  app.add_option("--lifeline", options.lifeline, "descriptor whose other end, once closed, brings it down")
      ->group("");
  app.add_option("--ready", options.ready, "descriptor to write to when ready")->group("");
  app.failure_message(option_error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (auto served = emulator::serve(options); !served) {
    fmt::print(stderr, "hawser fabric: {}\n", served.error().text);
    return 1;
  }
  return 0;
}
