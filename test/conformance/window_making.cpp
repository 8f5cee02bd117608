// Windows of all flavors, and what can be asked and set of them (MPI-5.0 section 12.2).
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// The attributes of a window that are the same as the arguments it was made with.
void check_attributes(Conformance& t, MPI_Win win, const void* base, MPI_Aint size, int unit, int flavor) {
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
  CHECK(flag && value == base);
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
  REQUIRE(flag);
  CHECK_EQ(*static_cast<MPI_Aint*>(value), size);
  OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
  REQUIRE(flag);
  CHECK_EQ(*static_cast<int*>(value), unit);
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  REQUIRE(flag);
  CHECK_EQ(*static_cast<int*>(value), flavor);
  OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
  REQUIRE(flag);
  const int model = *static_cast<int*>(value);
  CHECK(model == MPI_WIN_UNIFIED || model == MPI_WIN_SEPARATE);
}

void created(Conformance& t) {
  std::vector<double> memory(10 + static_cast<std::size_t>(t.rank));
  const auto size = static_cast<MPI_Aint>(memory.size() * sizeof(double));
  MPI_Win win = MPI_WIN_NULL;
  OK(MPI_Win_create(memory.data(), size, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  REQUIRE(win != MPI_WIN_NULL);
  check_attributes(t, win, memory.data(), size, sizeof(double), MPI_WIN_FLAVOR_CREATE);
  OwnedGroup ours, world;
  OK(MPI_Win_get_group(win, ours.out()));
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  int result = MPI_UNEQUAL;
  OK(MPI_Group_compare(ours, world, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL);
}

// Some have nothing to give.
void created_of_nothing(Conformance& t) {
  int value = t.rank;
  const bool gives = t.rank % 2 == 0;
  OwnedWin win;
  OK(MPI_Win_create(gives ? &value : nullptr, gives ? sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                    win.out()));
  OK(MPI_Win_fence(0, win));
  int got = -1;
  const int from = (t.rank + t.size - 1) % t.size;
  if (from % 2 == 0) OK(MPI_Get(&got, 1, MPI_INT, from, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK_EQ(got, from % 2 == 0 ? from : -1);
}

void allocated(Conformance& t) {
  int* base = nullptr;
  OwnedWin win;
  const int elements = 1000 + t.rank;
  const auto size = static_cast<MPI_Aint>(sizeof(int)) * elements;
  OK(MPI_Win_allocate(size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, win.out()));
  REQUIRE(base != nullptr);
  check_attributes(t, win, base, size, sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < elements; ++i) base[i] = value_at(i, t.rank);
  const int to = (t.rank + 1) % t.size;
  OK(MPI_Win_fence(0, win));
  std::vector<int> got(1000);
  OK(MPI_Get(got.data(), 1000, MPI_INT, to, 0, 1000, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK(got == values(1000, to));
}

void allocated_nothing(Conformance& t) {
  void* base = nullptr;
  OwnedWin win;
  OK(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win.out()));
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
  CHECK(flag && *static_cast<MPI_Aint*>(value) == 0);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_fence(0, win));
}

struct SharedWindow {
  SharedWindow(Conformance& t, int elements_of(int rank), bool adjacent) {
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, comm.out()));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OwnedInfo info;
    OK(MPI_Info_create(info.out()));
    if (!adjacent) OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    OK(MPI_Win_allocate_shared(elements_of(rank) * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), info,
                               comm, &base, win.out()));
  }
  OwnedComm comm;
  OwnedWin win;
  int rank = 0;
  int size = 0;
  int* base = nullptr;
};

void shared_memory(Conformance& t, int elements_of(int rank), bool adjacent) {
  SharedWindow shared(t, elements_of, adjacent);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, shared.win));
  for (int i = 0; i < elements_of(shared.rank); ++i) shared.base[i] = value_at(i, shared.rank);
  OK(MPI_Win_sync(shared.win));
  OK(MPI_Barrier(shared.comm));
  OK(MPI_Win_sync(shared.win));
  const int* next = nullptr;
  for (int rank = 0; rank < shared.size; ++rank) {
    MPI_Aint size = -1;
    int unit = 0;
    int* base = nullptr;
    OK(MPI_Win_shared_query(shared.win, rank, &size, &unit, &base));
    CHECK_EQ(size, elements_of(rank) * static_cast<MPI_Aint>(sizeof(int)));
    CHECK_EQ(unit, static_cast<int>(sizeof(int)));
    for (int i = 0; i < elements_of(rank); ++i) REQUIRE(base[i] == value_at(i, rank));
    if (adjacent && next != nullptr && elements_of(rank) > 0) CHECK(base == next);
    if (elements_of(rank) > 0) next = base + elements_of(rank);
  }
  OK(MPI_Barrier(shared.comm));
  OK(MPI_Win_unlock_all(shared.win));
}

