// LineSink: takes whole lines of text, without their end. Where they go is the business of who made it.
#pragma once

#include <string_view>

namespace hawser {

class LineSink {
 public:
  virtual ~LineSink() = default;
  virtual void write_line(std::string_view line) = 0;
};

}  // namespace hawser
