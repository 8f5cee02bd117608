// Communicators (MPI-5.0 section 7.4): access, construction, destruction, names and hints.
#include "communicator/communicator.h"

#include <algorithm>
#include <array>

#include "api/functions.h"
#include "api/message_data.h"
#include "collective/construction.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

constexpr std::size_t max_name = 127;

// Communicator hints that this library knows, all of them promises of the program (section 7.4.4).
struct Hint {
  const char* key;
  const char* default_value;
};
constexpr std::array<Hint, 4> hints = {{{"mpi_assert_no_any_tag", "false"},
                                        {"mpi_assert_no_any_source", "false"},
                                        {"mpi_assert_exact_length", "false"},
                                        {"mpi_assert_allow_overtaking", "false"}}};

// The hints of `info` that are known; unknown ones are ignored.
Result<Ref<Info>> known_hints(const Info* info) {
  auto known = make_counted<Info>();
  for (const Hint& hint : hints) {
    const std::string* value = info == nullptr ? nullptr : info->find(hint.key);
    if (value != nullptr && (*value == "true" || *value == "false")) HAWSER_TRY(known->set(hint.key, *value));
  }
  return known;
}

Result<> check_intra(const Communicator& comm) {
  if (comm.inter())
    return failure(ErrorClass::comm,
                   "the communicator is an intercommunicator; this call needs an intracommunicator");
  return {};
}

// What every new communicator takes from its parent.
void inherit(Communicator& parent, Communicator& made) {
  made.error_handler = parent.error_handler;
  made.session = parent.session;
}

// Groups remember the session, for what is made of them.
Ref<Group> with_session(const Ref<Group>& group, const Communicator& comm) {
  if (comm.session) group->session = comm.session;
  return group;
}

Result<> give(Communicator& parent, Result<Ref<Communicator>> made, Ref<Communicator>& out) {
  if (!made) return made.take_error();
  out = std::move(made).value();
  if (out) inherit(parent, *out);
  return {};
}

// What only duplicates take: topology, and attributes through their copy functions.
Result<> inherit_all(MpiProcess& process, Communicator& parent, Communicator& made) {
  inherit(parent, made);
  made.topology = parent.topology;
  Result<> copied = made.attributes.copy_from(parent.attributes, parent, process.attribute_callbacks());
  if (copied) return {};
  // The copies made until then go again; the error that counts is the first one.
  [[maybe_unused]] const Result<> removed = made.attributes.remove_all(made, process.attribute_callbacks());
  return copied;
}

Result<> duplicate_with(MpiProcess& process, Communicator& comm, Result<Ref<Info>> info,
                        Ref<Communicator>& newcomm) {
  if (!info) return info.take_error();
  const Ref<Communicator> kept(&comm);
  auto made =
      comm.inter() ? duplicate_inter(process.collectives(), comm) : duplicate(process.collectives(), comm);
  if (!made) return made.take_error();
  HAWSER_TRY(inherit_all(process, comm, *made.value()));
  made.value()->hints = std::move(info).value();
  newcomm = made.value();
  return {};
}

Result<> start_duplicate_with(MpiProcess& process, Communicator& comm, Result<Ref<Info>> info,
                              Ref<Communicator>& newcomm, Request*& request) {
  if (!info) return info.take_error();
  const Ref<Communicator> kept(&comm);
  Ref<Communicator> made = comm.inter() ? start_duplicate_inter(process.collectives(), comm, request)
                                        : start_duplicate(process.collectives(), comm, request);
  made->hints = std::move(info).value();
  newcomm = made;
  return inherit_all(process, comm, *made);
}

// Split types, numbered as in the standard ABI.
constexpr int split_shared = 221;
constexpr int split_hw_unguided = 222;
constexpr int split_hw_guided = 223;
constexpr int split_resource_guided = 224;

Result<> check_user_owned(MpiProcess& process, Communicator& comm) {
  if (process.handles().communicators.predefined(comm))
    return failure(ErrorClass::comm, "{} is predefined and may not be freed", comm.name);
  return {};
}

}  // namespace

