// A reduction whose result tells in which order the ranks' operands were taken.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace hawser {

// x -> a * x + b.
struct Affine {
  std::uint32_t a, b;
  bool operator==(const Affine&) const = default;
};

inline Affine after(Affine first, Affine second) {
  return {first.a * second.a, first.b * second.a + second.b};
}

// MPI's names for it and its operation; between MPI_Init and MPI_Finalize.
class AffineReduction {
 public:
  AffineReduction() {
    MPI_Type_contiguous(2, MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
  }
  ~AffineReduction() {
    MPI_Op_free(&op);
    MPI_Type_free(&type);
  }
  AffineReduction(const AffineReduction&) = delete;
  AffineReduction& operator=(const AffineReduction&) = delete;

  static void compose(void* in, void* inout, int* count, MPI_Datatype*) {
    const auto* const left = static_cast<const Affine*>(in);
    auto* const right = static_cast<Affine*>(inout);
    for (int i = 0; i < *count; ++i) right[i] = after(left[i], right[i]);
  }

  MPI_Datatype type;
  MPI_Op op;
};

}  // namespace hawser
