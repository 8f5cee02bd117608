#include "testbed/campaign/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "testbed/campaign/drawing.h"
#include "testbed/campaign/incidents.h"

namespace hawser {
namespace {

// What the protocol is given after the last fault: several times its longest hold-down of a path.
constexpr Nanoseconds patience = 60 * second;

class FaultyDrawing final : ScenarioDrawing {
 public:
  using ScenarioDrawing::ScenarioDrawing;

  Scenario draw() {
    scenario_.simulation.ranks = wishes_.ranks > 0 ? wishes_.ranks : draw_ranks();
    const bool kills = wishes_.kills || (wishes_.faults && kills_.chance(1.0 / 16));
    if (kills && wishes_.ranks == 0) scenario_.simulation.ranks = 3 + static_cast<int>(kills_.below(6));
    const bool multicast = multicast_.chance(0.25);
    late_leaders_ = multicast && late_.chance(0.15);
    if (late_leaders_ && wishes_.ranks == 0 && !kills)
      scenario_.simulation.ranks = 3 + static_cast<int>(late_.below(6));
    draw_fabric();
    const bool rare = wishes_.faults && rare_.chance(0.15);
    if (rare) draw_rare_fabric();
    draw_knobs();
    draw_program();
    if (kills) draw_survivors();
    if (wishes_.faults && (!kills || kills_.chance(0.5))) draw_incidents();
    if (rare) draw_rare_incidents();
    if (interrupts_.chance(0.3)) draw_interrupts();
    if (multicast) draw_multicast();
    if (multicast) draw_gathers();
    if (late_leaders_) draw_late_leaders();
    fabric().patience = patience;
    fabric().check_every = random_.chance(0.02) ? 100 : 0;
    return std::move(scenario_);
  }

 private:
  Nanoseconds duration(Nanoseconds from, Nanoseconds to) {
    return static_cast<Nanoseconds>(between(static_cast<double>(from), static_cast<double>(to)));
  }

  int draw_ranks() {
    const double dice = random_.uniform();
    if (dice < 0.70) return 2;
    if (dice < 0.84) return 3;
    if (dice < 0.96) return 4;
    if (dice < 0.996) return number(5, 8);
    if (dice < 0.9995) return number(9, 24);
    return 64;
  }

  void draw_fabric() {
    FabricOptions& fabric = this->fabric();
    fabric.ranks_per_host = ranks() > 8 ? 4 : ranks() > 2 && random_.chance(0.2) ? 2 : 1;
    if (late_leaders_) fabric.ranks_per_host = 2 + static_cast<int>(late_.below(3));
    fabric.rails_within_host = random_.chance(0.3);
    parts_.hosts = std::max(2, (ranks() + fabric.ranks_per_host - 1) / fabric.ranks_per_host);
    fabric.topology = one_of({"single-switch", "two-switch", "two-switch"});
    if (parts_.hosts == 2 && random_.chance(0.3)) fabric.topology = "back-to-back";
    parts_.rails = fabric.rails = one_of({1, 2, 2, 2, 2, 3, 4});
    if (fabric.topology == "single-switch") parts_.switches = {"switch0"};
    if (fabric.topology == "two-switch")
      for (int rail = 0; rail < fabric.rails; ++rail)
        parts_.switches.push_back(fmt::format("switch{}", rail));
    parts_.mortal_rail = number(0, parts_.rails - 1);
    parts_.mortal_host = number(0, parts_.hosts - 1);
    parts_.ethernet = random_.chance(0.2);
    const int lmc = fabric.topology != "back-to-back" && random_.chance(0.2) ? one_of({1, 2}) : 0;
    if (random_.chance(lmc > 0 ? 0.7 : 0.1)) knob("HAWSER_RAIL_PATHS", one_of({2, 4}));
    const double latency = static_cast<double>(duration(200, 20 * microsecond));
    fabric.parameters = fmt::format("link-latency {}us\nlmc {}\nlink-layer {}\n", latency / 1000, lmc,
                                    parts_.ethernet ? "ethernet" : "infiniband");
    rated_ = random_.chance(0.3);
    if (rated_) {
      fabric.parameters +=
          fmt::format("link-rate {}MB/s\nchunk {}K\n", one_of({500, 1000, 4000}), one_of({2, 8, 16}));
      draw_slow_rail(fabric);
    }
  }

