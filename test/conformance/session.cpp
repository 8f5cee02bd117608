// Sessions and process sets beside the world model (MPI-5.0 section 11.3). What sessions do without MPI_Init
// is in session_programs.cpp.
#include <set>
#include <string>
#include <vector>

#include "conformance.h"
#include "owned.h"

namespace conformance {

#if MPI_VERSION >= 4
namespace {

class OpenSession {
 public:
  explicit OpenSession(Conformance& t, MPI_Info info = MPI_INFO_NULL) {
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session_));
  }
  OpenSession(const OpenSession&) = delete;
  ~OpenSession() {
    if (session_ != MPI_SESSION_NULL) MPI_Session_finalize(&session_);
  }
  operator MPI_Session() const { return session_; }
  MPI_Session* out() { return &session_; }

 private:
  MPI_Session session_ = MPI_SESSION_NULL;
};

std::string value_of(Conformance& t, MPI_Info info, const char* key) {
  char value[256] = "";
  int room = sizeof value;
  int flag = 0;
  OK(MPI_Info_get_string(info, key, &room, value, &flag));
  return flag ? value : "";
}

OwnedComm comm_of(Conformance& t, MPI_Session session, const char* set, const char* tag) {
  OwnedGroup group;
  OwnedComm comm;
  OK(MPI_Group_from_session_pset(session, set, group.out()));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm.out()));
  return comm;
}

void process_sets(Conformance& t) {
  const OpenSession session(t);
  int sets = 0;
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  REQUIRE(sets >= 2);
  std::set<std::string> names;
  for (int i = 0; i < sets; ++i) {
    int room = 0;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &room, nullptr));
    REQUIRE(room > 1 && room <= MPI_MAX_PSET_NAME_LEN);
    std::vector<char> name(static_cast<std::size_t>(room));
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &room, name.data()));
    CHECK_EQ(std::string(name.data()).size() + 1, name.size());
    names.insert(name.data());
    // Every set that is listed has a group, and its info the group's size.
    OwnedInfo info;
    OwnedGroup group;
    OK(MPI_Session_get_pset_info(session, name.data(), info.out()));
    OK(MPI_Group_from_session_pset(session, name.data(), group.out()));
    int size = -1;
    OK(MPI_Group_size(group, &size));
    CHECK_EQ(value_of(t, info, "mpi_size"), std::to_string(size));
  }
  CHECK_EQ(static_cast<int>(names.size()), sets);
  CHECK(names.count("mpi://WORLD") == 1);
  CHECK(names.count("mpi://SELF") == 1);
}

void groups_of_sets(Conformance& t) {
  const OpenSession session(t);
  OwnedGroup all, self, world, small;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", all.out()));
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", self.out()));
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int result = 0, size = 0, rank = -1;
  OK(MPI_Group_compare(all, world, &result));
  CHECK(result == MPI_IDENT || result == MPI_SIMILAR);
  OK(MPI_Group_size(all, &size));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &result));
  CHECK_EQ(size, result);
  OK(MPI_Group_size(self, &size));
  OK(MPI_Group_rank(self, &rank));
  CHECK_EQ(size, 1);
  CHECK_EQ(rank, 0);
  OK(MPI_Group_from_session_pset(session, "mpi://self", small.out()));
  OK(MPI_Group_compare(self, small, &result));
  CHECK_EQ(result, MPI_IDENT);
}

void communicators(Conformance& t) {
  const OpenSession first(t), second(t);
  const OwnedComm one = comm_of(t, first, "mpi://WORLD", "conformance.one");
  const OwnedComm other = comm_of(t, second, "mpi://WORLD", "conformance.other");
  const OwnedComm self = comm_of(t, first, "mpi://SELF", "conformance.self");
  // What is sent in one is not received in the other.
  int size = 0, rank = -1;
  OK(MPI_Comm_size(one, &size));
  OK(MPI_Comm_rank(one, &rank));
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int from_one = -1, from_other = -1;
  const int in_one = rank, in_other = 1000 + rank;
  MPI_Request requests[4];
  OK(MPI_Irecv(&from_other, 1, MPI_INT, previous, 5, other, &requests[0]));
  OK(MPI_Irecv(&from_one, 1, MPI_INT, previous, 5, one, &requests[1]));
  OK(MPI_Isend(&in_one, 1, MPI_INT, next, 5, one, &requests[2]));
  OK(MPI_Isend(&in_other, 1, MPI_INT, next, 5, other, &requests[3]));
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(from_one, previous);
  CHECK_EQ(from_other, 1000 + previous);
  OK(MPI_Comm_size(self, &size));
  CHECK_EQ(size, 1);
  OwnedComm split;
  OK(MPI_Comm_split(one, rank % 2, rank, split.out()));
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, split));
  int expected = 0;
  OK(MPI_Comm_size(one, &size));
  for (int r = rank % 2; r < size; r += 2) expected += r;
  CHECK_EQ(sum, expected);
}

