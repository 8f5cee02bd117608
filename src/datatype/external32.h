// The "external32" data representation (MPI-5.0 section 14.5.2): big-endian, IEEE, without gaps, the same for
// every machine. Kinds whose size differs there (long double, wchar_t) are converted, all others only
// swapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/datatype.h"

namespace hawser {

// Bytes of one element in external32.
std::int64_t external_size(const Datatype& type);

// `count` elements to or from `out` / `in`, which has count * external_size(type) bytes.
void pack_external(const void* buffer, std::int64_t count, const Datatype& type, std::byte* out);
void unpack_external(void* buffer, std::int64_t count, const Datatype& type, const std::byte* in);

}  // namespace hawser
