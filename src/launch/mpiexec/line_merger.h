// Merges the output of many ranks into one, line by line: a line of one rank is never broken by another's.
// Pure: bytes and `now` in, bytes out. A line without its end (a prompt) is let through when it has waited a
// while; what others write then begins on a new line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace hawser {

class LineMerger {
 public:
  LineMerger(int streams, bool label);

  void feed(int stream, std::string_view bytes, Nanoseconds now);
  // The stream's end: lets through what it has left.
  void finish(int stream);
  // Lets through unfinished lines that have waited long enough.
  void flush_stale(Nanoseconds now);
  // When flush_stale has something to do; `never` if nothing waits.
  Nanoseconds next_flush() const;

  std::string& output() { return output_; }

 private:
  struct Stream {
    std::string partial;  // the beginning of a line
    Nanoseconds since = 0;
  };

  void begin_line(int stream);
  void emit(int stream, std::string_view text);
  void emit_lines(int stream, std::string_view lines);

  std::vector<Stream> streams_;
  bool label_;
  bool single_;         // nothing to be merged: bytes go straight through
  int open_line_ = -1;  // whose unfinished line the output ends with; -1: it ends with a newline
  std::string output_;
};

inline constexpr Nanoseconds partial_line_patience = 100 * millisecond;
inline constexpr std::size_t longest_held_line = 64 * 1024;

}  // namespace hawser
