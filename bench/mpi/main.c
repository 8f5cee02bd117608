/* mpibench: micro-benchmarks in plain MPI, with the option names and the output of the OSU suite, so that
   any MPI can be measured by the same source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char usage[] =
    "usage: mpibench BENCHMARK [options]\n"
    "  latency    ping-pong, half the round trip (2 processes)\n"
    "  bw, bibw   bandwidth one way, both ways (2 processes)\n"
    "  mbw_mr     bandwidth and message rate of pairs of processes\n"
    "  barrier bcast reduce allreduce gather gatherv scatter scatterv allgather allgatherv alltoall "
    "alltoallv\n"
    "  reduce_scatter reduce_scatter_block scan exscan reduce_in_place allreduce_in_place "
    "allgather_in_place\n"
    "  alltoall_in_place bcast_strided allgather_strided allreduce_minloc ibarrier ibcast iallreduce "
    "iallgather\n"
    "  ialltoall ireduce_scatter sendrecv sendrecv_replace sendrecv_self\n"
    "             a call of all processes; -s or -m: bytes of each\n"
    "  overlap_exchange overlap_one_way overlap_iallreduce overlap_ibcast overlap_ialltoall "
    "overlap_iallgather\n"
    "             how much of the communication hides behind computation\n"
    "  rma_put rma_get rma_accumulate rma_fetch_and_op rma_compare_and_swap\n"
    "             a one-sided operation from process 0 to process 1 with its flush\n"
    "  rma_put_rate rma_put_bw rma_get_bw\n"
    "             windows of operations, each with a flush\n"
    "  rma_rput_bw rma_rget_bw rma_mixed_bw\n"
    "             a window of operations always under way: puts, gets, or a put, a get and so on\n"
    "  rma_fence rma_lock rma_pscw\n"
    "             synchronizations without operations, with the next process in a ring\n"
    "  queue_probe queue_behind queue_in_order queue_reverse queue_any_unexpected queue_unexpected "
    "queue_unexpected_reverse queue_unexpected_long\n"
    "             8 bytes (long: 1 KiB) with -W posted receives or unexpected messages\n"
    "  layout_8_of_16 layout_24_of_48 layout_256_of_512 layout_indexed layout_struct\n"
    "             packing and sending 256 KiB that do not lie in one piece\n"
    "  threads_latency threads_probe threads_any threads_rate threads_self threads_allreduce\n"
    "             -p threads of MPI_THREAD_MULTIPLE, each with its communicator\n"
    "options:\n"
    "  -m [MIN:]MAX  message sizes in bytes, powers of two (default 1:4194304)\n"
    "  -s N[,N...]   these sizes instead, ascending\n"
    "  -T N          overlap: calls of MPI_Testall in the computation (0)\n"
    "  -t SECONDS    collectives: measure each size for about so long, in batches; prints the lower "
    "quartile\n"
    "                of their mean times of a call, and of a call with the barrier that follows\n"
    "  -i N          iterations per size          -x N  warm-up iterations per size\n"
    "  -W N          messages per window (64)     -p N  pairs (mbw_mr; default half the processes)\n"
    "  -V BYTES      bw, bibw: move about so much for each size, in windows of 128 MiB or 512 messages\n"
    "  -f            collectives: minimum, maximum and iterations too\n"
    "  -u            rma: windows over memory of the program instead of MPI_Win_allocate\n"
    "  -c            check the received bytes\n";

int iterations_for(const struct options* options, size_t bytes) {
  if (options->iterations > 0) return options->iterations;
  return bytes > 65536 ? 300 : bytes > 8192 ? 2000 : 10000;
}

int warmup_for(const struct options* options, size_t bytes) {
  if (options->warmup >= 0) return options->warmup;
  return bytes > 8192 ? 20 : 200;
}

size_t size_after(const struct options* options, size_t bytes) {
  if (options->sizes[0] == 0) return bytes * 2 > options->max_bytes ? 0 : bytes * 2;
  const size_t* next = options->sizes;
  while (*next != 0 && *next <= bytes) ++next;
  return *next;
}

void fill_pattern(char* bytes, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) bytes[i] = (char)(i * 31 + seed * 7 + (i >> 8));
}

size_t count_wrong(const char* bytes, size_t count, unsigned seed) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += bytes[i] != (char)(i * 31 + seed * 7 + (i >> 8));
  return wrong;
}

void require_right(struct bench* bench, size_t wrong, size_t bytes) {
  if (wrong == 0) return;
  fprintf(stderr, "mpibench: rank %d: %zu of %zu bytes are wrong\n", bench->rank, wrong, bytes);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

int need_two(struct bench* bench) {
  if (bench->size == 2) return 1;
  if (bench->rank == 0)
    fprintf(stderr, "mpibench: this benchmark needs exactly 2 processes, not %d\n", bench->size);
  return 0;
}

int find_name(const char* const* names, int count, const char* name) {
  int i = 0;
  while (i < count && strcmp(names[i], name) != 0) ++i;
  return i;
}

static size_t parse_bytes(const char* text, const char** end) {
  char* rest;
  size_t value = strtoull(text, &rest, 10);
  if (rest == text) value = (size_t)-1;
  *end = rest;
  return value;
}

/* 0 when the text is not [MIN:]MAX. */
static int parse_sizes(struct options* options, const char* text) {
  const char* end;
  size_t first = parse_bytes(text, &end);
  if (first == (size_t)-1) return 0;
  if (*end == '\0') {
    options->max_bytes = first;
    if (options->min_bytes > first) options->min_bytes = first;
    return 1;
  }
  if (*end != ':') return 0;
  options->min_bytes = first;
  options->max_bytes = parse_bytes(end + 1, &end);
  return *end == '\0' && options->max_bytes != (size_t)-1 && options->min_bytes <= options->max_bytes;
}

