// Inquiries about the ABI, the hardware and the parent (MPI-5.0 sections 7.1.2, 11.8.2, 20.4), and the
// balanced division of processes over dimensions (section 8.5.2), which needs no communicator.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include "api/functions.h"
#include "communicator/info.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

// Sizes as gfortran has them without options that change the default kinds. All optional datatypes can be
// used, also those of kinds that gfortran has not (REAL*2).
struct FortranFact {
  const char* key;
  const char* value;
};

constexpr FortranFact fortran_facts[] = {
    {"mpi_logical_size", "4"},
    {"mpi_integer_size", "4"},
    {"mpi_real_size", "4"},
    {"mpi_double_precision_size", "8"},
    {"mpi_logical1_supported", "true"},
    {"mpi_logical2_supported", "true"},
    {"mpi_logical4_supported", "true"},
    {"mpi_logical8_supported", "true"},
    {"mpi_logical16_supported", "true"},
    {"mpi_integer1_supported", "true"},
    {"mpi_integer2_supported", "true"},
    {"mpi_integer4_supported", "true"},
    {"mpi_integer8_supported", "true"},
    {"mpi_integer16_supported", "true"},
    {"mpi_real2_supported", "true"},
    {"mpi_real4_supported", "true"},
    {"mpi_real8_supported", "true"},
    {"mpi_real16_supported", "true"},
    {"mpi_complex4_supported", "true"},
    {"mpi_complex8_supported", "true"},
    {"mpi_complex16_supported", "true"},
    {"mpi_complex32_supported", "true"},
    {"mpi_double_complex_supported", "true"},
};

// Divides processes over dimensions: factors in descending order whose largest and smallest are as close as
// can be; among those the largest smallest, then the smallest sum, then what comes last in the order of a
// dictionary, as MPICH has it. Searched in that order.
class BalancedDimensions {
 public:
  BalancedDimensions(int processes, int dimensions) : trial_(static_cast<std::size_t>(dimensions)) {
    for (int d = 1; d <= processes / d; ++d) {
      if (processes % d != 0) continue;
      divisors_.push_back(d);
      if (d != processes / d) divisors_.push_back(processes / d);
    }
    std::sort(divisors_.begin(), divisors_.end());
    search(processes, 0);
  }
  const std::vector<int>& factors() const { return best_; }

 private:
  void search(int left, std::size_t at) {
    const int limit = at == 0 ? left : trial_[at - 1];
    if (at + 1 == trial_.size()) {
      trial_[at] = left;
      if (left <= limit && better()) best_ = trial_;
      return;
    }
    for (const int factor : divisors_) {
      if (factor > limit) break;
      if (left % factor != 0 || power(factor, trial_.size() - at, left) < left) continue;
      // The smallest cannot be more than the mean of what is left, so nothing larger can be closer to it.
      if (at == 0 && !best_.empty() && power(factor - spread(best_), trial_.size(), left) > left) break;
      trial_[at] = factor;
      search(left / factor, at + 1);
    }
  }
  static int spread(const std::vector<int>& factors) { return factors.front() - factors.back(); }
  bool better() const { return best_.empty() || order(trial_) <= order(best_); }
  static std::tuple<int, int, std::int64_t> order(const std::vector<int>& factors) {
    return {spread(factors), -factors.back(),
            std::accumulate(factors.begin(), factors.end(), std::int64_t{0})};
  }
  // base^exponent, or anything above `enough` if it is more.
  static std::int64_t power(int base, std::size_t exponent, std::int64_t enough) {
    std::int64_t value = 1;
    for (std::size_t i = 0; i < exponent && value <= enough; ++i) value *= base;
    return value;
  }

  std::vector<int> divisors_, trial_, best_;
};

}  // namespace

Result<> comm_get_parent(MpiProcess&, Ref<Communicator>& parent) {
  parent = nullptr;  // nobody spawned this process
  return {};
}

Result<> get_hw_resource_info(MpiProcess&, Ref<Info>& hw_info) {
  hw_info = make_counted<Info>();  // no resource types are offered to MPI_Comm_split_type by name
  return {};
}

