/* Data that does not lie in one piece: MPI_Pack, MPI_Unpack and a ping-pong of a derived type, beside a loop
   over the same layout that is written by hand. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { bytes_of_data = 256 << 10, tag_data = 1 };

struct particle {
  double position[3];
  int kind;
  double velocity[3];
  char name[8];
};

/* Blocks of `block` bytes, `stride` apart. */
struct layout {
  const char* name;
  size_t block, stride;
};
static const struct layout layouts[] = {{"layout_8_of_16", 8, 16},
                                        {"layout_24_of_48", 24, 48},
                                        {"layout_256_of_512", 256, 512},
                                        {"layout_indexed", 0, 0},
                                        {"layout_struct", 0, 0}};
enum { layout_count = sizeof layouts / sizeof layouts[0], indexed = 3, structure = 4 };

static int which_layout(const char* name) {
  int i = 0;
  while (i < layout_count && strcmp(layouts[i].name, name) != 0) ++i;
  return i;
}

int is_layout(const char* name) { return which_layout(name) < layout_count; }

/* Blocks of 2 to 9 doubles with gaps of 1 to 5, drawn so that no branch predictor learns them. */
static int irregular(int* lengths, int* starts, int most) {
  int at = 0, count = 0;
  unsigned drawn = 1;
  for (size_t total = 0; total < bytes_of_data && count < most; ++count) {
    drawn = drawn * 1664525u + 1013904223u;
    lengths[count] = 2 + (int)(drawn >> 29);
    starts[count] = at;
    at += lengths[count] + 1 + (int)((drawn >> 16) % 5);
    total += (size_t)lengths[count] * sizeof(double);
  }
  return count;
}

enum { most_blocks = 1 << 15 };
static int lengths[most_blocks], starts[most_blocks], blocks;

static MPI_Datatype make_type(int which, int* count) {
  MPI_Datatype type, whole;
  *count = 1;
  if (which == structure) {
    int parts[4] = {3, 1, 3, 8};
    MPI_Aint places[4] = {offsetof(struct particle, position), offsetof(struct particle, kind),
                          offsetof(struct particle, velocity), offsetof(struct particle, name)};
    MPI_Datatype kinds[4] = {MPI_DOUBLE, MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(4, parts, places, kinds, &whole);
    MPI_Type_create_resized(whole, 0, sizeof(struct particle), &type);
    MPI_Type_free(&whole);
    *count = bytes_of_data / 60;
  } else if (which == indexed) {
    MPI_Type_indexed(blocks, lengths, starts, MPI_DOUBLE, &type);
  } else {
    const struct layout* layout = &layouts[which];
    MPI_Type_vector((int)(bytes_of_data / layout->block), (int)layout->block, (int)layout->stride, MPI_CHAR,
                    &type);
  }
  MPI_Type_commit(&type);
  return type;
}

#define PACK_BLOCKS(LENGTH, STRIDE) \
  for (size_t i = 0; i < bytes_of_data / (LENGTH); ++i) memcpy(to + i * (LENGTH), from + i * (STRIDE), LENGTH)
#define UNPACK_BLOCKS(LENGTH, STRIDE) \
  for (size_t i = 0; i < bytes_of_data / (LENGTH); ++i) memcpy(to + i * (STRIDE), from + i * (LENGTH), LENGTH)

__attribute__((noinline)) static void pack_by_hand(int which, char* to, const char* from) {
  switch (which) {
    case 0:
      PACK_BLOCKS(8, 16);
      break;
    case 1:
      PACK_BLOCKS(24, 48);
      break;
    case 2:
      PACK_BLOCKS(256, 512);
      break;
    case indexed:
      for (int i = 0; i < blocks; ++i) {
        const size_t bytes = (size_t)lengths[i] * sizeof(double);
        memcpy(to, from + (size_t)starts[i] * sizeof(double), bytes);
        to += bytes;
      }
      break;
    default:
      for (int i = 0; i < bytes_of_data / 60; ++i, to += 60, from += sizeof(struct particle)) {
        memcpy(to, from, 28);
        memcpy(to + 28, from + offsetof(struct particle, velocity), 32);
      }
  }
}

__attribute__((noinline)) static void unpack_by_hand(int which, char* to, const char* from) {
  switch (which) {
    case 0:
      UNPACK_BLOCKS(8, 16);
      break;
    case 1:
      UNPACK_BLOCKS(24, 48);
      break;
    case 2:
      UNPACK_BLOCKS(256, 512);
      break;
    case indexed:
      for (int i = 0; i < blocks; ++i) {
        const size_t bytes = (size_t)lengths[i] * sizeof(double);
        memcpy(to + (size_t)starts[i] * sizeof(double), from, bytes);
        from += bytes;
      }
      break;
    default:
      for (int i = 0; i < bytes_of_data / 60; ++i, from += 60, to += sizeof(struct particle)) {
        memcpy(to, from, 28);
        memcpy(to + offsetof(struct particle, velocity), from + 28, 32);
      }
  }
}

enum way { pack, unpack, hand_pack, hand_unpack, ways };

static void once(enum way way, int which, char* memory, char* packed, int room, int count,
                 MPI_Datatype type) {
  int position = 0;
  if (way == pack) MPI_Pack(memory, count, type, packed, room, &position, MPI_COMM_SELF);
  if (way == unpack) MPI_Unpack(packed, room, &position, memory, count, type, MPI_COMM_SELF);
  if (way == hand_pack) pack_by_hand(which, packed, memory);
  if (way == hand_unpack) unpack_by_hand(which, memory, packed);
}

/* us of one time, the fastest of many, so that others on the machine matter little. */
static double fastest(enum way way, int which, char* memory, char* packed, int room, int count,
                      MPI_Datatype type) {
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    const double begin = MPI_Wtime();
    for (int k = 0; k < 4; ++k) once(way, which, memory, packed, room, count, type);
    const double us = (MPI_Wtime() - begin) * 1e6 / 4;
    if (us < best) best = us;
  }
  return best;
}

