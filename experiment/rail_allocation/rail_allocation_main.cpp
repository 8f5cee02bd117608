// Runs one scheme under one workload and prints a line: accepted load and latency with their confidence
// intervals.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <string>

#include "cluster.h"

using namespace rail_allocation;

namespace {

constexpr int batches = 10;
constexpr double student = 2.262;  // 95 % of 9 degrees of freedom

struct Mean {
  double value = 0, interval = 0;
};

Mean mean_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const auto count = static_cast<double>(values.size());
  Mean mean{sum / count, 0};
  for (const double value : values) squares += (value - mean.value) * (value - mean.value);
  mean.interval = student * std::sqrt(squares / (count - 1) / count);
  return mean;
}

}  // namespace

int main(int argc, char** argv) {
  Workload workload;
  std::string scheme = "basic";
  double mean_bytes = 4096, short_bytes = 0, messages = 100;
  std::uint64_t seed = 1;
  CLI::App app{"Rail allocation (Coll and others 2001): one scheme under one workload"};
  app.add_option("--scheme", scheme, "basic, local-dynamic, dynamic, hybrid")->required();
  app.add_option("--nodes", workload.nodes)->check(CLI::Range(2, 256));
  app.add_option("--processes", workload.processes)->check(CLI::Range(1, 64));
  app.add_option("--rails", workload.rails)->check(CLI::Range(1, 16));
  app.add_option("--size", mean_bytes, "mean of the messages, bytes")->check(CLI::Range(2.0, 1e8));
  app.add_option("--load", workload.load, "offered, of the rate of all rails")->check(CLI::Range(1e-4, 2.0));
  app.add_flag("--striping", workload.striping, "over all rails that are to be had");
  app.add_option("--short", short_bytes, "hybrid: messages up to so many bytes reserve nothing");
  app.add_option("--control", workload.control, "cycles until a control packet is acted upon");
  app.add_option("--both-ways", workload.both_ways,
                 "what a bus moves in both directions at once, of one; 2: full duplex")
      ->check(CLI::Range(0.1, 2.0));
  app.add_option("--messages", messages, "of each process, measured")->check(CLI::Range(10.0, 1e6));
  app.add_option("--seed", seed);
  CLI11_PARSE(app, argc, argv);
  // A flit has two bytes (section 4.1).
  workload.mean_flits = mean_bytes / 2;
  workload.short_message = scheme == "hybrid" ? short_bytes / 2 : 0;
  Cluster cluster(workload, seed);
  auto made = make_scheme(scheme, cluster);
  if (made == nullptr) {
    std::fprintf(stderr, "rail_allocation: there is no scheme '%s'\n", scheme.c_str());
    return 2;
  }
  cluster.set_scheme(std::move(made));
  const double gap = workload.mean_flits * workload.processes / (workload.load * workload.rails);
  const auto batch = static_cast<Cycles>(gap * messages / batches);
  // A quarter more to warm up.
  Cycles time = batch * batches / 4;
  cluster.run_until(time);
  std::vector<double> accepted, latency;
  for (int i = 0; i < batches; ++i) {
    const Measured measured = cluster.run_until(time += batch);
    accepted.push_back(measured.flits / static_cast<double>(batch) / workload.nodes / workload.rails);
    latency.push_back(measured.messages == 0 ? 0 : measured.latency / static_cast<double>(measured.messages));
  }
  const Mean load = mean_of(accepted), wait = mean_of(latency);
  std::printf("%.4f %.4f %.0f %.0f\n", load.value, load.interval, wait.value, wait.interval);
}
