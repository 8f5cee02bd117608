#include "launch/pmi_bootstrap.h"

#include <algorithm>

#include "base/failure.h"
#include "base/quantity.h"
#include "launch/environment_variables.h"
#include "launch/process_mapping.h"
#include "launch/value_encoding.h"

namespace hawser {

PmiBootstrap::PmiBootstrap(int fd, int rank, int size) : connection_(fd) {
  layout_.rank = rank;
  layout_.size = size;
}

Result<std::unique_ptr<Bootstrap>> PmiBootstrap::connect(std::span<const std::string_view> environment) {
  std::unique_ptr<PmiBootstrap> bootstrap;
  const std::string_view fd_text = find_variable(environment, "PMI_FD");
  if (!fd_text.empty()) {
    const auto fd = parse_count(fd_text, {0, INT32_MAX});
    const auto rank = parse_count(find_variable(environment, "PMI_RANK"));
    const auto size = parse_count(find_variable(environment, "PMI_SIZE"), {0, INT32_MAX});
    if (!fd || !rank || !size || rank.value() >= size.value())
      return failure(ErrorKind::other, "PMI_FD={} PMI_RANK={} PMI_SIZE={}: not values that a launcher sets",
                     fd_text, find_variable(environment, "PMI_RANK"), find_variable(environment, "PMI_SIZE"));
    bootstrap.reset(new PmiBootstrap(static_cast<int>(fd.value()), static_cast<int>(rank.value()),
                                     static_cast<int>(size.value())));
  } else {
    const Result<int> fd = connect_to_port(find_variable(environment, "PMI_PORT"));
    if (!fd) return Error(fd.error());
    bootstrap.reset(new PmiBootstrap(fd.value(), -1, -1));
    HAWSER_TRY(bootstrap->receive_identity(find_variable(environment, "PMI_ID")));
  }
  HAWSER_TRY(bootstrap->initialize());
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

// Through PMI_PORT the launcher first tells rank and size, in lines `cmd=set`.
Result<> PmiBootstrap::receive_identity(std::string_view id) {
  const Result<PmiMessage> accepted = request(fmt::format("cmd=initack pmiid={}\n", id), "initack");
  if (!accepted) return Error(accepted.error());
  while (layout_.rank < 0 || layout_.size < 0) {
    const Result<PmiMessage> line = connection_.receive();
    if (!line) return Error(line.error());
    if (line.value().command() != "set")
      return failure(ErrorKind::other, "PMI: the launcher sent '{}' before rank and size",
                     line.value().command());
    if (const auto size = line.value().number("size")) layout_.size = *size;
    if (const auto rank = line.value().number("rank")) layout_.rank = *rank;
  }
  return {};
}

Result<> PmiBootstrap::initialize() {
  const auto version = request("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");
  if (!version) return Error(version.error());
  if (const auto answer = request("cmd=get_appnum\n", "appnum"))
    layout_.app_number = answer.value().number("appnum").value_or(-1);
  if (const auto answer = request("cmd=get_universe_size\n", "universe_size"))
    layout_.universe_size = std::max(0, answer.value().number("size").value_or(0));
  const auto name = request("cmd=get_my_kvsname\n", "my_kvsname");
  if (!name) return Error(name.error());
  layout_.job_id = name.value().find("kvsname").value_or("");
  const auto maxes = request("cmd=get_maxes\n", "maxes");
  if (!maxes) return Error(maxes.error());
  HAWSER_TRY(set_part_limit(maxes.value()));

  const Result<std::string> mapping = get_text("PMI_process_mapping");
  if (mapping && !mapping.value().empty()) {
    auto nodes = parse_process_mapping(mapping.value(), layout_.size);
    if (!nodes) return nodes.take_error();
    layout_.node_of_rank = std::move(nodes).value();
  } else {
    // Without a mapping nothing says that two ranks may share memory.
    for (int rank = 0; rank < layout_.size; ++rank) layout_.node_of_rank.push_back(rank);
  }
  return {};
}

// How long a part of a value may be: by the launcher's word, and so that a whole request stays below 1000
// characters, because Slurm reads them into a buffer of 1024.
Result<> PmiBootstrap::set_part_limit(const PmiMessage& maxes) {
  constexpr int longest_request = 1000;
  const int overhead = static_cast<int>(layout_.job_id.size()) + pmi::key_limit + 40;
  const int limit = std::min({maxes.number("vallen_max").value_or(pmi::value_limit) - 1, pmi::value_limit - 1,
                              longest_request - overhead});
  if (limit < 32 || maxes.number("keylen_max").value_or(pmi::key_limit) < pmi::key_limit)
    return failure(ErrorKind::other, "PMI: the launcher's limits for keys and values are too small");
  part_limit_ = static_cast<std::size_t>(limit);
  return {};
}

Result<PmiMessage> PmiBootstrap::request(std::string_view line, std::string_view answer) {
  HAWSER_TRY(connection_.send(line));
  while (true) {
    Result<PmiMessage> reply = connection_.receive();
    if (!reply) return reply;
    if (reply.value().command() == "set") continue;  // what is left of the greeting through PMI_PORT
    const std::string_view asked = line.substr(0, line.find_last_not_of('\n') + 1);
    if (reply.value().command() != answer)
      return failure(ErrorKind::other, "PMI: the launcher answered '{}' to '{}'", reply.value().command(),
                     asked);
    if (reply.value().number("rc").value_or(0) != 0)
      return failure(ErrorKind::other, "PMI: '{}' failed: {}", asked,
                     reply.value().find("msg").value_or("no reason"));
    return reply;
  }
}

Result<std::string> PmiBootstrap::get_text(std::string_view key) {
  const auto reply = request(fmt::format("cmd=get kvsname={} key={}\n", layout_.job_id, key), "get_result");
  if (!reply) return Error(reply.error());
  return std::string(reply.value().find("value").value_or(""));
}

Result<> PmiBootstrap::put(std::string_view key, std::string_view value) {
  int part = 0;
  for (const std::string& text : encode_value(value, part_limit_)) {
    const auto reply = request(fmt::format("cmd=put kvsname={} key={} value={}\n", layout_.job_id,
                                           part_key(layout_.rank, key, part++), text),
                               "put_result");
    if (!reply) return Error(reply.error());
  }
  return {};
}

Result<> PmiBootstrap::fence() {
  const auto reply = request("cmd=barrier_in\n", "barrier_out");
  if (!reply) return Error(reply.error());
  return {};
}

Result<std::string> PmiBootstrap::get(int rank, std::string_view key) {
  std::vector<std::string> parts;
  int count = 1;
  for (int part = 0; part < count; ++part) {
    Result<std::string> text = get_text(part_key(rank, key, part));
    if (!text) return text.take_error();
    parts.push_back(std::move(text).value());
    if (part > 0) continue;
    const Result<int> total = count_parts(parts[0]);
    if (!total) return Error(total.error());
    count = total.value();
  }
  return decode_value(parts);
}

void PmiBootstrap::abort(int exit_code, std::string_view) {
  // PMI-1 has no place for a reason; the caller has printed it. No answer comes.
  (void)connection_.send(fmt::format("cmd=abort exitcode={}\n", exit_code));
}

Result<> PmiBootstrap::finalize() {
  const auto reply = request("cmd=finalize\n", "finalize_ack");
  if (!reply) return Error(reply.error());
  return {};
}

}  // namespace hawser
