// Datatypes as objects: constructors, bounds, envelope and contents, commit, names, duplicates, freeing.
#include <algorithm>
#include <cstring>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

struct Extents {
  int size;
  MPI_Aint lower, extent, true_lower, true_extent;
  bool operator==(const Extents&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Extents& e) {
  return out << "size " << e.size << " lb " << e.lower << " extent " << e.extent << " true lb "
             << e.true_lower << " true extent " << e.true_extent;
}
Extents extents_of(Conformance& t, MPI_Datatype type) {
  Extents result{};
  CHECK_OK(MPI_Type_size(type, &result.size));
  CHECK_OK(MPI_Type_get_extent(type, &result.lower, &result.extent));
  CHECK_OK(MPI_Type_get_true_extent(type, &result.true_lower, &result.true_extent));
  return result;
}

// The ints that one element of a committed type of ints picks from 0, 1, 2, ...
std::vector<int> picked(Conformance& t, MPI_Datatype type, int origin = 0, int count = 1) {
  std::vector<int> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  int size = 0;
  OK(MPI_Pack_size(count, type, MPI_COMM_SELF, &size));
  std::vector<char> packed(static_cast<std::size_t>(size) + 1);
  int position = 0;
  OK(MPI_Pack(from.data() + origin, count, type, packed.data(), size, &position, MPI_COMM_SELF));
  int type_size = 0;
  OK(MPI_Type_size(type, &type_size));
  std::vector<int> result(static_cast<std::size_t>(type_size * count) / sizeof(int));
  int position2 = 0;
  OK(MPI_Unpack(packed.data(), position, &position2, result.data(), static_cast<int>(result.size()), MPI_INT,
                MPI_COMM_SELF));
  CHECK_EQ(position, position2);
  return result;
}

void predefined_extents(Conformance& t) {
  CHECK_EQ(extents_of(t, MPI_INT), (Extents{4, 0, 4, 0, 4}));
  CHECK_EQ(extents_of(t, MPI_CHAR), (Extents{1, 0, 1, 0, 1}));
  CHECK_EQ(extents_of(t, MPI_DOUBLE), (Extents{8, 0, 8, 0, 8}));
  CHECK_EQ(extents_of(t, MPI_LONG_DOUBLE), (Extents{16, 0, 16, 0, 16}));
  CHECK_EQ(extents_of(t, MPI_2INT), (Extents{8, 0, 8, 0, 8}));
  CHECK_EQ(extents_of(t, MPI_DOUBLE_INT).size, 12);
  CHECK_EQ(extents_of(t, MPI_DOUBLE_INT).extent, 16);
  CHECK_EQ(extents_of(t, MPI_SHORT_INT).size, 6);
  CHECK_EQ(extents_of(t, MPI_SHORT_INT).extent, 8);
  CHECK_EQ(extents_of(t, MPI_C_DOUBLE_COMPLEX), (Extents{16, 0, 16, 0, 16}));
}

void vector_forms(Conformance& t) {
  OwnedType vector, hvector, backwards;
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, vector.out()));
  OK(MPI_Type_commit(vector.out()));
  CHECK_EQ(extents_of(t, vector), (Extents{24, 0, 48, 0, 48}));
  CHECK(picked(t, vector) == (std::vector<int>{0, 1, 5, 6, 10, 11}));
  CHECK(picked(t, vector, 0, 2) == (std::vector<int>{0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23}));
  OK(MPI_Type_create_hvector(2, 1, 12, MPI_INT, hvector.out()));
  OK(MPI_Type_commit(hvector.out()));
  CHECK(picked(t, hvector) == (std::vector<int>{0, 3}));
  OK(MPI_Type_vector(3, 1, -2, MPI_INT, backwards.out()));
  OK(MPI_Type_commit(backwards.out()));
  CHECK_EQ(extents_of(t, backwards), (Extents{12, -16, 20, -16, 20}));
  CHECK(picked(t, backwards, 10) == (std::vector<int>{10, 8, 6}));
}

