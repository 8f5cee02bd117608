// An MPI program of any library: every kind of exchange, with its data checked. The lengths stand on both
// sides of where libraries change from eager to rendezvous. It runs its rounds once, or until --seconds have
// passed (rank 0 says when), and prints "right" with what it did; a wrong value is named, and the job
// aborted.
//
//   mpi_exchange [--seconds S] [--most BYTES] [ring|allreduce|alltoall|put|get|accumulate|lock ...]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long most = 1 << 20;  // bytes of the longest message
static const char* doing = "";

static void* allocate(size_t bytes) {
  void* const memory = malloc(bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

static void expect(long got, long wanted, long place) {
  if (got == wanted) return;
  fprintf(stderr, "rank %d: %s: item %ld is %ld instead of %ld\n", rank, doing, place, got, wanted);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// What `from` sends to `to` in this round, byte by byte; a prime period, so that a shifted block shows.
static unsigned char pattern(int from, int to, int round, long place) {
  return (unsigned char)((from * 31 + to * 17 + round * 7 + place) % 251);
}

static void fill(unsigned char* bytes, long count, int from, int to, int round) {
  for (long i = 0; i < count; ++i) bytes[i] = pattern(from, to, round, i);
}

static void check(const unsigned char* bytes, long count, int from, int to, int round) {
  for (long i = 0; i < count; ++i)
    if (bytes[i] != pattern(from, to, round, i)) expect(bytes[i], pattern(from, to, round, i), i);
}

static void ring(int round) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  unsigned char* const out = allocate((size_t)most);
  unsigned char* const in = allocate((size_t)most);
  for (long count = 1; count <= most; count *= 8) {
    fill(out, count, rank, next, round);
    memset(in, 0xee, (size_t)count);
    MPI_Status status;
    int got = 0;
    MPI_Sendrecv(out, (int)count, MPI_BYTE, next, round, in, (int)count, MPI_BYTE, before, round,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    expect(got, count, -1);
    check(in, count, before, rank, round);
  }
  free(in);
  free(out);
}

// Many at once in both directions, to every other rank, received in the opposite order of tags.
static void flood(int round) {
  enum { depth = 16 };
  const long count = most < 4096 ? most : 4096;
  const int all = size * depth;
  unsigned char* const out = allocate((size_t)(all * count));
  unsigned char* const in = allocate((size_t)(all * count));
  MPI_Request* const requests = allocate(sizeof(MPI_Request) * 2 * (size_t)all);
  int used = 0;
  for (int peer = 0; peer < size; ++peer)
    for (int i = depth - 1; i >= 0; --i)
      MPI_Irecv(in + (peer * depth + i) * count, (int)count, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                &requests[used++]);
  for (int step = 0; step < size; ++step) {
    const int peer = (rank + step) % size;
    for (int i = 0; i < depth; ++i) {
      fill(out + (peer * depth + i) * count, count, rank, peer, round + i);
      MPI_Isend(out + (peer * depth + i) * count, (int)count, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                &requests[used++]);
    }
  }
  MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer)
    for (int i = 0; i < depth; ++i) check(in + (peer * depth + i) * count, count, peer, rank, round + i);
  free(requests);
  free(in);
  free(out);
}

static void allreduce(int round) {
  const int items = (int)(most / 8);
  long* const mine = allocate(sizeof(long) * (size_t)items);
  long* const sum = allocate(sizeof(long) * (size_t)items);
  for (int count = 1; count <= items; count *= 16) {
    for (int i = 0; i < count; ++i) mine[i] = rank + i + round;
    MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) expect(sum[i], (long)size * (size - 1) / 2 + (long)size * (i + round), i);
  }
  free(sum);
  free(mine);
}

static void alltoall(int round) {
  const long longest = most / size < 65536 ? most / size : 65536;
  unsigned char* const out = allocate((size_t)(longest * size));
  unsigned char* const in = allocate((size_t)(longest * size));
  for (long count = 1; count <= longest; count *= 8) {
    for (int peer = 0; peer < size; ++peer) fill(out + peer * count, count, rank, peer, round);
    memset(in, 0xee, (size_t)(count * size));
    MPI_Alltoall(out, (int)count, MPI_BYTE, in, (int)count, MPI_BYTE, MPI_COMM_WORLD);
    for (int peer = 0; peer < size; ++peer) check(in + peer * count, count, peer, rank, round);
  }
  free(in);
  free(out);
}

// A window of one long per rank and item: what each rank has written of each other's is known to all.
enum { window_items = 2048 };
typedef struct {
  long* memory;  // size * window_items
  MPI_Win handle;
} Window;

static Window make_window(void) {
  Window window;
  const MPI_Aint bytes = (MPI_Aint)(sizeof(long) * window_items) * size;
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory, &window.handle);
  memset(window.memory, 0, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return window;
}

static long value(int from, int to, int round, long place) {
  return (from * 1000L + to) * 100000L + round * 7L + place;
}

static void put(int round) {
  Window window = make_window();
  long* const out = allocate(sizeof(long) * (size_t)(size * window_items));
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window.handle);
  for (int step = 0; step < size; ++step) {
    const int peer = (rank + step) % size;
    long* const mine = out + (long)peer * window_items;
    for (int i = 0; i < window_items; ++i) mine[i] = value(rank, peer, round, i);
    MPI_Put(mine, window_items, MPI_LONG, peer, (MPI_Aint)rank * window_items, window_items, MPI_LONG,
            window.handle);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle);
  for (int peer = 0; peer < size; ++peer)
    for (int i = 0; i < window_items; ++i)
      expect(window.memory[(long)peer * window_items + i], value(peer, rank, round, i), i);
  free(out);
  MPI_Win_free(&window.handle);
}