void opened_again_and_again(Conformance& t) {
  for (int round = 0; round < 5; ++round) {
    OpenSession session(t);
    const OwnedComm comm = comm_of(t, session, "mpi://WORLD", "conformance.again");
    int value = t.rank == 0 ? round : -1;
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    CHECK_EQ(value, round);
  }
  OpenSession session(t);
  OK(MPI_Session_finalize(session.out()));
  CHECK(session == MPI_SESSION_NULL);
}

void intercommunicator(Conformance& t) {
  const OpenSession session(t);
  OwnedGroup all, low, high;
  OwnedComm inter;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", all.out()));
  int low_range[1][3] = {{0, t.size / 2 - 1, 1}}, high_range[1][3] = {{t.size / 2, t.size - 1, 1}};
  OK(MPI_Group_range_incl(all, 1, low_range, low.out()));
  OK(MPI_Group_range_incl(all, 1, high_range, high.out()));
  const bool is_low = t.rank < t.size / 2;
  OK(MPI_Intercomm_create_from_groups(is_low ? low : high, 0, is_low ? high : low, 0, "conformance.inter",
                                      MPI_INFO_NULL, MPI_ERRORS_RETURN, inter.out()));
  int flag = 0, remote = 0;
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, is_low ? t.size - t.size / 2 : t.size / 2);
  const int mine = t.rank;
  int sum = 0, expected = 0;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
  for (int r = 0; r < t.size; ++r) expected += (r < t.size / 2) != is_low ? r : 0;
  CHECK_EQ(sum, expected);
}

void info_that_is_used(Conformance& t) {
  OwnedInfo wanted, used;
  OK(MPI_Info_create(wanted.out()));
  OK(MPI_Info_set(wanted, "thread_level", "MPI_THREAD_SINGLE"));
  const OpenSession session(t, wanted);
  OK(MPI_Session_get_info(session, used.out()));
  CHECK_EQ(value_of(t, used, "thread_level").rfind("MPI_THREAD_", 0), std::size_t{0});
}

// A handler knows nothing but the session: it leaves its message in the name of MPI_COMM_SELF.
void tell(MPI_Session*, int* code, ...) {
  int error_class = -1;
  MPI_Error_class(*code, &error_class);
  MPI_Comm_set_name(MPI_COMM_SELF, ("told " + std::to_string(error_class)).c_str());
}

std::string told() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
  MPI_Comm_set_name(MPI_COMM_SELF, "MPI_COMM_SELF");
  return name;
}

void handlers(Conformance& t) {
  const OpenSession session(t);
  OwnedErrhandler made, found;
  OK(MPI_Session_create_errhandler(tell, made.out()));
  OK(MPI_Session_set_errhandler(session, made));
  OK(MPI_Session_get_errhandler(session, found.out()));
  CHECK(found == made);
  OK(MPI_Session_call_errhandler(session, MPI_ERR_TOPOLOGY));
  CHECK_EQ(told(), "told " + std::to_string(MPI_ERR_TOPOLOGY));
  int room = 0;
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &room, nullptr) != MPI_SUCCESS);
  CHECK_EQ(told().rfind("told ", 0), std::size_t{0});
  OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &room, nullptr) != MPI_SUCCESS);
  CHECK_EQ(told(), "MPI_COMM_SELF");
  OwnedGroup group;
  CHECK(MPI_Group_from_session_pset(session, "mpi://NOBODY", group.out()) != MPI_SUCCESS);
}

void tell_comm(MPI_Comm*, int* code, ...) {
  MPI_Comm_set_name(MPI_COMM_SELF, ("told " + std::to_string(*code)).c_str());
}