Result<> abi_get_info(MpiProcess&, Ref<Info>& info) {
  info = make_counted<Info>();
  for (const char* key : {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"})
    HAWSER_TRY(info->set(key, "8"));
  return {};
}

Result<> abi_get_fortran_info(MpiProcess&, Ref<Info>& info) {
  info = make_counted<Info>();
  for (const FortranFact& fact : fortran_facts) HAWSER_TRY(info->set(fact.key, fact.value));
  return {};
}

// The Fortran of this library is set from the beginning; to say the same again is no mistake (section 20.4),
// nor that the program's Fortran lacks a type.
Result<> abi_set_fortran_info(MpiProcess&, Info* info) {
  if (info == nullptr) return failure(ErrorClass::info, "the info object is MPI_INFO_NULL");
  for (const FortranFact& fact : fortran_facts) {
    const std::string* value = info->find(fact.key);
    const bool less = std::string_view(fact.value) == "true" && value != nullptr && *value == "false";
    if (value != nullptr && *value != fact.value && !less)
      return failure(ErrorClass::abi, "{} is '{}', but was already set to '{}'", fact.key, *value,
                     fact.value);
  }
  return {};
}

static Result<> check_logical_size(int logical_size) {
  for (const int size : {1, 2, 4, 8, 16})
    if (logical_size == size) return {};
  return failure(ErrorClass::arg, "logical_size is {}, but no LOGICAL has that many bytes", logical_size);
}

Result<> abi_get_fortran_booleans(MpiProcess&, int logical_size, void* logical_true, void* logical_false,
                                  bool& is_set) {
  HAWSER_TRY(check_logical_size(logical_size));
  if (logical_true == nullptr || logical_false == nullptr)
    return failure(ErrorClass::arg, "logical_true or logical_false is a null pointer");
  // gfortran's .true. is 1; little-endian, so the first byte holds it.
  std::memset(logical_true, 0, static_cast<std::size_t>(logical_size));
  std::memset(logical_false, 0, static_cast<std::size_t>(logical_size));
  *static_cast<char*>(logical_true) = 1;
  is_set = true;
  return {};
}

Result<> abi_set_fortran_booleans(MpiProcess& process, int logical_size, void* logical_true,
                                  void* logical_false) {
  constexpr std::size_t most = 16;
  char known_true[most];
  char known_false[most];
  bool is_set = false;
  HAWSER_TRY(abi_get_fortran_booleans(process, logical_size, known_true, known_false, is_set));
  if (logical_true == nullptr || logical_false == nullptr)
    return failure(ErrorClass::arg, "logical_true or logical_false is a null pointer");
  const auto bytes = static_cast<std::size_t>(logical_size);
  if (std::memcmp(known_true, logical_true, bytes) == 0 &&
      std::memcmp(known_false, logical_false, bytes) == 0)
    return {};
  return failure(ErrorClass::abi, "the values of .TRUE. and .FALSE. were already set to others");
}

Result<> dims_create(MpiProcess&, int nnodes, int ndims, int* dims) {
  if (nnodes < 1) return failure(ErrorClass::dims, "nnodes is {}, but must be positive", nnodes);
  if (ndims < 0) return failure(ErrorClass::dims, "ndims is {}, which is negative", ndims);
  int left = nnodes;
  int open = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return failure(ErrorClass::dims, "dims[{}] is {}, which is negative", i, dims[i]);
    if (dims[i] == 0) {
      ++open;
    } else if (left % dims[i] != 0) {
      return failure(ErrorClass::dims, "nnodes is {}, which is not a multiple of the given dimensions",
                     nnodes);
    } else {
      left /= dims[i];
    }
  }
  if (open == 0) {
    if (left == 1 || ndims == 0) return {};
    return failure(ErrorClass::dims, "the product of the given dimensions is not nnodes ({})", nnodes);
  }
  const BalancedDimensions balanced(left, open);
  std::size_t next = 0;
  for (int i = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = balanced.factors()[next++];
  return {};
}

}  // namespace hawser::mpi
