// Attributes of communicators: predefined ones, and the order and failures of copy and delete functions
// (MPI-5.0 section 7.7).
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// What the functions below write down; reached through the keyvals' extra state.
struct Journal {
  std::vector<std::string> lines;
  bool copy_fails = false;
  bool delete_fails = false;
};

// One keyval's extra state: its letter, and the journal of all.
struct Entry {
  Journal* journal;
  char letter;
};

int copy_function(MPI_Comm, int, void* state, void* in, void* out, int* flag) {
  auto* entry = static_cast<Entry*>(state);
  entry->journal->lines.push_back(std::string("copy ") + entry->letter);
  if (entry->journal->copy_fails) return MPI_ERR_OTHER;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

int refuse_copy(MPI_Comm, int, void* state, void*, void*, int* flag) {
  auto* entry = static_cast<Entry*>(state);
  entry->journal->lines.push_back(std::string("refuse ") + entry->letter);
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_function(MPI_Comm, int, void*, void* state) {
  auto* entry = static_cast<Entry*>(state);
  entry->journal->lines.push_back(std::string("delete ") + entry->letter);
  return entry->journal->delete_fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void predefined(Conformance& t) {
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  REQUIRE(flag);
  CHECK(*static_cast<int*>(value) >= 32767);
  OK(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_TAG_UB, &value, &flag));
  CHECK(flag);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  if (flag) CHECK(*static_cast<int*>(value) == 0 || *static_cast<int*>(value) == 1);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  CHECK(flag);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  if (flag) CHECK(*static_cast<int*>(value) >= t.size);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  if (flag) CHECK(*static_cast<int*>(value) >= 0);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  REQUIRE(flag);
  CHECK(*static_cast<int*>(value) >= MPI_ERR_LASTCODE);
}

void set_get_delete(Conformance& t) {
  Journal journal;
  Entry entry{&journal, 'a'};
  int keyval = MPI_KEYVAL_INVALID;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &keyval, &entry));
  CHECK(keyval != MPI_KEYVAL_INVALID);
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  void* value = nullptr;
  int flag = 1;
  OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  CHECK(!flag);
  int target = 0;
  OK(MPI_Comm_set_attr(comm, keyval, &target));
  OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  CHECK(flag);
  CHECK(value == &target);
  OK(MPI_Comm_set_attr(comm, keyval, nullptr));
  CHECK_EQ(journal.lines.size(), 1u);  // the old value was deleted
  OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  CHECK(flag);
  CHECK(value == nullptr);
  OK(MPI_Comm_delete_attr(comm, keyval));
  OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  CHECK(!flag);
  CHECK_EQ(journal.lines.size(), 2u);
  OK(MPI_Comm_free_keyval(&keyval));
  CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
}

void copies_with_duplicates(Conformance& t) {
  Journal journal;
  Entry entries[] = {{&journal, 'a'}, {&journal, 'b'}, {&journal, 'c'}, {&journal, 'd'}};
  int keyvals[4];
  OK(MPI_Comm_create_keyval(copy_function, delete_function, &keyvals[0], &entries[0]));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &keyvals[1], &entries[1]));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyvals[2], &entries[2]));
  OK(MPI_Comm_create_keyval(refuse_copy, delete_function, &keyvals[3], &entries[3]));
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, comm.out()));
  for (int i = 0; i < 4; ++i) OK(MPI_Comm_set_attr(comm, keyvals[i], &entries[i]));
  MPI_Comm copy;
  OK(MPI_Comm_dup(comm, &copy));
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(copy, keyvals[0], &value, &flag));
  CHECK(flag && value == reinterpret_cast<char*>(&entries[0]) + 1);
  OK(MPI_Comm_get_attr(copy, keyvals[1], &value, &flag));
  CHECK(!flag);
  OK(MPI_Comm_get_attr(copy, keyvals[2], &value, &flag));
  CHECK(flag && value == &entries[2]);
  OK(MPI_Comm_get_attr(copy, keyvals[3], &value, &flag));
  CHECK(!flag);
  CHECK(journal.lines == (std::vector<std::string>{"copy a", "refuse d"}));
  // MPI_Comm_split copies none.
  OwnedComm part;
  OK(MPI_Comm_split(comm, 0, 0, part.out()));
  OK(MPI_Comm_get_attr(part, keyvals[2], &value, &flag));
  CHECK(!flag);
  // Freed keyvals work on until the attributes are gone.
  for (int& keyval : keyvals) OK(MPI_Comm_free_keyval(&keyval));
  journal.lines.clear();
  OK(MPI_Comm_free(&copy));
  CHECK(journal.lines == (std::vector<std::string>{"delete a"}));
  journal.lines.clear();
  MPI_Comm last = comm.release();
  OK(MPI_Comm_free(&last));
  CHECK_EQ(journal.lines.size(), 3u);
}

