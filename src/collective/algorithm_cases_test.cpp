// The cases of the operations that move data.
#include "collective/algorithm_cases.h"

namespace hawser {

void AlgorithmTest::broadcast(TestRank& rank, const Case& c) {
  for (int root = 0; root < rank.size; root += 3) {
    Integers32 data(c.count, c.spaced);
    for (std::int64_t i = 0; i < c.count; ++i) data[i] = rank.rank == root ? value(root, 0, i) : 0;
    CollectiveCall call{
        .kind = Collective::broadcast, .root = root, .receive = side(data, c.count, c.spaced)};
    ASSERT_TRUE(c.runner(rank, call));
    for (std::int64_t i = 0; i < c.count; ++i) ASSERT_EQ(data[i], value(root, 0, i)) << "root " << root;
    ASSERT_TRUE(data.gaps_untouched());
  }
}

// Of gather and scatter.
static std::vector<int> roots(int size) {
  if (size < 3) return {size - 1};
  return {0, size / 2, size - 1};
}

void AlgorithmTest::gather(TestRank& rank, const Case& c) {
  for (const int root : roots(rank.size)) {
    SCOPED_TRACE("root " + std::to_string(root));
    gather_at(rank, c, root);
    if (HasFatalFailure()) return;
  }
}

void AlgorithmTest::gather_at(TestRank& rank, const Case& c, int root) {
  const bool varied = kind_ == Collective::gatherv;
  const bool at_root = rank.rank == root;
  CollectiveCall call{.kind = kind_, .root = root};
  std::vector<int> counts, starts;
  vary(call.receive, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.receive = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(own, !c.spaced);
  Integers32 receive(at_root ? starts.back() + c.count : 0, c.spaced);
  for (int i = 0; i < own; ++i) {
    send[i] = value(rank.rank, 0, i);
    if (at_root && c.in_place) receive[starts[static_cast<std::size_t>(root)] + i] = send[i];
  }
  call.send = side(send, own, !c.spaced);
  if (at_root && c.in_place) call.send = {in_place};
  if (at_root) {
    call.receive.buffer = receive.data();
    call.receive.count = c.count;
    call.receive.type = &type(c.spaced);
  } else {
    call.receive = {};
  }
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; at_root && r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, 0, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

void AlgorithmTest::scatter(TestRank& rank, const Case& c) {
  for (const int root : roots(rank.size)) {
    SCOPED_TRACE("root " + std::to_string(root));
    scatter_from(rank, c, root);
    if (HasFatalFailure()) return;
  }
}

void AlgorithmTest::scatter_from(TestRank& rank, const Case& c, int root) {
  const bool varied = kind_ == Collective::scatterv;
  const bool at_root = rank.rank == root;
  CollectiveCall call{.kind = kind_, .root = root};
  std::vector<int> counts, starts;
  vary(call.send, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.send = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(at_root ? starts.back() + c.count : 0, c.spaced);
  Integers32 receive(own, !c.spaced);
  for (int r = 0; at_root && r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      send[starts[static_cast<std::size_t>(r)] + i] = value(0, r, i);
  }
  call.receive = side(receive, own, !c.spaced);
  if (at_root && c.in_place) call.receive = {in_place};
  if (at_root) {
    call.send.buffer = send.data();
    call.send.count = c.count;
    call.send.type = &type(c.spaced);
  } else {
    call.send = {};
  }
  ASSERT_TRUE(c.runner(rank, call));
  if (at_root && c.in_place) return;
  for (int i = 0; i < own; ++i) ASSERT_EQ(receive[i], value(0, rank.rank, i));
  ASSERT_TRUE(receive.gaps_untouched());
}

void AlgorithmTest::allgather(TestRank& rank, const Case& c) {
  const bool varied = kind_ == Collective::allgatherv;
  CollectiveCall call{.kind = kind_};
  std::vector<int> counts, starts;
  vary(call.receive, rank.size, c.count, counts, starts);
  if (!varied) {
    for (int r = 0; r < rank.size; ++r) {
      counts[static_cast<std::size_t>(r)] = static_cast<int>(c.count);
      starts[static_cast<std::size_t>(r)] = static_cast<int>(c.count) * r;
    }
    call.receive = {};
  }
  const int own = counts[static_cast<std::size_t>(rank.rank)];
  Integers32 send(own, !c.spaced);
  Integers32 receive(starts.back() + c.count, c.spaced);
  for (int i = 0; i < own; ++i) {
    send[i] = value(rank.rank, 0, i);
    if (c.in_place) receive[starts[static_cast<std::size_t>(rank.rank)] + i] = send[i];
  }
  call.send = side(send, own, !c.spaced);
  if (c.in_place) call.send = {in_place};
  call.receive.buffer = receive.data();
  call.receive.count = c.count;
  call.receive.type = &type(c.spaced);
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, 0, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

// The block from a to b has `count` + (a + b) % 3 elements in the v and w forms.
void AlgorithmTest::alltoall(TestRank& rank, const Case& c) {
  const Collective kind = kind_;
  const auto n = static_cast<std::size_t>(rank.size);
  std::vector<int> counts(n), starts(n);
  std::vector<std::int64_t> byte_starts(n);
  std::vector<Datatype*> types(n, &type(c.spaced));
  int next = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const bool varied = kind != Collective::alltoall && c.count > 0;
    counts[r] = static_cast<int>(c.count) + (varied ? (rank.rank + static_cast<int>(r)) % 3 : 0);
    starts[r] = next;
    byte_starts[r] = next * type(c.spaced).extent;
    next += counts[r] + (varied ? 1 : 0);
  }
  Integers32 send(next, c.spaced);
  Integers32 receive(next, c.spaced);
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      (c.in_place ? receive : send)[starts[static_cast<std::size_t>(r)] + i] = value(rank.rank, r, i);
  }
  CollectiveCall call{.kind = kind};
  for (CallSide* s : {&call.send, &call.receive}) {
    *s = side(s == &call.send ? send : receive, c.count, c.spaced);
    if (kind == Collective::alltoall) continue;
    s->counts = IntegerArray(counts.data());
    s->displacements = IntegerArray(starts.data());
    if (kind == Collective::alltoallv) continue;
    s->type = nullptr;
    s->types = types.data();
    s->displacements = IntegerArray(byte_starts.data());
  }
  if (c.in_place) call.send = {in_place};
  ASSERT_TRUE(c.runner(rank, call));
  for (int r = 0; r < rank.size; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      ASSERT_EQ(receive[starts[static_cast<std::size_t>(r)] + i], value(r, rank.rank, i));
  }
  ASSERT_TRUE(receive.gaps_untouched());
}

}  // namespace hawser