  // Unlike rails: one is slower everywhere, or at one host only.
  void draw_slow_rail(FabricOptions& fabric) {
    if (parts_.rails == 1 || !random_.chance(0.3)) return;
    const int hosts = random_.chance(0.5) ? parts_.hosts : 1;
    const int rate = one_of({100, 250});
    for (int host = 0; host < hosts; ++host)
      fabric.parameters += fmt::format("link {} rate {}MB/s\n", parts_.adapter(host, parts_.rails - 1), rate);
  }

  void draw_knobs() {
    packet_ = one_of({2048, 2048, 4096, 8192});
    knob("HAWSER_RAIL_PACKET", packet_);
    knob("HAWSER_RAIL_RECEIVES", one_of({64, 64, 128}));
    knob("HAWSER_RAIL_SEND_DEPTH", one_of({16, 32, 64}));
    knob("HAWSER_RAIL_RENDEZVOUS", one_of({"read", "write"}));
    if (random_.chance(0.5)) {
      knob("HAWSER_RAIL_POLICY",
           one_of({"binding", "round_robin", "weighted_round_robin", "window_round_robin(4)", "even",
                   "weighted", "adaptive", "epc", "bss(2,4)"}));
    }
    knob("HAWSER_RAIL_READS", one_of({1, 4, 32}));
    knob("HAWSER_RAIL_STRIPE", one_of({4096, 8192, 16384}));
    knob("HAWSER_RAIL_PROBE", one_of({0, 2048, 4096, 16384}));
    if (random_.chance(0.2)) knob("HAWSER_RAIL_ENGINES", 2);
    // Drawn apart, so that older seeds stay what they were.
    Random caps(scenario_.seed * 521 + 7);
    if (caps.chance(0.3)) {
      knob("HAWSER_CONNECTIONS", 1 + caps.below(6));
      knob("HAWSER_CONNECTION_VICTIMS", caps.chance(0.5) ? "lru" : "lru_m");
    }
    Random datagrams(scenario_.seed * 643 + 29);
    constexpr int most_by_datagram[] = {0, 1, 4, 16, 64, 1000};
    knob("HAWSER_RAIL_DATAGRAMS", most_by_datagram[datagrams.below(std::size(most_by_datagram))]);
    draw_ways();
    parts_.checksum = random_.chance(0.25);
    if (parts_.checksum) knob("HAWSER_CHECKSUM", "on");
    // The whole of an adapter's patience: 80 us to 10 ms; more than the queues before a rate hold.
    const Nanoseconds acknowledge =
        rated_ ? duration(2 * millisecond, 4 * millisecond) : duration(80 * microsecond, 2 * millisecond);
    knob("HAWSER_RAIL_ACKNOWLEDGE_TIME", fmt::format("{}ns", acknowledge));
    knob("HAWSER_RAIL_RETRIES",
         rated_ ? 2 + random_.below(3) : random_.below(acknowledge > 500 * microsecond ? 4 : 8));
    knob("HAWSER_RAIL_WATCHDOG",
         fmt::format("{}ns", rated_ ? 50 * millisecond : duration(2 * millisecond, 50 * millisecond)));
    // Drawn apart, so that older seeds stay what they were.
    Random own(scenario_.seed * 193 + 17);
    knob("HAWSER_RAIL_SILENCE",
         fmt::format("{}ns", own.chance(0.25) ? 0
                             : rated_         ? 20 * millisecond
                                              : Nanoseconds{500 * microsecond} << own.below(6)));
    knob("HAWSER_RAIL_DRAIN_TIME", fmt::format("{}ns", duration(100 * microsecond, 10 * millisecond)));
  }

  // Connections on demand, which the messages of a scenario would be over too soon to ask for. Drawn apart.
  void draw_ways() {
    Random ways(scenario_.seed * 877 + 41);
    if (ways.chance(0.15)) knob("HAWSER_RAIL_ENGINES", "auto");
    if (ways.chance(0.4)) knob("HAWSER_RAIL_PATHS", "auto");
    constexpr std::uint32_t restless[] = {0, 1, 2, 4, 16};
    scenario_.simulation.restless_paths = restless[ways.below(std::size(restless))];
    // Messages share packets also behind few others, or none.
    constexpr std::int32_t behind[] = {0, 0, 1, 4};
    Random bundles(scenario_.seed * 761 + 11);
    scenario_.simulation.bundles_behind = behind[bundles.below(std::size(behind))];
    // Peers are retired as soon as they rest a little.
    Random rest(scenario_.seed * 521 + 7);
    if (rest.chance(0.5)) scenario_.simulation.peer_rest = millisecond << rest.below(6);
  }

