// Communicators: construction, comparison, names, hints, and that contexts keep messages apart (MPI-5.0
// section 7.4).
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

std::vector<int> gather(MPI_Comm comm, int value) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> all(static_cast<std::size_t>(size), -1);
  MPI_Allgather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
  return all;
}

// The ranks that take part in a case, as a communicator.
OwnedComm everyone(Conformance& t) {
  OwnedComm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, comm.out()));
  return comm;
}

void duplicate(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm copy;
  OK(MPI_Comm_dup(all, copy.out()));
  int result = -1;
  OK(MPI_Comm_compare(all, copy, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_compare(copy, copy, &result));
  CHECK_EQ(result, MPI_IDENT);
  CHECK_EQ(static_cast<int>(gather(copy, t.rank).size()), t.size);
  // A message in one is not seen in the other.
  MPI_Request request;
  const int sent = t.rank;
  OK(MPI_Isend(&sent, 1, MPI_INT, t.rank, 3, all, &request));
  int there = 1;
  OK(MPI_Iprobe(t.rank, 3, copy, &there, MPI_STATUS_IGNORE));
  CHECK(!there);
  int received = -1;
  OK(MPI_Recv(&received, 1, MPI_INT, t.rank, 3, all, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(received, t.rank);
}

void duplicates_in_the_background(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm copies[3];
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_idup(all, copies[i].out(), &requests[i]));
  OK(MPI_Barrier(all));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  for (OwnedComm& copy : copies) {
    int result = -1;
    OK(MPI_Comm_compare(all, copy, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    CHECK_EQ(gather(copy, 5 * t.rank).back(), 5 * (t.size - 1));
  }
}

void split_by_color_and_key(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm part;
  OK(MPI_Comm_split(all, t.rank % 2, -t.rank, part.out()));
  std::vector<int> expected;
  for (int r = t.size - 1; r >= 0; --r)
    if (r % 2 == t.rank % 2) expected.push_back(r);
  CHECK(gather(part, t.rank) == expected);
  // Equal keys keep the order of ranks.
  OwnedComm same;
  OK(MPI_Comm_split(all, 7, 0, same.out()));
  int result = -1;
  OK(MPI_Comm_compare(all, same, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OwnedComm turned;
  OK(MPI_Comm_split(all, 7, -t.rank, turned.out()));
  OK(MPI_Comm_compare(all, turned, &result));
  CHECK_EQ(result, t.size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
}

void split_without_some(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm part;
  OK(MPI_Comm_split(all, t.rank == 0 ? MPI_UNDEFINED : 1, 0, part.out()));
  if (t.rank == 0) {
    CHECK(part == MPI_COMM_NULL);
  } else {
    CHECK_EQ(static_cast<int>(gather(part, 0).size()), t.size - 1);
  }
}

void split_by_shared_memory(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm node, nothing;
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node.out()));
  int size = 0, rank = -1;
  OK(MPI_Comm_size(node, &size));
  OK(MPI_Comm_rank(node, &rank));
  CHECK(size >= 1 && size <= t.size && rank >= 0 && rank < size);
  OK(MPI_Comm_split_type(all, MPI_UNDEFINED, 0, MPI_INFO_NULL, nothing.out()));
  CHECK(nothing == MPI_COMM_NULL);
}

void create_from_group(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedGroup group, odd;
  OK(MPI_Comm_group(all, group.out()));
  std::vector<int> ranks;
  for (int r = t.size - 1; r > 0; r -= 2) ranks.push_back(r);
  OK(MPI_Group_incl(group, static_cast<int>(ranks.size()), ranks.data(), odd.out()));
  bool member = false;
  for (int r : ranks) member |= r == t.rank;
  OwnedComm made, made_alone;
  OK(MPI_Comm_create(all, odd, made.out()));
  CHECK_EQ(made != MPI_COMM_NULL, member);
  if (!member) return;
  CHECK(gather(made, t.rank) == ranks);
  OK(MPI_Comm_create_group(all, odd, 11, made_alone.out()));
  CHECK(gather(made_alone, t.rank) == ranks);
}

// One after another, with one tag: between the same processes a rank of the new communicator is now this one
// and now that one.
void create_from_overlapping_groups(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedGroup everybody;
  OK(MPI_Comm_group(all, everybody.out()));
  unsigned draw = 1;
  for (int round = 0; round < 40; ++round) {
    std::vector<int> ranks;
    bool member = false;
    for (int r = 0; r < t.size; ++r) {
      draw = draw * 1103515245u + 12345u;
      if ((draw >> 16) % 2 == 0) continue;
      ranks.push_back(r);
      member |= r == t.rank;
    }
    if (!member) continue;
    OwnedGroup some;
    OK(MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), some.out()));
    OwnedComm made;
    OK(MPI_Comm_create_group(all, some, 0, made.out()));
    CHECK(gather(made, t.rank) == ranks);
  }
}

// The two halves make theirs in one call.
void create_from_disjoint_groups(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedGroup group, half;
  OK(MPI_Comm_group(all, group.out()));
  const int middle = t.size / 2;
  int range[][3] = {{t.rank < middle ? 0 : middle, t.rank < middle ? middle - 1 : t.size - 1, 1}};
  OK(MPI_Group_range_incl(group, 1, range, half.out()));
  OwnedComm made;
  OK(MPI_Comm_create(all, half, made.out()));
  REQUIRE(made != MPI_COMM_NULL);
  CHECK_EQ(gather(made, t.rank).front(), range[0][0]);
  CHECK_EQ(gather(made, t.rank).back(), range[0][1]);
}

// No parent: the odd and the even ranks, then all in reverse order.
void create_from_group_alone(Conformance& t) {
#if MPI_VERSION >= 4
  OwnedGroup world, half, reversed;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int same_parity[][3] = {{t.rank % 2, t.size - 1, 2}}, backwards[][3] = {{t.size - 1, 0, -1}};
  OK(MPI_Group_range_incl(world, 1, same_parity, half.out()));
  OK(MPI_Group_range_incl(world, 1, backwards, reversed.out()));
  OwnedComm part, all, nothing;
  OK(MPI_Comm_create_from_group(half, "hawser.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, part.out()));
  OK(MPI_Comm_create_from_group(reversed, "hawser.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, all.out()));
  const std::vector<int> of_part = gather(part, t.rank), of_all = gather(all, t.rank);
  for (std::size_t r = 0; r < of_part.size(); ++r) CHECK_EQ(of_part[r], static_cast<int>(r) * 2 + t.rank % 2);
  for (std::size_t r = 0; r < of_all.size(); ++r) CHECK_EQ(of_all[r], t.size - 1 - static_cast<int>(r));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  OK(MPI_Comm_get_errhandler(all, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "hawser.empty", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                nothing.out()));
  CHECK(nothing == MPI_COMM_NULL);
#endif
}

void intercommunicator_from_groups(Conformance& t) {
#if MPI_VERSION >= 4
  OwnedGroup world, own, other;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int range[][3] = {{t.rank % 2, t.size - 1, 2}}, far[][3] = {{1 - t.rank % 2, t.size - 1, 2}};
  OK(MPI_Group_range_incl(world, 1, range, own.out()));
  OK(MPI_Group_range_incl(world, 1, far, other.out()));
  OwnedComm inter;
  // The remote group matters at the leader only.
  const bool leads = t.rank < 2;
  OK(MPI_Intercomm_create_from_groups(own, 0, leads ? static_cast<MPI_Group>(other) : MPI_GROUP_EMPTY, 0,
                                      "hawser.bridge", MPI_INFO_NULL, MPI_ERRORS_RETURN, inter.out()));
  int remote = 0;
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, (t.size + t.rank % 2) / 2);
  std::vector<int> got(static_cast<std::size_t>(remote), -1);
  OK(MPI_Allgather(&t.rank, 1, MPI_INT, got.data(), 1, MPI_INT, inter));
  for (std::size_t r = 0; r < got.size(); ++r) CHECK_EQ(got[r], static_cast<int>(r) * 2 + 1 - t.rank % 2);
#endif
}

// Divisions by named resources: those that are known, and one that nobody knows.
void split_by_resource(Conformance& t) {
#if MPI_VERSION >= 4
  const OwnedComm all = everyone(t);
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  OwnedComm node, guided, unknown;
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node.out()));
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_HW_GUIDED, 0, info, guided.out()));
  REQUIRE(guided != MPI_COMM_NULL);
  int result = -1;
  OK(MPI_Comm_compare(node, guided, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "nobody_knows_this"));
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_HW_GUIDED, 0, info, unknown.out()));
  CHECK(unknown == MPI_COMM_NULL);
#endif
}

