#include "binding/fortran/sections.h"

#include <cstring>

namespace hawser::fortran {

bool contiguous(const CFI_cdesc_t& descriptor) {
  auto expected = static_cast<CFI_index_t>(descriptor.elem_len);
  bool dense = true;
  for (int i = 0; i < descriptor.rank; ++i) {
    const CFI_dim_t& dim = descriptor.dim[i];
    if (dim.extent == 0) return true;
    // The last dimension of an array of assumed size has extent -1.
    if (dim.extent != 1 && dim.sm != expected) dense = false;
    expected *= dim.extent;
  }
  return dense;
}

std::size_t byte_count(const CFI_cdesc_t& descriptor) {
  std::size_t bytes = descriptor.elem_len;
  for (int i = 0; i < descriptor.rank; ++i) bytes *= length_of(descriptor.dim[i].extent);
  return bytes;
}

namespace {

template <std::size_t size>
void copy_elements(std::byte* to, CFI_index_t to_stride, const std::byte* from, CFI_index_t from_stride,
                   CFI_index_t n) {
  for (CFI_index_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
}

void copy_row(std::byte* to, CFI_index_t to_stride, const std::byte* from, CFI_index_t from_stride,
              CFI_index_t n, std::size_t size) {
  switch (size) {
    case 1:
      return copy_elements<1>(to, to_stride, from, from_stride, n);
    case 4:
      return copy_elements<4>(to, to_stride, from, from_stride, n);
    case 8:
      return copy_elements<8>(to, to_stride, from, from_stride, n);
    case 16:
      return copy_elements<16>(to, to_stride, from, from_stride, n);
    default:
      for (CFI_index_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
  }
}

// Copies dimensions 0 to `last` between the section at `section` and the packed bytes at `packed`; returns
// the end of those.
std::byte* copy_section(const CFI_cdesc_t& descriptor, int last, std::byte* section, std::byte* packed,
                        bool out) {
  const CFI_dim_t& dim = descriptor.dim[last];
  const std::size_t size = descriptor.elem_len;
  if (last > 0) {
    for (CFI_index_t i = 0; i < dim.extent; ++i)
      packed = copy_section(descriptor, last - 1, section + i * dim.sm, packed, out);
    return packed;
  }
  const auto stride = static_cast<CFI_index_t>(size);
  if (out)
    copy_row(section, dim.sm, packed, stride, dim.extent, size);
  else
    copy_row(packed, stride, section, dim.sm, dim.extent, size);
  return packed + dim.extent * stride;
}

}  // namespace

Section::Section(const char* function, const CFI_cdesc_t* descriptor, bool writes)
    : descriptor_(descriptor), writes_(writes) {
  if (contiguous(*descriptor)) return;
  const std::size_t bytes = byte_count(*descriptor);
  try {
    copy_ = make_array<std::byte>(bytes, "a copy of an array section");
  } catch (const std::bad_alloc& error) {
    out_of_memory(function, error);
  }
  // Also before the call writes, which may leave parts as they are.
  copy_section(*descriptor, descriptor->rank - 1, static_cast<std::byte*>(descriptor->base_addr), copy_.get(),
               false);
}

Section::~Section() {
  if (copy_ != nullptr && writes_)
    copy_section(*descriptor_, descriptor_->rank - 1, static_cast<std::byte*>(descriptor_->base_addr),
                 copy_.get(), true);
}

StridedArgument::StridedArgument(const char* function, const CFI_cdesc_t* descriptor, std::int64_t count,
                                 int* datatype) try
    : descriptor_(descriptor), datatype_(datatype) {
  if (contiguous(*descriptor) || count <= 0) return;
  const MPI_Datatype type = datatype_handle(datatype);
  error_ = make_type(type, count);
  if (error_ == MPI_SUCCESS) error_ = MPI_Type_commit(&type_);
  put(type_number_, number_of(type_));
} catch (const std::bad_alloc& error) {
  out_of_memory(function, error);
}

StridedArgument::~StridedArgument() {
  if (strided()) MPI_Type_free(&type_);
}

int StridedArgument::make_type(MPI_Datatype datatype, std::int64_t count) {
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  MPI_Count size = 0;
  int code = MPI_Type_get_extent_c(datatype, &lower_bound, &extent);
  if (code == MPI_SUCCESS) code = MPI_Type_size_c(datatype, &size);
  if (code != MPI_SUCCESS) return code;
  // A datatype that fills an element goes where the elements are.
  const auto element = static_cast<MPI_Count>(descriptor_->elem_len);
  if (size == element && extent == element && lower_bound == 0) return make_type_of_elements(datatype, count);
  return make_type_of_bytes(datatype, count);
}

int StridedArgument::make_type_of_elements(MPI_Datatype element, std::int64_t count) {
  std::int64_t elements = 1;
  for (int i = 0; i < descriptor_->rank; ++i) elements *= descriptor_->dim[i].extent;
  if (count > elements) return MPI_ERR_COUNT;
  if (count == elements) {
    MPI_Datatype type = element;
    for (int i = 0; i < descriptor_->rank; ++i) {
      MPI_Datatype larger = MPI_DATATYPE_NULL;
      const CFI_dim_t& dim = descriptor_->dim[i];
      const int code = MPI_Type_create_hvector_c(dim.extent, 1, dim.sm, type, &larger);
      if (i > 0) MPI_Type_free(&type);
      if (code != MPI_SUCCESS) return code;
      type = larger;
    }
    type_ = type;
    return MPI_SUCCESS;
  }
  // The first `count` elements in the array's order.
  auto places = make_vector<MPI_Count>(static_cast<std::size_t>(count), "the places of a section's elements");
  CFI_index_t index[CFI_MAX_RANK] = {};
  MPI_Count place = 0;
  for (MPI_Count& next : places) {
    next = place;
    for (int i = 0; i < descriptor_->rank; ++i) {
      const CFI_dim_t& dim = descriptor_->dim[i];
      place += dim.sm;
      if (++index[i] < dim.extent) break;
      place -= dim.sm * dim.extent;
      index[i] = 0;
    }
  }
  return MPI_Type_create_hindexed_block_c(count, 1, places.data(), element, &type_);
}

// Any other datatype: finds out which bytes of a contiguous array it takes, and in what order, by packing an
// array that holds its own indices (one byte of each index at a time), and lists where those bytes are in the
// section.
int StridedArgument::make_type_of_bytes(MPI_Datatype datatype, std::int64_t count) {
  MPI_Count lower_bound = 0, extent = 0, true_lower_bound = 0, true_extent = 0, size = 0;
  MPI_Type_get_extent_c(datatype, &lower_bound, &extent);
  MPI_Type_get_true_extent_c(datatype, &true_lower_bound, &true_extent);
  MPI_Type_size_c(datatype, &size);
  const std::size_t total = byte_count(*descriptor_);
  MPI_Count last = 0;
  MPI_Count bytes = 0;
  const auto room = static_cast<MPI_Count>(total);
  if (__builtin_mul_overflow(count - 1, extent, &last) || __builtin_mul_overflow(count, size, &bytes) ||
      last > room || last < -room)
    return MPI_ERR_COUNT;
  const MPI_Count begin = true_lower_bound + std::min<MPI_Count>(last, 0);
  const MPI_Count end = true_lower_bound + true_extent + std::max<MPI_Count>(last, 0);
  if (begin < 0 || end > room) return MPI_ERR_COUNT;

  const auto packed_size = static_cast<std::size_t>(bytes);
  constexpr const char* purpose = "the places of a section's bytes";
  auto sources = make_vector<std::size_t>(packed_size, purpose);
  auto whole = make_vector<unsigned char>(total, purpose);
  auto packed = make_vector<unsigned char>(packed_size, purpose);
  for (unsigned shift = 0; total >> shift != 0; shift += 8) {
    for (std::size_t i = 0; i < total; ++i) whole[i] = static_cast<unsigned char>(i >> shift);
    MPI_Count position = 0;
    const int code =
        MPI_Pack_c(whole.data(), count, datatype, packed.data(), bytes, &position, MPI_COMM_SELF);
    if (code != MPI_SUCCESS) return code;
    for (std::size_t i = 0; i < packed_size; ++i) sources[i] |= std::size_t{packed[i]} << shift;
  }

  std::vector<MPI_Count> lengths;
  std::vector<MPI_Count> places;
  for (const std::size_t source : sources) {
    std::size_t element = source / descriptor_->elem_len;
    auto place = static_cast<MPI_Count>(source % descriptor_->elem_len);
    for (int i = 0; i < descriptor_->rank; ++i) {
      const CFI_dim_t& dim = descriptor_->dim[i];
      const auto n = static_cast<std::size_t>(dim.extent);
      place += static_cast<CFI_index_t>(element % n) * dim.sm;
      element /= n;
    }
    if (!places.empty() && places.back() + lengths.back() == place) {
      ++lengths.back();
    } else {
      places.push_back(place);
      lengths.push_back(1);
    }
  }
  return MPI_Type_create_hindexed_c(static_cast<MPI_Count>(places.size()), lengths.data(), places.data(),
                                    MPI_BYTE, &type_);
}

int refuse_section(MPI_Comm comm) {
  MPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
  return MPI_ERR_BUFFER;
}

Converted::Converted(const GfortranDescriptor* descriptor) {
  descriptor_.base_addr = descriptor->base_addr;
  descriptor_.elem_len = descriptor->elem_len;
  descriptor_.version = CFI_VERSION;
  descriptor_.rank = descriptor->rank;
  descriptor_.attribute = CFI_attribute_other;
  descriptor_.type = CFI_type_other;
  const auto size = static_cast<std::ptrdiff_t>(descriptor->elem_len);
  const std::ptrdiff_t span = descriptor->span != 0 ? descriptor->span : size;
  for (int i = 0; i < descriptor->rank; ++i) {
    const auto& from = descriptor->dim[i];
    CFI_dim_t& to = descriptor_.dim[i];
    to.lower_bound = from.lower_bound;
    to.sm = from.stride * span;
    const bool assumed_size = i == descriptor->rank - 1 && from.lower_bound == 1 && from.upper_bound == 0;
    to.extent = assumed_size ? -1 : std::max<std::ptrdiff_t>(from.upper_bound - from.lower_bound + 1, 0);
  }
}

Converted::Converted(const char* text, std::size_t length) {
  descriptor_ = {};
  descriptor_.base_addr = const_cast<char*>(text);
  descriptor_.elem_len = length;
  descriptor_.version = CFI_VERSION;
}

}  // namespace hawser::fortran
