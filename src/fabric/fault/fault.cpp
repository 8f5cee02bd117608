#include "fabric/fault/fault.h"

#include <arpa/inet.h>

#include "base/failure.h"
#include "fabric/limits.h"
#include "fabric/words.h"

namespace hawser::fabric {
namespace {

class FaultParser {
 public:
  FaultParser(std::string_view text, const Topology& topology)
      : topology_(topology), words_(split_words(text)) {
    for (const std::string& word : words_) fault_.text += (fault_.text.empty() ? "" : " ") + word;
  }

  Result<Fault> parse() {
    HAWSER_TRY(parse_subject());
    if (next_ < words_.size())
      return failure(ErrorKind::invalid_argument, "'{}': '{}' is too much", fault_.text, words_[next_]);
    return std::move(fault_);
  }

 private:
  Result<> parse_subject() {
    if (words_.empty()) return failure(ErrorKind::invalid_argument, "the fault is empty");
    const std::string& subject = words_[next_++];
    if (subject == "link" || subject == "port") return parse_link();
    if (subject == "switch") return parse_node(NodeKind::switch_device, FaultKind::switch_alive);
    if (subject == "adapter") return parse_node(NodeKind::adapter, FaultKind::adapter_alive);
    if (subject == "qp") return parse_qp();
    if (subject == "acks") return parse_counted(FaultKind::lose_acks, "lose");
    if (subject == "payload") return parse_counted(FaultKind::corrupt_payload, "corrupt");
    if (subject == "gid") return parse_gid();
    if (subject == "lid") return parse_lid();
    if (subject == "tables") return parse_tables();
    if (subject == "sm") {
      fault_.kind = FaultKind::sm_change;
      return expect("change");
    }
    return failure(ErrorKind::invalid_argument,
                   "'{}' is not a fault: link, switch, adapter, qp, acks, payload, gid, lid, tables, sm",
                   subject);
  }

  Result<std::string> word(const char* what) {
    if (next_ == words_.size())
      return failure(ErrorKind::invalid_argument, "'{}': {} is missing", fault_.text, what);
    return words_[next_++];
  }
  Result<> expect(const char* wanted) {
    auto given = word(wanted);
    if (!given) return given.take_error();
    if (given.value() != wanted) return unknown(given.value(), wanted);
    return {};
  }
  Error unknown(const std::string& given, const char* wanted) const {
    return failure(ErrorKind::invalid_argument, "'{}': '{}' is unknown; possible: {}", fault_.text, given,
                   wanted);
  }
  Result<std::uint64_t> number(const char* what, std::uint64_t most) {
    auto given = word(what);
    if (!given) return given.take_error();
    auto value = parse_count(given.value(), {0, most}, what);
    if (!value) return failure(ErrorKind::invalid_argument, "'{}': {}", fault_.text, value.error().text);
    return value;
  }
  Result<> port(NodeKind wanted, bool any_kind) {
    auto given = word("the port");
    if (!given) return given.take_error();
    auto found = topology_.find_port(given.value());
    if (!found) return found.take_error();
    fault_.port = found.value();
    if (any_kind || topology_.node(fault_.port.node).kind == wanted) return {};
    return failure(ErrorKind::invalid_argument, "'{}' is not an adapter", given.value());
  }

  Result<> parse_link() {
    HAWSER_TRY(port(NodeKind::adapter, true));
    if (topology_.port(fault_.port).peer.node < 0) {
      return failure(ErrorKind::invalid_argument, "nothing is plugged in at '{}'", words_[1]);
    }
    auto given = word("what happens to the link");
    if (!given) return given.take_error();
    const std::string& what = given.value();
    if (what == "down" || what == "up") {
      fault_.kind = FaultKind::link_up;
      fault_.on = what == "up";
      return {};
    }
    if (what == "clear") {
      fault_.kind = FaultKind::link_clear;
      return {};
    }
    if (what == "blackhole") return parse_black_hole();
    if (what != "rate" && what != "loss" && what != "delay")
      return unknown(what, "down, up, rate, loss, blackhole, delay, clear");
    auto value = word("a value");
    if (!value) return value.take_error();
    if (what == "rate") return parse_rate_value(value.value());
    if (what == "loss") {
      fault_.kind = FaultKind::link_loss;
      return store(fault_.share, parse_share(value.value()));
    }
    fault_.kind = FaultKind::link_delay;
    return store(fault_.delay, parse_duration(value.value(), possible_times));
  }

