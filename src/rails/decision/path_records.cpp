#include "rails/decision/path_records.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {

Result<ServiceLevelChoice> parse_service_level(std::string_view text) {
  using Kind = ServiceLevelChoice::Kind;
  if (text == "auto") return ServiceLevelChoice{Kind::automatic};
  if (text == "ask") return ServiceLevelChoice{Kind::ask};
  unsigned level = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), level);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || level > 15)
    return failure(ErrorKind::invalid_argument,
                   "HAWSER_RAIL_SERVICE_LEVEL={}: must be auto, ask, or a number from 0 to 15", text);
  return ServiceLevelChoice{Kind::fixed, static_cast<std::uint8_t>(level)};
}

Result<std::uint16_t> parse_partition(std::string_view text) {
  if (text == "default") return std::uint16_t{0};
  const std::string_view digits = text.starts_with("0x") ? text.substr(2) : text;
  unsigned key = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), key, 16);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || key > 0xffff ||
      (key & 0x7fff) == 0)
    return failure(ErrorKind::invalid_argument,
                   "HAWSER_RAIL_PARTITION={}: must be default or a P_Key such as 0x8001", text);
  return static_cast<std::uint16_t>(key);
}

PathRecords::Lookup PathRecords::find(const PathEnds& ends, Nanoseconds now) {
  Port& port = ports_[ends.rail];
  if (!port.offered) return {true, std::nullopt};
  const auto found = entries_.find(ends);
  if (found != entries_.end()) {
    const Entry& entry = found->second;
    switch (entry.state) {
      case State::queued:
      case State::asked:
        return {!entry.waited_for, std::nullopt};
      case State::known:
        return {true, entry.record};
      case State::none:
        return {true, std::nullopt};
    }
  }
  if (port.silent && now < port.ask_again) return {true, std::nullopt};
  if (port.silent) {
    port.silence = std::min(2 * port.silence, longest_silence);
    port.ask_again = now + port.silence;
  }
  Entry& entry = entries_[ends];
  entry.waited_for = !port.silent;
  queue_.push_back(ends);
  return {!entry.waited_for, std::nullopt};
}

std::optional<PathRecords::Question> PathRecords::next_question(Nanoseconds now) {
  const auto ask = [&](const PathEnds& ends, Entry& entry) {
    entry.due = now + pauses[entry.sent++];
    return Question{ends, entry.transaction};
  };
  for (const PathEnds& ends : asked_) {
    Entry& entry = entries_.at(ends);
    if (entry.due <= now && entry.sent < std::size(pauses)) return ask(ends, entry);
  }
  // Those of a rail that has asked enough go to the end of the line.
  for (std::size_t looks = queue_.size(); looks > 0; --looks) {
    const PathEnds ends = queue_.front();
    queue_.pop_front();
    const auto found = entries_.find(ends);
    if (found == entries_.end() || found->second.state != State::queued) continue;
    Port& port = ports_[ends.rail];
    if (port.asked == most_asked) {
      queue_.push_back(ends);
      continue;
    }
    ++port.asked;
    asked_.push_back(ends);
    Entry& entry = found->second;
    entry.state = State::asked;
    entry.transaction = random_.next();
    entry.first = now;
    return ask(ends, entry);
  }
  return std::nullopt;
}

PathRecords::Answer PathRecords::on_answer(std::uint16_t rail, const rdma::PathAnswer& answer,
                                           Nanoseconds now) {
  const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const PathEnds& ends) {
    return ends.rail == rail && entries_.at(ends).transaction == answer.transaction;
  });
  if (asked == asked_.end()) return Answer::late;
  if (answer.status == 0 &&
      (answer.source_lid != asked->source_lid || answer.destination_lid != asked->destination_lid))
    return Answer::malformed;
  Entry& entry = entries_.at(*asked);
  entry.state = answer.status == 0 ? State::known : State::none;
  entry.record = answer.record;
  asked_.erase(asked);
  Port& port = ports_[rail];
  --port.asked;
  port.heard = now;
  port.silent = false;
  port.silence = first_silence;
  return Answer::taken;
}

void PathRecords::on_not_offered(std::uint16_t rail) {
  ports_[rail].offered = false;
  remove_unsettled(rail);
}

void PathRecords::forget(std::uint16_t rail) {
  std::erase_if(asked_, [rail](const PathEnds& ends) { return ends.rail == rail; });
  std::erase_if(entries_, [rail](const Entries::value_type& each) { return each.first.rail == rail; });
  ports_[rail] = {};
}

void PathRecords::remove_unsettled(std::uint16_t rail) {
  std::erase_if(asked_, [rail](const PathEnds& ends) { return ends.rail == rail; });
  std::erase_if(entries_, [rail](const Entries::value_type& each) {
    return each.first.rail == rail &&
           (each.second.state == State::queued || each.second.state == State::asked);
  });
  ports_[rail].asked = 0;
}

void PathRecords::be_silent(std::uint16_t rail, Nanoseconds now) {
  Port& port = ports_[rail];
  port.silent = true;
  port.ask_again = now + port.silence;
  remove_unsettled(rail);
}

bool PathRecords::progress(Nanoseconds now) {
  bool settled = false;
  for (std::size_t i = 0; i < asked_.size();) {
    const PathEnds ends = asked_[i];
    Entry& entry = entries_.at(ends);
    if (entry.due > now || entry.sent < std::size(pauses)) {
      ++i;
      continue;
    }
    settled = true;
    if (ports_[ends.rail].heard < entry.first) {
      be_silent(ends.rail, now);
      i = 0;  // others of this rail went, too
      continue;
    }
    entry.state = State::none;  // the administrator answers, but not this
    --ports_[ends.rail].asked;
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return settled;
}

Nanoseconds PathRecords::deadline() const {
  Nanoseconds earliest = never;
  for (const PathEnds& ends : asked_) earliest = std::min(earliest, entries_.at(ends).due);
  for (const PathEnds& ends : queue_)
    if (ports_[ends.rail].asked < most_asked) return 0;
  return earliest;
}

}  // namespace hawser
