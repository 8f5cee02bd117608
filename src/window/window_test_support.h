// For the tests of this room: ranks of one process, each with its windows, over loopback channels
// (collective/test_cluster.h).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "collective/test_cluster.h"
#include "datatype/operator.h"
#include "datatype/predefined.h"
#include "window/window_engine.h"

namespace hawser::testing {

// A rank and what a test's body needs of it.
struct WindowRank {
  TestRank& base;
  WindowEngine& engine;
  const PredefinedTypes& types;
  const PredefinedOperators& operators;

  int rank() const { return base.rank; }
  int size() const { return base.size; }
  const Datatype& type(PredefinedType which) const { return types[which]; }
  Ref<Window> make(void* memory, std::int64_t bytes, std::int64_t unit = 1) {
    WindowMemory own;
    own.base = static_cast<std::byte*>(memory);
    own.size = bytes;
    own.displacement_unit = unit;
    auto window = engine.create(*base.world, std::move(own));
    EXPECT_TRUE(window);
    return std::move(window).value();
  }
  template <class T>
  Ref<Window> make(std::vector<T>& memory) {
    return make(memory.data(), static_cast<std::int64_t>(memory.size() * sizeof(T)), sizeof(T));
  }
  Ref<Window> make_dynamic() {
    WindowMemory own;
    own.flavor = WindowFlavor::dynamic;
    auto window = engine.create(*base.world, std::move(own));
    EXPECT_TRUE(window);
    return std::move(window).value();
  }
  void wait(Request* request) {
    base.wait(request);
    EXPECT_TRUE(request->finish());
    if (!request->shared) request->destroy();
  }
  // The others get a turn.
  void pass() {
    bool first = true;
    base.wait_until([&first] { return !std::exchange(first, false); });
  }
  void barrier() {
    CollectiveCall call{};
    call.kind = Collective::barrier;
    EXPECT_TRUE(base.engine.run(*base.world, call));
  }
};

class WindowCluster {
 public:
  // `refused_call`: one call in so many of the channels finds no room; 0: none.
  explicit WindowCluster(int size, int refused_call = 0) : cluster_(size) {
    for (int r = 0; r < size; ++r) {
      TestRank& rank = cluster_.rank(r);
      engines_.push_back(std::make_unique<WindowEngine>(rank.engine));
      engines_.back()->open(rank.lane, r, rank);
      rank.more_progress = [engine = engines_.back().get()] { return engine->progress(); };
      rank.channel().refuse_every(refused_call);
    }
  }
  ~WindowCluster() {
    for (auto& engine : engines_) {
      EXPECT_TRUE(engine->flushed());
      engine->close();
    }
  }
  void run(const std::function<void(WindowRank&)>& body) {
    cluster_.run([&](TestRank& rank) {
      WindowRank own{rank, *engines_[static_cast<std::size_t>(rank.rank)], types_, operators_};
      body(own);
    });
    for (int r = 0; r < static_cast<int>(engines_.size()); ++r)
      EXPECT_EQ(cluster_.rank(r).lane.bad_packet(), "");
  }
  TestCluster& cluster() { return cluster_; }
  WindowEngine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }

 private:
  TestCluster cluster_;
  std::vector<std::unique_ptr<WindowEngine>> engines_;
  PredefinedTypes types_;
  PredefinedOperators operators_;
};

// For tests that are the same for some numbers of ranks, with and without channels that refuse.
struct Setting {
  int ranks;
  int refused_call;
};
inline const Setting settings[] = {{1, 0}, {2, 0}, {2, 3}, {3, 2}, {4, 0}, {5, 4}, {8, 0}, {8, 5}};

}  // namespace hawser::testing
