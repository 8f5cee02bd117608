// RingSender and RingReceiver: the two ends of the ring from one process to another of its node. One thread
// at each end. Everything here runs for every small message, so it is inline, and each end keeps what it
// needs in its own memory: the only shared lines touched are the message's own, the receiver's `sleeping`
// word (unchanged, hence in the cache), and, once per quarter of the ring, the line of credits.
#pragma once

#include <atomic>
#include <concepts>
#include <cstring>

#include "base/cross_core_copy.h"
#include "channel/shared_segment.h"

namespace hawser {

// Copies 0 to 36 bytes with few branches: two overlapping words cover every size of a class.
[[gnu::always_inline]] inline void copy_inline_payload(std::byte* to, const std::byte* from,
                                                       std::size_t size) {
  const auto pair = [&](auto word) {
    decltype(word) last;
    std::memcpy(&word, from, sizeof(word));
    std::memcpy(&last, from + size - sizeof(word), sizeof(word));
    std::memcpy(to, &word, sizeof(word));
    std::memcpy(to + size - sizeof(word), &last, sizeof(word));
  };
  if (size == 8) {
    std::memcpy(to, from, 8);
  } else if (size >= 16) {
    struct Words {
      std::uint64_t a, b;
    };
    if (size > 32) {
      std::memcpy(to + 16, from + 16, 16);
    }
    pair(Words{});
  } else if (size > 8) {
    pair(std::uint64_t{});
  } else if (size >= 4) {
    pair(std::uint32_t{});
  } else if (size >= 2) {
    pair(std::uint16_t{});
  } else if (size == 1) {
    *to = *from;
  }
}

// Wakes neighbours that sleep.
class NeighbourWaker {
 public:
  void wake(ProcessBlock& block);

 private:
  FileDescriptor socket_;  // made when a neighbour first sleeps on descriptors
};

class RingSender {
 public:
  RingSender(const SharedSegment& segment, std::int32_t self, std::int32_t peer, NeighbourWaker& waker,
             bool fence);

  // Sends a packet of at most Slot::inline_limit bytes. False: no room now. `make_header()` answers a room's
  // own type: so its fields go straight into the slot, for a compiler sees through assignments of one type
  // only.
  template <std::invocable MakeHeader>
  [[gnu::always_inline]] bool try_send_inline(MakeHeader&& make_header, const std::byte* payload,
                                              std::uint32_t size) {
    using Header = decltype(make_header());
    static_assert(sizeof(Header) == sizeof(TransportHeader));
    if (sent_ == limit_ && !refresh(1)) [[unlikely]]
      return false;
    const std::uint32_t sent = sent_;  // read once: for the compiler, what is written to the slot may be it
    Slot& slot = slots_[sent & slot_mask_];
    Header& own = reinterpret_cast<Header&>(slot.header);
    own = make_header();
    own.channel_word = size;
    copy_inline_payload(slot.payload, payload, size);
    sent_ = sent + 1;
    slot.stamp.store(sent + 1, std::memory_order_release);
    wake_if_asleep();
    return true;
  }
  bool try_send_inline(const TransportHeader& header, const std::byte* payload, std::uint32_t size) {
    return try_send_inline([&] { return header; }, payload, size);
  }

  // True if `slots` messages and `bytes` of the byte part can be written now. A reservation may skip the
  // rest at the end of the ring: `bytes` must include one more piece for that.
  bool room(std::uint32_t slots, std::uint32_t bytes) {
    return (limit_ - sent_ >= slots && bytes_free() >= bytes) || (refresh(slots) && bytes_free() >= bytes);
  }
  // Bytes that could surely be reserved in one piece now.
  std::uint32_t bytes_free() const { return ring_bytes_ - (written_ - taken_bytes_); }

  // The next slot; the caller has made sure of room(), fills it and publishes it.
  Slot& next_slot() { return slots_[sent_ & slot_mask_]; }
  void publish(Slot& slot) {
    slot.stamp.store(++sent_, std::memory_order_release);
    wake_if_asleep();
  }
  // The number of the message that was sent last; it comes round.
  std::uint32_t last_number() const { return sent_; }
  // The last message that the peer had looked at when it last said so.
  std::uint32_t looked_at() const { return control_->looked_at.load(std::memory_order_acquire); }
  // Over the life of the ring: messages, and bytes of the byte part, in whole cache lines.
  std::uint64_t messages() const { return past_messages_ + (sent_ - counted_messages_); }
  std::uint64_t bytes() const { return past_bytes_ + (written_ - counted_bytes_); }

