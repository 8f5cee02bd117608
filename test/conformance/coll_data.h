// What the cases of collectives share: roots, lengths, user operations.
#pragma once

#include <mpi.h>

#include <vector>

#include "conformance.h"

namespace conformance {

// Roots worth trying: the ends and the middle.
inline std::vector<int> roots(const Conformance& t) {
  std::vector<int> result{0};
  if (t.size > 1) result.push_back(t.size - 1);
  if (t.size > 2) result.push_back(t.size / 2);
  return result;
}

// Elements per rank, on all sides of where algorithms change; shorter where ranks are many.
inline std::vector<int> lengths(const Conformance& t) {
  if (t.size > 16) return {0, 1, 17, 300};
  return {0, 1, 2, 16, 129, 1000, 5000, 40'000};
}

// A 2x2 matrix modulo a prime: multiplication is associative, and not commutative.
struct Matrix {
  int cell[4];
  friend bool operator==(const Matrix&, const Matrix&) = default;
};
inline Matrix multiply(const Matrix& a, const Matrix& b) {
  constexpr long long prime = 1'000'003;
  Matrix c;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      c.cell[i * 2 + j] = static_cast<int>((static_cast<long long>(a.cell[i * 2]) * b.cell[j] +
                                            static_cast<long long>(a.cell[i * 2 + 1]) * b.cell[2 + j]) %
                                           prime);
    }
  }
  return c;
}
inline Matrix matrix_of(int rank, int index) {
  return {{rank + 2, index % 1000 + 1, rank * 7 + index % 13 + 3, 5}};
}
// The product of the matrices of ranks first..last-1, in order.
inline Matrix product(int first, int last, int index) {
  Matrix result = matrix_of(first, index);
  for (int rank = first + 1; rank < last; ++rank) result = multiply(result, matrix_of(rank, index));
  return result;
}
extern "C" inline void multiply_matrices(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* left = static_cast<const Matrix*>(in);
  auto* right = static_cast<Matrix*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = multiply(left[i], right[i]);
}

inline std::vector<Matrix> matrices(int rank, int count) {
  std::vector<Matrix> result;
  for (int i = 0; i < count; ++i) result.push_back(matrix_of(rank, i));
  return result;
}

}  // namespace conformance