  template <class T>
  Result<> store(T& target, Result<T> value) {
    if (!value) return failure(ErrorKind::invalid_argument, "'{}': {}", fault_.text, value.error().text);
    target = value.value();
    return {};
  }

  Result<> parse_rate_value(const std::string& value) {
    fault_.kind = FaultKind::link_rate;
    if (!value.ends_with("%")) return store(fault_.rate, parse_rate(value, possible_rates));
    HAWSER_TRY(store(fault_.share, parse_share(value)));
    if (fault_.share > 0) return {};
    return failure(ErrorKind::invalid_argument, "'{}': a rate of 0 means a link that is down", fault_.text);
  }

  Result<> parse_black_hole() {
    fault_.kind = FaultKind::link_black_hole;
    const std::string direction = next_ < words_.size() ? words_[next_++] : "out";
    if (direction != "out" && direction != "in" && direction != "both")
      return unknown(direction, "out, in, both");
    fault_.outward = direction != "in";
    fault_.inward = direction != "out";
    return {};
  }

  Result<> parse_node(NodeKind kind, FaultKind fault) {
    auto name = word("the name");
    if (!name) return name.take_error();
    const auto node = topology_.find_node(name.value());
    if (!node || topology_.node(*node).kind != kind) {
      return failure(ErrorKind::invalid_argument, "there is no {} '{}'",
                     kind == NodeKind::adapter ? "adapter" : "switch", name.value());
    }
    fault_.kind = fault;
    fault_.port = {*node, 1};
    auto state = word("dead or alive");
    if (!state) return state.take_error();
    if (state.value() == "dying" && kind == NodeKind::adapter) {
      fault_.kind = FaultKind::adapter_dying;
      return {};
    }
    if (state.value() != "dead" && state.value() != "alive")
      return unknown(state.value(), kind == NodeKind::adapter ? "dead, alive, dying" : "dead, alive");
    fault_.on = state.value() == "alive";
    return {};
  }

  Result<> parse_qp() {
    HAWSER_TRY(port(NodeKind::adapter, false));
    auto which = word("the queue pair's number");
    if (!which) return which.take_error();
    if (which.value() == "any") {
      fault_.number = Fault::any_qp;
    } else if (which.value() == "all") {
      fault_.number = Fault::all_qps;
    } else {
      auto value = parse_count(which.value(), {0, 0xffffff});
      if (!value) return unknown(which.value(), "a number, any, all");
      fault_.number = static_cast<std::int64_t>(value.value());
    }
    auto what = word("kill or hang");
    if (!what) return what.take_error();
    if (what.value() != "kill" && what.value() != "hang") return unknown(what.value(), "kill, hang");
    fault_.kind = what.value() == "kill" ? FaultKind::qp_kill : FaultKind::qp_hang;
    return {};
  }

