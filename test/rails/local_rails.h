// For tests only: hosts of a fabric in this process, in virtual time, whose adapters are reached through
// access/verbs, as a process on each would.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "access/verbs/verbs_device.h"
#include "base/event_queue.h"
#include "fabric/fabric.h"
#include "fabric/topology/makers.h"
#include "provider/local_link.h"
#include "testbed/linked_provider/linked_provider.h"

namespace hawser::rdma::test {

// The host on whose behalf devices are opened now.
verbs::Platform*& turn();

class LocalRails {
 public:
  explicit LocalRails(fabric::Topology topology, fabric::Parameters parameters = {}) {
    auto tables = fabric::build_routes(topology, parameters.lmc).value();
    fabric_.emplace(events, dma_, std::move(topology), std::move(tables), std::move(parameters));
  }

  std::vector<std::unique_ptr<Device>> open(int host) {
    platforms_.push_back(std::make_unique<verbs::LocalPlatform>(*fabric_, host));
    turn() = platforms_.back().get();
    VerbsDeviceSource source(linked_provider_functions());
    auto devices = source.open_devices();
    EXPECT_TRUE(devices) << devices.error().text;
    return std::move(devices).value();
  }
  // In the order in which hosts were opened.
  verbs::Platform* platform(std::size_t opened) { return platforms_[opened].get(); }
  std::unique_ptr<Device> open_first(int host) { return std::move(open(host).front()); }

  void inject(const char* fault) {
    const auto injected = fabric_->inject(fault);
    ASSERT_TRUE(injected) << injected.error().text;
  }
  void run() {
    while (events.fire_next()) {
    }
    fabric_->check_invariants();
  }
  void run_for(Nanoseconds time) {
    events.fire_until(events.now() + time);
    fabric_->check_invariants();
  }

  EventQueue events;

 private:
  fabric::LocalDmaPort dma_;
  std::vector<std::unique_ptr<verbs::LocalPlatform>> platforms_;
  std::optional<fabric::Fabric> fabric_;
};

// A process's things on one adapter, with one connection.
struct End {
  End(Device& device, std::uint8_t port = 1, std::int32_t send_depth = 16) : device(device), port(port) {
    queue = device.make_completion_queue(256).value();
    receives = device.make_shared_receive_queue(64).value();
    region = device.register_memory(memory.data(), memory.size(), Access::remote_read_write).value();
    make_pair(send_depth);
  }
  void make_pair(std::int32_t send_depth = 16) {
    pair.reset();
    QueuePairInitAttributes shape;
    shape.completions = queue.get();
    shape.receives = receives.get();
    shape.port = port;
    shape.send_depth = send_depth;
    pair = device.make_queue_pair(shape).value();
  }
  PortAddress address() { return device.query_port(port).value().address; }

  void connect(End& peer, const RetryPolicy& retry_policy = {}, std::uint8_t path = 0) {
    ConnectParameters parameters;
    parameters.route.destination = peer.address();
    parameters.route.port = port;
    parameters.route.source_path_bits = path;
    parameters.route.destination_path_bits = path;
    parameters.remote_queue_pair = peer.pair->number();
    parameters.send_psn = pair->number() * 1000;
    parameters.receive_psn = peer.pair->number() * 1000;
    parameters.retry_policy = retry_policy;
    const auto received = pair->make_ready_to_receive(parameters);
    ASSERT_TRUE(received) << received.error().text;
    const auto sent = pair->make_ready_to_send();
    ASSERT_TRUE(sent) << sent.error().text;
  }

  void receive(std::uint64_t id, std::size_t offset, std::uint32_t bytes) {
    const ReceiveRequest request{id, &memory[offset], bytes, region->local_key()};
    ASSERT_TRUE(receives->post({&request, 1}));
  }
  SendRequest request(std::uint64_t id, Opcode opcode, std::size_t offset, std::uint32_t bytes,
                      const End* peer = nullptr, std::size_t peer_offset = 0) {
    SendRequest wanted;
    wanted.id = id;
    wanted.opcode = opcode;
    wanted.segment_count = 1;
    wanted.segments[0] = {&memory[offset], bytes, region->local_key()};
    if (peer != nullptr) {
      wanted.remote_address = reinterpret_cast<std::uint64_t>(&peer->memory[peer_offset]);
      wanted.remote_key = peer->region->remote_key();
    }
    return wanted;
  }
  int post(const SendRequest& wanted) { return pair->post_send({&wanted, 1}); }
  std::vector<Completion> poll() {
    std::vector<Completion> all(256);
    const int count = queue->poll(all);
    EXPECT_GE(count, 0);
    all.resize(static_cast<std::size_t>(std::max(count, 0)));
    return all;
  }
  std::vector<DeviceEvent> events() {
    std::vector<DeviceEvent> all;
    for (DeviceEvent event; device.next_event(event);) all.push_back(event);
    return all;
  }

  Device& device;
  std::uint8_t port;
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 1024);
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<SharedReceiveQueue> receives;
  std::unique_ptr<MemoryRegion> region;
  std::unique_ptr<QueuePair> pair;
};

inline fabric::Topology two_hosts(int rails = 1, int ports = 1) {
  return fabric::make_back_to_back({.hosts = 2, .rails = rails, .ports = ports}).value();
}

}  // namespace hawser::rdma::test
