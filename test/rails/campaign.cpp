#include "rails/campaign.h"

#include <fmt/format.h>

#include "base/random.h"

namespace hawser::rails_test {
namespace {

// Drawn apart, so that older seeds stay what they were.
Random migration_random(std::uint64_t seed) { return Random(seed * 131 + 5); }

void draw_migration(ClusterOptions& options) {
  Random random = migration_random(options.seed);
  if (random.chance(0.25)) options.knobs.rail_migration = "off";
  if (random.chance(0.3)) options.ports = 2;
}

// Some begin while a port is down.
void draw_beginning(ClusterOptions& options) {
  Random random(options.seed * 173 + 11);
  while (random.chance(0.2))
    options.before.push_back(fmt::format("link n{}/hw{} down",
                                         random.below(static_cast<std::uint64_t>(options.hosts)),
                                         random.below(static_cast<std::uint64_t>(options.rails))));
}

ClusterOptions draw_cluster(std::uint64_t seed, Random& random) {
  ClusterOptions options;
  options.seed = seed;
  options.hosts = 2 + static_cast<int>(random.below(2));
  options.rails = 1 + static_cast<int>(random.below(3));
  const char* const topologies[] = {"single-switch", "two-switch", "back-to-back"};
  options.topology = topologies[random.below(options.hosts == 2 ? 3 : 2)];
  if (options.topology == "two-switch" && options.rails > 2) options.rails = 2;
  options.parameters.link_latency = static_cast<Nanoseconds>(random.below(20)) * microsecond;
  if (random.chance(0.7)) {
    options.parameters.link_rate = 200e6;
    options.parameters.chunk = 16384;
  }
  options.parameters.seed = seed + 3;
  if (random.chance(0.3)) {
    options.parameters.lmc = 1;
    options.knobs.rail_paths = 2;
  }
  if (random.chance(0.3)) options.knobs.rail_engines = 2;
  options.knobs.rail_rendezvous = random.chance(0.5) ? "read" : "write";
  const char* const policies[] = {"auto", "round_robin", "even", "adaptive", "epc", "weighted"};
  options.knobs.rail_policy = policies[random.below(6)];
  options.knobs.checksum = random.chance(0.3);
  options.knobs.rail_send_depth = random.chance(0.3) ? 16 : 128;
  options.knobs.rail_reads = random.chance(0.3) ? 2 : 32;
  options.knobs.rail_silence = Random(seed * 193 + 17).below(4) * 20 * millisecond;  // 0: off
  draw_migration(options);
  draw_beginning(options);
  return options;
}

MessageShape draw_message(Random& random, int hosts, int from) {
  MessageShape shape;
  shape.to = (from + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(hosts - 1)))) % hosts;
  shape.exposed = random.chance(0.4);
  shape.bytes = static_cast<std::int64_t>(
      shape.exposed ? random.below(random.chance(0.2) ? 1000000 : 100000) + 1 : random.below(8000));
  if (shape.exposed && random.chance(0.2))
    shape.wanted = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.bytes) + 1));
  shape.packed_source = random.chance(0.2);
  shape.packed_target = shape.exposed && random.chance(0.2);
  if (shape.exposed && random.chance(0.3))
    shape.fetch_after = static_cast<Nanoseconds>(random.below(3000)) * microsecond;
  return shape;
}

struct Incident {
  std::string fault, remedy;  // no remedy: it passes by itself
};

Incident draw_death(const std::string& adapter, Random& random) {
  const double dice = random.uniform();
  if (dice < 0.4) return {adapter + " dead", adapter + " alive"};
  if (dice < 0.8) return {adapter + " dying", adapter + " alive"};
  return {adapter + " dying", adapter + " dead"};
}