Result<> comm_size(MpiProcess&, Communicator& comm, int& size) {
  size = comm.size();
  return {};
}

Result<> comm_rank(MpiProcess&, Communicator& comm, int& rank) {
  rank = comm.rank();
  return {};
}

Result<> comm_compare(MpiProcess&, Communicator& comm1, Communicator& comm2, int& result) {
  result = comm1.compare(comm2);
  return {};
}

Result<> comm_group(MpiProcess&, Communicator& comm, Ref<Group>& group) {
  group = with_session(comm.group(), comm);
  return {};
}

Result<> comm_test_inter(MpiProcess&, Communicator& comm, bool& flag) {
  flag = comm.inter();
  return {};
}

Result<> comm_remote_size(MpiProcess&, Communicator& comm, int& size) {
  if (!comm.inter()) return failure(ErrorClass::comm, "the communicator is not an intercommunicator");
  size = comm.peer_count();
  return {};
}

Result<> comm_remote_group(MpiProcess&, Communicator& comm, Ref<Group>& group) {
  if (!comm.inter()) return failure(ErrorClass::comm, "the communicator is not an intercommunicator");
  group = with_session(comm.remote_group(), comm);
  return {};
}

Result<> comm_dup(MpiProcess& process, Communicator& comm, Ref<Communicator>& newcomm) {
  return duplicate_with(process, comm, known_hints(comm.hints.get()), newcomm);
}

Result<> comm_dup_with_info(MpiProcess& process, Communicator& comm, Info* info, Ref<Communicator>& newcomm) {
  return duplicate_with(process, comm, known_hints(info), newcomm);
}

Result<> comm_idup(MpiProcess& process, Communicator& comm, Ref<Communicator>& newcomm, Request*& request) {
  return start_duplicate_with(process, comm, known_hints(comm.hints.get()), newcomm, request);
}

Result<> comm_idup_with_info(MpiProcess& process, Communicator& comm, Info* info, Ref<Communicator>& newcomm,
                             Request*& request) {
  return start_duplicate_with(process, comm, known_hints(info), newcomm, request);
}

Result<> comm_create(MpiProcess& process, Communicator& comm, Group& group, Ref<Communicator>& newcomm) {
  for (int r = 0; r < group.size(); ++r) {
    if (!comm.group()->contains(group.process_of(r)))
      return failure(ErrorClass::group, "rank {} of the group is not in the communicator", r);
  }
  if (comm.inter()) return give(comm, create_inter(process.collectives(), comm, group), newcomm);
  return give(comm, create(process.collectives(), comm, Ref<Group>(&group)), newcomm);
}

Result<> comm_create_group(MpiProcess& process, Communicator& comm, Group& group, int tag,
                           Ref<Communicator>& newcomm) {
  HAWSER_TRY(check_intra(comm));
  for (int r = 0; r < group.size(); ++r) {
    if (!comm.group()->contains(group.process_of(r)))
      return failure(ErrorClass::group, "rank {} of the group is not in the communicator", r);
  }
  return give(comm, create_from_group(process.collectives(), comm, Ref<Group>(&group), tag), newcomm);
}

Result<> comm_split(MpiProcess& process, Communicator& comm, int color, int key, Ref<Communicator>& newcomm) {
  if (color < 0 && color != undefined)
    return failure(ErrorClass::arg, "color is {}, but must be MPI_UNDEFINED or not negative", color);
  if (comm.inter()) return give(comm, split_inter(process.collectives(), comm, color, key), newcomm);
  return give(comm, split(process.collectives(), comm, color, key), newcomm);
}

// Whether the info names the resource that processes of one node share (section 7.4.2).
static bool names_shared_memory(const Info* info) {
  const std::string* resource = info == nullptr ? nullptr : info->find("mpi_hw_resource_type");
  return resource != nullptr && *resource == "mpi_shared_memory";
}

