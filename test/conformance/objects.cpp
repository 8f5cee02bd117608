// Attributes, info objects, error handlers, and what a program may ask of its environment.
#include <cmath>
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// --- Attributes ---

// What the callbacks saw: extra_state points here, and the value of an attribute to one of these.
struct Calls {
  int copies = 0;
  int deletes = 0;
  int fail_delete = 0;
  std::vector<long> deleted;
};

extern "C" int copy_count(MPI_Comm, int, void* extra, void* value, void* out, int* flag) {
  auto* calls = static_cast<Calls*>(extra);
  ++calls->copies;
  *static_cast<void**>(out) = static_cast<char*>(value) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
extern "C" int copy_not(MPI_Comm, int, void* extra, void*, void*, int* flag) {
  ++static_cast<Calls*>(extra)->copies;
  *flag = 0;
  return MPI_SUCCESS;
}
extern "C" int delete_count(MPI_Comm, int, void* value, void* extra) {
  auto* calls = static_cast<Calls*>(extra);
  ++calls->deletes;
  calls->deleted.push_back(reinterpret_cast<long>(value));
  return calls->fail_delete ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void* number(long value) { return reinterpret_cast<void*>(value); }

void attributes_are_copied_and_deleted(Conformance& t) {
  Calls calls;
  int key = MPI_KEYVAL_INVALID, shy = MPI_KEYVAL_INVALID, flag = 1;
  void* value = nullptr;
  OK(MPI_Comm_create_keyval(copy_count, delete_count, &key, &calls));
  OK(MPI_Comm_create_keyval(copy_not, delete_count, &shy, &calls));
  CHECK(key != MPI_KEYVAL_INVALID && key != shy);
  MPI_Comm one, two;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &one));
  OK(MPI_Comm_get_attr(one, key, &value, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Comm_set_attr(one, key, number(100)));
  OK(MPI_Comm_set_attr(one, shy, number(500)));
  OK(MPI_Comm_get_attr(one, key, &value, &flag));
  CHECK(flag == 1 && value == number(100));
  OK(MPI_Comm_dup(one, &two));
  CHECK_EQ(calls.copies, 2);
  OK(MPI_Comm_get_attr(two, key, &value, &flag));
  CHECK(flag == 1 && value == number(101));
  OK(MPI_Comm_get_attr(two, shy, &value, &flag));
  CHECK_EQ(flag, 0);
  // Setting again deletes the old value.
  OK(MPI_Comm_set_attr(two, key, number(200)));
  CHECK(calls.deletes == 1 && calls.deleted.back() == 101);
  OK(MPI_Comm_delete_attr(two, key));
  CHECK(calls.deletes == 2 && calls.deleted.back() == 200);
  OK(MPI_Comm_get_attr(two, key, &value, &flag));
  CHECK_EQ(flag, 0);
  // The key lives on while attributes hang on it.
  OK(MPI_Comm_free_keyval(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
  OK(MPI_Comm_free(&one));
  CHECK_EQ(calls.deletes, 4);
  OK(MPI_Comm_free(&two));
  CHECK_EQ(calls.deletes, 4);
  OK(MPI_Comm_free_keyval(&shy));
}

void predefined_attribute_functions(Conformance& t) {
  int kept = 0, lost = 0, flag = 0;
  void* value = nullptr;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, nullptr));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &lost, nullptr));
  OwnedComm one, two;
  OK(MPI_Comm_dup(MPI_COMM_SELF, one.out()));
  OK(MPI_Comm_set_attr(one, kept, number(7)));
  OK(MPI_Comm_set_attr(one, lost, number(8)));
  OK(MPI_Comm_dup(one, two.out()));
  OK(MPI_Comm_get_attr(two, kept, &value, &flag));
  CHECK(flag == 1 && value == number(7));
  OK(MPI_Comm_get_attr(two, lost, &value, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Comm_free_keyval(&kept));
  OK(MPI_Comm_free_keyval(&lost));
}

// A delete function that fails keeps the attribute, and the operation fails.
void delete_function_may_refuse(Conformance& t) {
  Calls calls;
  int key = 0, flag = 0;
  void* value = nullptr;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_count, &key, &calls));
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(comm, key, number(3)));
  calls.fail_delete = 1;
  CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
  OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  CHECK(flag == 1 && value == number(3));
  calls.fail_delete = 0;
  OK(MPI_Comm_delete_attr(comm, key));
  OK(MPI_Comm_free_keyval(&key));
}