  // A place in the byte part, contiguous, on a cache line. Rests at the end of the ring are skipped, and for
  // a short piece what is behind the short lap, if the peer keeps up.
  Piece reserve(std::uint32_t size) {
    std::uint32_t offset = written_ & (ring_bytes_ - 1);
    if (offset + size > ring_bytes_ ||
        (ends_short_lap(offset, ring_bytes_) && size <= most_in_short_lap && all_taken())) [[unlikely]] {
      skip_rest(ring_bytes_ - offset);
      offset = 0;
    }
    if (offset + size > present_) [[unlikely]]
      make_present(offset + size);
    written_ += padded(size);
    return {offset, size};
  }
  std::byte* at(const Piece& piece) const { return bytes_ + piece.offset; }
  void copy_in(const Piece& piece, const std::byte* from) {
    if (piece.size <= most_in_lines)
      copy_lines(at(piece), from, piece.size);
    else if (piece.size <= most_expected || is_new(piece))
      call_memcpy(at(piece), from, piece.size);
    else
      copies_.copy(at(piece), from, piece.size);
  }
  // The same for data that do not lie in one piece, from `offset` on.
  void pack_in(const Piece& piece, Packer& packer, std::int64_t offset) {
    const auto pack = [&packer, offset](std::byte* to, std::size_t at, std::size_t bytes) {
      packer.pack(offset + static_cast<std::int64_t>(at), to, static_cast<std::int64_t>(bytes));
    };
    is_new(piece) ? pack(at(piece), 0, piece.size) : copies_.write(at(piece), piece.size, pack);
  }
  // The next piece will lie behind the last one and probably be as long: has its cache lines brought here
  // while nobody waits for them yet. Longer ones are copied past the caches where that is cheaper.
  static constexpr std::uint32_t most_expected = 2 << 10;
  static constexpr std::uint32_t most_in_lines = 512;
  void expect_piece(std::uint32_t size);
  float copy_cost() const { return copies_.cost(); }
  std::uint32_t ring_bytes() const { return ring_bytes_; }

  static std::uint32_t padded(std::uint32_t size) {
    return (size + cache_line - 1) & ~std::uint32_t{cache_line - 1};
  }

  // Short pieces that are read at once need no more of the ring than this: so few pages and cache lines, that
  // new ones are soon not met any more.
  static constexpr std::uint32_t short_lap = 32 << 10, most_in_short_lap = 512;
  // Whether a short piece may have been the last of such a lap: the receiver says then how far it is, and the
  // sender asks. What is left out has to be a quarter of the ring, so that its receiver says so, too.
  static bool ends_short_lap(std::uint32_t offset, std::uint32_t ring_bytes) {
    return offset - short_lap < most_in_short_lap && ring_bytes >= 2 * short_lap;
  }

  // After anything was published for the peer, here or elsewhere in shared memory.
  void wake_if_asleep() {
    // The sleeper announces itself, then has a barrier executed here (or bounds its sleep): see
    // MachineWaiter. So this side needs no fence, only that the compiler keeps the order.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (asleep_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_slowly();
  }

 private:
  bool refresh(std::uint32_t slots);
  bool all_taken();
  void skip_rest(std::uint32_t rest);
  // The first time round the system hands out the ring's memory, which takes longer than any copy and says
  // nothing of later ones.
  bool is_new(const Piece& piece) {
    const std::uint32_t end = piece.offset + piece.size;
    return end > used_ && (used_ = end, true);
  }
  [[gnu::cold]] void make_present(std::uint32_t bytes);
  [[gnu::cold]] void wake_slowly();

  Slot* slots_;
  std::uint32_t slot_mask_;
  std::uint32_t sent_ = 0;   // messages
  std::uint32_t limit_ = 0;  // sent_ may grow up to here; 0 also makes the first send come by refresh()
  std::uint32_t ring_bytes_;
  // The peer's `sleeping`; or, if the sleeper cannot make this process execute a barrier, a word that always
  // says so, which leads to the slow way and its fence.
  const std::atomic<std::uint32_t>* asleep_;
  ProcessBlock* peer_;

  CrossCoreCopy copies_;
  std::byte* bytes_;
  std::uint32_t present_ = 0;      // bytes of the byte part whose pages have been asked for
  std::uint32_t used_ = 0;         // so far a piece that is_new() was asked of has reached
  std::uint32_t written_ = 0;      // bytes, over the life of the ring
  std::uint32_t taken_bytes_ = 0;  // as far as known
  // What refresh() saw: the counts above are narrow, and it is called long before they come round.
  std::uint64_t past_messages_ = 0;
  std::uint64_t past_bytes_ = 0;
  std::uint32_t counted_messages_ = 0;
  std::uint32_t counted_bytes_ = 0;
  bool announced_ = false;  // that our ring is to be polled
  RingControl* control_;
  NeighbourWaker* waker_;
  std::atomic<std::uint64_t>* announcement_;
  std::uint64_t announcement_bit_;
};

class RingReceiver {
 public:
  RingReceiver(const SharedSegment& segment, std::int32_t peer, std::int32_t self);

