/* Bad arguments end in the error handler with the right class, and name function, argument and value; nothing
   else happens. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

#define FAILS(call, expected)                                                                     \
  do {                                                                                            \
    const int code = (call);                                                                      \
    if (class_of(code) != (expected)) {                                                           \
      printf("line %d: %s gives class %d, not %s\n", __LINE__, #call, class_of(code), #expected); \
      failures++;                                                                                 \
    }                                                                                             \
  } while (0)

#ifdef HAWSER_ABI_OF_MPICH
#define GARBAGE(Handle, value) ((Handle)(value))
#else
#define GARBAGE(Handle, value) ((Handle)(MPI_Aint)(value))
#endif

static void check_handles(void) {
  int x = 0, size = 0;
  FAILS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
  const int garbage[] = {0,       1,       -1,         0x7fffffff,      0x44000007,
                         0x10001, 0x10011, 0x12345678, (int)0x84123456, (int)0x84000001};
  for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
    FAILS(MPI_Comm_size(GARBAGE(MPI_Comm, garbage[i]), &size), MPI_ERR_COMM);
    FAILS(MPI_Send(&x, 1, GARBAGE(MPI_Datatype, garbage[i]), 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    MPI_Request request = GARBAGE(MPI_Request, garbage[i]);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Group group = GARBAGE(MPI_Group, garbage[i]);
    FAILS(MPI_Group_size(group, &size), MPI_ERR_GROUP);
    FAILS(MPI_Op_commutative(GARBAGE(MPI_Op, garbage[i]), &size), MPI_ERR_OP);
  }
  /* A handle of one kind is none of another. */
  MPI_Comm duplicate, stale;
  MPI_Comm_dup(MPI_COMM_SELF, &duplicate);
  FAILS(MPI_Comm_size(duplicate, &size), MPI_SUCCESS);
  stale = duplicate;
  FAILS(MPI_Comm_free(&duplicate), MPI_SUCCESS);
  FAILS(MPI_Comm_size(stale, &size), MPI_ERR_COMM);
  FAILS(MPI_Comm_free(&duplicate), MPI_ERR_COMM);

  /* Each handle that was given out is given back once. */
  MPI_Group first, second;
  MPI_Comm_group(MPI_COMM_WORLD, &first);
  MPI_Comm_group(MPI_COMM_WORLD, &second);
  FAILS(MPI_Group_free(&first), MPI_SUCCESS);
  FAILS(MPI_Group_size(second, &size), MPI_SUCCESS);
  FAILS(MPI_Group_free(&second), MPI_SUCCESS);
}

static void check_messages(void) {
  int x = 0;
  MPI_Request request;
  FAILS(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  FAILS(MPI_Send_c(&x, -1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  FAILS(MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_SELF), MPI_ERR_RANK);
  FAILS(MPI_Send(&x, 1, MPI_INT, -9, 0, MPI_COMM_SELF), MPI_ERR_RANK);
  FAILS(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_SELF), MPI_ERR_RANK);
  FAILS(MPI_Send(&x, 1, MPI_INT, 0, -1, MPI_COMM_SELF), MPI_ERR_TAG);
  FAILS(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF), MPI_ERR_TAG);
  FAILS(MPI_Recv(&x, 1, MPI_INT, 0, -7, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TAG);
  FAILS(MPI_Recv(&x, 1, MPI_INT, MPI_ROOT, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  FAILS(MPI_Isend(NULL, 4, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_ERR_BUFFER);
  FAILS(MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL), MPI_ERR_ARG);
  FAILS(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_SUCCESS);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  FAILS(MPI_Send(&x, 0, pair, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
  FAILS(MPI_Type_commit(&pair), MPI_SUCCESS);
  FAILS(MPI_Send(&x, 0, pair, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_SUCCESS);
  FAILS(MPI_Type_free(&pair), MPI_SUCCESS);
  FAILS(MPI_Type_commit(&pair), MPI_ERR_TYPE);
}

static void check_collectives(void) {
  int x = 1, y = 0;
  FAILS(MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_SELF), MPI_ERR_ROOT);
  FAILS(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  FAILS(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_SELF), MPI_ERR_OP);
  /* What MPI_IN_PLACE makes insignificant may be nonsense. */
  FAILS(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, &y, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_SUCCESS);
  FAILS(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, &y, 1, MPI_INT, MPI_COMM_SELF), MPI_SUCCESS);
}

static MPI_Comm seen;
static int seen_code;
static void on_error(MPI_Comm* communicator, int* code, ...) {
  seen = *communicator;
  seen_code = *code;
}

static void check_handlers(void) {
  MPI_Errhandler handler;
  MPI_Comm duplicate;
  int x = 0;
  MPI_Comm_dup(MPI_COMM_SELF, &duplicate);
  FAILS(MPI_Comm_create_errhandler(on_error, &handler), MPI_SUCCESS);
  FAILS(MPI_Comm_set_errhandler(duplicate, handler), MPI_SUCCESS);
  FAILS(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  FAILS(MPI_Send(&x, 1, MPI_INT, 5, 0, duplicate), MPI_ERR_RANK);
  FAILS(seen_code, MPI_ERR_RANK);
  if (seen != duplicate || handler != MPI_ERRHANDLER_NULL) {
    printf("the error handler did not get its communicator\n");
    failures++;
  }
  FAILS(MPI_Comm_free(&duplicate), MPI_SUCCESS);
}

int main(int argc, char** argv) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_handles();
  check_messages();
  check_collectives();
  check_handlers();
  FAILS(MPI_Error_string(MPI_ERR_RANK, text, &length), MPI_SUCCESS);
  if (length != (int)strlen(text) || length == 0) {
    printf("MPI_Error_string gives '%s' and length %d\n", text, length);
    failures++;
  }
  MPI_Finalize();
  return failures != 0;
}