void attributes_of_the_environment(Conformance& t) {
  int* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *value >= 32767);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(flag && (*value == 0 || *value == 1));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  if (flag) CHECK(*value >= t.size);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  if (flag) CHECK(*value >= 0);
  int invalid = MPI_KEYVAL_INVALID;
  CHECK_FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, invalid, nullptr), MPI_ERR_KEYVAL);
}

// --- Info ---

void info_keeps_keys_in_order(Conformance& t) {
  OwnedInfo info, copy;
  OK(MPI_Info_create(info.out()));
  const char* keys[] = {"zebra", "apple", "mango with spaces"};
  for (int i = 0; i < 3; ++i) OK(MPI_Info_set(info, keys[i], std::to_string(i * 11).c_str()));
  OK(MPI_Info_set(info, "apple", "red"));
  int count = 0, flag = 0, length = 0;
  OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQ(count, 3);
  char text[MPI_MAX_INFO_KEY + 1] = "";
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Info_get_nthkey(info, i, text));
    CHECK_EQ(std::string(text), keys[i]);
  }
  OK(MPI_Info_get_valuelen(info, "apple", &length, &flag));
  CHECK(flag == 1 && length == 3);
  char value[64] = "?";
  OK(MPI_Info_get(info, "apple", 63, value, &flag));
  CHECK_EQ(std::string(value), "red");
  OK(MPI_Info_get(info, "apple", 2, value, &flag));
  CHECK_EQ(std::string(value), "re");
  OK(MPI_Info_get(info, "pear", 63, value, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Info_dup(info, copy.out()));
  OK(MPI_Info_delete(info, "zebra"));
  CHECK_FAILS(MPI_Info_delete(info, "zebra"), MPI_ERR_INFO_NOKEY);
  OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQ(count, 2);
  OK(MPI_Info_get_nkeys(copy, &count));
  CHECK_EQ(count, 3);
  const std::string long_key(MPI_MAX_INFO_KEY + 1, 'k');
  CHECK_FAILS(MPI_Info_set(info, long_key.c_str(), "x"), MPI_ERR_INFO_KEY);
}

#if MPI_VERSION >= 4
void info_strings_with_lengths(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "key", "value"));
  int length = 0, flag = 0;
  char text[16] = "untouched";
  OK(MPI_Info_get_string(info, "key", &length, text, &flag));
  CHECK(flag == 1 && length == 6);
  CHECK_EQ(std::string(text), "untouched");
  length = 3;
  OK(MPI_Info_get_string(info, "key", &length, text, &flag));
  CHECK_EQ(std::string(text), "va");
  CHECK_EQ(length, 6);
  length = sizeof(text);
  OK(MPI_Info_get_string(info, "key", &length, text, &flag));
  CHECK_EQ(std::string(text), "value");
}

#else
void info_strings_with_lengths(Conformance&) {}
#endif

// --- Error handlers ---

struct Heard {
  int calls = 0;
  int code = MPI_SUCCESS;
};

// The handler finds its record through an attribute, for it is given nothing else.
extern "C" void remember(MPI_Comm* comm, int* code, ...) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Comm_get_name(*comm, name, &length);
  std::size_t address = 0;
  std::istringstream(name) >> std::hex >> address;
  auto* heard = reinterpret_cast<Heard*>(address);
  ++heard->calls;
  heard->code = *code;
}

void handler_of_the_communicator_is_called(Conformance& t) {
  Heard heard;
  OwnedErrhandler handler;
  OwnedComm comm, copy;
  OK(MPI_Comm_create_errhandler(remember, handler.out()));
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  std::ostringstream name;
  name << std::hex << reinterpret_cast<std::size_t>(&heard);
  OK(MPI_Comm_set_name(comm, name.str().c_str()));
  OK(MPI_Comm_set_errhandler(comm, handler));
  int value = 0;
  const int code = MPI_Send(&value, 1, MPI_INT, 5, 0, comm);
  CHECK_FAILS(code, MPI_ERR_RANK);
  CHECK_EQ(heard.calls, 1);
  CHECK_EQ(heard.code, code);
  CHECK_FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  CHECK_EQ(heard.calls, 2);
  // Duplicates inherit it.
  OK(MPI_Comm_dup(comm, copy.out()));
  OK(MPI_Comm_set_name(copy, name.str().c_str()));
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, 5, 0, copy), MPI_ERR_RANK);
  CHECK_EQ(heard.calls, 3);
  // Errors that show only when waiting go there too.
  int room[4] = {}, data[8] = {};
  MPI_Request request;
  OK(MPI_Irecv(room, 4, MPI_INT, 0, 0, comm, &request));
  OK(MPI_Send(data, 8, MPI_INT, 0, 0, comm));
  CHECK_FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK_EQ(heard.calls, 4);
  // By hand.
  OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  CHECK(heard.calls == 5 && heard.code == MPI_ERR_OTHER);
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK(found == handler);
  OK(MPI_Errhandler_free(&found));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, 5, 0, comm), MPI_ERR_RANK);
  CHECK_EQ(heard.calls, 5);
}

