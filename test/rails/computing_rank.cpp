// A job of two ranks of which rank 1 computes, without a call of MPI, until rank 0 has what it wants of it.
// Usage: computing_rank large|multiple|collective|unmap|idle|fork|tell
#include <dirent.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int bytes = 1 << 20, rounds = 20;

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "computing_rank: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// What rank 0 tells rank 1 by other ways than MPI: the ranks are processes of one machine.
std::string note_name() { return std::string(std::getenv("COMPUTING_RANK_NOTE")); }
void write_note() { std::ofstream(note_name()) << "done\n"; }

// Without a call of MPI. A minute is more than anything here takes.
void compute_until_note() {
  const double end = seconds() + 60;
  while (access(note_name().c_str(), F_OK) != 0) {
    if (seconds() > end) give_up("rank 0 waits for a rank that computes");
    usleep(1000);
  }
}

char byte_of(int round, int i) { return static_cast<char>(round * 31 + i % 251); }

// Rank 0 sends more than goes without the receiver's software.
void send_all(int rank) {
  std::vector<std::vector<char>> data(rounds, std::vector<char>(bytes));
  std::vector<MPI_Request> requests(rounds);
  if (rank == 1)
    for (int r = 0; r < rounds; ++r)
      MPI_Irecv(data[r].data(), bytes, MPI_CHAR, 0, r, MPI_COMM_WORLD, &requests[r]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int r = 0; r < rounds; ++r) {
      for (int i = 0; i < bytes; ++i) data[r][i] = byte_of(r, i);
      MPI_Send(data[r].data(), bytes, MPI_CHAR, 1, r, MPI_COMM_WORLD);
      std::printf("sent %d\n", r);
      std::fflush(stdout);
      if (r == 2 && std::getenv("COMPUTING_RANK_WAITS") != nullptr && std::getchar() == EOF)
        give_up("no input");
    }
    write_note();
    return;
  }
  compute_until_note();
  MPI_Waitall(rounds, requests.data(), MPI_STATUSES_IGNORE);
  for (int r = 0; r < rounds; ++r)
    for (int i = 0; i < bytes; ++i)
      if (data[r][i] != byte_of(r, i)) give_up("a wrong byte");
}

std::atomic<int> reductions_elsewhere{0};
pid_t main_thread;

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  if (gettid() != main_thread) ++reductions_elsewhere;
  for (int i = 0; i < *count; ++i) static_cast<double*>(inout)[i] += static_cast<double*>(in)[i];
}

// Of predefined operations both ends go on; a function of the program's is called by its own thread only.
void reduce(int rank) {
  constexpr int count = 1 << 18;
  std::vector<double> mine(count, rank + 1.0), sum(count), other(count);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Request requests[2];
  MPI_Iallreduce(mine.data(), other.data(), count, MPI_DOUBLE, op, MPI_COMM_WORLD, &requests[1]);
  MPI_Iallreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  if (rank == 0) {
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    write_note();
  } else {
    compute_until_note();
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i)
    if (sum[i] != 3 || other[i] != 3) give_up("a wrong sum");
  if (reductions_elsewhere != 0) give_up("the program's function ran on a thread of the library's");
  MPI_Op_free(&op);
}

// Times that the library's thread was woken; -1: there is none.
long wake_ups() {
  DIR* const tasks = opendir("/proc/self/task");
  long found = -1;
  while (const dirent* task = readdir(tasks)) {
    const std::string folder = std::string("/proc/self/task/") + task->d_name;
    std::string name, line;
    std::getline(std::ifstream(folder + "/comm"), name);
    if (name != "hawser-progress") continue;
    std::ifstream status(folder + "/status");
    while (std::getline(status, line))
      if (line.starts_with("voluntary_ctxt_switches:")) found = std::atol(line.substr(24).c_str());
  }
  closedir(tasks);
  return found;
}

void* map(std::size_t size) {
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) give_up("no memory");
  return mapped;
}

// While the library's thread registers a buffer, the program unmaps buffers that were registered before, and
// others beside them; the next buffer has the addresses of one that is gone.
void unmap(int rank) {
#ifdef HAWSER_SANITIZE_thread
  constexpr int times = 10;  // a hundred times as slow
#else
  constexpr int times = 60;
#endif
  std::vector<char> data(bytes);
  for (int r = 0; r < times; ++r) {
    const std::string note = note_name() + std::to_string(r);
    if (rank == 0) {
      for (int i = 0; i < bytes; ++i) data[static_cast<std::size_t>(i)] = byte_of(r, i);
      MPI_Send(data.data(), bytes, MPI_CHAR, 1, r, MPI_COMM_WORLD);
      std::ofstream(note) << "done\n";
      continue;
    }
    char* const buffer = static_cast<char*>(map(bytes));
    MPI_Request request;
    MPI_Irecv(buffer, bytes, MPI_CHAR, 0, r, MPI_COMM_WORLD, &request);
    const double end = seconds() + 60;
    for (unsigned turn = 1; access(note.c_str(), F_OK) != 0; ++turn) {
      const std::size_t size = (1 + turn % 64) * 4096;
      char* const other = static_cast<char*>(map(size));
      std::memset(other, static_cast<int>(turn), size);
      munmap(other, size);
      if (seconds() > end) give_up("rank 0 waits for a rank that computes");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i)
      if (buffer[i] != byte_of(r, i)) give_up("a wrong byte");
    munmap(buffer, bytes);
  }
}

// A program that does nothing is not woken. What was under way before comes to rest first.
void idle(int rank) {
  std::vector<char> data(bytes);
  if (rank == 0) MPI_Send(data.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(data.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = wake_ups(), after = before;
  for (int second = 0; second < 20; ++second) {
    sleep(1);
    before = after;
    after = wake_ups();
    if (after == before) break;
  }
  std::printf("rank %d: %ld wake-ups in the last second\n", rank, after - before);
  std::fflush(stdout);
  if (before < 0) give_up("there is no thread hawser-progress");
  if (after != before) give_up("an idle program is woken");
  MPI_Barrier(MPI_COMM_WORLD);
}

// The child has no such thread, and ends without waiting for one.
void fork_child(int rank) {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(i);
    int status = -1;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != i)
      give_up("the child");
    char byte = 0;
    MPI_Sendrecv_replace(&byte, 1, MPI_CHAR, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// Whether messages of this process move while it computes, as tools of MPI see it.
void tell_progress(int rank) {
  int provided, index, count;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  unsigned long long moves = 2;
  if (MPI_T_pvar_get_index("progress_while_computing", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS)
    give_up("there is no variable progress_while_computing");
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_read(session, handle, &moves);
  std::printf("rank %d: %s, %s thread\n", rank, moves == 1 ? "interrupt" : "polling",
              wake_ups() >= 0 ? "a" : "no");
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided, rank;
  main_thread = gettid();
  MPI_Init_thread(&argc, &argv, what == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (what == "large" || what == "multiple")
    send_all(rank);
  else if (what == "collective")
    reduce(rank);
  else if (what == "unmap")
    unmap(rank);
  else if (what == "idle")
    idle(rank);
  else if (what == "fork")
    fork_child(rank);
  else if (what == "tell")
    tell_progress(rank);
  else
    give_up("unknown argument");
  MPI_Finalize();
}
