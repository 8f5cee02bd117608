// An adapter for unit tests of the data path: it takes requests, keeps them, and refuses when it is told to.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "access/rdma.h"
#include "base/failure.h"

namespace hawser::rails_test {

class FakeRegion final : public rdma::MemoryRegion {
 public:
  std::uint32_t local_key() const override { return 1; }
  std::uint32_t remote_key() const override { return 2; }
};

class FakeCompletions final : public rdma::CompletionQueue {
 public:
  int poll(std::span<rdma::Completion> into) override {
    const std::size_t count = std::min(into.size(), ready.size());
    std::copy_n(ready.begin(), count, into.begin());
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<int>(count);
  }
  Result<> arm(bool) override { return {}; }

  std::vector<rdma::Completion> ready;
};

class FakeReceives final : public rdma::SharedReceiveQueue {
 public:
  Result<> post(std::span<const rdma::ReceiveRequest>) override { return {}; }
};

class FakeQueuePair final : public rdma::QueuePair {
 public:
  std::uint32_t number() const override { return 7; }
  Result<> make_ready_to_receive(const rdma::ConnectParameters&) override { return {}; }
  Result<> make_ready_to_send() override { return {}; }
  Result<> make_error() override { return {}; }
  int post_send(std::span<const rdma::SendRequest> requests) override {
    const std::size_t taken = std::min(requests.size(), accepts);
    accepts -= taken;
    posted.insert(posted.end(), requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(taken));
    return static_cast<int>(taken);
  }

  std::size_t accepts = SIZE_MAX;  // requests; then it is full
  std::vector<rdma::SendRequest> posted;
};

class FakeDatagrams final : public rdma::DatagramQueuePair {
 public:
  std::uint32_t number() const override { return 8; }
  std::int32_t datagram_bytes() const override { return 256; }
  bool send(const rdma::DatagramAddress&, std::span<const std::byte>) override { return true; }
  std::span<const std::byte> receive() override { return {}; }
  std::int32_t unsent() override { return 0; }
  void restart() override {}
};

class FakeDevice final : public rdma::Device {
 public:
  FakeDevice() {
    attributes_.name = "fake_0";
    attributes_.send_queue_depth = attributes_.completion_queue_depth = 65536;
    attributes_.shared_receive_depth = 1024;
    attributes_.inline_bytes = 64;
    attributes_.outstanding_reads = 4;
  }
  const rdma::DeviceAttributes& attributes() const override { return attributes_; }
  Result<rdma::PortAttributes> query_port(std::uint8_t) override {
    rdma::PortAttributes port;
    port.active = true;
    port.address.lid = 1;
    port.bytes_per_second = 1'000'000'000;
    return port;
  }
  Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(void*, std::size_t, rdma::Access) override {
    return std::unique_ptr<rdma::MemoryRegion>(std::make_unique<FakeRegion>());
  }
  Result<std::unique_ptr<rdma::CompletionQueue>> make_completion_queue(std::int32_t) override {
    return std::unique_ptr<rdma::CompletionQueue>(std::make_unique<FakeCompletions>());
  }
  Result<std::unique_ptr<rdma::SharedReceiveQueue>> make_shared_receive_queue(std::int32_t) override {
    return std::unique_ptr<rdma::SharedReceiveQueue>(std::make_unique<FakeReceives>());
  }
  Result<std::unique_ptr<rdma::QueuePair>> make_queue_pair(const rdma::QueuePairInitAttributes&) override {
    return std::unique_ptr<rdma::QueuePair>(std::make_unique<FakeQueuePair>());
  }
  Result<std::unique_ptr<rdma::DatagramQueuePair>> make_datagram_queue_pair(std::uint8_t, std::uint32_t,
                                                                            std::uint32_t) override {
    return std::unique_ptr<rdma::DatagramQueuePair>(std::make_unique<FakeDatagrams>());
  }
  bool next_event(rdma::DeviceEvent&) override { return false; }
  int descriptor() const override { return -1; }
  Result<> arm_datagrams() override { return {}; }

 private:
  rdma::DeviceAttributes attributes_;
};

class FakeDevices final : public rdma::DeviceSource {
 public:
  explicit FakeDevices(int count) : count_(count) {}
  Result<std::vector<std::unique_ptr<rdma::Device>>> open_devices() override {
    std::vector<std::unique_ptr<rdma::Device>> devices;
    for (int i = 0; i < count_; ++i) devices.push_back(std::make_unique<FakeDevice>());
    return devices;
  }

 private:
  int count_;
};

}  // namespace hawser::rails_test