Result<> comm_split_type(MpiProcess& process, Communicator& comm, int split_type, int key, Info* info,
                         Ref<Communicator>& newcomm) {
  const std::int32_t node = process.processes().node_of(process.rank());
  int color = undefined;
  switch (split_type) {
    case split_shared:
      color = node;
      break;
    case split_hw_guided:
    case split_resource_guided:
      if (names_shared_memory(info)) color = node;
      break;
    case split_hw_unguided:
      // No finer division of the hardware is known: such splits give no communicator (section 7.4.2).
    case undefined:
      break;
    default:
      return failure(ErrorClass::arg, "split_type is {}, which is not a split type", split_type);
  }
  // On an intercommunicator: as MPI_Comm_split, with the node for a color.
  if (comm.inter()) return give(comm, split_inter(process.collectives(), comm, color, key), newcomm);
  return give(comm, split(process.collectives(), comm, color, key), newcomm);
}

Result<> intercomm_create(MpiProcess& process, Communicator& local_comm, int local_leader,
                          Communicator* peer_comm, int remote_leader, int tag,
                          Ref<Communicator>& newintercomm) {
  HAWSER_TRY(check_intra(local_comm));
  if (local_leader < 0 || local_leader >= local_comm.size())
    return failure(ErrorClass::rank, "local_leader is {}, which is not a rank of the communicator",
                   local_leader);
  if (local_comm.rank() == local_leader) {
    if (peer_comm == nullptr) return failure(ErrorClass::comm, "the peer communicator is MPI_COMM_NULL");
    if (remote_leader < 0 || remote_leader >= peer_comm->peer_count())
      return failure(ErrorClass::rank, "remote_leader is {}, which is not a rank of the peer communicator",
                     remote_leader);
  }
  return give(
      local_comm,
      connect_groups(process.collectives(), local_comm, {local_leader, peer_comm, remote_leader}, tag),
      newintercomm);
}

Result<> intercomm_merge(MpiProcess& process, Communicator& intercomm, bool high,
                         Ref<Communicator>& newintracomm) {
  if (!intercomm.inter()) return failure(ErrorClass::comm, "the communicator is not an intercommunicator");
  return give(intercomm, merge(process.collectives(), intercomm, high), newintracomm);
}

Result<> comm_free(MpiProcess& process, Communicator& comm) {
  HAWSER_TRY(check_user_owned(process, comm));
  const Ref<Communicator> kept(&comm);
  drop_buffer_of(process, comm);
  for (Communicator* of : {&comm, comm.local().get()})
    if (of != nullptr && of->collective != nullptr) of->collective->freed();
  Result<> removed = comm.attributes.remove_all(comm, process.attribute_callbacks());
  if (removed && process.has_lanes()) process.lanes()->leave(comm);
  return removed;
}

// What is still going on keeps the communicator alive and ends on its own, so there is nothing to wait for.
Result<> comm_disconnect(MpiProcess& process, Communicator& comm) { return comm_free(process, comm); }

Result<> comm_set_name(MpiProcess&, Communicator& comm, std::string_view comm_name) {
  comm.name = comm_name.substr(0, max_name);
  return {};
}

Result<> comm_get_name(MpiProcess&, Communicator& comm, std::string& comm_name) {
  comm_name = comm.name;
  return {};
}

Result<> comm_set_info(MpiProcess&, Communicator& comm, Info* info) {
  auto known = known_hints(info);
  if (!known) return known.take_error();
  // Hints that are not mentioned stay as they are.
  if (!comm.hints) comm.hints = make_counted<Info>();
  for (const Hint& hint : hints) {
    if (const std::string* value = known.value()->find(hint.key))
      HAWSER_TRY(comm.hints->set(hint.key, *value));
  }
  return {};
}

Result<> comm_get_info(MpiProcess&, Communicator& comm, Ref<Info>& info_used) {
  info_used = make_counted<Info>();
  for (const Hint& hint : hints) {
    const std::string* value = comm.hints ? comm.hints->find(hint.key) : nullptr;
    HAWSER_TRY(info_used->set(hint.key, value != nullptr ? std::string_view(*value) : hint.default_value));
  }
  return {};
}

}  // namespace hawser::mpi
