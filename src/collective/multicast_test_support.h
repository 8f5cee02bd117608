// TestAir: a network for multicast among the ranks of a TestCluster, which loses, doubles and reorders what
// it is told to.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "channel/multicast.h"

namespace hawser::testing {

class TestAir {
 public:
  static constexpr std::uint32_t rails = 2;
  double loss = 0, twice = 0, late = 0;
  bool works = true;  // else nobody can join, and nothing arrives
  std::uint64_t sent = 0;

  class Rank final : public Multicast {
   public:
    Rank(TestAir& air) : air_(air) { air.ranks_.push_back(this); }
    void set_multicast_handler(MulticastHandler* handler) override { handler_ = handler; }
    std::int32_t payload_bytes() const override { return 700; }
    void join(const MulticastKey& key, Member member) override {
      groups_[key] = groups_[key] || member == Member::receives;
    }
    void stop_receiving(const MulticastKey& key) override { groups_[key] = false; }
    std::uint32_t joined(const MulticastKey& key) const override {
      return air_.works && groups_.contains(key) ? (1u << rails) - 1 : 0;
    }
    void leave(const MulticastKey& key) override { groups_.erase(key); }
    bool send(const MulticastKey& key, int rail, std::span<const std::byte> header,
              std::span<const std::byte> payload) override {
      HAWSER_ASSERT(rail >= 0 && rail < static_cast<int>(rails) && header.size() == header_bytes);
      if (air_.dice(0.02)) return false;
      ++air_.sent;
      for (Rank* const each : air_.ranks_) {
        const auto found = each->groups_.find(key);
        if (each == this || found == each->groups_.end() || !found->second || !air_.works) continue;
        for (int copies = air_.dice(air_.twice) ? 2 : 1; copies > 0; --copies) {
          if (air_.dice(air_.loss)) continue;
          Packet packet{{header.begin(), header.end()}, {payload.begin(), payload.end()}};
          if (air_.dice(air_.late))
            each->arrived_.push_front(std::move(packet));
          else
            each->arrived_.push_back(std::move(packet));
        }
      }
      return true;
    }
    void set_due(Nanoseconds) override {}

    bool progress() {
      bool any = false;
      for (; !arrived_.empty() && !air_.dice(0.1); any = true) {
        const Packet packet = std::move(arrived_.front());
        arrived_.pop_front();
        if (handler_ != nullptr) handler_->on_multicast(packet.header, packet.payload);
      }
      return any;
    }

   private:
    struct Packet {
      std::vector<std::byte> header, payload;
    };
    TestAir& air_;
    MulticastHandler* handler_ = nullptr;
    std::map<MulticastKey, bool> groups_;  // whether it receives
    std::deque<Packet> arrived_;
  };

 private:
  bool dice(double chance) { return static_cast<double>(random_.below(1000000)) < chance * 1000000; }
  Random random_{1};
  std::vector<Rank*> ranks_;
};

}  // namespace hawser::testing
