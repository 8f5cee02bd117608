// The passive objects of a client: completion queues, receive queues, and the ports by which the model talks
// back to whoever owns the client (the verbs room in the simulator, the daemon in the emulator).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "fabric/adapter/memory.h"
#include "fabric/adapter/types.h"

namespace hawser::fabric {

class QueuePair;
struct CompletionQueue;
class ReceiveQueue;
struct SharedReceiveQueue;

// An error number of <errno.h> (0: done) and why, for logs. What creating, changing and posting answers.
struct Outcome {
  int error = 0;
  const char* why = "";
  bool ok() const { return error == 0; }
};

struct AsyncEvent {
  AsyncEventType type = AsyncEventType::device_fatal;
  QueuePair* queue_pair = nullptr;  // of the event's kind, one of these is set,
  CompletionQueue* completion_queue = nullptr;
  SharedReceiveQueue* shared_receive_queue = nullptr;
  int port = 0;  // or the port's number, or none (the device)
};

// One client's side of an adapter. Called from within the model: must not call back into it, except refill().
class ContextPort {
 public:
  virtual ~ContextPort() = default;
  virtual void asynchronous_event(const AsyncEvent& event) = 0;
  // A message has come and the queue is empty: post what the client has ready, if anything. For clients that
  // post into shared memory and are read lazily.
  virtual void refill(ReceiveQueue&) {}
};

// The data of a short message, and where in the receiver's memory they belong.
struct CarriedData {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;
};

// Where the entries of one completion queue go.
class CompletionPort {
 public:
  virtual ~CompletionPort() = default;
  // Up to how many bytes a received message may leave its data to its completion. The port's owner then puts
  // them in their place before the program sees the completion, as some adapters do ("scatter to CQE").
  virtual std::uint32_t most_carried() const { return 0; }
  // False when there is no room: the queue has overflowed, which is the end of it (CQ_ERR).
  virtual bool deliver(const Completion& completion, const CarriedData& carried) = 0;
};

struct CompletionQueue {
  Context& context;
  CompletionPort& port;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;  // the owner's, to find its object in events
  std::uint32_t users = 0;   // queue pairs; counted twice by one that uses it for both directions
  bool overflowed = false;
  std::uint64_t delivered = 0;
};

// A completion queue in memory: a ring with the arming rules of ibv_req_notify_cq.
class CompletionRing final : public CompletionPort {
 public:
  explicit CompletionRing(std::uint32_t capacity) : ring_(capacity) {}

  bool deliver(const Completion& completion, const CarriedData&) override {
    if (size_ == ring_.size()) return false;
    ring_[(head_ + size_++) % ring_.size()] = completion;
    const bool counts = completion.solicited || completion.status != CompletionStatus::success;
    if (armed_ && (!solicited_only_ || counts)) {
      armed_ = false;
      if (notify) notify();
    }
    return true;
  }
  // Takes up to `most` entries; returns how many.
  std::uint32_t poll(std::uint32_t most, Completion* out) {
    std::uint32_t taken = 0;
    for (; taken < most && size_ > 0; ++taken, --size_) {
      out[taken] = ring_[head_];
      head_ = (head_ + 1) % ring_.size();
    }
    return taken;
  }
  // The next entry (that was solicited, or failed) calls `notify` once.
  void arm(bool solicited_only) {
    solicited_only_ = armed_ ? solicited_only_ && solicited_only : solicited_only;
    armed_ = true;
  }
  // A size that holds what is there already; false otherwise.
  bool resize(std::uint32_t capacity);
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return ring_.size(); }

  std::function<void()> notify;

 private:
  std::vector<Completion> ring_;
  std::size_t head_ = 0, size_ = 0;
  bool armed_ = false, solicited_only_ = false;
};

struct ReceiveEntry {
  std::uint64_t id = 0;
  std::vector<Segment> segments;
};

// Posted receives, first in first out; of one queue pair or shared by many.
class ReceiveQueue {
 public:
  ReceiveQueue(std::uint32_t capacity, std::uint32_t most_segments)
      : capacity_(capacity), most_segments_(most_segments) {}

  Outcome post(const ReceiveRequest& request);
  // Swaps the front entry with `out`, so that both keep their memory; false when empty.
  bool take(ReceiveEntry& out);
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  std::uint32_t most_segments() const { return most_segments_; }
  std::uint64_t posted() const { return posted_; }

  std::uint64_t cookie = 0;  // its queue's, to know it in refill()

 private:
  void grow();

  std::vector<ReceiveEntry> ring_;  // as large as has been needed so far
  std::size_t capacity_;
  std::uint32_t most_segments_;
  std::size_t head_ = 0, size_ = 0;
  std::uint64_t posted_ = 0;
};

struct SharedReceiveQueue {
  Context& context;
  ProtectionDomain& domain;
  ReceiveQueue queue;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  std::uint32_t limit = 0;  // SRQ_LIMIT_REACHED once when fewer are left; 0: not armed
  std::uint32_t users = 0;
  // XRC: any process on the adapter whose queue pairs are in the same domain may receive into it.
  std::uint32_t xrc_domain = 0;  // 0: an ordinary one
  CompletionQueue* completion_queue = nullptr;
};

}  // namespace hawser::fabric
