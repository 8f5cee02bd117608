// What the tests of one-sided operations have in common: windows of the processes of a cluster, whose bytes
// are known, and operations that are counted.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "channel/channel_test_support.h"
#include "channel/remote_memory.h"
#include "rails/rail_cluster.h"

namespace hawser::rails_test {

using channel_test::Bytes;
using channel_test::EveryOther;
using channel_test::pattern;

// So many bytes in blocks, with as many between two of them: data that are not in one piece. They lie at
// `offset` of some memory.
class InBlocks final : public Packer {
 public:
  InBlocks(Bytes& memory, std::int64_t offset, std::int64_t size, std::int64_t block)
      : first_(memory.data() + offset), size_(size), block_(block) {}
  // What RemotePlace::layout wants.
  InBlocks(std::int64_t offset, std::int64_t size, std::int64_t block)
      : first_(reinterpret_cast<std::byte*>(offset)), size_(size), block_(block) {}

  void pack(std::int64_t offset, std::byte* out, std::int64_t bytes) override {
    walk(offset, bytes, [&](const MemoryBlock& each) {
      std::memcpy(out, each.data, static_cast<std::size_t>(each.bytes));
      out += each.bytes;
    });
  }
  void unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) override {
    walk(offset, bytes, [&](const MemoryBlock& each) {
      std::memcpy(each.data, in, static_cast<std::size_t>(each.bytes));
      in += each.bytes;
    });
  }
  MemoryBlock block(std::int64_t offset) const override {
    const auto address = reinterpret_cast<std::uintptr_t>(first_) +
                         static_cast<std::uintptr_t>(offset / block_ * 2 * block_ + offset % block_);
    return {reinterpret_cast<std::byte*>(address), std::min(block_ - offset % block_, size_ - offset)};
  }
  ByteSequence sequence() { return {nullptr, size_, this}; }
  // Of all of it, with the gaps.
  std::int64_t span() const { return (size_ - 1) / block_ * 2 * block_ + (size_ - 1) % block_ + 1; }

 private:
  template <class Use>
  void walk(std::int64_t offset, std::int64_t bytes, Use&& use) const {
    while (bytes > 0) {
      MemoryBlock each = block(offset);
      each.bytes = std::min(each.bytes, bytes);
      use(each);
      offset += each.bytes;
      bytes -= each.bytes;
    }
  }

  std::byte* const first_;
  const std::int64_t size_, block_;
};

// Operations of one process.
class Origin {
 public:
  struct Operation final : Completion {
    explicit Operation(RailCluster& in) : cluster(in) {}
    void on_complete(Result<> result) override {
      ++ends;
      ended = cluster.now();
      if (!result) error = result.error().text;
    }
    bool over() const { return ends > 0; }
    RailCluster& cluster;
    int ends = 0;
    Nanoseconds ended = 0;
    std::string error;
  };

  Origin(RailCluster& cluster, int self) : cluster_(cluster), self_(self) {}

