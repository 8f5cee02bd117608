// Accumulates and atomic operations (MPI-5.0 sections 12.3.4 and 12.3.5).
#include <algorithm>
#include <numeric>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

template <class T>
struct Shared {
  Shared(Conformance& t, std::vector<T> initial) : memory(std::move(initial)) {
    OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(T)), sizeof(T),
                      MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  // What this rank's part holds after all have done with it.
  const std::vector<T>& settled(Conformance& t) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int rank = t.rank;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    OK(MPI_Win_unlock(rank, win));
    return memory;
  }
  std::vector<T> memory;
  OwnedWin win;
};

// All add to all.
void sums(Conformance& t) {
  for (const int count : {1, 7, 1000, 20'000}) {
    if (count > 1000 && t.size > 16) continue;
    Shared<int> shared(t, std::vector<int>(count, 5));
    std::vector<int> data(count);
    for (int i = 0; i < count; ++i) data[i] = i + t.rank;
    OK(MPI_Win_fence(0, shared.win));
    for (int to = 0; to < t.size; ++to)
      OK(MPI_Accumulate(data.data(), count, MPI_INT, to, 0, count, MPI_INT, MPI_SUM, shared.win));
    OK(MPI_Win_fence(0, shared.win));
    const int ranks = t.size * (t.size - 1) / 2;
    for (int i = 0; i < count; ++i) REQUIRE(shared.memory[i] == 5 + i * t.size + ranks);
  }
}

template <class T>
void operation(Conformance& t, MPI_Datatype type, MPI_Op op, T start, T of_rank(int rank), T combine(T, T)) {
  Shared<T> shared(t, std::vector<T>(3, start));
  OK(MPI_Win_fence(0, shared.win));
  const T mine[3] = {of_rank(t.rank), of_rank(t.rank), of_rank(t.rank)};
  OK(MPI_Accumulate(mine, 3, type, (t.rank + 1) % t.size, 0, 3, type, op, shared.win));
  OK(MPI_Win_fence(0, shared.win));
  const T wanted = combine(start, of_rank((t.rank + t.size - 1) % t.size));
  for (const T& found : shared.memory) CHECK_EQ(found, wanted);
}

template <class T>
void arithmetic(Conformance& t, MPI_Datatype type) {
  const auto of_rank = [](int rank) { return static_cast<T>(rank % 5 + 1); };
  operation<T>(t, type, MPI_SUM, 3, of_rank, [](T a, T b) { return static_cast<T>(a + b); });
  operation<T>(t, type, MPI_PROD, 3, of_rank, [](T a, T b) { return static_cast<T>(a * b); });
  operation<T>(t, type, MPI_MAX, 3, of_rank, [](T a, T b) { return std::max(a, b); });
  operation<T>(t, type, MPI_MIN, 3, of_rank, [](T a, T b) { return std::min(a, b); });
  operation<T>(t, type, MPI_REPLACE, 3, of_rank, [](T, T b) { return b; });
}

template <class T>
void bits(Conformance& t, MPI_Datatype type) {
  const auto of_rank = [](int rank) { return static_cast<T>(rank * 37 + 9); };
  operation<T>(t, type, MPI_BAND, 29, of_rank, [](T a, T b) { return static_cast<T>(a & b); });
  operation<T>(t, type, MPI_BOR, 29, of_rank, [](T a, T b) { return static_cast<T>(a | b); });
  operation<T>(t, type, MPI_BXOR, 29, of_rank, [](T a, T b) { return static_cast<T>(a ^ b); });
  operation<T>(t, type, MPI_LAND, 1, of_rank, [](T a, T b) { return static_cast<T>(a && b); });
  operation<T>(t, type, MPI_LOR, 0, of_rank, [](T a, T b) { return static_cast<T>(a || b); });
}

void operations_on_integers(Conformance& t) {
  arithmetic<int>(t, MPI_INT);
  bits<int>(t, MPI_INT);
  arithmetic<std::int64_t>(t, MPI_INT64_T);
  bits<std::uint8_t>(t, MPI_UINT8_T);
  arithmetic<short>(t, MPI_SHORT);
  bits<std::uint64_t>(t, MPI_UINT64_T);
}

void operations_on_floats(Conformance& t) {
  arithmetic<double>(t, MPI_DOUBLE);
  arithmetic<float>(t, MPI_FLOAT);
}

struct Located {
  int value;
  int place;
};

void locations(Conformance& t) {
  Shared<Located> shared(t, std::vector<Located>(2, Located{1000, -1}));
  OK(MPI_Win_fence(0, shared.win));
  const Located mine[2] = {{100 - t.rank, t.rank}, {t.rank, t.rank}};
  OK(MPI_Accumulate(mine, 2, MPI_2INT, 0, 0, 2, MPI_2INT, MPI_MINLOC, shared.win));
  OK(MPI_Win_fence(0, shared.win));
  if (t.rank != 0) return;
  CHECK(shared.memory[0].value == 101 - t.size && shared.memory[0].place == t.size - 1);
  CHECK(shared.memory[1].value == 0 && shared.memory[1].place == 0);
}

// Derived types of one elementary type on both sides.
void strided(Conformance& t) {
  OwnedType every_second, every_third;
  OK(MPI_Type_vector(100, 1, 2, MPI_DOUBLE, every_second.out()));
  OK(MPI_Type_commit(every_second.out()));
  OK(MPI_Type_vector(100, 1, 3, MPI_DOUBLE, every_third.out()));
  OK(MPI_Type_commit(every_third.out()));
  Shared<double> shared(t, std::vector<double>(300, 0.5));
  std::vector<double> data(200);
  std::iota(data.begin(), data.end(), 0.0);
  OK(MPI_Win_fence(0, shared.win));
  for (int to = 0; to < t.size; ++to)
    OK(MPI_Accumulate(data.data(), 1, every_second, to, 0, 1, every_third, MPI_SUM, shared.win));
  OK(MPI_Win_fence(0, shared.win));
  for (int i = 0; i < 300; ++i)
    REQUIRE(shared.memory[i] == (i % 3 == 0 && i < 298 ? 0.5 + t.size * (i / 3 * 2) : 0.5));
}

// One origin's to one place happen in their order, whatever their sizes are.
void in_order(Conformance& t) {
  constexpr int most = 4000;
  Shared<int> shared(t, std::vector<int>(most, -1));
  const int to = (t.rank + 1) % t.size;
  std::vector<std::vector<int>> sent;
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, shared.win));
  for (int round = 0; round < 60; ++round) {
    const int count = round % 3 == 0 ? most : round % 3 == 1 ? 1 : 300;
    sent.emplace_back(count, 100 * round + t.rank % 100);
    OK(MPI_Accumulate(sent.back().data(), count, MPI_INT, to, 0, count, MPI_INT, MPI_REPLACE, shared.win));
  }
  OK(MPI_Win_unlock(to, shared.win));
  const auto& memory = shared.settled(t);
  const int from = (t.rank + t.size - 1) % t.size % 100;
  CHECK_EQ(memory[0], 5900 + from);
  CHECK_EQ(memory[299], 5900 + from);
  CHECK_EQ(memory[300], 5700 + from);
}

