// SendBuffer: the memory that a program attaches for buffered sends (MPI-5.0 section 3.6), and which part
// of it is in use; or, with MPI_BUFFER_AUTOMATIC, memory of our own. One for the process, one for each
// communicator that has its own. Books only: sending is PointToPoint's.
//
// Every message takes its size and at most bsend_overhead more, as the standard promises, and nothing of
// our own is kept in the user's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/intrusive_list.h"
#include "base/result.h"
#include "message/message_request.h"

namespace hawser {

inline constexpr std::int64_t bsend_overhead = 96;  // MPI_BSEND_OVERHEAD of the ABIs: 96 and 512

class SendBuffer {
 public:
  // `base` may be the core's mark for MPI_BUFFER_AUTOMATIC (mpi/arguments.h).
  Result<> attach(void* base, std::int64_t size);
  bool attached() const { return attached_; }
  // After the last message left: what was attached.
  void detach(void*& base, std::int64_t& size);

  // Room for a message, given back by `release`; null if there is none.
  std::byte* reserve(std::int64_t bytes);
  void release(std::byte* place);
  bool has_room(std::int64_t bytes) const;
  Error no_room(std::int64_t bytes) const;

  // Messages that lie in the buffer, oldest first; requests that wait for them (MPI_Buffer_iflush).
  IntrusiveList<MessageRequest, &MessageRequest::buffer_link> messages;
  IntrusiveList<MessageRequest, &MessageRequest::link> flushes;
  std::uint64_t last_sequence = 0;

 private:
  // The place of the first gap of so many bytes, or -1.
  std::int64_t find_gap(std::int64_t bytes) const;

  bool attached_ = false;
  bool automatic_ = false;
  std::byte* base_ = nullptr;
  std::int64_t size_ = 0;
  std::map<std::int64_t, std::int64_t> used_;                          // offset: bytes
  std::map<std::uintptr_t, std::unique_ptr<std::byte[]>> own_memory_;  // automatic
};

}  // namespace hawser
