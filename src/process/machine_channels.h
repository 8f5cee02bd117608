// MachineChannels: the channels of a real process: shared memory to the processes of its node; rails to the
// others where both ends have them (network_agreement.h), else sockets. Building it is collective over the
// job, unless all of the job is one node whose segment our mpiexec made: then nobody waits for anybody. (Our
// mpiexec makes a segment for every node, or for none.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "access/rdma.h"
#include "base/knobs.h"
#include "channel/channel_set.h"
#include "channel/exchange.h"
#include "channel/machine_waiter.h"
#include "channel/shared_memory_channel.h"
#include "channel/socket_channel.h"
#include "os/memory_watch.h"
#include "process/network_agreement.h"
#include "rails/rail_channel.h"
#include "rails/status/process_status.h"

namespace hawser {

// Whether all ranks of a job are on one node; `node_of_rank` as in JobPlace.
bool on_one_node(std::span<const std::int32_t> node_of_rank);

class MachineChannels final : public ChannelSet {
 public:
  // `exchange` and `clock` must outlive the set; `devices` are opened if the job spans nodes.
  static Result<std::unique_ptr<MachineChannels>> build(const JobPlace& place, AddressExchange& exchange,
                                                        const Knobs& knobs, Clock& clock,
                                                        rdma::DeviceSource& devices);

  Transport* channel_of(ProcessIndex peer) override;
  std::span<Transport* const> channels() override { return channels_; }
  SharedMemoryChannel* shared_memory() override { return shared_memory_.get(); }
  SharedAreas* areas() override { return shared_memory_.get(); }
  std::int64_t area_bytes_everywhere() override { return agreement_.area_bytes(); }
  Neighbours* neighbours() override { return shared_memory_.get(); }
  Waiter& waiter() override { return *waiter_; }
  LinkRates link_rates() override { return agreement_.link_rates(); }
  DistancesSeen rail_distances() override {
    return rails_ == nullptr ? DistancesSeen{} : distances_of(*rails_);
  }
  // Sleeps also end when this descriptor is readable.
  Result<> watch(int descriptor) { return waiter_->watch(descriptor); }
  RailChannel* rails() { return rails_.get(); }
  // In a forked child: closes its copies of connections to other processes.
  void forget() {
    if (sockets_ != nullptr) sockets_->forget();
  }
  const RailStatus* rail_status() const { return status_ == nullptr ? nullptr : &status_->rails(); }

 private:
  Result<> open_network(const JobPlace& place, AddressExchange& exchange, const Knobs& knobs, Clock& clock,
                        rdma::DeviceSource& devices);
  Result<> choose_network(const JobPlace& place, AddressExchange& exchange, const Knobs& knobs);

  std::unique_ptr<SharedMemoryChannel> shared_memory_;  // null: alone on the node
  std::unique_ptr<SocketChannel> sockets_;              // null: nobody is reached by them
  std::unique_ptr<ProcessStatus> status_;               // of the rails, if there are any
  std::unique_ptr<MemoryWatch> memory_watch_;           // for the rails; null: no registration is kept
  std::unique_ptr<RailChannel> rails_;                  // null: nobody is reached by them
  NetworkAgreement agreement_;
  std::unique_ptr<MachineWaiter> waiter_;
  std::vector<Transport*> channels_;
  std::vector<std::int32_t> node_of_rank_;
  std::int32_t rank_ = 0;
};

}  // namespace hawser
