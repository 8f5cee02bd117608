// Runs conformance cases in the simulator: all ranks in this process, each case in a simulated job of its
// own.
//   conformance_simulated [--ranks 64] [--seed 1] [--jitter 0.3] [--eager BYTES] [--pieces BYTES] [--window
//   N]
//                         [--fabric two-switch [--rails 2] [--ranks-per-host 2] [--incident "40 2000 link
//                         n0/hw0 down / link n0/hw0 up"]...] [--knob NAME=VALUE]... [--ranks-per-node 4]
//                         [--filter A,-B] [--twice] [--timings N] [--verbose] [--list]
// --twice runs each case again with the same seed and compares the traces. --timings, with --fabric, runs
// each case so many times, each time over other links, with other settings and with cables that are pulled at
// other moments; it fails unless connections failed, too.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "conformance.h"
#include "testbed/simulator/simulation.h"

namespace {

struct Arguments {
  std::string filter;
  hawser::SimulationOptions simulation{.ranks = 64};
  bool twice = false;
  bool verbose = false;
  bool list = false;
  int timings = 0;
};

// `PACKETS MICROSECONDS BEGIN / END`: when so many packets were sent, for so long, these two commands.
void add_incident(hawser::FabricOptions& fabric, const std::string& text) {
  hawser::Incident incident;
  unsigned long long packets = 0, microseconds = 0;
  int read = 0;
  const std::size_t slash = text.find(" / ");
  if (std::sscanf(text.c_str(), "%llu %llu %n", &packets, &microseconds, &read) != 2 || slash == text.npos) {
    std::fprintf(stderr, "an incident is PACKETS MICROSECONDS BEGIN / END, not '%s'\n", text.c_str());
    std::exit(2);
  }
  incident.after_packets = packets;
  incident.lasts = static_cast<hawser::Nanoseconds>(microseconds) * hawser::microsecond;
  incident.begin.push_back(
      text.substr(static_cast<std::size_t>(read), slash - static_cast<std::size_t>(read)));
  incident.end.push_back(text.substr(slash + 3));
  fabric.incidents.push_back(std::move(incident));
}

Arguments parse(int argc, char** argv) {
  Arguments result;
  auto& simulation = result.simulation;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--twice") {
      result.twice = true;
      continue;
    }
    if (name == "--verbose") {
      result.verbose = true;
      continue;
    }
    if (name == "--list") {
      result.list = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (name == "--filter") {
      result.filter = value;
    } else if (name == "--ranks") {
      simulation.ranks = std::atoi(value);
    } else if (name == "--seed") {
      simulation.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--jitter") {
      simulation.model.jitter = std::atof(value);
    } else if (name == "--eager") {
      simulation.model.eager_limit = std::atoll(value);
    } else if (name == "--pieces") {
      simulation.model.one_piece_limit = std::atoll(value);
    } else if (name == "--window") {
      simulation.model.window = std::atoi(value);
    } else if (name == "--ranks-per-node") {
      simulation.ranks_per_node = std::atoi(value);
    } else if (name == "--fabric") {
      simulation.fabric.emplace().topology = value;
      simulation.fabric->parameters = "link-latency 1us\n";
    } else if (name == "--rails" && simulation.fabric) {
      simulation.fabric->rails = std::atoi(value);
    } else if (name == "--ranks-per-host" && simulation.fabric) {
      simulation.fabric->ranks_per_host = std::atoi(value);
    } else if (name == "--incident" && simulation.fabric) {
      add_incident(*simulation.fabric, value);
    } else if (name == "--knob") {
      const std::string text = value;
      const std::size_t equals = std::min(text.find('='), text.size() - 1);
      simulation.knobs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    } else if (name == "--timings" && simulation.fabric) {
      result.timings = std::atoi(value);
    } else if (name == "--trace") {
      simulation.trace_file = value;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", name.c_str());
      std::exit(2);
    }
  }
  return result;
}

struct Verdict {
  int failures = 0;
  hawser::SimulationOutcome outcome;
};

Verdict run(const conformance::NamedCase& test, const hawser::SimulationOptions& options) {
  Verdict verdict;
  verdict.outcome = hawser::Simulation(options).run([&](hawser::SimulatedRank& rank) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm frame = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &frame);
    const int failures = conformance::run_case(
        test, frame, [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    if (rank.rank() == 0) verdict.failures = failures;
    MPI_Comm_free(&frame);
    MPI_Finalize();
  });
  return verdict;
}

