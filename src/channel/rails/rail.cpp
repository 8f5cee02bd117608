#include "channel/rails/rail.h"

#include <algorithm>
#include <array>

#include "base/failure.h"

namespace hawser {
namespace {
constexpr std::int32_t most_sends = 16384;  // under way on a rail, for the size of its completion queue
}

Rail::Rail(rdma::Device& device, const RailShape& shape, PacketPool& pool)
    : device_(device), shape_(shape), pool_(pool) {}

Rail::~Rail() = default;

Result<std::unique_ptr<Rail>> Rail::open(rdma::Device& device, const RailShape& wanted, PacketPool& pool) {
  RailShape shape = wanted;
  const rdma::DeviceFacts& facts = device.facts();
  shape.most_receives = std::min(shape.most_receives, facts.shared_receive_depth);
  const std::int32_t depth = std::min(facts.completion_queue_depth, 2 * shape.most_receives + most_sends);
  if (shape.most_receives < 16 || depth <= 2 * shape.most_receives)
    return failure(ErrorClass::other, "adapter {} has room for only {} completions and {} receives",
                   facts.name, facts.completion_queue_depth, facts.shared_receive_depth);
  std::unique_ptr<Rail> rail(new Rail(device, shape, pool));
  // What a destroyed connection received may still lie in the queue beside what was posted anew.
  rail->depth_ = depth;
  rail->send_budget_ = depth - 2 * shape.most_receives;
  auto port = device.query_port(shape.port);
  if (!port) return port.take_error();
  rail->facts_ = port.value();
  auto completions = device.make_completion_queue(depth);
  if (!completions) return completions.take_error();
  rail->completions_ = std::move(completions).value();
  auto receives = device.make_shared_receive_queue(shape.most_receives);
  if (!receives) return receives.take_error();
  rail->receives_ = std::move(receives).value();
  auto datagrams = device.make_datagram_queue_pair(shape.port, shape.datagram_key);
  if (!datagrams) return datagrams.take_error();
  rail->datagrams_ = std::move(datagrams).value();
  return rail;
}

void Rail::query() {
  if (dead) return;
  auto port = device_.query_port(shape_.port);
  if (port)
    facts_ = port.value();
  else
    facts_.active = false;
}

void Rail::want_receives(std::int32_t count) {
  wanted_receives_ = std::min(shape_.most_receives, std::max(wanted_receives_, count));
  fill_now();
}

void Rail::fill_now() {
  if (dead) return;
  std::array<rdma::ReceiveRequest, fill_stride> requests;
  while (posted_receives_ < wanted_receives_) {
    std::size_t count = 0;
    while (count < requests.size() &&
           posted_receives_ + static_cast<std::int32_t>(count) < wanted_receives_) {
      PacketBuffer* const buffer = pool_.take();
      if (buffer == nullptr) break;
      requests[count++] = {receive_bit | buffer->index, buffer->data, shape_.packet_bytes,
                           buffer->local_keys[shape_.device_number]};
    }
    if (count == 0) return;
    if (!receives_->post(std::span(requests.data(), count))) {
      // Full, or the device is gone; the next completion or the device event says which.
      for (std::size_t i = 0; i < count; ++i)
        pool_.give_back(pool_.at(static_cast<std::uint32_t>(requests[i].id & 0xFFFFFFFF)));
      return;
    }
    posted_receives_ += static_cast<std::int32_t>(count);
  }
}

}  // namespace hawser