void indexed_forms(Conformance& t) {
  const int lengths[] = {2, 0, 1}, places[] = {6, 100, 1};
  const MPI_Aint byte_places[] = {24, 400, 4};
  OwnedType indexed, hindexed, block, hblock;
  OK(MPI_Type_indexed(3, lengths, places, MPI_INT, indexed.out()));
  OK(MPI_Type_commit(indexed.out()));
  CHECK(picked(t, indexed) == (std::vector<int>{6, 7, 1}));
  CHECK_EQ(extents_of(t, indexed), (Extents{12, 4, 28, 4, 28}));
  OK(MPI_Type_create_hindexed(3, lengths, byte_places, MPI_INT, hindexed.out()));
  OK(MPI_Type_commit(hindexed.out()));
  CHECK(picked(t, hindexed) == (std::vector<int>{6, 7, 1}));
  OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, block.out()));
  OK(MPI_Type_commit(block.out()));
  CHECK(picked(t, block) == (std::vector<int>{6, 7, 100, 101, 1, 2}));
  OK(MPI_Type_create_hindexed_block(3, 1, byte_places, MPI_INT, hblock.out()));
  OK(MPI_Type_commit(hblock.out()));
  CHECK(picked(t, hblock) == (std::vector<int>{6, 100, 1}));
}

void structs_and_padding(Conformance& t) {
  struct Record {
    char tag;
    double value[2];
    short kind;
  };
  const int lengths[] = {1, 2, 1};
  const MPI_Aint places[] = {offsetof(Record, tag), offsetof(Record, value), offsetof(Record, kind)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  OwnedType record;
  OK(MPI_Type_create_struct(3, lengths, places, types, record.out()));
  OK(MPI_Type_commit(record.out()));
  CHECK_EQ(extents_of(t, record), (Extents{19, 0, sizeof(Record), 0, 26}));
  const Record from[2] = {{'a', {1.5, 2.5}, 3}, {'b', {4.5, 5.5}, 6}};
  Record to[2];
  std::memset(to, 0xee, sizeof(to));
  char packed[64];
  int position = 0;
  OK(MPI_Pack(from, 2, record, packed, sizeof(packed), &position, MPI_COMM_SELF));
  CHECK_EQ(position, 38);
  int read = 0;
  OK(MPI_Unpack(packed, position, &read, to, 2, record, MPI_COMM_SELF));
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(to[i].tag, from[i].tag);
    CHECK_EQ(to[i].value[0], from[i].value[0]);
    CHECK_EQ(to[i].value[1], from[i].value[1]);
    CHECK_EQ(to[i].kind, from[i].kind);
  }
  // The gaps stay as they were.
  CHECK_EQ(reinterpret_cast<unsigned char*>(to)[1], 0xee);
}

void resized_bounds(Conformance& t) {
  OwnedType once, two, narrow, column;
  OK(MPI_Type_create_resized(MPI_INT, -3, 9, once.out()));
  CHECK_EQ(extents_of(t, once), (Extents{4, -3, 9, 0, 4}));
  OK(MPI_Type_contiguous(2, once, two.out()));
  CHECK_EQ(extents_of(t, two), (Extents{8, -3, 18, 0, 13}));
  // A column of a matrix of 4 columns, made so that columns lie side by side.
  OK(MPI_Type_vector(3, 1, 4, MPI_INT, column.out()));
  OK(MPI_Type_create_resized(column, 0, 4, narrow.out()));
  OK(MPI_Type_commit(narrow.out()));
  CHECK(picked(t, narrow, 0, 2) == (std::vector<int>{0, 4, 8, 1, 5, 9}));
}

void subarrays(Conformance& t) {
  const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  OwnedType c, fortran;
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, c.out()));
  OK(MPI_Type_commit(c.out()));
  CHECK_EQ(extents_of(t, c), (Extents{24, 0, 96, 32, 36}));
  CHECK(picked(t, c) == (std::vector<int>{8, 9, 10, 14, 15, 16}));
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, fortran.out()));
  OK(MPI_Type_commit(fortran.out()));
  CHECK(picked(t, fortran) == (std::vector<int>{9, 10, 13, 14, 17, 18}));
}

void subarray_outside(Conformance& t) {
  const int sizes[] = {4, 6}, subsizes[] = {2, 3};
  const int outside[] = {3, 2};
  MPI_Datatype none;
  CHECK_FAILS(MPI_Type_create_subarray(2, sizes, subsizes, outside, MPI_ORDER_C, MPI_INT, &none),
              MPI_ERR_ARG);
}

