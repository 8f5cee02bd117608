// Sessions and their process sets (MPI-5.0 section 11.3).
#include "communicator/session.h"

#include <algorithm>
#include <array>

#include "api/functions.h"
#include "api/message_data.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"
#include "process/start_stop.h"

namespace hawser::mpi {

namespace {

// The standard names the first two; the third is the processes that share memory with the caller, under the
// name that other implementations gave it.
constexpr std::array<std::string_view, 3> process_sets = {"mpi://WORLD", "mpi://SELF", "mpix://SHARED"};

Result<> check_handler(const ErrorHandler& handler) {
  if (handler.for_what != ErrorHandler::For::any && handler.for_what != ErrorHandler::For::session)
    return failure(ErrorClass::errhandler, "the error handler was not created for sessions");
  return {};
}

Error unknown_set(std::string_view name) {
  return failure(ErrorClass::arg, "there is no process set '{}'; there are {}, {} and {}", name,
                 process_sets[0], process_sets[1], process_sets[2]);
}

// In rising order of rank.
Ref<Group> processes_of_node(MpiProcess& process) {
  const ProcessTable& processes = process.processes();
  std::vector<ProcessIndex> members;
  for (ProcessIndex i = 0; i < process.size(); ++i)
    if (processes.node_of(i) == processes.node_of(process.rank())) members.push_back(i);
  return make_counted<Group>(std::move(members));
}

// As URIs, and as other implementations have it, names are the same in small letters.
bool same_name(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return small(x) == small(y); });
}

// Null if there is no such set.
Ref<Group> members_of(MpiProcess& process, std::string_view name) {
  if (same_name(name, process_sets[0])) return make_counted<Group>(0, 1, process.size());
  if (same_name(name, process_sets[1])) return make_counted<Group>(process.rank(), 1, 1);
  if (same_name(name, process_sets[2])) return processes_of_node(process);
  return nullptr;
}

// What a session that was opened with `info` runs with.
Result<Ref<Info>> hints_of(MpiProcess& process, const Info* info, int& level) {
  level = process.running() ? process.thread_level() : thread_single;
  if (const std::string* wanted = info == nullptr ? nullptr : info->find("thread_level")) {
    const std::optional<int> known = thread_level_of(*wanted);
    if (!known)
      return failure(
          ErrorClass::info_value,
          "the info key thread_level is '{}', which is not a thread level; use for example MPI_THREAD_SINGLE",
          *wanted);
    level = *known;
  }
  auto hints = make_counted<Info>();
  HAWSER_TRY(hints->set("mpi_memory_alloc_kinds", "mpi,system"));
  return hints;
}

Result<> open(MpiProcess& process, Session& session, const Info* info, const ErrorHandler& handler) {
  HAWSER_TRY(check_handler(handler));
  int level = thread_single;
  auto hints = hints_of(process, info, level);
  if (!hints) return hints.take_error();
  session.hints = std::move(hints).value();
  HAWSER_TRY(process.start(level));
  return session.hints->set("thread_level", thread_level_name(process.thread_level()));
}

}  // namespace

Result<> session_init(MpiProcess& process, Info* info, ErrorHandler& errhandler, Ref<Session>& session) {
  auto made = make_counted<Session>(Ref<ErrorHandler>(&errhandler), nullptr);
  const Result<> opened = open(process, *made, info, errhandler);
  if (!opened) {
    process.set_error_origin(made);
    return opened.error();
  }
  process.environment().host->call_at_exit(&leave_job_at_exit);
  session = std::move(made);
  return {};
}

Result<> session_finalize(MpiProcess& process, Session& session) {
  drop_buffer(process, session.buffer);
  process.finish();
  return {};
}

Result<> session_get_info(MpiProcess&, Session& session, Ref<Info>& info_used) {
  info_used = session.hints->duplicate();
  return {};
}

Result<> session_get_num_psets(MpiProcess&, Session&, Info*, int& npset_names) {
  npset_names = static_cast<int>(process_sets.size());
  return {};
}

// `pset_len` is the room for the name and its terminator on entry, and what it needs on return.
Result<> session_get_nth_pset(MpiProcess&, Session&, Info*, int n, int& pset_len, std::string& pset_name) {
  if (n < 0 || n >= static_cast<int>(process_sets.size()))
    return failure(ErrorClass::arg, "n is {}, but there are {} process sets", n, process_sets.size());
  pset_name = process_sets[static_cast<std::size_t>(n)];
  pset_len = static_cast<int>(pset_name.size()) + 1;
  return {};
}

Result<> session_get_pset_info(MpiProcess& process, Session&, std::string_view pset_name, Ref<Info>& info) {
  const Ref<Group> members = members_of(process, pset_name);
  if (!members) return unknown_set(pset_name);
  info = make_counted<Info>();
  return info->set("mpi_size", std::to_string(members->size()));
}

Result<> group_from_session_pset(MpiProcess& process, Session& session, std::string_view pset_name,
                                 Ref<Group>& newgroup) {
  newgroup = members_of(process, pset_name);
  if (!newgroup) return unknown_set(pset_name);
  newgroup->session = Ref<Session>(&session);
  return {};
}

// --- Error handlers ---

Result<> session_set_errhandler(MpiProcess&, Session& session, ErrorHandler& errhandler) {
  HAWSER_TRY(check_handler(errhandler));
  session.error_handler = Ref<ErrorHandler>(&errhandler);
  return {};
}

Result<> session_get_errhandler(MpiProcess&, Session& session, Ref<ErrorHandler>& errhandler) {
  errhandler = session.error_handler;
  return {};
}

// The handler is called as for an error of MPI, but this call itself succeeds when it returns.
Result<> session_call_errhandler(MpiProcess& process, Session& session, int errorcode) {
  Error error;
  HAWSER_TRY(process.error_codes().describe(errorcode, error));
  process.report(AbiObject{.session = &session}, "MPI_Session_call_errhandler", error);
  return {};
}

}  // namespace hawser::mpi
