// Communicators from groups alone (MPI-5.0 sections 7.4.2 and 7.6.2). The members find each other over a
// context of MPI_COMM_WORLD's that nothing else uses; a number made of the string and the group tells calls
// apart.
#include "api/functions.h"
#include "collective/construction.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// Of MPI_COMM_WORLD's contexts the one in which other communicators end; it never ends itself.
constexpr std::uint32_t meeting_context = 3;

class TagHash {
 public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  // Unlike the tags of the barrier that shares the context.
  int tag() const { return static_cast<int>((hash_ ^ (hash_ >> 32)) & 0x3fffffff) | 0x40000000; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

Result<Ref<Communicator>> gather_members(MpiProcess& process, Group& group, std::string_view stringtag) {
  if (!group.contains(static_cast<ProcessIndex>(process.rank())))
    return failure(ErrorClass::group, "this process is not in the group");
  TagHash hash;
  hash.add(stringtag);
  for (int r = 0; r < group.size(); ++r) hash.add(static_cast<std::uint64_t>(group.process_of(r)));
  return make_within(process.collectives(), process.world(), Ref<Group>(&group),
                     process.world().context() + meeting_context, hash.tag());
}

Ref<Session> session_of(const Group& group) {
  return Ref<Session>(static_cast<Session*>(group.session.get()));
}

Result<> check_leader(const char* name, int leader, const Group& group) {
  if (leader >= 0 && leader < group.size()) return {};
  return failure(ErrorClass::rank, "{} is {}, but the group has {} processes", name, leader, group.size());
}

}  // namespace

Result<> comm_create_from_group(MpiProcess& process, Group& group, std::string_view stringtag, Info*,
                                ErrorHandler& errhandler, Ref<Communicator>& newcomm) {
  if (group.size() == 0) return {};  // MPI_COMM_NULL
  auto made = gather_members(process, group, stringtag);
  if (!made) return made.take_error();
  newcomm = std::move(made).value();
  newcomm->error_handler = Ref<ErrorHandler>(&errhandler);
  newcomm->session = session_of(group);
  return {};
}

Result<> intercomm_create_from_groups(MpiProcess& process, Group& local_group, int local_leader,
                                      Group* remote_group, int remote_leader, std::string_view stringtag,
                                      Info*, ErrorHandler& errhandler, Ref<Communicator>& newintercomm) {
  HAWSER_TRY(check_leader("local_leader", local_leader, local_group));
  const bool leads = local_group.process_of(local_leader) == static_cast<ProcessIndex>(process.rank());
  int remote_rank = 0;  // in MPI_COMM_WORLD, whose ranks are the numbers of processes
  if (leads) {
    if (remote_group == nullptr)
      return failure(ErrorClass::group, "remote_group is MPI_GROUP_NULL on the local leader");
    HAWSER_TRY(check_leader("remote_leader", remote_leader, *remote_group));
    remote_rank = static_cast<int>(remote_group->process_of(remote_leader));
  }
  auto local = gather_members(process, local_group, stringtag);
  if (!local) return local.take_error();
  TagHash hash;
  hash.add(stringtag);
  auto made = connect_groups(process.collectives(), *local.value(),
                             {local_leader, &process.world(), remote_rank}, hash.tag());
  if (!made) return made.take_error();
  newintercomm = std::move(made).value();
  newintercomm->error_handler = Ref<ErrorHandler>(&errhandler);
  newintercomm->session = session_of(local_group);
  return {};
}

}  // namespace hawser::mpi
