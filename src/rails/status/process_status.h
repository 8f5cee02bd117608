// ProcessStatus: the status table and the event log of a real process, as the knobs `status` and `event_log`
// want them. The table lives in a memory file that others find among this process's open files (`hawser
// top`); there is no file in any file system, and it goes when the process does.
#pragma once

#include <memory>
#include <span>

#include "base/knobs.h"
#include "channel/exchange.h"
#include "os/shared_memory.h"
#include "rails/status/status_table.h"

namespace hawser {

class ProcessStatus {
 public:
  // An error: the event log cannot be written. No room for a table is none: there is no table then.
  static Result<std::unique_ptr<ProcessStatus>> open(const JobPlace& place, const Knobs& knobs,
                                                     Nanoseconds now);
  // Of a process without rails, so that it is seen: a table without paths.
  static Result<std::unique_ptr<ProcessStatus>> open_without_rails(const JobPlace& place, const Knobs& knobs,
                                                                   Nanoseconds now);
  RailStatus& rails() const { return *rails_; }

 private:
  void make_table(std::uint32_t rows);

  FileDescriptor file_;
  SharedMapping table_;
  std::span<std::byte> memory_;  // of the table; empty: none
  std::unique_ptr<LineSink> log_;
  std::unique_ptr<RailStatus> rails_;
};

}  // namespace hawser