void shared_adjacent(Conformance& t) {
  shared_memory(
      t, [](int rank) { return 100 + 7 * rank; }, true);
}
void shared_apart(Conformance& t) {
  shared_memory(
      t, [](int rank) { return 5000 - rank; }, false);
}
void shared_partly_empty(Conformance& t) {
  shared_memory(
      t, [](int rank) { return rank % 2 == 0 ? 0 : 33; }, true);
}

void shared_first_of_all(Conformance& t) {
  SharedWindow shared(
      t, [](int rank) { return rank == 0 ? 0 : 9; }, true);
  MPI_Aint size = -1;
  int unit = 0;
  int* base = nullptr;
  OK(MPI_Win_shared_query(shared.win, MPI_PROC_NULL, &size, &unit, &base));
  if (shared.size == 1) {
    CHECK_EQ(size, 0);
    return;
  }
  CHECK_EQ(size, static_cast<MPI_Aint>(9 * sizeof(int)));
  int* first = nullptr;
  OK(MPI_Win_shared_query(shared.win, 1, &size, &unit, &first));
  CHECK(first == base);
}

// Atomic operations and stores of others are the same memory.
void shared_and_operations(Conformance& t) {
  SharedWindow shared(
      t, [](int) { return 1; }, true);
  *shared.base = 1000 * shared.rank;
  OK(MPI_Barrier(shared.comm));
  OK(MPI_Win_lock_all(0, shared.win));
  const int one = 1;
  for (int rank = 0; rank < shared.size; ++rank)
    OK(MPI_Accumulate(&one, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, shared.win));
  OK(MPI_Win_flush_all(shared.win));
  OK(MPI_Barrier(shared.comm));
  OK(MPI_Win_sync(shared.win));
  CHECK_EQ(*shared.base, 1000 * shared.rank + shared.size);
  OK(MPI_Win_unlock_all(shared.win));
}

MPI_Aint address_of(const void* memory) {
  MPI_Aint address = 0;
  MPI_Get_address(memory, &address);
  return address;
}

void dynamic(Conformance& t) {
  OwnedWin win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  check_attributes(t, win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  std::vector<int> first(100, -1), second(200, -1);
  OK(MPI_Win_attach(win, first.data(), 100 * sizeof(int)));
  OK(MPI_Win_attach(win, second.data(), 200 * sizeof(int)));
  MPI_Aint own[2] = {address_of(first.data()), address_of(second.data())};
  const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
  MPI_Aint theirs[2] = {};
  OK(MPI_Sendrecv(own, 2, MPI_AINT, from, 1, theirs, 2, MPI_AINT, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const std::vector<int> data = values(150, t.rank);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(data.data(), 100, MPI_INT, to, theirs[0], 100, MPI_INT, win));
  OK(MPI_Put(data.data(), 150, MPI_INT, to, MPI_Aint_add(theirs[1], 50 * sizeof(int)), 150, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK(first == values(100, from));
  CHECK(std::vector<int>(second.begin() + 50, second.end()) == values(150, from));
  CHECK_EQ(second[49], -1);
  OK(MPI_Win_detach(win, first.data()));
  // What is left can be used; the other may be attached again, with others beside it.
  OK(MPI_Win_attach(win, first.data(), 50 * sizeof(int)));
  OK(MPI_Win_attach(win, first.data() + 50, 50 * sizeof(int)));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  int got = 0;
  OK(MPI_Get(&got, 1, MPI_INT, to, MPI_Aint_add(theirs[0], 60 * sizeof(int)), 1, MPI_INT, win));
  OK(MPI_Win_unlock(to, win));
  CHECK_EQ(got, value_at(60, t.rank));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_detach(win, first.data()));
  OK(MPI_Win_detach(win, first.data() + 50));
  OK(MPI_Win_detach(win, second.data()));
}

void names(Conformance& t) {
  OwnedWin win;
  OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, win.out()));
  char name[MPI_MAX_OBJECT_NAME] = "x";
  int length = -1;
  OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Win_set_name(win, "a window"));
  OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(std::string(name), "a window");
  CHECK_EQ(length, 8);
}

std::string value_of(Conformance& t, MPI_Win win, const char* key) {
  OwnedInfo info;
  OK(MPI_Win_get_info(win, info.out()));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
  return flag ? value : "-";
}

void hints(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Info_set(info, "accumulate_ordering", "none"));
  OK(MPI_Info_set(info, "somebody_elses_key", "5"));
  void* base = nullptr;
  OwnedWin win;
  OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, win.out()));
  CHECK_EQ(value_of(t, win, "no_locks"), "true");
  CHECK_EQ(value_of(t, win, "accumulate_ordering"), "none");
  OK(MPI_Info_set(info, "accumulate_ops", "same_op"));
  OK(MPI_Win_set_info(win, info));
  CHECK_EQ(value_of(t, win, "accumulate_ops"), "same_op");
  OwnedWin other;
  OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, other.out()));
  CHECK_EQ(value_of(t, other, "no_locks"), "false");
}

struct Journal {
  std::vector<std::string> lines;
};
struct Note {
  Journal* journal;
  char letter;
};

