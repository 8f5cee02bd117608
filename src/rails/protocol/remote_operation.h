// A put or get under way, and what is known of all of them with one peer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/byte_sequence.h"
#include "base/intrusive_list.h"
#include "channel/transport.h"
#include "rails/datapath/striped_transfer.h"
#include "rails/wire/packet.h"

namespace hawser {

struct RemoteOperation : StripedTransfer {
  explicit RemoteOperation(Direction direction) : StripedTransfer(direction, Sides::one) {}

  ListLink link;         // among those with the peer
  ListLink pieces_link;  // among those that are moved in pieces
  ByteSequence bytes;    // the caller's
  Completion* end = nullptr;
  TransferName window;
  std::uint64_t batch = 0;     // between which flushes it was begun
  std::int64_t confirmed = 0;  // bytes of a put that the peer's memory has
  bool small_buffer = false;   // which pool its buffer is of
  std::optional<Error> error;

  // What is not one piece, here or at the peer, goes in pieces that are one there, each an operation of its
  // own; and so does what no adapter can reach where it lies. Of few or short blocks here a piece is a copy
  // in a buffer of the packets', of others a list of them.
  const Packer* layout = nullptr;  // where the bytes lie at the peer, if not in one piece, from remote() on
  std::int64_t window_size = 0;
  bool copied = false;               // all pieces
  RemoteOperation* whole = nullptr;  // whose piece this is
  std::int64_t first = 0;            // where it begins in that
  std::int32_t pieces = 0;           // of this one, under way

  bool put() const { return direction() == Direction::write; }
  bool over() const {
    const bool idle = !in_flight() && pieces == 0 && (!put() || confirmed == moved());
    return idle && (stopped() || moved() == bytes.size);
  }
  void reset() {
    StripedTransfer::reset();
    bytes = {};
    end = nullptr;
    confirmed = 0;
    error.reset();
    layout = nullptr;
    copied = false;
    whole = nullptr;
    first = 0;
    pieces = 0;
  }
};

// With one peer, not over; then try_put and try_get say that there is no room.
inline constexpr std::int32_t most_operations = 1024;
// Pieces of them that are under way: what waits behind them may go over whichever rail is free then.
inline constexpr std::int32_t most_pieces = 256;

Error outside_of_window(std::int64_t size, std::int64_t offset, std::int64_t window);

// Between the caller's bytes and a buffer.
inline void copy_out(const ByteSequence& from, std::int64_t offset, std::byte* to, std::int64_t size) {
  if (from.contiguous())
    std::memcpy(to, from.data + offset, static_cast<std::size_t>(size));
  else
    from.packer->pack(offset, to, size);
}
inline void copy_in(const ByteSequence& to, std::int64_t offset, const std::byte* from, std::int64_t size) {
  if (to.contiguous())
    std::memcpy(to.data + offset, from, static_cast<std::size_t>(size));
  else
    to.packer->unpack(offset, from, size);
}

// Operations of one direction, which are used again and stay where they are.
class OperationPool {
 public:
  explicit OperationPool(Direction direction) : direction_(direction) {}
  RemoteOperation& take() {
    ++live_;
    if (free_.empty()) return operations_.emplace_back(direction_);
    RemoteOperation& taken = *free_.back();
    free_.pop_back();
    return taken;
  }
  void release(RemoteOperation& operation) {
    operation.reset();
    free_.push_back(&operation);
    --live_;
  }
  std::int32_t live() const { return live_; }

 private:
  const Direction direction_;
  std::deque<RemoteOperation> operations_;
  std::vector<RemoteOperation*> free_;
  std::int32_t live_ = 0;
};

// One-sided traffic with one peer.
struct PeerOperations {
  // What was begun between two flushes.
  struct Batch {
    std::int64_t unfinished = 0;
    Completion* flush = nullptr;  // null: it is open
    std::optional<Error> error;   // of one that has nobody else to tell
  };
  // Of a window of the peer, whose adapters were opened again since its token was made.
  struct LaterKeys {
    TransferName window;
    bool asked = false;  // and not answered yet
    bool known = false;
    RemoteBytes bytes;
  };

  Batch& batch_of(const RemoteOperation& operation) {
    return batches[static_cast<std::size_t>(operation.batch - first_batch)];
  }
  LaterKeys* find_keys(const TransferName& window) {
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const LaterKeys& each) { return each.window == window; });
    return found == keys.end() ? nullptr : &*found;
  }
  bool flushing() const { return batches.size() > 1; }

  IntrusiveList<RemoteOperation, &RemoteOperation::link> operations;
  std::int32_t live = 0;
  std::int32_t pieces = 0;       // of these
  std::deque<Batch> batches{1};  // the last one is open
  std::uint64_t first_batch = 0;
  std::vector<LaterKeys> keys;
};

}  // namespace hawser