  void draw_program() {
    TrafficShape shape;
    shape.ranks = ranks();
    const bool many = shape.ranks > 8;
    shape.phases = number(4, many ? 7 : 13);
    shape.messages_per_phase = many ? 4 * shape.ranks : number(4, 19);
    shape.largest = random_.chance(0.1) ? 300'000 : 64'000;
    shape.rendezvous = packet_;
    shape.most_computing = duration(microsecond, 5 * millisecond);
    scenario_.traffic = draw_traffic(shape, random_);
    // Drawn apart, so that older seeds stay what they were.
    Random windows(scenario_.seed * 389 + 11);
    if (ranks() > most_ranks_with_windows) return;
    if (windows.chance(0.3))
      scenario_.traffic.windows = draw_windows({ranks(), shape.phases, shape.largest}, windows);
    Random epochs(scenario_.seed * 541 + 31);
    if (!epochs.chance(0.3)) return;
    const std::int32_t part = shape.largest / static_cast<std::int32_t>(sizeof(std::uint64_t));
    scenario_.traffic.epochs = draw_epochs({.ranks = ranks(), .epochs = shape.phases, .part = part}, epochs);
  }

  // Ranks that compute while messages are under way, and are interrupted then: at once, or late. Where
  // nothing fails they compute for so long that it is noticed if one is not.
  void draw_interrupts() {
    const bool calm = fabric().incidents.empty() && fabric().faults.empty();
    knob("HAWSER_PROGRESS", "interrupt");
    fabric().cost.interrupt = 100 << interrupts_.below(8);
    for (PlannedPhase& phase : scenario_.traffic.phases)
      phase.most_aside = calm ? 500 * millisecond : microsecond << interrupts_.below(14);
    fabric().tells_of_earlier = interrupts_.chance(0.5);
    // Ranks of a host that talk over the network model are not interrupted.
    if (!calm || (fabric().ranks_per_host > 1 && !fabric().rails_within_host)) return;
    scenario_.traffic.longest_send = 50 * millisecond;
    scenario_.traffic.rendezvous = packet_;
  }

  // Broadcasts by multicast, of few roots, with which others are in between; and packets that are lost then.
  void draw_multicast() {
    knob("HAWSER_MULTICAST", "always");
    const int roots = 1 + static_cast<int>(multicast_.below(2));
    const bool many = ranks() > 8;
    for (PlannedPhase& phase : scenario_.traffic.phases)
      for (auto left = multicast_.below(many ? 4 : 16); left > 0; --left) {
        const auto all = static_cast<std::uint64_t>(ranks());
        PlannedCollective each;
        each.kind = multicast_.chance(0.3) ? PlannedCollective::Kind::immediate_broadcast
                                           : PlannedCollective::Kind::broadcast;
        each.root =
            static_cast<int>((scenario_.seed + multicast_.below(static_cast<std::uint64_t>(roots))) % all);
        each.key = multicast_.next();
        const std::uint64_t most = multicast_.chance(0.7)   ? 64
                                   : multicast_.chance(0.7) ? 9000
                                   : many                   ? 20'000
                                                            : 200'000;
        each.count = static_cast<int>(1 + multicast_.below(most));
        phase.collectives.push_back(each);
      }
    if (!wishes_.faults || multicast_.chance(0.3)) return;
    for (auto left = 1 + multicast_.below(3); left > 0; --left) {
      const std::string port =
          parts_.adapter(static_cast<int>(multicast_.below(static_cast<std::uint64_t>(parts_.hosts))),
                         static_cast<int>(multicast_.below(static_cast<std::uint64_t>(parts_.rails))));
      Incident incident;
      incident.begin = {fmt::format("link {} loss {:.3f}", port, 0.2 * multicast_.uniform())};
      if (multicast_.chance(0.3))
        incident.begin.push_back(fmt::format("link {} delay {}us", port, 1 << multicast_.below(8)));
      incident.end = {fmt::format("link {} clear", port)};
      incident.after_packets = 1 + multicast_.below(200);
      incident.lasts = millisecond << multicast_.below(9);
      fabric().incidents.push_back(std::move(incident));
    }
    fabric().heal = healing(parts_);
  }

