#include "testbed/exec/exec_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "rails/status/status_table.h"

namespace hawser {
namespace {

struct FunctionSum {
  const char* name = "";
  std::uint64_t calls = 0;
  Nanoseconds total = 0, longest = 0;  // of all ranks, and of the rank with most
  int rank = 0;                        // this one
};

std::vector<FunctionSum> sum_up(const ProgramJob& job) {
  std::vector<FunctionSum> sums(static_cast<std::size_t>(mpi_function_count));
  for (const auto& rank : job.ranks()) {
    const auto& own = rank->calls().sums();
    for (std::size_t i = 0; i < own.size(); ++i) {
      sums[i].name = mpi_function_names[i];
      sums[i].calls += own[i].calls;
      sums[i].total += own[i].time;
      if (own[i].time <= sums[i].longest) continue;
      sums[i].longest = own[i].time;
      sums[i].rank = rank->rank();
    }
  }
  std::erase_if(sums, [](const FunctionSum& each) { return each.calls == 0; });
  std::ranges::stable_sort(sums, std::greater{}, &FunctionSum::total);
  return sums;
}

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

void print_statistics(const ProgramJob& job, const ProgramResult& result) {
  fmt::print(stderr, "{:28} {:>12} {:>14} {:>14} {:>6}\n", "function", "calls", "mean s a rank", "longest s",
             "rank");
  const auto ranks = static_cast<double>(job.ranks().size());
  for (const FunctionSum& each : sum_up(job))
    fmt::print(stderr, "{:28} {:12} {:14.6f} {:14.6f} {:6}\n", each.name, each.calls,
               seconds(each.total) / ranks, seconds(each.longest), each.rank);
  constexpr std::size_t links_shown = 8;
  const auto links = job.link_load().links();
  for (std::size_t i = 0; i < std::min(links.size(), links_shown); ++i)
    fmt::print(stderr, "link {}: {} bytes, {} packets, {} dropped\n", links[i].name, links[i].bytes,
               links[i].packets, links[i].dropped);
  const RailCounters& rails = result.outcome.rails;
  fmt::print(stderr,
             "rails: {} packets, {} bytes in stripes, {} failures, {} packets and {} stripes sent again\n",
             rails.packets_sent, rails.bytes_striped, rails.failures, rails.packets_reissued,
             rails.stripes_reissued);
}

Result<> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return failure(ErrorKind::bad_file, "cannot write {}: {}", path, std::strerror(errno));
  return {};
}

Result<> write_json(const ExecOptions& options, const ProgramJob& job, const ProgramResult& result) {
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (const FunctionSum& each : sum_up(job))
    functions.push_back({{"name", each.name},
                         {"calls", each.calls},
                         {"seconds", seconds(each.total)},
                         {"longest_seconds", seconds(each.longest)},
                         {"longest_rank", each.rank}});
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const auto& rank : job.ranks()) {
    Nanoseconds in_mpi = 0;
    for (const CallTimes::Sum& each : rank->calls().sums()) in_mpi += each.time;
    ranks.push_back({{"rank", rank->rank()},
                     {"exit_code", rank->end().code},
                     {"mpi_seconds", seconds(in_mpi)},
                     {"compute_seconds", seconds(rank->calls().computed)}});
  }
  nlohmann::ordered_json counters;
  for (const CounterName& each : rail_counter_names())
    counters[std::string(each.name)] = each.value(result.outcome.rails);
  nlohmann::ordered_json links = nlohmann::ordered_json::array();
  for (const LinkLoad::Link& each : job.link_load().links())
    links.push_back(
        {{"link", each.name}, {"bytes", each.bytes}, {"packets", each.packets}, {"dropped", each.dropped}});
  const nlohmann::ordered_json all{{"outcome", name_of(result.outcome.kind)},
                                   {"exit_code", result.exit_code},
                                   {"report", result.complaint},
                                   {"ranks", options.ranks},
                                   {"seed", options.seed},
                                   {"virtual_seconds", seconds(result.outcome.finish_time)},
                                   {"events", result.outcome.events},
                                   {"trace_hash", fmt::format("{:016x}", result.outcome.trace_hash)},
                                   {"functions", functions},
                                   {"by_rank", ranks},
                                   {"links", links},
                                   {"rails", counters}};
  return write_file(options.json, all.dump(2) + "\n");
}

}  // namespace

Result<> report(const ExecOptions& options, const ProgramJob& job, const ProgramResult& result) {
  if (!result.complaint.empty()) fmt::print(stderr, "hawser sim exec: {}\n", result.complaint);
  if (options.stats) print_statistics(job, result);
  if (options.trace_hash) fmt::print(stderr, "trace hash {:016x}\n", result.outcome.trace_hash);
  if (!options.quiet)
    fmt::print(stderr, "hawser sim exec: {} ranks, {:.6f} s of virtual time, {} events\n", options.ranks,
               seconds(result.outcome.finish_time), result.outcome.events);
  if (!options.links_svg.empty()) HAWSER_TRY(write_file(options.links_svg, job.link_load().draw()));
  return options.json.empty() ? Result<>() : write_json(options, job, result);
}

}  // namespace hawser
