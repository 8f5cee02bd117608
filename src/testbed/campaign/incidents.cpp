#include "testbed/campaign/incidents.h"

#include <fmt/format.h>

namespace hawser {
namespace {

std::string any_adapter(const FabricParts& parts, Random& random) {
  const auto host = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.hosts)));
  return parts.adapter(host, static_cast<int>(random.below(static_cast<std::uint64_t>(parts.rails))));
}

std::string port_of(const std::string& adapter, int number) {
  return number == 1 ? adapter : fmt::format("{}:{}", adapter, number);
}

// A port of it, for what befalls a cable. Drawn only where there is a choice: the same seeds, the same
// faults.
std::string any_port(const FabricParts& parts, Random& random) {
  const std::string adapter = any_adapter(parts, random);
  return port_of(adapter, parts.ports > 1 && random.chance(0.5) ? 2 : 1);
}

class Everywhere : public IncidentKind {
 public:
  bool possible(const FabricParts&) const override { return true; }
};

class LinkDown final : public Everywhere {
 public:
  const char* name() const override { return "link down"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string port = any_port(parts, random);
    incident.begin.push_back(fmt::format("link {} down", port));
    incident.end.push_back(fmt::format("link {} up", port));
  }
};

class PacketLoss final : public Everywhere {
 public:
  const char* name() const override { return "packet loss"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    constexpr double shares[] = {0.01, 0.05, 0.2, 0.5, 0.95};
    const std::string port = any_port(parts, random);
    incident.begin.push_back(fmt::format("link {} loss {}", port, shares[random.below(std::size(shares))]));
    incident.end.push_back(fmt::format("link {} clear", port));
  }
};

class LostAcknowledgements final : public Everywhere {
 public:
  const char* name() const override { return "lost acknowledgements"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string port = any_adapter(parts, random);
    const bool all = random.chance(0.5);
    incident.begin.push_back(all ? fmt::format("acks {} lose", port)
                                 : fmt::format("acks {} lose {}", port, 1 + random.below(24)));
    incident.end.push_back(fmt::format("acks {} keep", port));
  }
};

class SlowLink final : public Everywhere {
 public:
  const char* name() const override { return "degraded link"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string port = any_port(parts, random);
    incident.begin.push_back(random.chance(0.5)
                                 ? fmt::format("link {} rate {}MB/s", port, 1 + random.below(100))
                                 : fmt::format("link {} delay {}us", port, 20 << random.below(8)));
    incident.end.push_back(fmt::format("link {} clear", port));
  }
};

class OneWayBlackHole final : public Everywhere {
 public:
  const char* name() const override { return "black hole"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    constexpr const char* ways[] = {"out", "in", "both"};
    const std::string port = any_port(parts, random);
    incident.begin.push_back(fmt::format("link {} blackhole {}", port, ways[random.below(3)]));
    incident.end.push_back(fmt::format("link {} clear", port));
  }
};

// One that comes back has another address. Two ends that have lost all of theirs do not find each other again
// where nobody else knows both: only one host may lose all of its adapters.
std::string mortal_adapter(const FabricParts& parts, Random& random) {
  const auto host = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.hosts)));
  if (parts.rails > 1 && host != parts.mortal_host) return parts.adapter(host, parts.mortal_rail);
  return parts.adapter(parts.mortal_host,
                       static_cast<int>(random.below(static_cast<std::uint64_t>(parts.rails))));
}

class DeadAdapter final : public Everywhere {
 public:
  const char* name() const override { return "dead adapter"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string adapter = mortal_adapter(parts, random);
    incident.begin.push_back(fmt::format("adapter {} dead", adapter));
    incident.end.push_back(fmt::format("adapter {} alive", adapter));
  }
};

// It acknowledges for a while what never reaches the host, and then dies with it.
class DyingAdapter final : public Everywhere {
 public:
  const char* name() const override { return "dying adapter"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string adapter = mortal_adapter(parts, random);
    incident.begin.push_back(fmt::format("adapter {} dying", adapter));
    incident.end.push_back(fmt::format("adapter {} {}", adapter, random.chance(0.5) ? "dead" : "alive"));
  }
};

class DeadSwitch final : public IncidentKind {
 public:
  const char* name() const override { return "dead switch"; }
  bool possible(const FabricParts& parts) const override { return !parts.switches.empty(); }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string& name = parts.switches[random.below(parts.switches.size())];
    incident.begin.push_back(fmt::format("switch {} dead", name));
    incident.end.push_back(fmt::format("switch {} alive", name));
  }
};

// All rails of a host at once, seen by everyone or by nobody.
class Partition final : public Everywhere {
 public:
  const char* name() const override { return "partition"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const auto host = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.hosts)));
    const bool silent = random.chance(0.4);
    for (int rail = 0; rail < parts.rails; ++rail) {
      for (int number = 1; number <= parts.ports; ++number) {
        const std::string port = port_of(parts.adapter(host, rail), number);
        incident.begin.push_back(fmt::format("link {} {}", port, silent ? "blackhole both" : "down"));
        incident.end.push_back(fmt::format("link {} {}", port, silent ? "clear" : "up"));
      }
    }
  }
};

