// Adapters of a fuzz target: they keep what is posted, deliver what they are told to, and move no bytes.
// What access/rdma.h asks of an adapter holds: requests of a queue pair in ERROR are flushed, and a queue
// pair that is destroyed has no completions any more.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "access/rdma.h"

namespace hawser::fuzz {

class FuzzedRegion final : public rdma::MemoryRegion {
 public:
  std::uint32_t local_key() const override { return 1; }
  std::uint32_t remote_key() const override { return 2; }
};

class FuzzedCompletions final : public rdma::CompletionQueue {
 public:
  int poll(std::span<rdma::Completion> into) override {
    const std::size_t count = std::min(into.size(), ready.size());
    std::copy_n(ready.begin(), count, into.begin());
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<int>(count);
  }
  Result<> arm(bool) override { return {}; }

  std::deque<rdma::Completion> ready;
};

class FuzzedReceives final : public rdma::SharedReceiveQueue {
 public:
  Result<> post(std::span<const rdma::ReceiveRequest> requests) override {
    posted.insert(posted.end(), requests.begin(), requests.end());
    return {};
  }

  std::deque<rdma::ReceiveRequest> posted;
};

class FuzzedQueuePair final : public rdma::QueuePair {
 public:
  using Live = std::map<std::uint32_t, FuzzedQueuePair*>;
  FuzzedQueuePair(std::uint32_t number, const rdma::QueuePairInitAttributes& shape, Live& live)
      : number_(number),
        depth_(static_cast<std::size_t>(shape.send_depth)),
        completions_(static_cast<FuzzedCompletions&>(*shape.completions)),
        receives_(static_cast<FuzzedReceives&>(*shape.receives)),
        live_(live) {
    live_[number_] = this;
  }
  ~FuzzedQueuePair() override {
    std::erase_if(completions_.ready, [this](const auto& each) { return each.queue_pair == number_; });
    live_.erase(number_);
  }
  std::uint32_t number() const override { return number_; }
  Result<> make_ready_to_receive(const rdma::ConnectParameters&) override {
    receives_ready_ = true;
    return {};
  }
  Result<> make_ready_to_send() override { return {}; }
  Result<> make_error() override {
    error_ = true;
    complete(posted_.size(), rdma::Status::flushed);
    return {};
  }
  int post_send(std::span<const rdma::SendRequest> requests) override {
    int taken = 0;
    for (const rdma::SendRequest& request : requests) {
      if (posted_.size() >= depth_) break;
      posted_.push_back(request);
      ++taken;
    }
    if (error_) complete(posted_.size(), rdma::Status::flushed);
    return taken;
  }
  // The oldest requests; after an error all others are flushed.
  void complete(std::size_t count, rdma::Status status) {
    for (; count > 0 && !posted_.empty(); --count) {
      const rdma::SendRequest request = posted_.front();
      posted_.pop_front();
      if (request.signaled || status != rdma::Status::success)
        completions_.ready.push_back(
            {.id = request.id, .status = status, .opcode = request.opcode, .queue_pair = number_});
      if (status != rdma::Status::success && !error_) {
        error_ = true;
        return complete(posted_.size(), rdma::Status::flushed);
      }
    }
  }
  // False: it cannot be received now.
  bool receive(std::span<const std::byte> bytes) {
    if (error_ || !receives_ready_ || receives_.posted.empty()) return false;
    const rdma::ReceiveRequest into = receives_.posted.front();
    if (into.bytes < bytes.size()) return false;
    receives_.posted.pop_front();
    std::memcpy(into.address, bytes.data(), bytes.size());
    completions_.ready.push_back({.id = into.id,
                                  .opcode = rdma::Opcode::receive,
                                  .bytes = static_cast<std::uint32_t>(bytes.size()),
                                  .queue_pair = number_});
    return true;
  }

 private:
  const std::uint32_t number_;
  const std::size_t depth_;
  FuzzedCompletions& completions_;
  FuzzedReceives& receives_;
  Live& live_;
  std::deque<rdma::SendRequest> posted_;
  bool receives_ready_ = false, error_ = false;
};

class FuzzedDatagrams final : public rdma::DatagramQueuePair {
 public:
  using Sent = std::map<std::uint8_t, std::vector<std::byte>>;  // the last one of each kind
  FuzzedDatagrams(std::deque<std::vector<std::byte>>& arrived, Sent& sent) : arrived_(arrived), sent_(sent) {}
  std::uint32_t number() const override { return 8; }
  std::int32_t datagram_bytes() const override { return 256; }
  bool send(const rdma::DatagramAddress&, std::span<const std::byte> bytes) override {
    if (bytes.size() > 9) sent_[static_cast<std::uint8_t>(bytes[9])].assign(bytes.begin(), bytes.end());
    return true;
  }
  std::span<const std::byte> receive() override {
    if (arrived_.empty()) return {};
    taken_ = std::move(arrived_.front());
    arrived_.pop_front();
    return taken_;
  }
  std::int32_t unsent() override { return 0; }
  void restart() override {}

