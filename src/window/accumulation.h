// Accumulation: what MPI_Accumulate and its like do to the target's memory (MPI-5.0 section 12.3.4): the
// data are elements of one elementary kind, in packed form where they come from, in any layout where they go
// to. Calculates only; that nobody else does so meanwhile is the caller's business.
#pragma once

#include <cstdint>

#include "base/byte_sequence.h"
#include "base/counted.h"
#include "datatype/datatype.h"
#include "datatype/operator.h"
#include "datatype/reduction_kernels.h"

namespace hawser {

// On the wire as it is.
struct ElementKind {
  Elementary element = Elementary::none;
  PairKinds pair;  // if element is Elementary::pair

  static ElementKind of(const Datatype& type) { return {type.elementary, type.pair}; }
  // Bytes in packed form; 0: of no use here, or numbers that no process of ours sends.
  std::int64_t size() const;
};

class Accumulation {
 public:
  Accumulation(PredefinedOperator operation, const ElementKind& kind);

  // False: the operation is not defined for the kind.
  bool sound() const { return unit_ > 0 && (kernel_ != nullptr || moves_only()); }
  std::int64_t unit() const { return unit_; }  // bytes of an element in packed form

  // place[i] = data[i] op place[i] for whole elements: the `bytes` of `place` from `offset` on. What was
  // there before goes to `before` in packed form, unless that is null. `data` is not read by MPI_NO_OP.
  void apply(const ByteSequence& place, std::int64_t offset, const std::byte* data, std::int64_t bytes,
             std::byte* before) const;
  // The one element at `place` becomes `value` if it is equal to `compared`, byte for byte.
  static void compare_and_swap(std::byte* place, std::int64_t bytes, const std::byte* compared,
                               const std::byte* value, std::byte* before);

 private:
  bool moves_only() const {
    return operation_ == PredefinedOperator::replace || operation_ == PredefinedOperator::no_op;
  }
  void combine(const std::byte* data, std::byte* inout, std::int64_t bytes) const;

  PredefinedOperator operation_;
  ElementKind kind_;
  std::int64_t unit_;
  ReductionKernel kernel_;
  Ref<Datatype> pair_type_;  // pairs with a gap, which packed form has not
};

}  // namespace hawser
