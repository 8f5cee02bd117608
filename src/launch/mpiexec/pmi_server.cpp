#include "launch/mpiexec/pmi_server.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"
#include "launch/fence_frame.h"

namespace hawser {

PmiServer::PmiServer(PmiJob job) : job_(std::move(job)), ranks_(job_.app_number_of_rank.size()) {
  values_.emplace("PMI_process_mapping", job_.process_mapping);
}

void PmiServer::send(int rank, std::string_view text) {
  Rank& self = at(rank);
  if (self.output.empty()) with_output_.push_back(rank);
  self.output.append(text);
}

std::string PmiServer::take_output(int rank) { return std::exchange(at(rank).output, {}); }

void PmiServer::set_phase(int rank, Phase phase) {
  Rank& self = at(rank);
  active_ += (phase == Phase::active ? 1 : 0) - (self.phase == Phase::active ? 1 : 0);
  self.phase = phase;
}

void PmiServer::join(int rank, std::string library) {
  set_phase(rank, Phase::active);
  if (!std::exchange(at(rank).joined, true)) ++joined_;
  at(rank).library = std::move(library);
  at(rank).address.clear();  // of the time before, if it has started MPI again
  if (witness_ < 0 || at(witness_).phase != Phase::active) witness_ = rank;
  if (at(witness_).library == at(rank).library) return;
  reject(rank, fmt::format("runs {}, but rank {} runs {}; all ranks need the same library (for programs "
                           "built with MPICH: LD_LIBRARY_PATH to Hawser's)",
                           at(rank).library, witness_, at(witness_).library));
}

void PmiServer::receive(int rank, std::string_view bytes) {
  if (abort_) return;
  Rank& self = at(rank);
  self.stream.append(bytes);
  while (!abort_) {
    if (!self.held_line.empty()) {
      const std::string line = std::exchange(self.held_line, {});
      if (!step(rank, line)) return;
      continue;
    }
    const auto line = self.stream.take_line();
    if (!line && self.stream.waiting() > longest_pmi_line)
      reject(rank,
             fmt::format("wrote {} bytes without a newline to its PMI socket; lines of PMI have at most {} "
                         "(does the program write to descriptor PMI_FD?)",
                         self.stream.waiting(), longest_pmi_line));
    if (!line) return;
    // The views into the stream live until bytes are appended, which happens only above.
    if (!step(rank, *line)) return;
  }
}

bool PmiServer::step(int rank, std::string_view line) {
  Rank& self = at(rank);
  const auto parsed = PmiMessage::parse(line);
  if (!parsed) {
    send(rank, "cmd=error rc=-1 msg=malformed\n");
    return true;
  }
  const PmiMessage& message = parsed.value();
  if (self.in_spawn || message.multiline()) {
    self.in_spawn = !message.find("endcmd");
    if (!self.in_spawn) send(rank, "cmd=spawn_result rc=-1 msg=mpiexec_does_not_spawn\n");
    return true;
  }
  // Of the commands, these are followed by bytes.
  std::string_view bytes;
  if (message.command() == "hawser_fence" || message.command() == "hawser_abort" ||
      message.command() == "hawser_unreachable" || message.command() == "hawser_address") {
    const auto size = length_of(rank, message);
    if (!size) return false;
    const auto taken = self.stream.take_bytes(*size);
    if (!taken) {
      self.held_line = line;
      return false;
    }
    bytes = *taken;
  }
  if (message.command() == "hawser_fence") {
    fence(rank, bytes);
  } else if (message.command() == "hawser_unreachable") {
    if (const auto named = named_rank(rank, message))
      unreached_.push_back({rank, *named, std::string(bytes)});
  } else if (message.command() == "hawser_reached") {
    if (const auto named = named_rank(rank, message)) reached_.emplace_back(rank, *named);
  } else if (message.command() == "hawser_address") {
    self.address = bytes;
  } else if (message.command() == "hawser_where") {
    tell_where(rank, message);
  } else if (message.command() == "hawser_abort" || message.command() == "abort") {
    if (!abort_) abort_ = Abort{rank, message.number("exitcode").value_or(1), std::string(bytes)};
  } else {
    answer(rank, message);
  }
  return true;
}

void PmiServer::reject(int rank, std::string reason) {
  if (!abort_) abort_ = Abort{rank, 1, std::move(reason), false};
}

std::optional<std::size_t> PmiServer::length_of(int rank, const PmiMessage& message) {
  const auto length = message.number("length");
  if (length && *length >= 0 && static_cast<std::size_t>(*length) <= longest_pmi_frame)
    return static_cast<std::size_t>(*length);
  reject(rank, fmt::format("sent the PMI command {} with length={}; it must be a number from 0 to {}",
                           message.command(), message.find("length").value_or(""), longest_pmi_frame));
  return std::nullopt;
}

void PmiServer::fence(int rank, std::string_view frame) {
  const auto entries = parse_entries(frame);
  if (!entries)
    return reject(rank, fmt::format("sent a PMI fence of {} bytes: {}", frame.size(), entries.error().text));
  for (const FenceEntry& entry : entries.value())
    if (entry.rank != rank)
      return reject(rank, fmt::format("sent a PMI fence with an entry of rank {}, not its own", entry.rank));
  if (at(rank).waiting != Rank::Waiting::no)
    return reject(rank, "sent a PMI fence before its last one was over");
  frames_.append(frame);
  enter(rank, Rank::Waiting::fence);
}

void PmiServer::answer(int rank, const PmiMessage& message) {
  const std::string_view command = message.command();
  if (command == "hawser_hello") {
    join(rank, fmt::format("Hawser {}", message.find("library").value_or("of an unknown version")));
  } else if (command == "hawser_bye") {
    set_phase(rank, Phase::finalized);
  } else if (command == "hawser_get") {
    lazy_get(rank, message);
  } else if (command == "init") {
    join(rank, "another MPI, by PMI-1");
    const bool known = message.number("pmi_version") == 1;
    send(rank, fmt::format("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={}\n", known ? 0 : -1));
  } else if (command == "get_maxes") {
    send(rank, fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={}\n", pmi::name_limit,
                           pmi::key_limit, pmi::value_limit));
  } else if (command == "get_appnum") {
    send(rank,
         fmt::format("cmd=appnum appnum={}\n", job_.app_number_of_rank[static_cast<std::size_t>(rank)]));
  } else if (command == "get_universe_size") {
    send(rank, fmt::format("cmd=universe_size size={}\n", job_.universe_size));
  } else if (command == "get_my_kvsname") {
    send(rank, fmt::format("cmd=my_kvsname kvsname={}\n", job_.name));
  } else if (command == "put") {
    put(rank, message);
  } else if (command == "get") {
    get(rank, message);
  } else if (command == "barrier_in") {
    enter(rank, Rank::Waiting::barrier);
  } else if (command == "finalize") {
    set_phase(rank, Phase::finalized);
    send(rank, "cmd=finalize_ack\n");
  } else {
    answer_names(rank, message);
  }
}

