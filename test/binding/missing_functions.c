/* What becomes of a call of a function that is not implemented: without an argument, that error handlers hear
   of it as of any error; with the name of a function, calls it as programs do that look at no answer; with
   "ignore", calls some twice and goes on after their errors. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("not so: %s\n", what);
  failures++;
}

static int seen, seen_class;
static MPI_Comm seen_comm;
static void on_error(MPI_Comm* communicator, int* code, ...) {
  seen++;
  seen_comm = *communicator;
  MPI_Error_class(*code, &seen_class);
}

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static void check_handlers(void) {
  MPI_Comm listening;
  MPI_Errhandler handler;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &listening);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(listening, handler);
  /* A communicator among the arguments: its handler, although that of MPI_COMM_WORLD would end the job. */
  const int code = MPI_Comm_accept("port", MPI_INFO_NULL, 0, listening, &made);
  expect(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_accept answers that it is not supported");
  expect(seen == 1 && seen_comm == listening && seen_class == MPI_ERR_UNSUPPORTED_OPERATION,
         "the communicator's error handler hears of MPI_Comm_accept");
  expect(made == MPI_COMM_NULL, "nothing is written");
  MPI_Comm_connect("port", MPI_INFO_NULL, 0, listening, &made);
  expect(seen == 2, "and of MPI_Comm_connect");
  /* None: as for all errors without an object. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Close_port("port");
  expect(seen == 3 && seen_comm == MPI_COMM_SELF,
         "the error handler of MPI_COMM_SELF hears of MPI_Close_port");
  MPI_Open_port(MPI_INFO_NULL, (char[MPI_MAX_PORT_NAME]){""});
  expect(seen == 4, "the error handler of MPI_COMM_SELF hears of MPI_Open_port");
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Comm_spawn("program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &none, MPI_ERRCODES_IGNORE);
  expect(seen == 5 && seen_class == MPI_ERR_COMM, "a communicator that is none is the error");
  /* Files have a handler of their own, which returns. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_File file = MPI_FILE_NULL;
  expect(class_of(MPI_File_open(listening, "nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) ==
             MPI_ERR_UNSUPPORTED_OPERATION,
         "MPI_File_open returns");
  expect(class_of(MPI_File_delete("nowhere", MPI_INFO_NULL)) == MPI_ERR_UNSUPPORTED_OPERATION,
         "MPI_File_delete returns");
  expect(class_of(MPI_Register_datarep("mine", NULL, NULL, NULL, NULL)) == MPI_ERR_UNSUPPORTED_OPERATION,
         "MPI_Register_datarep returns");
  expect(seen == 5, "no communicator's error handler hears of files");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&listening);
}

static void call(const char* function) {
  MPI_Comm none = MPI_COMM_NULL;
  if (strcmp(function, "MPI_Comm_accept") == 0)
    MPI_Comm_accept("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none);
  else if (strcmp(function, "MPI_Close_port") == 0)
    MPI_Close_port("port");
  else if (strcmp(function, "MPI_Comm_spawn") == 0)
    MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none, MPI_ERRCODES_IGNORE);
  else if (strcmp(function, "MPI_Comm_join") == 0)
    MPI_Comm_join(0, &none);
}

static void ignore(void) {
  MPI_Comm none = MPI_COMM_NULL;
  MPI_File file = MPI_FILE_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none, MPI_ERRCODES_IGNORE);
    MPI_Comm_accept("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none);
    MPI_File_open(MPI_COMM_WORLD, "nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "ignore") == 0)
    ignore();
  else if (argc > 1)
    call(argv[1]);
  else
    check_handlers();
  MPI_Finalize();
  return failures != 0;
}
