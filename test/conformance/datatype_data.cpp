// Data of datatypes: packing, external32, counts of elements, derived types in messages, local reductions.
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

void pack_in_steps(Conformance& t) {
  const int first[] = {1, 2, 3};
  const double second[] = {1.5, 2.5};
  char packed[100];
  int position = 0;
  OK(MPI_Pack(first, 3, MPI_INT, packed, sizeof(packed), &position, MPI_COMM_WORLD));
  OK(MPI_Pack(second, 2, MPI_DOUBLE, packed, sizeof(packed), &position, MPI_COMM_WORLD));
  const int end = position;
  int back_first[3] = {};
  double back_second[2] = {};
  position = 0;
  OK(MPI_Unpack(packed, end, &position, back_first, 3, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack(packed, end, &position, back_second, 2, MPI_DOUBLE, MPI_COMM_WORLD));
  CHECK_EQ(position, end);
  CHECK_EQ(std::memcmp(first, back_first, sizeof(first)), 0);
  CHECK_EQ(std::memcmp(second, back_second, sizeof(second)), 0);
  int size = 0;
  OK(MPI_Pack_size(3, MPI_INT, MPI_COMM_WORLD, &size));
  CHECK(size >= 12);
}

void pack_without_room(Conformance& t) {
  const int numbers[] = {1, 2, 3};
  char packed[12];
  int position = 0;
  CHECK(MPI_Pack(numbers, 3, MPI_INT, packed, 8, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK_EQ(position, 0);
}

void external32(Conformance& t) {
  const int numbers[] = {0x01020304, -1};
  unsigned char packed[16];
  MPI_Aint position = 0, size = 0;
  OK(MPI_Pack_external_size("external32", 2, MPI_INT, &size));
  CHECK_EQ(size, 8);
  OK(MPI_Pack_external("external32", numbers, 2, MPI_INT, packed, sizeof(packed), &position));
  CHECK_EQ(position, 8);
  const unsigned char expected[] = {1, 2, 3, 4, 255, 255, 255, 255};
  CHECK_EQ(std::memcmp(packed, expected, 8), 0);
  int back[2] = {};
  position = 0;
  OK(MPI_Unpack_external("external32", packed, 8, &position, back, 2, MPI_INT));
  CHECK_EQ(back[0], numbers[0]);
  CHECK_EQ(back[1], numbers[1]);
}

// Columns leave as columns and arrive as rows, in messages on both sides of every protocol's limit.
void columns_to_rows(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (const int rows : {1, 7, 100, 1000, 5000, 100000}) {
    const int columns = 3;
    const auto matrix = values(std::int64_t{rows} * columns, t.rank);
    std::vector<int> column(static_cast<std::size_t>(rows) + 1, -1);
    OwnedType type;
    OK(MPI_Type_vector(rows, 1, columns, MPI_INT, type.out()));
    OK(MPI_Type_commit(type.out()));
    OK(MPI_Sendrecv(matrix.data() + 1, 1, type, next, 3, column.data(), rows, MPI_INT, previous, 3,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const auto theirs = values(std::int64_t{rows} * columns, previous);
    for (int i = 0; i < rows; ++i)
      if (!CHECK_EQ(column[static_cast<std::size_t>(i)], theirs[static_cast<std::size_t>(i * columns + 1)]))
        break;
    CHECK_EQ(column.back(), -1);
    // And back into a column: what lies between stays.
    std::vector<int> spread(static_cast<std::size_t>(rows) * columns, -5);
    MPI_Status status;
    OK(MPI_Sendrecv(column.data(), rows, MPI_INT, previous, 4, spread.data(), 1, type, next, 4,
                    MPI_COMM_WORLD, &status));
    int count = -1;
    OK(MPI_Get_count(&status, type, &count));
    CHECK_EQ(count, 1);
    for (int i = 0; i < rows; ++i) {
      const auto at = static_cast<std::size_t>(i * columns);
      if (!CHECK_EQ(spread[at], matrix[at + 1]) || !CHECK_EQ(spread[at + 1], -5)) break;
    }
  }
}

// Noncontiguous on both sides, with different types of one signature.
void both_sides_derived(Conformance& t) {
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  for (const int pairs : {3, 400, 20000}) {
    OwnedType sparse, reversed;
    OK(MPI_Type_vector(pairs, 2, 5, MPI_SHORT, sparse.out()));
    OK(MPI_Type_create_hvector(2 * pairs, 1, -6, MPI_SHORT, reversed.out()));
    OK(MPI_Type_commit(sparse.out()));
    OK(MPI_Type_commit(reversed.out()));
    std::vector<short> from(static_cast<std::size_t>(pairs) * 5), to(static_cast<std::size_t>(pairs) * 6, -1);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<short>(value_at(static_cast<std::int64_t>(i), t.rank));
    OK(MPI_Sendrecv(from.data(), 1, sparse, next, 9, to.data() + to.size() - 3, 1, reversed, previous, 9,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * pairs; ++i) {
      const short wanted = static_cast<short>(value_at(i / 2 * 5 + i % 2, previous));
      if (!CHECK_EQ(to[to.size() - 3 - static_cast<std::size_t>(i) * 3], wanted)) break;
    }
    CHECK_EQ(to[to.size() - 2], -1);
  }
}

void partial_elements(Conformance& t) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  OwnedType pair;
  OK(MPI_Type_create_struct(2, lengths, places, types, pair.out()));
  OK(MPI_Type_commit(pair.out()));
  char packed[64] = {};
  char received[64];
  struct Case {
    int bytes, count, elements;
  };
  for (const Case& c : {Case{0, 0, 0}, Case{12, 1, 2}, Case{16, MPI_UNDEFINED, 3}, Case{24, 2, 4},
                        Case{4, MPI_UNDEFINED, 1}, Case{6, MPI_UNDEFINED, MPI_UNDEFINED}}) {
    MPI_Status status;
    OK(MPI_Sendrecv(packed, c.bytes, MPI_PACKED, 0, 2, received, 3, pair, 0, 2, MPI_COMM_SELF, &status));
    int count = -1, elements = -1;
    OK(MPI_Get_count(&status, pair, &count));
    OK(MPI_Get_elements(&status, pair, &elements));
    CHECK_EQ(count, c.count);
    CHECK_EQ(elements, c.elements);
  }
  MPI_Status made;
  std::memset(&made, 0, sizeof(made));
  OK(MPI_Status_set_elements(&made, pair, 5));
  int count = -1, elements = -1;
  OK(MPI_Get_elements(&made, pair, &elements));
  OK(MPI_Get_count(&made, pair, &count));
  CHECK_EQ(elements, 5);
  CHECK_EQ(count, MPI_UNDEFINED);
}

void absolute_addresses(Conformance& t) {
  int first = 11, second = 22;
  MPI_Aint places[2];
  OK(MPI_Get_address(&first, &places[0]));
  OK(MPI_Get_address(&second, &places[1]));
  const int lengths[] = {1, 1};
  OwnedType type;
  OK(MPI_Type_create_hindexed(2, lengths, places, MPI_INT, type.out()));
  OK(MPI_Type_commit(type.out()));
  int received[2] = {};
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 2, received, 2, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_EQ(received[0], 11);
  CHECK_EQ(received[1], 22);
  received[0] = 33;
  OK(MPI_Sendrecv(received, 2, MPI_INT, 0, 2, MPI_BOTTOM, 1, type, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_EQ(first, 33);
}

template <class T>
std::vector<T> reduced(Conformance& t, MPI_Op op, MPI_Datatype type, std::vector<T> in,
                       std::vector<T> inout) {
  CHECK_OK(MPI_Reduce_local(in.data(), inout.data(), static_cast<int>(in.size()), type, op));
  return inout;
}

void predefined_operations(Conformance& t) {
  using V = std::vector<int>;
  CHECK(reduced(t, MPI_SUM, MPI_INT, V{1, -5}, V{2, 7}) == (V{3, 2}));
  CHECK(reduced(t, MPI_PROD, MPI_INT, V{3, -5}, V{2, 7}) == (V{6, -35}));
  CHECK(reduced(t, MPI_MIN, MPI_INT, V{3, -5}, V{2, 7}) == (V{2, -5}));
  CHECK(reduced(t, MPI_MAX, MPI_INT, V{3, -5}, V{2, 7}) == (V{3, 7}));
  CHECK(reduced(t, MPI_BAND, MPI_INT, V{6}, V{3}) == V{2});
  CHECK(reduced(t, MPI_LXOR, MPI_INT, V{6, 0}, V{3, 5}) == (V{0, 1}));
  CHECK(reduced(t, MPI_BOR, MPI_BYTE, std::vector<char>{4}, std::vector<char>{3}) == std::vector<char>{7});
  CHECK(reduced(t, MPI_SUM, MPI_DOUBLE, std::vector{1.5}, std::vector{2.0}) == std::vector{3.5});
  struct Located {
    double value;
    int index;
  };
  const Located a[] = {{1, 9}, {3, 4}};
  Located b[] = {{1, 3}, {5, 1}};
  OK(MPI_Reduce_local(a, b, 2, MPI_DOUBLE_INT, MPI_MINLOC));
  CHECK_EQ(b[0].index, 3);
  CHECK_EQ(b[1].index, 4);
  double x = 1, y = 2;
  CHECK_FAILS(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP);
  int commutes = 0;
  OK(MPI_Op_commutative(MPI_SUM, &commutes));
  CHECK(commutes);
}

void first_minus_second(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *count; ++i) {
    int* result = reinterpret_cast<int*>(static_cast<char*>(inout) + i * extent);
    *result = *reinterpret_cast<const int*>(static_cast<const char*>(in) + i * extent) - *result;
  }
}

void user_operation(Conformance& t) {
  OwnedOp op;
  OK(MPI_Op_create(first_minus_second, 0, op.out()));
  int commutes = 1;
  OK(MPI_Op_commutative(op, &commutes));
  CHECK(!commutes);
  const int in[] = {10, 20};
  int inout[] = {1, 2};
  OK(MPI_Reduce_local(in, inout, 2, MPI_INT, op));
  CHECK_EQ(inout[0], 9);
  CHECK_EQ(inout[1], 18);
  OwnedType wide;
  OK(MPI_Type_create_resized(MPI_INT, 0, 8, wide.out()));
  OK(MPI_Type_commit(wide.out()));
  const int spaced[] = {100, 0, 200};
  int result[] = {1, 77, 2};
  OK(MPI_Reduce_local(spaced, result, 2, wide, op));
  CHECK_EQ(result[0], 99);
  CHECK_EQ(result[1], 77);
  CHECK_EQ(result[2], 198);
  MPI_Op predefined = MPI_SUM;
  CHECK_FAILS(MPI_Op_free(&predefined), MPI_ERR_OP);
}

#if MPI_VERSION >= 5
void any_value_and_index(Conformance& t) {
  MPI_Datatype named = MPI_DATATYPE_NULL, pair = MPI_DATATYPE_NULL, again = MPI_DATATYPE_NULL;
  OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &named));
  CHECK(named == MPI_DOUBLE_INT);
  OK(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &pair));
  OK(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &again));
  CHECK(pair != MPI_DATATYPE_NULL);
  CHECK(pair == again);
  struct Located {
    float value;
    std::int64_t index;
  };
  const Located in[] = {{1, std::int64_t{1} << 40}, {2, 5}};
  Located inout[] = {{3, 6}, {2, 7}};
  OK(MPI_Reduce_local(in, inout, 2, pair, MPI_MINLOC));
  CHECK_EQ(inout[0].value, 1);
  CHECK_EQ(inout[0].index, std::int64_t{1} << 40);
  CHECK_EQ(inout[1].index, 5);
  // An index is an integer (MPI-5.0 section 6.9.4).
  for (const MPI_Datatype none : {MPI_FLOAT, MPI_DOUBLE, MPI_C_BOOL, MPI_BYTE}) {
    MPI_Datatype nothing = MPI_INT;
    OK(MPI_Type_get_value_index(MPI_FLOAT, none, &nothing));
    CHECK(nothing == MPI_DATATYPE_NULL);
  }
}

void add_large(void* in, void* inout, MPI_Count* count, MPI_Datatype*) {
  for (MPI_Count i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}

void user_operation_of_large_counts(Conformance& t) {
  OwnedOp op;
  OK(MPI_Op_create_c(add_large, 1, op.out()));
  const int in[] = {10, 20};
  int inout[] = {1, 2};
  OK(MPI_Reduce_local_c(in, inout, 2, MPI_INT, op));
  CHECK_EQ(inout[0], 11);
  CHECK_EQ(inout[1], 22);
}
#else
void any_value_and_index(Conformance&) {}
void user_operation_of_large_counts(Conformance&) {}
#endif

}  // namespace

CHAPTER(datatype_data, CASE(pack_in_steps), CASE(pack_without_room), CASE(external32), CASE(columns_to_rows),
        CASE(both_sides_derived), CASE(partial_elements), CASE(absolute_addresses),
        CASE(predefined_operations), CASE(user_operation), CASE(any_value_and_index),
        CASE(user_operation_of_large_counts))

}  // namespace conformance