class HungRequest final : public Everywhere {
 public:
  const char* name() const override { return "hung request"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    incident.begin.push_back(fmt::format("qp {} {{rc}} hang", any_adapter(parts, random)));
  }
};

class KilledQueuePair final : public Everywhere {
 public:
  const char* name() const override { return "killed queue pair"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string adapter = any_adapter(parts, random);
    const auto victims = 1 + random.below(3);
    for (std::uint64_t i = 0; i < victims; ++i)
      incident.begin.push_back(fmt::format("qp {} {{rc}} kill", adapter));
  }
};

// Those of the handshake; what is connected is not touched.
class KilledDatagrams final : public Everywhere {
 public:
  const char* name() const override { return "killed datagram queue pair"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    incident.begin.push_back(fmt::format("qp {} {{ud}} kill", any_adapter(parts, random)));
  }
};

class CorruptedPayload final : public IncidentKind {
 public:
  const char* name() const override { return "corrupted payload"; }
  bool possible(const FabricParts& parts) const override { return parts.checksum; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string port = any_adapter(parts, random);
    incident.begin.push_back(fmt::format("payload {} corrupt {}", port, 1 + random.below(6)));
    incident.end.push_back(fmt::format("payload {} keep", port));
  }
};

// Events that change nothing, or that change addresses.
class SubnetChange final : public Everywhere {
 public:
  const char* name() const override { return "subnet change"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    const std::string port = any_adapter(parts, random);
    if (parts.ethernet && random.chance(0.5)) {
      incident.begin.push_back(fmt::format("link {} down", port));
      incident.end.push_back(fmt::format("gid {} move 0 {}", port, 1 + random.below(4)));
      incident.end.push_back(fmt::format("link {} up", port));
    } else {
      incident.begin.push_back(random.chance(0.5) ? "sm change" : "tables reroute");
    }
  }
};

// The subnet manager gives an adapter other addresses. Which ones may move is as for adapters that die.
class MovedLid final : public IncidentKind {
 public:
  const char* name() const override { return "moved LID"; }
  bool possible(const FabricParts& parts) const override { return !parts.ethernet; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    // One that no port has: each has up to four, and switches have some.
    constexpr int most_lids = 4;
    const bool few = parts.hosts * parts.rails * parts.ports * most_lids < 190;
    const std::uint64_t lid = (few ? 200 : 4000) + 8 * random.below(100);
    incident.begin.push_back(fmt::format("lid {} {}", mortal_adapter(parts, random), lid));
  }
};

// What is sent to find or ask another process stays where it is.
class HungDatagrams final : public Everywhere {
 public:
  const char* name() const override { return "hung datagram queue pair"; }
  void draw(const FabricParts& parts, Random& random, Incident& incident) const override {
    incident.begin.push_back(fmt::format("qp {} {{ud}} hang", any_adapter(parts, random)));
  }
};

constexpr LinkDown link_down;
constexpr PacketLoss packet_loss;
constexpr LostAcknowledgements lost_acknowledgements;
constexpr SlowLink slow_link;
constexpr OneWayBlackHole one_way_black_hole;
constexpr DeadAdapter dead_adapter;
constexpr DyingAdapter dying_adapter;
constexpr DeadSwitch dead_switch;
constexpr Partition partition;
constexpr HungRequest hung_request;
constexpr KilledQueuePair killed_queue_pair;
constexpr KilledDatagrams killed_datagrams;
constexpr CorruptedPayload corrupted_payload;
constexpr SubnetChange subnet_change;
constexpr const IncidentKind* kinds[] = {
    &link_down,         &packet_loss,      &lost_acknowledgements, &slow_link,    &one_way_black_hole,
    &dead_adapter,      &dying_adapter,    &dead_switch,           &partition,    &hung_request,
    &killed_queue_pair, &killed_datagrams, &corrupted_payload,     &subnet_change};
constexpr MovedLid moved_lid;
constexpr HungDatagrams hung_datagrams;
constexpr const IncidentKind* rare_kinds[] = {&moved_lid, &hung_datagrams};

}  // namespace

std::string FabricParts::adapter(int host, int rail) const { return fmt::format("n{}/hw{}", host, rail); }

std::span<const IncidentKind* const> incident_kinds() { return kinds; }
std::span<const IncidentKind* const> rare_incident_kinds() { return rare_kinds; }

std::vector<std::string> healing(const FabricParts& parts) {
  std::vector<std::string> commands;
  for (const std::string& name : parts.switches) commands.push_back(fmt::format("switch {} alive", name));
  for (int host = 0; host < parts.hosts; ++host) {
    for (int rail = 0; rail < parts.rails; ++rail) {
      const std::string port = parts.adapter(host, rail);
      commands.push_back(fmt::format("adapter {} alive", port));
      for (int number = 1; number <= parts.ports; ++number) {
        commands.push_back(fmt::format("link {} up", port_of(port, number)));
        commands.push_back(fmt::format("link {} clear", port_of(port, number)));
      }
      commands.push_back(fmt::format("acks {} keep", port));
      commands.push_back(fmt::format("payload {} keep", port));
    }
  }
  if (!parts.switches.empty()) commands.push_back("tables reroute");
  return commands;
}

}  // namespace hawser