void distributed_array(Conformance& t) {
  const int sizes[] = {5, 7}, grid[] = {2, 3};
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  std::vector<int> owner(35, -1);
  for (int rank = 0; rank < 6; ++rank) {
    OwnedType part;
    OK(MPI_Type_create_darray(6, rank, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT,
                              part.out()));
    OK(MPI_Type_commit(part.out()));
    CHECK_EQ(extents_of(t, part).extent, 140);
    for (const int place : picked(t, part)) {
      CHECK_EQ(owner[static_cast<std::size_t>(place)], -1);
      owner[static_cast<std::size_t>(place)] = rank;
    }
  }
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 7; ++column)
      CHECK_EQ(owner[static_cast<std::size_t>(row * 7 + column)], row / 3 * 3 + column / 2 % 3);
}

void empty_types(Conformance& t) {
  OwnedType types[3];
  const int length = 0, place = 50;
  OK(MPI_Type_contiguous(0, MPI_DOUBLE, types[0].out()));
  OK(MPI_Type_indexed(1, &length, &place, MPI_DOUBLE, types[1].out()));
  OK(MPI_Type_create_struct(0, nullptr, nullptr, nullptr, types[2].out()));
  for (OwnedType& type : types) {
    OK(MPI_Type_commit(type.out()));
    CHECK_EQ(extents_of(t, type).size, 0);
    CHECK_EQ(extents_of(t, type).extent, 0);
    OK(MPI_Sendrecv(nullptr, 3, type, 0, 1, nullptr, 3, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  }
}

struct Envelope {
  int integers, addresses, types, combiner;
  bool operator==(const Envelope&) const = default;
};
Envelope envelope_of(Conformance& t, MPI_Datatype type) {
  Envelope result{};
  CHECK_OK(MPI_Type_get_envelope(type, &result.integers, &result.addresses, &result.types, &result.combiner));
  return result;
}

void envelopes_and_contents(Conformance& t) {
  CHECK(envelope_of(t, MPI_INT) == (Envelope{0, 0, 0, MPI_COMBINER_NAMED}));
  OwnedType vector, hvector, twice;
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, vector.out()));
  CHECK(envelope_of(t, vector) == (Envelope{3, 0, 1, MPI_COMBINER_VECTOR}));
  OK(MPI_Type_create_hvector(4, 1, 100, vector, hvector.out()));
  CHECK(envelope_of(t, hvector) == (Envelope{2, 1, 1, MPI_COMBINER_HVECTOR}));
  int integers[2] = {};
  MPI_Aint address = 0;
  OwnedType inner;
  OK(MPI_Type_get_contents(hvector, 2, 1, 1, integers, &address, inner.out()));
  CHECK_EQ(integers[0], 4);
  CHECK_EQ(integers[1], 1);
  CHECK_EQ(address, 100);
  int numbers[3] = {};
  MPI_Datatype named = MPI_DATATYPE_NULL;
  OK(MPI_Type_get_contents(inner, 3, 0, 1, numbers, &address, &named));
  CHECK(named == MPI_INT);
  CHECK_EQ(numbers[0], 3);
  CHECK_EQ(numbers[1], 2);
  CHECK_EQ(numbers[2], 5);
  OK(MPI_Type_dup(vector, twice.out()));
  CHECK(envelope_of(t, twice) == (Envelope{0, 0, 1, MPI_COMBINER_DUP}));
  CHECK(MPI_Type_get_contents(MPI_INT, 0, 0, 0, numbers, &address, &named) != MPI_SUCCESS);
}

void array_contents(Conformance& t) {
  const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  OwnedType sub, part;
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, sub.out()));
  CHECK(envelope_of(t, sub) == (Envelope{8, 0, 1, MPI_COMBINER_SUBARRAY}));
  int numbers[15] = {};
  MPI_Aint address;
  MPI_Datatype named[3];
  OK(MPI_Type_get_contents(sub, 8, 0, 1, numbers, &address, named));
  const int expected[] = {2, 4, 6, 2, 3, 1, 2, MPI_ORDER_FORTRAN};
  CHECK(std::equal(expected, expected + 8, numbers));
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  const int grid[] = {2, 1};
  OK(MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT,
                            part.out()));
  CHECK(envelope_of(t, part) == (Envelope{12, 0, 1, MPI_COMBINER_DARRAY}));
  // With more room than is needed.
  OK(MPI_Type_get_contents(part, 15, 0, 3, numbers, &address, named));
  const int wanted[] = {
      2, 1, 2, 4,          6, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG,
      2, 2, 1, MPI_ORDER_C};
  CHECK(std::equal(wanted, wanted + 12, numbers));
  CHECK(numbers[12] == 0 && numbers[13] == 0 && numbers[14] == 0);
