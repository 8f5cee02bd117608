// One of two processes on hosts of a virtual fabric that talk through the access layer, with libibverbs
// loaded at run time. Addresses go through standard output and input: access_test.py carries them. It sleeps
// on the device's descriptor whenever there is nothing to poll.
//
//   access_probe pingpong ROUNDS    messages to and fro, then datagrams
//   access_probe events             tells of port events until its input ends
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "access/verbs/verbs_device.h"

namespace hawser::rdma {
namespace {

template <class T>
T must(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "access_probe: %s\n", result.error().text.c_str());
  std::exit(1);
}

void must(Result<> result) {
  if (result) return;
  std::fprintf(stderr, "access_probe: %s\n", result.error().text.c_str());
  std::exit(1);
}

constexpr std::size_t message_bytes = 256, slots = 16;

struct Address {
  PortAddress port;
  std::uint32_t queue_pair, datagrams;
};

void tell(const Address& own) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&own);
  for (std::size_t i = 0; i < sizeof own; ++i) std::printf("%02x", bytes[i]);
  std::printf("\n");
  std::fflush(stdout);
}

Address hear() {
  Address peer;
  auto* const bytes = reinterpret_cast<unsigned char*>(&peer);
  for (std::size_t i = 0; i < sizeof peer; ++i) {
    unsigned value = 0;
    if (std::scanf("%2x", &value) != 1) std::exit(2);
    bytes[i] = static_cast<unsigned char>(value);
  }
  return peer;
}

class Probe {
 public:
  explicit Probe(Device& device) : device_(device) {
    queue_ = must(device.make_completion_queue(256));
    receives_ = must(device.make_shared_receive_queue(slots));
    region_ = must(device.register_memory(memory_.data(), memory_.size(), Access::remote_read_write));
    QueuePairInitAttributes shape;
    shape.completions = queue_.get();
    shape.receives = receives_.get();
    pair_ = must(device.make_queue_pair(shape));
    datagrams_ = must(device.make_datagram_queue_pair(1, 99));
    for (std::size_t i = 0; i < slots; ++i) post_receive(i);
  }

  void connect() {
    const PortAttributes port = must(device_.query_port(1));
    tell({port.address, pair_->number(), datagrams_->number()});
    peer_ = hear();
    ConnectParameters parameters;
    parameters.route.destination = peer_.port;
    parameters.remote_queue_pair = peer_.queue_pair;
    parameters.send_psn = 5;
    parameters.receive_psn = 5;
    must(pair_->make_ready_to_receive(parameters));
    must(pair_->make_ready_to_send());
    std::printf("connected\n");
    std::fflush(stdout);
    char word[16];
    if (std::scanf("%15s", word) != 1) std::exit(2);  // the peer is connected too
    first_ = std::strcmp(word, "first") == 0;
  }

  void pingpong(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      if (first_) send(round);
      await(round);
      if (!first_) send(round);
    }
    for (int round = 0; round < rounds; ++round) {
      if (first_) send_datagram(round);
      await_datagram(round);
      if (!first_) send_datagram(round);
    }
    // What is only posted ends with this process.
    while (datagrams_->unsent() > 0) std::this_thread::yield();
    std::printf("done, slept %d times\n", slept_);
  }

 private:
  std::byte* slot(std::size_t index) { return &memory_[index * message_bytes]; }
  void post_receive(std::size_t index) {
    const ReceiveRequest request{index, slot(index), message_bytes, region_->local_key()};
    must(receives_->post({&request, 1}));
  }
  void send(int round) {
    SendRequest request;
    request.id = 1000;
    request.inlined = round % 2 == 0;
    request.segment_count = 1;
    request.segments[0] = {slot(slots), sizeof round, region_->local_key()};
    std::memcpy(slot(slots), &round, sizeof round);
    while (pair_->post_send({&request, 1}) == 0) take();
  }
  // False: nothing came.
  bool take() {
    Completion found[8];
    const int count = queue_->poll(found);
    if (count < 0) std::exit(3);
    for (int i = 0; i < count; ++i) {
      if (found[i].status != Status::success) {
        std::fprintf(stderr, "access_probe: %s\n", status_name(found[i].status));
        std::exit(3);
      }
      if (found[i].opcode != Opcode::receive) continue;
      std::memcpy(&arrived_, slot(found[i].id), sizeof arrived_);
      post_receive(found[i].id);
    }
    return count > 0;
  }
  void sleep() {
    pollfd waits{device_.descriptor(), POLLIN, 0};
    constexpr int patience_ms = 60'000;
    if (::poll(&waits, 1, patience_ms) == 0) {
      const bool message = take(), datagram = take_datagram();
      std::fprintf(stderr, "access_probe: nothing woke it after message %d and datagram %d; %s\n", arrived_,
                   told_, message || datagram ? "but something was there" : "nothing was there");
      std::exit(4);
    }
    ++slept_;
  }
  void await(int round) {
    while (arrived_ != round) {
      if (take()) continue;
      must(queue_->arm(false));
      if (!take()) sleep();
    }
  }
  void send_datagram(int round) {
    const DatagramAddress to{peer_.port, peer_.datagrams};
    while (!datagrams_->send(to, std::as_bytes(std::span(&round, 1)))) {
    }
  }
  bool take_datagram() {
    const auto bytes = datagrams_->receive();
    if (bytes.size() != sizeof told_) return false;
    std::memcpy(&told_, bytes.data(), sizeof told_);
    return true;
  }
  void await_datagram(int round) {
    while (told_ != round) {
      if (take_datagram()) continue;
      must(device_.arm_datagrams());
      if (!take_datagram()) sleep();
    }
  }

  Device& device_;
  std::vector<std::byte> memory_ = std::vector<std::byte>((slots + 1) * message_bytes);
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<SharedReceiveQueue> receives_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<QueuePair> pair_;
  std::unique_ptr<DatagramQueuePair> datagrams_;
  Address peer_ = {};
  bool first_ = false;
  int arrived_ = -1, told_ = -1, slept_ = 0;
};

void tell_events(Device& device) {
  std::printf("watching\n");
  std::fflush(stdout);
  for (;;) {
    pollfd waits[2] = {{device.descriptor(), POLLIN, 0}, {0, POLLIN, 0}};
    ::poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    for (DeviceEvent event; device.next_event(event);) {
      std::printf("event %d port %d active %d\n", static_cast<int>(event.kind), event.port,
                  event.port > 0 && must(device.query_port(event.port)).active);
      std::fflush(stdout);
    }
  }
}

int run(int count, char** arguments) {
  if (count < 2) return 2;
  auto functions = load_verbs_functions();
  VerbsDeviceSource source(must(std::move(functions)));
  auto devices = must(source.open_devices());
  if (devices.empty()) {
    std::fprintf(stderr, "access_probe: no adapters\n");
    return 1;
  }
  if (std::strcmp(arguments[1], "events") == 0) {
    tell_events(*devices[0]);
  } else if (count < 3 || std::strcmp(arguments[1], "pingpong") != 0) {
    std::fprintf(stderr, "usage: access_probe events | pingpong ROUNDS\n");
    return 2;
  } else {
    Probe probe(*devices[0]);
    probe.connect();
    probe.pingpong(std::atoi(arguments[2]));
  }
  return 0;
}

}  // namespace
}  // namespace hawser::rdma

int main(int count, char** arguments) { return hawser::rdma::run(count, arguments); }
