// TestCluster: a number of ranks in one process for the unit tests of this room, each with its own
// PointToPoint and CollectiveEngine over loopback channels. Ranks run in threads of which exactly one has the
// baton; it is passed on, in order, when a rank waits, so that runs are repeatable and blocking calls work.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/random.h"
#include "channel/remote_memory.h"
#include "channel/shared_areas.h"
#include "collective/engine.h"
#include "collective/multicast_test_support.h"

namespace hawser::testing {

struct Packet {
  ProcessIndex source = 0;
  TransportHeader header;
  std::vector<std::byte> payload;
  std::int64_t message_size = 0;
  bool offers = false;                 // the payload is an ExposeToken
  Completion* exposed_done = nullptr;  // not a message: these bytes were fetched
};

class LoopbackChannel final : public Transport, private RemoteMemory {
 public:
  struct Exposed {
    ByteSequence bytes;
    Completion* end;
  };
  LoopbackChannel(ProcessIndex self, std::vector<LoopbackChannel*>& all) : self_(self), all_(all) {}

  const char* name() const override { return "loopback"; }
  std::int64_t eager_limit(ProcessIndex) const override { return 1024; }
  // One call in so many finds no room; 0: none.
  void refuse_every(int calls) { refused_call_ = calls; }
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override {
    if (full()) return false;
    Packet packet{self_,        header, std::vector<std::byte>(static_cast<std::size_t>(payload.size)),
                  payload.size, false,  nullptr};
    copy_out(payload, packet.payload.data(), payload.size);
    all_[static_cast<std::size_t>(peer)]->arrived_.push_back(std::move(packet));
    return true;
  }
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override {
    if (full()) return false;
    exposed_.push_back({bytes, end});
    ExposeToken token;
    token.words[0] = reinterpret_cast<std::uint64_t>(&exposed_.back());
    Packet packet{self_, header, std::vector<std::byte>(sizeof token), bytes.size, true, nullptr};
    std::memcpy(packet.payload.data(), &token, sizeof token);
    all_[static_cast<std::size_t>(peer)]->arrived_.push_back(std::move(packet));
    return true;
  }
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
             Completion* end) override {
    const auto* exposed = reinterpret_cast<const Exposed*>(token.words[0]);
    std::vector<std::byte> bytes(static_cast<std::size_t>(into.size));
    copy_out(exposed->bytes, bytes.data(), into.size);
    if (into.size > 0) {
      if (into.contiguous()) {
        std::memcpy(into.data, bytes.data(), bytes.size());
      } else {
        into.packer->unpack(0, bytes.data(), into.size);
      }
    }
    fetched_.push_back(end);
    Packet done;
    done.exposed_done = exposed->end;
    LoopbackChannel& exposer = *all_[static_cast<std::size_t>(peer)];
    exposer.arrived_.push_back(std::move(done));
    exposer.exposed_.remove_if([&](const Exposed& each) { return &each == exposed; });
  }
  // As if they had been fetched.
  void end_exposed() {
    for (const Exposed& each : std::exchange(exposed_, {})) each.end->on_complete({});
  }
  // From here on it does puts and gets by itself.
  void set_native() { native_ = true; }
  // And each takes so many calls of progress.
  void delay_native(int calls) { native_delay_ = calls; }
  RemoteMemory* remote_memory() override { return native_ ? this : nullptr; }

  bool progress(TransportEvents& events, Nanoseconds) override {
    bool moved = !fetched_.empty() || !arrived_.empty();
    // In any order: the last first.
    if (natively_.empty() || ++native_waited_ > native_delay_) {
      native_waited_ = 0;
      moved |= !natively_.empty();
      for (auto natively = std::exchange(natively_, {}); !natively.empty(); natively.pop_back())
        natively.back()();
      for (auto flushes = std::exchange(flushes_, {}); Completion * end : flushes) tell(end, {});
    }
    while (!fetched_.empty()) {
      Completion* const end = fetched_.front();
      fetched_.pop_front();
      tell(end, {});
    }
    while (!arrived_.empty()) {
      const Packet packet = std::move(arrived_.front());
      arrived_.pop_front();
      if (packet.exposed_done != nullptr) {
        tell(packet.exposed_done, {});
      } else if (packet.offers) {
        ExposeToken token;
        std::memcpy(&token, packet.payload.data(), sizeof token);
        events.on_offer(packet.source, packet.header, token, packet.message_size);
      } else {
        events.on_packet(packet.source, packet.header, packet.payload.data(), packet.message_size);
      }
    }
    return moved;
  }
  bool flushed() const override { return true; }
  Multicast* multicast() override { return multicast_; }
  void use_multicast(Multicast& multicast) { multicast_ = &multicast; }
  int registered_windows() const { return windows_; }