#if MPI_VERSION >= 4
  // The large-count form has the sizes elsewhere.
  const MPI_Count large_sizes[] = {4, 6};
  OwnedType large;
  OK(MPI_Type_create_darray_c(2, 1, 2, large_sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT,
                              large.out()));
  MPI_Count counts[2] = {};
  OK(MPI_Type_get_contents_c(large, 15, 0, 2, 1, numbers, &address, counts, named));
  CHECK(std::equal(wanted, wanted + 3, numbers) && std::equal(wanted + 5, wanted + 12, numbers + 3));
  CHECK(std::equal(large_sizes, large_sizes + 2, counts));
#endif
}

void parts_may_be_freed(Conformance& t) {
  MPI_Datatype inner;
  OK(MPI_Type_vector(2, 1, 3, MPI_INT, &inner));
  OwnedType outer;
  OK(MPI_Type_contiguous(2, inner, outer.out()));
  OK(MPI_Type_free(&inner));
  CHECK(inner == MPI_DATATYPE_NULL);
  OK(MPI_Type_commit(outer.out()));
  CHECK(picked(t, outer) == (std::vector<int>{0, 3, 4, 7}));
}

void names(Conformance& t) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = -1;
  OK(MPI_Type_get_name(MPI_INT, name, &length));
  CHECK_EQ(std::string(name), "MPI_INT");
  CHECK_EQ(length, 7);
  OwnedType type;
  OK(MPI_Type_contiguous(3, MPI_INT, type.out()));
  OK(MPI_Type_get_name(type, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Type_set_name(type, "three"));
  OK(MPI_Type_get_name(type, name, &length));
  CHECK_EQ(std::string(name), "three");
}

void fortran_kinds(Conformance& t) {
  MPI_Datatype real = MPI_DATATYPE_NULL, again = MPI_DATATYPE_NULL, integer = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real));
  OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &again));
  CHECK(real == again);
  CHECK_EQ(extents_of(t, real).size, 8);
  CHECK(envelope_of(t, real) == (Envelope{2, 0, 0, MPI_COMBINER_F90_REAL}));
  OK(MPI_Type_create_f90_integer(9, &integer));
  CHECK_EQ(extents_of(t, integer).size, 4);
  MPI_Datatype matched = MPI_DATATYPE_NULL;
  OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched));
  CHECK_EQ(extents_of(t, matched).size, 8);
  OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &matched));
  CHECK_EQ(extents_of(t, matched).size, 16);
}

