/* Ranks fork, and the children end in several ways; ranks run commands by system and popen. Messages are
 * under way meanwhile, or MPI is over. usage: forked init|session
 * The job must go on as if there were no children. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { large = 4 << 20 };

static int rank, size;
static MPI_Comm everyone;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The exit code of a child that runs `function`. */
static int child(void (*function)(void)) {
  int status = 0;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    function();
    exit(0);
  }
  waitpid(pid, &status, 0);
  check(WIFEXITED(status), "a child died");
  return WEXITSTATUS(status);
}

static void do_nothing(void) {}
static void send_something(void) { MPI_Send(NULL, 0, MPI_BYTE, (rank + 1) % size, 0, everyone); }
static void finalize(void) { MPI_Finalize(); }
static void end_the_job(void) { MPI_Abort(MPI_COMM_WORLD, 7); }
static void open_session(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
}

/* A child overwrites its copy of a buffer that the rank receives into, and of one that it sends. */
static char *incoming, *outgoing;
static void scribble(void) {
  memset(incoming, 'c', large);
  memset(outgoing, 'c', large);
}

static void make_child(void) { check(child(scribble) == 0, "a child that only writes to memory failed"); }

/* More than a pipe holds. */
static void run_commands(void) {
  enum { lines = 50000 };
  char line[64];
  int expected = 0;
  fflush(NULL);
  const int status = system("exit 3");
  check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "system ended otherwise");
  FILE* output = popen("seq 1 50000", "r");
  check(output != NULL, "popen failed");
  while (fgets(line, sizeof line, output) != NULL) check(atoi(line) == ++expected, "popen read other lines");
  check(pclose(output) == 0 && expected == lines, "popen ended otherwise");
  FILE* input = popen("read word && test $word = hello", "w");
  check(input != NULL && fputs("hello\n", input) >= 0 && pclose(input) == 0, "popen did not write");
}

/* Messages are under way meanwhile. */
static void exchange(void (*meanwhile)(void)) {
  MPI_Request requests[2];
  memset(incoming, 0, large);
  memset(outgoing, 'a' + rank, large);
  MPI_Irecv(incoming, large, MPI_BYTE, (rank + size - 1) % size, 1, everyone, &requests[0]);
  MPI_Isend(outgoing, large, MPI_BYTE, (rank + 1) % size, 1, everyone, &requests[1]);
  meanwhile();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const char expected = (char)('a' + (rank + size - 1) % size);
  for (int i = 0; i < large; ++i) check(incoming[i] == expected, "other data came");
}

int main(int argc, char** argv) {
  MPI_Session session;
  const int sessions = strcmp(argv[argc - 1], "session") == 0;
  if (sessions) {
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "forked", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &everyone);
    MPI_Group_free(&group);
  } else {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
  }
  MPI_Comm_rank(everyone, &rank);
  MPI_Comm_size(everyone, &size);
  incoming = malloc(large);
  outgoing = malloc(large);
  exchange(do_nothing);
  check(child(do_nothing) == 0, "a child that does nothing failed");
  exchange(make_child);
  exchange(run_commands);
  check(child(send_something) != 0, "a child sent a message");
  check(child(finalize) != 0, "a child called MPI_Finalize");
  check(child(open_session) != 0, "a child opened a session");
  check(child(end_the_job) == 7, "a child that called MPI_Abort ended otherwise");
  exchange(make_child);
  MPI_Barrier(everyone);
  MPI_Comm_free(&everyone);
  if (sessions) {
    MPI_Session_finalize(&session);
  } else {
    MPI_Finalize();
  }
  /* The rank itself leaves the job when it ends; its child must not. */
  if (child(do_nothing) != 0) return 4;
  run_commands();
  if (rank == 0) printf("all went on\n");
  return 0;
}
