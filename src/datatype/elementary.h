// The basic kinds of data that every datatype is made of, named for what they are in memory; the
// predefined MPI types of C and Fortran map onto them (predefined.h).
#pragma once

#include <cstdint>

namespace hawser {

enum class Elementary : std::uint8_t {
  none,
  byte,       // MPI_BYTE, MPI_PACKED: no arithmetic
  character,  // MPI_CHAR, MPI_WCHAR, Fortran CHARACTER: no arithmetic
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float80,
  float128,
  complex32,
  complex64,
  complex80,   // two of float32, float64, float80
  complex128,  // two of float128
  logical8,
  logical16,
  logical32,
  logical64,  // C bool and Fortran LOGICAL of that many bits
  // value and index, for MINLOC and MAXLOC
  float32_int,
  float64_int,
  int32_int,
  int64_int,
  int16_int,
  float80_int,
  two_int32,
  two_float32,
  two_float64,
};

}  // namespace hawser