 private:
  static void copy_out(const ByteSequence& from, std::byte* to, std::int64_t bytes) {
    if (bytes == 0) return;
    if (from.contiguous()) {
      std::memcpy(to, from.data, static_cast<std::size_t>(bytes));
    } else {
      from.packer->pack(0, to, bytes);
    }
  }

  // RemoteMemory: a token is an address. A put or a get is done in some later progress.
  // In blocks of 16 bytes and more.
  RemoteCapabilities capabilities(ProcessIndex) const override { return {true, true, 0, 16}; }
  Result<WindowToken> register_window(std::byte* memory, std::int64_t size) override {
    ++windows_;
    return WindowToken{{reinterpret_cast<std::uint64_t>(memory), static_cast<std::uint64_t>(size)}};
  }
  void unregister_window(const WindowToken&) override { --windows_; }
  bool try_put(ProcessIndex, const RemotePlace& to, const ByteSequence& from, TrafficClass,
               Completion* end) override {
    return !full() && begin(to, from, end, true);
  }
  bool try_get(ProcessIndex, const RemotePlace& from, const ByteSequence& into, TrafficClass,
               Completion* end) override {
    return !full() && begin(from, into, end, false);
  }
  bool try_atomic(ProcessIndex, const RemotePlace&, const AtomicRequest&, std::uint64_t&,
                  Completion*) override {
    HAWSER_UNREACHABLE();
  }
  void flush(ProcessIndex, Completion& end) override { flushes_.push_back(&end); }
  bool begin(const RemotePlace& place, const ByteSequence& bytes, Completion* end, bool puts) {
    natively_.push_back([=] {
      for (std::int64_t at = 0; at < bytes.size;) {
        MemoryBlock block{reinterpret_cast<std::byte*>(at), bytes.size - at};
        if (place.layout != nullptr) block = place.layout->block(at);
        block.bytes = std::min(block.bytes, bytes.size - at);
        const auto offset = place.offset + reinterpret_cast<std::intptr_t>(block.data);
        HAWSER_ASSERT(block.bytes > 0 && offset >= 0 &&
                      offset + block.bytes <= static_cast<std::int64_t>(place.window.words[1]));
        move(bytes, at, reinterpret_cast<std::byte*>(place.window.words[0]) + offset, block.bytes, puts);
        at += block.bytes;
      }
      tell(end, {});
    });
    return true;
  }
  static void move(const ByteSequence& here, std::int64_t at, std::byte* there, std::int64_t bytes,
                   bool puts) {
    if (!here.contiguous())
      puts ? here.packer->pack(at, there, bytes) : here.packer->unpack(at, there, bytes);
    else if (puts)
      std::memcpy(there, here.data + at, static_cast<std::size_t>(bytes));
    else
      std::memcpy(here.data + at, there, static_cast<std::size_t>(bytes));
  }

  bool full() { return refused_call_ > 0 && ++calls_ % refused_call_ == 0; }

  ProcessIndex self_;
  std::vector<LoopbackChannel*>& all_;
  Multicast* multicast_ = nullptr;
  int refused_call_ = 0;
  int calls_ = 0;
  bool native_ = false;
  int native_delay_ = 0, native_waited_ = 0;
  int windows_ = 0;
  std::vector<std::function<void()>> natively_;
  std::vector<Completion*> flushes_;
  std::deque<Packet> arrived_;
  std::deque<Completion*> fetched_;
  std::list<Exposed> exposed_;
};