// The error handler that is given for an object to be made hears of errors of the call, too (MPI-5.0 sections
// 7.4.2, 7.6.2 and 11.3.1). That of MPI_COMM_SELF would end the job.
void handlers_of_what_is_made(Conformance& t) {
  const OpenSession session(t);
  OwnedErrhandler of_comms, of_sessions;
  OK(MPI_Comm_create_errhandler(tell_comm, of_comms.out()));
  OK(MPI_Session_create_errhandler(tell, of_sessions.out()));
  OwnedGroup group;
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", group.out()));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Session opened = MPI_SESSION_NULL;
  const std::string of_group = "told " + std::to_string(MPI_ERR_GROUP);
  CHECK_FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, of_comms, &made),
              MPI_ERR_GROUP);
  CHECK_EQ(told(), of_group);
  CHECK_FAILS(MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, of_comms, nullptr), MPI_ERR_ARG);
  CHECK_EQ(told(), "told " + std::to_string(MPI_ERR_ARG));
  CHECK_FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
              MPI_ERR_GROUP);
  CHECK_EQ(told(), "MPI_COMM_SELF");
  CHECK_FAILS(
      MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, group, 0, "tag", MPI_INFO_NULL, of_comms, &made),
      MPI_ERR_GROUP);
  CHECK_EQ(told(), of_group);
  CHECK_FAILS(MPI_Intercomm_create_from_groups(group, 7, group, 0, "tag", MPI_INFO_NULL, of_comms, &made),
              MPI_ERR_RANK);
  CHECK_EQ(told(), "told " + std::to_string(MPI_ERR_RANK));
  CHECK_FAILS(MPI_Session_init(MPI_INFO_NULL, of_sessions, nullptr), MPI_ERR_ARG);
  CHECK_EQ(told(), "told " + std::to_string(MPI_ERR_ARG));
  CHECK_FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, nullptr), MPI_ERR_ARG);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(made == MPI_COMM_NULL && opened == MPI_SESSION_NULL);
}

void null_places(Conformance& t) {
  const OpenSession session(t);
  int room = 5;
  CHECK_FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &room, nullptr), MPI_ERR_ARG);
  CHECK_FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, nullptr, nullptr), MPI_ERR_ARG);
  CHECK_FAILS(MPI_Group_from_session_pset(session, "mpi://WORLD", nullptr), MPI_ERR_ARG);
}

// Of MPI-4.1: a buffer for what is sent over the session's communicators, and over those made of them.
void buffers([[maybe_unused]] Conformance& t) {
#if MPI_VERSION > 4 || MPI_SUBVERSION >= 1
  const OpenSession session(t);
  std::vector<char> memory(100'000 + MPI_BSEND_OVERHEAD);
  OK(MPI_Session_attach_buffer(session, memory.data(), static_cast<int>(memory.size())));
  {
    const OwnedComm comm = comm_of(t, session, "mpi://WORLD", "conformance.buffers");
    OwnedComm derived;
    OK(MPI_Comm_dup(comm, derived.out()));
    const int partner = t.size - 1 - t.rank;
    std::vector<unsigned char> sent = bytes(100'000, t.rank), received(sent.size());
    OK(MPI_Bsend(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, partner, 1, derived));
    std::fill(sent.begin(), sent.end(), static_cast<unsigned char>(0));
    MPI_Request flush = MPI_REQUEST_NULL;
    OK(MPI_Session_iflush_buffer(session, &flush));
    OK(MPI_Recv(received.data(), static_cast<int>(received.size()), MPI_BYTE, partner, 1, derived,
                MPI_STATUS_IGNORE));
    CHECK(received == bytes(100'000, partner));
    OK(MPI_Wait(&flush, MPI_STATUS_IGNORE));
    OK(MPI_Session_flush_buffer(session));
    MPI_Request request = MPI_REQUEST_NULL;
    OK(MPI_Bsend_init(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, partner, 2, comm, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Recv(received.data(), static_cast<int>(received.size()), MPI_BYTE, partner, 2, comm,
                MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    // Of the world model, and so without this buffer.
    CHECK_FAILS(MPI_Bsend(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, 0, 3, MPI_COMM_SELF),
                MPI_ERR_BUFFER);
  }
  void* address = nullptr;
  int size = 0;
  OK(MPI_Session_detach_buffer(session, &address, &size));
  CHECK(address == memory.data());
  CHECK_EQ(size, static_cast<int>(memory.size()));
#endif
}

}  // namespace

CHAPTER(session, CASE(process_sets), CASE(groups_of_sets), CASE(communicators), CASE(opened_again_and_again),
        CASE(intercommunicator, .min_ranks = 2), CASE(info_that_is_used), CASE(handlers),
        CASE(handlers_of_what_is_made), CASE(null_places), CASE(buffers))
#else
CHAPTER(session, Case{.name = "none", .body = [](Conformance&) {}})
#endif

}  // namespace conformance