// More than an implementation could keep if it did not use context ids again.
void many_in_a_row(Conformance& t) {
  const OwnedComm all = everyone(t);
#ifdef HAWSER_SANITIZE_thread
  constexpr int rounds = 500;  // slow there, and the release build shows it
#else
  constexpr int rounds = 5000;
#endif
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm copy;
    OK(MPI_Comm_dup(all, &copy));
    OK(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
  }
}

void many_at_a_time(Conformance& t) {
  const OwnedComm all = everyone(t);
  std::vector<MPI_Comm> copies(100);
  for (MPI_Comm& copy : copies) OK(MPI_Comm_dup(all, &copy));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    int sum = 0;
    const int one = static_cast<int>(i);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copies[i]));
    CHECK_EQ(sum, t.size * one);
  }
  for (MPI_Comm& copy : copies) OK(MPI_Comm_free(&copy));
}

// What is under way goes on after MPI_Comm_free.
void freed_while_in_use(Conformance& t) {
  const OwnedComm all = everyone(t);
  MPI_Comm copy;
  OK(MPI_Comm_dup(all, &copy));
  MPI_Request requests[2];
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  const auto sent = values(50000, t.rank);
  std::vector<int> received(50000);
  OK(MPI_Irecv(received.data(), 50000, MPI_INT, previous, 0, copy, &requests[0]));
  OK(MPI_Isend(sent.data(), 50000, MPI_INT, next, 0, copy, &requests[1]));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(received == values(50000, previous));
}