  Result<> parse_counted(FaultKind kind, const char* verb) {
    fault_.kind = kind;
    HAWSER_TRY(port(NodeKind::adapter, false));
    auto what = word(verb);
    if (!what) return what.take_error();
    if (what.value() == "keep") return {};  // number 0
    if (what.value() != verb) return unknown(what.value(), verb);
    fault_.number = -1;
    if (next_ == words_.size()) return {};
    auto count = number("a count", 1'000'000'000);
    if (!count) return count.take_error();
    fault_.number = static_cast<std::int64_t>(count.value());
    return {};
  }

  Result<> parse_gid() {
    HAWSER_TRY(port(NodeKind::adapter, false));
    auto what = word("move, set or drop");
    if (!what) return what.take_error();
    if (what.value() != "move") return parse_gid_entry(what.value());
    fault_.kind = FaultKind::gid_move;
    constexpr std::uint64_t last = 15;
    auto from = number("a GID index", last);
    if (!from) return from.take_error();
    auto to = number("a GID index", last);
    if (!to) return to.take_error();
    fault_.from = from.value();
    fault_.to = to.value();
    return {};
  }

  Result<> parse_gid_entry(const std::string& verb) {
    fault_.kind = FaultKind::gid_set;
    if (verb != "set" && verb != "drop") return unknown(verb, "move, set, drop");
    auto index = number("a GID index", 15);
    if (!index) return index.take_error();
    fault_.to = index.value();
    if (verb == "drop") return {};
    auto type = word("v1, v2 or ib");
    if (!type) return type.take_error();
    if (type.value() != "v1" && type.value() != "v2" && type.value() != "ib")
      return unknown(type.value(), "v1, v2, ib");
    fault_.gid.type = type.value() == "v1"   ? GidType::roce_v1
                      : type.value() == "v2" ? GidType::roce_v2
                                             : GidType::infiniband;
    auto address = word("an address");
    if (!address) return address.take_error();
    const std::string& text = address.value();
    const std::string ipv6 = text.find(':') == std::string::npos ? "::ffff:" + text : text;
    if (::inet_pton(AF_INET6, ipv6.c_str(), fault_.gid.gid.data()) != 1 || fault_.gid.empty())
      return failure(ErrorKind::invalid_argument, "'{}': '{}' is not an IPv4 or IPv6 address", fault_.text,
                     text);
    return {};
  }

  Result<> parse_lid() {
    fault_.kind = FaultKind::lid_change;
    HAWSER_TRY(port(NodeKind::adapter, false));
    auto lid = number("a unicast LID", first_multicast_lid - 1u);
    if (!lid) return lid.take_error();
    fault_.lid = static_cast<Lid>(lid.value());
    return {};
  }

  Result<> parse_tables() {
    if (next_ < words_.size() && words_[next_] == "reroute") {
      ++next_;
      fault_.kind = FaultKind::reroute;
      return {};
    }
    fault_.kind = FaultKind::table_entry;
    auto name = word("reroute, or a switch");
    if (!name) return name.take_error();
    const auto node = topology_.find_node(name.value());
    if (!node || topology_.node(*node).kind != NodeKind::switch_device) {
      return failure(ErrorKind::invalid_argument, "there is no switch '{}'", name.value());
    }
    fault_.port = {*node, 1};
    auto lid = number("a unicast LID", first_multicast_lid - 1u);
    if (!lid) return lid.take_error();
    auto out = number("a port number", static_cast<std::uint64_t>(topology_.node(*node).port_count()));
    if (!out) return out.take_error();
    fault_.lid = static_cast<Lid>(lid.value());
    fault_.out_port = static_cast<std::uint8_t>(out.value());
    return {};
  }

  const Topology& topology_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  Fault fault_;
};

}  // namespace

Result<Fault> parse_fault(std::string_view text, const Topology& topology) {
  return FaultParser(text, topology).parse();
}

Result<std::vector<ScheduledFault>> parse_schedule(std::string_view text, std::string_view file,
                                                   const Topology& topology) {
  std::vector<ScheduledFault> schedule;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto words = split_words(rest);
    if (words.empty()) continue;
    const auto time = parse_duration(words[0], {0, 1'000'000'000 * second}, second);
    if (!time) return failure(ErrorKind::invalid_argument, "{}:{}: {}", file, line, time.error().text);
    rest.remove_prefix(rest.find(words[0]) + words[0].size());
    auto fault = parse_fault(rest, topology);
    if (!fault) return failure(ErrorKind::invalid_argument, "{}:{}: {}", file, line, fault.error().text);
    schedule.push_back({time.value(), std::move(fault).value()});
  }
  return schedule;
}

}  // namespace hawser::fabric