// The options, but with links, settings and incidents drawn from the seed.
hawser::SimulationOptions draw_timing(hawser::SimulationOptions options, std::uint64_t seed) {
  hawser::Random random(seed);
  hawser::FabricOptions& fabric = *options.fabric;
  const auto any = [&](std::initializer_list<int> choices) {
    return std::to_string(choices.begin()[random.below(choices.size())]);
  };
  options.seed = seed;
  fabric.parameters = "link-latency " + any({200, 700, 2000, 5000, 20'000}) + "ns\n";
  if (random.chance(0.4)) fabric.parameters += "link-rate " + any({500, 1000, 4000}) + "MB/s\nchunk 8K\n";
  const auto knob = [&](const char* name, const std::string& text) {
    options.knobs.emplace_back(name, text);
  };
  knob("HAWSER_RAIL_PACKET", any({2048, 4096, 8192}));
  knob("HAWSER_RAIL_STRIPE", any({4096, 16'384, 65'536}));
  knob("HAWSER_RAIL_SEND_DEPTH", any({16, 64}));
  knob("HAWSER_RAIL_ACKNOWLEDGE_TIME", any({2, 3}) + "ms");
  knob("HAWSER_RAIL_RETRIES", any({1, 3}));
  const int hosts = std::max(1, options.ranks / std::max(1, fabric.ranks_per_host));
  const bool faults = random.chance(0.8);
  for (auto i = faults ? 1 + random.below(6) : 0; i > 0; --i) {
    hawser::Incident incident;
    const std::string port = "link n" + std::to_string(random.below(static_cast<std::uint64_t>(hosts))) +
                             "/hw" + std::to_string(random.below(static_cast<std::uint64_t>(fabric.rails)));
    const bool silent = random.chance(0.4);
    incident.after_packets = 1 + random.below(2000);
    incident.lasts = 5 * hawser::microsecond << random.below(12);
    incident.begin.push_back(port + (silent ? " blackhole both" : " down"));
    incident.end.push_back(port + (silent ? " clear" : " up"));
    fabric.incidents.push_back(std::move(incident));
  }
  return options;
}

// True: the case is right at all of them.
bool run_timings(const conformance::NamedCase& test, const Arguments& arguments) {
  std::uint64_t failures = 0, reissued = 0;
  for (int i = 0; i < arguments.timings; ++i) {
    const std::uint64_t seed = arguments.simulation.seed + static_cast<std::uint64_t>(i);
    const Verdict verdict = run(test, draw_timing(arguments.simulation, seed));
    failures += verdict.outcome.rails.failures;
    reissued += verdict.outcome.rails.stripes_reissued + verdict.outcome.rails.packets_reissued;
    if (verdict.failures == 0 && verdict.outcome.finished()) continue;
    std::fprintf(stderr, "FAIL %s with seed %llu: %s\n", test.name.c_str(),
                 static_cast<unsigned long long>(seed), verdict.outcome.report.c_str());
    return false;
  }
  std::printf("%s: %d timings, %llu connections failed, %llu packets and stripes were sent again\n",
              test.name.c_str(), arguments.timings, static_cast<unsigned long long>(failures),
              static_cast<unsigned long long>(reissued));
  return failures > 0 && reissued > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const auto& options = arguments.simulation;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  if (const std::string error = conformance::filter_error(arguments.filter); !error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  int ran = 0, failed = 0;
  std::uint64_t hash = 0, messages = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& test : conformance::select_cases(arguments.filter)) {
    if (arguments.list) std::printf("%s\n", test.name.c_str());
    if (arguments.list || !conformance::eligible(*test.test, options.ranks, {})) continue;
    if (arguments.verbose) std::printf("RUN %s\n", test.name.c_str());
    if (arguments.timings > 0) {
      ++ran;
      failed += !run_timings(test, arguments);
      continue;
    }
    const Verdict verdict = run(test, options);
    const auto& outcome = verdict.outcome;
    bool good = verdict.failures == 0 && outcome.finished();
    if (!outcome.finished()) {
      for (const auto& line : outcome.output) std::fprintf(stderr, "%s\n", line.c_str());
      std::fprintf(stderr, "FAIL %s: %s\n", test.name.c_str(), outcome.report.c_str());
    }
    if (arguments.twice && good) {
      const Verdict again = run(test, options);
      if (again.outcome.trace_hash != outcome.trace_hash) {
        std::fprintf(stderr, "FAIL %s: two runs with seed %llu have different traces\n", test.name.c_str(),
                     static_cast<unsigned long long>(options.seed));
        good = false;
      }
    }
    if (arguments.verbose || !good)
      std::printf("%s: %s\n", test.name.c_str(), summary(options, outcome).c_str());
    ++ran;
    failed += !good;
    hash = hash * 31 + outcome.trace_hash;
    messages += outcome.messages;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("%d simulated ranks, seed %llu: %d cases, %d failed; trace %016llx, %llu messages, %.2f s\n",
              options.ranks, static_cast<unsigned long long>(options.seed), ran, failed,
              static_cast<unsigned long long>(hash), static_cast<unsigned long long>(messages),
              elapsed.count());
  if (ran == 0 && !arguments.list) {
    std::fprintf(stderr, "none of the selected cases is for %d simulated ranks\n", options.ranks);
    return conformance::nothing_ran;
  }
  return failed == 0 ? 0 : 1;
}