void names(Conformance& t) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK_EQ(std::string(name), "MPI_COMM_WORLD");
  CHECK_EQ(length, 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK_EQ(std::string(name), "MPI_COMM_SELF");
  const OwnedComm all = everyone(t);
  OK(MPI_Comm_get_name(all, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Comm_set_name(all, "ensemble"));
  OK(MPI_Comm_get_name(all, name, &length));
  CHECK_EQ(std::string(name), "ensemble");
  OwnedComm copy;
  OK(MPI_Comm_dup(all, copy.out()));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK_EQ(length, 0);
}

void groups_of_communicators(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedGroup group, self;
  OK(MPI_Comm_group(all, group.out()));
  OK(MPI_Comm_group(MPI_COMM_SELF, self.out()));
  int rank = -1, size = -1, inter = 1;
  OK(MPI_Group_rank(group, &rank));
  OK(MPI_Group_size(self, &size));
  OK(MPI_Comm_test_inter(all, &inter));
  CHECK_EQ(rank, t.rank);
  CHECK_EQ(size, 1);
  CHECK(!inter);
  CHECK_FAILS(MPI_Comm_remote_size(all, &size), MPI_ERR_COMM);
}

void hints(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "nobody_knows_this", "1"));
  const OwnedComm all = everyone(t);
  OwnedComm copy, copy_of_copy;
  OK(MPI_Comm_dup_with_info(all, info, copy.out()));
  OK(MPI_Comm_dup(copy, copy_of_copy.out()));
  for (MPI_Comm comm : {static_cast<MPI_Comm>(copy), static_cast<MPI_Comm>(copy_of_copy)}) {
    OwnedInfo used;
    OK(MPI_Comm_get_info(comm, used.out()));
    char value[16] = "";
    int flag = 0;
    OK(MPI_Info_get(used, "mpi_assert_no_any_tag", 15, value, &flag));
    CHECK(!flag || std::string(value) == "true");
    OK(MPI_Info_get(used, "nobody_knows_this", 15, value, &flag));
    CHECK(!flag);
  }
  OK(MPI_Comm_set_info(all, info));
}

void wrong_arguments(Conformance& t) {
  MPI_Comm out;
  CHECK_FAILS(MPI_Comm_dup(MPI_COMM_NULL, &out), MPI_ERR_COMM);
  CHECK_FAILS(MPI_Comm_split(MPI_COMM_SELF, -5, 0, &out), MPI_ERR_ARG);
  int size = 0;
  CHECK_FAILS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
  MPI_Comm self = MPI_COMM_SELF;
  CHECK_FAILS(MPI_Comm_free(&self), MPI_ERR_COMM);
}

}  // namespace

CHAPTER(comm_making, CASE(duplicate), CASE(duplicates_in_the_background), CASE(split_by_color_and_key),
        CASE(split_without_some, .min_ranks = 2), CASE(split_by_shared_memory),
        CASE(create_from_group, .min_ranks = 2), CASE(create_from_disjoint_groups, .min_ranks = 2),
        CASE(create_from_overlapping_groups, .min_ranks = 2), CASE(create_from_group_alone),
        CASE(intercommunicator_from_groups, .min_ranks = 2), CASE(split_by_resource),
        CASE(many_in_a_row, .slow = true), CASE(many_at_a_time), CASE(freed_while_in_use), CASE(names),
        CASE(groups_of_communicators), CASE(hints), CASE(wrong_arguments))

}  // namespace conformance
