/* One-sided operations: the time of one with its flush, how many and how many bytes go in an epoch or while
   so many are always under way, and what the synchronizations cost. Rank 0 is the origin and rank 1 the
   target; synchronizations are of all ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum kind {
  put,
  get,
  add,
  fetch_and_add,
  compare_and_swap,
  put_rate,
  put_window,
  get_window,
  put_steadily,
  get_steadily,
  mix_steadily, /* a put, a get, and so on */
  fence,
  lock,
  post
};

static const struct {
  const char* name;
  enum kind kind;
  const char* column;
} benchmarks[] = {
    {"rma_put", put, "Latency (us)"},
    {"rma_get", get, "Latency (us)"},
    {"rma_accumulate", add, "Latency (us)"},
    {"rma_fetch_and_op", fetch_and_add, "Latency (us)"},
    {"rma_compare_and_swap", compare_and_swap, "Latency (us)"},
    {"rma_put_rate", put_rate, "Operations/s"},
    {"rma_put_bw", put_window, "Bandwidth (MB/s)"},
    {"rma_get_bw", get_window, "Bandwidth (MB/s)"},
    {"rma_rput_bw", put_steadily, "Bandwidth (MB/s)"},
    {"rma_rget_bw", get_steadily, "Bandwidth (MB/s)"},
    {"rma_mixed_bw", mix_steadily, "Bandwidth (MB/s)"},
    {"rma_fence", fence, "Time (us)"},
    {"rma_lock", lock, "Time (us)"},
    {"rma_pscw", post, "Time (us)"},
};
enum { benchmark_count = sizeof benchmarks / sizeof benchmarks[0] };

static int index_of(const char* name) {
  for (int i = 0; i < benchmark_count; ++i)
    if (strcmp(name, benchmarks[i].name) == 0) return i;
  return -1;
}

static int is_steady(enum kind kind) { return kind >= put_steadily && kind <= mix_steadily; }
static int is_bandwidth(enum kind kind) { return kind >= put_window && kind <= mix_steadily; }

int is_one_sided(const char* name) { return index_of(name) >= 0; }

struct epoch {
  struct bench* bench;
  MPI_Win win;
  MPI_Group before, after; /* the neighbours in a ring */
  size_t bytes;
  MPI_Request* under_way; /* as many as the window has places */
};

static void operate(struct epoch* epoch, enum kind kind) {
  struct bench* bench = epoch->bench;
  const int count = (int)epoch->bytes;
  switch (kind) {
    case get:
    case get_window:
      MPI_Get(bench->receive, count, MPI_CHAR, 1, 0, count, MPI_CHAR, epoch->win);
      break;
    case add:
      MPI_Accumulate(bench->send, count / 8, MPI_LONG, 1, 0, count / 8, MPI_LONG, MPI_SUM, epoch->win);
      break;
    case fetch_and_add:
      MPI_Fetch_and_op(bench->send, bench->receive, MPI_LONG, 1, 0, MPI_SUM, epoch->win);
      break;
    case compare_and_swap:
      MPI_Compare_and_swap(bench->send, bench->send + 8, bench->receive, MPI_LONG, 1, 0, epoch->win);
      break;
    default:
      MPI_Put(bench->send, count, MPI_CHAR, 1, 0, count, MPI_CHAR, epoch->win);
  }
}

/* Each operation takes the place of the oldest, when that is over. */
static void turn_of_steady_origin(struct epoch* epoch, enum kind kind) {
  struct bench* bench = epoch->bench;
  const int count = (int)epoch->bytes;
  for (int w = 0; w < bench->options.window; ++w) {
    MPI_Request* const place = &epoch->under_way[w];
    MPI_Wait(place, MPI_STATUS_IGNORE);
    if (kind == get_steadily || (kind == mix_steadily && w % 2 == 1))
      MPI_Rget(bench->receive, count, MPI_CHAR, 1, 0, count, MPI_CHAR, epoch->win, place);
    else
      MPI_Rput(bench->send, count, MPI_CHAR, 1, 0, count, MPI_CHAR, epoch->win, place);
  }
}

static void end_steadily(struct epoch* epoch) {
  MPI_Waitall(epoch->bench->options.window, epoch->under_way, MPI_STATUSES_IGNORE);
  MPI_Win_flush(1, epoch->win);
}

/* What rank 0 does again and again, within an epoch of MPI_Win_lock_all. */
static void turn_of_origin(struct epoch* epoch, enum kind kind) {
  if (is_steady(kind)) {
    turn_of_steady_origin(epoch, kind);
    return;
  }
  const int window = kind == put_rate || is_bandwidth(kind) ? epoch->bench->options.window : 1;
  for (int w = 0; w < window; ++w) operate(epoch, kind);
  MPI_Win_flush(1, epoch->win);
}

