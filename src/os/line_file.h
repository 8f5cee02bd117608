// Lines of text to a file or to standard error, each in one write, so that the lines of several processes do
// not mix.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/line_sink.h"
#include "base/result.h"

namespace hawser {

// `where`: "stderr", or the name of a file to append to, in which %r stands for the rank, %p for the process
// id, %j for the job and %% for a percent sign. Lines that cannot be written are dropped.
Result<std::unique_ptr<LineSink>> open_line_sink(std::string_view where, std::int32_t rank,
                                                 std::string_view job);

}  // namespace hawser
