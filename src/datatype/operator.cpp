#include "datatype/operator.h"

#include <algorithm>
#include <cstring>

#include "datatype/reduction_kernels.h"
#include "datatype/type_packer.h"
#include "mpi/failure.h"

namespace hawser {
namespace {

constexpr std::string_view operator_names[predefined_operator_count] = {
    "MPI_SUM",  "MPI_MIN", "MPI_MAX",  "MPI_PROD",   "MPI_BAND",   "MPI_BOR",     "MPI_BXOR",
    "MPI_LAND", "MPI_LOR", "MPI_LXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP"};

std::string_view describe_type(const Datatype& type) {
  return type.name.empty() ? std::string_view("a derived datatype") : std::string_view(type.name);
}

bool only_accumulates(PredefinedOperator kind) {
  return kind == PredefinedOperator::replace || kind == PredefinedOperator::no_op;
}

const std::byte* advance(const void* pointer, std::int64_t bytes) {
  return static_cast<const std::byte*>(pointer) + bytes;
}

}  // namespace

ReductionKernel find_kernel(PredefinedOperator kind, Elementary element, PairKinds pair) {
  // The standard keeps characters out; MPICH lets programs calculate with MPI_CHAR, and some do.
  if (element == Elementary::character) element = Elementary::int8;
  switch (kind) {
    case PredefinedOperator::sum:
    case PredefinedOperator::min:
    case PredefinedOperator::max:
    case PredefinedOperator::prod:
      return find_arithmetic_kernel(kind, element);
    case PredefinedOperator::band:
    case PredefinedOperator::bor:
    case PredefinedOperator::bxor:
    case PredefinedOperator::land:
    case PredefinedOperator::lor:
    case PredefinedOperator::lxor:
      return find_bitwise_kernel(kind, element);
    case PredefinedOperator::minloc:
    case PredefinedOperator::maxloc:
      return element == Elementary::pair ? find_location_kernel(kind, pair) : nullptr;
    case PredefinedOperator::replace:
    case PredefinedOperator::no_op:
      return nullptr;
  }
  return nullptr;
}

Operator::Operator(PredefinedOperator kind) : kind_(kind) {
  commutative_ = kind != PredefinedOperator::replace && kind != PredefinedOperator::no_op;
}

Operator::Operator(Ref<UserReduction> function, bool commutative)
    : commutative_(commutative), function_(std::move(function)) {
  HAWSER_ASSERT(function_);
}

std::string_view Operator::name() const {
  return predefined() ? operator_names[static_cast<std::size_t>(kind_)] : "a user's operation";
}

Result<> Operator::check(const Datatype& type) const {
  if (!predefined()) return {};
  if (only_accumulates(kind_))
    return failure(ErrorClass::op, "{} is for one-sided communication only", name());
  if (!type.predefined || find_kernel(kind_, type.elementary, type.pair) == nullptr)
    return failure(ErrorClass::op, "{} is not defined for {}", name(), describe_type(type));
  return {};
}

Result<> Operator::check_accumulate(const Datatype& type) const {
  if (!predefined())
    return failure(ErrorClass::op, "a user's operation may not be used in one-sided communication");
  if (only_accumulates(kind_)) return {};
  if (find_kernel(kind_, type.elementary, type.pair) == nullptr)
    return failure(ErrorClass::op, "{} is not defined for the data of {}", name(), describe_type(type));
  return {};
}

void Operator::reduce(const void* in, void* inout, std::int64_t count, Datatype& type) const {
  if (predefined()) return combine(in, inout, inout, count, type);
  if (type.size == 0) return;  // however many they are
  while (count > 0) {
    const std::int64_t piece = std::min(count, function_->count_limit());
    function_->reduce(in, inout, piece, type);
    in = advance(in, piece * type.extent);
    inout = const_cast<std::byte*>(advance(inout, piece * type.extent));
    count -= piece;
  }
}

void Operator::combine(const void* a, const void* b, void* out, std::int64_t count, Datatype& type) const {
  if (count <= 0) return;
  if (!predefined()) {
    if (out != b) copy_typed(b, count, type, out, count, type);
    return reduce(a, out, count, type);
  }
  if (only_accumulates(kind_)) {
    const void* kept = kind_ == PredefinedOperator::replace ? a : b;
    if (out != kept) copy_typed(kept, count, type, out, count, type);
    return;
  }
  const ReductionKernel kernel = find_kernel(kind_, type.elementary, type.pair);
  HAWSER_ASSERT(kernel != nullptr && type.predefined);
  kernel(a, b, out, count);
}

PredefinedOperators::PredefinedOperators() {
  for (std::size_t i = 0; i < operators_.size(); ++i)
    operators_[i] = make_counted<Operator>(static_cast<PredefinedOperator>(i));
}

}  // namespace hawser
