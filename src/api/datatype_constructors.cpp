// The constructors of datatypes (MPI-5.0 sections 5.1.2 to 5.1.7, 19.1.9): arguments as the binding gives
// them, turned into what datatype/ takes.
#include <string>

#include "api/functions.h"
#include "datatype/constructors.h"
#include "message/status.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// Numbers of the standard ABI.
constexpr int order_c = 12;
constexpr int order_fortran = 15;
constexpr int distribute_none = 16;
constexpr int distribute_block = 17;
constexpr int distribute_cyclic = 18;
constexpr int distribute_default_argument = 19;
constexpr int typeclass_integer = 192;
constexpr int typeclass_real = 193;
constexpr int typeclass_complex = 194;

CountForm form(bool large) { return large ? CountForm::large : CountForm::plain; }

// Takes a constructor's answer apart.
Result<> take(Result<Ref<Datatype>> made, Ref<Datatype>& newtype) {
  if (!made) return made.take_error();
  newtype = std::move(made).value();
  return {};
}

Result<std::vector<std::int64_t>> read(std::int64_t count, IntegerArray values, const char* what) {
  if (count < 0) return failure(ErrorClass::count, "count is negative: {}", count);
  if (count > 0 && !values) return failure(ErrorClass::arg, "{} is null, but count is {}", what, count);
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = values[i];
  return result;
}

struct BlockList {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> displacements;
};

Result<BlockList> read_blocks(std::int64_t count, IntegerArray lengths, IntegerArray displacements) {
  auto first = read(count, lengths, "array_of_blocklengths");
  if (!first) return first.take_error();
  auto second = read(count, displacements, "array_of_displacements");
  if (!second) return second.take_error();
  return BlockList{std::move(first).value(), std::move(second).value()};
}

