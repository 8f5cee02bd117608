// Mistakes in calls on windows, and their error handlers (MPI-5.0 sections 9.3 and 12.6).
#include <cstdint>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// Of ten ints, with errors that return.
struct Window {
  explicit Window(Conformance& t) {
    for (int& value : memory) value = 7;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  // After everybody's mistakes nothing is changed.
  void untouched(Conformance& t) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (const int value : memory) CHECK_EQ(value, 7);
  }
  int memory[10];
  OwnedWin win;
};

void making(Conformance& t) {
  int memory[2] = {};
  MPI_Win win = MPI_WIN_NULL;
  CHECK_FAILS(MPI_Win_create(memory, -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
  CHECK_FAILS(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
  CHECK_FAILS(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
  void* base = nullptr;
  CHECK_FAILS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
  CHECK_FAILS(MPI_Win_allocate(8, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
  CHECK_FAILS(MPI_Win_allocate_shared(-1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE);
}

void null_handles(Conformance& t) {
  int value = 0;
  MPI_Win win = MPI_WIN_NULL;
  CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
  CHECK_FAILS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
  CHECK_FAILS(MPI_Win_free(&win), MPI_ERR_WIN);
  CHECK_FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, MPI_WIN_NULL), MPI_ERR_WIN);
}

void ranks(Conformance& t) {
  Window window(t);
  int value = 0, result = 0;
  OK(MPI_Win_fence(0, window.win));
  for (const int rank : {t.size, -17, INT_MAX}) {
    CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window.win), MPI_ERR_RANK);
    CHECK_FAILS(MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window.win), MPI_ERR_RANK);
    CHECK_FAILS(MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, window.win), MPI_ERR_RANK);
    CHECK_FAILS(MPI_Fetch_and_op(&value, &result, MPI_INT, rank, 0, MPI_SUM, window.win), MPI_ERR_RANK);
  }
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
  CHECK_FAILS(MPI_Win_lock(MPI_LOCK_SHARED, t.size, 0, window.win), MPI_ERR_RANK);
  window.untouched(t);
}

void counts_and_types(Conformance& t) {
  Window window(t);
  int value = 0;
  OwnedType uncommitted;
  OK(MPI_Type_contiguous(2, MPI_INT, uncommitted.out()));
  OK(MPI_Win_fence(0, window.win));
  CHECK_FAILS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, window.win), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, window.win), MPI_ERR_COUNT);
  CHECK_FAILS(MPI_Get(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window.win), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, window.win), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, uncommitted, window.win), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, window.win), MPI_ERR_DISP);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
  window.untouched(t);
}

void add_up(void*, void*, int*, MPI_Datatype*) {}

void operations(Conformance& t) {
  Window window(t);
  int value = 0;
  double wide = 0, result = 0;
  OwnedOp own;
  OK(MPI_Op_create(add_up, 1, own.out()));
  OwnedType pair;
  OK(MPI_Type_contiguous(2, MPI_INT, pair.out()));
  OK(MPI_Type_commit(pair.out()));
  OK(MPI_Win_fence(0, window.win));
  CHECK_FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, own, window.win), MPI_ERR_OP);
  CHECK_FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, window.win), MPI_ERR_OP);
  CHECK_FAILS(MPI_Accumulate(&wide, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, window.win), MPI_ERR_OP);
  CHECK_FAILS(MPI_Fetch_and_op(&value, &result, pair, 0, 0, MPI_SUM, window.win), MPI_ERR_TYPE);
  CHECK_FAILS(MPI_Compare_and_swap(&wide, &wide, &result, MPI_DOUBLE, 0, 0, window.win), MPI_ERR_TYPE);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
  window.untouched(t);
}