// Memory that the ranks share, a few areas each.
struct TestNode {
  static constexpr int areas = 8;
  static constexpr std::int64_t small_area = 64 << 10, large_area = 2 << 20;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  TestNode(int ranks, std::int64_t area_bytes)
      : area_bytes(area_bytes),
        lines(static_cast<std::size_t>(ranks * areas * area_bytes / 64)),
        crowded(ranks % 2 == 1) {}
  std::int64_t area_bytes;
  std::vector<Line> lines;
  int refused_copy = 0;  // the copy of this number from now on is refused
  bool crowded;          // odd numbers of ranks are said to share cores, so that both kinds are tested
};

class TestAreas final : public SharedAreas {
 public:
  // `places`: of each process on this node; -1: it is on another.
  TestAreas(TestNode& node, std::vector<int> places) : node_(node), places_(std::move(places)) {}
  int place_of(ProcessIndex process) const override { return places_[static_cast<std::size_t>(process)]; }
  int allocate() override {
    for (int i = 0; i < TestNode::areas; ++i) {
      if (!std::exchange(taken_[i], true)) return i;
    }
    return -1;
  }
  void release(int index) override { taken_[index] = false; }
  std::byte* address(int place, int index) const override {
    return node_.lines.data()->bytes + (place * TestNode::areas + index) * node_.area_bytes;
  }
  std::int64_t area_bytes() const override { return node_.area_bytes; }
  void wake(int) override {}
  bool copy_from(int, std::byte* to, std::uint64_t address, std::int64_t bytes) override {
    if (node_.refused_copy > 0 && --node_.refused_copy == 0) return false;
    std::memcpy(to, reinterpret_cast<const void*>(address), static_cast<std::size_t>(bytes));
    return true;
  }
  int free() const { return static_cast<int>(std::count(std::begin(taken_), std::end(taken_), false)); }
  bool crowded() const override { return node_.crowded; }

 private:
  TestNode& node_;
  std::vector<int> places_;
  bool taken_[TestNode::areas] = {};
};

class TestCluster;

// TestCluster's ranks_per_node: from at_random on the ranks are put on a third as many nodes at random, so
// that some nodes have one rank.
inline constexpr int at_random = 1000;
inline int random_node(int seed, int rank, int nodes) {
  Random random(static_cast<std::uint64_t>(seed * 1009 + rank));
  return static_cast<int>(random.below(static_cast<std::uint64_t>(nodes)));
}

// Or dealt out to as many nodes in turn, or at random.
inline int node_in_test(int rank, int size, int ranks_per_node) {
  if (ranks_per_node == 0) return ProcessTable::unknown_node;
  if (ranks_per_node >= at_random) return random_node(ranks_per_node - at_random, rank, (size + 2) / 3);
  return ranks_per_node > 0 ? rank / ranks_per_node : rank % ((size - ranks_per_node - 1) / -ranks_per_node);
}

class TestRank final : public Progress, public ChannelSet {
 public:
  TestRank(TestCluster& cluster, int rank, int size, std::vector<LoopbackChannel*>& all, const Knobs& knobs,
           TestNode* node, int ranks_per_node, TestAir& air)
      : rank(rank),
        size(size),
        messages(table),
        engine(messages, *this),
        cluster_(cluster),
        channel_(rank, all),
        multicast_(air) {
    channel_.use_multicast(multicast_);
    all[static_cast<std::size_t>(rank)] = &channel_;
    std::vector<int> places;
    const int own_node = node_in_test(rank, size, ranks_per_node);
    for (int r = 0, next = 0; r < size; ++r) {
      const int of = node_in_test(r, size, ranks_per_node);
      processes.add({of});
      places.push_back(of == own_node ? next++ : -1);
    }
    messages.connect(lane, rank, processes, *this, UnexpectedBounds::of(1 << 20, size));
    if (node != nullptr) areas_.emplace(*node, std::move(places));
    const Result<> opened = engine.open(rank, processes, knobs, nullptr);
    HAWSER_ASSERT(opened);
    // Whatever the knobs say.
    if (areas_) engine.use_areas(*areas_);
    engine.expect_areas(areas_ ? node->area_bytes : 0);
    engine.use_multicast(lane, *this);
    world = make_counted<Communicator>(make_counted<Group>(0, 1, size), rank, 0);
    engine.adopt_predefined(*world);
  }
  ~TestRank() {
    engine.close();
    world = nullptr;
    messages.disconnect();
  }

