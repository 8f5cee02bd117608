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

// Where the ranks' memory is, for windows that they share.
struct SharedPlaces {
  struct Control {
    alignas(64) std::byte bytes[1024] = {};
  };
  std::vector<std::byte*> bases;
  std::vector<std::shared_ptr<Control>> controls;
};

class SharedTestMemory final : public SharedWindowMemory {
 public:
  explicit SharedTestMemory(SharedPlaces places) : places_(std::move(places)) {
    EXPECT_LE(control_bytes(static_cast<int>(places_.bases.size())),
              std::int64_t{sizeof(SharedPlaces::Control)});
  }
  std::byte* base_of(int rank) const override { return places_.bases[static_cast<std::size_t>(rank)]; }
  std::byte* control_of(int rank) const override {
    return places_.controls[static_cast<std::size_t>(rank)]->bytes;
  }

 private:
  const SharedPlaces places_;
};

// A rank and what a test's body needs of it.
struct WindowRank {
  TestRank& base;
  WindowEngine& engine;
  SharedPlaces* shared;  // null: every rank reaches its own memory alone
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
    if (shared != nullptr) {
      const auto index = static_cast<std::size_t>(rank());
      shared->bases[index] = own.base;
      shared->controls[index] = std::make_shared<SharedPlaces::Control>();
      barrier();
      own.shared = std::make_unique<SharedTestMemory>(*shared);
      barrier();
    }
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

// The tests are the same for some numbers of ranks, with channels that refuse now and then (one call in so
// many; 0: never), and in memory that all ranks share or only some.
struct Setting {
  int ranks;
  int refused_call = 0;
  bool shared = false;
  bool native = false;  // the channels do puts and gets by themselves
};
inline const Setting settings[] = {{1},
                                   {2},
                                   {2, 3},
                                   {3, 2},
                                   {4},
                                   {5, 4},
                                   {8},
                                   {8, 5},
                                   {2, 0, true},
                                   {5, 0, true},
                                   {2, 0, false, true},
                                   {5, 3, false, true}};
inline std::string name_of(const Setting& setting) {
  std::string name = std::to_string(setting.ranks) + "ranks";
  if (setting.refused_call != 0) name += "refusing" + std::to_string(setting.refused_call);
  if (setting.native) name += "native";
  return setting.shared ? name + "shared" : name;
}

class WindowCluster {
 public:
  explicit WindowCluster(Setting setting) : cluster_(setting.ranks) {
    const int size = setting.ranks;
    if (setting.shared) {
      shared_ = std::make_unique<SharedPlaces>();
      shared_->bases.resize(static_cast<std::size_t>(size));
      shared_->controls.resize(static_cast<std::size_t>(size));
    }
    for (int r = 0; r < size; ++r) {
      TestRank& rank = cluster_.rank(r);
      engines_.push_back(std::make_unique<WindowEngine>(rank.engine));
      engines_.back()->open(rank.lane, r, rank, nullptr);
      rank.more_progress = [engine = engines_.back().get()] { return engine->progress(); };
      rank.channel().refuse_every(setting.refused_call);
      if (setting.native) rank.channel().set_native();
    }
  }
  ~WindowCluster() {
    for (std::size_t r = 0; r < engines_.size(); ++r) {
      EXPECT_TRUE(engines_[r]->flushed());
      engines_[r]->close();
      EXPECT_EQ(cluster_.rank(static_cast<int>(r)).channel().registered_windows(), 0);
    }
  }
  void run(const std::function<void(WindowRank&)>& body) {
    cluster_.run([&](TestRank& rank) {
      WindowRank own{rank, *engines_[static_cast<std::size_t>(rank.rank)], shared_.get(), types_, operators_};
      body(own);
    });
    for (int r = 0; r < static_cast<int>(engines_.size()); ++r)
      EXPECT_EQ(cluster_.rank(r).lane.bad_packet(), "");
  }
  TestCluster& cluster() { return cluster_; }
  WindowEngine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }

 private:
  TestCluster cluster_;
  std::unique_ptr<SharedPlaces> shared_;
  std::vector<std::unique_ptr<WindowEngine>> engines_;
  PredefinedTypes types_;
  PredefinedOperators operators_;
};

}  // namespace hawser::testing
