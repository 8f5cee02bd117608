// Who may see what, and when: programs that are right only if flushes, messages and the ends of epochs order
// what they must (MPI-5.0 section 12.7, unified model), and if nothing is written once an epoch is over. They
// say little at one speed of one network; conformance_simulated --timings runs them at many, with cables
// that are pulled meanwhile.
#include <algorithm>
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// Some bytes to some hundred thousand: packets, single writes, and stripes over several rails.
constexpr int counts[] = {1, 250, 1500, 20'000, 70'000};

int after(const Conformance& t, int distance = 1) { return (t.rank + distance) % t.size; }
int before(const Conformance& t, int distance = 1) {
  return ((t.rank - distance) % t.size + t.size) % t.size;
}

// A window of ints: of memory that MPI allocated, or of the program's.
struct Ints {
  Ints(Conformance& t, int n, bool allocated) : size(n) {
    const MPI_Aint bytes = n * static_cast<MPI_Aint>(sizeof(int));
    if (allocated) {
      OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, win.out()));
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t.rank, 0, win));
      std::fill_n(memory, n, 0);
      OK(MPI_Win_unlock(t.rank, win));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      return;
    }
    own.assign(static_cast<std::size_t>(n), 0);
    memory = own.data();
    OK(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  }
  // All of them, or the first `n`, are the values of this salt.
  bool hold(int salt, int n) const {
    for (int i = 0; i < n; ++i)
      if (memory[i] != value_at(i, salt)) return false;
    return true;
  }

  int size;
  int* memory = nullptr;
  std::vector<int> own;
  OwnedWin win;
};

void put(Conformance& t, const std::vector<int>& data, int to, const Ints& ints) {
  const int n = static_cast<int>(data.size());
  OK(MPI_Put(data.data(), n, MPI_INT, to, 0, n, MPI_INT, ints.win));
}