  bool make_progress() override {
    now_ += 500;
    engine.begin_pass(now_);
    bool moved = channel_.progress(lane, now_);
    moved |= multicast_.progress();
    moved |= messages.progress();
    moved |= engine.progress_multicast();
    moved |= engine.progress();
    if (more_progress) moved |= more_progress();
    return moved;
  }
  LoopbackChannel& channel() { return channel_; }
  const TestAreas& areas() const { return *areas_; }
  void wait_until(FunctionRef<bool()> done) override;
  void wait(Request* request) {
    wait_until([request] { return request->complete; });
  }

  Transport* channel_of(ProcessIndex peer) override { return peer == rank ? nullptr : &channel_; }
  std::span<Transport* const> channels() override { return channels_; }
  Waiter& waiter() override { HAWSER_UNREACHABLE(); }

  const int rank;
  const int size;
  ProcessTable processes;
  RequestTable table;
  Lane lane;
  PointToPoint messages;
  CollectiveEngine engine;
  Ref<Communicator> world;
  std::function<bool()> more_progress;  // of rooms above; null: none

 private:
  TestCluster& cluster_;
  LoopbackChannel channel_;
  TestAir::Rank multicast_;
  Transport* const channels_[1] = {&channel_};
  Nanoseconds now_ = 0;
  std::optional<TestAreas> areas_;
};

class TestCluster {
 public:
  // `one_node`: all ranks share memory. `ranks_per_node`: those of a node do; below 0: dealt out in turn;
  // from at_random on: see there.
  explicit TestCluster(int size, const Knobs& knobs = {}, bool one_node = false, int ranks_per_node = 0,
                       std::int64_t area_bytes = TestNode::small_area)
      : channels_(static_cast<std::size_t>(size)) {
    for (int r = 0; r < size; ++r) {
      std::unique_ptr<TestNode>* const node =
          one_node || ranks_per_node != 0 ? &nodes_[node_in_test(r, size, ranks_per_node)] : nullptr;
      if (node != nullptr && *node == nullptr) *node = std::make_unique<TestNode>(size, area_bytes);
      ranks_.push_back(std::make_unique<TestRank>(
          *this, r, size, channels_, knobs, node == nullptr ? nullptr : node->get(), ranks_per_node, air_));
    }
  }

  // Runs body(rank) on all ranks and returns when all have ended and nothing moves any more.
  void run(const std::function<void(TestRank&)>& body) {
    ended_ = 0;
    turn_ = 0;
    std::vector<std::thread> threads;
    for (auto& rank : ranks_) {
      threads.emplace_back([this, &rank, &body] {
        take_baton(rank->rank);
        body(*rank);
        ++ended_;
        // Others may still need our progress.
        while (ended_ < static_cast<int>(ranks_.size())) {
          rank->make_progress();
          pass_baton();
          take_baton(rank->rank);
        }
        pass_baton();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& rank : ranks_) moved |= rank->make_progress();
    }
  }
  TestAir& air() { return air_; }
  TestNode& only_node() { return *nodes_.begin()->second; }
  TestRank& rank(int r) { return *ranks_[static_cast<std::size_t>(r)]; }

 private:
  friend class TestRank;

  void take_baton(int rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, rank] { return turn_ == rank; });
  }
  void pass_baton() {
    {
      const std::lock_guard lock(mutex_);
      turn_ = (turn_ + 1) % static_cast<int>(ranks_.size());
    }
    changed_.notify_all();
  }

  std::map<int, std::unique_ptr<TestNode>> nodes_;
  std::vector<LoopbackChannel*> channels_;
  TestAir air_;
  std::vector<std::unique_ptr<TestRank>> ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0;
  int ended_ = 0;
};

inline void TestRank::wait_until(FunctionRef<bool()> done) {
  while (!done()) {
    if (make_progress()) continue;
    cluster_.pass_baton();
    cluster_.take_baton(rank);
  }
}

}  // namespace hawser::testing