  // The next message, or null.
  const Slot* front() {
    const Slot& slot = slots_[taken_ & slot_mask_];
    if (slot.stamp.load(std::memory_order_acquire) != taken_ + 1) return nullptr;
    return &slot;
  }
  // Gives the front message back to the sender.
  void pop() {
    ++taken_;
    if (taken_ - told_ >= quarter_slots_ || bytes_due_) tell();
  }
  // The piece has been read; called before pop() of the slot that named it.
  void took(const Piece& piece) {
    const std::uint32_t left_out = skipped(piece);
    past_bytes_ -= left_out;
    taken_bytes_ += left_out + RingSender::padded(piece.size);
    awaited_bytes_ = piece.size <= most_awaited && looks_ >= looks_in_vain ? piece.size : 0;
    looks_ = 0;
    if (taken_bytes_ - told_bytes_ >= quarter_bytes_ ||
        RingSender::ends_short_lap(taken_bytes_ & (ring_bytes_ - 1), ring_bytes_))
      bytes_due_ = true;
  }
  // Tells the sender what has been looked at; `front`: the front message, too.
  void tell_looked_at(bool front) {
    control_->looked_at.store(taken_ + (front ? 1 : 0), std::memory_order_release);
  }
  // At the end of a round of pops. True if the sender got credit, for which it may be waiting asleep.
  bool settle_credit() {
    const bool told = told_now_;
    told_now_ = false;
    return told;
  }
  // Over the life of the ring, as RingSender has them.
  std::uint64_t messages() const { return past_messages_ + (taken_ - told_); }
  std::uint64_t bytes() const { return past_bytes_ + (taken_bytes_ - told_bytes_); }
  const std::byte* at(const Piece& piece) const { return bytes_ + piece.offset; }
  // Where the next piece lies unless a rest was left out. A processor that guesses that there is one then
  // fetches it before it has read the slot that says so.
  const std::byte* expected_piece() const { return bytes_ + (taken_bytes_ & (ring_bytes_ - 1)); }
  // Before each look. If a short piece came last, and not at once, then the next one may do so, too: its
  // cache lines are asked for, so that they come with the slot's and not after it. In a stream, where pieces
  // come at once, they are left to the sender, which is just writing them.
  void await_piece() {
    ++looks_;
    fetch_for_reading(expected_piece(), awaited_bytes_);
  }
  // What stands in the ring makes no sense: nothing is taken from it any more.
  void close() {
    slots_ = &never_filled;
    slot_mask_ = 0;
  }
  bool valid(const Piece& piece) const {
    return piece.size <= ring_bytes_ && piece.offset <= ring_bytes_ - piece.size;
  }

 private:
  // The rest at the end of the ring that the sender left out before this piece.
  std::uint32_t skipped(const Piece& piece) const {
    return (piece.offset - taken_bytes_) & (ring_bytes_ - 1);
  }
  void tell() {
    bytes_due_ = false;
    told_now_ = true;
    past_messages_ += taken_ - told_;
    past_bytes_ += taken_bytes_ - told_bytes_;
    told_ = taken_;
    told_bytes_ = taken_bytes_;
    control_->taken.store(std::uint64_t{taken_bytes_} << 32 | taken_, std::memory_order_release);
  }

  static const Slot never_filled;
  static constexpr std::uint32_t most_awaited = 512, looks_in_vain = 5;

  const Slot* slots_;
  std::uint32_t slot_mask_;
  std::uint32_t taken_ = 0;  // messages
  std::uint32_t told_ = 0;
  std::uint32_t quarter_slots_;
  std::uint32_t quarter_bytes_;
  std::uint32_t taken_bytes_ = 0;
  std::uint32_t told_bytes_ = 0;
  std::uint32_t awaited_bytes_ = 0;
  std::uint32_t looks_ = 0;
  bool bytes_due_ = false;
  bool told_now_ = false;
  std::uint64_t past_messages_ = 0;  // of which the sender was told
  std::uint64_t past_bytes_ = 0;     // less what was left out and the sender has not been told yet
  std::uint32_t ring_bytes_;
  const std::byte* bytes_;
  RingControl* control_;
};

}  // namespace hawser