// Outside of the target's memory, by an element or by far.
void ranges(Conformance& t) {
  Window window(t);
  const int to = (t.rank + 1) % t.size;
  int values[11] = {}, result = 0;
  OwnedType apart;
  OK(MPI_Type_vector(2, 1, 10, MPI_INT, apart.out()));
  OK(MPI_Type_commit(apart.out()));
  OK(MPI_Win_lock_all(0, window.win));
  for (const MPI_Aint place : {MPI_Aint{10}, MPI_Aint{1000}, MPI_Aint{INT64_MAX / 4}, MPI_Aint{INT64_MAX}}) {
    CHECK_FAILS(MPI_Put(values, 1, MPI_INT, to, place, 1, MPI_INT, window.win), MPI_ERR_RMA_RANGE);
    CHECK_FAILS(MPI_Get(values, 1, MPI_INT, to, place, 1, MPI_INT, window.win), MPI_ERR_RMA_RANGE);
    CHECK_FAILS(MPI_Accumulate(values, 1, MPI_INT, to, place, 1, MPI_INT, MPI_SUM, window.win),
                MPI_ERR_RMA_RANGE);
    CHECK_FAILS(MPI_Fetch_and_op(values, &result, MPI_INT, to, place, MPI_SUM, window.win),
                MPI_ERR_RMA_RANGE);
  }
  CHECK_FAILS(MPI_Put(values, 11, MPI_INT, to, 0, 11, MPI_INT, window.win), MPI_ERR_RMA_RANGE);
  CHECK_FAILS(MPI_Put(values, 2, MPI_INT, to, 0, 1, apart, window.win), MPI_ERR_RMA_RANGE);
  OK(MPI_Win_unlock_all(window.win));
  window.untouched(t);
}