void PmiServer::answer_names(int rank, const PmiMessage& message) {
  const std::string_view command = message.command();
  const std::string_view service = message.find("service").value_or("");
  const auto found = names_.find(service);
  if (command == "publish_name") {
    const bool fresh = found == names_.end();
    if (fresh) names_.emplace(service, message.find("port").value_or(""));
    send(rank, fresh ? "cmd=publish_result info=ok rc=0 msg=success\n"
                     : "cmd=publish_result info=duplicate_service rc=-1 msg=duplicate_service\n");
  } else if (command == "unpublish_name") {
    const bool known = found != names_.end();
    if (known) names_.erase(found);
    send(rank, known ? "cmd=unpublish_result info=ok rc=0 msg=success\n"
                     : "cmd=unpublish_result info=service_not_found rc=-1 msg=service_not_found\n");
  } else if (command == "lookup_name") {
    send(rank, found != names_.end()
                   ? fmt::format("cmd=lookup_result port={} info=ok rc=0 msg=success\n", found->second)
                   : "cmd=lookup_result info=service_not_found rc=-1 msg=service_not_found\n");
  } else {
    send(rank, fmt::format("cmd={}_result rc=-1 msg=unknown_command\n", command));
  }
}

void PmiServer::put(int rank, const PmiMessage& message) {
  const auto key = message.find("key");
  const auto value = message.find("value");
  if (!key || !value || key->size() >= pmi::key_limit || value->size() >= pmi::value_limit) {
    send(rank, "cmd=put_result rc=-1 msg=missing_or_too_long\n");
    return;
  }
  const bool fresh = values_.try_emplace(std::string(*key), *value).second;
  send(rank, fresh ? "cmd=put_result rc=0 msg=success\n" : "cmd=put_result rc=-1 msg=duplicate_key\n");
}