  // Allgathers among the broadcasts, small ones in a row, so that leaders agree on multicast; and areas,
  // through which the ranks of a host spread what came.
  void draw_gathers() {
    if (fabric().ranks_per_host > 1 && gathers_.chance(0.5)) scenario_.simulation.areas.emplace();
    for (PlannedPhase& phase : scenario_.traffic.phases) {
      const std::uint64_t most = gathers_.chance(0.8) ? 600 : 60'000 / static_cast<std::uint64_t>(ranks());
      for (auto left = gathers_.below(ranks() > 8 ? 4 : 10); left > 0; --left) {
        PlannedCollective each;
        each.kind = PlannedCollective::Kind::allgather;
        each.key = gathers_.next();
        each.count = static_cast<int>(1 + gathers_.below(most));
        const auto place = static_cast<std::ptrdiff_t>(gathers_.below(phase.collectives.size() + 1));
        phase.collectives.insert(phase.collectives.begin() + place, each);
      }
    }
  }

  // The first ranks of all hosts come late to many broadcasts in turn, so that the others of their hosts
  // attach, and in some phases in time, so that they detach.
  void draw_late_leaders() {
    if (scenario_.survivors.any()) scenario_.survivors.late_every = fabric().ranks_per_host;
    for (PlannedPhase& phase : scenario_.traffic.phases) {
      if (late_.chance(0.3)) continue;
      const bool late = late_.chance(0.7);
      phase.late_every = late ? fabric().ranks_per_host : 0;
      phase.late = (50 << late_.below(6)) * microsecond;
      const auto root = static_cast<int>(late_.below(static_cast<std::uint64_t>(ranks())));
      for (auto left = 1 + late_.below(80); left > 0; --left) {
        PlannedCollective each;
        each.kind = late_.chance(0.1) ? PlannedCollective::Kind::immediate_broadcast
                                      : PlannedCollective::Kind::broadcast;
        each.root = root;
        each.key = late_.next();
        each.count = static_cast<int>(1 + late_.below(late_.chance(0.5) ? 64 : 16'384));
        phase.collectives.push_back(each);
      }
    }
  }

  // Roughly, so that incidents fall into the program.
  std::uint64_t packets_needed() const {
    const SurvivorPlan& survivors = scenario_.survivors;
    return 40 + scenario_.traffic.messages() * 5 +
           static_cast<std::uint64_t>(survivors.rounds) * 30 * static_cast<std::uint64_t>(ranks());
  }

  // Ranks are killed, sometimes one soon after the other, so that it is while the others repair. In some jobs
  // who cannot be reached for long is killed, too.
  void draw_survivors() {
    SurvivorPlan plan;
    plan.rounds = 4 + static_cast<int>(kills_.below(24));
    plan.largest = kills_.chance(0.2) ? 300'000 : 40'000;
    plan.computing = microsecond << kills_.below(11);
    plan.windows = kills_.chance(0.3);
    const auto all = static_cast<std::uint64_t>(ranks());
    SimulatedSurvival survival;
    survival.news_after = microsecond << kills_.below(13);
    survival.reporting_time = millisecond << kills_.below(5);
    Nanoseconds at = microsecond << kills_.below(14);
    for (std::uint64_t left = 1 + kills_.below(std::min<std::uint64_t>(4, all - 1)); left > 0; --left) {
      at += 1 + static_cast<Nanoseconds>(kills_.below(1000)) +
            (kills_.chance(0.3) ? 0 : 500 << kills_.below(13));
      survival.kills.push_back({static_cast<int>(kills_.below(all)), at});
    }
    plan.last_kill = at;
    if (kills_.chance(0.3))
      knob("HAWSER_RAIL_GIVE_UP", fmt::format("{}ns", (2 + kills_.below(60)) * millisecond));
    scenario_.traffic = {};
    scenario_.survivors = plan;
    scenario_.simulation.survival = std::move(survival);
  }

  void draw_incidents() {
    const std::uint64_t packets = packets_needed();
    const int count = random_.chance(0.05) ? 0 : number(1, 5);
    const bool one_kind = random_.chance(0.25);
    const IncidentKind* kind = nullptr;
    for (int i = 0; i < count; ++i) {
      Incident incident;
      if (kind == nullptr || !one_kind) kind = draw_kind();
      kind->draw(parts_, random_, incident);
      incident.lasts = duration(5 * microsecond, 100 * millisecond);
      if (random_.chance(0.85)) {
        incident.after_packets = 1 + random_.below(packets);
      } else {
        incident.at = static_cast<Nanoseconds>(random_.below(10 * millisecond));
      }
      fabric().incidents.push_back(std::move(incident));
    }
    fabric().heal = healing(parts_);
  }

  // Two ports at each adapter, the second for automatic path migration; ports that are down when the job
  // begins.
  void draw_rare_fabric() {
    if (rare_.chance(0.5)) fabric().ports = parts_.ports = 2;
    if (rare_.chance(0.25)) knob("HAWSER_RAIL_MIGRATION", "off");
    while (rare_.chance(0.3)) {
      const std::string port =
          parts_.adapter(static_cast<int>(rare_.below(static_cast<std::uint64_t>(parts_.hosts))),
                         static_cast<int>(rare_.below(static_cast<std::uint64_t>(parts_.rails))));
      fabric().faults += fmt::format("0 link {} down\n", port);
      Incident end;
      end.at = 0;
      end.lasts = static_cast<Nanoseconds>(rare_.below(20 * millisecond)) + 1;
      end.end = {fmt::format("link {} up", port)};
      fabric().incidents.push_back(std::move(end));
    }
  }

  void draw_rare_incidents() {
    for (const IncidentKind* kind : rare_incident_kinds()) {
      if (!kind->possible(parts_) || !rare_.chance(0.5)) continue;
      Incident incident;
      kind->draw(parts_, rare_, incident);
      incident.lasts = millisecond;
      incident.after_packets = 1 + rare_.below(packets_needed());
      fabric().incidents.push_back(std::move(incident));
    }
    fabric().heal = healing(parts_);
  }

  const IncidentKind* draw_kind() {
    const auto kinds = incident_kinds();
    for (;;) {
      const IncidentKind* kind = kinds[random_.below(kinds.size())];
      if (kind->possible(parts_)) return kind;
    }
  }

  FabricParts parts_;
  // Drawn apart, so that older seeds stay what they were.
  Random rare_{scenario_.seed * 131 + 5}, interrupts_{scenario_.seed * 257 + 11};
  Random multicast_{scenario_.seed * 769 + 3}, kills_{scenario_.seed * 911 + 53};
  Random late_{scenario_.seed * 1049 + 59}, gathers_{scenario_.seed * 1201 + 67};
  int packet_ = 0;
  bool rated_ = false;
  bool late_leaders_ = false;
};

}  // namespace

Scenario draw_scenario(std::uint64_t seed, const ScenarioWishes& wishes) {
  if (wishes.calm) return draw_calm_scenario(seed, wishes);
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  return FaultyDrawing(seed, wishes, random).draw();
}

std::string Scenario::describe() const {
  const FabricOptions& fabric = *simulation.fabric;
  std::string text = fmt::format(
      "seed {}: {} ranks, {} per host{}, {} with {} rails; {} phases, {} messages, {} accesses to windows, "
      "{} operations in epochs\n",
      seed, simulation.ranks, fabric.ranks_per_host, fabric.rails_within_host ? " (over rails too)" : "",
      fabric.topology, fabric.rails, traffic.phases.size(), traffic.messages(), traffic.windows.accesses(),
      traffic.epochs.operations());
  std::string parameters = fabric.parameters;
  std::ranges::replace(parameters, '\n', ';');
  text += fmt::format("  fabric: {}\n ", parameters);
  for (const auto& [name, value] : simulation.knobs) text += fmt::format(" {}={}", name, value);
  const std::uint32_t restless = simulation.restless_paths;
  if (restless > 0) text += fmt::format(" restless_paths={}", restless);
  text += simulation.areas ? " areas" : "";
  text += fmt::format(" bundles_behind={} peer_rest={}ns", simulation.bundles_behind, simulation.peer_rest);
  text += '\n';
  for (const PlannedPhase& phase : traffic.phases) {
    if (fabric.incidents.empty()) text += "  " + phase.describe() + "\n";
  }
  if (const auto& survival = simulation.survival) {
    text += fmt::format("  {} rounds and more, of at most {} bytes{}; killed:", survivors.rounds,
                        survivors.largest, survivors.windows ? ", with windows" : "");
    for (const auto& [rank, at] : survival->kills) text += fmt::format(" rank {} at {} ns", rank, at);
    text += fmt::format("; heard of within {} ns\n", survival->news_after);
  }
  for (const Incident& incident : fabric.incidents) {
    text += incident.at != never ? fmt::format("  at {} ns", incident.at)
                                 : fmt::format("  after {} packets", incident.after_packets);
    text += fmt::format(", for {} ns:", incident.lasts);
    for (const std::string& command : incident.begin) text += fmt::format(" [{}]", command);
    text += '\n';
  }
  return text;
}

}  // namespace hawser