// Operations and calls that no epoch allows.
void epochs(Conformance& t) {
  Window window(t);
  int value = 0, result = 0;
  OwnedGroup world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, world.out()));
  const int to = (t.rank + 1) % t.size;
  CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Fetch_and_op(&value, &result, MPI_INT, to, 0, MPI_SUM, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_unlock(to, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_unlock_all(window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_complete(window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_wait(window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_flush(to, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_flush_all(window.win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window.win));
  CHECK_FAILS(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_lock_all(0, window.win), MPI_ERR_RMA_SYNC);
  CHECK_FAILS(MPI_Win_start(world, 0, window.win), MPI_ERR_RMA_SYNC);
  if (t.size > 1) {
    CHECK_FAILS(MPI_Put(&value, 1, MPI_INT, t.rank, 0, 1, MPI_INT, window.win), MPI_ERR_RMA_SYNC);
    CHECK_FAILS(MPI_Win_unlock(t.rank, window.win), MPI_ERR_RMA_SYNC);
  }
  OK(MPI_Win_unlock(to, window.win));
  CHECK_FAILS(MPI_Win_lock(5, to, 0, window.win), MPI_ERR_LOCKTYPE);
  CHECK_FAILS(MPI_Win_fence(1 << 20, window.win), MPI_ERR_ASSERT);
  window.untouched(t);
}

void dynamic_memory(Conformance& t) {
  OwnedWin win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  std::vector<char> memory(100);
  CHECK_FAILS(MPI_Win_attach(win, memory.data(), -1), MPI_ERR_SIZE);
  OK(MPI_Win_attach(win, memory.data(), 50));
  CHECK_FAILS(MPI_Win_attach(win, memory.data() + 49, 10), MPI_ERR_RMA_ATTACH);
  CHECK_FAILS(MPI_Win_detach(win, memory.data() + 1), MPI_ERR_RMA_ATTACH);
  OK(MPI_Win_detach(win, memory.data()));
  CHECK_FAILS(MPI_Win_detach(win, memory.data()), MPI_ERR_RMA_ATTACH);
  // What is not attached; seen by the target alone, so the error comes at the latest with the epoch's end.
  MPI_Aint address = 0;
  MPI_Get_address(memory.data(), &address);
  int value = 0;
  OK(MPI_Win_lock(MPI_LOCK_SHARED, t.rank, 0, win));
  int code = MPI_Put(&value, 1, MPI_INT, t.rank, address, 1, MPI_INT, win);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(t.rank, win);
  CHECK_FAILS(code, MPI_ERR_RMA_RANGE);
  OK(MPI_Win_unlock(t.rank, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// The same at another process, whose memory stays as it was.
void not_attached_there(Conformance& t) {
  OwnedWin win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  int memory[2] = {7, 7};
  OK(MPI_Win_attach(win, memory, sizeof(int)));
  MPI_Aint own = 0, theirs = 0;
  MPI_Get_address(memory, &own);
  const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
  OK(MPI_Sendrecv(&own, 1, MPI_AINT, from, 1, &theirs, 1, MPI_AINT, to, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  const int values[2] = {1, 2};
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  int code = MPI_Put(values, 2, MPI_INT, to, theirs, 2, MPI_INT, win);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(to, win);
  CHECK_FAILS(code, MPI_ERR_RMA_RANGE);
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(memory[0] == 7 && memory[1] == 7);
  OK(MPI_Win_detach(win, memory));
}

void flavors(Conformance& t) {
  Window window(t);
  CHECK_FAILS(MPI_Win_attach(window.win, window.memory, 4), MPI_ERR_RMA_FLAVOR);
  CHECK_FAILS(MPI_Win_detach(window.win, window.memory), MPI_ERR_RMA_FLAVOR);
  OwnedWin dynamic;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, dynamic.out()));
  OK(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  CHECK_FAILS(MPI_Win_shared_query(dynamic, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
  window.untouched(t);
}

void attributes(Conformance& t) {
  Window window(t);
  int value = 0, keyval = MPI_KEYVAL_INVALID;
  CHECK_FAILS(MPI_Win_set_attr(window.win, MPI_WIN_SIZE, &value), MPI_ERR_KEYVAL);
  CHECK_FAILS(MPI_Win_delete_attr(window.win, MPI_WIN_BASE), MPI_ERR_KEYVAL);
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr));
  CHECK_FAILS(MPI_Win_set_attr(window.win, keyval, &value), MPI_ERR_KEYVAL);
  OK(MPI_Comm_free_keyval(&keyval));
  window.untouched(t);
}

// --- Error handlers ---

struct Heard {
  MPI_Win win = MPI_WIN_NULL;
  int error_class = 0;
  int times = 0;
};

// The window knows the place by an attribute.
void hear(MPI_Win* win, int* code, ...) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Win_get_name(*win, name, &length);
  auto* heard = reinterpret_cast<Heard*>(std::stoull(name));
  heard->win = *win;
  MPI_Error_class(*code, &heard->error_class);
  ++heard->times;
}

void ignore(MPI_Comm*, int*, ...) {}

void handlers(Conformance& t) {
  int memory = 7;
  OwnedWin win;
  OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win.out()));
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  OK(MPI_Win_get_errhandler(win, &found));
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  Heard heard;
  OK(MPI_Win_set_name(win, std::to_string(reinterpret_cast<std::uintptr_t>(&heard)).c_str()));
  OwnedErrhandler handler;
  OK(MPI_Win_create_errhandler(hear, handler.out()));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Win_get_errhandler(win, &found));
  CHECK(found == handler);
  OK(MPI_Errhandler_free(&found));
  CHECK_FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  CHECK(heard.win == win);
  CHECK_EQ(heard.error_class, MPI_ERR_RMA_SYNC);
  OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
  CHECK_EQ(heard.error_class, MPI_ERR_OTHER);
  CHECK_EQ(heard.times, 2);
  OwnedErrhandler of_communicators;
  OK(MPI_Comm_create_errhandler(ignore, of_communicators.out()));
  CHECK(MPI_Win_set_errhandler(win, of_communicators) != MPI_SUCCESS);
  CHECK_EQ(heard.times, 3);
}

}  // namespace

CHAPTER(window_errors, CASE(making), CASE(null_handles), CASE(ranks), CASE(counts_and_types),
        CASE(operations), CASE(ranges), CASE(epochs), CASE(dynamic_memory),
        CASE(not_attached_there, .min_ranks = 2), CASE(flavors), CASE(attributes), CASE(handlers))

}  // namespace conformance
