/* What a process has for itself: each rank prints what it finds after the others have changed theirs. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;
static int rank, size, at_load, caught;
static int counter = 100;

__attribute__((constructor)) static void load(void) { at_load = 5; }
__attribute__((destructor)) static void unload(void) {
  printf("%d: destructor, counter %d\n", rank, counter);
}
static void last(void) { printf("%d: at exit, counter %d\n", rank, counter); }
static void on_signal(int number) { caught = number; }
static int* hidden(void) { static int value = 40; return &value; }
static void others(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void options(int argc, char** argv) {
  static const struct option names[] = {{"name", required_argument, 0, 'n'}, {0, 0, 0, 0}};
  int verbose = 0;
  const char* name = "-";
  for (int c; (c = getopt_long(argc, argv, "vn:", names, 0)) != -1;) {
    if (c == 'v') ++verbose;
    if (c == 'n') name = optarg;
  }
  others();
  printf("%d: options %d %s %s\n", rank, verbose, name, optind < argc ? argv[optind] : "-");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  atexit(last);
  options(argc, argv);

  counter += rank;
  *hidden() += rank;
  others();
  printf("%d: variables %d %d %d\n", rank, counter, *hidden(), at_load);

  errno = 10 + rank;
  others();
  printf("%d: errno %d\n", rank, errno);

  srand(rank + 1);
  const int first = rand();
  others();
  const int second = rand();
  srand(rank + 1);
  printf("%d: random %d\n", rank, first == rand() && second == rand());

  char text[] = "a b c d";
  text[0] += rank;
  const char* token = strtok(text, " ");
  others();
  printf("%d: tokens %s %s\n", rank, token, strtok(NULL, " "));

  char value[8];
  snprintf(value, sizeof value, "%d", rank);
  setenv("STATE_OF_RANK", value, 1);
  if (rank == 0) unsetenv("STATE_FOR_ALL");
  others();
  int variables = 0;
  for (char** each = environ; *each; ++each) variables += strncmp(*each, "STATE_", 6) == 0;
  printf("%d: environment %s %s %d\n", rank, getenv("STATE_OF_RANK"),
         getenv("STATE_FOR_ALL") ? "set" : "unset", variables);

  setlocale(LC_NUMERIC, rank == 0 ? "C.UTF-8" : "C");
  others();
  printf("%d: locale %s\n", rank, setlocale(LC_NUMERIC, NULL));

  if (chdir(value) == 0) {
    others();
    FILE* file = fopen("here", "r");
    char word[16] = "?";
    if (file && fscanf(file, "%15s", word) == 1) fclose(file);
    printf("%d: folder %s\n", rank, word);
  }

  signal(SIGUSR1, on_signal);
  if (rank == 1) raise(SIGUSR1);
  others();
  printf("%d: signal %d\n", rank, caught == (rank == 1 ? SIGUSR1 : 0));

  char line[16] = "none";
  if (!fgets(line, sizeof line, stdin)) strcpy(line, "end\n");
  printf("%d: input %s", rank, line);
  fprintf(stdout, "%d: stream\n", rank);
  fprintf(stderr, "%d: error stream\n", rank);
  if (write(STDOUT_FILENO, "raw\n", 4) != 4) return 1;
  char host[64];
  gethostname(host, sizeof host);
  printf("%d: host %s, process %d\n", rank, host, getpid() - 4000000);
  MPI_Finalize();
  return 0;
}