// --- With a result ---

void fetched_sums(Conformance& t) {
  for (const int count : {1, 500, 9000}) {
    if (count > 1000 && t.size > 16) continue;
    Shared<std::int64_t> shared(t, std::vector<std::int64_t>(count, 0));
    std::vector<std::int64_t> one(count, 1), before(count, -1);
    OK(MPI_Win_lock_all(0, shared.win));
    OK(MPI_Get_accumulate(one.data(), count, MPI_INT64_T, before.data(), count, MPI_INT64_T, 0, 0, count,
                          MPI_INT64_T, MPI_SUM, shared.win));
    OK(MPI_Win_unlock_all(shared.win));
    for (const auto value : before) REQUIRE(value >= 0 && value < t.size);
    const auto& memory = shared.settled(t);
    for (const auto value : memory) REQUIRE(value == (t.rank == 0 ? t.size : 0));
  }
}

void fetched_without_change(Conformance& t) {
  Shared<int> shared(t, values(300, t.rank));
  const int from = (t.rank + 1) % t.size;
  std::vector<int> got(300, -1);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, from, 0, shared.win));
  OK(MPI_Get_accumulate(nullptr, 0, MPI_INT, got.data(), 300, MPI_INT, from, 0, 300, MPI_INT, MPI_NO_OP,
                        shared.win));
  OK(MPI_Win_flush(from, shared.win));
  CHECK(got == values(300, from));
  int one = -1;
  OK(MPI_Fetch_and_op(nullptr, &one, MPI_INT, from, 17, MPI_NO_OP, shared.win));
  OK(MPI_Win_unlock(from, shared.win));
  CHECK_EQ(one, value_at(17, from));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void fetched_strided(Conformance& t) {
  OwnedType every_second;
  OK(MPI_Type_vector(60, 1, 2, MPI_INT, every_second.out()));
  OK(MPI_Type_commit(every_second.out()));
  Shared<int> shared(t, values(120, t.rank));
  const int to = (t.rank + 1) % t.size;
  const auto data = values(60, t.rank + 50);
  std::vector<int> before(120, -1);
  OK(MPI_Win_fence(0, shared.win));
  OK(MPI_Get_accumulate(data.data(), 60, MPI_INT, before.data(), 1, every_second, to, 0, 1, every_second,
                        MPI_REPLACE, shared.win));
  OK(MPI_Win_fence(0, shared.win));
  const int from = (t.rank + t.size - 1) % t.size;
  for (int i = 0; i < 120; ++i) {
    REQUIRE(before[i] == (i % 2 == 0 && i < 119 ? value_at(i, to) : -1));
    REQUIRE(shared.memory[i] == (i % 2 == 0 && i < 119 ? value_at(i / 2, from + 50) : value_at(i, t.rank)));
  }
}

