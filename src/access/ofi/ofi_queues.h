// Memory regions, completion queues and shared receive queues of an OfiDevice.
#pragma once

#include <deque>
#include <vector>

#include "access/ofi/ofi_functions.h"
#include "access/rdma.h"

namespace hawser::rdma {

class OfiDevice;
class OfiQueuePair;
class OfiSharedReceiveQueue;

// What libfabric gives back with a completion.
struct OfiOperation {
  OfiQueuePair* pair = nullptr;               // of a request
  OfiSharedReceiveQueue* receives = nullptr;  // of a receive
};

class OfiMemoryRegion final : public MemoryRegion {
 public:
  OfiMemoryRegion(OfiHandle<fid_mr> region, std::uint32_t key) : region_(std::move(region)), key_(key) {}
  std::uint32_t local_key() const override { return key_; }
  std::uint32_t remote_key() const override { return key_; }

 private:
  OfiHandle<fid_mr> region_;
  std::uint32_t key_;
};

// Completions are put in order here: libfabric's are taken in, and each queue pair hands its own on in the
// order of its requests.
class OfiCompletionQueue final : public CompletionQueue {
 public:
  static Result<std::unique_ptr<OfiCompletionQueue>> make(OfiDevice& device, std::int32_t depth);
  ~OfiCompletionQueue() override;
  OfiCompletionQueue(const OfiCompletionQueue&) = delete;
  OfiCompletionQueue& operator=(const OfiCompletionQueue&) = delete;
  int poll(std::span<Completion> into) override;
  Result<> arm(bool solicited_only) override;

  fid_cq* get() const { return queue_.get(); }
  // Takes in what libfabric has; true if there was anything.
  bool take_in();
  void push(const Completion& completion) { ready_.push_back(completion); }
  // The queue pair is destroyed: its completions are dropped.
  void forget(std::uint32_t queue_pair);

 private:
  OfiCompletionQueue(OfiDevice& device, OfiHandle<fid_cq> queue, int descriptor)
      : device_(device), queue_(std::move(queue)), descriptor_(descriptor) {}
  void take_error();

  OfiDevice& device_;
  OfiHandle<fid_cq> queue_;
  int descriptor_;
  std::vector<Completion> ready_;
  std::size_t handed_out_ = 0;  // of them
};

class OfiSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  static Result<std::unique_ptr<SharedReceiveQueue>> make(OfiDevice& device, std::int32_t depth);
  Result<> post(std::span<const ReceiveRequest> requests) override;

  fid_ep* get() const { return queue_.get(); }
  // A receive was filled: which one it was.
  std::uint64_t take(OfiOperation& operation);
  // It failed; it goes back.
  void repost(OfiOperation& operation);

 private:
  struct Receive : OfiOperation {
    ReceiveRequest request;
  };
  OfiSharedReceiveQueue(OfiDevice& device, OfiHandle<fid_ep> queue)
      : device_(device), queue_(std::move(queue)) {}
  Result<> give(Receive& receive);

  OfiDevice& device_;
  std::deque<Receive> all_;  // which stay where they are
  std::vector<Receive*> unused_;
  OfiHandle<fid_ep> queue_;  // closed first: nothing is received any more
};

}  // namespace hawser::rdma