  RemoteMemory& memory() {
    cluster_.at(self_).take_turn();
    return *cluster_.at(self_).channel().remote_memory();
  }
  Operation& put(int peer, const RemotePlace& to, const ByteSequence& from) {
    Operation& operation = operations_.emplace_back(cluster_);
    until([&] { return memory().try_put(peer, to, from, TrafficClass::one_sided, &operation); });
    return operation;
  }
  Operation& get(int peer, const RemotePlace& from, const ByteSequence& into) {
    Operation& operation = operations_.emplace_back(cluster_);
    until([&] { return memory().try_get(peer, from, into, TrafficClass::one_sided, &operation); });
    return operation;
  }
  Operation& flush(int peer) {
    Operation& operation = operations_.emplace_back(cluster_);
    memory().flush(peer, operation);
    return operation;
  }
  // Time passes in small steps; false: it did not come within `most`.
  template <class Condition>
  bool until(Condition&& condition, Nanoseconds most = 20 * second, Nanoseconds step = microsecond,
             Nanoseconds longest_step = 20 * microsecond) {
    const Nanoseconds end = cluster_.now() + most;
    while (!condition()) {
      if (cluster_.now() >= end || !cluster_.failure().empty()) return false;
      // Where nothing else happens the steps grow.
      cluster_.run(cluster_.now() + step, false);
      if (step < longest_step) step += step / 8;
    }
    return true;
  }
  bool settle(const Operation& operation, Nanoseconds most = 20 * second) {
    return until([&] { return operation.over(); }, most) && operation.ends == 1;
  }
  bool all_over() const {
    return std::all_of(operations_.begin(), operations_.end(), [](const auto& each) { return each.over(); });
  }
  std::vector<std::string> errors() const {
    std::vector<std::string> found;
    for (const Operation& each : operations_)
      if (!each.error.empty()) found.push_back(each.error);
    return found;
  }

 private:
  RailCluster& cluster_;
  const int self_;
  std::deque<Operation> operations_;
};

// Memory of one process that the others may reach into.
class TestWindow {
 public:
  TestWindow(RailCluster& cluster, int owner, std::size_t size, std::uint64_t seed = 77)
      : bytes(pattern(size, seed)), owner_(cluster, owner) {
    auto made = owner_.memory().register_window(bytes.data(), static_cast<std::int64_t>(size));
    EXPECT_TRUE(made) << made.error().text;
    if (made) token = made.value();
  }
  ~TestWindow() {
    if (open_) close();
  }
  TestWindow(const TestWindow&) = delete;
  TestWindow& operator=(const TestWindow&) = delete;
  void close() {
    owner_.memory().unregister_window(token);
    open_ = false;
  }
  RemotePlace at(std::int64_t offset) const { return {token, offset}; }
  bool holds(std::int64_t offset, const Bytes& expected) const {
    return std::memcmp(bytes.data() + offset, expected.data(), expected.size()) == 0;
  }

  Bytes bytes;
  WindowToken token;

 private:
  Origin owner_;
  bool open_ = true;
};

// An owner that computes answers no fence, and its queue pairs live on. A cable is pulled while something is
// put, and comes back. How many bytes are wrong after something else was put to the same place.
inline std::ptrdiff_t bytes_written_late() {
  ClusterOptions options;
  options.topology = "two-switch";
  options.parameters.link_latency = 2 * microsecond;
  options.parameters.link_rate = 200e6;
  options.knobs.rail_acknowledge_time = 4 * millisecond;
  options.knobs.rail_retries = 7;
  RailCluster cluster(options);
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, 100'000);
  Bytes first = pattern(100'000, 1), second = pattern(100'000, 2);
  // Few bytes each: copies stay registered when the puts are over, and so can still be read when it is late.
  const auto put = [&](Bytes& bytes) {
    for (std::int64_t offset = 0; offset < 100'000; offset += 4000)
      origin.put(1, window.at(offset), {bytes.data() + offset, 4000, nullptr});
  };
  put(second);
  EXPECT_TRUE(origin.settle(origin.flush(1)));
  cluster.at(1).computes_until = cluster.now() + 40 * millisecond;
  put(first);
  cluster.run(cluster.now() + 100 * microsecond, false);
  cluster.inject("link n0/hw0 down");
  auto& flushed = origin.flush(1);
  cluster.inject_at(cluster.now() + 3 * millisecond, "link n0/hw0 up");
  EXPECT_TRUE(origin.settle(flushed));
  put(second);
  EXPECT_TRUE(origin.settle(origin.flush(1)));
  cluster.run(cluster.now() + 100 * millisecond, false);
  std::ptrdiff_t wrong = 0;
  for (std::size_t i = 0; i < second.size(); ++i) wrong += window.bytes[i] != second[i];
  return wrong;
}

}  // namespace hawser::rails_test
