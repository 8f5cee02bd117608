// Groups: access, set operations, ranges, translation (MPI-5.0 section 7.3). All local.
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

OwnedGroup world_group() {
  OwnedGroup group;
  MPI_Comm_group(MPI_COMM_WORLD, group.out());
  return group;
}

// The world's ranks of a group's members.
std::vector<int> members(MPI_Group group) {
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks);
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  const OwnedGroup world = world_group();
  MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
  return in_world;
}

OwnedGroup including(const std::vector<int>& ranks) {
  OwnedGroup group;
  MPI_Group_incl(world_group(), static_cast<int>(ranks.size()), ranks.data(), group.out());
  return group;
}

void of_the_world(Conformance& t) {
  const OwnedGroup world = world_group();
  int size = -1, rank = -1;
  OK(MPI_Group_size(world, &size));
  OK(MPI_Group_rank(world, &rank));
  int comm_size = 0, comm_rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &comm_size);
  MPI_Comm_rank(MPI_COMM_WORLD, &comm_rank);
  CHECK_EQ(size, comm_size);
  CHECK_EQ(rank, comm_rank);
  int empty = -1, nobody = 0;
  OK(MPI_Group_size(MPI_GROUP_EMPTY, &empty));
  OK(MPI_Group_rank(MPI_GROUP_EMPTY, &nobody));
  CHECK_EQ(empty, 0);
  CHECK_EQ(nobody, MPI_UNDEFINED);
}

void set_operations(Conformance& t) {
  const OwnedGroup a = including({3, 1, 0}), b = including({2, 1});
  OwnedGroup both, common, rest, none;
  OK(MPI_Group_union(a, b, both.out()));
  OK(MPI_Group_intersection(a, b, common.out()));
  OK(MPI_Group_difference(a, b, rest.out()));
  OK(MPI_Group_difference(a, a, none.out()));
  CHECK(members(both) == (std::vector<int>{3, 1, 0, 2}));
  CHECK(members(common) == (std::vector<int>{1}));
  CHECK(members(rest) == (std::vector<int>{3, 0}));
  int result = -1;
  OK(MPI_Group_compare(none, MPI_GROUP_EMPTY, &result));
  CHECK_EQ(result, MPI_IDENT);
}

void comparison(Conformance& t) {
  const OwnedGroup a = including({0, 1, 2}), same = including({0, 1, 2}), turned = including({2, 1, 0}),
                   other = including({0, 1, 3});
  int result = -1;
  OK(MPI_Group_compare(a, same, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_compare(a, turned, &result));
  CHECK_EQ(result, MPI_SIMILAR);
  OK(MPI_Group_compare(a, other, &result));
  CHECK_EQ(result, MPI_UNEQUAL);
}

void inclusion_and_exclusion(Conformance& t) {
  const OwnedGroup world = world_group();
  std::vector<int> all = members(world);
  const int ranks[] = {2, 0};
  OwnedGroup in, out, everyone, nobody;
  OK(MPI_Group_incl(world, 2, ranks, in.out()));
  OK(MPI_Group_excl(world, 2, ranks, out.out()));
  OK(MPI_Group_excl(world, 0, nullptr, everyone.out()));
  OK(MPI_Group_incl(world, 0, nullptr, nobody.out()));
  CHECK(members(in) == (std::vector<int>{2, 0}));
  all.erase(all.begin() + 2);
  all.erase(all.begin());
  CHECK(members(out) == all);
  int result = -1;
  OK(MPI_Group_compare(everyone, world, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_compare(nobody, MPI_GROUP_EMPTY, &result));
  CHECK_EQ(result, MPI_IDENT);
}

void ranges(Conformance& t) {
  const OwnedGroup world = world_group();
  int some[][3] = {{0, 0, 1}, {3, 2, -1}};
  OwnedGroup in, out;
  OK(MPI_Group_range_incl(world, 2, some, in.out()));
  CHECK(members(in) == (std::vector<int>{0, 3, 2}));
  OK(MPI_Group_range_excl(world, 2, some, out.out()));
  std::vector<int> expected = members(world);
  expected.erase(expected.begin() + 2, expected.begin() + 4);
  expected.erase(expected.begin());
  CHECK(members(out) == expected);
}

void translation(Conformance& t) {
  const OwnedGroup a = including({3, 0, 2}), b = including({2, 3});
  const int ranks[] = {0, MPI_PROC_NULL, 1, 2};
  int out[4] = {};
  OK(MPI_Group_translate_ranks(a, 4, ranks, b, out));
  CHECK_EQ(out[0], 1);
  CHECK_EQ(out[1], MPI_PROC_NULL);
  CHECK_EQ(out[2], MPI_UNDEFINED);
  CHECK_EQ(out[3], 0);
}

void wrong_ranks(Conformance& t) {
  const OwnedGroup world = world_group();
  OwnedGroup out;
  const int outside[] = {0, t.size + 100000};
  CHECK_FAILS(MPI_Group_incl(world, 2, outside, out.out()), MPI_ERR_RANK);
  const int twice[] = {1, 1};
  CHECK_FAILS(MPI_Group_incl(world, 2, twice, out.out()), MPI_ERR_RANK);
  int size = 0;
  CHECK_FAILS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
}

}  // namespace

CHAPTER(group, CASE(of_the_world), CASE(set_operations, .min_ranks = 4), CASE(comparison, .min_ranks = 4),
        CASE(inclusion_and_exclusion, .min_ranks = 3), CASE(ranges, .min_ranks = 4),
        CASE(translation, .min_ranks = 4), CASE(wrong_ranks, .min_ranks = 2))

}  // namespace conformance
