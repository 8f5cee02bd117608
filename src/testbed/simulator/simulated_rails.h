// SimulatedRails: the production RailChannel of one simulated rank, whose polling costs processor time and
// lets the other ranks go on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "access/verbs/verbs_device.h"
#include "rails/rail_channel.h"
#include "testbed/simulator/model_network.h"

namespace hawser {

class SimulatedRails final : public Transport {
 public:
  // Opens the devices of the rank that runs now. What is given must outlive the channel.
  static Result<std::unique_ptr<SimulatedRails>> open(const RailSettings& settings, AddressExchange& exchange,
                                                      const Knobs& knobs, std::uint64_t seed,
                                                      SimulatedProcessor& processor);

  RailChannel& rails() { return *rails_; }
  const RailStatus& status() const { return status_; }

  const char* name() const override { return rails_->name(); }
  std::vector<ChannelCounter> list_counters() const override {
    return static_cast<const Transport&>(*rails_).list_counters();
  }
  std::int64_t eager_limit(ProcessIndex peer) const override { return rails_->eager_limit(peer); }
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override {
    return rails_->try_send(peer, header, payload);
  }
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override {
    return rails_->try_expose(peer, header, bytes, end);
  }
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
             Completion* end) override {
    rails_->fetch(peer, token, into, end);
  }
  RemoteMemory* remote_memory() override { return rails_->remote_memory(); }
  Multicast* multicast() override { return static_cast<Transport&>(*rails_).multicast(); }
  bool progress(TransportEvents& events, Nanoseconds now) override;
  Nanoseconds deadline() const override { return rails_->deadline(); }
  // Takes effect at the rank's own time, so something may come between its last look and this.
  Result<> arm(Wake wake) override {
    processor_.catch_up();
    return rails_->arm(wake);
  }
  bool awaits_more_than_armed() const override { return rails_->awaits_more_than_armed(); }
  void set_alarm(DeadlineAlarm* alarm) override { rails_->set_alarm(alarm); }
  bool flushed() const override { return rails_->flushed(); }
  void give_up(ProcessIndex process, const Error& error, TransportEvents& events) override {
    static_cast<Transport&>(*rails_).give_up(process, error, events);
  }

 private:
  SimulatedRails(rdma::VerbsFunctions functions, SimulatedProcessor& processor)
      : devices_(functions), processor_(processor) {}

  // Room for the record of events; rows of paths are for people.
  struct alignas(64) StatusMemory {
    std::byte bytes[status_header_bytes];
  };
  std::unique_ptr<StatusMemory> status_memory_ = std::make_unique<StatusMemory>();
  RailStatus status_{std::span(status_memory_->bytes), nullptr, StatusIdentity{}};
  rdma::VerbsDeviceSource devices_;
  SimulatedProcessor& processor_;
  std::unique_ptr<RailChannel> rails_;
};

}  // namespace hawser