// A counter gives every ticket once.
template <class T>
void tickets(Conformance& t, MPI_Datatype type) {
  constexpr int each = 20;
  Shared<T> shared(t, std::vector<T>(2, 0));
  std::vector<T> mine(each);
  const T one = 1;
  OK(MPI_Win_lock_all(0, shared.win));
  for (T& ticket : mine) {
    OK(MPI_Fetch_and_op(&one, &ticket, type, 0, 1, MPI_SUM, shared.win));
    OK(MPI_Win_flush(0, shared.win));
  }
  OK(MPI_Win_unlock_all(shared.win));
  std::vector<T> all(static_cast<std::size_t>(each * t.size));
  OK(MPI_Allgather(mine.data(), each, type, all.data(), each, type, MPI_COMM_WORLD));
  CHECK(std::is_sorted(mine.begin(), mine.end()));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<T>(i));
}

void tickets_of_int(Conformance& t) { tickets<int>(t, MPI_INT); }
void tickets_of_long(Conformance& t) { tickets<long>(t, MPI_LONG); }
void tickets_of_double(Conformance& t) { tickets<double>(t, MPI_DOUBLE); }
void tickets_of_short(Conformance& t) { tickets<short>(t, MPI_SHORT); }

template <class T>
void swaps(Conformance& t, MPI_Datatype type) {
  // A token of one value for each step; who finds its own takes it on.
  Shared<T> shared(t, std::vector<T>(1, 0));
  OK(MPI_Win_lock_all(0, shared.win));
  const T wanted = static_cast<T>(t.rank), next = static_cast<T>(t.rank + 1);
  T found = 0;
  do {
    OK(MPI_Compare_and_swap(&next, &wanted, &found, type, 0, 0, shared.win));
    OK(MPI_Win_flush(0, shared.win));
    REQUIRE(found <= wanted);
  } while (found != wanted);
  OK(MPI_Win_unlock_all(shared.win));
  const auto& memory = shared.settled(t);
  if (t.rank == 0) CHECK_EQ(static_cast<std::int64_t>(memory[0]), t.size);
}

void swaps_of_int(Conformance& t) { swaps<int>(t, MPI_INT); }
void swaps_of_int64(Conformance& t) { swaps<std::int64_t>(t, MPI_INT64_T); }
void swaps_of_byte(Conformance& t) { swaps<unsigned char>(t, MPI_BYTE); }
void swaps_of_short(Conformance& t) { swaps<unsigned short>(t, MPI_UNSIGNED_SHORT); }

// A lock of compare-and-swap and replace protects plain puts and gets.
void lock_of_swaps(Conformance& t) {
  Shared<int> shared(t, std::vector<int>(2, 0));
  const int free = 0, taken = 1 + t.rank;
  OK(MPI_Win_lock_all(0, shared.win));
  for (int turn = 0; turn < 5; ++turn) {
    int before = -1;
    do {
      OK(MPI_Compare_and_swap(&taken, &free, &before, MPI_INT, 0, 0, shared.win));
      OK(MPI_Win_flush(0, shared.win));
    } while (before != free);
    int count = 0;
    OK(MPI_Get(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, shared.win));
    OK(MPI_Win_flush(0, shared.win));
    ++count;
    OK(MPI_Put(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, shared.win));
    OK(MPI_Win_flush(0, shared.win));
    OK(MPI_Accumulate(&free, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, shared.win));
    OK(MPI_Win_flush(0, shared.win));
  }
  OK(MPI_Win_unlock_all(shared.win));
  const auto& memory = shared.settled(t);
  if (t.rank == 0) CHECK_EQ(memory[1], 5 * t.size);
}

