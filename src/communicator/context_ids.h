// ContextIds: the context ids that this process may assign to communicators. Rank 0 of a new communicator
// chooses its id. The id contains the number of that process, so no two processes choose the same one, and
// the members need not agree: they are told. Any number of communicators can be made at the same time, by any
// number of threads. An id is free again when all members have said that they are done with it.
#pragma once

#include <cstdint>
#include <deque>

#include "base/result.h"
#include "channel/transport.h"

namespace hawser {

class ContextIds {
 public:
  // MPI_COMM_WORLD has id 0 and MPI_COMM_SELF the next one; process 0 never hands these out.

  // 0 <= self < processes.
  void open(ProcessIndex self, int processes);

  // A multiple of contexts_per_communicator.
  Result<std::uint32_t> take();
  void give_back(std::uint32_t context);
  bool chosen_here(std::uint32_t context) const;
  // The process that chose an id.
  ProcessIndex chooser_of(std::uint32_t context) const;
  std::int64_t in_use() const { return in_use_; }

 private:
  std::uint32_t id(std::uint32_t number) const;

  std::uint32_t self_ = 0;
  int number_bits_ = 30;
  std::uint32_t next_ = 2;          // 0 and 1 are predefined
  std::deque<std::uint32_t> free_;  // the longest unused one is taken first
  std::int64_t in_use_ = 0;
};

}  // namespace hawser