static void get(int round) {
  Window window = make_window();
  long* const in = allocate(sizeof(long) * (size_t)(size * window_items));
  for (int peer = 0; peer < size; ++peer)
    for (int i = 0; i < window_items; ++i)
      window.memory[(long)peer * window_items + i] = value(rank, peer, round, i);
  MPI_Win_fence(0, window.handle);
  for (int step = 0; step < size; ++step) {
    const int peer = (rank + step) % size;
    MPI_Get(in + (long)peer * window_items, window_items, MPI_LONG, peer, (MPI_Aint)rank * window_items,
            window_items, MPI_LONG, window.handle);
  }
  MPI_Win_fence(0, window.handle);
  for (int peer = 0; peer < size; ++peer)
    for (int i = 0; i < window_items; ++i)
      expect(in[(long)peer * window_items + i], value(peer, rank, round, i), i);
  free(in);
  MPI_Win_free(&window.handle);
}

// Everybody adds to the same items of everybody.
static void accumulate(int round) {
  Window window = make_window();
  long out[64];
  for (int i = 0; i < 64; ++i) out[i] = rank + i + round;
  MPI_Win_fence(0, window.handle);
  for (int step = 0; step < size; ++step)
    MPI_Accumulate(out, 64, MPI_LONG, (rank + step) % size, 0, 64, MPI_LONG, MPI_SUM, window.handle);
  MPI_Win_fence(0, window.handle);
  for (int i = 0; i < 64; ++i)
    expect(window.memory[i], (long)size * (size - 1) / 2 + (long)size * (i + round), i);
  MPI_Win_free(&window.handle);
}

// A counter at each rank that all advance under an exclusive lock, and by atomic operations under a shared
// one.
static void lock(int round) {
  enum { turns = 4 };
  Window window = make_window();
  for (int turn = 0; turn < turns; ++turn) {
    for (int step = 0; step < size; ++step) {
      const int peer = (rank + step) % size;
      long count = -1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window.handle);
      MPI_Get(&count, 1, MPI_LONG, peer, 0, 1, MPI_LONG, window.handle);
      MPI_Win_flush(peer, window.handle);
      count += 1 + round;
      MPI_Put(&count, 1, MPI_LONG, peer, 0, 1, MPI_LONG, window.handle);
      MPI_Win_unlock(peer, window.handle);

      const long one = 1;
      long before = -1;
      MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window.handle);
      MPI_Fetch_and_op(&one, &before, MPI_LONG, peer, 1, MPI_SUM, window.handle);
      MPI_Win_unlock(peer, window.handle);
      if (before < 0 || before >= (long)turns * size) expect(before, -1, 1);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.handle);
  expect(window.memory[0], (long)turns * size * (1 + round), 0);
  expect(window.memory[1], (long)turns * size, 1);
  MPI_Win_unlock(rank, window.handle);
  MPI_Win_free(&window.handle);
}

static const struct {
  const char* name;
  void (*run)(int round);
} chapters[] = {{"ring", ring}, {"flood", flood}, {"allreduce", allreduce},   {"alltoall", alltoall},
                {"put", put},   {"get", get},     {"accumulate", accumulate}, {"lock", lock}};
enum { chapter_count = sizeof chapters / sizeof chapters[0] };

static int wanted(int count, char** words, const char* name) {
  int any = 0;
  for (int i = 1; i < count; ++i) {
    if (strncmp(words[i], "--", 2) == 0) {
      ++i;
      continue;
    }
    any = 1;
    if (strcmp(words[i], name) == 0) return 1;
  }
  return !any;
}

/* Whether each word is a chapter's name, or an option and its value; or it would choose nothing. */
static int known(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    int found = strcmp(words[i], "--seconds") == 0 || strcmp(words[i], "--most") == 0;
    i += found;
    for (int c = 0; c < chapter_count; ++c) found = found || strcmp(words[i], chapters[c].name) == 0;
    if (found && i < count) continue;
    fprintf(stderr, "mpi_exchange: no chapter '%s'; there are", words[i < count ? i : i - 1]);
    for (int c = 0; c < chapter_count; ++c) fprintf(stderr, " %s", chapters[c].name);
    fprintf(stderr, "\n");
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (!known(argc, argv)) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double seconds = 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--most") == 0) most = atol(argv[i + 1]);
  }
  const double end = MPI_Wtime() + seconds;
  int rounds = 0, again = 1;
  while (again) {
    for (int i = 0; i < chapter_count; ++i) {
      if (!wanted(argc, argv, chapters[i].name)) continue;
      doing = chapters[i].name;
      chapters[i].run(rounds);
    }
    ++rounds;
    again = MPI_Wtime() < end;
    MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && seconds > 0 && rounds == 1) {
      printf("running\n");
      fflush(stdout);
    }
  }
  if (rank == 0) printf("right: %d ranks, %d rounds\n", size, rounds);
  MPI_Finalize();
  return 0;
}
