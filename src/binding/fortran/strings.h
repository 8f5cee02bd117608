// CHARACTER arguments: blank-padded, their lengths handed over behind all other arguments (as gfortran, flang
// and others do). C's strings end with a null character.
#pragma once

#include <string>
#include <vector>

#include "binding/fortran/arguments.h"

namespace hawser::fortran {

// A string without the blanks at its end; with `leading`, also without those at its begin (keys and values of
// info).
std::string trimmed(const char* text, std::size_t length, bool leading = false);

class Text {
 public:
  Text(const char* text, std::size_t length, bool leading = false) : text_(trimmed(text, length, leading)) {}
  operator const char*() const { return text_.c_str(); }

 private:
  std::string text_;
};

// A string that comes out; C may write `capacity` characters, null included. With a flag, it counts only if
// that becomes true.
class OutText {
 public:
  OutText(char* text, std::size_t length, std::int64_t capacity, const int* flag = nullptr);
  ~OutText();
  OutText(const OutText&) = delete;
  operator char*() { return buffer_.data(); }

 private:
  char* text_;
  std::size_t length_;
  const int* flag_;
  std::string buffer_;
};

// A length that counts C's null character in C, and does not in Fortran.
class Capacity {
 public:
  explicit Capacity(int* argument) : argument_(argument), value_(*argument > 0 ? *argument + 1 : 0) {}
  ~Capacity() { put(argument_, value_ > 0 ? value_ - 1 : 0); }
  Capacity(const Capacity&) = delete;
  operator int*() { return &value_; }

 private:
  int* argument_;
  int value_;
};

// n strings, one behind the other.
class Texts {
 public:
  template <class Length>
  Texts(const char* texts, std::size_t length, Length n) : Texts(texts, length, std::int64_t{n()}) {}
  Texts(const char* texts, std::size_t length, std::int64_t n);
  operator char**() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Arguments of a command: strings that end with a blank one, or MPI_ARGV_NULL. `stride` bytes from one to the
// next.
class Arguments {
 public:
  Arguments(const char* texts, std::size_t length) : Arguments(texts, length, length) {}
  Arguments(const char* texts, std::size_t length, std::size_t stride);
  operator char**() { return pointers_.empty() ? MPI_ARGV_NULL : pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Arguments of n commands: CHARACTER(*) array(n, *), or MPI_ARGVS_NULL.
class ArgumentLists {
 public:
  template <class Length>
  ArgumentLists(const char* texts, std::size_t length, Length n)
      : ArgumentLists(texts, length, std::int64_t{n()}) {}
  ArgumentLists(const char* texts, std::size_t length, std::int64_t n);
  operator char***() { return pointers_.empty() ? MPI_ARGVS_NULL : pointers_.data(); }

 private:
  std::vector<Arguments> lists_;
  std::vector<char**> pointers_;
};

}  // namespace hawser::fortran