// The target looks at its own memory until the flag is there: then so are the data.
void flag_behind_data(Conformance& t) {
  for (const bool allocated : {true, false}) {
    for (const int count : counts) {
      Ints ints(t, count + 1, allocated);
      OK(MPI_Win_lock_all(0, ints.win));
      for (int turn = 1; turn <= 4; ++turn) {
        const std::vector<int> data = values(count, turn + t.rank);
        const int to = after(t);
        put(t, data, to, ints);
        OK(MPI_Win_flush(to, ints.win));
        // By a put, or by what the target's process does.
        if (turn % 2 == 0)
          OK(MPI_Put(&turn, 1, MPI_INT, to, count, 1, MPI_INT, ints.win));
        else
          OK(MPI_Accumulate(&turn, 1, MPI_INT, to, count, 1, MPI_INT, MPI_REPLACE, ints.win));
        OK(MPI_Win_flush_local(to, ints.win));
        const volatile int* const flag = ints.memory + count;
        while (*flag != turn) OK(MPI_Win_sync(ints.win));
        OK(MPI_Win_sync(ints.win));
        REQUIRE(ints.hold(turn + before(t), count));
        OK(MPI_Win_flush(to, ints.win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
      }
      OK(MPI_Win_unlock_all(ints.win));
    }
  }
}

// What was flushed is in memory when a message that was sent afterwards has come.
void put_then_send(Conformance& t) {
  for (const bool allocated : {true, false}) {
    for (const int count : counts) {
      Ints ints(t, count, allocated);
      OK(MPI_Win_lock_all(0, ints.win));
      for (int turn = 1; turn <= 3; ++turn) {
        const std::vector<int> data = values(count, turn * 100 + t.rank);
        put(t, data, after(t), ints);
        OK(MPI_Win_flush(after(t), ints.win));
        OK(MPI_Sendrecv(nullptr, 0, MPI_INT, after(t), turn, nullptr, 0, MPI_INT, before(t), turn,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_sync(ints.win));
        REQUIRE(ints.hold(turn * 100 + before(t), count));
        OK(MPI_Barrier(MPI_COMM_WORLD));
      }
      OK(MPI_Win_unlock_all(ints.win));
    }
  }
}

// One puts, and tells another one, who gets from the third.
void told_by_a_third(Conformance& t) {
  for (const int count : counts) {
    Ints ints(t, count, count % 2 == 0);
    std::vector<int> got(static_cast<std::size_t>(count));
    OK(MPI_Win_lock_all(0, ints.win));
    for (int turn = 1; turn <= 3; ++turn) {
      const std::vector<int> data = values(count, turn * 100 + t.rank);
      put(t, data, after(t), ints);
      OK(MPI_Win_flush(after(t), ints.win));
      OK(MPI_Sendrecv(nullptr, 0, MPI_INT, after(t, 2), turn, nullptr, 0, MPI_INT, before(t, 2), turn,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Get(got.data(), count, MPI_INT, before(t), 0, count, MPI_INT, ints.win));
      OK(MPI_Win_flush(before(t), ints.win));
      REQUIRE(got == values(count, turn * 100 + before(t, 2)));
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(ints.win));
  }
}

// One origin's accumulates on one target happen in their order, whatever their sizes and types, and those
// that fetch see all before them (accumulate_ordering is rar,war,raw,waw by default).
void accumulates_in_order(Conformance& t) {
  constexpr int most = 24'000, rounds = 40;
  OwnedType apart;
  OK(MPI_Type_vector(most / 3, 1, 3, MPI_INT, apart.out()));
  OK(MPI_Type_commit(apart.out()));
  Ints ints(t, most, false);
  std::vector<int> model(most, 0);
  std::vector<std::vector<int>> sent, fetched, expected;
  OK(MPI_Win_lock_all(0, ints.win));
  for (int round = 0; round < rounds; ++round) {
    constexpr int sizes[] = {1, most, 300, 2000, most / 3};
    const int n = sizes[value_at(round, 5) % 5];
    const bool strided = n == most / 3, adds = value_at(round, 6) % 3 == 0,
               fetches = value_at(round, 7) % 2 == 0;
    sent.push_back(values(n, 10 * round + t.rank));
    // Within what a sum of ints holds.
    for (int& each : sent.back()) each &= 0xffffff;
    fetched.emplace_back(fetches ? n : 0, -1);
    expected.emplace_back();
    const MPI_Op op = adds ? MPI_SUM : MPI_REPLACE;
    const int target_count = strided ? 1 : n;
    MPI_Datatype type = strided ? static_cast<MPI_Datatype>(apart) : MPI_INT;
    if (fetches)
      OK(MPI_Get_accumulate(sent.back().data(), n, MPI_INT, fetched.back().data(), n, MPI_INT, after(t), 0,
                            target_count, type, op, ints.win));
    else
      OK(MPI_Accumulate(sent.back().data(), n, MPI_INT, after(t), 0, target_count, type, op, ints.win));
    for (int i = 0; i < n; ++i) {
      int& there = model[static_cast<std::size_t>(strided ? 3 * i : i)];
      if (fetches) expected.back().push_back(there);
      there = sent.back()[static_cast<std::size_t>(i)] + (adds ? there : 0);
    }
  }
  OK(MPI_Win_unlock_all(ints.win));
  for (std::size_t round = 0; round < rounds; ++round) REQUIRE(fetched[round] == expected[round]);
  // Nobody else writes there.
  OK(MPI_Barrier(MPI_COMM_WORLD));
  std::vector<int> there(most);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, after(t), 0, ints.win));
  OK(MPI_Get(there.data(), most, MPI_INT, after(t), 0, most, MPI_INT, ints.win));
  OK(MPI_Win_unlock(after(t), ints.win));
  CHECK(there == model);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// As soon as the call returns that ends the exposure, the memory is the owner's alone: what it stores stays.
void stores_behind_the_end(Conformance& t) {
  OwnedGroup world, origins, targets;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  const int from = before(t), to = after(t);
  OK(MPI_Group_incl(world, 1, &from, origins.out()));
  OK(MPI_Group_incl(world, 1, &to, targets.out()));
  for (const int count : counts) {
    Ints ints(t, count, count % 2 != 0);
    for (int turn = 1; turn <= 4; ++turn) {
      const std::vector<int> data = values(count, turn + t.rank), stored = values(count, 1000 * turn);
      std::vector<int> got(static_cast<std::size_t>(count));
      const bool fences = turn % 2 == 0;
      if (fences) {
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, ints.win));
        put(t, data, to, ints);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, ints.win));
      } else {
        OK(MPI_Win_post(origins, 0, ints.win));
        OK(MPI_Win_start(targets, 0, ints.win));
        put(t, data, to, ints);
        OK(MPI_Win_complete(ints.win));
        OK(MPI_Win_wait(ints.win));
      }
      const bool came = ints.hold(turn + from, count);
      std::copy(stored.begin(), stored.end(), ints.memory);
      REQUIRE(came);
      OK(MPI_Barrier(MPI_COMM_WORLD));
      OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, ints.win));
      OK(MPI_Get(got.data(), count, MPI_INT, to, 0, count, MPI_INT, ints.win));
      OK(MPI_Win_unlock(to, ints.win));
      REQUIRE(got == stored);
      OK(MPI_Barrier(MPI_COMM_WORLD));
      REQUIRE(ints.hold(1000 * turn, count));
    }
  }
}

