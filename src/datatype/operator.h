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

// The handles in the standard ABI (MPI-5.0 chapter 20), in this order.
inline constexpr std::array<std::uint16_t, predefined_operator_count> predefined_operator_numbers = {
    0x21, 0x22, 0x23, 0x24, 0x28, 0x29, 0x2a, 0x30, 0x31, 0x32, 0x38, 0x39, 0x3c, 0x3d};

// A user's function and how to call it, which only the ABI's binding knows.
class UserReduction : public Counted {
 public:
  // inout[i] = in[i] op inout[i]; `count` is at most count_limit().
  virtual void reduce(const void* in, void* inout, std::int64_t count, Datatype& type) = 0;
  virtual std::int64_t count_limit() const = 0;
};

class Operator final : public Counted {
 public:
  explicit Operator(PredefinedOperator kind);
  Operator(Ref<UserReduction> function, bool commutative);

  bool predefined() const { return !function_; }
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
  Ref<UserReduction> function_;
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
