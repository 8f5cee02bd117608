#include "fabric/parameters.h"

#include <bit>
#include <functional>
#include <limits>
#include <map>

#include "base/failure.h"
#include "fabric/limits.h"
#include "fabric/words.h"

namespace hawser::fabric {
namespace {

using Setter = std::function<Result<>(const std::string&)>;

template <class Target, class Parse>
Setter into(Target& target, Parse parse) {
  return [&target, parse](const std::string& text) -> Result<> {
    auto value = parse(text);
    if (!value) return value.take_error();
    target = static_cast<Target>(value.value());
    return {};
  };
}

template <class Target>
Setter size_into(Target& target, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  return into(target, [most](const std::string& text) { return parse_bytes(text, {0, most}); });
}

Result<> set_mtu(std::uint32_t& target, const std::string& text) {
  auto value = parse_bytes(text);
  if (!value) return value.take_error();
  if (value.value() < 256 || value.value() > 4096 ||
      !std::has_single_bit(static_cast<std::uint64_t>(value.value())))
    return failure(ErrorKind::invalid_argument, "'{}' is not an MTU; must be 256, 512, 1024, 2048 or 4096",
                   text);
  target = static_cast<std::uint32_t>(value.value());
  return {};
}

Setter rate_into(double& target) {
  return into(target, [](const std::string& text) { return parse_rate(text, possible_rates); });
}

Setter time_into(Nanoseconds& target) {
  return into(target, [](const std::string& text) { return parse_duration(text, possible_times); });
}

template <class Target>
Setter count_into(Target& target, Range<std::uint64_t> possible = {}) {
  return into(target, [possible](const std::string& text) { return parse_count(text, possible); });
}

Setter choice_into(bool& target, const char* no, const char* yes) {
  return [&target, no, yes](const std::string& text) -> Result<> {
    if (text != no && text != yes)
      return failure(ErrorKind::invalid_argument, "'{}' is neither '{}' nor '{}'", text, no, yes);
    target = text == yes;
    return {};
  };
}

class ParameterReader {
 public:
  ParameterReader(Topology& topology, Parameters& p) : topology_(topology), parameters_(p) {
    setters_["link-rate"] = rate_into(p.link_rate);
    setters_["link-latency"] = time_into(p.link_latency);
    setters_["switch-latency"] = time_into(p.switch_latency);
    setters_["mtu"] = [&p](const std::string& text) { return set_mtu(p.mtu, text); };
    // A packet with all its headers is less than 4 GiB on the wire, at any MTU.
    setters_["chunk"] = size_into(p.chunk, 16 << 20);
    setters_["header-bytes"] = size_into(p.header_bytes, 4096);
    setters_["buffer"] = size_into(p.buffer, std::int64_t{1} << 40);
    setters_["virtual-lanes"] = count_into(p.virtual_lanes, {1, 15});
    setters_["service-levels"] = count_into(p.service_levels, {1, 15});
    setters_["send-engines"] = count_into(p.send_engines, {1, 16});
    setters_["send-engine-rate"] = rate_into(p.send_engine_rate);
    setters_["receive-engines"] = count_into(p.receive_engines, {1, 16});
    setters_["receive-engine-rate"] = rate_into(p.receive_engine_rate);
    setters_["bus-rate"] = rate_into(p.bus_rate);
    setters_["bus"] = choice_into(p.bus_half_duplex, "full", "half");
    setters_["ecn-threshold"] = size_into(p.ecn_threshold, std::int64_t{1} << 40);
    setters_["adaptive-routing"] = choice_into(p.adaptive_routing, "off", "on");
    setters_["congestion-control"] = choice_into(p.congestion_control, "off", "on");
    setters_["ccti-increase"] = count_into(p.ccti_increase, {1, 127});
    setters_["ccti-limit"] = count_into(p.ccti_limit, {1, 127});
    setters_["ccti-timer"] = time_into(p.ccti_timer);
    setters_["cct-divisor"] = count_into(p.cct_divisor, {1, 1024});
    setters_["reroute-delay"] = time_into(p.reroute_delay);
    setters_["lmc"] = count_into(p.lmc, {0, 7});
    setters_["link-layer"] = [&p](const std::string& text) -> Result<> {
      bool ethernet = false;
      HAWSER_TRY(choice_into(ethernet, "infiniband", "ethernet")(text));
      p.link_layer = ethernet ? LinkLayer::ethernet : LinkLayer::infiniband;
      return {};
    };
    setters_["max-message"] = size_into(p.max_message);
    setters_["queue-pairs"] = count_into(p.queue_pairs, {1, 65536});
    setters_["endless-retries"] = choice_into(p.endless_retries, "off", "on");
    setters_["locked-memory"] = size_into(p.locked_memory);
    setters_["neighbour-time"] = time_into(p.neighbour_time);
    setters_["shuffle-seed"] = count_into(p.shuffle_seed);
    setters_["seed"] = count_into(p.seed);
  }

