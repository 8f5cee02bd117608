// Scenarios without faults: networks from 1 MB/s to 50 GB/s, coarse and fine, with small and large buffers
// and uneven tables, and programs that crowd them. The settings are the defaults: what is tested is whether
// the library, as users have it, takes congestion for failure.
#include <fmt/format.h>

#include <algorithm>

#include "testbed/campaign/drawing.h"
#include "testbed/campaign/incidents.h"

namespace hawser {
namespace {

// Of virtual time; the programs are made so that they take a few seconds.
constexpr Nanoseconds longest_job = 300 * second;
// What a job moves at most in all: bytes, and seconds of one link.
constexpr double most_bytes = 6e6, most_seconds = 4;

class CalmDrawing final : ScenarioDrawing {
 public:
  using ScenarioDrawing::ScenarioDrawing;

  Scenario draw() {
    scenario_.simulation.ranks = wishes_.ranks > 0 ? wishes_.ranks : draw_ranks();
    draw_fabric(fabric());
    draw_knobs();
    left_ = std::min(most_bytes, most_seconds * rate_);
    for (int phases = number(1, 4); phases > 0; --phases) draw_phase();
    if (random_.chance(0.08)) {
      PlannedPhase& phase = scenario_.traffic.phases[random_.below(scenario_.traffic.phases.size())];
      phase.stopped = random_rank();
      phase.stop = 10 * second;
    }
    draw_windows_of_ranks();
    fabric().patience = longest_job;
    if (wishes_.black_holes) draw_black_holes();
    return std::move(scenario_);
  }

