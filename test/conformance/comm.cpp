// Groups and communicators: set operations, duplication, splitting, creation, comparison, intercommunicators.
#include <cstring>
#include <numeric>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

std::vector<int> members(Conformance& t, MPI_Group group) {
  OwnedGroup world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int size = -1;
  OK(MPI_Group_size(group, &size));
  std::vector<int> own(static_cast<std::size_t>(size)), result(static_cast<std::size_t>(size), -1);
  std::iota(own.begin(), own.end(), 0);
  OK(MPI_Group_translate_ranks(group, size, own.data(), world, result.data()));
  return result;
}

void groups_as_sets(Conformance& t) {
  OwnedGroup world, evens, low, both, all, rest, reversed;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int size = 0, rank = -1;
  OK(MPI_Group_size(world, &size));
  OK(MPI_Group_rank(world, &rank));
  CHECK_EQ(size, t.size);
  CHECK_EQ(rank, t.rank);
  std::vector<int> even, first_half, expected;
  for (int i = 0; i < size; i += 2) even.push_back(i);
  for (int i = 0; i < (size + 1) / 2; ++i) first_half.push_back(i);
  OK(MPI_Group_incl(world, static_cast<int>(even.size()), even.data(), evens.out()));
  OK(MPI_Group_incl(world, static_cast<int>(first_half.size()), first_half.data(), low.out()));
  CHECK(members(t, evens) == even);
  OK(MPI_Group_rank(evens, &rank));
  CHECK_EQ(rank, t.rank % 2 ? MPI_UNDEFINED : t.rank / 2);
  OK(MPI_Group_intersection(evens, low, both.out()));
  for (int i = 0; i < (size + 1) / 2; i += 2) expected.push_back(i);
  CHECK(members(t, both) == expected);
  OK(MPI_Group_union(evens, low, all.out()));
  expected = even;
  for (int i = 1; i < (size + 1) / 2; i += 2) expected.push_back(i);
  CHECK(members(t, all) == expected);
  OK(MPI_Group_difference(world, evens, rest.out()));
  expected.clear();
  for (int i = 1; i < size; i += 2) expected.push_back(i);
  if (expected.empty()) CHECK(rest == MPI_GROUP_EMPTY);
  CHECK(members(t, rest) == expected);
  int range[1][3] = {{size - 1, 0, -1}}, result = -1;
  OK(MPI_Group_range_incl(world, 1, range, reversed.out()));
  expected.resize(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) expected[static_cast<std::size_t>(i)] = size - 1 - i;
  CHECK(members(t, reversed) == expected);
  OK(MPI_Group_compare(world, reversed, &result));
  CHECK_EQ(result, size > 1 ? MPI_SIMILAR : MPI_IDENT);
  OK(MPI_Group_compare(world, evens, &result));
  CHECK_EQ(result, size > 1 ? MPI_UNEQUAL : MPI_IDENT);
  OwnedGroup excluded, range_excluded;
  OK(MPI_Group_excl(world, static_cast<int>(even.size()), even.data(), excluded.out()));
  OK(MPI_Group_compare(excluded, rest, &result));
  CHECK_EQ(result, MPI_IDENT);
  int all_even[1][3] = {{0, size - 1, 2}};
  OK(MPI_Group_range_excl(world, 1, all_even, range_excluded.out()));
  OK(MPI_Group_compare(range_excluded, rest, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_size(MPI_GROUP_EMPTY, &size));
  CHECK_EQ(size, 0);
}

void translation_of_strangers(Conformance& t) {
  OwnedGroup world, only_0;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  const int zero = 0;
  OK(MPI_Group_incl(world, 1, &zero, only_0.out()));
  const int asked[] = {0, t.size - 1, MPI_PROC_NULL};
  int answers[3] = {-9, -9, -9};
  OK(MPI_Group_translate_ranks(world, 3, asked, only_0, answers));
  CHECK_EQ(answers[0], 0);
  CHECK_EQ(answers[1], t.size > 1 ? MPI_UNDEFINED : 0);
  CHECK_EQ(answers[2], MPI_PROC_NULL);
}

void dup_is_congruent(Conformance& t) {
  OwnedComm one, two;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, one.out()));
  MPI_Request request;
  OK(MPI_Comm_idup(one, two.out(), &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int result = -1, size = 0, rank = -1, inter = -1;
  OK(MPI_Comm_compare(MPI_COMM_WORLD, one, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_compare(one, two, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_compare(one, one, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
  CHECK_EQ(result, t.size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);
  OK(MPI_Comm_size(two, &size));
  OK(MPI_Comm_rank(two, &rank));
  OK(MPI_Comm_test_inter(two, &inter));
  CHECK_EQ(size, t.size);
  CHECK_EQ(rank, t.rank);
  CHECK_EQ(inter, 0);
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, two));
  CHECK_EQ(sum, t.size * (t.size - 1) / 2);
}

void split_by_colour_and_key(Conformance& t) {
  for (int colours : {1, 2, 3}) {
    OwnedComm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, t.rank % colours, -t.rank, part.out()));
    int size = 0, rank = -1, expected_size = 0, expected_rank = 0;
    OK(MPI_Comm_size(part, &size));
    OK(MPI_Comm_rank(part, &rank));
    for (int other = t.rank % colours; other < t.size; other += colours) {
      ++expected_size;
      expected_rank += other > t.rank;
    }
    CHECK_EQ(size, expected_size);
    CHECK_EQ(rank, expected_rank);
  }
  // Equal keys keep the old order.
  OwnedComm same;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 5, 0, same.out()));
  int result = -1;
  OK(MPI_Comm_compare(MPI_COMM_WORLD, same, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
}

void split_leaves_some_out(Conformance& t) {
  MPI_Comm part = MPI_COMM_SELF;
  OK(MPI_Comm_split(MPI_COMM_WORLD, t.rank == 0 ? MPI_UNDEFINED : 1, 0, &part));
  CHECK_EQ(part == MPI_COMM_NULL, t.rank == 0);
  if (part != MPI_COMM_NULL) {
    int size = 0;
    OK(MPI_Comm_size(part, &size));
    CHECK_EQ(size, t.size - 1);
    OK(MPI_Comm_free(&part));
    CHECK(part == MPI_COMM_NULL);
  }
}

void split_by_shared_memory(Conformance& t) {
  OwnedComm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, node.out()));
  int size = 0, total = 0;
  OK(MPI_Comm_size(node, &size));
  CHECK(size >= 1 && size <= t.size);
  OK(MPI_Allreduce(&size, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(total >= t.size);
  MPI_Comm none = MPI_COMM_SELF;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  CHECK(none == MPI_COMM_NULL);
}

void create_from_groups(Conformance& t) {
  OwnedGroup world, odds;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  std::vector<int> odd;
  for (int i = 1; i < t.size; i += 2) odd.push_back(i);
  OK(MPI_Group_incl(world, static_cast<int>(odd.size()), odd.data(), odds.out()));
  MPI_Comm created = MPI_COMM_SELF;
  OK(MPI_Comm_create(MPI_COMM_WORLD, odds, &created));
  CHECK_EQ(created != MPI_COMM_NULL, t.rank % 2 == 1);
  if (created != MPI_COMM_NULL) {
    int rank = -1, sum = 0;
    OK(MPI_Comm_rank(created, &rank));
    CHECK_EQ(rank, t.rank / 2);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, created));
    CHECK_EQ(sum, static_cast<int>(odd.size() * (odd.size() - 1) / 2));
    OK(MPI_Comm_free(&created));
  }
  // Only the members call this one.
  if (t.rank % 2 == 1) {
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, odds, 17, &created));
    int size = 0;
    OK(MPI_Comm_size(created, &size));
    CHECK_EQ(size, static_cast<int>(odd.size()));
    OK(MPI_Barrier(created));
    OK(MPI_Comm_free(&created));
  }
}

