/* Functions of the program are called with this ABI's handles, and the predefined ones are known. */
#include <mpi.h>
#include <stdio.h>

static int failures;

#define EXPECT(condition)                                          \
  do {                                                             \
    if (!(condition)) {                                            \
      printf("line %d: %s does not hold\n", __LINE__, #condition); \
      failures++;                                                  \
    }                                                              \
  } while (0)

static int operations, large_operations;

static void subtract(void* in, void* inout, int* length, MPI_Datatype* type) {
  operations++;
  EXPECT(*type == MPI_INT);
  for (int i = 0; i < *length; i++) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

static void subtract_large(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  large_operations++;
  EXPECT(*type == MPI_INT && *length == 2);
  for (MPI_Count i = 0; i < *length; i++) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

static void check_operations(void) {
  MPI_Op op = MPI_OP_NULL;
  int in[2] = {10, 20}, inout[2] = {1, 2}, commutes = 1;
  EXPECT(MPI_Op_create(subtract, 0, &op) == MPI_SUCCESS);
  EXPECT(MPI_Op_commutative(op, &commutes) == MPI_SUCCESS && commutes == 0);
  EXPECT(MPI_Reduce_local(in, inout, 2, MPI_INT, op) == MPI_SUCCESS);
  EXPECT(operations == 1 && inout[0] == 9 && inout[1] == 18);
  EXPECT(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
  EXPECT(MPI_Op_create_c(subtract_large, 1, &op) == MPI_SUCCESS);
  EXPECT(MPI_Reduce_local(in, inout, 2, MPI_INT, op) == MPI_SUCCESS);
  EXPECT(large_operations == 1 && inout[0] == 1 && inout[1] == 2);
  EXPECT(MPI_Op_free(&op) == MPI_SUCCESS);
}

static int copies, deletions, the_state;

static int copy(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  int size = 0;
  copies++;
  EXPECT(MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == 1 && keyval != MPI_KEYVAL_INVALID);
  EXPECT(state == &the_state);
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int erase(MPI_Comm comm, int keyval, void* value, void* state) {
  int size = 0;
  deletions++;
  EXPECT(MPI_Comm_size(comm, &size) == MPI_SUCCESS && keyval != MPI_KEYVAL_INVALID);
  EXPECT(state == &the_state && value != NULL);
  return MPI_SUCCESS;
}

static void check_attributes(void) {
  int copied = 0, duplicated = 0, dropped = 0, flag = 0;
  char value[4];
  void* got = NULL;
  MPI_Comm comm, duplicate;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  EXPECT(MPI_Comm_create_keyval(copy, erase, &copied, &the_state) == MPI_SUCCESS);
  EXPECT(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &duplicated, NULL) == MPI_SUCCESS);
  EXPECT(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &dropped, NULL) == MPI_SUCCESS);
  EXPECT(MPI_Comm_set_attr(comm, copied, value) == MPI_SUCCESS);
  EXPECT(MPI_Comm_set_attr(comm, duplicated, value) == MPI_SUCCESS);
  EXPECT(MPI_Attr_put(comm, dropped, value) == MPI_SUCCESS);
  EXPECT(MPI_Comm_dup(comm, &duplicate) == MPI_SUCCESS && copies == 1);
  EXPECT(MPI_Comm_get_attr(duplicate, copied, &got, &flag) == MPI_SUCCESS && flag && got == value + 1);
  EXPECT(MPI_Comm_get_attr(duplicate, duplicated, &got, &flag) == MPI_SUCCESS && flag && got == value);
  EXPECT(MPI_Attr_get(duplicate, dropped, &got, &flag) == MPI_SUCCESS && !flag);
  EXPECT(MPI_Comm_free(&duplicate) == MPI_SUCCESS && deletions == 1);
  EXPECT(MPI_Comm_delete_attr(comm, copied) == MPI_SUCCESS && deletions == 2);
  EXPECT(MPI_Comm_free(&comm) == MPI_SUCCESS && deletions == 2);
  EXPECT(MPI_Comm_free_keyval(&copied) == MPI_SUCCESS && copied == MPI_KEYVAL_INVALID);
  EXPECT(MPI_Comm_free_keyval(&duplicated) == MPI_SUCCESS);
  EXPECT(MPI_Keyval_free(&dropped) == MPI_SUCCESS);
}

static int queries, frees, cancels;

static int query(void* state, MPI_Status* status) {
  queries++;
  EXPECT(state == &the_state);
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 7;
  status->MPI_TAG = 8;
  return MPI_SUCCESS;
}
static int give_up(void* state) {
  frees++;
  EXPECT(state == &the_state);
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  cancels++;
  EXPECT(state == &the_state && !complete);
  return MPI_SUCCESS;
}

static void check_generalized_requests(void) {
  MPI_Request request;
  MPI_Status status;
  int count = 0;
  EXPECT(MPI_Grequest_start(query, give_up, cancel, &the_state, &request) == MPI_SUCCESS);
  EXPECT(MPI_Cancel(&request) == MPI_SUCCESS && cancels == 1);
  EXPECT(MPI_Grequest_complete(request) == MPI_SUCCESS);
  EXPECT(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  EXPECT(queries == 1 && frees == 1 && status.MPI_SOURCE == 7 && status.MPI_TAG == 8);
  EXPECT(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 3);
}

/* A profiling library's way in: the program's MPI_Barrier takes the place of ours, which is still
 * PMPI_Barrier. */
static int barriers;
int MPI_Barrier(MPI_Comm comm) {
  barriers++;
  return PMPI_Barrier(comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_operations();
  check_attributes();
  check_generalized_requests();
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS && barriers == 1);
  MPI_Finalize();
  return failures != 0;
}
