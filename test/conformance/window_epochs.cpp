// Epochs: fences, post and start, locks (MPI-5.0 section 12.5), and what they make visible (12.7).
#include <cstdlib>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// A window of `n` ints.
struct Ints {
  Ints(Conformance& t, int n, int value = -1) : size(n) {
    OK(MPI_Win_allocate(n * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                        &memory, win.out()));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t.rank, 0, win));
    for (int i = 0; i < n; ++i) memory[i] = value;
    OK(MPI_Win_unlock(t.rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  int size;
  int* memory = nullptr;
  OwnedWin win;
};

int after(const Conformance& t, int distance = 1) { return (t.rank + distance) % t.size; }
int before(const Conformance& t, int distance = 1) {
  return ((t.rank - distance) % t.size + t.size) % t.size;
}

void put(Conformance& t, int value, int to, MPI_Aint place, MPI_Win win) {
  // Another buffer each time would be lost to the operation, so the value is accumulated from a copy.
  OK(MPI_Put(&value, 1, MPI_INT, to, place, 1, MPI_INT, win));
  OK(MPI_Win_flush_local(to, win));
}

void fences(Conformance& t) {
  Ints ints(t, 4);
  int out[4];
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, ints.win));
  for (int epoch = 0; epoch < 10; ++epoch) {
    const int distance = 1 + epoch % 3;
    out[0] = 1000 * epoch + t.rank;
    OK(MPI_Put(out, 1, MPI_INT, after(t, distance), 1, 1, MPI_INT, ints.win));
    OK(MPI_Win_fence(epoch % 2 == 0 ? 0 : MPI_MODE_NOSTORE, ints.win));
    CHECK_EQ(ints.memory[1], 1000 * epoch + before(t, distance));
    ints.memory[2] = ints.memory[1] + 1;
    OK(MPI_Win_fence(MPI_MODE_NOPUT, ints.win));
    int got = 0;
    OK(MPI_Get(&got, 1, MPI_INT, after(t), 2, 1, MPI_INT, ints.win));
    OK(MPI_Win_fence(epoch == 9 ? MPI_MODE_NOSUCCEED : 0, ints.win));
    CHECK_EQ(got, 1001 + 1000 * (epoch - 1) + before(t, distance - 1));
  }
}

struct Pair {
  Pair(Conformance& t, std::vector<int> from, std::vector<int> to) {
    OwnedGroup world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
    OK(MPI_Group_incl(world, static_cast<int>(from.size()), from.data(), origins.out()));
    OK(MPI_Group_incl(world, static_cast<int>(to.size()), to.data(), targets.out()));
  }
  OwnedGroup origins;
  OwnedGroup targets;
};

void post_and_start(Conformance& t) {
  Ints ints(t, 2);
  Pair groups(t, {before(t)}, {after(t)});
  for (int epoch = 0; epoch < 10; ++epoch) {
    const int out = 100 * epoch + t.rank;
    OK(MPI_Win_post(groups.origins, epoch % 2 == 0 ? 0 : MPI_MODE_NOSTORE, ints.win));
    OK(MPI_Win_start(groups.targets, 0, ints.win));
    OK(MPI_Put(&out, 1, MPI_INT, after(t), 1, 1, MPI_INT, ints.win));
    OK(MPI_Win_complete(ints.win));
    OK(MPI_Win_wait(ints.win));
    CHECK_EQ(ints.memory[1], 100 * epoch + before(t));
  }
}

