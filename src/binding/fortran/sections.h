// Choice buffers of mpi_f08: C descriptors of scalars and arrays, which may be sections that are not
// contiguous.
//   Section          for blocking calls: a contiguous copy for the length of the call
//   StridedArgument  for calls that go on later and have one count and one datatype: a datatype that says
//   where the
//                    elements lie
// Other nonblocking calls refuse sections that are not contiguous. `function` is the MPI function, for
// messages.
#pragma once

#include <ISO_Fortran_binding.h>

#include "binding/fortran/library.h"

namespace hawser::fortran {

bool contiguous(const CFI_cdesc_t& descriptor);
// The bytes of all elements; 0 for arrays of assumed size, which do not say.
std::size_t byte_count(const CFI_cdesc_t& descriptor);

class Section {
 public:
  // `writes`: the call changes the buffer.
  Section(const char* function, const CFI_cdesc_t* descriptor, bool writes);
  ~Section();
  Section(const Section&) = delete;
  void* address() { return copy_ != nullptr ? copy_.get() : descriptor_->base_addr; }

 private:
  const CFI_cdesc_t* descriptor_;
  bool writes_;
  std::unique_ptr<std::byte[]> copy_;
};

class StridedArgument {
 public:
  // As many `datatype`s as `count` says lie in the section, as if it were contiguous.
  StridedArgument(const char* function, const CFI_cdesc_t* descriptor, std::int64_t count, int* datatype);
  ~StridedArgument();
  StridedArgument(const StridedArgument&) = delete;
  int error() const { return error_; }

  void* address() const { return descriptor_->base_addr; }
  int* count(int* argument) { return strided() ? one_ : argument; }
  MPI_Count* count(MPI_Count* argument) { return strided() ? &large_one_ : argument; }
  int* datatype() { return strided() ? type_number_ : datatype_; }

 private:
  bool strided() const { return type_ != MPI_DATATYPE_NULL; }
  int make_type(MPI_Datatype element, std::int64_t count);
  int make_type_of_elements(MPI_Datatype element, std::int64_t count);
  int make_type_of_bytes(MPI_Datatype datatype, std::int64_t count);

  const CFI_cdesc_t* descriptor_;
  int* datatype_;
  int error_ = MPI_SUCCESS;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int type_number_[2] = {};
  int one_[2] = {1, 0};
  MPI_Count large_one_ = 1;
};

// The answer of calls that cannot take a section that is not contiguous; the error handler hears of it.
int refuse_section(MPI_Comm comm);
inline int refuse_section(const int* communicator) { return refuse_section(handle<MPI_Comm>(communicator)); }

// gfortran's own descriptor, which procedures without BIND(C) get, those of gfortran 9 and later.
struct GfortranDescriptor {
  void* base_addr;
  std::size_t offset;
  std::size_t elem_len;
  int version;
  signed char rank;
  signed char type;
  short attribute;
  std::ptrdiff_t span;
  struct {
    std::ptrdiff_t stride, lower_bound, upper_bound;
  } dim[CFI_MAX_RANK];
};

// The C descriptor that says the same.
class Converted {
 public:
  explicit Converted(const GfortranDescriptor* descriptor);
  Converted(const char* text, std::size_t length);
  operator CFI_cdesc_t*() { return &descriptor_; }

 private:
  union {
    CFI_cdesc_t descriptor_;
    std::byte room_[sizeof(CFI_cdesc_t) + CFI_MAX_RANK * sizeof(CFI_dim_t)];
  };
};

// A string that a C descriptor shows.
inline const char* text_of(const CFI_cdesc_t* descriptor) {
  return static_cast<const char*>(descriptor->base_addr);
}
inline std::size_t length_of(const CFI_cdesc_t* descriptor) { return descriptor->elem_len; }

}  // namespace hawser::fortran
