// The contract of transports over the loop-back double, shared memory and sockets. Rails: test/rails.
#include "channel/transport_contract.h"

#include "channel/loopback_transport.h"
#include "channel/shared_memory_channel.h"
#include "channel/socket_channel.h"

namespace hawser::channel_test {
namespace {

// Transports that need no time of their own.
template <class Kind>
class TransportPair {
 public:
  Kind& at(ProcessIndex process) { return *transports_[static_cast<std::size_t>(process)]; }
  void pass_time() {}
  Nanoseconds now() const { return 0; }

 protected:
  std::vector<std::unique_ptr<Kind>> transports_;
};

class LoopbackJob : public TransportPair<LoopbackTransport> {
 public:
  static constexpr bool native = true, native_atomics = true;
  LoopbackJob() {
    for (int i = 0; i < 2; ++i) transports_.push_back(std::make_unique<LoopbackTransport>(network_));
  }

 private:
  LoopbackNetwork network_;
};

class NodeJob : public TransportPair<SharedMemoryChannel> {
 public:
  static constexpr bool native = true, native_atomics = false;
  NodeJob() {
    const Knobs knobs;
    const auto layout = SegmentLayout::plan(2, knobs);
    const SharedSegment segment =
        SharedSegment::map(make_memory_file("hawser-test").value().get(), layout).value();
    for (std::int32_t i = 0; i < 2; ++i)
      transports_.push_back(
          std::make_unique<SharedMemoryChannel>(segment, i, std::vector<ProcessIndex>{0, 1}, 2, knobs));
  }
};

class SocketJob : public TransportPair<SocketChannel> {
 public:
  static constexpr bool native = false, native_atomics = false;
  SocketJob() {
    for (ProcessIndex i = 0; i < 2; ++i) {
      transports_.push_back(SocketChannel::open(i, 2, ends_[static_cast<std::size_t>(i)], {}).value());
      EXPECT_TRUE(transports_.back()->publish());
    }
  }

 private:
  SharedExchange shared_{1};
  std::array<SharedExchange::End, 2> ends_{{{shared_, 0}, {shared_, 1}}};
};

using Jobs = ::testing::Types<LoopbackJob, NodeJob, SocketJob>;
struct JobNames {
  template <class Job>
  static std::string GetName(int) {
    return std::is_same_v<Job, LoopbackJob> ? "Loopback" : std::is_same_v<Job, NodeJob> ? "Node" : "Sockets";
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Channels, TransportContract, Jobs, JobNames);

}  // namespace
}  // namespace hawser::channel_test
