// A program that uses nothing but the Bootstrap: tests of launchers run it as ranks. It exchanges values of
// several lengths, checks them, and then does what its argument says.
//
//   bootstrap_probe [check | abort | leave | late CODE | wait | twice]
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "launch/connect_to_launcher.h"
#include "launch/environment_variables.h"

namespace hawser {
namespace {

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "bootstrap_probe: {}\n", text);
  std::exit(1);
}

void check(const Result<>& result) {
  if (!result) fail(result.error().text);
}

std::string value_of(int rank, std::size_t size) {
  std::string value = fmt::format("rank {} ", rank);
  while (value.size() < size) value += static_cast<char>(value.size() * 7 + static_cast<std::size_t>(rank));
  return value;
}

void exchange(Bootstrap& bootstrap, std::string_view round) {
  constexpr std::size_t sizes[] = {0, 100, 5000};
  const int size = bootstrap.layout().size;
  for (const std::size_t length : sizes)
    check(bootstrap.put(fmt::format("{}-{}", round, length), value_of(bootstrap.layout().rank, length)));
  check(bootstrap.fence());
  for (int rank = 0; rank < size; ++rank)
    for (const std::size_t length : sizes) {
      const auto value = bootstrap.get(rank, fmt::format("{}-{}", round, length));
      if (!value) fail(value.error().text);
      if (value.value() != value_of(rank, length)) fail(fmt::format("rank {}'s value is damaged", rank));
    }
  for (const int rank : {0, size - 1, size})
    if (bootstrap.get(rank, "nothing")) fail("found a value that nobody put");
}

void report(const Bootstrap& bootstrap) {
  const JobLayout& layout = bootstrap.layout();
  std::string nodes;
  for (const int node : layout.node_of_rank) nodes += fmt::format("{}{}", nodes.empty() ? "" : ",", node);
  fmt::print("rank {} of {} under {} nodes {} app {} universe {}\n", layout.rank, layout.size,
             bootstrap.name(), nodes, layout.app_number, layout.universe_size);
  std::fflush(stdout);
}

int probe(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "check";
  constexpr std::string_view modes[] = {"check", "abort", "leave", "wait", "twice", "late"};
  if (std::find(std::begin(modes), std::end(modes), mode) == std::end(modes))
    fail(fmt::format("no mode '{}'; there are check, abort, leave, wait, twice, late", mode));
  auto connected = connect_to_launcher(environment_variables());
  if (!connected) fail(connected.error().text);
  Bootstrap& bootstrap = *connected.value();
  exchange(bootstrap, "first");
  exchange(bootstrap, "second");
  report(bootstrap);
  const bool chosen = bootstrap.layout().rank == bootstrap.layout().size - 1;
  if (mode == "abort" && chosen) {
    bootstrap.abort(5, "the probe was asked to");
    return 5;
  }
  if (mode == "leave" && chosen) return 0;
  if (mode == "abort" || mode == "leave" || mode == "wait") pause();
  check(bootstrap.finalize());
  if (mode == "twice") {
    auto again = connect_to_launcher(environment_variables());
    if (!again) fail(again.error().text);
    exchange(*again.value(), "third");
    check(again.value()->finalize());
  }
  return mode == "late" && chosen && argc > 2 ? std::atoi(argv[2]) : 0;
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) { return hawser::probe(argc, argv); }
