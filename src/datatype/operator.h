// Operator: a reduction operation (MPI-5.0 section 6.9), predefined or the user's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/counted.h"
#include "base/result.h"
#include "datatype/datatype.h"

namespace hawser {

// Stable numbers; append only. binding/ pairs them with each ABI's constants.
enum class PredefinedOperator : std::uint8_t {
  sum,
  min,
  max,
  prod,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,  // only in one-sided communication
  no_op,    // only in one-sided communication
};
inline constexpr std::size_t predefined_operator_count = 14;

// The user's function in whatever form the user's ABI has, and how to call it: `invoke` knows the ABI's
// handle for the type and whether counts are int. It must compute inout[i] = in[i] op inout[i].
using UserFunction = void (*)();
using InvokeUserFunction = void (*)(UserFunction function, const void* in, void* inout, std::int64_t count,
                                    Datatype& type);

class Operator final : public Counted {
 public:
  explicit Operator(PredefinedOperator kind);
  // `count_limit`: the most elements that one call of `invoke` can take.
  Operator(UserFunction function, InvokeUserFunction invoke, bool commutative, std::int64_t count_limit);

  bool predefined() const { return function_ == nullptr; }
  bool commutative() const { return commutative_; }
  std::string_view name() const;  // MPI_SUM and so on; "a user's operation" for others
  // Only for predefined ones.
  PredefinedOperator kind() const { return kind_; }

  // Whether the operation may be used in a reduction of this type; names both if not.
  Result<> check(const Datatype& type) const;
  // The same for MPI_Accumulate and its like, where REPLACE and NO_OP and types of one elementary kind will
  // do.
  Result<> check_accumulate(const Datatype& type) const;

  // inout[i] = in[i] op inout[i] for `count` elements. The type must have passed a check; neither buffer may
  // have a piece of the other.
  void reduce(const void* in, void* inout, std::int64_t count, Datatype& type) const;
  // out[i] = a[i] op b[i]; out may be b, or apart from both.
  void combine(const void* a, const void* b, void* out, std::int64_t count, Datatype& type) const;

  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only

 private:
  PredefinedOperator kind_ = PredefinedOperator::sum;
  bool commutative_ = true;
  UserFunction function_ = nullptr;
  InvokeUserFunction invoke_ = nullptr;
  std::int64_t count_limit_ = 0;
};

// The predefined operators of one process.
class PredefinedOperators {
 public:
  PredefinedOperators();
  Operator& operator[](PredefinedOperator kind) const { return *operators_[static_cast<std::size_t>(kind)]; }
  static constexpr std::size_t size() { return predefined_operator_count; }
  Operator& at(std::size_t index) const { return *operators_[index]; }

 private:
  std::array<Ref<Operator>, predefined_operator_count> operators_;
};

}  // namespace hawser
