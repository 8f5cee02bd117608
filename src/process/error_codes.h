// ErrorCodes: the classes and codes that the program adds to MPI's own (MPI-5.0 section 9.5), and what all of
// them say.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hawser {

class ErrorCodes {
 public:
  // The larger MPI_ERR_LASTCODE of the two ABIs (MPICH's; the standard's is 0x3fff). Codes of the program are
  // larger.
  static constexpr int last_predefined = 0x3fffffff;

  int add_class();
  Result<int> add_code(int error_class);
  Result<> set_text(int code, std::string_view text);
  Result<> remove_class(int error_class);
  Result<> remove_code(int code);
  Result<> remove_text(int code);

  Result<int> class_of(int code) const;
  Result<std::string> text_of(int code) const;
  // As if it had happened.
  Result<> describe(int code, Error& error) const;
  int last_used() const { return last_used_; }  // MPI_LASTUSEDCODE
  // A stable place, as attributes are given out.
  int* last_used_address() { return &last_used_; }

 private:
  struct Added {
    int error_class;  // itself for a class
    std::string text;
  };
  std::map<int, Added> added_;
  int last_used_ = last_predefined;
};

// What MPI_Error_string says of a predefined class; null for numbers that are none.
const char* text_of_class(int error_class);

}  // namespace hawser