 private:
  // Drawn apart, so that a seed means the same network and program without.
  void draw_black_holes() {
    Random random(scenario_.seed * 197 + 13);
    FabricParts parts;
    parts.hosts = (ranks() + fabric().ranks_per_host - 1) / fabric().ranks_per_host;
    parts.rails = fabric().rails;
    const std::uint64_t packets = 40 + scenario_.traffic.messages() * 5;
    for (std::uint64_t i = 0, count = 1 + random.below(3); i < count; ++i) {
      Incident incident;
      const auto host = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.hosts)));
      const auto rail = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.rails)));
      const std::string port = parts.adapter(host, rail);
      incident.begin.push_back(fmt::format("link {} blackhole {}", port, random.chance(0.5) ? "both" : "in"));
      incident.end.push_back(fmt::format("link {} clear", port));
      incident.lasts = 20 * millisecond + static_cast<Nanoseconds>(random.below(second));
      incident.after_packets = 1 + random.below(packets);
      fabric().incidents.push_back(std::move(incident));
    }
    fabric().heal = healing(parts);
  }

  // What is put, got and accumulated while the phase's messages are under way. Drawn apart, so that the seeds
  // of which tests know the names (campaign_test.cpp) stay what they were.
  void draw_windows_of_ranks() {
    Random random(scenario_.seed * 6791 + 31);
    const auto phases = static_cast<int>(scenario_.traffic.phases.size());
    if (ranks() > most_ranks_with_windows || !random.chance(0.4)) return;
    // A phase moves some parts of windows, so that slow links take a fraction of a second for it.
    const double most = std::clamp(rate_ / 20, 4096.0, 65536.0);
    const auto part = static_cast<std::int32_t>(most);
    if (random.chance(0.5))
      scenario_.traffic.windows = draw_windows({ranks(), phases, part}, random);
    else
      scenario_.traffic.epochs =
          draw_epochs({.ranks = ranks(), .epochs = phases, .part = part / 8, .none = 0.2}, random);
  }

  int draw_ranks() {
    const double dice = random_.uniform();
    if (dice < 0.70) return number(2, 4);
    if (dice < 0.93) return number(5, 12);
    if (dice < 0.985) return number(13, 32);
    if (dice < 0.9985) return number(33, 64);
    return 129;
  }

  void draw_fabric(FabricOptions& fabric) {
    fabric.ranks_per_host = ranks() > 2 && random_.chance(0.2) ? 2 : 1;
    const bool tree = ranks() > 64 || (ranks() > 4 && random_.chance(0.6));
    fabric.topology = tree ? "fat-tree-144" : one_of({"single-switch", "two-switch"});
    fabric.rails = fabric.topology == std::string("two-switch") ? one_of({1, 2, 2, 4}) : 1;
    rate_ = between(1e6, 50e9);
    fabric.parameters =
        fmt::format("link-rate {:.0f}B/s\nlink-latency {}ns\nswitch-latency {}ns\nchunk {}\nbuffer {}\n",
                    rate_, static_cast<int>(between(100, 20'000)), static_cast<int>(between(50, 2'000)),
                    one_of({0, 2048, 8192, 16384, 65536}), one_of({0, 0, 4096, 32768, 1 << 20}));
    lmc_ = one_of({0, 0, 1, 2});
    fabric.parameters += fmt::format("lmc {}\n", lmc_);
    if (tree && random_.chance(0.6))
      fabric.parameters += fmt::format("shuffle-seed {}\n", 1 + random_.below(100));
  }

  void draw_knobs() {
    if (random_.chance(0.25)) knob("HAWSER_RAIL_RENDEZVOUS", "write");
    if (lmc_ > 0 && random_.chance(0.5)) knob("HAWSER_RAIL_PATHS", 1 << lmc_);
    if (random_.chance(0.1)) knob("HAWSER_CHECKSUM", "on");
    Random ways(scenario_.seed * 877 + 41);
    if (ways.chance(0.3)) knob("HAWSER_RAIL_PATHS", "auto");
    if (ways.chance(0.15)) knob("HAWSER_RAIL_ENGINES", "auto");
    if (scenario_.seed % 2 == 0) scenario_.simulation.bundles_behind = 0;
    if (ways.chance(0.5)) scenario_.simulation.restless_paths = 1 + static_cast<std::uint32_t>(ways.below(8));
    Random rest(scenario_.seed * 521 + 7);
    if (rest.chance(0.5)) scenario_.simulation.peer_rest = millisecond << rest.below(6);
    // Drawn apart. Without datagrams there are connections from the first message on.
    if (Random(scenario_.seed * 643 + 29).chance(0.5)) knob("HAWSER_RAIL_DATAGRAMS", 0);
  }

  // From a few bytes up, so that `count` of them are at most what is left of the job's bytes.
  std::int32_t draw_size(int count) {
    const double most = std::clamp(left_ / std::max(count, 1), 64.0, 1e6);
    const double typical = one_of({64.0, 1024.0, 4096.0, 8192.0, 16384.0, 65536.0, 262144.0, 1e6});
    const auto bytes =
        static_cast<std::int32_t>(std::min(most, random_.chance(0.5) ? typical : between(8, most)));
    left_ -= static_cast<double>(bytes) * count;
    return bytes;
  }

  void add(PlannedPhase& phase, int from, int to, std::int32_t bytes) {
    if (from == to) return;
    PlannedMessage message;
    message.source = from;
    message.destination = to;
    message.bytes = bytes;
    message.tag = 0;
    message.send = send_;
    message.key = random_.next();
    phase.messages.push_back(message);
  }

  void draw_phase() {
    PlannedPhase phase;
    send_ = one_of({PlannedMessage::Send::send, PlannedMessage::Send::immediate});
    const int rounds = number(1, 4);
    switch (random_.below(6)) {
      case 0:
      case 1: {  // incast
        const int to = random_rank();
        const std::int32_t bytes = draw_size((ranks() - 1) * rounds);
        for (int round = 0; round < rounds; ++round)
          for (int from = 0; from < ranks(); ++from) add(phase, from, to, bytes);
        break;
      }
      case 2: {  // displaced ring
        const int step = number(1, ranks() - 1);
        const std::int32_t bytes = draw_size(ranks() * rounds);
        for (int round = 0; round < rounds; ++round)
          for (int from = 0; from < ranks(); ++from) add(phase, from, (from + step) % ranks(), bytes);
        break;
      }
      case 3: {  // one to all
        const int from = random_rank();
        const std::int32_t bytes = draw_size((ranks() - 1) * rounds);
        for (int round = 0; round < rounds; ++round)
          for (int to = 0; to < ranks(); ++to) add(phase, from, to, bytes);
        break;
      }
      case 4: {  // a burst of small and middling messages, from some to some
        const int pairs = number(1, ranks());
        for (int pair = 0; pair < pairs; ++pair) {
          const int from = random_rank(), to = random_rank();
          const int count = number(1, 64);
          const std::int32_t bytes = std::min(draw_size(count * pairs), 20'000);
          for (int i = 0; i < count; ++i) add(phase, from, to, bytes);
        }
        break;
      }
      case 5: {
        PlannedCollective each;
        each.kind = one_of({PlannedCollective::Kind::alltoall, PlannedCollective::Kind::allgather,
                            PlannedCollective::Kind::allreduce, PlannedCollective::Kind::broadcast});
        each.root = random_rank();
        each.key = random_.next();
        each.count = std::max(draw_size(ranks() * ranks()) / 8, 1);
        phase.collectives.push_back(each);
        break;
      }
    }
    scenario_.traffic.phases.push_back(std::move(phase));
  }

  int lmc_ = 0;
  double rate_ = 0;  // bytes per second
  double left_ = 0;  // bytes that the program may still move
  PlannedMessage::Send send_ = PlannedMessage::Send::immediate;
};

}  // namespace

Scenario draw_calm_scenario(std::uint64_t seed, const ScenarioWishes& wishes) {
  Random random(seed * 0x9e3779b97f4a7c15u + 7);
  return CalmDrawing(seed, wishes, random).draw();
}

}  // namespace hawser
