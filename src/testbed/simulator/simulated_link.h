// SimulatedLink: an adapter of the fabric in this process as a simulated rank has it opened. What the rank
// posts reaches the adapter at the rank's own time, which may be ahead of the event queue's; calls and posts
// cost it processor time; what arrives wakes it.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/event_queue.h"
#include "provider/local_link.h"
#include "testbed/simulator/fabric_options.h"
#include "testbed/simulator/lazy_arena.h"
#include "testbed/simulator/model_network.h"

namespace hawser {

// A rank, as its devices see it: what arrives for it.
class DeviceUser {
 public:
  virtual void on_completion() = 0;
  virtual void on_device_event() = 0;
  // What would wake a thread that sleeps on the device's descriptors.
  virtual void on_interrupt() = 0;

 protected:
  ~DeviceUser() = default;
};

class SimulatedLink final : public verbs::Link, private verbs::LocalLink::Listener {
 public:
  SimulatedLink(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space,
                SimulatedProcessor& processor, DeviceUser& user, const FabricOptions& options,
                LazyArena& memory, std::vector<SimulatedLink*>& links);
  ~SimulatedLink() override;

  verbs::Reply call(const verbs::Request& request, const verbs::SharedBytes* memory) override;
  void linger(std::int64_t nanoseconds) override { processor_.charge(nanoseconds); }
  verbs::SharedBytes allocate(std::size_t bytes) override;
  void ring(std::uint32_t queue_pair) override;
  bool ring_for_list(std::uint32_t queue_pair, std::uint64_t requests, std::uint64_t posted) override;
  bool rest(std::uint32_t) override { return true; }
  std::uint32_t create_channel() override { return link_->create_channel(); }
  void destroy_channel(std::uint32_t channel) override { link_->destroy_channel(channel); }
  int descriptor(std::uint32_t channel) const override { return link_->descriptor(channel); }
  int read_record(std::uint32_t channel, void* record, std::size_t bytes) override {
    return link_->read_record(channel, record, bytes);
  }
  bool overslept() const { return link_ && link_->overslept(); }
  // Its process is gone: what it had of the adapter is destroyed. Nobody calls this any more.
  void sever();

 private:
  Nanoseconds cost_of(verbs::Call call) const;
  void send_doorbell(std::uint32_t queue_pair, std::uint64_t posted);
  // A doorbell on its way to the adapter.
  class Doorbell final : public Event {
   public:
    explicit Doorbell(SimulatedLink& owner) : owner_(owner) {}
    void fire(Nanoseconds now) override;
    std::uint32_t queue_pair = 0;
    std::uint64_t posted = 0;  // requests of the queue pair that it is for, with those before

   private:
    SimulatedLink& owner_;
  };

  void on_completion() override { user_.on_completion(); }
  void on_async_event() override {
    user_.on_device_event();
    user_.on_interrupt();
  }
  void on_completion_event() override { user_.on_interrupt(); }

  EventQueue& events_;
  SimulatedProcessor& processor_;
  DeviceUser& user_;
  const VerbsCost& cost_;
  const bool tells_of_earlier_;
  LazyArena& memory_;
  std::vector<SimulatedLink*>& links_;  // it is among them
  std::optional<verbs::LocalLink> link_;
  std::deque<Doorbell> doorbells_;
  std::vector<Doorbell*> idle_doorbells_;
};

// The adapters of one host, opened by one rank on it.
class SimulatedPlatform final : public verbs::Platform {
 public:
  SimulatedPlatform(fabric::Fabric& fabric, std::int32_t host, fabric::SpaceId space,
                    SimulatedProcessor& processor, DeviceUser& user, const FabricOptions& options,
                    LazyArena& memory)
      : fabric_(fabric),
        local_(fabric, host),
        host_(host),
        space_(space),
        processor_(processor),
        user_(user),
        options_(options),
        memory_(memory) {}
  Result<std::vector<verbs::AdapterAttributes>> adapters() override { return local_.adapters(); }
  Result<std::unique_ptr<verbs::Link>> open(std::uint32_t adapter) override;
  int identify(int descriptor, std::uint64_t& device, std::uint64_t& inode) override {
    return local_.identify(descriptor, device, inode);
  }
  void complain(const std::string& text) override { local_.complain(text); }
  const std::vector<std::string>& once_per_outage() const { return local_.once_per_outage; }
  // The process is gone, as if by kill -9.
  void sever() {
    for (SimulatedLink* link : links_) link->sever();
  }
  // Some adapter is armed for a completion that came before, and nothing will wake who sleeps now.
  bool overslept() const {
    return std::ranges::any_of(links_, [](const SimulatedLink* link) { return link->overslept(); });
  }

  // Whose verbs calls are answered from now on (verbs::current_platform()); null: nobody's. Answers who it
  // was.
  static SimulatedPlatform* switch_to(SimulatedPlatform* platform);

 private:
  fabric::Fabric& fabric_;
  verbs::LocalPlatform local_;
  const std::int32_t host_;
  const fabric::SpaceId space_;
  SimulatedProcessor& processor_;
  DeviceUser& user_;
  const FabricOptions& options_;
  LazyArena& memory_;  // of all queues
  std::vector<SimulatedLink*> links_;
};

}  // namespace hawser