void handler_may_be_freed_while_set(Conformance& t) {
  Heard heard;
  OwnedComm comm;
  OK(MPI_Comm_dup(MPI_COMM_SELF, comm.out()));
  std::ostringstream name;
  name << std::hex << reinterpret_cast<std::size_t>(&heard);
  OK(MPI_Comm_set_name(comm, name.str().c_str()));
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(remember, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);
  int value = 0;
  CHECK_FAILS(MPI_Send(&value, 1, MPI_INT, 5, 0, comm), MPI_ERR_RANK);
  CHECK_EQ(heard.calls, 1);
}

void error_texts_and_classes(Conformance& t) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, error_class = -1;
  for (int code : {MPI_SUCCESS, MPI_ERR_RANK, MPI_ERR_TRUNCATE, MPI_ERR_UNKNOWN, MPI_ERR_NO_MEM}) {
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && static_cast<std::size_t>(length) == std::strlen(text));
    OK(MPI_Error_class(code, &error_class));
    CHECK_EQ(error_class, code);
  }
  int* last = nullptr;
  int flag = 0, new_class = 0, new_code = 0;
  OK(MPI_Add_error_class(&new_class));
  CHECK(new_class > MPI_ERR_LASTCODE);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= new_class);
  OK(MPI_Add_error_code(new_class, &new_code));
  OK(MPI_Add_error_string(new_code, "the cat is on the mat"));
  OK(MPI_Error_class(new_code, &error_class));
  CHECK_EQ(error_class, new_class);
  OK(MPI_Error_string(new_code, text, &length));
  CHECK_EQ(std::string(text), "the cat is on the mat");
}

// --- Environment ---

void questions_about_the_environment(Conformance& t) {
  int version = 0, subversion = 0, length = 0, flag = 0, level = -1;
  OK(MPI_Get_version(&version, &subversion));
  CHECK_EQ(version, MPI_VERSION);
  CHECK_EQ(subversion, MPI_SUBVERSION);
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING);
  OK(MPI_Get_library_version(text.data(), &length));
  CHECK(length > 0 && static_cast<std::size_t>(length) == std::strlen(text.data()));
  char processor[MPI_MAX_PROCESSOR_NAME] = "";
  OK(MPI_Get_processor_name(processor, &length));
  CHECK(length > 0 && static_cast<std::size_t>(length) == std::strlen(processor));
  OK(MPI_Initialized(&flag));
  CHECK_EQ(flag, 1);
  OK(MPI_Finalized(&flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Query_thread(&level));
  CHECK(level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
        level == MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&flag));
  CHECK_EQ(flag, 1);
  CHECK(MPI_Wtick() > 0);
  double before = MPI_Wtime();
  for (int i = 0; i < 100; ++i) {
    const double now = MPI_Wtime();
    CHECK(now >= before);
    before = now;
  }
}

void memory_and_addresses(Conformance& t) {
  int* memory = nullptr;
  OK(MPI_Alloc_mem(1000 * sizeof(int), MPI_INFO_NULL, &memory));
  REQUIRE(memory != nullptr);
  for (int i = 0; i < 1000; ++i) memory[i] = i;
  MPI_Aint base = 0, element = 0;
  OK(MPI_Get_address(&memory[0], &base));
  OK(MPI_Get_address(&memory[10], &element));
  CHECK_EQ(MPI_Aint_diff(element, base), static_cast<MPI_Aint>(10 * sizeof(int)));
  CHECK_EQ(MPI_Aint_add(base, 10 * sizeof(int)), element);
  OK(MPI_Free_mem(memory));
}

}  // namespace

CHAPTER(objects, CASE(attributes_are_copied_and_deleted), CASE(predefined_attribute_functions),
        CASE(delete_function_may_refuse), CASE(attributes_of_the_environment), CASE(info_keeps_keys_in_order),
        CASE(info_strings_with_lengths), CASE(handler_of_the_communicator_is_called),
        CASE(handler_may_be_freed_while_set), CASE(error_texts_and_classes),
        CASE(questions_about_the_environment), CASE(memory_and_addresses))

}  // namespace conformance