// Two addresses that move while their ends are cut off from each other cannot be found again: `moved` says
// that one has.
Incident draw_incident(Random& random, const ClusterOptions& options, bool moved) {
  const std::string adapter = fmt::format("n{}/hw{}", random.below(static_cast<std::uint64_t>(options.hosts)),
                                          random.below(static_cast<std::uint64_t>(options.rails)));
  const auto clear = "link " + adapter + " clear";
  switch (random.below(options.knobs.checksum ? 15 : 13)) {
    case 0:
    case 1:
      return {"link " + adapter + " down", "link " + adapter + " up"};
    case 2: {
      const char* const ways[] = {"in", "out", "both"};
      return {fmt::format("link {} blackhole {}", adapter, ways[random.below(3)]), clear};
    }
    case 3:
      return {fmt::format("link {} loss 0.{:02}", adapter, 1 + random.below(60)), clear};
    case 4:
      return {options.parameters.link_rate > 0
                  ? fmt::format("link {} rate {}%", adapter, 1 + random.below(50))
                  : fmt::format("link {} rate {}MB/s", adapter, 1 + random.below(50)),
              clear};
    case 5:
      return {"qp " + adapter + " any kill", ""};
    case 6:
      return {"qp " + adapter + " any hang", ""};
    case 7:
      return {"acks " + adapter + " lose", "acks " + adapter + " keep"};
    case 8:
      return {fmt::format("acks {} lose {}", adapter, 1 + random.below(20)), "acks " + adapter + " keep"};
    case 9:
      return {"qp " + adapter + " all kill", ""};
    case 10: {
      if (options.topology == "back-to-back") return {"link " + adapter + " down", "link " + adapter + " up"};
      const std::string name =  // one for each rail
          options.topology == "two-switch"
              ? fmt::format("switch{}", random.below(2) % static_cast<std::uint64_t>(options.rails))
              : "switch0";
      return {"switch " + name + " dead", "switch " + name + " alive"};
    }
    case 11:
      if (moved) return {"sm change", ""};
      return {fmt::format("lid {} {}", adapter, 200 + 8 * random.below(100)), ""};
    case 13:
    case 14:
      return {fmt::format("payload {} corrupt {}", adapter, 1 + random.below(10)),
              "payload " + adapter + " keep"};
    default:
      // The first rail stays, so that there is a way in the end.
      if (options.rails < 2) return {"sm change", ""};
      return draw_death(
          fmt::format("adapter n{}/hw1", random.below(static_cast<std::uint64_t>(options.hosts))), random);
  }
}

}  // namespace

// Of an adapter with two ports, the other port's link half of the time.
void draw_port(Incident& incident, const ClusterOptions& options, Random& random) {
  if (options.ports < 2 || !incident.fault.starts_with("link ") || !random.chance(0.5)) return;
  for (std::string* text : {&incident.fault, &incident.remedy}) text->insert(text->find(' ', 5), ":2");
}

void heal_all(RailCluster& cluster, const ClusterOptions& options) {
  for (int host = 0; host < options.hosts; ++host) {
    for (int rail = 0; rail < options.rails; ++rail) {
      for (int port = 1; port <= options.ports; ++port) {
        cluster.inject(fmt::format("adapter n{}/hw{} alive", host, rail));
        cluster.inject(fmt::format("link n{}/hw{}:{} clear", host, rail, port));
        cluster.inject(fmt::format("link n{}/hw{}:{} up", host, rail, port));
      }
      cluster.inject(fmt::format("acks n{}/hw{} keep", host, rail));
      cluster.inject(fmt::format("payload n{}/hw{} keep", host, rail));
    }
  }
  // The subnet manager comes by last: it may have routed around what was down.
  cluster.inject("tables reroute");
}

// What one sent the other has delivered, and no credit is missing.
bool counters_agree_now(RailCluster& cluster) {
  for (int from = 0; from < cluster.size(); ++from)
    for (int to = 0; to < cluster.size(); ++to) {
      if (from == to) continue;
      const RailChannel::SequenceCounters there = cluster.at(from).channel().sequence_counters(to);
      const RailChannel::SequenceCounters here = cluster.at(to).channel().sequence_counters(from);
      if (there.sent != here.delivered || there.under_way > here.delivered - here.acknowledged_to_peer)
        return false;
    }
  return true;
}

