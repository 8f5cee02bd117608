// Integer sort, which communicates as NAS IS does: in each iteration all-reduce of the sizes of buckets,
// all-to-all of the numbers of keys, all-to-all of the keys. Each rank then owns a range of keys. Checked:
// every rank's keys are in its range, neighbours' ranges ascend, and the keys are those that were drawn
// (their number, sum, and the sum of a mixed function of them).
#include "kernel.h"

enum { buckets = 1024, iterations = 10 };

static const struct { int keys_log2, most_log2; } classes[] = {{16, 11}, {20, 16}, {23, 19}};

static int count, most, shift;  // own keys; they are below `most`; a bucket is a key's upper bits
static int *keys, *sorted, *received;
static int received_count;

// The sum of four numbers, so that middle keys are more frequent.
static int draw(int iteration, int64_t at) {
  const uint64_t seed = (uint64_t)at * 4 + (uint64_t)iteration * 0x100000000u;
  const double sum = fraction(seed) + fraction(seed + 1) + fraction(seed + 2) + fraction(seed + 3);
  return (int)(sum / 4 * most);
}

static void rank_keys(void) {
  int sizes[buckets] = {0}, all_sizes[buckets], at[buckets];
  for (int i = 0; i < count; ++i) ++sizes[keys[i] >> shift];
  for (int b = 0, sum = 0; b < buckets; ++b) {
    at[b] = sum;
    sum += sizes[b];
  }
  for (int i = 0; i < count; ++i) sorted[at[keys[i] >> shift]++] = keys[i];
  MPI_Allreduce(sizes, all_sizes, buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // Buckets go to ranks in order, so that each has about as many keys.
  int *send = room(size, sizeof(int)), *send_at = room(size, sizeof(int));
  int *receive = room(size, sizeof(int)), *receive_at = room(size, sizeof(int));
  const int64_t all = (int64_t)count * size;
  int64_t before = 0;
  for (int b = 0; b < buckets; ++b) {
    int64_t owner = before * size / all;
    send[owner < size ? owner : size - 1] += sizes[b];
    before += all_sizes[b];
  }
  MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 1; i < size; ++i) {
    send_at[i] = send_at[i - 1] + send[i - 1];
    receive_at[i] = receive_at[i - 1] + receive[i - 1];
  }
  received_count = receive_at[size - 1] + receive[size - 1];
  free(received);
  received = room(received_count, sizeof(int));
  MPI_Alltoallv(sorted, send, send_at, MPI_INT, received, receive, receive_at, MPI_INT, MPI_COMM_WORLD);
  free(send);
  free(send_at);
  free(receive);
  free(receive_at);
}

// Counts and sorts what has come. Returns whether all of it is in order, here and between neighbours.
static int order_is_right(void) {
  int* number = room(most, sizeof(int));
  for (int i = 0; i < received_count; ++i) ++number[received[i]];
  for (int key = 0, at = 0; key < most; ++key)
    for (int i = 0; i < number[key]; ++i) received[at++] = key;
  free(number);
  // The greatest key of all lower ranks, though some may have none.
  const int greatest = received_count > 0 ? received[received_count - 1] : -1;
  int below = -1;
  MPI_Exscan(&greatest, &below, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) below = -1;
  return received_count == 0 || below < received[0];
}

static int keys_are_those(const int* drawn) {
  uint64_t mine[6] = {0}, all[6];
  for (int i = 0; i < count; ++i) {
    mine[0] += 1;
    mine[1] += (uint64_t)drawn[i];
    mine[2] += mixed((uint64_t)drawn[i]);
  }
  for (int i = 0; i < received_count; ++i) {
    mine[3] += 1;
    mine[4] += (uint64_t)received[i];
    mine[5] += mixed((uint64_t)received[i]);
  }
  MPI_Allreduce(mine, all, 6, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all[0] == all[3] && all[1] == all[4] && all[2] == all[5];
}

int main(int argc, char** argv) {
  const int class = begin_kernel(argc, argv);
  if ((1 << classes[class].keys_log2) % size != 0) refuse("is: the number of ranks must be a power of two");
  count = (1 << classes[class].keys_log2) / size;
  most = 1 << classes[class].most_log2;
  shift = classes[class].most_log2 - 10;
  keys = room(count, sizeof(int));
  sorted = room(count, sizeof(int));
  for (int i = 0; i < count; ++i) keys[i] = draw(0, (int64_t)rank * count + i);
  rank_keys();  // as NAS does, once before the clock starts
  int right = 1;
  double time = 0;
  for (int iteration = 1; iteration <= iterations; ++iteration) {
    for (int i = 0; i < count; ++i) keys[i] = draw(iteration, (int64_t)rank * count + i);
    start_clock();
    rank_keys();
    time += stop_clock();
    if (spoil && iteration == iterations && received_count > 0) received[0] = (received[0] + 1) % most;
    right = order_is_right() && right;
    right = keys_are_those(keys) && right;
  }
  free(keys);
  free(sorted);
  free(received);
  return end_kernel("is", time, right);
}
