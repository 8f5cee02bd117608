// Point-to-point with derived datatypes: what is sent by one layout is received by another.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

// Columns of a matrix to columns, to rows, and to contiguous memory, short and long.
void columns_of_a_matrix(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (int n : {3, 30, 300}) {
    OwnedType column, columns;
    OK(MPI_Type_vector(n, 1, n, MPI_DOUBLE, column.out()));
    OK(MPI_Type_create_resized(column, 0, sizeof(double), columns.out()));
    OK(MPI_Type_commit(columns.out()));
    const auto cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<double> out(cells), in(cells, -1), transposed(cells, -1);
    std::iota(out.begin(), out.end(), t.rank * 1e6);
    MPI_Request requests[2];
    OK(MPI_Irecv(in.data(), n, columns, previous, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(transposed.data(), n * n, MPI_DOUBLE, previous, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send(out.data(), n, columns, next, 1, MPI_COMM_WORLD));
    OK(MPI_Send(out.data(), n, columns, next, 2, MPI_COMM_WORLD));
    MPI_Status statuses[2];
    OK(MPI_Waitall(2, requests, statuses));
    int count = 0;
    OK(MPI_Get_count(&statuses[0], columns, &count));
    CHECK_EQ(count, n);
    OK(MPI_Get_elements(&statuses[0], columns, &count));
    CHECK_EQ(count, n * n);
    for (std::size_t i = 0; i < cells; ++i) {
      CHECK_EQ(in[i], previous * 1e6 + static_cast<double>(i));
      const auto row = i / static_cast<std::size_t>(n), at = i % static_cast<std::size_t>(n);
      CHECK_EQ(transposed[i], previous * 1e6 + static_cast<double>(at * static_cast<std::size_t>(n) + row));
    }
  }
}

void both_sides_strided_and_long(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int blocks : {10, 1000, 40'000}) {
    OwnedType out_type, in_type;
    OK(MPI_Type_vector(blocks, 3, 5, MPI_INT, out_type.out()));
    OK(MPI_Type_commit(out_type.out()));
    OK(MPI_Type_vector(blocks * 3, 1, 2, MPI_INT, in_type.out()));
    OK(MPI_Type_commit(in_type.out()));
    const auto out = values(blocks * 5, t.rank), expected = values(blocks * 5, peer);
    std::vector<int> in(static_cast<std::size_t>(blocks) * 6, -1);
    for (int mode = 0; mode < 3; ++mode) {
      std::fill(in.begin(), in.end(), -1);
      MPI_Request requests[2];
      OK(MPI_Irecv(in.data(), 1, in_type, peer, mode, MPI_COMM_WORLD, &requests[0]));
      OK((mode == 1 ? MPI_Issend : MPI_Isend)(out.data(), 1, out_type, peer, mode, MPI_COMM_WORLD,
                                              &requests[1]));
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      bool good = true;
      for (int i = 0; i < blocks * 3; ++i) {
        good = good &&
               in[static_cast<std::size_t>(i) * 2] == expected[static_cast<std::size_t>(i / 3 * 5 + i % 3)];
        good = good && in[static_cast<std::size_t>(i) * 2 + 1] == -1;
      }
      CHECK(good);
    }
  }
}

struct Particle {
  char kind;
  double position[3];
  int links[2];
  short unused;
};

void array_of_structures(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size, count = 700;
  OwnedType fields, particle;
  const int lengths[] = {1, 3, 2};
  const MPI_Aint places[] = {offsetof(Particle, kind), offsetof(Particle, position),
                             offsetof(Particle, links)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  OK(MPI_Type_create_struct(3, lengths, places, types, fields.out()));
  OK(MPI_Type_create_resized(fields, 0, sizeof(Particle), particle.out()));
  OK(MPI_Type_commit(particle.out()));
  std::vector<Particle> out(count), in(count);
  std::memset(in.data(), 0x5a, in.size() * sizeof(Particle));
  for (int i = 0; i < count; ++i) {
    auto& p = out[static_cast<std::size_t>(i)];
    p.kind = static_cast<char>('a' + (i + t.rank) % 26);
    for (int k = 0; k < 3; ++k) p.position[k] = i + k * 0.25 + t.rank;
    p.links[0] = i - 1, p.links[1] = t.rank;
  }
  MPI_Status status;
  OK(MPI_Sendrecv(out.data(), count, particle, next, 1, in.data(), count, particle, previous, 1,
                  MPI_COMM_WORLD, &status));
  int items = 0;
  OK(MPI_Get_elements(&status, particle, &items));
  CHECK_EQ(items, count * 6);
  for (int i = 0; i < count; ++i) {
    const auto& p = in[static_cast<std::size_t>(i)];
    CHECK_EQ(p.kind, static_cast<char>('a' + (i + previous) % 26));
    CHECK_EQ(p.position[2], i + 0.5 + previous);
    CHECK_EQ(p.links[1], previous);
    CHECK_EQ(p.unused, 0x5a5a);  // gaps are not touched
  }
}

void backwards(Conformance& t) {
  const int peer = 1 - t.rank, n = 5000;
  OwnedType reversed;
  OK(MPI_Type_vector(n, 1, -1, MPI_INT, reversed.out()));
  OK(MPI_Type_commit(reversed.out()));
  const auto out = values(n, t.rank);
  std::vector<int> in(n, -1), twice(n, -1);
  OK(MPI_Sendrecv(out.data(), n, MPI_INT, peer, 1, in.data() + n - 1, 1, reversed, peer, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  auto expected = values(n, peer);
  OK(MPI_Sendrecv(out.data() + n - 1, 1, reversed, peer, 2, twice.data() + n - 1, 1, reversed, peer, 2,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(twice == expected);
  std::reverse(expected.begin(), expected.end());
  CHECK(in == expected);
}

void absolute_addresses(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  int number = t.rank;
  double fraction = t.rank + 0.5;
  int number_in = -1;
  double fraction_in = -1;
  const int lengths[] = {1, 1};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint places[2];
  OwnedType out, in;
  OK(MPI_Get_address(&number, &places[0]));
  OK(MPI_Get_address(&fraction, &places[1]));
  OK(MPI_Type_create_struct(2, lengths, places, types, out.out()));
  OK(MPI_Type_commit(out.out()));
  OK(MPI_Get_address(&number_in, &places[0]));
  OK(MPI_Get_address(&fraction_in, &places[1]));
  OK(MPI_Type_create_struct(2, lengths, places, types, in.out()));
  OK(MPI_Type_commit(in.out()));
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, out, next, 1, MPI_BOTTOM, 1, in, previous, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_EQ(number_in, previous);
  CHECK_EQ(fraction_in, previous + 0.5);
}

// A message may end inside an element of the receiver's type.
void partial_elements(Conformance& t) {
  OwnedType pair;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  OK(MPI_Type_create_struct(2, lengths, places, types, pair.out()));
  OK(MPI_Type_commit(pair.out()));
  for (int extra = 0; extra < 2; ++extra) {
    unsigned char in[64];
    std::memset(in, 0xee, sizeof(in));
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(in, 4, pair, t.rank, 1, MPI_COMM_WORLD, &request));
    struct {
      int a = 1;
      int gap = 0;
      double b = 2;
      int c = 3;
    } out;
    OwnedType partial;
    const int out_lengths[] = {1, 1, extra};
    const MPI_Aint out_places[] = {0, 8, 16};
    const MPI_Datatype out_types[] = {MPI_INT, MPI_DOUBLE, MPI_INT};
    OK(MPI_Type_create_struct(3, out_lengths, out_places, out_types, partial.out()));
    OK(MPI_Type_commit(partial.out()));
    OK(MPI_Send(&out, 1, partial, t.rank, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    int count = 0;
    OK(MPI_Get_count(&status, pair, &count));
    CHECK_EQ(count, extra ? MPI_UNDEFINED : 1);
    OK(MPI_Get_elements(&status, pair, &count));
    CHECK_EQ(count, 2 + extra);
    int third = 0;
    std::memcpy(&third, in + 16, sizeof(third));
    CHECK_EQ(third, extra ? 3 : static_cast<int>(0xeeeeeeee));
  }
}

void packed_messages(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  char buffer[200];
  int position = 0, number = t.rank;
  double fractions[3] = {t.rank + 0.25, 1, 2};
  OK(MPI_Pack(&number, 1, MPI_INT, buffer, sizeof(buffer), &position, MPI_COMM_WORLD));
  OK(MPI_Pack(fractions, 3, MPI_DOUBLE, buffer, sizeof(buffer), &position, MPI_COMM_WORLD));
  char received[200];
  MPI_Status status;
  OK(MPI_Sendrecv(buffer, position, MPI_PACKED, next, 1, received, sizeof(received), MPI_PACKED, previous, 1,
                  MPI_COMM_WORLD, &status));
  int size = 0;
  OK(MPI_Get_count(&status, MPI_PACKED, &size));
  position = 0;
  OK(MPI_Unpack(received, size, &position, &number, 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack(received, size, &position, fractions, 3, MPI_DOUBLE, MPI_COMM_WORLD));
  CHECK_EQ(number, previous);
  CHECK_EQ(fractions[0], previous + 0.25);
  CHECK_EQ(position, size);
}

// The type may be freed as soon as the operation is started.
void type_freed_in_use(Conformance& t) {
  const int peer = 1 - t.rank;
  for (int n : {10, 50'000}) {
    const auto out = values(n * 2, t.rank), expected = values(n * 2, peer);
    std::vector<int> in(static_cast<std::size_t>(n) * 2, -1);
    MPI_Request requests[2];
    {
      OwnedType type;
      OK(MPI_Type_vector(n, 1, 2, MPI_INT, type.out()));
      OK(MPI_Type_commit(type.out()));
      OK(MPI_Irecv(in.data(), 1, type, peer, 1, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Isend(out.data(), 1, type, peer, 1, MPI_COMM_WORLD, &requests[1]));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    bool good = true;
    for (std::size_t i = 0; i < in.size(); ++i) good = good && in[i] == (i % 2 ? -1 : expected[i]);
    CHECK(good);
  }
}

void zero_sized_types(Conformance& t) {
  OwnedType nothing, holes;
  OK(MPI_Type_contiguous(0, MPI_INT, nothing.out()));
  OK(MPI_Type_commit(nothing.out()));
  const int lengths[] = {0, 0};
  const int places[] = {3, 9};
  OK(MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, holes.out()));
  OK(MPI_Type_commit(holes.out()));
  int value = 7;
  MPI_Status status;
  for (MPI_Datatype type : {static_cast<MPI_Datatype>(nothing), static_cast<MPI_Datatype>(holes)}) {
    OK(MPI_Sendrecv(&value, 1000, type, t.rank, 1, &value, 5, type, t.rank, 1, MPI_COMM_WORLD, &status));
    int count = -1;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 0);
    OK(MPI_Get_count(&status, type, &count));
    CHECK_EQ(count, 0);
  }
  CHECK_EQ(value, 7);
}

// More than 2^31 bytes in one message, by a type that keeps the count small; the buffer is mostly one page
// seen often.
void more_than_two_gigabytes(Conformance& t) {
  const std::int64_t block = std::int64_t{1} << 20, blocks = 2049;
  OwnedType chunk;
  OK(MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, chunk.out()));
  OK(MPI_Type_commit(chunk.out()));
  std::vector<unsigned char> data(static_cast<std::size_t>(block * blocks));
  if (t.rank == 0) {
    for (std::int64_t i = 0; i < blocks; ++i)
      data[static_cast<std::size_t>(i * block + i)] = static_cast<unsigned char>(i % 255 + 1);
    OK(MPI_Send(data.data(), static_cast<int>(blocks), chunk, 1, 1, MPI_COMM_WORLD));
  } else {
    MPI_Status status;
    OK(MPI_Recv(data.data(), static_cast<int>(blocks), chunk, 0, 1, MPI_COMM_WORLD, &status));
    int count = 0;
    OK(MPI_Get_count(&status, chunk, &count));
    CHECK_EQ(count, static_cast<int>(blocks));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    MPI_Count elements = 0;
    OK(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
    CHECK_EQ(elements, block * blocks);
    for (std::int64_t i = 0; i < blocks; ++i) {
      CHECK_EQ(static_cast<int>(data[static_cast<std::size_t>(i * block + i)]),
               static_cast<int>(i % 255 + 1));
    }
  }
}

}  // namespace

CHAPTER(pt2pt_types, CASE(columns_of_a_matrix, .slow = true),
        CASE(both_sides_strided_and_long, .min_ranks = 2, .max_ranks = 2), CASE(array_of_structures),
        CASE(backwards, .min_ranks = 2, .max_ranks = 2), CASE(absolute_addresses), CASE(partial_elements),
        CASE(packed_messages), CASE(type_freed_in_use, .min_ranks = 2, .max_ranks = 2),
        CASE(zero_sized_types),
        CASE(more_than_two_gigabytes, .min_ranks = 2, .max_ranks = 2, .memory = std::int64_t{2300} << 20))

}  // namespace conformance