void requests(Conformance& t) {
  constexpr int n = 10, count = 400;
  Shared<int> shared(t, std::vector<int>(count, 0));
  const int to = (t.rank + 1) % t.size;
  const std::vector<int> one(count, 1);
  std::vector<int> before(n * count, -1);
  std::vector<MPI_Request> all(2 * n);
  OK(MPI_Win_lock_all(0, shared.win));
  for (int i = 0; i < n; ++i) {
    OK(MPI_Raccumulate(one.data(), count, MPI_INT, to, 0, count, MPI_INT, MPI_SUM, shared.win, &all[2 * i]));
    OK(MPI_Rget_accumulate(one.data(), count, MPI_INT, &before[i * count], count, MPI_INT, to, 0, count,
                           MPI_INT, MPI_SUM, shared.win, &all[2 * i + 1]));
  }
  OK(MPI_Waitall(2 * n, all.data(), MPI_STATUSES_IGNORE));
  // By default the accesses of one origin to a place keep their order.
  for (int i = 0; i < n * count; ++i) REQUIRE(before[i] == 2 * (i / count) + 1);
  OK(MPI_Win_unlock_all(shared.win));
  for (const int value : shared.settled(t)) REQUIRE(value == 2 * n);
}

void with_nobody(Conformance& t) {
  Shared<int> shared(t, std::vector<int>(1, 3));
  const int one = 1;
  int got = 8;
  OK(MPI_Win_fence(0, shared.win));
  OK(MPI_Accumulate(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, shared.win));
  OK(MPI_Get_accumulate(&one, 1, MPI_INT, &got, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM,
                        shared.win));
  OK(MPI_Fetch_and_op(&one, &got, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, shared.win));
  OK(MPI_Compare_and_swap(&one, &one, &got, MPI_INT, MPI_PROC_NULL, 0, shared.win));
  OK(MPI_Win_fence(0, shared.win));
  CHECK_EQ(got, 8);
  CHECK_EQ(shared.memory[0], 3);
}

#if MPI_VERSION >= 4
void large_forms(Conformance& t) {
  Shared<int> shared(t, std::vector<int>(1, 1));
  const int two = 2;
  int before[2] = {-1, -1};
  MPI_Request request;
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t.rank, 0, shared.win));
  OK(MPI_Accumulate_c(&two, 1, MPI_INT, t.rank, 0, 1, MPI_INT, MPI_SUM, shared.win));
  OK(MPI_Get_accumulate_c(&two, 1, MPI_INT, &before[0], 1, MPI_INT, t.rank, 0, 1, MPI_INT, MPI_SUM,
                          shared.win));
  OK(MPI_Raccumulate_c(&two, 1, MPI_INT, t.rank, 0, 1, MPI_INT, MPI_PROD, shared.win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Rget_accumulate_c(&two, 1, MPI_INT, &before[1], 1, MPI_INT, t.rank, 0, 1, MPI_INT, MPI_SUM,
                           shared.win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Win_unlock(t.rank, shared.win));
  CHECK_EQ(before[0], 3);
  CHECK_EQ(before[1], 10);
  CHECK_EQ(shared.memory[0], 12);
}
#endif

}  // namespace

CHAPTER(window_accumulate, CASE(sums), CASE(operations_on_integers, .slow = true),
        CASE(operations_on_floats, .slow = true), CASE(locations), CASE(strided), CASE(in_order),
        CASE(fetched_sums), CASE(fetched_without_change), CASE(fetched_strided), CASE(tickets_of_int),
        CASE(tickets_of_long), CASE(tickets_of_double), CASE(tickets_of_short),
        CASE(swaps_of_int, .slow = true), CASE(swaps_of_int64, .slow = true),
        CASE(swaps_of_byte, .slow = true), CASE(swaps_of_short, .slow = true),
        CASE(lock_of_swaps, .slow = true), CASE(requests), CASE(with_nobody)
#if MPI_VERSION >= 4
                                                               ,
        CASE(large_forms)
#endif
)

}  // namespace conformance
