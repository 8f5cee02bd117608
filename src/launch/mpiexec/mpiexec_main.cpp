// mpiexec, also called mpirun: reads the command line and runs the job.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/checked_output.h"
#include "base/failure.h"
#include "base/machine.h"
#include "base/version.h"
#include "launch/environment_variables.h"
#include "launch/mpiexec/fabric_lease.h"
#include "launch/mpiexec/job.h"

namespace hawser {
namespace {

constexpr int usage_error = 2;

int complain(const Error& error, int exit_code) {
  fmt::print(stderr, "mpiexec: {}\n", error.text);
  return exit_code;
}

// Descriptors 0 to 2 must exist: otherwise pipes would get their numbers.
void open_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd) std::abort();
}

Result<> read_host_file(JobOptions& options) {
  const auto text = read_text(options.host_file);
  if (!text) return failure(ErrorKind::invalid_argument, "-hostfile: {}", text.error().text);
  auto hosts = parse_host_file(text.value());
  if (!hosts)
    return failure(ErrorKind::invalid_argument, "-hostfile {}: {}", options.host_file, hosts.error().text);
  options.hosts = std::move(hosts).value();
  return {};
}

// The hosts are the fabric's: each is a node of its own.
Result<> place_on_fabric(JobOptions& options, const FabricPlan& plan) {
  for (const HostSlots& host : options.hosts)
    if (plan.find(host.name) == nullptr)
      return failure(ErrorKind::invalid_argument, "--fabric {}: there is no host '{}' ({} to {})",
                     options.fabric, host.name, plan.hosts.front().name, plan.hosts.back().name);
  if (options.hosts.empty())
    for (const FabricPlan::Host& host : plan.hosts) options.hosts.push_back({host.name, 0});
  return {};
}

int run_job(JobOptions options, FabricPlan plan, int fabric_lifeline) {
  auto placement = place_ranks(options, host_name());
  if (!placement) return complain(placement.error(), usage_error);
  auto guard = Guard::start();
  if (!guard) return complain(guard.error(), 1);
  auto ready = ReadySet::make();
  if (!ready) return complain(ready.error(), 1);
  Job job(std::move(options), std::move(placement).value(), std::move(plan), fabric_lifeline,
          std::move(guard).value(), std::move(ready).value());
  const auto exit_code = job.run(environment_variables());
  if (!exit_code)
    return complain(exit_code.error(),
                    exit_code.error().kind == ErrorKind::invalid_argument ? usage_error : 1);
  return exit_code.value();
}

int run(JobOptions options) {
  if (!options.host_file.empty())
    if (const auto read = read_host_file(options); !read) return complain(read.error(), usage_error);
  if (options.fabric.empty()) return run_job(std::move(options), {}, -1);
  const auto lease = FabricLease::take(options.fabric);
  if (!lease)
    return complain(lease.error(), lease.error().kind == ErrorKind::invalid_argument ? usage_error : 1);
  if (const auto placed = place_on_fabric(options, lease.value().plan()); !placed)
    return complain(placed.error(), usage_error);
  return run_job(std::move(options), lease.value().plan(), lease.value().lifeline());
}

int run_command(int argc, char** argv) {
  open_standard_descriptors();
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  auto options = parse_options(words);
  if (!options) return complain(options.error(), usage_error);
  switch (options.value().action) {
    case JobOptions::Action::help:
      fmt::print("{}", help_text());
      return 0;
    case JobOptions::Action::version:
      fmt::print("mpiexec (Hawser) {}\n", version);
      return 0;
    case JobOptions::Action::run:
      return run(std::move(options).value());
  }
  HAWSER_UNREACHABLE();
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) {
  return hawser::with_checked_output("mpiexec", [&] { return hawser::run_command(argc, argv); });
}