  // Several `key value` pairs may share a line; `host` and `link` take the whole line.
  Result<> read_line(std::string_view line) {
    const auto words = split_words(line);
    if (words.empty()) return {};
    if (words[0] == "host") return read_host(words);
    if (words[0] == "link") return read_link(words);
    for (std::size_t i = 0; i < words.size(); i += 2) {
      const auto setter = setters_.find(words[i]);
      if (setter == setters_.end())
        return failure(ErrorKind::invalid_argument, "there is no parameter '{}'", words[i]);
      if (i + 1 == words.size()) return failure(ErrorKind::invalid_argument, "{} needs a value", words[i]);
      if (auto set = setter->second(words[i + 1]); !set) {
        return failure(ErrorKind::invalid_argument, "{}: {}", words[i], set.error().text);
      }
    }
    return check();
  }

 private:
  Result<> check() const {
    constexpr std::uint64_t longest = std::uint64_t{1} << 31;
    if (parameters_.max_message < parameters_.mtu || parameters_.max_message > longest)
      return failure(ErrorKind::invalid_argument, "max-message {}: {} (the mtu) to {} are possible",
                     parameters_.max_message, parameters_.mtu, longest);
    if (parameters_.ccti_timer <= 0)
      return failure(ErrorKind::invalid_argument, "ccti-timer must be more than 0");
    return {};
  }

  Result<> read_host(const std::vector<std::string>& words) {
    if (words.size() < 3) return failure(ErrorKind::invalid_argument, "host needs a name and adapters");
    return topology_.set_host(words[1], {words.begin() + 2, words.end()});
  }

  Result<> read_link(const std::vector<std::string>& words) {
    if (words.size() < 4 || words.size() % 2 != 0) {
      return failure(ErrorKind::invalid_argument, "link needs a port and rate or latency with a value");
    }
    auto port = topology_.find_port(words[1]);
    if (!port) return port.take_error();
    LinkParameters link{port.value(), {}, {}};
    for (std::size_t i = 2; i < words.size(); i += 2) {
      if (words[i] == "rate") {
        auto rate = parse_rate(words[i + 1], possible_rates);
        if (!rate)
          return failure(ErrorKind::invalid_argument, "link {}: rate: {}", words[1], rate.error().text);
        link.rate = rate.value();
      } else if (words[i] == "latency") {
        auto latency = parse_duration(words[i + 1], possible_times);
        if (!latency)
          return failure(ErrorKind::invalid_argument, "link {}: latency: {}", words[1], latency.error().text);
        link.latency = latency.value();
      } else {
        return failure(ErrorKind::invalid_argument,
                       "'{}' is not a property of a link; a link has a rate and a latency", words[i]);
      }
    }
    parameters_.links.push_back(link);
    return {};
  }

  Topology& topology_;
  Parameters& parameters_;
  std::map<std::string, Setter> setters_;
};

}  // namespace

bool Parameters::unlimited() const {
  for (const LinkParameters& link : links) {
    if (link.rate.value_or(0) != 0) return false;
  }
  return link_rate == 0 && send_engine_rate == 0 && receive_engine_rate == 0 && bus_rate == 0 &&
         ecn_threshold == 0 && !adaptive_routing;
}

Result<> parse_parameters(std::string_view text, std::string_view file, Topology& topology,
                          Parameters& parameters) {
  ParameterReader reader(topology, parameters);
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++number;
    if (auto read = reader.read_line(text.substr(0, end)); !read) {
      return failure(read.error().kind, "{}:{}: {}", file, number, read.error().text);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

}  // namespace hawser::fabric
