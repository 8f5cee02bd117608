// Result<T>: a value, or an Error that names what went wrong. How every operation that may fail for
// reasons outside the code (arguments, the system, the network) answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"

namespace hawser {

// The error classes of MPI-5.0 section 9.4, numbered as in the standard ABI (chapter 20).
enum class ErrorClass : int {
  success = 0,
  buffer = 1,
  count = 2,
  type = 3,
  tag = 4,
  comm = 5,
  rank = 6,
  request = 7,
  root = 8,
  group = 9,
  op = 10,
  topology = 11,
  dims = 12,
  arg = 13,
  unknown = 14,
  truncate = 15,
  other = 16,
  intern = 17,
  pending = 18,
  in_status = 19,
  access = 20,
  amode = 21,
  assertion = 22,
  bad_file = 23,
  base = 24,
  conversion = 25,
  disp = 26,
  dup_datarep = 27,
  file_exists = 28,
  file_in_use = 29,
  file = 30,
  info_key = 31,
  info_nokey = 32,
  info_value = 33,
  info = 34,
  io = 35,
  keyval = 36,
  locktype = 37,
  name = 38,
  no_mem = 39,
  not_same = 40,
  no_space = 41,
  no_such_file = 42,
  port = 43,
  quota = 44,
  read_only = 45,
  rma_attach = 46,
  rma_conflict = 47,
  rma_range = 48,
  rma_shared = 49,
  rma_sync = 50,
  service = 51,
  size = 52,
  spawn = 53,
  unsupported_datarep = 54,
  unsupported_operation = 55,
  win = 56,
  rma_flavor = 57,
  proc_aborted = 58,
  value_too_large = 59,
  session = 60,
  errhandler = 61,
  abi = 62,
};

struct Error {
  ErrorClass error_class = ErrorClass::unknown;
  std::string text;  // one sentence without a full stop: what was wrong, with the offending value
  int code = 0;      // a user's error code (MPI_Add_error_code) when not 0; otherwise the class is the code
};

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  explicit operator bool() const { return error_ == nullptr; }
  T& value() & {
    HAWSER_ASSERT(value_.has_value());
    return *value_;
  }
  const T& value() const& {
    HAWSER_ASSERT(value_.has_value());
    return *value_;
  }
  T&& value() && {
    HAWSER_ASSERT(value_.has_value());
    return std::move(*value_);
  }
  const Error& error() const {
    HAWSER_ASSERT(error_ != nullptr);
    return *error_;
  }
  Error take_error() {
    HAWSER_ASSERT(error_ != nullptr);
    return std::move(*error_);
  }

 private:
  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  explicit operator bool() const { return error_ == nullptr; }
  const Error& error() const {
    HAWSER_ASSERT(error_ != nullptr);
    return *error_;
  }
  Error take_error() {
    HAWSER_ASSERT(error_ != nullptr);
    return std::move(*error_);
  }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace hawser

// Leaves the function with the error of an expression that failed.
#define HAWSER_TRY(expression)                                            \
  do {                                                                    \
    if (auto hawser_result_ = (expression); !hawser_result_) [[unlikely]] \
      return hawser_result_.take_error();                                 \
  } while (false)
