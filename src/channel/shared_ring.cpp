#include "channel/shared_ring.h"

#include <algorithm>
#include <utility>

namespace hawser {

namespace {

const std::atomic<std::uint32_t> perhaps_asleep{1};
constexpr std::uint32_t least_present = 4 << 10;

}  // namespace

RingSender::RingSender(const SharedSegment& segment, std::int32_t self, std::int32_t peer,
                       NeighbourWaker& waker, bool fence)
    : slots_(segment.ring_slots(self, peer)),
      slot_mask_(segment.layout().ring_slots - 1),
      ring_bytes_(segment.layout().ring_bytes),
      asleep_(fence ? &perhaps_asleep : &segment.block(peer).sleeping),
      peer_(&segment.block(peer)),
      bytes_(segment.ring_bytes(self, peer)),
      control_(&segment.ring_control(self, peer)),
      waker_(&waker),
      announcement_(&peer_->incoming[self / 64]),
      announcement_bit_(std::uint64_t{1} << (self % 64)) {}

// Reads how far the peer has come; true if that many messages fit now.
bool RingSender::refresh(std::uint32_t slots) {
  if (!announced_) [[unlikely]] {
    announced_ = true;
    announcement_->fetch_or(announcement_bit_, std::memory_order_release);
  }
  past_messages_ += sent_ - std::exchange(counted_messages_, sent_);
  past_bytes_ += written_ - std::exchange(counted_bytes_, written_);
  const std::uint64_t taken = control_->taken.load(std::memory_order_acquire);
  limit_ = static_cast<std::uint32_t>(taken) + slot_mask_ + 1;
  // The peer does not know yet of a rest that skip_rest() counts as taken.
  const auto taken_bytes = static_cast<std::uint32_t>(taken >> 32);
  if (static_cast<std::int32_t>(taken_bytes - taken_bytes_) > 0) taken_bytes_ = taken_bytes;
  return limit_ - sent_ >= slots;
}

// Whether the peer has read all pieces.
bool RingSender::all_taken() {
  refresh(0);
  return taken_bytes_ == written_;
}

// The next piece will stand at the beginning. If the peer has read all that was written, then what is left
// out is free at once.
void RingSender::skip_rest(std::uint32_t rest) {
  if (taken_bytes_ == written_) taken_bytes_ += rest;
  written_ += rest;
  counted_bytes_ += rest;
}

void RingSender::expect_piece(std::uint32_t size) {
  std::uint32_t offset = written_ & (ring_bytes_ - 1);
  if (offset + size > ring_bytes_) offset = 0;
  for (std::uint32_t line = 0; line < size; line += cache_line) fetch_for_writing(bytes_ + offset + line);
}

// Pages of the byte part, twice as many as are needed: a call for each group, not an exception for each page
// here and another one at the receiver while it waits.
void RingSender::make_present(std::uint32_t bytes) {
  const std::uint32_t until = std::min(ring_bytes_, 2 * ((bytes + least_present - 1) & ~(least_present - 1)));
  make_pages_present(bytes_ + present_, until - present_);
  present_ = until;
}

void RingSender::wake_slowly() {
  // A read-modify-write is a full fence and sees the latest value: the case where this process could not be
  // made to execute a barrier by the sleeper.
  if (peer_->sleeping.fetch_add(0, std::memory_order_seq_cst) != 0) waker_->wake(*peer_);
}

void NeighbourWaker::wake(ProcessBlock& block) {
  const std::uint32_t was = block.sleeping.exchange(0, std::memory_order_acq_rel);
  if (was == 1) futex_wake_all(block.sleeping);
  if (was == 2) {
    if (!socket_.valid()) socket_ = make_wake_socket();
    send_wake(socket_, {block.wake_address, strnlen(block.wake_address, sizeof(block.wake_address))});
  }
}

const Slot RingReceiver::never_filled{};

RingReceiver::RingReceiver(const SharedSegment& segment, std::int32_t peer, std::int32_t self)
    : slots_(segment.ring_slots(peer, self)),
      slot_mask_(segment.layout().ring_slots - 1),
      quarter_slots_(segment.layout().ring_slots / 4),
      quarter_bytes_(segment.layout().ring_bytes / 4),
      ring_bytes_(segment.layout().ring_bytes),
      bytes_(segment.ring_bytes(peer, self)),
      control_(&segment.ring_control(peer, self)) {}

}  // namespace hawser
