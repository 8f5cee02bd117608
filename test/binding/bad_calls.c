/* Calls every MPI function with null pointers, and every one that takes a count and a datatype, or a number
   of bytes, with counts whose bytes no memory holds, each call alone: none may crash, and what cannot be
   meant must be refused. The calls are written from the tables of functions by generate_bad_calls.py. usage:
   bad_calls nulls|counts
   [--list] */
#include <limits.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Warray-bounds"

/* What a call must answer. */
enum Expectation {
  SURVIVED,      /* anything */
  REFUSED,       /* MPI_ERR_ARG, or success where null is allowed */
  REFUSED_COUNT, /* MPI_ERR_COUNT */
  REFUSED_ARG,   /* MPI_ERR_ARG */
  REFUSED_BOTH,  /* either */
  REFUSED_SIZE,  /* MPI_ERR_ARG, MPI_ERR_COUNT, MPI_ERR_SIZE or MPI_ERR_NO_MEM */
  NOBODY,        /* success, for nobody is there, or MPI_ERR_COUNT */
  FINISHED       /* success */
};

/* What becomes of the request that the call gave. */
enum Aftermath { KEEP, RELEASE, COMPLETE };

struct Call {
  const char* what;
  int (*call)(void);
  enum Expectation expect;
  enum Aftermath aftermath;
};

#define P31 ((MPI_Count)INT_MAX + 1)
#define P61_1 (((MPI_Count)1 << 61) - 1)
#define P61 ((MPI_Count)1 << 61)
#define P63_1 INT64_MAX

/* What good arguments point to. */
static struct {
  char memory[4096], other[4096];
  int zeros[16], ones[16], blocks[16], defaults[16], ranges[1][3];
  MPI_Count counts[16];
  MPI_Aint addresses[16];
  MPI_Datatype types[16];
  MPI_Request requests[16];
  MPI_Status status, statuses[16];
  MPI_Info infos[1];
  char* strings[1];
  char text[8192];
  int64_t place[64];
} given;

static MPI_Comm cartesian, graph, distributed;
static MPI_Group group;
static MPI_Info info;
static MPI_Session session;
static MPI_Datatype empty, vast;
static MPI_Op any_type;
static int keyval;
static MPI_Win window;
static MPI_T_cvar_handle control = MPI_T_CVAR_HANDLE_NULL;
static MPI_T_pvar_session variables;
static MPI_T_pvar_handle variable = MPI_T_PVAR_HANDLE_NULL;

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
}
static void add_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
}
static void on_error(MPI_Comm* object, int* code, ...) { (void)object, (void)code; }
static int query(void* state, MPI_Status* status) { return (void)state, (void)status, MPI_SUCCESS; }
static int release(void* state) { return (void)state, MPI_SUCCESS; }
static int cancel(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }
static MPI_Info info_copy(void) {
  MPI_Info copy;
  MPI_Info_dup(info, &copy);
  return copy;
}

/* Arrays of one value. */
static MPI_Count* all(MPI_Count value) {
  for (int i = 0; i < 16; ++i) given.counts[i] = value;
  return given.counts;
}
static int* all_ints(int value) {
  for (int i = 0; i < 16; ++i) given.ones[i] = value;
  return given.ones;
}
static MPI_Aint* all_addresses(MPI_Aint value) {
  for (int i = 0; i < 16; ++i) given.addresses[i] = value;
  return given.addresses;
}
static MPI_Datatype* all_types(MPI_Datatype value) {
  for (int i = 0; i < 16; ++i) given.types[i] = value;
  return given.types;
}

#include "bad_calls.inc"

static const char* current = "starting";
static sigjmp_buf back;
static void on_signal(int number) {
  if (number != SIGALRM) siglongjmp(back, number);
  static const char text[] = "hangs in: ";
  if (write(1, text, sizeof text - 1) < 0 || write(1, current, strlen(current)) < 0) _exit(3);
  _exit(2);
}

