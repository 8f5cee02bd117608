// Arguments of Fortran's calls as C sees them. Everything comes by address. A default INTEGER has four bytes,
// or eight in programs compiled with -fdefault-integer-8 (`wide_integers`): then its low half is what counts,
// because the machines that we know are little-endian, and what goes out is extended to the upper half. Each
// class here lives as a temporary for the length of one call: its destructor shows the program what came out.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "binding/fortran/memory.h"
#include "binding/fortran/sentinels.h"

namespace hawser::fortran {

static_assert(std::endian::native == std::endian::little, "an int is the low half of a wide INTEGER");

inline int get(const int* argument) { return *argument; }

// Extends what was written into the low half of an INTEGER.
inline void extend(int* argument) {
  if (wide_integers()) [[unlikely]]
    argument[1] = argument[0] < 0 ? -1 : 0;
}
inline void put(int* argument, int value) {
  *argument = value;
  extend(argument);
}
// IERROR, which programs with mpi_f08 may leave out.
inline void put_error(int* argument, int value) {
  if (argument != nullptr) put(argument, value);
}

// A scalar that goes out; the C function writes its low half.
class Out {
 public:
  explicit Out(int* argument) : argument_(argument) {}
  ~Out() { extend(argument_); }
  Out(const Out&) = delete;
  operator int*() const { return argument_; }

 private:
  int* argument_;
};

// An index that counts from 1 in Fortran; MPI_UNDEFINED stays itself.
class OutIndex {
 public:
  explicit OutIndex(int* argument) : argument_(argument) {}
  ~OutIndex() { put(argument_, index_ >= 0 ? index_ + 1 : index_); }
  OutIndex(const OutIndex&) = delete;
  operator int*() { return &index_; }

 private:
  int* argument_;
  int index_ = MPI_UNDEFINED;
};

inline std::size_t length_of(std::int64_t n) { return n > 0 ? static_cast<std::size_t>(n) : 0; }

// An array of INTEGER or LOGICAL that goes in. `length` is called only if the array must be copied.
class In {
 public:
  template <class Length>
  In(int* array, Length length) : data_(array) {
    if (!wide_integers()) [[likely]]
      return;
    const std::size_t n = length_of(length());
    copy_ = make_array<int>(n, "an array of integers");
    for (std::size_t i = 0; i < n; ++i) copy_[i] = array[2 * i];
    data_ = copy_.get();
  }
  operator int*() const { return data_; }

 private:
  int* data_;
  std::unique_ptr<int[]> copy_;
};

// An array of INTEGER or LOGICAL that comes out, or both.
class OutArray {
 public:
  template <class Length>
  OutArray(int* array, Length length) : array_(array), data_(array) {
    if (!wide_integers()) [[likely]]
      return;
    size_ = length_of(length());
    copy_ = make_array<int>(size_, "an array of integers");
    for (std::size_t i = 0; i < size_; ++i) copy_[i] = array[2 * i];
    data_ = copy_.get();
  }
  ~OutArray() {
    for (std::size_t i = 0; i < size_; ++i) put(array_ + 2 * i, copy_[i]);
  }
  OutArray(const OutArray&) = delete;
  operator int*() const { return data_; }

 private:
  int* array_;
  int* data_;
  std::size_t size_ = 0;
  std::unique_ptr<int[]> copy_;
};

// Indices of MPI_Waitsome and its like: the first of them are written, and count from 1.
class OutIndices {
 public:
  template <class Length>
  OutIndices(int* array, Length length)
      : array_(array), indices_(make_vector<int>(length_of(length()), "an array of indices", -1)) {}
  ~OutIndices() {
    const std::size_t stride = wide_integers() ? 2 : 1;
    for (std::size_t i = 0; i < indices_.size(); ++i)
      if (indices_[i] >= 0) put(array_ + stride * i, indices_[i] + 1);
  }
  OutIndices(const OutIndices&) = delete;
  operator int*() { return indices_.data(); }

 private:
  int* array_;
  std::vector<int> indices_;
};

// Ranges of MPI_Group_range_incl.
class Triplets {
 public:
  using Triplet = int[3];

