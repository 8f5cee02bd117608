// Groups (MPI-5.0 section 7.3).
#include "communicator/group.h"

#include <vector>

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// An empty result is MPI_GROUP_EMPTY itself (MPI-5.0 section 7.3.2), which has number 1.
Result<> give(MpiProcess& process, const Group& from, Result<Ref<Group>> made, Ref<Group>& out) {
  if (!made) return made.take_error();
  out = std::move(made).value();
  if (out->size() == 0)
    out = Ref<Group>(process.handles().groups.find(1));
  else if (from.session)
    out->session = from.session;
  return {};
}

Result<std::vector<RankRange>> ranges_of(int n, const int (*ranges)[3]) {
  if (n < 0) return failure(ErrorClass::arg, "n is {}, which is negative (number of ranges)", n);
  std::vector<RankRange> result;
  for (int i = 0; i < n; ++i) result.push_back({ranges[i][0], ranges[i][1], ranges[i][2]});
  return result;
}

std::span<const int> ranks_of(int n, const int* ranks) { return {ranks, static_cast<std::size_t>(n)}; }

Result<> check_length(int n) {
  if (n < 0) return failure(ErrorClass::arg, "n is {}, which is negative (number of ranks)", n);
  return {};
}

}  // namespace

Result<> group_size(MpiProcess&, Group& group, int& size) {
  size = group.size();
  return {};
}

Result<> group_rank(MpiProcess& process, Group& group, int& rank) {
  rank = group.rank_of(process.rank());
  return {};
}

Result<> group_translate_ranks(MpiProcess&, Group& group1, int n, const int* ranks1, Group& group2,
                               int* ranks2) {
  HAWSER_TRY(check_length(n));
  if (n > 0 && (ranks1 == nullptr || ranks2 == nullptr))
    return failure(ErrorClass::arg, "{} is a null pointer", ranks1 == nullptr ? "ranks1" : "ranks2");
  return group1.translate_ranks(ranks_of(n, ranks1), group2, ranks2);
}

Result<> group_compare(MpiProcess&, Group& group1, Group& group2, int& result) {
  result = group1.compare(group2);
  return {};
}

Result<> group_union(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup) {
  return give(process, group1, group1.united_with(group2), newgroup);
}

Result<> group_intersection(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup) {
  return give(process, group1, group1.intersected_with(group2), newgroup);
}

Result<> group_difference(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup) {
  return give(process, group1, group1.without(group2), newgroup);
}

Result<> group_incl(MpiProcess& process, Group& group, int n, const int* ranks, Ref<Group>& newgroup) {
  HAWSER_TRY(check_length(n));
  return give(process, group, group.including(ranks_of(n, ranks)), newgroup);
}

Result<> group_excl(MpiProcess& process, Group& group, int n, const int* ranks, Ref<Group>& newgroup) {
  HAWSER_TRY(check_length(n));
  return give(process, group, group.excluding(ranks_of(n, ranks)), newgroup);
}

Result<> group_range_incl(MpiProcess& process, Group& group, int n, const int (*ranges)[3],
                          Ref<Group>& newgroup) {
  auto list = ranges_of(n, ranges);
  if (!list) return list.take_error();
  return give(process, group, group.including_ranges(list.value()), newgroup);
}

Result<> group_range_excl(MpiProcess& process, Group& group, int n, const int (*ranges)[3],
                          Ref<Group>& newgroup) {
  auto list = ranges_of(n, ranges);
  if (!list) return list.take_error();
  return give(process, group, group.excluding_ranges(list.value()), newgroup);
}

Result<> group_free(MpiProcess&, Group&) { return {}; }

}  // namespace hawser::mpi
