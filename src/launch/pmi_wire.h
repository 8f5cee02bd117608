// PMI-1 on the wire: lines of `key=value` words. Both ends, the client and our mpiexec, use this; nothing
// here does input or output. Words are found by key, never by place: launchers order them differently.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

namespace pmi {
inline constexpr int name_limit = 256;
inline constexpr int key_limit = 64;
inline constexpr int value_limit = 1024;
}  // namespace pmi

// One line. The views point into the text that was parsed.
class PmiMessage {
 public:
  // Accepts any line of words; words without `=` (such as `endcmd`) have an empty value.
  static Result<PmiMessage> parse(std::string_view line);

  std::string_view command() const { return command_; }  // the value of `cmd` or `mcmd`
  bool multiline() const { return multiline_; }          // began with mcmd=: goes on until `endcmd`
  std::optional<std::string_view> find(std::string_view key) const;
  std::optional<int> number(std::string_view key) const;

 private:
  std::string_view command_;
  bool multiline_ = false;
  std::vector<std::pair<std::string_view, std::string_view>> words_;
};

// Collects bytes from a stream and gives out lines and, where a line announces them, raw bytes.
class PmiStream {
 public:
  void append(std::string_view bytes);
  // The next whole line without its newline; valid until the next call of append.
  std::optional<std::string_view> take_line();
  // The next `size` bytes, once all of them are here.
  std::optional<std::string_view> take_bytes(std::size_t size);
  std::size_t waiting() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  // up to here there is no end of the next line
};

}  // namespace hawser