void PmiServer::get(int rank, const PmiMessage& message) {
  const auto found = values_.find(message.find("key").value_or(""));
  if (found == values_.end())
    send(rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  else
    send(rank, fmt::format("cmd=get_result rc=0 msg=success value={}\n", found->second));
}

void PmiServer::lazy_get(int rank, const PmiMessage& message) {
  const auto found =
      lazy_values_.find({message.number("rank").value_or(-1), std::string(message.find("key").value_or(""))});
  if (found == lazy_values_.end())
    send(rank, "cmd=hawser_value rc=-1 length=0\n");
  else
    send(rank, fmt::format("cmd=hawser_value rc=0 length={}\n{}", found->second.size(), found->second));
}

void PmiServer::enter(int rank, Rank::Waiting how) {
  if (at(rank).waiting != Rank::Waiting::no) return;
  at(rank).waiting = how;
  ++waiting_;
  release_if_all();
}

void PmiServer::release_if_all() {
  if (waiting_ > 0 && waiting_ + lost_ == ranks_.size()) release();
}

void PmiServer::lose(int rank, std::string_view why) {
  Rank& self = at(rank);
  if (self.lost) return;
  self.lost = true;
  set_phase(rank, Phase::absent);
  ++lost_;
  if (std::exchange(self.waiting, Rank::Waiting::no) != Rank::Waiting::no) --waiting_;
  for (int other = 0; other < static_cast<int>(ranks_.size()); ++other)
    if (at(other).phase == Phase::active)
      send(other, fmt::format("cmd=hawser_lost rank={} length={}\n{}", rank, why.size(), why));
  release_if_all();
}

std::optional<int> PmiServer::named_rank(int rank, const PmiMessage& message) {
  const int named = message.number("rank").value_or(-1);
  if (named >= 0 && named < static_cast<int>(ranks_.size())) return named;
  reject(rank,
         fmt::format("sent the PMI command {} about rank {} of {}", message.command(), named, ranks_.size()));
  return std::nullopt;
}

void PmiServer::tell_where(int rank, const PmiMessage& message) {
  const auto named = named_rank(rank, message);
  if (!named || at(*named).address.empty()) return;
  const std::string& address = at(*named).address;
  send(rank, fmt::format("cmd=hawser_address rank={} length={}\n{}", *named, address.size(), address));
}

void PmiServer::ask_whether_reached(int rank, int about) {
  if (at(rank).phase == Phase::active) send(rank, fmt::format("cmd=hawser_ask rank={}\n", about));
}

void PmiServer::release() {
  waiting_ = 0;
  const bool lazy = frames_.size() > eager_fence_bytes || !lazy_values_.empty();
  old_frames_.append(frames_);
  if (lazy) {
    // From here on values are asked for, the old ones too.
    if (const auto entries = parse_entries(old_frames_))
      for (const FenceEntry& entry : entries.value())
        lazy_values_.insert_or_assign({entry.rank, std::string(entry.key)}, std::string(entry.value));
    old_frames_.clear();
    frames_.clear();
  }
  const std::string reply = fmt::format("cmd=hawser_fence_out rc=0{} length={}\n{}", lazy ? " lazy=1" : "",
                                        frames_.size(), frames_);
  frames_.clear();
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (at(rank).lost) continue;
    const auto how = std::exchange(at(rank).waiting, Rank::Waiting::no);
    send(rank, how == Rank::Waiting::fence ? std::string_view(reply) : "cmd=barrier_out rc=0\n");
  }
}

}  // namespace hawser
