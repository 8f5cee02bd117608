#include "launch/mpiexec_bootstrap.h"

#include <fcntl.h>

#include "base/failure.h"
#include "base/quantity.h"
#include "base/version.h"
#include "launch/environment_variables.h"
#include "launch/fence_frame.h"
#include "launch/process_mapping.h"

namespace hawser {

namespace {

Result<int> number(std::span<const std::string_view> environment, std::string_view name) {
  const std::string_view text = find_variable(environment, name);
  const auto value = parse_count(text, {0, INT32_MAX});
  if (!value)
    return failure(ErrorKind::other,
                   "{}={}: not a value that mpiexec sets; do not set this variable yourself", name, text);
  return static_cast<int>(value.value());
}

}  // namespace

MpiexecBootstrap::MpiexecBootstrap(JobLayout layout, int fd, bool survives)
    : layout_(std::move(layout)), connection_(fd), survives_(survives) {
  // The rank may start the library again after finalizing it (sessions), through the same descriptor.
  connection_.keep_open();
}

Result<std::unique_ptr<Bootstrap>> MpiexecBootstrap::connect(std::span<const std::string_view> environment) {
  JobLayout layout;
  int fd = -1, own_cores = 0, survives = 0;
  const std::pair<std::string_view, int*> numbers[] = {{"PMI_FD", &fd},
                                                       {"PMI_RANK", &layout.rank},
                                                       {"PMI_SIZE", &layout.size},
                                                       {"HAWSER_JOB_APPNUM", &layout.app_number},
                                                       {"HAWSER_JOB_UNIVERSE_SIZE", &layout.universe_size},
                                                       {"HAWSER_JOB_NODE_FD", &layout.node_segment_fd},
                                                       {"HAWSER_JOB_CORES", &layout.machine_cores},
                                                       {"HAWSER_JOB_OWN_CORES", &own_cores},
                                                       {"HAWSER_JOB_SURVIVE", &survives}};
  for (const auto& [name, target] : numbers) {
    const Result<int> value = number(environment, name);
    if (!value) return Error(value.error());
    *target = value.value();
  }
  layout.machine_processes = layout.size;
  layout.own_cores = own_cores != 0;
  layout.job_id = find_variable(environment, "HAWSER_JOB_ID");
  layout.host_name = find_variable(environment, "HAWSER_JOB_HOST");
  auto nodes = parse_process_mapping(find_variable(environment, "HAWSER_JOB_MAPPING"), layout.size);
  if (!nodes) return nodes.take_error();
  layout.node_of_rank = std::move(nodes).value();
  fcntl(layout.node_segment_fd, F_SETFD, FD_CLOEXEC);

  std::unique_ptr<MpiexecBootstrap> bootstrap(new MpiexecBootstrap(std::move(layout), fd, survives != 0));
  // Says that this rank uses MPI, so that mpiexec can tell when it ends without MPI_Finalize. No answer.
  HAWSER_TRY(bootstrap->connection_.send(fmt::format("cmd=hawser_hello version=1 library={}\n", version)));
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

Result<> MpiexecBootstrap::put(std::string_view key, std::string_view value) {
  append_entry(frame_, {layout_.rank, key, value});
  return {};
}

Result<> MpiexecBootstrap::fence() {
  HAWSER_TRY(connection_.send(fmt::format("cmd=hawser_fence length={}\n{}", frame_.size(), frame_)));
  frame_.clear();
  const Result<PmiMessage> reply = receive_answer();
  if (!reply) return Error(reply.error());
  addresses_.clear();  // they may be of a time before, if the process has started MPI again
  const auto length = reply.value().number("length");
  if (reply.value().command() != "hawser_fence_out" || !length || *length < 0)
    return failure(ErrorKind::other, "mpiexec sent an unexpected answer to a fence: '{}'",
                   reply.value().command());
  if (reply.value().find("lazy")) {
    values_.clear();
    ask_server_ = true;
  }
  const Result<std::string_view> bytes = connection_.receive_bytes(static_cast<std::size_t>(*length));
  if (!bytes) return Error(bytes.error());
  const auto entries = parse_entries(bytes.value());
  if (!entries) return Error(entries.error());
  for (const FenceEntry& entry : entries.value())
    values_.insert_or_assign({entry.rank, std::string(entry.key)}, std::string(entry.value));
  return {};
}

// Between a request and its answer there may be news.
Result<PmiMessage> MpiexecBootstrap::receive_answer() {
  while (true) {
    Result<PmiMessage> reply = connection_.receive();
    if (!reply || !is_news(reply.value())) return reply;
    HAWSER_TRY(note_news(reply.value()));
  }
}

bool MpiexecBootstrap::is_news(const PmiMessage& message) {
  return message.command() == "hawser_lost" || message.command() == "hawser_ask" ||
         message.command() == "hawser_address";
}

Result<> MpiexecBootstrap::note_news(const PmiMessage& message) {
  const int rank = message.number("rank").value_or(-1);
  const int length = message.number("length").value_or(-1);
  const bool asks = message.command() == "hawser_ask";
  if (rank < 0 || rank >= layout_.size || (!asks && length < 0))
    return failure(ErrorKind::other, "mpiexec sent {} of rank {} of {}, length {}", message.command(), rank,
                   layout_.size, length);
  if (asks) {
    questions_.push_back(rank);
    return {};
  }
  const Result<std::string_view> text = connection_.receive_bytes(static_cast<std::size_t>(length));
  if (!text) return Error(text.error());
  if (message.command() == "hawser_address")
    addresses_.emplace_back(rank, text.value());
  else
    lost_.push_back({rank, std::string(text.value())});
  return {};
}

// If the launcher is gone, so is this process soon.
void MpiexecBootstrap::receive_news() {
  while (connection_.readable()) {
    const Result<PmiMessage> message = connection_.receive();
    if (!message || !is_news(message.value()) || !note_news(message.value())) break;
  }
}

std::vector<LostRank> MpiexecBootstrap::take_lost() {
  receive_news();
  return std::exchange(lost_, {});
}

std::vector<int> MpiexecBootstrap::take_questions() { return std::exchange(questions_, {}); }

void MpiexecBootstrap::report_reached(int rank) {
  (void)connection_.send(fmt::format("cmd=hawser_reached rank={}\n", rank));
}

void MpiexecBootstrap::report_lost(int rank, std::string_view why) {
  (void)connection_.send(fmt::format("cmd=hawser_unreachable rank={} length={}\n{}", rank, why.size(), why));
}

void MpiexecBootstrap::tell_address(std::string_view text) {
  (void)connection_.send(fmt::format("cmd=hawser_address length={}\n{}", text.size(), text));
}

void MpiexecBootstrap::ask_address(int rank) {
  (void)connection_.send(fmt::format("cmd=hawser_where rank={}\n", rank));
}

std::vector<std::pair<std::int32_t, std::string>> MpiexecBootstrap::take_addresses() {
  receive_news();
  return std::exchange(addresses_, {});
}

Result<std::string> MpiexecBootstrap::get(int rank, std::string_view key) {
  const auto found = values_.find({rank, std::string(key)});
  if (found != values_.end()) return found->second;
  if (ask_server_) {
    HAWSER_TRY(connection_.send(fmt::format("cmd=hawser_get rank={} key={}\n", rank, key)));
    const Result<PmiMessage> reply = receive_answer();
    if (!reply) return Error(reply.error());
    const int rc = reply.value().number("rc").value_or(-1);
    const auto bytes =
        connection_.receive_bytes(static_cast<std::size_t>(reply.value().number("length").value_or(0)));
    if (!bytes) return Error(bytes.error());
    if (rc == 0)
      return values_.insert_or_assign({rank, std::string(key)}, std::string(bytes.value())).first->second;
  }
  return failure(ErrorKind::other, "rank {} has not published a value for '{}'", rank, key);
}

void MpiexecBootstrap::abort(int exit_code, std::string_view reason) {
  // If mpiexec is gone there is nobody left to tell, and the caller exits in any case.
  (void)connection_.send(
      fmt::format("cmd=hawser_abort exitcode={} length={}\n{}", exit_code, reason.size(), reason));
}

Result<> MpiexecBootstrap::finalize() { return connection_.send("cmd=hawser_bye\n"); }

}  // namespace hawser
