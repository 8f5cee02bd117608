/* What the benchmarks share: the options of the OSU suite, the buffers, and the table that is printed. */
#ifndef HAWSER_BENCH_H
#define HAWSER_BENCH_H

#include <mpi.h>
#include <stddef.h>

enum { most_sizes = 32 };

struct options {
  size_t min_bytes, max_bytes; /* -m [MIN:]MAX */
  size_t sizes[most_sizes];    /* -s: these sizes instead; ends with 0 */
  double seconds;              /* -t: measure each size for about so long, by batches (collectives) */
  int iterations;              /* -i: per size; 0 = by size */
  int warmup;                  /* -x; -1 = by size */
  int window;                  /* -W */
  size_t volume;               /* -V: bytes to move for each size, in windows by size (bw, bibw) */
  int tests;                   /* -T: calls of MPI_Testall in the computation (overlap) */
  int full;                    /* -f: minimum, maximum and iterations too (collectives); medians (rma) */
  int pairs;                   /* -p (mbw_mr) */
  int validate;                /* -c: check the received bytes */
  int user_memory;             /* -u: windows over memory of the program instead of MPI_Win_allocate (rma) */
};

struct bench {
  struct options options;
  int rank, size;
  char *send, *receive;
};

/* Iterations for one size, as the user asked or fewer for large messages. */
int iterations_for(const struct options* options, size_t bytes);
int warmup_for(const struct options* options, size_t bytes);

/* Fills with a pattern that depends on the seed; counts bytes that differ from it. */
void fill_pattern(char* bytes, size_t count, unsigned seed);
size_t count_wrong(const char* bytes, size_t count, unsigned seed);
/* Ends the job when bytes are wrong anywhere. */
void require_right(struct bench* bench, size_t wrong, size_t bytes);

/* A call of an operation that collective.c measures, with its arguments. */
struct call {
  const struct operation* what;
  int rank, size;
  char *send, *receive;
  int bytes, floats;              /* of each process */
  int *shares, *amounts, *places; /* of each process: its part of the floats; bytes, and where they lie */
  MPI_Datatype strided;           /* every second double within `bytes` */
  int strided_bytes;              /* its data */
};
struct operation {
  const char* name;
  void (*run)(const struct call* call);
  size_t least_bytes; /* 0: moves no data */
};
/* Or NULL. */
const struct operation* operation_named(const char* name);

int run_latency(struct bench* bench);
int run_bandwidth(struct bench* bench, int both_ways);
int run_message_rate(struct bench* bench);
int run_collective(struct bench* bench, const char* name);
int is_collective(const char* name);
int run_overlap(struct bench* bench, const char* name);
int is_overlap(const char* name);
int run_one_sided(struct bench* bench, const char* name);
int is_one_sided(const char* name);
int run_queue(struct bench* bench, const char* name);
int is_queue(const char* name);
int run_layout(struct bench* bench, const char* name);
int is_layout(const char* name);
int run_threads(struct bench* bench, const char* name);
int is_threads(const char* name);

/* Whether there are 2 processes; says so if not. */
int need_two(struct bench* bench);
/* Where the name stands among these; `count` if nowhere. */
int find_name(const char* const* names, int count, const char* name);

/* The size to measure after this one, or 0. */
size_t size_after(const struct options* options, size_t bytes);

#endif