static void make_arguments(void) {
  memset(&given, 0, sizeof given);
  for (int i = 0; i < 16; ++i) {
    given.ones[i] = 1;
    given.counts[i] = 1;
    given.blocks[i] = MPI_DISTRIBUTE_BLOCK;
    given.defaults[i] = MPI_DISTRIBUTE_DFLT_DARG;
    given.types[i] = MPI_INT;
    given.requests[i] = MPI_REQUEST_NULL;
  }
  given.infos[0] = MPI_INFO_NULL;
  given.strings[0] = given.text;
}

static void make_objects(void) {
  const int one = 1, zero = 0;
  int n = 0;
  make_arguments();
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &cartesian);
  MPI_Graph_create(MPI_COMM_SELF, 1, &one, &zero, 0, &graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &distributed);
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_BYTE, &vast);
  MPI_Type_commit(&vast);
  MPI_Op_create(add, 1, &any_type);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Win_create(given.memory, sizeof given.memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, window);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &n);
  MPI_T_cvar_handle_alloc(0, NULL, &control, &n);
  MPI_T_pvar_session_create(&variables);
  MPI_T_pvar_handle_alloc(variables, 0, NULL, &variable, &n);
}

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static int meets(enum Expectation expect, int error_class) {
  switch (expect) {
    case SURVIVED:
      return 1;
    case REFUSED:
      return error_class == MPI_ERR_ARG || error_class == MPI_SUCCESS;
    case REFUSED_COUNT:
      return error_class == MPI_ERR_COUNT;
    case REFUSED_ARG:
      return error_class == MPI_ERR_ARG;
    case REFUSED_BOTH:
      return error_class == MPI_ERR_COUNT || error_class == MPI_ERR_ARG;
    case REFUSED_SIZE:
      return error_class == MPI_ERR_ARG || error_class == MPI_ERR_COUNT || error_class == MPI_ERR_SIZE ||
             error_class == MPI_ERR_NO_MEM || error_class == MPI_ERR_BUFFER;
    case NOBODY:
      return error_class == MPI_ERR_COUNT || error_class == MPI_SUCCESS;
    case FINISHED:
      return error_class == MPI_SUCCESS;
  }
  return 0;
}

/* Requests lie where `place` of the generator has them. */
static void end_request(enum Aftermath aftermath) {
  MPI_Request request;
  memcpy(&request, given.place, sizeof request);
  if (aftermath == RELEASE) MPI_Request_free(&request);
  if (aftermath == COMPLETE) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const int nulls = argc == 2 && strcmp(argv[1], "nulls") == 0;
  if (!nulls && (argc != 2 || strcmp(argv[1], "counts") != 0)) {
    fprintf(stderr, "usage: bad_calls nulls|counts\n");
    return 2;
  }
  const struct Call* calls = nulls ? null_calls : count_calls;
  const size_t count =
      nulls ? sizeof null_calls / sizeof *null_calls : sizeof count_calls / sizeof *count_calls;
  volatile int failures = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  make_objects();
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGFPE, &action, NULL);
  sigaction(SIGABRT, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  for (volatile size_t i = 0; i < count; ++i) {
    make_arguments();
    current = calls[i].what;
    alarm(30);
    const int number = sigsetjmp(back, 1);
    if (number != 0) {
      printf("%s: ends with signal %d (%s)\n", current, number, strsignal(number));
      ++failures;
      continue;
    }
    const int code = calls[i].call();
    const int error_class = class_of(code);
    if (!meets(calls[i].expect, error_class)) {
      char text[MPI_MAX_ERROR_STRING] = "";
      int length = 0;
      MPI_Error_string(code, text, &length);
      printf("%s: answers %d, %s\n", current, code, text);
      ++failures;
    }
    if (code == MPI_SUCCESS) end_request(calls[i].aftermath);
  }
  alarm(0);
  printf("%zu calls, %d wrong\n", count, failures);
  fflush(stdout);
  _exit(failures != 0 || count == 0);
}