void names(Conformance& t) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = -1;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK_EQ(std::string(name), "MPI_COMM_WORLD");
  CHECK_EQ(length, 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK_EQ(std::string(name), "MPI_COMM_SELF");
  OwnedComm mine;
  OK(MPI_Comm_dup(MPI_COMM_SELF, mine.out()));
  OK(MPI_Comm_get_name(mine, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Comm_set_name(mine, "mine"));
  OK(MPI_Comm_get_name(mine, name, &length));
  CHECK_EQ(std::string(name), "mine");
}

// Of MPI-4.1 (B.1.2): null handles have the names of their constants.
void names_of_nothing([[maybe_unused]] Conformance& t) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = -1;
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK_EQ(std::string(name), "MPI_COMM_NULL");
  CHECK_EQ(length, 13);
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK_EQ(std::string(name), "MPI_DATATYPE_NULL");
  CHECK_EQ(length, 17);
  OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK_EQ(std::string(name), "MPI_WIN_NULL");
  CHECK_EQ(length, 12);
#endif
}

// Many come and go: context ids are used again, and what is freed early is gone only when it is idle.
void many_communicators(Conformance& t) {
  for (int i = 0; i < 300; ++i) {
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_free(&copy));
  }
  std::vector<MPI_Comm> live(60);
  for (auto& comm : live) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (std::size_t i = 0; i < live.size(); ++i) {
    int value = t.rank == 0 ? static_cast<int>(i) : -1;
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, live[i]));
    CHECK_EQ(value, static_cast<int>(i));
  }
  for (auto& comm : live) OK(MPI_Comm_free(&comm));
}