Result<ArrayOrder> read_order(int order) {
  if (order == order_c) return ArrayOrder::c;
  if (order == order_fortran) return ArrayOrder::fortran;
  return failure(ErrorClass::arg, "order is {}, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

}  // namespace

Result<> type_contiguous(MpiProcess&, std::int64_t count, Datatype& oldtype, Ref<Datatype>& newtype,
                         bool large) {
  return take(make_contiguous(count, oldtype, form(large)), newtype);
}

Result<> type_vector(MpiProcess&, std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                     Datatype& oldtype, Ref<Datatype>& newtype, bool large) {
  return take(make_vector(count, blocklength, stride, oldtype, form(large)), newtype);
}

Result<> type_create_hvector(MpiProcess&, std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                             Datatype& oldtype, Ref<Datatype>& newtype, bool large) {
  return take(make_hvector(count, blocklength, stride, oldtype, form(large)), newtype);
}

Result<> type_indexed(MpiProcess&, std::int64_t count, IntegerArray array_of_blocklengths,
                      IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype,
                      bool large) {
  const auto blocks = read_blocks(count, array_of_blocklengths, array_of_displacements);
  if (!blocks) return blocks.error();
  return take(make_indexed(blocks.value().lengths, blocks.value().displacements, oldtype, form(large)),
              newtype);
}

Result<> type_create_hindexed(MpiProcess&, std::int64_t count, IntegerArray array_of_blocklengths,
                              IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype,
                              bool large) {
  const auto blocks = read_blocks(count, array_of_blocklengths, array_of_displacements);
  if (!blocks) return blocks.error();
  return take(make_hindexed(blocks.value().lengths, blocks.value().displacements, oldtype, form(large)),
              newtype);
}

Result<> type_create_indexed_block(MpiProcess&, std::int64_t count, std::int64_t blocklength,
                                   IntegerArray array_of_displacements, Datatype& oldtype,
                                   Ref<Datatype>& newtype, bool large) {
  const auto displacements = read(count, array_of_displacements, "array_of_displacements");
  if (!displacements) return displacements.error();
  return take(make_indexed_block(blocklength, displacements.value(), oldtype, form(large)), newtype);
}

Result<> type_create_hindexed_block(MpiProcess&, std::int64_t count, std::int64_t blocklength,
                                    IntegerArray array_of_displacements, Datatype& oldtype,
                                    Ref<Datatype>& newtype, bool large) {
  const auto displacements = read(count, array_of_displacements, "array_of_displacements");
  if (!displacements) return displacements.error();
  return take(make_hindexed_block(blocklength, displacements.value(), oldtype, form(large)), newtype);
}

Result<> type_create_struct(MpiProcess&, std::int64_t count, IntegerArray array_of_blocklengths,
                            IntegerArray array_of_displacements, std::span<Datatype* const> array_of_types,
                            Ref<Datatype>& newtype, bool large) {
  const auto blocks = read_blocks(count, array_of_blocklengths, array_of_displacements);
  if (!blocks) return blocks.error();
  return take(make_struct(blocks.value().lengths, blocks.value().displacements, array_of_types, form(large)),
              newtype);
}

Result<> type_create_subarray(MpiProcess&, int ndims, IntegerArray array_of_sizes,
                              IntegerArray array_of_subsizes, IntegerArray array_of_starts, int order,
                              Datatype& oldtype, Ref<Datatype>& newtype, bool large) {
  const auto array_order = read_order(order);
  if (!array_order) return array_order.error();
  const auto sizes = read(ndims, array_of_sizes, "array_of_sizes");
  if (!sizes) return sizes.error();
  const auto subsizes = read(ndims, array_of_subsizes, "array_of_subsizes");
  if (!subsizes) return subsizes.error();
  const auto starts = read(ndims, array_of_starts, "array_of_starts");
  if (!starts) return starts.error();
  return take(make_subarray(sizes.value(), subsizes.value(), starts.value(), array_order.value(), order,
                            oldtype, form(large)),
              newtype);
}

Result<> type_create_darray(MpiProcess&, int size, int rank, int ndims, IntegerArray array_of_gsizes,
                            const int* array_of_distribs, const int* array_of_dargs,
                            const int* array_of_psizes, int order, Datatype& oldtype, Ref<Datatype>& newtype,
                            bool large) {
  const auto array_order = read_order(order);
  if (!array_order) return array_order.error();
  const auto sizes = read(ndims, array_of_gsizes, "array_of_gsizes");
  if (!sizes) return sizes.error();
  std::vector<DistributedDimension> dimensions;
  for (std::size_t i = 0; i < sizes.value().size(); ++i) {
    DistributedDimension dimension{};
    dimension.size = sizes.value()[i];
    dimension.distribution_number = array_of_distribs[i];
    dimension.argument_number = array_of_dargs[i];
    dimension.processes = array_of_psizes[i];
    dimension.argument =
        array_of_dargs[i] == distribute_default_argument ? default_distribution_argument : array_of_dargs[i];
    if (array_of_distribs[i] == distribute_none)
      dimension.distribution = Distribution::none;
    else if (array_of_distribs[i] == distribute_block)
      dimension.distribution = Distribution::block;
    else if (array_of_distribs[i] == distribute_cyclic)
      dimension.distribution = Distribution::cyclic;
    else
      return failure(ErrorClass::arg, "distribution {} of dimension {} is unknown", array_of_distribs[i], i);
    dimensions.push_back(dimension);
  }
  return take(make_darray(size, rank, dimensions, array_order.value(), order, oldtype, form(large)), newtype);
}

Result<> type_create_resized(MpiProcess&, Datatype& oldtype, std::int64_t lb, std::int64_t extent,
                             Ref<Datatype>& newtype, bool large) {
  return take(make_resized(oldtype, lb, extent, form(large)), newtype);
}

Result<> type_create_f90_real(MpiProcess& process, int p, int r, Ref<Datatype>& newtype) {
  const int precision = p == undefined ? any_precision : p;
  const int range = r == undefined ? any_precision : r;
  return take(process.types().unnamed().f90_real(precision, range, p, r), newtype);
}

Result<> type_create_f90_complex(MpiProcess& process, int p, int r, Ref<Datatype>& newtype) {
  const int precision = p == undefined ? any_precision : p;
  const int range = r == undefined ? any_precision : r;
  return take(process.types().unnamed().f90_complex(precision, range, p, r), newtype);
}

Result<> type_create_f90_integer(MpiProcess& process, int r, Ref<Datatype>& newtype) {
  return take(process.types().unnamed().f90_integer(r), newtype);
}

Result<> type_match_size(MpiProcess& process, int typeclass, int size, Ref<Datatype>& datatype) {
  using enum PredefinedType;
  struct Match {
    int typeclass;
    int size;
    PredefinedType type;
  };
  constexpr Match matches[] = {
      {typeclass_integer, 1, integer1},   {typeclass_integer, 2, integer2},
      {typeclass_integer, 4, integer4},   {typeclass_integer, 8, integer8},
      {typeclass_integer, 16, integer16}, {typeclass_real, 2, real2},
      {typeclass_real, 4, real4},         {typeclass_real, 8, real8},
      {typeclass_real, 16, real16},       {typeclass_complex, 4, complex4},
      {typeclass_complex, 8, complex8},   {typeclass_complex, 16, complex16},
      {typeclass_complex, 32, complex32},
  };
  bool class_known = false;
  for (const Match& match : matches) {
    class_known |= match.typeclass == typeclass;
    if (match.typeclass != typeclass || match.size != size) continue;
    datatype = Ref<Datatype>(&process.types()[match.type]);
    return {};
  }
  if (!class_known) return failure(ErrorClass::arg, "type class {} is unknown", typeclass);
  return failure(ErrorClass::arg, "no type of this type class has {} bytes", size);
}

Result<> type_get_value_index(MpiProcess& process, Datatype& value_type, Datatype& index_type,
                              Ref<Datatype>& pair_type) {
  pair_type = nullptr;
  if (value_type.predefined && index_type.predefined)
    pair_type = process.types().unnamed().pair(value_type, index_type);
  return {};
}

}  // namespace hawser::mpi
