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

// Operations of one process.
class Origin {
 public:
  struct Operation final : Completion {
    void on_complete(Result<> result) override {
      ++ends;
      if (!result) error = result.error().text;
    }
    bool over() const { return ends > 0; }
    int ends = 0;
    std::string error;
  };

  Origin(RailCluster& cluster, int self) : cluster_(cluster), self_(self) {}

  RemoteMemory& memory() {
    cluster_.at(self_).take_turn();
    return *cluster_.at(self_).channel().remote_memory();
  }
  Operation& put(int peer, const RemotePlace& to, const ByteSequence& from) {
    Operation& operation = operations_.emplace_back();
    until([&] { return memory().try_put(peer, to, from, TrafficClass::one_sided, &operation); });
    return operation;
  }
  Operation& get(int peer, const RemotePlace& from, const ByteSequence& into) {
    Operation& operation = operations_.emplace_back();
    until([&] { return memory().try_get(peer, from, into, TrafficClass::one_sided, &operation); });
    return operation;
  }
  Operation& flush(int peer) {
    Operation& operation = operations_.emplace_back();
    memory().flush(peer, operation);
    return operation;
  }
  // Time passes in small steps; false: it did not come within `most`.
  template <class Condition>
  bool until(Condition&& condition, Nanoseconds most = 20 * second, Nanoseconds step = microsecond) {
    const Nanoseconds end = cluster_.now() + most;
    while (!condition()) {
      if (cluster_.now() >= end || !cluster_.failure().empty()) return false;
      // Where nothing else happens the steps grow.
      cluster_.run(cluster_.now() + step, false);
      if (step < 20 * microsecond) step += step / 8;
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

}  // namespace hawser::rails_test
