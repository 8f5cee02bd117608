// Info objects (MPI-5.0 chapter 10).
#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag ? value : "(none)";
}

void set_and_get(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  int keys = -1;
  OK(MPI_Info_get_nkeys(info, &keys));
  CHECK_EQ(keys, 0);
  OK(MPI_Info_set(info, "first", "1"));
  OK(MPI_Info_set(info, "second", "two words"));
  OK(MPI_Info_set(info, "first", "one"));
  OK(MPI_Info_get_nkeys(info, &keys));
  CHECK_EQ(keys, 2);
  CHECK_EQ(value_of(info, "first"), "one");
  CHECK_EQ(value_of(info, "second"), "two words");
  CHECK_EQ(value_of(info, "third"), "(none)");
  int length = -1, flag = 0;
  OK(MPI_Info_get_valuelen(info, "second", &length, &flag));
  CHECK(flag);
  CHECK_EQ(length, 9);
  OK(MPI_Info_get_valuelen(info, "third", &length, &flag));
  CHECK(!flag);
}

void keys_keep_their_order(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  for (const char* key : {"z", "a", "m"}) OK(MPI_Info_set(info, key, "x"));
  OK(MPI_Info_set(info, "a", "y"));
  std::vector<std::string> keys;
  for (int i = 0; i < 3; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    OK(MPI_Info_get_nthkey(info, i, key));
    keys.push_back(key);
  }
  CHECK(keys == (std::vector<std::string>{"z", "a", "m"}));
  OK(MPI_Info_delete(info, "a"));
  char key[MPI_MAX_INFO_KEY + 1];
  OK(MPI_Info_get_nthkey(info, 1, key));
  CHECK_EQ(std::string(key), "m");
  CHECK_FAILS(MPI_Info_get_nthkey(info, 2, key), MPI_ERR_ARG);
}

void short_buffers(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "key", "a long value"));
  char value[16] = "untouched";
  int flag = 0;
  OK(MPI_Info_get(info, "key", 6, value, &flag));
  CHECK(flag);
  CHECK_EQ(std::string(value), "a long");
  int room = 0;
  OK(MPI_Info_get_string(info, "key", &room, nullptr, &flag));
  CHECK(flag);
  CHECK_EQ(room, 13);
  room = 7;
  OK(MPI_Info_get_string(info, "key", &room, value, &flag));
  CHECK_EQ(std::string(value), "a long");
  CHECK_EQ(room, 13);
  OK(MPI_Info_get_string(info, "key", &room, value, &flag));
  CHECK_EQ(std::string(value), "a long value");
  room = 5;
  OK(MPI_Info_get_string(info, "no key", &room, value, &flag));
  CHECK(!flag);
  CHECK_EQ(room, 5);
}

void duplicates_are_independent(Conformance& t) {
  OwnedInfo info, copy;
  OK(MPI_Info_create(info.out()));
  OK(MPI_Info_set(info, "key", "old"));
  OK(MPI_Info_dup(info, copy.out()));
  OK(MPI_Info_set(info, "key", "new"));
  CHECK_EQ(value_of(copy, "key"), "old");
}

void wrong_arguments(Conformance& t) {
  OwnedInfo info;
  OK(MPI_Info_create(info.out()));
  CHECK_FAILS(MPI_Info_delete(info, "nothing"), MPI_ERR_INFO_NOKEY);
  CHECK_FAILS(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY);
  const std::string long_key(MPI_MAX_INFO_KEY + 10, 'k');
  CHECK_FAILS(MPI_Info_set(info, long_key.c_str(), "value"), MPI_ERR_INFO_KEY);
  const std::string long_value(MPI_MAX_INFO_VAL + 10, 'v');
  CHECK_FAILS(MPI_Info_set(info, "key", long_value.c_str()), MPI_ERR_INFO_VALUE);
  CHECK_FAILS(MPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO);
}

void environment(Conformance& t) {
  int keys = -1;
  OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
  CHECK(keys >= 0);
#if defined(HAWSER)
  // Keys that are not known may be left out (MPI-5.0 section 11.2.1); these are.
  CHECK_EQ(value_of(MPI_INFO_ENV, "maxprocs"), std::to_string(t.size));
  CHECK(value_of(MPI_INFO_ENV, "host") != "(none)");
  CHECK_EQ(value_of(MPI_INFO_ENV, "thread_level").rfind("MPI_THREAD_", 0), std::size_t{0});
#endif
}

// What the library knows of Fortran is set from the beginning, and cannot be set otherwise.
void fortran([[maybe_unused]] Conformance& t) {
#if MPI_VERSION >= 5
  OwnedInfo known, other;
  OK(MPI_Abi_get_fortran_info(known.out()));
  OK(MPI_Abi_set_fortran_info(known));
  OK(MPI_Info_create(other.out()));
  OK(MPI_Info_set(other, "mpi_integer_size", "3"));
  CHECK_FAILS(MPI_Abi_set_fortran_info(other), MPI_ERR_ABI);
  int yes = 0, no = 1, is_set = 0;
  OK(MPI_Abi_get_fortran_booleans(static_cast<int>(sizeof yes), &yes, &no, &is_set));
  CHECK(is_set);
  OK(MPI_Abi_set_fortran_booleans(static_cast<int>(sizeof yes), &yes, &no));
  CHECK_FAILS(MPI_Abi_set_fortran_booleans(static_cast<int>(sizeof yes), &no, &yes), MPI_ERR_ABI);
  CHECK_FAILS(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG);
#endif
}

}  // namespace

CHAPTER(info, CASE(set_and_get), CASE(keys_keep_their_order), CASE(short_buffers),
        CASE(duplicates_are_independent), CASE(wrong_arguments), CASE(environment), CASE(fortran))

}  // namespace conformance
