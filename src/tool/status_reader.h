// StatusReader: finds the processes of this user that keep a status table (channel/rails/status_layout.h) and
// copies out what stands in it. A process shows its table among its open files; nobody is asked or disturbed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rails/status/status_layout.h"

namespace hawser {

struct SeenPath {
  PathStatus facts;
  std::int64_t bytes_per_second = 0;  // the weight
  std::int64_t bytes_in_flight = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t requests_done = 0;
  Nanoseconds round_trip = 0;  // 0: not known
};

struct SeenProcess {
  pid_t pid = 0;  // here
  StatusIdentity identity;
  Nanoseconds looked = 0;
  std::vector<SeenPath> paths;
  std::uint64_t paths_lost = 0;     // for which the table had no room
  std::vector<EventRecord> events;  // the oldest first
  std::vector<std::uint64_t> counters;
};

// What stands in a table of a process, which can be anything; nothing: it is no table that this program
// knows.
std::optional<SeenProcess> read_status_table(std::span<const std::byte> table, pid_t pid);

class StatusReader {
 public:
  StatusReader() = default;
  StatusReader(const StatusReader&) = delete;
  StatusReader& operator=(const StatusReader&) = delete;
  ~StatusReader();

  // All processes there are now, by job and rank. `only`: this process alone, if not 0.
  std::vector<SeenProcess> look(pid_t only);

 private:
  struct Table {
    pid_t pid = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool present = false;
  };
  using FileNumber = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  void find_tables(pid_t only);
  void open_table(const std::string& path, pid_t pid);

  std::map<FileNumber, Table> tables_;
};

}  // namespace hawser
