#include "rails/datapath/rail.h"

#include <algorithm>
#include <array>

#include "base/failure.h"

namespace hawser {
namespace {
constexpr std::int32_t most_sends = 16384;  // under way on a rail, for the size of its completion queue
constexpr Nanoseconds looks_of_a_down_port = 10 * millisecond;

class NoCompletions final : public rdma::CompletionQueue {
 public:
  int poll(std::span<rdma::Completion>) override { return 0; }
  Result<> arm(bool) override { return {}; }
};

}  // namespace

std::int32_t receives_wanted(std::int32_t subchannels) {
  return 2 * static_cast<std::int32_t>(packet_window) / std::clamp(subchannels, 1, 4) + receives_for_finishes;
}

Rail::Rail(rdma::Device& device, const RailShape& shape, PacketPool& pool)
    : traffic(*shape.flow), device_(device), shape_(shape), pool_(pool) {
  pool_.add(receive_count_);
}

Rail::~Rail() { pool_.remove(receive_count_); }

Result<std::unique_ptr<Rail>> Rail::open(rdma::Device& device, const RailShape& shape, PacketPool& pool) {
  std::unique_ptr<Rail> rail(new Rail(device, shape, pool));
  HAWSER_TRY(rail->make_queues());
  return rail;
}

Result<> Rail::make_queues() {
  const rdma::DeviceAttributes& attributes = device_.attributes();
  shape_.most_receives = std::min(shape_.most_receives, attributes.shared_receive_depth);
  const std::int32_t depth =
      std::min(attributes.completion_queue_depth, 2 * shape_.most_receives + most_sends);
  if (shape_.most_receives < 16 || depth <= 2 * shape_.most_receives)
    return failure(ErrorKind::other, "adapter {} has room for only {} completions and {} receives",
                   attributes.name, attributes.completion_queue_depth, attributes.shared_receive_depth);
  // What a destroyed connection received may still lie in the queue beside what was posted anew.
  polling.set_depth(depth);
  traffic.budget = depth - 2 * shape_.most_receives;
  auto port = device_.query_port(shape_.port);
  if (!port) return port.take_error();
  attributes_ = port.value();
  traffic.set_rate(attributes_.bytes_per_second);
  auto completions = device_.make_completion_queue(depth);
  if (!completions) return completions.take_error();
  completions_ = std::move(completions).value();
  auto receives = device_.make_shared_receive_queue(shape_.most_receives);
  if (!receives) return receives.take_error();
  receives_ = std::move(receives).value();
  auto datagrams =
      device_.make_datagram_queue_pair(shape_.port, shape_.datagram_key, shape_.datagram_receives);
  if (!datagrams) return datagrams.take_error();
  datagrams_ = std::move(datagrams).value();
  return {};
}

void Rail::close() {
  HAWSER_ASSERT(dead && queue_pairs.empty());
  datagrams_.reset();
  receives_.reset();
  completions_ = std::make_unique<NoCompletions>();
  pool_.give_back_receives(static_cast<std::int16_t>(shape_.number));
  receive_count_.posted = 0;
  attributes_.active = false;
}

Result<> Rail::open_again() {
  if (auto made = make_queues(); !made) {
    close();
    return made;
  }
  dead = false;
  ++device_generation_;
  fill_now();
  return {};
}

RailAddress Rail::address() const {
  RailAddress address;
  address.port = attributes_.address;
  address.datagram_queue_pair = datagrams_ != nullptr ? datagrams_->number() : 0;
  address.device = static_cast<std::uint8_t>(shape_.device_number);
  address.device_port = shape_.port;
  address.device_generation = device_generation_;
  address.address_generation = address_generation_;
  address.bytes_per_second = std::max<std::int64_t>(attributes_.bytes_per_second, 1);
  return address;
}

void Rail::query() {
  if (dead) return;
  auto port = device_.query_port(shape_.port);
  if (!port) {
    attributes_.active = false;
    return;
  }
  address_generation_ += !(port.value().address == attributes_.address);
  attributes_ = port.value();
  traffic.set_rate(attributes_.bytes_per_second);
}

void Rail::look(Nanoseconds now) {
  if (!attributes_.active && looked_ >= 0 && now - looked_ < looks_of_a_down_port) return;
  looked_ = now;
  query();
}

void Rail::add_receives(std::int32_t receives) {
  receives_for_all_ += receives;
  receive_count_.wanted = std::min(shape_.most_receives, std::max(receive_count_.wanted, receives_for_all_));
  fill_now();
}

void Rail::remove_receives(std::int32_t receives) {
  receives_for_all_ -= receives;
  receive_count_.wanted = std::min(receive_count_.wanted, receives_for_all_);
}

void Rail::fill_now() {
  if (dead) return;
  std::array<rdma::ReceiveRequest, fill_stride> requests;
  while (receive_count_.posted < receive_count_.wanted) {
    std::size_t count = 0;
    while (count < requests.size() &&
           receive_count_.posted + static_cast<std::int32_t>(count) < receive_count_.wanted) {
      PacketBuffer* const buffer =
          pool_.take_to_receive(receive_count_.posted + static_cast<std::int32_t>(count));
      if (buffer == nullptr) break;
      buffer->receiver = static_cast<std::int16_t>(shape_.number);
      requests[count++] = {receive_work_id | buffer->index, buffer->data, shape_.packet_bytes,
                           buffer->local_keys[shape_.device_number]};
    }
    if (count == 0) return;
    if (!receives_->post(std::span(requests.data(), count))) {
      // Full, or the device is gone; the next completion or the device event says which.
      for (std::size_t i = 0; i < count; ++i) {
        PacketBuffer* const buffer = pool_.at(static_cast<std::uint32_t>(requests[i].id & 0xFFFFFFFF));
        buffer->receiver = -1;
        pool_.give_back(buffer);
      }
      return;
    }
    receive_count_.posted += static_cast<std::int32_t>(count);
  }
}

}  // namespace hawser
