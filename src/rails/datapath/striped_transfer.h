// StripedTransfer: what the stripe engine knows of bytes that it moves for an owner: where they lie at both
// ends, which ranges wait to be posted, and how much was moved. Owners derive what else a transfer has.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intrusive_list.h"
#include "channel/traffic_class.h"
#include "rails/datapath/byte_ranges.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/finish_choice.h"
#include "rails/memory/registration.h"
#include "rails/policy/scheduling_policy.h"
#include "rails/wire/packet.h"

namespace hawser {

class StripedTransfer;
class VirtualChannel;

// Who wants bytes moved: a rendezvous, or a put or get.
class StripeOwner {
 public:
  // The first stripe is about to be posted, and local() was not made. False: no adapter takes the memory.
  virtual bool prepare(StripedTransfer& transfer) = 0;
  // The bytes of this range are where they should be; of a write the peer's adapter says so, which may die
  // before the peer's software sees them: until the owner confirms or withdraws the transfer, the range may
  // be taken back and moved again. The owner may end the transfer in the call.
  virtual void on_done(StripedTransfer& transfer, const ByteRange& range) = 0;
  // No adapter reaches the bytes at both ends, and none is about to. The ranges in rest() are the owner's to
  // move in another way; of a read nothing is in flight.
  virtual void on_failed(StripedTransfer& transfer) = 0;

  // Of one-sided transfers only.
  // A range that was written, and told of by on_done, lies in the peer's memory for certain.
  virtual void on_confirmed(StripedTransfer&, const ByteRange&) {}
  // A stripe failed of a transfer that was stopped, by the owner or because the peer's adapter refused it.
  virtual void on_stopped(StripedTransfer&) {}
  // The transfer has no keys for some adapter at the peer that could be used now.
  virtual void on_keys_wanted(StripedTransfer&) {}

 protected:
  ~StripeOwner() = default;
};

// Whether the peer's software has a part in it. If so, a finish tells it of each write, and it says when it
// has everything; if not, a confirmation proves writes (put_confirmations.h).
enum class Sides : std::uint8_t { two, one };

class StripedTransfer {
 public:
  explicit StripedTransfer(Direction direction, Sides sides = Sides::two)
      : direction_(direction), sides_(sides) {}
  StripedTransfer(const StripedTransfer&) = delete;
  StripedTransfer& operator=(const StripedTransfer&) = delete;

  void begin(VirtualChannel& peer, TrafficClass traffic, StripeOwner& owner) {
    peer_ = &peer;
    traffic_ = traffic;
    owner_ = &owner;
  }
  // For another use; the engine must have nothing of it.
  void reset();

  Direction direction() const { return direction_; }
  VirtualChannel& peer() const { return *peer_; }
  TrafficClass traffic() const { return traffic_; }
  Sides sides() const { return sides_; }
  // One-sided, a few bytes: they are or come into this buffer of the packets', which is the owner's, and go
  // over one path as a packet does.
  void use_buffer(PacketBuffer* buffer) { buffer_ = buffer; }
  PacketBuffer* buffer() const { return buffer_; }
  bool light() const { return buffer_ != nullptr; }
  Registration& local() { return local_; }
  const Registration& local() const { return local_; }
  // The bytes at the other end. `name` is what the finishes of writes call the transfer.
  void set_remote(const RemoteBytes& bytes) { remote_ = bytes; }
  const RemoteBytes& remote() const { return remote_; }
  void set_remote_name(const TransferName& name) { remote_name_ = name; }
  const TransferName& remote_name() const { return remote_name_; }
  // Of a read: the peer takes finishes of it, by its name there.
  void want_finishes(const TransferName& name) {
    remote_name_ = name;
    wants_finishes_ = true;
  }
  // Finishes of all bytes were sent, or will be when they are read, without this end's software.
  bool finished() const { return finished_; }

  // Where a range of it lies here, for this device.
  rdma::Segment segment(const ByteRange& range, std::size_t device) const {
    if (buffer_ != nullptr)
      return {buffer_->data + range.offset, static_cast<std::uint32_t>(range.size),
              buffer_->local_keys[device]};
    return {local_.address() + range.offset, static_cast<std::uint32_t>(range.size),
            local_.local_key(device)};
  }

  // Bytes, those that the owner moved in another way included.
  std::int64_t moved() const { return moved_; }
  void note_moved(std::int64_t bytes) { moved_ += bytes; }
  std::vector<ByteRange>& rest() { return rest_; }
  bool in_flight() const { return in_flight_ > 0; }
  // Nothing of it is to be moved any more.
  bool stopped() const { return stopped_; }
  // All of it is to be moved again.
  void reset_moved() { moved_ = 0; }
  // Moves what is added from now on over one path only, each time over another one: one of them damages
  // bytes.
  void take_another_path() { ++one_path_; }

 private:
  friend class ReadFinishes;
  friend class StripeEngine;
  WorkEntry::Kind kind() const {
    return direction_ == Direction::read ? WorkEntry::Kind::read
           : sides_ == Sides::one        ? WorkEntry::Kind::put
                                         : WorkEntry::Kind::write;
  }
  std::int32_t requests() const { return kind() == WorkEntry::Kind::write ? 2 : 1; }  // of a stripe
  bool begun() const { return posted_ > 0 || moved_ > 0 || reissued_; }

  ListLink link_;     // among those with ranges to be posted
  ListLink written_;  // among those with writes that the peer's software may not have seen
  const Direction direction_;
  const Sides sides_;
  TrafficClass traffic_ = TrafficClass::blocking;
  bool reissued_ = false;  // a stripe failed
  bool stopped_ = false;
  bool wants_finishes_ = false, finished_ = false;
  ProgramState program_ = ProgramState::waits;  // when reads were posted
  std::uint32_t one_path_ = 0;                  // the how manieth usable path is to be used; 0: all
  std::uint32_t sent_before_ = 0;  // packets that the program had sent to the peer when reads were posted
  std::int32_t in_flight_ = 0;     // stripes
  std::int64_t posted_ = 0;        // bytes of them
  std::int64_t moved_ = 0;
  VirtualChannel* peer_ = nullptr;
  StripeOwner* owner_ = nullptr;
  PacketBuffer* buffer_ = nullptr;  // null: the bytes lie where local_ says
  Registration local_;
  RemoteBytes remote_;
  TransferName remote_name_;
  std::vector<ByteRange> rest_;  // that no stripe carries now
  EntryList acknowledged_;       // writes
};

}  // namespace hawser