  template <class Length>
  Triplets(int* array, Length length) : in_(array, [&] { return 3 * length(); }) {}
  operator Triplet*() const { return reinterpret_cast<Triplet*>(static_cast<int*>(in_)); }

 private:
  In in_;
};

// Weights of a graph: numbers, or one of the two constants. `Array` is In or OutArray.
template <class Array>
class Weights {
 public:
  template <class Length>
  Weights(int* array, Length length)
      : constant_(weights_constant(array)),
        array_(array, [&] { return constant_ == nullptr ? length() : 0; }) {}
  operator int*() const { return constant_ != nullptr ? constant_ : static_cast<int*>(array_); }

 private:
  int* constant_;
  Array array_;
};

// Error codes of MPI_Comm_spawn, or MPI_ERRCODES_IGNORE.
class ErrorCodes {
 public:
  template <class Length>
  ErrorCodes(int* array, Length length)
      : ignored_(errcodes_ignored(array)), out_(array, [&] { return ignored_ ? 0 : length(); }) {}
  operator int*() const { return ignored_ ? MPI_ERRCODES_IGNORE : static_cast<int*>(out_); }

 private:
  bool ignored_;
  OutArray out_;
};

// --- Handles: an INTEGER holds the number that the C handle is ---

template <class Handle>
Handle handle_of(int number) {
#ifdef HAWSER_ABI_OF_MPICH
  if constexpr (std::is_pointer_v<Handle>)
    return MPI_File_f2c(number);
  else
    return number;
#else
  return reinterpret_cast<Handle>(static_cast<std::intptr_t>(number));
#endif
}
template <class Handle>
int number_of(Handle handle) {
#ifdef HAWSER_ABI_OF_MPICH
  if constexpr (std::is_pointer_v<Handle>)
    return MPI_File_c2f(handle);
  else
    return handle;
#else
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
#endif
}

template <class Handle>
Handle handle(const int* argument) {
  return handle_of<Handle>(*argument);
}

// What MPI_INTEGER, MPI_LOGICAL and MPI_2INTEGER are when INTEGERs have eight bytes; other datatypes are
// themselves.
MPI_Datatype wide_datatype(MPI_Datatype datatype);
inline MPI_Datatype datatype_of(int number) {
  const auto datatype = handle_of<MPI_Datatype>(number);
  return wide_integers() ? wide_datatype(datatype) : datatype;
}
inline MPI_Datatype datatype_handle(const int* argument) { return datatype_of(*argument); }

// An array of datatypes that goes in.
class Datatypes {
 public:
  template <class Length>
  Datatypes(int* array, Length length);
  operator MPI_Datatype*() {
    return datatypes_.empty() ? reinterpret_cast<MPI_Datatype*>(array_) : datatypes_.data();
  }

 private:
  int* array_;
  std::vector<MPI_Datatype> datatypes_;
};

template <class Handle>
class OutHandle {
 public:
  explicit OutHandle(int* argument) : argument_(argument), handle_(handle_of<Handle>(*argument)) {}
  ~OutHandle() { put(argument_, number_of(handle_)); }
  OutHandle(const OutHandle&) = delete;
  operator Handle*() { return &handle_; }

 private:
  int* argument_;
  Handle handle_;
};

// An array of handles; with `writes`, what the call made of them goes back.
template <class Handle, bool writes>
class Handles {
 public:
  // Where a handle is an int, the program's array is C's.
  static constexpr bool same = std::is_same_v<Handle, int>;

  template <class Length>
  Handles(int* array, Length length) : array_(array) {
    if (same && !wide_integers()) [[likely]]
      return;
    size_ = length_of(length());
    copied_ = true;
    if (size_ > on_stack) large_ = make_array<Handle>(size_, "an array of handles");
    const std::size_t stride = wide_integers() ? 2 : 1;
    for (std::size_t i = 0; i < size_; ++i) data()[i] = handle_of<Handle>(array[stride * i]);
  }
  ~Handles() {
    if (!writes) return;
    const std::size_t stride = wide_integers() ? 2 : 1;
    for (std::size_t i = 0; i < size_; ++i) put(array_ + stride * i, number_of(data()[i]));
  }
  Handles(const Handles&) = delete;
  operator Handle*() { return copied_ ? data() : reinterpret_cast<Handle*>(array_); }