/* 0 when the text is not N[,N...] ascending. */
static int parse_list(struct options* options, const char* text) {
  size_t count = 0, before = 0;
  const char* end = text;
  do {
    const size_t bytes = parse_bytes(count == 0 ? text : end + 1, &end);
    if (bytes == (size_t)-1 || bytes <= before || count + 1 == most_sizes) return 0;
    options->sizes[count++] = before = bytes;
  } while (*end == ',');
  options->sizes[count] = 0;
  options->min_bytes = options->sizes[0];
  options->max_bytes = before;
  return *end == '\0';
}

static int parse_options(struct options* options, int argc, char** argv) {
  int option;
  while ((option = getopt(argc, argv, "m:s:t:T:i:x:W:V:p:fcu")) != -1) {
    int good = 1;
    switch (option) {
      case 'm':
        good = parse_sizes(options, optarg);
        break;
      case 's':
        good = parse_list(options, optarg);
        break;
      case 't':
        good = (options->seconds = atof(optarg)) > 0;
        break;
      case 'T':
        good = (options->tests = atoi(optarg)) >= 0;
        break;
      case 'i':
        good = (options->iterations = atoi(optarg)) > 0;
        break;
      case 'x':
        good = (options->warmup = atoi(optarg)) >= 0;
        break;
      case 'W':
        good = (options->window = atoi(optarg)) > 0;
        break;
      case 'V':
        good = (options->volume = strtoull(optarg, NULL, 10)) > 0;
        break;
      case 'p':
        good = (options->pairs = atoi(optarg)) > 0;
        break;
      case 'f':
        options->full = 1;
        break;
      case 'c':
        options->validate = 1;
        break;
      case 'u':
        options->user_memory = 1;
        break;
      default:
        return 0;
    }
    if (!good) {
      fprintf(stderr, "mpibench: -%c does not take '%s'\n", option, optarg);
      return 0;
    }
  }
  if (optind < argc) {
    fprintf(stderr, "mpibench: unexpected argument '%s'\n", argv[optind]);
    return 0;
  }
  return 1;
}

static int run(struct bench* bench, const char* name) {
  if (strcmp(name, "latency") == 0) return run_latency(bench);
  if (strcmp(name, "bw") == 0) return run_bandwidth(bench, 0);
  if (strcmp(name, "bibw") == 0) return run_bandwidth(bench, 1);
  if (strcmp(name, "mbw_mr") == 0) return run_message_rate(bench);
  if (is_overlap(name)) return run_overlap(bench, name);
  if (is_one_sided(name)) return run_one_sided(bench, name);
  if (is_queue(name)) return run_queue(bench, name);
  if (is_layout(name)) return run_layout(bench, name);
  if (is_threads(name)) return run_threads(bench, name);
  return run_collective(bench, name);
}

static int known(const char* name) {
  return strcmp(name, "latency") == 0 || strcmp(name, "bw") == 0 || strcmp(name, "bibw") == 0 ||
         strcmp(name, "mbw_mr") == 0 || is_collective(name) || is_overlap(name) || is_one_sided(name) ||
         is_queue(name) || is_layout(name) || is_threads(name);
}

int main(int argc, char** argv) {
  struct bench bench = {.options = {.min_bytes = 1, .max_bytes = 4 << 20, .warmup = -1, .window = 64}};
  int provided;
  MPI_Init_thread(&argc, &argv, argc > 1 && is_threads(argv[1]) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
  int status = 0;
  if (argc < 2 || !known(argv[1]) || !parse_options(&bench.options, argc - 1, argv + 1)) {
    if (bench.rank == 0) fputs(usage, stderr);
    status = 2;
  } else {
    /* Collectives may need a block for every process. */
    size_t blocks = is_collective(argv[1]) || is_overlap(argv[1]) ? (size_t)bench.size : 1;
    size_t bytes = (bench.options.max_bytes + 64) * blocks;
    if (posix_memalign((void**)&bench.send, 4096, bytes) != 0 ||
        posix_memalign((void**)&bench.receive, 4096, bytes) != 0) {
      fprintf(stderr, "mpibench: no memory for two buffers of %zu bytes\n", bytes);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(bench.send, 1, bytes);
    memset(bench.receive, 2, bytes);
    status = run(&bench, argv[1]);
    free(bench.send);
    free(bench.receive);
  }
  MPI_Finalize();
  return status;
}
