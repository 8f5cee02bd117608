#include "message/send_buffer.h"

#include "base/out_of_memory.h"
#include "mpi/arguments.h"
#include "mpi/failure.h"

namespace hawser {

Result<> SendBuffer::attach(void* base, std::int64_t size) {
  if (attached_) return failure(ErrorClass::buffer, "a buffer is attached already");
  if (size < 0) return failure(ErrorClass::arg, "the size of the buffer, {}, is negative", size);
  attached_ = true;
  automatic_ = base == buffer_automatic;
  base_ = automatic_ ? nullptr : static_cast<std::byte*>(base);
  size_ = automatic_ ? 0 : size;
  return {};
}

void SendBuffer::detach(void*& base, std::int64_t& size) {
  HAWSER_ASSERT(used_.empty() && own_memory_.empty());
  base = automatic_ ? buffer_automatic : base_;
  size = size_;
  attached_ = automatic_ = false;
  base_ = nullptr;
  size_ = 0;
}

std::int64_t SendBuffer::find_gap(std::int64_t bytes) const {
  const std::int64_t needed = bytes + bsend_overhead;
  std::int64_t end = 0;
  for (const auto& [offset, length] : used_) {
    if (offset - end >= needed) return end;
    end = offset + length;
  }
  return size_ - end >= needed ? end : -1;
}

bool SendBuffer::has_room(std::int64_t bytes) const {
  return attached_ && (automatic_ || find_gap(bytes) >= 0);
}

std::byte* SendBuffer::reserve(std::int64_t bytes) {
  if (!attached_) return nullptr;
  if (automatic_) {
    auto memory = allocate_bytes(bytes + 1, "a buffered send");
    std::byte* place = memory.get();
    own_memory_.emplace(reinterpret_cast<std::uintptr_t>(place), std::move(memory));
    return place;
  }
  const std::int64_t offset = find_gap(bytes);
  if (offset < 0) return nullptr;
  used_.emplace(offset, bytes + bsend_overhead);
  return base_ + offset;
}

void SendBuffer::release(std::byte* place) {
  const std::size_t erased =
      automatic_ ? own_memory_.erase(reinterpret_cast<std::uintptr_t>(place)) : used_.erase(place - base_);
  HAWSER_ASSERT(erased == 1);
}

Error SendBuffer::no_room(std::int64_t bytes) const {
  if (!attached_) return failure(ErrorClass::buffer, "no buffer is attached for buffered sends");
  return failure(ErrorClass::buffer,
                 "the attached buffer of {} bytes has no room for a message of {} bytes and {} of overhead",
                 size_, bytes, bsend_overhead);
}

}  // namespace hawser