// A keyval lives on under its number while there are attributes of it.
void freed_keyval_in_use(Conformance& t) {
  Journal journal;
  Entry entry{&journal, 'a'};
  int keyval, number, again;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_function, &keyval, &entry));
  number = again = keyval;
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(comm, keyval, &entry));
  OK(MPI_Comm_free_keyval(&keyval));
  OK(MPI_Comm_free_keyval(&again));
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(comm, number, &value, &flag));
  CHECK(flag && value == &entry);
  OK(MPI_Comm_delete_attr(comm, number));
  CHECK(journal.lines == (std::vector<std::string>{"delete a"}));
  CHECK_FAILS(MPI_Comm_set_attr(comm, number, &entry), MPI_ERR_KEYVAL);
}

void failing_copy(Conformance& t) {
  Journal journal;
  Entry entry{&journal, 'a'};
  int keyval;
  OK(MPI_Comm_create_keyval(copy_function, delete_function, &keyval, &entry));
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, comm.out()));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(comm, keyval, &entry));
  journal.copy_fails = true;
  MPI_Comm copy = MPI_COMM_WORLD;
  CHECK_FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
  CHECK(copy == MPI_COMM_NULL);
  journal.copy_fails = false;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free_keyval(&keyval));
}

void failing_delete(Conformance& t) {
  Journal journal;
  Entry entry{&journal, 'a'};
  int keyval;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &keyval, &entry));
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(comm, keyval, &entry));
  journal.delete_fails = true;
  CHECK_FAILS(MPI_Comm_delete_attr(comm, keyval), MPI_ERR_OTHER);
  CHECK_FAILS(MPI_Comm_free(&comm), MPI_ERR_OTHER);
  CHECK(comm != MPI_COMM_NULL);
  journal.delete_fails = false;
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free_keyval(&keyval));
}

void wrong_keyvals(Conformance& t) {
  void* value = nullptr;
  int flag = 0;
  int type_keyval;
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, nullptr));
  CHECK_FAILS(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_FAILS(MPI_Comm_set_attr(MPI_COMM_SELF, type_keyval, nullptr), MPI_ERR_KEYVAL);
  CHECK_FAILS(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_TAG_UB, nullptr), MPI_ERR_KEYVAL);
  int window_keyval;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &window_keyval, nullptr));
  CHECK_FAILS(MPI_Comm_set_attr(MPI_COMM_SELF, window_keyval, nullptr), MPI_ERR_KEYVAL);
  int wrong = window_keyval;
  CHECK_FAILS(MPI_Comm_free_keyval(&wrong), MPI_ERR_KEYVAL);
  wrong = type_keyval;
  CHECK_FAILS(MPI_Win_free_keyval(&wrong), MPI_ERR_KEYVAL);
  OK(MPI_Win_free_keyval(&window_keyval));
  CHECK_EQ(window_keyval, MPI_KEYVAL_INVALID);
  OK(MPI_Type_free_keyval(&type_keyval));
}

int copy_for_types(MPI_Datatype, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

int count_deletes(MPI_Datatype, int, void*, void* state) {
  ++*static_cast<int*>(state);
  return MPI_SUCCESS;
}

void of_datatypes(Conformance& t) {
  int deletes = 0, keyval;
  OK(MPI_Type_create_keyval(copy_for_types, count_deletes, &keyval, &deletes));
  MPI_Datatype type, copy;
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  char memory[2];
  OK(MPI_Type_set_attr(type, keyval, memory));
  OK(MPI_Type_dup(type, &copy));
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Type_get_attr(copy, keyval, &value, &flag));
  CHECK(flag);
  CHECK(value == memory + 1);
  OK(MPI_Type_free(&type));
  CHECK_EQ(deletes, 1);
  OK(MPI_Type_delete_attr(copy, keyval));
  CHECK_EQ(deletes, 2);
  OK(MPI_Type_get_attr(copy, keyval, &value, &flag));
  CHECK(!flag);
  OK(MPI_Type_free(&copy));
  CHECK_EQ(deletes, 2);
  OK(MPI_Type_free_keyval(&keyval));
}

// A delete function may call MPI, also on the communicator that is going.
int delete_and_communicate(MPI_Comm comm, int, void* value, void*) {
  int size = 0;
  if (MPI_Comm_size(comm, &size) != MPI_SUCCESS) return MPI_ERR_OTHER;
  *static_cast<int*>(value) = size;
  return MPI_Barrier(comm);
}

void callbacks_call_mpi(Conformance& t) {
  int keyval;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_and_communicate, &keyval, nullptr));
  MPI_Comm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, &comm));
  int seen = 0;
  OK(MPI_Comm_set_attr(comm, keyval, &seen));
  OK(MPI_Comm_free(&comm));
  CHECK_EQ(seen, t.size);
  OK(MPI_Comm_free_keyval(&keyval));
}

}  // namespace

CHAPTER(attributes, CASE(predefined), CASE(set_get_delete), CASE(copies_with_duplicates),
        CASE(freed_keyval_in_use), CASE(failing_copy), CASE(failing_delete), CASE(wrong_keyvals),
        CASE(of_datatypes), CASE(callbacks_call_mpi))

}  // namespace conformance