 private:
  std::deque<std::vector<std::byte>>& arrived_;
  Sent& sent_;
  std::vector<std::byte> taken_;
};

class FuzzedDevice final : public rdma::Device {
 public:
  // What harnesses share with the device, and outlives it.
  struct State {
    FuzzedQueuePair::Live pairs;
    std::deque<std::vector<std::byte>> arrived;
    FuzzedDatagrams::Sent sent;
    std::uint32_t last_number = 0;

    void arrive(std::vector<std::byte> bytes) { arrived.push_back(std::move(bytes)); }
    const std::vector<std::byte>& last_sent(std::uint8_t kind) { return sent[kind]; }
    FuzzedQueuePair* pair(std::uint8_t which) {
      if (pairs.empty()) return nullptr;
      return std::next(pairs.begin(), which % static_cast<std::ptrdiff_t>(pairs.size()))->second;
    }
  };
  FuzzedDevice(State& state, int number) : state_(state), number_(number) {
    attributes_.name = "fuzzed_" + std::to_string(number);
    attributes_.send_queue_depth = 256;
    attributes_.completion_queue_depth = 65536;
    attributes_.shared_receive_depth = 1024;
    attributes_.inline_bytes = 64;
    attributes_.outstanding_reads = 4;
  }
  static rdma::PortAddress address(int lid) {
    rdma::PortAddress address;
    address.lid = static_cast<std::uint16_t>(lid);
    address.mtu = 4;
    return address;
  }
  const rdma::DeviceAttributes& attributes() const override { return attributes_; }
  Result<rdma::PortAttributes> query_port(std::uint8_t) override {
    rdma::PortAttributes port;
    port.active = true;
    port.address = address(1 + number_);
    port.bytes_per_second = 1'000'000'000;
    return port;
  }
  Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(void*, std::size_t, rdma::Access) override {
    return std::unique_ptr<rdma::MemoryRegion>(std::make_unique<FuzzedRegion>());
  }
  Result<std::unique_ptr<rdma::CompletionQueue>> make_completion_queue(std::int32_t) override {
    return std::unique_ptr<rdma::CompletionQueue>(std::make_unique<FuzzedCompletions>());
  }
  Result<std::unique_ptr<rdma::SharedReceiveQueue>> make_shared_receive_queue(std::int32_t) override {
    return std::unique_ptr<rdma::SharedReceiveQueue>(std::make_unique<FuzzedReceives>());
  }
  Result<std::unique_ptr<rdma::QueuePair>> make_queue_pair(
      const rdma::QueuePairInitAttributes& shape) override {
    const auto number = ++state_.last_number * 4 + static_cast<std::uint32_t>(number_);
    return std::unique_ptr<rdma::QueuePair>(std::make_unique<FuzzedQueuePair>(number, shape, state_.pairs));
  }
  Result<std::unique_ptr<rdma::DatagramQueuePair>> make_datagram_queue_pair(std::uint8_t, std::uint32_t,
                                                                            std::uint32_t) override {
    return std::unique_ptr<rdma::DatagramQueuePair>(
        std::make_unique<FuzzedDatagrams>(state_.arrived, state_.sent));
  }
  bool next_event(rdma::DeviceEvent&) override { return false; }
  int descriptor() const override { return -1; }
  Result<> arm_datagrams() override { return {}; }

 private:
  State& state_;
  const int number_;
  rdma::DeviceAttributes attributes_;
};

class FuzzedDevices final : public rdma::DeviceSource {
 public:
  explicit FuzzedDevices(int count) : states_(static_cast<std::size_t>(count)) {}
  Result<std::vector<std::unique_ptr<rdma::Device>>> open_devices() override {
    std::vector<std::unique_ptr<rdma::Device>> devices;
    for (std::size_t i = 0; i < states_.size(); ++i)
      devices.push_back(std::make_unique<FuzzedDevice>(states_[i], static_cast<int>(i)));
    return devices;
  }
  FuzzedDevice::State& device(std::size_t index) { return states_[index]; }

 private:
  std::deque<FuzzedDevice::State> states_;
};

}  // namespace hawser::fuzz