// A large get has what was there in its epoch, whatever the target does behind the wait.
void stores_behind_the_wait(Conformance& t) {
  constexpr int count = 100'000;
  std::vector<int> memory(count, 1), got(count, 0);
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), count * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL,
                    MPI_COMM_WORLD, win.out()));
  Pair groups(t, {before(t)}, {after(t)});
  for (int turn = 1; turn < 5; ++turn) {
    OK(MPI_Win_post(groups.origins, 0, win));
    OK(MPI_Win_start(groups.targets, 0, win));
    OK(MPI_Get(got.data(), count, MPI_INT, after(t), 0, count, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(got == std::vector<int>(count, turn));
    std::fill(memory.begin(), memory.end(), turn + 1);
  }
}

// Rank 0 exposes to all others, then all others to rank 0.
void one_and_all(Conformance& t) {
  Ints ints(t, t.size + 1);
  std::vector<int> others;
  for (int rank = 1; rank < t.size; ++rank) others.push_back(rank);
  Pair groups(t, {0}, others);
  for (int epoch = 0; epoch < 3; ++epoch) {
    if (t.rank == 0) {
      OK(MPI_Win_post(groups.targets, 0, ints.win));
      OK(MPI_Win_wait(ints.win));
      for (int rank = 1; rank < t.size; ++rank) CHECK_EQ(ints.memory[rank], rank + epoch);
      std::vector<int> out(t.size);
      OK(MPI_Win_start(groups.targets, 0, ints.win));
      for (int rank = 1; rank < t.size; ++rank) {
        out[rank] = 50 * rank + epoch;
        OK(MPI_Put(&out[rank], 1, MPI_INT, rank, 0, 1, MPI_INT, ints.win));
      }
      OK(MPI_Win_complete(ints.win));
    } else {
      const int out = t.rank + epoch;
      OK(MPI_Win_start(groups.origins, 0, ints.win));
      OK(MPI_Put(&out, 1, MPI_INT, 0, t.rank, 1, MPI_INT, ints.win));
      OK(MPI_Win_complete(ints.win));
      OK(MPI_Win_post(groups.origins, 0, ints.win));
      OK(MPI_Win_wait(ints.win));
      CHECK_EQ(ints.memory[0], 50 * t.rank + epoch);
    }
  }
}

void tested(Conformance& t) {
  Ints ints(t, 1);
  Pair groups(t, {before(t)}, {after(t)});
  OK(MPI_Win_post(groups.origins, 0, ints.win));
  OK(MPI_Win_start(groups.targets, 0, ints.win));
  OK(MPI_Put(&t.rank, 1, MPI_INT, after(t), 0, 1, MPI_INT, ints.win));
  OK(MPI_Win_complete(ints.win));
  int flag = 0;
  while (!flag) OK(MPI_Win_test(ints.win, &flag));
  CHECK_EQ(ints.memory[0], before(t));
}

void nobody_started(Conformance& t) {
  Ints ints(t, 1, 9);
  OwnedGroup nobody;
  OwnedGroup world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  OK(MPI_Group_incl(world, 0, nullptr, nobody.out()));
  OK(MPI_Win_post(nobody, 0, ints.win));
  OK(MPI_Win_start(nobody, 0, ints.win));
  OK(MPI_Win_complete(ints.win));
  OK(MPI_Win_wait(ints.win));
  CHECK_EQ(ints.memory[0], 9);
}

// --- Locks ---

// Without the lock some increments would be lost.
void exclusive(Conformance& t) {
  constexpr int each = 10;
  Ints ints(t, 1, 0);
  for (int i = 0; i < each; ++i) {
    int count = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, ints.win));
    OK(MPI_Get(&count, 1, MPI_INT, 0, 0, 1, MPI_INT, ints.win));
    OK(MPI_Win_flush(0, ints.win));
    put(t, count + 1, 0, 0, ints.win);
    OK(MPI_Win_unlock(0, ints.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, ints.win));
  if (t.rank == 0) CHECK_EQ(ints.memory[0], each * t.size);
  OK(MPI_Win_unlock(0, ints.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Writers keep two places equal; readers never see them differ.
void readers_and_writers(Conformance& t) {
  Ints ints(t, 2, 0);
  for (int turn = 0; turn < 10; ++turn) {
    if ((turn + t.rank) % 3 == 0) {
      const int value = 100 * t.rank + turn;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, ints.win));
      put(t, value, 0, 0, ints.win);
      put(t, value, 0, 1, ints.win);
      OK(MPI_Win_unlock(0, ints.win));
    } else {
      int got[2] = {-1, -2};
      OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, ints.win));
      OK(MPI_Get(got, 2, MPI_INT, 0, 0, 2, MPI_INT, ints.win));
      OK(MPI_Win_unlock(0, ints.win));
      CHECK_EQ(got[0], got[1]);
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void several_targets(Conformance& t) {
  Ints ints(t, t.size);
  for (int to = 0; to < t.size; ++to) OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, ints.win));
  for (int to = 0; to < t.size; ++to) put(t, 10 * t.rank + to, to, t.rank, ints.win);
  for (int to = t.size - 1; to >= 0; --to) OK(MPI_Win_unlock(to, ints.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, ints.win));
  for (int from = 0; from < t.size; ++from) CHECK_EQ(ints.memory[from], 10 * from + t.rank);
  OK(MPI_Win_unlock(t.rank, ints.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void flushes(Conformance& t) {
  Ints ints(t, 4, 0);
  const int to = after(t);
  OK(MPI_Win_lock_all(0, ints.win));
  for (int i = 1; i <= 20; ++i) {
    int out = i, got = -1;
    OK(MPI_Put(&out, 1, MPI_INT, to, 2, 1, MPI_INT, ints.win));
    if (i % 2 == 0)
      OK(MPI_Win_flush(to, ints.win));
    else
      OK(MPI_Win_flush_all(ints.win));
    OK(MPI_Get(&got, 1, MPI_INT, to, 2, 1, MPI_INT, ints.win));
    if (i % 3 == 0)
      OK(MPI_Win_flush_local(to, ints.win));
    else
      OK(MPI_Win_flush_local_all(ints.win));
    CHECK_EQ(got, i);
  }
  OK(MPI_Win_unlock_all(ints.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void buffer_again(Conformance& t) {
  constexpr int rounds = 6;
  for (const int count : {1, 2000, 100'000}) {
    if (count > 2000 && t.size > 16) continue;
    Ints ints(t, rounds * count, 0);
    std::vector<int> out(count);
    const int to = after(t);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, ints.win));
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < count; ++i) out[i] = value_at(i, t.rank + round);
      OK(MPI_Put(out.data(), count, MPI_INT, to, static_cast<MPI_Aint>(round) * count, count, MPI_INT,
                 ints.win));
      OK(MPI_Win_flush_local(to, ints.win));
      std::fill(out.begin(), out.end(), -9);
    }
    OK(MPI_Win_unlock(to, ints.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, ints.win));
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < count; ++i)
        REQUIRE(ints.memory[round * count + i] == value_at(i, before(t) + round));
    OK(MPI_Win_unlock(t.rank, ints.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void without_check(Conformance& t) {
  Ints ints(t, t.size);
  for (int to = 0; to < t.size; ++to) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, MPI_MODE_NOCHECK, ints.win));
    put(t, t.rank, to, t.rank, ints.win);
    OK(MPI_Win_unlock(to, ints.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int from = 0; from < t.size; ++from) {
    int got = -1;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, ints.win));
    OK(MPI_Get(&got, 1, MPI_INT, t.rank, from, 1, MPI_INT, ints.win));
    OK(MPI_Win_unlock_all(ints.win));
    CHECK_EQ(got, from);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Kinds of epochs one after another, and two windows at once.
void kinds_mixed(Conformance& t) {
  Ints one(t, 3, 0), two(t, 3, 0);
  Pair groups(t, {before(t)}, {after(t)});
  const int to = after(t);
  for (int turn = 1; turn <= 4; ++turn) {
    const int out = 10 * turn + t.rank;
    OK(MPI_Win_fence(0, one.win));
    OK(MPI_Put(&out, 1, MPI_INT, to, 0, 1, MPI_INT, one.win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, two.win));
    OK(MPI_Put(&out, 1, MPI_INT, to, 1, 1, MPI_INT, two.win));
    OK(MPI_Win_unlock(to, two.win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, one.win));
    CHECK_EQ(one.memory[0], 10 * turn + before(t));
    OK(MPI_Win_post(groups.origins, 0, one.win));
    OK(MPI_Win_start(groups.targets, 0, one.win));
    OK(MPI_Put(&out, 1, MPI_INT, to, 2, 1, MPI_INT, one.win));
    OK(MPI_Win_complete(one.win));
    OK(MPI_Win_wait(one.win));
    CHECK_EQ(one.memory[2], 10 * turn + before(t));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t.rank, 0, two.win));
    CHECK_EQ(two.memory[1], 10 * turn + before(t));
    OK(MPI_Win_unlock(t.rank, two.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// What was flushed is there when a message that was sent afterwards has come.
void put_then_send(Conformance& t) {
  Ints ints(t, 50'000);
  const int to = after(t);
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<int> out(ints.size, turn + t.rank);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, ints.win));
    OK(MPI_Put(out.data(), ints.size, MPI_INT, to, 0, ints.size, MPI_INT, ints.win));
    OK(MPI_Win_flush(to, ints.win));
    MPI_Request sent;
    OK(MPI_Isend(&turn, 1, MPI_INT, to, 7, MPI_COMM_WORLD, &sent));
    int got = -1;
    OK(MPI_Recv(&got, 1, MPI_INT, before(t), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(to, ints.win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, ints.win));
    for (int i = 0; i < ints.size; i += 999) REQUIRE(ints.memory[i] == turn + before(t));
    OK(MPI_Win_unlock(t.rank, ints.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// The target waits for something else.
void target_elsewhere(Conformance& t) {
  Ints ints(t, t.size, 0);
  if (t.rank == 0) {
    for (int from = 1; from < t.size; ++from)
      OK(MPI_Recv(nullptr, 0, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, ints.win));
    for (int from = 1; from < t.size; ++from) CHECK_EQ(ints.memory[from], 20 * from);
    OK(MPI_Win_unlock(0, ints.win));
    return;
  }
  for (int turn = 1; turn <= 20; ++turn) {
    OK(MPI_Win_lock(turn % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, ints.win));
    OK(MPI_Accumulate(&t.rank, 1, MPI_INT, 0, t.rank, 1, MPI_INT, MPI_SUM, ints.win));
    OK(MPI_Win_unlock(0, ints.win));
  }
  OK(MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD));
}

// Who looks at its own memory again and again, with calls that need nobody, lets others reach it meanwhile.
void looking_at_ones_own(Conformance& t) {
  std::vector<int> memory(1, 0);
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  const int one = 1;
  OK(MPI_Win_lock_all(0, win));
  if (t.rank == 0) OK(MPI_Accumulate(&one, 1, MPI_INT, after(t), 0, 1, MPI_INT, MPI_SUM, win));
  int got = 0;
  while (got == 0) {
    OK(MPI_Fetch_and_op(nullptr, &got, MPI_INT, t.rank, 0, MPI_NO_OP, win));
    OK(MPI_Win_flush(t.rank, win));
  }
  // On to the next one, once around.
  if (t.rank != 0) OK(MPI_Accumulate(&one, 1, MPI_INT, after(t), 0, 1, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(got, 1);
}

// Of MPI_PROC_NULL: nothing, but no error.
void nobody_locked(Conformance& t) {
  Ints ints(t, 1, 4);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, ints.win));
  OK(MPI_Put(ints.memory, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, ints.win));
  OK(MPI_Win_unlock(t.rank, ints.win));
  CHECK_EQ(ints.memory[0], 4);
}

}  // namespace

CHAPTER(window_epochs, CASE(fences), CASE(post_and_start), CASE(stores_behind_the_wait, .slow = true),
        CASE(one_and_all), CASE(tested), CASE(nobody_started), CASE(exclusive), CASE(readers_and_writers),
        CASE(several_targets), CASE(flushes), CASE(buffer_again), CASE(without_check), CASE(kinds_mixed),
        CASE(put_then_send), CASE(target_elsewhere), CASE(looking_at_ones_own), CASE(nobody_locked))

}  // namespace conformance
