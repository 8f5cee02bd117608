// Result<T>: a value, or an Error that names what went wrong. How every operation that may fail for
// reasons outside the code (arguments, the system, the network) answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"

namespace hawser {

// What sort of failure an Error is, for callers that treat some of them differently. MPI's error classes are
// made of them in mpi/error_class.h.
enum class ErrorKind : std::uint8_t {
  unknown,
  other,      // the system, the network or a peer refused
  peer_lost,  // a process has failed, or cannot be reached any more
  invalid_argument,
  not_found,
  access_denied,  // it belongs to another user
  name_taken,
  bad_file,     // a file cannot be written
  bad_address,  // memory that cannot be used
  io,
  no_memory,
  unsupported,
  internal,  // the other side breaks a protocol of Hawser's own
};

struct Error {
  ErrorKind kind = ErrorKind::unknown;
  std::string text;  // one sentence without a full stop: what was wrong, with the offending value
  int code = 0;      // a number of the room that made it, which says more than the kind; 0: none
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
