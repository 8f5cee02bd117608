// Memory regions, completion queues and shared receive queues of a VerbsDevice.
#pragma once

#include "access/verbs/verbs_device.h"

namespace hawser::rdma {

// How many requests or completions go to the library at once.
inline constexpr int verbs_batch = 16;

class VerbsMemoryRegion final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> make(VerbsDevice& device, void* address, std::size_t bytes,
                                                    Access access);
  VerbsMemoryRegion(VerbsDevice& device, ibv_mr* region, bool read_only)
      : device_(device), region_(region), read_only_(read_only) {}
  ~VerbsMemoryRegion() override { device_.functions().dereg_mr(region_); }
  VerbsMemoryRegion(const VerbsMemoryRegion&) = delete;
  VerbsMemoryRegion& operator=(const VerbsMemoryRegion&) = delete;
  std::uint32_t local_key() const override { return region_->lkey; }
  std::uint32_t remote_key() const override { return region_->rkey; }
  bool read_only() const override { return read_only_; }

 private:
  VerbsDevice& device_;
  ibv_mr* region_;
  bool read_only_;
};

class VerbsCompletionQueue final : public CompletionQueue {
 public:
  static Result<std::unique_ptr<CompletionQueue>> make(VerbsDevice& device, std::int32_t depth);
  VerbsCompletionQueue(VerbsDevice& device, ibv_cq* queue) : device_(device), queue_(queue) {}
  ~VerbsCompletionQueue() override { device_.functions().destroy_cq(queue_); }
  VerbsCompletionQueue(const VerbsCompletionQueue&) = delete;
  VerbsCompletionQueue& operator=(const VerbsCompletionQueue&) = delete;
  int poll(std::span<Completion> into) override;
  Result<> arm(bool solicited_only) override { return device_.arm(queue_, solicited_only); }

  ibv_cq* get() const { return queue_; }
  // The queue pair is destroyed: nothing more can come of it. Takes what stands in the queue aside and drops
  // what is its, since libraries may leave it there and the number may soon be another's.
  void forget(std::uint32_t queue_pair);

 private:
  int poll_held(std::span<Completion> into);
  int poll_library(std::span<Completion> into);

  VerbsDevice& device_;
  ibv_cq* queue_;
  std::vector<Completion> held_;  // to be handed out before what the library has
  std::size_t handed_out_ = 0;    // of them
};

class VerbsSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  static Result<std::unique_ptr<SharedReceiveQueue>> make(VerbsDevice& device, std::int32_t depth);
  VerbsSharedReceiveQueue(VerbsDevice& device, ibv_srq* queue) : device_(device), queue_(queue) {}
  ~VerbsSharedReceiveQueue() override { device_.functions().destroy_srq(queue_); }
  VerbsSharedReceiveQueue(const VerbsSharedReceiveQueue&) = delete;
  VerbsSharedReceiveQueue& operator=(const VerbsSharedReceiveQueue&) = delete;
  Result<> post(std::span<const ReceiveRequest> requests) override;

  ibv_srq* get() const { return queue_; }

 private:
  VerbsDevice& device_;
  ibv_srq* queue_;
};

}  // namespace hawser::rdma
