/* The public headers have the numbers and layouts that other libraries' programs were compiled with. Most of
   it is checked when this file is compiled. */
#include <assert.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SAME(expression, value) static_assert((long)(expression) == (long)(value), #expression)
/* Handles that are pointers are no constant expressions. */
#define EXPECT(condition)                                          \
  do {                                                             \
    if (!(condition)) {                                            \
      printf("line %d: %s does not hold\n", __LINE__, #condition); \
      failures++;                                                  \
    }                                                              \
  } while (0)

static int failures;

#ifdef HAWSER_ABI_OF_MPICH
static_assert(sizeof(MPI_Status) == 20, "status");
static_assert(offsetof(MPI_Status, MPI_SOURCE) == 8 && offsetof(MPI_Status, MPI_ERROR) == 16, "status");
SAME(MPI_COMM_WORLD, 0x44000000);
SAME(MPI_INT, 0x4c000405);
SAME(MPI_SUM, 0x58000003);
SAME(MPI_REQUEST_NULL, 0x2c000000);
SAME(MPI_PROC_NULL, -1);
SAME(MPI_ANY_SOURCE, -2);
SAME(MPI_ROOT, -3);
SAME(MPI_ANY_TAG, -1);
SAME(MPI_THREAD_MULTIPLE, 3);

static void check_handles(void) {
  EXPECT(MPI_STATUS_IGNORE == (MPI_Status*)1);
  EXPECT(MPI_IN_PLACE == (void*)-1);
  EXPECT(MPI_UNWEIGHTED != NULL && MPI_WEIGHTS_EMPTY != NULL && MPI_UNWEIGHTED != MPI_WEIGHTS_EMPTY);
}
#else
static_assert(sizeof(MPI_Status) == 32 && _Alignof(MPI_Status) == 4, "status");
static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0 && offsetof(MPI_Status, MPI_ERROR) == 8, "status");
static_assert(sizeof(MPI_Comm) == sizeof(void*) && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8,
              "types");

static void check_constants(void) {
#define CONSTANT(name, value) EXPECT((intptr_t)(name) == (value));
#include "standard_constants.def"
#undef CONSTANT
}

/* These may stand where the language wants an integer constant expression. */
enum {
  as_constants = MPI_ERR_LASTCODE + MPI_UNDEFINED + MPI_MAX_PSET_NAME_LEN + MPI_BSEND_OVERHEAD +
                 MPI_COMBINER_VALUE_INDEX + MPI_SEEK_SET + MPI_UNIVERSE_SIZE + MPI_THREAD_MULTIPLE +
                 MPI_T_PVAR_CLASS_GENERIC + MPI_KEYVAL_INVALID + MPI_MODE_NOSUCCEED + MPI_F_STATUS_SIZE
};

static void check_handles(void) {
  check_constants();
  /* Bit 6 set: the size is in the handle. */
  const MPI_Datatype sized[] = {MPI_INT8_T, MPI_UINT16_T, MPI_INT32_T, MPI_INT64_T, MPI_BYTE, MPI_INTEGER2};
  for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
    int size = 0;
    MPI_Type_size(sized[i], &size);
    EXPECT(size == 1 << (((uintptr_t)sized[i] >> 3) & 7));
  }
}
#endif

/* A status survives being copied, and holds counts over 2^31. */
static void check_status(void) {
  MPI_Status status, copy;
  memset(&status, 0, sizeof status);
  const MPI_Count big = ((MPI_Count)5 << 32) + 7;
  EXPECT(MPI_Status_set_elements_c(&status, MPI_BYTE, big) == MPI_SUCCESS);
  EXPECT(MPI_Status_set_cancelled(&status, 1) == MPI_SUCCESS);
  EXPECT(MPI_Status_set_source(&status, 3) == MPI_SUCCESS && status.MPI_SOURCE == 3);
  EXPECT(MPI_Status_set_tag(&status, MPI_ANY_TAG) == MPI_SUCCESS && status.MPI_TAG == MPI_ANY_TAG);
  EXPECT(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE) == MPI_SUCCESS &&
         status.MPI_ERROR == MPI_ERR_TRUNCATE);
  copy = status;
  MPI_Count count = 0;
  int cancelled = 0, small = 0, rank = 0, tag = 0, error = 0;
  EXPECT(MPI_Get_count_c(&copy, MPI_BYTE, &count) == MPI_SUCCESS && count == big);
  EXPECT(MPI_Get_count(&copy, MPI_BYTE, &small) == MPI_SUCCESS && small == MPI_UNDEFINED);
  EXPECT(MPI_Test_cancelled(&copy, &cancelled) == MPI_SUCCESS && cancelled == 1);
  EXPECT(MPI_Status_get_source(&copy, &rank) == MPI_SUCCESS && rank == 3);
  EXPECT(MPI_Status_get_tag(&copy, &tag) == MPI_SUCCESS && tag == MPI_ANY_TAG);
  EXPECT(MPI_Status_get_error(&copy, &error) == MPI_SUCCESS && error == MPI_ERR_TRUNCATE);

  memset(&status, 0x55, sizeof status);
  EXPECT(MPI_Recv(&small, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  EXPECT(status.MPI_ERROR == 0x55555555); /* only MPI_ERR_IN_STATUS lets it be written */
}

static void check_enumerations(void) {
  int result = 0, provided = -1, *value = NULL, flag = 0;
  EXPECT(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result) == MPI_SUCCESS && result == MPI_IDENT);
  EXPECT(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
  EXPECT(MPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_SERIALIZED);
  EXPECT(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS);
  EXPECT(flag && *value >= 32767);
  MPI_Group world, self;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(MPI_COMM_SELF, &self);
  const int ranks[2] = {0, MPI_PROC_NULL};
  int translated[2] = {-9, -9};
  EXPECT(MPI_Group_translate_ranks(world, 2, ranks, self, translated) == MPI_SUCCESS);
  EXPECT(translated[0] == 0 && translated[1] == MPI_PROC_NULL);
  EXPECT(MPI_Group_free(&world) == MPI_SUCCESS && world == MPI_GROUP_NULL);
  EXPECT(MPI_Group_free(&self) == MPI_SUCCESS);

  MPI_Datatype array, got;
  const int sizes[2] = {4, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 1};
  EXPECT(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &array) ==
         MPI_SUCCESS);
  int integers = 0, addresses = 0, types = 0, combiner = 0, contents[8];
  MPI_Aint no_address;
  EXPECT(MPI_Type_get_envelope(array, &integers, &addresses, &types, &combiner) == MPI_SUCCESS);
  EXPECT(combiner == MPI_COMBINER_SUBARRAY && integers == 8);
  EXPECT(MPI_Type_get_contents(array, 8, 0, 1, contents, &no_address, &got) == MPI_SUCCESS);
  EXPECT(contents[7] == MPI_ORDER_FORTRAN && got == MPI_INT);
  EXPECT(MPI_Type_free(&array) == MPI_SUCCESS && array == MPI_DATATYPE_NULL);
}

int main(int argc, char** argv) {
  int provided = -1;
  EXPECT(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS);
  EXPECT(provided == MPI_THREAD_SERIALIZED);
  check_handles();
  check_status();
  check_enumerations();
  MPI_Finalize();
  return failures != 0;
}