 private:
  static constexpr std::size_t on_stack = 16;
  Handle* data() { return large_ != nullptr ? large_.get() : small_; }

  int* array_;
  std::size_t size_ = 0;
  bool copied_ = false;
  Handle small_[on_stack];
  std::unique_ptr<Handle[]> large_;
};

template <class Length>
Datatypes::Datatypes(int* array, Length length) : array_(array) {
  if (std::is_same_v<MPI_Datatype, int> && !wide_integers()) [[likely]]
    return;
  datatypes_ = make_vector<MPI_Datatype>(length_of(length()), "an array of datatypes");
  const std::size_t stride = wide_integers() ? 2 : 1;
  for (std::size_t i = 0; i < datatypes_.size(); ++i) datatypes_[i] = datatype_of(array[stride * i]);
}

// --- Statuses: an array of as many INTEGERs as a C status has ints, or a TYPE(MPI_Status) that is the same
// ---

inline constexpr std::size_t status_size = sizeof(MPI_Status) / sizeof(int);

class Statuses {
 public:
  // `writes`: the status comes out.
  Statuses(int* argument, bool writes)
      : Statuses(
            argument, [] { return 1; }, writes) {}
  template <class Length>
  Statuses(int* argument, Length length, bool writes = true)
      : argument_(argument), writes_(writes), ignored_(status_ignored(argument)) {
    if (ignored_ || !wide_integers()) [[likely]]
      return;
    copy_ = make_vector<MPI_Status>(length_of(length()), "an array of statuses");
    for (std::size_t i = 0; i < status_size * copy_.size(); ++i) ints()[i] = argument_[2 * i];
  }
  ~Statuses() {
    if (!writes_) return;
    for (std::size_t i = 0; i < status_size * copy_.size(); ++i) put(argument_ + 2 * i, ints()[i]);
  }
  Statuses(const Statuses&) = delete;
  operator MPI_Status*() {
    if (ignored_) return MPI_STATUS_IGNORE;
    return copy_.empty() ? reinterpret_cast<MPI_Status*>(argument_) : copy_.data();
  }

 private:
  int* ints() { return reinterpret_cast<int*>(copy_.data()); }

  int* argument_;
  bool writes_;
  bool ignored_;
  std::vector<MPI_Status> copy_;
};

// --- Addresses in INTEGERs, which the functions that MPI-3.0 removed have ---

inline MPI_Aint old_address(const int* argument) {
  return wide_integers() ? *reinterpret_cast<const MPI_Aint*>(argument) : *argument;
}

class OutOldAddress {
 public:
  explicit OutOldAddress(int* argument) : argument_(argument) {}
  ~OutOldAddress() {
    *argument_ = static_cast<int>(value_);
    if (wide_integers()) *reinterpret_cast<MPI_Aint*>(argument_) = value_;
  }
  OutOldAddress(const OutOldAddress&) = delete;
  operator MPI_Aint*() { return &value_; }

 private:
  int* argument_;
  MPI_Aint value_ = 0;
};

class OldAddresses {
 public:
  template <class Length>
  OldAddresses(const int* array, Length length)
      : values_(make_vector<MPI_Aint>(length_of(length()), "an array of addresses")) {
    const std::size_t stride = wide_integers() ? 2 : 1;
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = old_address(array + stride * i);
  }
  operator MPI_Aint*() { return values_.data(); }

 private:
  std::vector<MPI_Aint> values_;
};

// A procedure of the program, as C sees it.
using Procedure = void (*)();
template <class Function>
Function* c_function(Procedure procedure) {
  return reinterpret_cast<Function*>(procedure);
}

// --- Lengths of arrays that the call does not say; 0 where there is no such thing ---

int local_size_of(const int* communicator);
int size_of(const int* communicator);      // of the remote group in an intercommunicator
int indegree_of(const int* communicator);  // of the topology
int outdegree_of(const int* communicator);
int dimensions_of(const int* communicator);
bool is_root(const int* root, const int* communicator);
// The sum of the first n INTEGERs; the n-th one.
std::int64_t sum_of(const int* array, int n);
int element_of(const int* array, int n);

}  // namespace hawser::fortran
