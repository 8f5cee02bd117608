// Datatypes as objects: commit, free, duplicate, ask (MPI-5.0 sections 5.1.5 to 5.1.14, 7.8).
#include <string>

#include "api/functions.h"
#include "datatype/constructors.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"
#include "process/type_attributes.h"

namespace hawser::mpi {

namespace {

// MPI_COMBINER_* in the standard ABI, in the order of Combiner.
constexpr int combiner_numbers[] = {101, 102, 103, 104, 105, 106, 107, 108, 109,
                                    110, 111, 112, 113, 114, 115, 116, 117};

std::int64_t length(const std::vector<std::int64_t>& values) {
  return static_cast<std::int64_t>(values.size());
}

Result<> check_room(std::int64_t room, std::size_t needed, const char* what) {
  if (room >= static_cast<std::int64_t>(needed)) return {};
  return failure(ErrorClass::arg, "{} is {}, but the type needs room for {}", what, room, needed);
}

}  // namespace

Result<> type_dup(MpiProcess& process, Datatype& oldtype, Ref<Datatype>& newtype) {
  auto made = make_dup(oldtype);
  if (!made) return made.take_error();
  Ref<Datatype> copy = std::move(made).value();
  if (oldtype.attributes) {
    const Ref<Datatype> kept(&oldtype);
    AttributeSet& attributes = attributes_of(*copy);
    auto copied = attributes.copy_from(attributes_of(oldtype), oldtype, process.attribute_callbacks());
    if (!copied) {
      // The copies made so far go with the new type; the first failure is the one to report.
      static_cast<void>(attributes.remove_all(*copy, process.attribute_callbacks()));
      return copied.take_error();
    }
  }
  newtype = std::move(copy);
  return {};
}

Result<> type_commit(MpiProcess&, Datatype& datatype) {
  datatype.commit();
  return {};
}

Result<> type_free(MpiProcess& process, Datatype& datatype) {
  if (datatype.predefined) return failure(ErrorClass::type, "a predefined type may not be freed");
  // Not if the program has other handles to it (MPI_Type_get_contents gives them): it lives on with its
  // attributes.
  if (datatype.attributes && process.handles().datatypes.handles_of(datatype) <= 1) {
    const Ref<Datatype> kept(&datatype);
    HAWSER_TRY(attributes_of(datatype).remove_all(datatype, process.attribute_callbacks()));
  }
  return {};
}

Result<> type_size(MpiProcess&, Datatype& datatype, std::int64_t& size) {
  size = datatype.size;
  return {};
}

Result<> type_size_x(MpiProcess& process, Datatype& datatype, std::int64_t& size) {
  return type_size(process, datatype, size);
}

Result<> type_get_extent(MpiProcess&, Datatype& datatype, std::int64_t& lb, std::int64_t& extent) {
  lb = datatype.lower_bound;
  extent = datatype.extent;
  return {};
}

Result<> type_get_extent_x(MpiProcess& process, Datatype& datatype, std::int64_t& lb, std::int64_t& extent) {
  return type_get_extent(process, datatype, lb, extent);
}

Result<> type_get_true_extent(MpiProcess&, Datatype& datatype, std::int64_t& true_lb,
                              std::int64_t& true_extent) {
  true_lb = datatype.true_lower_bound;
  true_extent = datatype.true_extent;
  return {};
}

Result<> type_get_true_extent_x(MpiProcess& process, Datatype& datatype, std::int64_t& true_lb,
                                std::int64_t& true_extent) {
  return type_get_true_extent(process, datatype, true_lb, true_extent);
}

Result<> type_get_envelope(MpiProcess&, Datatype& datatype, std::int64_t& num_integers,
                           std::int64_t& num_addresses, std::int64_t& num_large_counts,
                           std::int64_t& num_datatypes, int& combiner) {
  combiner = combiner_numbers[static_cast<std::size_t>(datatype.combiner)];
  num_integers = num_addresses = num_large_counts = num_datatypes = 0;
  if (const TypeContents* contents = datatype.contents()) {
    num_integers = length(contents->integers);
    num_addresses = length(contents->addresses);
    num_large_counts = length(contents->large_counts);
    num_datatypes = static_cast<std::int64_t>(contents->types.size());
  }
  return {};
}

Result<> type_get_contents(MpiProcess&, Datatype& datatype, std::int64_t max_integers,
                           std::int64_t max_addresses, std::int64_t max_large_counts,
                           std::int64_t max_datatypes, int* array_of_integers,
                           std::int64_t* array_of_addresses, std::int64_t* array_of_large_counts,
                           std::span<Ref<Datatype>> array_of_datatypes) {
  const TypeContents* contents = datatype.contents();
  if (contents == nullptr)
    return failure(ErrorClass::type, "{} is a named type and has no contents", datatype.name);
  HAWSER_TRY(check_room(max_integers, contents->integers.size(), "max_integers"));
  HAWSER_TRY(check_room(max_addresses, contents->addresses.size(), "max_addresses"));
  HAWSER_TRY(check_room(max_large_counts, contents->large_counts.size(), "max_large_counts"));
  HAWSER_TRY(check_room(max_datatypes, contents->types.size(), "max_datatypes"));
  for (std::size_t i = 0; i < contents->integers.size(); ++i)
    array_of_integers[i] = static_cast<int>(contents->integers[i]);
  for (std::size_t i = 0; i < contents->addresses.size(); ++i) array_of_addresses[i] = contents->addresses[i];
  for (std::size_t i = 0; i < contents->large_counts.size(); ++i)
    array_of_large_counts[i] = contents->large_counts[i];
  for (std::size_t i = 0; i < contents->types.size(); ++i)
    array_of_datatypes[i] = Ref<Datatype>(const_cast<Datatype*>(contents->types[i].get()));
  return {};
}

Result<> type_get_name(MpiProcess&, Datatype& datatype, std::string& type_name) {
  type_name = datatype.name;
  return {};
}

Result<> type_set_name(MpiProcess&, Datatype& datatype, std::string_view type_name) {
  datatype.name = type_name;
  return {};
}

}  // namespace hawser::mpi