void freed_with_a_message_in_the_air(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (int size : {10, 100'000}) {
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    const auto out = values(size, t.rank);
    std::vector<int> in(static_cast<std::size_t>(size));
    MPI_Request requests[2];
    OK(MPI_Irecv(in.data(), size, MPI_INT, previous, 1, copy, &requests[0]));
    OK(MPI_Isend(out.data(), size, MPI_INT, next, 1, copy, &requests[1]));
    OK(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in == values(size, previous));
  }
}

// Two halves that face each other.
void intercommunicator(Conformance& t) {
  const int mine = t.rank % 2;
  OwnedComm local, inter;
  OK(MPI_Comm_split(MPI_COMM_WORLD, mine, t.rank, local.out()));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - mine, 33, inter.out()));
  int is_inter = 0, remote = 0, size = 0, rank = -1;
  OK(MPI_Comm_test_inter(inter, &is_inter));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_rank(inter, &rank));
  CHECK_EQ(is_inter, 1);
  CHECK_EQ(size, (t.size + 1 - mine) / 2);
  CHECK_EQ(remote, (t.size + mine) / 2);
  CHECK_EQ(rank, t.rank / 2);
  // Ranks name the other side.
  if (rank < remote) {
    int got = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(&t.rank, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, inter, &status));
    CHECK_EQ(got, rank * 2 + 1 - mine);
    CHECK_EQ(status.MPI_SOURCE, rank);
  }
  OwnedGroup far;
  OK(MPI_Comm_remote_group(inter, far.out()));
  const auto others = members(t, far);
  for (std::size_t i = 0; i < others.size(); ++i) CHECK_EQ(others[i], static_cast<int>(i) * 2 + 1 - mine);
  for (int high : {0, 1}) {
    OwnedComm merged;
    OK(MPI_Intercomm_merge(inter, mine == high, merged.out()));
    int merged_size = 0, merged_rank = -1;
    OK(MPI_Comm_size(merged, &merged_size));
    OK(MPI_Comm_rank(merged, &merged_rank));
    CHECK_EQ(merged_size, t.size);
    CHECK_EQ(merged_rank, mine == high ? remote + rank : rank);
    int sum = 0;
    OK(MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK_EQ(sum, t.size * (t.size - 1) / 2);
  }
}

void wrong_arguments(Conformance& t) {
  OwnedGroup world, result;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  const int beyond = t.size, twice[] = {0, 0};
  CHECK_FAILS(MPI_Group_incl(world, 1, &beyond, result.out()), MPI_ERR_RANK);
  CHECK_FAILS(MPI_Group_incl(world, 2, twice, result.out()), MPI_ERR_RANK);
  int size = 0;
  CHECK_FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
  CHECK_FAILS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
}

}  // namespace

CHAPTER(comm, CASE(groups_as_sets), CASE(translation_of_strangers), CASE(dup_is_congruent),
        CASE(split_by_colour_and_key), CASE(split_leaves_some_out), CASE(split_by_shared_memory),
        CASE(create_from_groups), CASE(names), CASE(names_of_nothing), CASE(many_communicators, .slow = true),
        CASE(freed_with_a_message_in_the_air), CASE(intercommunicator, .min_ranks = 2), CASE(wrong_arguments))

}  // namespace conformance