/* What all ranks do again and again. */
static void turn_of_all(struct epoch* epoch, enum kind kind) {
  const int next = (epoch->bench->rank + 1) % epoch->bench->size;
  switch (kind) {
    case fence:
      MPI_Win_fence(0, epoch->win);
      break;
    case lock:
      MPI_Win_lock(MPI_LOCK_SHARED, next, 0, epoch->win);
      MPI_Win_unlock(next, epoch->win);
      break;
    default:
      MPI_Win_post(epoch->before, 0, epoch->win);
      MPI_Win_start(epoch->after, 0, epoch->win);
      MPI_Win_complete(epoch->win);
      MPI_Win_wait(epoch->win);
  }
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The mean; with -f the median, which other users of the machine do not move. */
static double time_of_origin(struct epoch* epoch, enum kind kind) {
  const int iterations = iterations_for(&epoch->bench->options, epoch->bytes),
            warmup = warmup_for(&epoch->bench->options, epoch->bytes);
  double begin = 0, seconds = 0;
  double* const each = epoch->bench->options.full ? malloc((size_t)iterations * sizeof(double)) : NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (epoch->bench->rank == 0) {
    MPI_Win_lock_all(0, epoch->win);
    for (int i = -warmup; i < iterations; ++i) {
      if (i == 0 && is_steady(kind)) end_steadily(epoch);
      if (i == 0 || each != NULL) begin = MPI_Wtime();
      turn_of_origin(epoch, kind);
      if (i >= 0 && each != NULL) each[i] = MPI_Wtime() - begin;
    }
    if (is_steady(kind)) end_steadily(epoch);
    seconds = (MPI_Wtime() - begin) / iterations;
    if (each != NULL) {
      qsort(each, (size_t)iterations, sizeof *each, compare);
      seconds = each[iterations / 2];
    }
    MPI_Win_unlock_all(epoch->win);
  }
  free(each);
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds;
}

static double time_of_all(struct epoch* epoch, enum kind kind) {
  const int iterations = iterations_for(&epoch->bench->options, 0),
            warmup = warmup_for(&epoch->bench->options, 0);
  double begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (kind == fence) MPI_Win_fence(MPI_MODE_NOPRECEDE, epoch->win);
  for (int i = -warmup; i < iterations; ++i) {
    if (i == 0) begin = MPI_Wtime();
    turn_of_all(epoch, kind);
  }
  double seconds = (MPI_Wtime() - begin) / iterations, slowest = 0;
  if (kind == fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, epoch->win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void make_window(struct epoch* epoch, char** memory) {
  struct bench* bench = epoch->bench;
  const MPI_Aint bytes = (MPI_Aint)bench->options.max_bytes + 64;
  if (bench->options.user_memory) {
    if (posix_memalign((void**)memory, 4096, (size_t)bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win_create(*memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &epoch->win);
  } else {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, &epoch->win);
  }
  memset(*memory, 0, (size_t)bytes);
  MPI_Group world;
  const int next = (bench->rank + 1) % bench->size, last = (bench->rank + bench->size - 1) % bench->size;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &last, &epoch->before);
  MPI_Group_incl(world, 1, &next, &epoch->after);
  MPI_Group_free(&world);
}

static double figure_of(struct epoch* epoch, enum kind kind) {
  const double window = epoch->bench->options.window;
  if (kind >= fence) return time_of_all(epoch, kind) * 1e6;
  const double seconds = time_of_origin(epoch, kind);
  if (kind == put_rate) return window / seconds;
  if (is_bandwidth(kind)) return window * (double)epoch->bytes / seconds / 1e6;
  return seconds * 1e6;
}

int run_one_sided(struct bench* bench, const char* name) {
  const int which = index_of(name);
  const enum kind kind = benchmarks[which].kind;
  const struct options* options = &bench->options;
  if (bench->size < 2) {
    fprintf(stderr, "mpibench: this benchmark needs 2 processes or more\n");
    return 2;
  }
  struct epoch epoch = {.bench = bench, .under_way = malloc((size_t)options->window * sizeof(MPI_Request))};
  for (int w = 0; w < options->window; ++w) epoch.under_way[w] = MPI_REQUEST_NULL;
  char* memory = NULL;
  make_window(&epoch, &memory);
  if (bench->rank == 0) printf("# MPI %s Test\n%-10s%20s\n", name, "# Size", benchmarks[which].column);
  const int sized = kind < fetch_and_add || kind == put_rate || is_bandwidth(kind);
  size_t bytes = sized ? options->min_bytes : 8;
  do {
    epoch.bytes = bytes;
    const double figure = figure_of(&epoch, kind);
    if (bench->rank == 0) {
      printf("%-10zu%20.3f\n", bytes, figure);
      fflush(stdout);
    }
    bytes = sized ? size_after(options, bytes) : 0;
  } while (bytes != 0);
  MPI_Group_free(&epoch.before);
  MPI_Group_free(&epoch.after);
  MPI_Win_free(&epoch.win);
  free(epoch.under_way);
  if (options->user_memory) free(memory);
  return 0;
}
