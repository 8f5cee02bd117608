#include "access/ofi/ofi_queues.h"

#include <algorithm>

#include "access/ofi/ofi_device.h"
#include "access/ofi/ofi_queue_pair.h"
#include "base/failure.h"

namespace hawser::rdma {

Result<std::unique_ptr<OfiCompletionQueue>> OfiCompletionQueue::make(OfiDevice& device, std::int32_t depth) {
  fi_cq_attr wanted{};
  wanted.size = static_cast<std::size_t>(depth);
  wanted.format = FI_CQ_FORMAT_DATA;
  wanted.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  if (const int error = fi_cq_open(device.domain(), &wanted, &queue, nullptr); error != 0)
    return refused(device.functions(), "fi_cq_open", device.attributes().name, error);
  OfiHandle<fid_cq> handle(queue);
  int descriptor = -1;
  if (const int error = fi_control(&queue->fid, FI_GETWAIT, &descriptor); error != 0)
    return refused(device.functions(), "FI_GETWAIT of a completion queue", device.attributes().name, error);
  HAWSER_TRY(device.watch(descriptor));
  return std::unique_ptr<OfiCompletionQueue>(new OfiCompletionQueue(device, std::move(handle), descriptor));
}

OfiCompletionQueue::~OfiCompletionQueue() { device_.unwatch(descriptor_); }

bool OfiCompletionQueue::take_in() {
  std::array<fi_cq_data_entry, 16> entries;
  const auto count = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (count == -FI_EAVAIL) {
    take_error();
    return true;
  }
  if (count <= 0) return false;
  for (const fi_cq_data_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
    auto& operation = *static_cast<OfiOperation*>(entry.op_context);
    if (operation.pair != nullptr) {
      operation.pair->on_completed(operation, Status::success);
      continue;
    }
    Completion received;
    received.id = operation.receives->take(operation);
    received.opcode = Opcode::receive;
    received.bytes = static_cast<std::uint32_t>(entry.len);
    received.queue_pair = static_cast<std::uint32_t>(entry.data);  // the sender says whom it means
    push(received);
  }
  return true;
}

void OfiCompletionQueue::take_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_.get(), &entry, 0) <= 0 || entry.op_context == nullptr) return;
  auto& operation = *static_cast<OfiOperation*>(entry.op_context);
  if (operation.pair != nullptr)
    operation.pair->on_completed(operation, Status::retry_exceeded);
  else
    operation.receives->repost(operation);
}

int OfiCompletionQueue::poll(std::span<Completion> into) {
  if (handed_out_ == ready_.size()) {
    ready_.clear();
    handed_out_ = 0;
    const bool any = take_in();
    device_.progress(any);
  }
  const std::size_t count = std::min(into.size(), ready_.size() - handed_out_);
  std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(handed_out_), count, into.begin());
  handed_out_ += count;
  return static_cast<int>(count);
}

Result<> OfiCompletionQueue::arm(bool) { return device_.arm(queue_.get()); }

void OfiCompletionQueue::forget(std::uint32_t queue_pair) {
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(handed_out_));
  handed_out_ = 0;
  std::erase_if(ready_, [&](const Completion& each) { return each.queue_pair == queue_pair; });
}

Result<std::unique_ptr<SharedReceiveQueue>> OfiSharedReceiveQueue::make(OfiDevice& device,
                                                                        std::int32_t depth) {
  fi_rx_attr wanted = *device.info().rx_attr;
  wanted.size = static_cast<std::size_t>(depth);
  fid_ep* queue = nullptr;
  if (const int error = fi_srx_context(device.domain(), &wanted, &queue, nullptr); error != 0)
    return refused(device.functions(), "fi_srx_context", device.attributes().name, error);
  return std::unique_ptr<SharedReceiveQueue>(new OfiSharedReceiveQueue(device, OfiHandle<fid_ep>(queue)));
}

Result<> OfiSharedReceiveQueue::post(std::span<const ReceiveRequest> requests) {
  for (const ReceiveRequest& request : requests) {
    if (unused_.empty()) {
      all_.emplace_back().receives = this;
      unused_.push_back(&all_.back());
    }
    Receive& receive = *unused_.back();
    receive.request = request;
    HAWSER_TRY(give(receive));
    unused_.pop_back();
  }
  return {};
}

Result<> OfiSharedReceiveQueue::give(Receive& receive) {
  const auto error = fi_recv(queue_.get(), receive.request.address, receive.request.bytes, nullptr,
                             FI_ADDR_UNSPEC, static_cast<OfiOperation*>(&receive));
  if (error != 0) return refused(device_.functions(), "fi_recv", device_.attributes().name, error);
  return {};
}

std::uint64_t OfiSharedReceiveQueue::take(OfiOperation& operation) {
  auto& receive = static_cast<Receive&>(operation);
  unused_.push_back(&receive);
  return receive.request.id;
}

void OfiSharedReceiveQueue::repost(OfiOperation& operation) {
  auto& receive = static_cast<Receive&>(operation);
  if (!give(receive)) unused_.push_back(&receive);  // lost to the queue, as one of a destroyed queue pair
}

}  // namespace hawser::rdma
