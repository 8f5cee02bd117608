#include "session_programs.h"

#include <mpi.h>

#include <stdexcept>

namespace conformance {

#if MPI_VERSION >= 4
namespace {

void require(bool good, const char* what, int line) {
  if (!good) throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}
#define GOOD(call) require((call) == MPI_SUCCESS, #call, __LINE__)
#define TRUE(condition) require(condition, #condition, __LINE__)

MPI_Session open() {
  MPI_Session session = MPI_SESSION_NULL;
  GOOD(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  return session;
}

MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  GOOD(MPI_Group_from_session_pset(session, set, &group));
  GOOD(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  GOOD(MPI_Group_free(&group));
  return comm;
}

// Sums the ranks, and sends something long around a ring.
void use(MPI_Comm comm) {
  int rank = -1, size = 0, sum = 0;
  GOOD(MPI_Comm_rank(comm, &rank));
  GOOD(MPI_Comm_size(comm, &size));
  GOOD(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  TRUE(sum == size * (size - 1) / 2);
  std::vector<int> out(40'000, rank), in(out.size(), -1);
  GOOD(MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_INT, (rank + 1) % size, 3, in.data(),
                    static_cast<int>(in.size()), MPI_INT, (rank + size - 1) % size, 3, comm,
                    MPI_STATUS_IGNORE));
  TRUE(in.front() == (rank + size - 1) % size && in.back() == in.front());
}

void use_world_of(MPI_Session session, const char* tag) {
  MPI_Comm comm = comm_of(session, "mpi://WORLD", tag);
  use(comm);
  GOOD(MPI_Comm_free(&comm));
}

void expect_initialized(bool initialized, bool finalized) {
  int flag = -1;
  GOOD(MPI_Initialized(&flag));
  TRUE(flag == (initialized ? 1 : 0));
  GOOD(MPI_Finalized(&flag));
  TRUE(flag == (finalized ? 1 : 0));
}

void alone() {
  expect_initialized(false, false);
  MPI_Session session = open();
  use_world_of(session, "alone");
  expect_initialized(false, false);
  GOOD(MPI_Session_finalize(&session));
  TRUE(session == MPI_SESSION_NULL);
  expect_initialized(false, false);
}

void repeated() {
  for (int round = 0; round < 10; ++round) {
    MPI_Session session = open();
    use_world_of(session, "repeated");
    GOOD(MPI_Session_finalize(&session));
  }
}

void several() {
  MPI_Session first = open();
  MPI_Session second = open();
  MPI_Comm of_first = comm_of(first, "mpi://WORLD", "several");
  use_world_of(second, "several");
  GOOD(MPI_Session_finalize(&second));
  use(of_first);
  MPI_Session third = open();
  use_world_of(third, "several");
  GOOD(MPI_Comm_free(&of_first));
  GOOD(MPI_Session_finalize(&first));
  use_world_of(third, "several");
  GOOD(MPI_Session_finalize(&third));
}

// Processes need not open equally many.
void unequal() {
  MPI_Session session = open();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "unequal");
  int rank = -1;
  GOOD(MPI_Comm_rank(comm, &rank));
  use(comm);
  GOOD(MPI_Comm_free(&comm));
  GOOD(MPI_Session_finalize(&session));
  for (int i = 0; i < rank; ++i) {
    session = open();
    comm = comm_of(session, "mpi://SELF", "unequal");
    use(comm);
    GOOD(MPI_Comm_free(&comm));
    GOOD(MPI_Session_finalize(&session));
  }
}

void before_world() {
  MPI_Session session = open();
  use_world_of(session, "before");
  GOOD(MPI_Session_finalize(&session));
  GOOD(MPI_Init(nullptr, nullptr));
  use(MPI_COMM_WORLD);
  GOOD(MPI_Finalize());
  expect_initialized(true, true);
}

void around_world() {
  MPI_Session session = open();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "around");
  GOOD(MPI_Init(nullptr, nullptr));
  expect_initialized(true, false);
  use(MPI_COMM_WORLD);
  use(comm);
  GOOD(MPI_Finalize());
  expect_initialized(true, true);
  use(comm);
  GOOD(MPI_Comm_free(&comm));
  GOOD(MPI_Session_finalize(&session));
}

void within_world() {
  GOOD(MPI_Init(nullptr, nullptr));
  for (int round = 0; round < 3; ++round) {
    MPI_Session session = open();
    use_world_of(session, "within");
    GOOD(MPI_Session_finalize(&session));
    use(MPI_COMM_WORLD);
  }
  GOOD(MPI_Finalize());
}

void after_world() {
  GOOD(MPI_Init(nullptr, nullptr));
  use(MPI_COMM_WORLD);
  GOOD(MPI_Finalize());
  MPI_Session session = open();
  expect_initialized(true, true);
  use_world_of(session, "after");
  GOOD(MPI_Session_finalize(&session));
}

std::string described() {
  MPI_Info info = MPI_INFO_NULL;
  GOOD(MPI_Info_create_env(0, nullptr, &info));
  int keys = 0;
  GOOD(MPI_Info_get_nkeys(info, &keys));
  std::string text;
  for (int n = 0; n < keys; ++n) {
    char key[MPI_MAX_INFO_KEY + 1] = {}, value[MPI_MAX_INFO_VAL + 1] = {};
    int length = sizeof value, found = 0;
    GOOD(MPI_Info_get_nthkey(info, n, key));
    GOOD(MPI_Info_get_string(info, key, &length, value, &found));
    text.append(key).append("=").append(value).append("\n");
  }
  GOOD(MPI_Info_free(&info));
  return text;
}

// How the program was started does not change while it runs.
void environment() {
  const std::string before = described();
  TRUE(before.find("host=") != std::string::npos);
  GOOD(MPI_Init(nullptr, nullptr));
  TRUE(described() == before);
  GOOD(MPI_Finalize());
  TRUE(described() == before);
}

// Communicators that are freed last end while processes leave, some of them early.
void many_at_the_end() {
  GOOD(MPI_Init(nullptr, nullptr));
  std::vector<MPI_Comm> comms(2000, MPI_COMM_NULL);
  int rank = -1;
  GOOD(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (MPI_Comm& comm : comms) GOOD(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm));
  for (MPI_Comm& comm : comms) GOOD(MPI_Comm_free(&comm));
  GOOD(MPI_Finalize());
}

struct Program {
  const char* name;
  void (*body)();
};
constexpr Program programs[] = {{"alone", alone},
                                {"repeated", repeated},
                                {"several", several},
                                {"unequal", unequal},
                                {"before_world", before_world},
                                {"around_world", around_world},
                                {"within_world", within_world},
                                {"after_world", after_world},
                                {"environment", environment},
                                {"many_at_the_end", many_at_the_end}};

}  // namespace

std::vector<std::string> session_programs() {
  std::vector<std::string> names;
  for (const Program& program : programs) names.push_back(program.name);
  return names;
}

std::string run_session_program(const std::string& name) {
  for (const Program& program : programs) {
    if (name != program.name) continue;
    try {
      program.body();
    } catch (const std::runtime_error& error) {
      return name + ", " + error.what();
    }
    return "";
  }
  std::string unknown = "there is no program " + name + "; there are";
  for (const Program& program : programs) unknown += std::string(" ") + program.name;
  return unknown;
}
#else
std::vector<std::string> session_programs() { return {}; }
std::string run_session_program(const std::string&) { return "this MPI has no sessions"; }
#endif

}  // namespace conformance