static double ping_pong(struct bench* bench, char* memory, int count, MPI_Datatype type) {
  const int iterations = iterations_for(&bench->options, bytes_of_data), peer = 1 - bench->rank;
  double begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -20; i < iterations; ++i) {
    if (i == 0) begin = MPI_Wtime();
    if (bench->rank == 0) MPI_Send(memory, count, type, peer, tag_data, MPI_COMM_WORLD);
    MPI_Recv(memory, count, type, peer, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (bench->rank == 1) MPI_Send(memory, count, type, peer, tag_data, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) * 1e6 / (2.0 * iterations);
}

/* Columns: bytes; pack, unpack by MPI; by hand; a ping-pong's half round trip, in us. */
int run_layout(struct bench* bench, const char* name) {
  if (!need_two(bench)) return 2;
  const int which = which_layout(name);
  blocks = irregular(lengths, starts, most_blocks);
  int count, room, size;
  MPI_Datatype type = make_type(which, &count);
  MPI_Type_size(type, &size);
  room = size * count;
  char* memory = malloc(4 * bytes_of_data);
  char* packed = malloc((size_t)room + 64);
  memset(memory, 1, 4 * bytes_of_data);
  memset(packed, 2, (size_t)room + 64);
  double us[ways] = {0};
  if (bench->rank == 0)
    for (enum way way = pack; way < ways; ++way)
      us[way] = fastest(way, which, memory, packed, room, count, type);
  const double half = ping_pong(bench, memory, count, type);
  if (bench->rank == 0)
    printf("# MPI %s Test\n%-10s%12s%12s%12s%12s%12s\n%-10d%12.3f%12.3f%12.3f%12.3f%12.3f\n", name, "# Size",
           "Pack (us)", "Unpack", "By hand", "Unpack", "Latency", room, us[pack], us[unpack], us[hand_pack],
           us[hand_unpack], half);
  free(memory);
  free(packed);
  MPI_Type_free(&type);
  return 0;
}