void wrong_arguments(Conformance& t) {
  MPI_Datatype none = MPI_DATATYPE_NULL;
  CHECK(MPI_Type_contiguous(-1, MPI_INT, &none) != MPI_SUCCESS);
  CHECK_FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &none), MPI_ERR_TYPE);
  MPI_Datatype predefined = MPI_INT;
  CHECK_FAILS(MPI_Type_free(&predefined), MPI_ERR_TYPE);
  OwnedType raw;
  OK(MPI_Type_contiguous(2, MPI_INT, raw.out()));
  int data[2] = {};
  CHECK_FAILS(MPI_Send(data, 1, raw, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
}

#if MPI_VERSION >= 4
void large_counts(Conformance& t) {
  OwnedType vector;
  const MPI_Count count = MPI_Count(1) << 34;
  OK(MPI_Type_vector_c(count, 1, 2, MPI_INT, vector.out()));
  OK(MPI_Type_commit(vector.out()));
  MPI_Count size = 0, lower = -1, extent = 0;
  OK(MPI_Type_size_c(vector, &size));
  CHECK_EQ(size, count * 4);
  OK(MPI_Type_get_extent_c(vector, &lower, &extent));
  CHECK_EQ(extent, (count - 1) * 8 + 4);
  int small = 0;
  OK(MPI_Type_size(vector, &small));
  CHECK_EQ(small, MPI_UNDEFINED);
  MPI_Count integers = -1, addresses = -1, counts = -1, types = -1;
  int combiner = 0;
  OK(MPI_Type_get_envelope_c(vector, &integers, &addresses, &counts, &types, &combiner));
  CHECK_EQ(integers, 0);
  CHECK_EQ(counts, 3);
  CHECK_EQ(types, 1);
  CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
  MPI_Count numbers[3] = {};
  int no_integers[1];
  MPI_Aint no_addresses[1];
  MPI_Datatype named = MPI_DATATYPE_NULL;
  OK(MPI_Type_get_contents_c(vector, 0, 0, 3, 1, no_integers, no_addresses, numbers, &named));
  CHECK_EQ(numbers[0], count);
  CHECK(named == MPI_INT);
}
#else
void large_counts(Conformance&) {}
#endif

// The type map of a nested type is made of basic types alone (MPI-5.0 sections 5.1.2 and 5.1.7), so what pads
// the inner type at its end does not count where nothing follows it: its data end at 66 and its extent is 68;
// those of the outer one end at 4 * 68 + 1 + 2 * 68 + 66 = 475, which its alignment makes 476.
void padding_inside_nested_types(Conformance& t) {
  OwnedType inner, outer;
  OK(MPI_Type_create_hvector(3, 4, 25, MPI_INT, inner.out()));
  MPI_Aint lower = -1, extent = -1, true_lower = -1, true_extent = -1;
  OK(MPI_Type_get_extent(inner, &lower, &extent));
  OK(MPI_Type_get_true_extent(inner, &true_lower, &true_extent));
  CHECK_EQ(lower, 0);
  CHECK_EQ(true_extent, 66);
  CHECK_EQ(extent, 68);
  OK(MPI_Type_create_hvector(2, 3, 4 * extent + 1, inner, outer.out()));
  OK(MPI_Type_get_extent(outer, &lower, &extent));
  OK(MPI_Type_get_true_extent(outer, &true_lower, &true_extent));
  CHECK_EQ(lower, 0);
  CHECK_EQ(true_extent, 475);
  CHECK_EQ(extent, 476);
}

#if MPI_VERSION >= 5 && defined MPI_REAL2
// What the ABI says of optional types is what MPI_Type_size says (MPI-5.0 section 20.4).
void optional_types(Conformance& t) {
  struct Optional {
    const char* name;
    MPI_Datatype type;
    int size;
  };
  OwnedInfo info;
  OK(MPI_Abi_get_fortran_info(info.out()));
  for (const Optional& each : {Optional{"logical1", MPI_LOGICAL1, 1},
                               {"logical2", MPI_LOGICAL2, 2},
                               {"logical4", MPI_LOGICAL4, 4},
                               {"logical8", MPI_LOGICAL8, 8},
                               {"logical16", MPI_LOGICAL16, 16},
                               {"integer1", MPI_INTEGER1, 1},
                               {"integer2", MPI_INTEGER2, 2},
                               {"integer4", MPI_INTEGER4, 4},
                               {"integer8", MPI_INTEGER8, 8},
                               {"integer16", MPI_INTEGER16, 16},
                               {"real4", MPI_REAL4, 4},
                               {"real8", MPI_REAL8, 8},
                               {"real16", MPI_REAL16, 16},
                               {"complex8", MPI_COMPLEX8, 8},
                               {"complex16", MPI_COMPLEX16, 16},
                               {"complex32", MPI_COMPLEX32, 32},
                               {"double_complex", MPI_DOUBLE_COMPLEX, 16},
                               {"real2", MPI_REAL2, 2},
                               {"complex4", MPI_COMPLEX4, 4}}) {
    char value[16] = "";
    int room = sizeof value, flag = 0, size = 0;
    OK(MPI_Info_get_string(info, ("mpi_" + std::string(each.name) + "_supported").c_str(), &room, value,
                           &flag));
    CHECK_EQ(flag, 1);
    OK(MPI_Type_size(each.type, &size));
    CHECK_EQ(size, std::string(value) == "true" ? each.size : MPI_UNDEFINED);
  }
}
#else
void optional_types(Conformance&) {}
#endif

}  // namespace

CHAPTER(datatype_constructors, CASE(predefined_extents), CASE(vector_forms), CASE(indexed_forms),
        CASE(structs_and_padding), CASE(resized_bounds), CASE(subarrays), CASE(subarray_outside),
        CASE(distributed_array), CASE(empty_types), CASE(envelopes_and_contents), CASE(array_contents),
        CASE(parts_may_be_freed), CASE(names), CASE(fortran_kinds), CASE(wrong_arguments), CASE(large_counts),
        CASE(padding_inside_nested_types), CASE(optional_types))

}  // namespace conformance
