// What the channels of a process need to know of the job, and how they tell each other addresses before any
// channel exists. The process room fills it from the launcher's Bootstrap; this room stays below launch/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

struct JobPlace {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::string job_id;                      // the same in all processes of the job, unlike other jobs'
  std::vector<std::int32_t> node_of_rank;  // size entries; equal numbers may share memory
  int node_segment_fd = -1;                // an inherited memfd for this node's segment; -1: none, on no node
  std::int32_t machine_processes = 0;  // that share the machine's cores, on all its virtual nodes; 0: unknown
  std::int32_t machine_cores = 1;      // that they may use together; the same for all of a node
  std::string host;                    // this process's, as people call it; may be virtual
};

class AddressExchange {
 public:
  // Makes `value` visible to all processes after the next fence.
  virtual Result<> put(std::string_view key, std::string_view value) = 0;
  virtual Result<> fence() = 0;  // collective over the job
  virtual Result<std::string> get(std::int32_t rank, std::string_view key) = 0;

  // For a process that cannot be reached because its addresses have changed, if the launcher can do that.
  // None of these waits. The launcher keeps what a process told it last; asks it for what another one told;
  // and what it answered since the last call, with the ranks. It does not answer if it was told nothing.
  virtual void tell_address(std::string_view) {}
  virtual void ask_address(std::int32_t) {}
  virtual std::vector<std::pair<std::int32_t, std::string>> take_addresses() { return {}; }

 protected:
  ~AddressExchange() = default;
};

}  // namespace hawser
