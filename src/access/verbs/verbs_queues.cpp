#include "access/verbs/verbs_queues.h"

#include <algorithm>
#include <cerrno>

#include "access/verbs/verbs_translation.h"
#include "base/failure.h"

namespace hawser::rdma {

Result<std::unique_ptr<MemoryRegion>> VerbsMemoryRegion::make(VerbsDevice& device, void* address,
                                                              std::size_t bytes, Access access) {
  int rights = IBV_ACCESS_LOCAL_WRITE;
  if (access != Access::local) rights |= IBV_ACCESS_REMOTE_WRITE;
  if (access == Access::remote_read_write) rights |= IBV_ACCESS_REMOTE_READ;
  ibv_mr* region = device.functions().reg_mr(device.domain(), address, bytes, rights);
  // A buffer of constants can be sent and read, if not written.
  const bool read_only = region == nullptr && (errno == EFAULT || errno == EACCES || errno == EPERM);
  if (read_only)
    region = device.functions().reg_mr(device.domain(), address, bytes, rights & IBV_ACCESS_REMOTE_READ);
  if (region == nullptr)
    return refused_memory(fmt::format("ibv_reg_mr of {} bytes at {}", bytes, address), device.name(), errno);
  return std::unique_ptr<MemoryRegion>(std::make_unique<VerbsMemoryRegion>(device, region, read_only));
}

Result<std::unique_ptr<CompletionQueue>> VerbsCompletionQueue::make(VerbsDevice& device, std::int32_t depth) {
  ibv_cq* const queue = device.functions().create_cq(device.context(), depth, nullptr, device.channel(), 0);
  if (queue == nullptr)
    return refused(fmt::format("ibv_create_cq of {} entries", depth), device.name(), errno);
  return std::unique_ptr<CompletionQueue>(std::make_unique<VerbsCompletionQueue>(device, queue));
}

int VerbsCompletionQueue::poll(std::span<Completion> into) {
  if (!held_.empty()) [[unlikely]]
    return poll_held(into);
  return poll_library(into);
}

int VerbsCompletionQueue::poll_library(std::span<Completion> into) {
  ibv_wc found[verbs_batch];
  int taken = 0;
  const auto most = static_cast<int>(into.size());
  while (taken < most) {
    const int wanted = std::min(most - taken, verbs_batch);
    const int count = ibv_poll_cq(queue_, wanted, found);
    if (count < 0) [[unlikely]]
      return taken > 0 ? taken : count;
    for (int i = 0; i < count; ++i) translate(found[i], into[static_cast<std::size_t>(taken++)]);
    if (count < wanted) break;
  }
  return taken;
}

int VerbsCompletionQueue::poll_held(std::span<Completion> into) {
  const std::size_t count = std::min(into.size(), held_.size() - handed_out_);
  std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(handed_out_), count, into.begin());
  handed_out_ += count;
  if (handed_out_ == held_.size()) {
    held_.clear();
    handed_out_ = 0;
  }
  return static_cast<int>(count);
}

void VerbsCompletionQueue::forget(std::uint32_t queue_pair) {
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(handed_out_));
  handed_out_ = 0;
  Completion batch[verbs_batch];
  for (int count = verbs_batch; count == verbs_batch;) {
    count = poll_library(batch);
    for (int i = 0; i < count; ++i) held_.push_back(batch[i]);
  }
  std::erase_if(held_, [&](const Completion& each) { return each.queue_pair == queue_pair; });
}

Result<std::unique_ptr<SharedReceiveQueue>> VerbsSharedReceiveQueue::make(VerbsDevice& device,
                                                                          std::int32_t depth) {
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = static_cast<std::uint32_t>(depth);
  wanted.attr.max_sge = 1;
  ibv_srq* const queue = device.functions().create_srq(device.domain(), &wanted);
  if (queue == nullptr)
    return refused(fmt::format("ibv_create_srq of {} requests", depth), device.name(), errno);
  return std::unique_ptr<SharedReceiveQueue>(std::make_unique<VerbsSharedReceiveQueue>(device, queue));
}

Result<> VerbsSharedReceiveQueue::post(std::span<const ReceiveRequest> requests) {
  while (!requests.empty()) {
    const auto batch = requests.first(std::min<std::size_t>(requests.size(), verbs_batch));
    requests = requests.subspan(batch.size());
    ibv_recv_wr chain[verbs_batch];
    ibv_sge segments[verbs_batch];
    for (std::size_t i = 0; i < batch.size(); ++i) {
      segments[i] = {reinterpret_cast<std::uint64_t>(batch[i].address), batch[i].bytes, batch[i].local_key};
      chain[i] = {batch[i].id, i + 1 < batch.size() ? &chain[i + 1] : nullptr, &segments[i], 1};
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_srq_recv(queue_, chain, &bad); error != 0) [[unlikely]]
      return refused("ibv_post_srq_recv", device_.name(), error);
  }
  return {};
}

}  // namespace hawser::rdma