// A credit that was lost with its path is made up for when the two ends meet again, which may take until
// after both are at rest.
bool counters_agree(RailCluster& cluster) {
  for (const Nanoseconds until = cluster.now() + 10 * second; !counters_agree_now(cluster);) {
    if (cluster.now() >= until) return false;
    cluster.run(cluster.now() + 10 * millisecond, false);
  }
  return true;
}

CampaignResult run_campaign(std::uint64_t seed) {
  Random random(seed * 31 + 7);
  const ClusterOptions options = draw_cluster(seed, random);
  RailCluster cluster(options);
  Random ports = migration_random(seed + 1);
  CampaignResult result;
  const Nanoseconds faulty_time = static_cast<Nanoseconds>(50 + random.below(400)) * millisecond;
  const auto messages = 50 + random.below(200);
  std::string story =
      fmt::format("seed {}: {} hosts, {} rails x {} ports, {}, {}, {} messages", seed, options.hosts,
                  options.rails, options.ports, options.topology, options.knobs.rail_policy, messages);
  for (const std::string& fault : options.before) story += "\n  at the start " + fault;
  const auto incidents = 1 + random.below(8);
  bool moved = false;
  for (std::uint64_t i = 0; i < incidents; ++i) {
    Incident incident = draw_incident(random, options, moved);
    draw_port(incident, options, ports);
    moved |= incident.fault.starts_with("lid");
    const auto from = static_cast<Nanoseconds>(random.below(static_cast<std::uint64_t>(faulty_time)));
    cluster.inject_at(from, incident.fault);
    story += fmt::format("\n  {:.6f} {}", static_cast<double>(from) * 1e-9, incident.fault);
    if (incident.remedy.empty()) continue;
    const auto to = from + static_cast<Nanoseconds>(random.below(200 * millisecond));
    cluster.inject_at(std::min(to, faulty_time), incident.remedy);
    story +=
        fmt::format("\n  {:.6f} {}", static_cast<double>(std::min(to, faulty_time)) * 1e-9, incident.remedy);
  }
  Nanoseconds time = 0;
  for (std::uint64_t i = 0; i < messages && cluster.failure().empty(); ++i) {
    const int from = static_cast<int>(random.below(static_cast<std::uint64_t>(options.hosts)));
    cluster.at(from).post(draw_message(random, options.hosts, from));
    if (random.chance(0.3)) {
      time += static_cast<Nanoseconds>(random.below(static_cast<std::uint64_t>(faulty_time / 20)));
      cluster.run(std::min(time, faulty_time), false);
    }
  }
  cluster.run(faulty_time, false);
  heal_all(cluster, options);
  const bool done = cluster.run(faulty_time + 30 * second);
  const bool settled = done && cluster.settle(cluster.now() + 10 * second);
  result.virtual_time = cluster.now();
  for (int i = 0; i < cluster.size(); ++i) {
    const RailCounters& counters = cluster.at(i).channel().counters();
    result.messages += cluster.at(i).arrived;
    result.failures += counters.failures;
    result.already_arrived += counters.already_arrived;
    result.reissued += counters.packets_reissued + counters.stripes_reissued;
    result.partitions += counters.partitions;
    result.recoveries += counters.recoveries;
    result.migrations += counters.migrations;
    if (counters.protection_errors != 0) cluster.fail("an adapter refused a key");
    if (!cluster.at(i).lost.empty()) cluster.fail("a peer was lost");
  }
  if (settled && !counters_agree(cluster)) cluster.fail("the counters of two processes do not agree");
  if (settled && result.messages != messages) cluster.fail("messages are missing");
  if (!done) cluster.fail("not everything arrived in time");
  if (done && !settled) cluster.fail("not at rest in time");
  result.passed = cluster.failure().empty();
  if (!result.passed) result.text = story + "\n" + cluster.describe();
  return result;
}

}  // namespace hawser::rails_test