// Nothing is written to memory of which the window was freed, even if its last bytes were put twice.
void freed_behind_the_end(Conformance& t) {
  for (const int count : counts) {
    std::vector<int> memory(static_cast<std::size_t>(count)), mine = values(count, 5);
    for (int turn = 1; turn <= 3; ++turn) {
      const std::vector<int> data = values(count, turn + t.rank);
      const MPI_Aint bytes = count * static_cast<MPI_Aint>(sizeof(int));
      MPI_Win win = MPI_WIN_NULL;
      OK(MPI_Win_create(memory.data(), bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
      OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
      OK(MPI_Put(data.data(), count, MPI_INT, after(t), 0, count, MPI_INT, win));
      OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
      OK(MPI_Win_free(&win));
      const bool came = memory == values(count, turn + before(t));
      memory = mine;
      REQUIRE(came);
      // The others may be behind by this.
      for (int i = 0; i < 3; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
      REQUIRE(memory == mine);
    }
  }
}

void detached_behind_the_end(Conformance& t) {
  OwnedWin win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  for (const int count : counts) {
    for (int turn = 1; turn <= 3; ++turn) {
      std::vector<int> memory(static_cast<std::size_t>(count));
      const std::vector<int> data = values(count, turn + t.rank), mine = values(count, 5);
      OK(MPI_Win_attach(win, memory.data(), count * static_cast<MPI_Aint>(sizeof(int))));
      MPI_Aint here = 0, there = 0;
      OK(MPI_Get_address(memory.data(), &here));
      OK(MPI_Sendrecv(&here, 1, MPI_AINT, before(t), 2, &there, 1, MPI_AINT, after(t), 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, after(t), 0, win));
      OK(MPI_Put(data.data(), count, MPI_INT, after(t), there, count, MPI_INT, win));
      OK(MPI_Win_unlock(after(t), win));
      OK(MPI_Sendrecv(nullptr, 0, MPI_INT, after(t), 3, nullptr, 0, MPI_INT, before(t), 3, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
      OK(MPI_Win_detach(win, memory.data()));
      const bool came = memory == values(count, turn + before(t));
      memory = mine;
      REQUIRE(came);
      for (int i = 0; i < 3; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
      REQUIRE(memory == mine);
    }
  }
}

}  // namespace

CHAPTER(window_litmus, CASE(flag_behind_data, .slow = true), CASE(put_then_send, .slow = true),
        CASE(told_by_a_third, .slow = true), CASE(accumulates_in_order, .slow = true),
        CASE(stores_behind_the_end, .slow = true), CASE(freed_behind_the_end, .slow = true),
        CASE(detached_behind_the_end, .slow = true))

}  // namespace conformance