int note_deletion(MPI_Win, int, void* value, void* state) {
  auto* note = static_cast<Note*>(state);
  note->journal->lines.push_back(std::string(1, note->letter) + " " +
                                 std::to_string(*static_cast<int*>(value)));
  return MPI_SUCCESS;
}

void attributes(Conformance& t) {
  Journal journal;
  Note a{&journal, 'a'}, b{&journal, 'b'};
  int key_a = MPI_KEYVAL_INVALID, key_b = MPI_KEYVAL_INVALID;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, note_deletion, &key_a, &a));
  OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, note_deletion, &key_b, &b));
  MPI_Win win = MPI_WIN_NULL;
  OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
  int first = 1, second = 2, third = 3;
  void* value = nullptr;
  int flag = 1;
  OK(MPI_Win_get_attr(win, key_a, &value, &flag));
  CHECK(!flag);
  OK(MPI_Win_set_attr(win, key_a, &first));
  OK(MPI_Win_set_attr(win, key_b, &second));
  OK(MPI_Win_get_attr(win, key_b, &value, &flag));
  CHECK(flag && value == &second);
  OK(MPI_Win_set_attr(win, key_a, &third));
  OK(MPI_Win_delete_attr(win, key_b));
  OK(MPI_Win_get_attr(win, key_b, &value, &flag));
  CHECK(!flag);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_free_keyval(&key_a));
  OK(MPI_Win_free_keyval(&key_b));
  CHECK_EQ(key_a, static_cast<int>(MPI_KEYVAL_INVALID));
  CHECK(journal.lines == (std::vector<std::string>{"a 1", "b 2", "a 3"}));
}

// Those of some of the ranks only, and many at once.
void of_a_part(Conformance& t) {
  OwnedComm part;
  OK(MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, -t.rank, part.out()));
  int rank = 0, size = 0;
  OK(MPI_Comm_rank(part, &rank));
  OK(MPI_Comm_size(part, &size));
  std::vector<int> memory(static_cast<std::size_t>(size), -1);
  OwnedWin win;
  OK(MPI_Win_create(memory.data(), size * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL,
                    part, win.out()));
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  for (int to = 0; to < size; ++to) OK(MPI_Put(&t.rank, 1, MPI_INT, to, rank, 1, MPI_INT, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int from = 0; from < size; ++from) CHECK_EQ(memory[from] % 2, t.rank % 2);
  CHECK_EQ(memory[rank], t.rank);
}

void many(Conformance& t) {
  constexpr int windows = 40;
  std::vector<std::vector<int>> memory(windows, std::vector<int>(1));
  std::vector<OwnedWin> all(windows);
  std::vector<int> numbers(windows);
  for (int i = 0; i < windows; ++i)
    OK(MPI_Win_create(memory[i].data(), sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, all[i].out()));
  const int to = (t.rank + 1) % t.size;
  for (int i = 0; i < windows; ++i) OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, all[i]));
  for (int i = 0; i < windows; ++i) numbers[i] = i;
  for (int i = 0; i < windows; ++i) OK(MPI_Put(&numbers[i], 1, MPI_INT, to, 0, 1, MPI_INT, all[i]));
  for (int i = 0; i < windows; ++i) OK(MPI_Win_unlock(to, all[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < windows; ++i) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, all[i]));
    CHECK_EQ(memory[i][0], i);
    OK(MPI_Win_unlock(t.rank, all[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

#if MPI_VERSION >= 4
void large_forms(Conformance& t) {
  int memory[4] = {};
  OwnedWin created, allocated;
  OK(MPI_Win_create_c(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, created.out()));
  check_attributes(t, created, memory, sizeof memory, sizeof(int), MPI_WIN_FLAVOR_CREATE);
  int* base = nullptr;
  OK(MPI_Win_allocate_c(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, allocated.out()));
  check_attributes(t, allocated, base, 64, 8, MPI_WIN_FLAVOR_ALLOCATE);
  OwnedWin shared;
  OK(MPI_Win_allocate_shared_c(16, 4, MPI_INFO_NULL, MPI_COMM_SELF, &base, shared.out()));
  MPI_Aint size = 0, unit = 0;
  int* found = nullptr;
  OK(MPI_Win_shared_query_c(shared, 0, &size, &unit, &found));
  CHECK_EQ(size, 16);
  CHECK_EQ(unit, 4);
  CHECK(found == base);
}
#endif

}  // namespace

CHAPTER(window_making, CASE(created), CASE(created_of_nothing), CASE(allocated), CASE(allocated_nothing),
        CASE(shared_adjacent), CASE(shared_apart), CASE(shared_partly_empty), CASE(shared_first_of_all),
        CASE(shared_and_operations), CASE(dynamic), CASE(names), CASE(hints), CASE(attributes),
        CASE(of_a_part), CASE(many, .slow = true)
#if MPI_VERSION >= 4
                             ,
        CASE(large_forms)
#endif
)

}  // namespace conformance
