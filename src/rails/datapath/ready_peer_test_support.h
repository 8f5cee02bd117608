// A peer whose subchannels are ready, over adapters that only keep what is posted, for unit tests of the data
// path.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "rails/datapath/fake_device_test_support.h"
#include "rails/datapath/virtual_channel.h"

namespace hawser {

// Tells the machine of a subchannel what happens, as recovery does, whose actions nobody carries out here.
class rails_test::MachineAccess {
 public:
  static void tell(Subchannel& subchannel, const SubchannelEvent& event) {
    static_cast<void>(subchannel.machine_.on(event, 1));
  }
};

namespace rails_test {

class NoRecovery final : public SubchannelEvents {
 public:
  void on_wanted(VirtualChannel&) override {}
  void on_paths_wanted(VirtualChannel&) override {}
  void on_failed(Subchannel&, PathReason) override {}
  void on_damaged(Subchannel&) override {}
  void on_half_posted(Subchannel&) override {}
  void on_drained(Subchannel&) override {}
  void on_early_packet(Subchannel&, PacketKind) override {}
  void on_reissued(std::int64_t) override {}
  void on_device_gone(std::uint16_t) override {}
};

// Two rails, one subchannel on each.
struct ReadyPeer {
  explicit ReadyPeer(std::unique_ptr<SchedulingPolicy> policy) {
    using Kind = SubchannelEvent::Kind;
    settings.job_size = 2;
    context.emplace(settings, Knobs{}, 1);
    resources.emplace(context->knobs);
    FakeDevices devices(2);
    EXPECT_TRUE(resources->open(*context, devices));
    upward.subchannels = &recovery;
    channel.emplace(*context, *resources, upward, due, 1, resources->table, std::move(policy));
    for (Subchannel& subchannel : channel->subchannels()) {
      subchannel.queue_pair = std::make_unique<FakeQueuePair>();
      MachineAccess::tell(subchannel, {.kind = Kind::want});
      MachineAccess::tell(subchannel, {.kind = Kind::connect_begun, .connection_generation = 1});
      MachineAccess::tell(subchannel, {.kind = Kind::joined});
      EXPECT_TRUE(subchannel.in_service());
      channel->on_ready(subchannel);
    }
    channel->advance();  // the credit that tells the peer of the new connection
  }
  ~ReadyPeer() { channel->abandon(); }

  Subchannel& subchannel(std::size_t index) { return channel->subchannels()[index]; }
  FakeQueuePair& queue_pair(std::size_t index) {
    return static_cast<FakeQueuePair&>(*subchannel(index).queue_pair);
  }

  RailSettings settings;
  std::optional<RailContext> context;
  std::optional<RailResources> resources;
  Upward upward;
  NoRecovery recovery;
  VirtualChannel::DueList due;
  std::optional<VirtualChannel> channel;
};

}  // namespace rails_test
}  // namespace hawser
