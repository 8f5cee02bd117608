#include "process/machine_channels.h"

#include <algorithm>
#include <span>

#include "channel/node_segment.h"
#include "collective/tuned_table.h"
#include "mpi/failure.h"
#include "os/shared_memory.h"

namespace hawser {
namespace {

// Devices that are open already.
class OpenedDevices final : public rdma::DeviceSource {
 public:
  explicit OpenedDevices(std::vector<std::unique_ptr<rdma::Device>> devices) : devices_(std::move(devices)) {}
  Result<std::vector<std::unique_ptr<rdma::Device>>> open_devices() override { return std::move(devices_); }

 private:
  std::vector<std::unique_ptr<rdma::Device>> devices_;
};

// How many processes of the job share the host with this one.
std::int32_t processes_beside(std::span<const std::int32_t> node_of_rank, std::int32_t rank) {
  return static_cast<std::int32_t>(
      std::ranges::count(node_of_rank, node_of_rank[static_cast<std::size_t>(rank)]));
}

// Of the areas that this process will share with others of its node.
std::int64_t area_bytes_of(const JobPlace& place, const Knobs& knobs) {
  const std::int32_t here = processes_beside(place.node_of_rank, place.rank);
  if (here == 1) return NetworkOffer::alone_on_node;
  return knobs.collective_shared == "off" ? 0 : SegmentLayout::plan(here, knobs).area_bytes;
}

}  // namespace

bool on_one_node(std::span<const std::int32_t> node_of_rank) {
  return std::ranges::all_of(node_of_rank, [&](std::int32_t node) { return node == node_of_rank.front(); });
}

Result<std::unique_ptr<MachineChannels>> MachineChannels::build(const JobPlace& place,
                                                                AddressExchange& exchange, const Knobs& knobs,
                                                                Clock& clock, rdma::DeviceSource& devices) {
  auto set = std::make_unique<MachineChannels>();
  set->node_of_rank_ = place.node_of_rank;
  set->rank_ = place.rank;
  NodeSegment node(place);
  const bool one_node = on_one_node(place.node_of_rank);
  // Everybody knows the same of these two, so everybody takes part in the same fences.
  const bool segments_given = place.node_segment_fd >= 0;
  if (!one_node) HAWSER_TRY(set->open_network(place, exchange, knobs, clock, devices));
  if (!segments_given) HAWSER_TRY(node.offer(exchange));
  if (place.size > 1 && !(one_node && segments_given)) HAWSER_TRY(exchange.fence());
  if (!one_node) HAWSER_TRY(set->agreement_.collect(exchange, place.rank, place.size));
  const auto neighbours = static_cast<std::int32_t>(node.processes().size());
  if (neighbours > max_node_processes)
    return failure(ErrorClass::other, "{} processes on one node; at most {} are supported", neighbours,
                   max_node_processes);
  if (neighbours > 1) {
    auto segment = node.open(exchange, knobs);
    if (!segment) return segment.take_error();
    if (set->rails_ != nullptr) set->rails_->share_ports(segment.value().ports(), node.self());
    set->shared_memory_ = std::make_unique<SharedMemoryChannel>(
        std::move(segment).value(), node.self(), node.processes(), place.size, knobs, place.machine_cores);
    if (set->shared_memory_->crowded() && place.machine_processes <= neighbours)
      set->shared_memory_->load().know_mates();
    set->channels_.push_back(set->shared_memory_.get());
  } else if (place.size > 1 && !segments_given) {
    HAWSER_TRY(exchange.fence());  // the others' second one, see NodeSegment::open
  }
  if (!one_node && segments_given) HAWSER_TRY(exchange.fence());  // the second one here too
  if (!one_node) HAWSER_TRY(set->choose_network(place, exchange, knobs));
  if (set->rails_ == nullptr) {
    auto status = ProcessStatus::open_without_rails(place, knobs, clock.now());
    if (!status) return status.take_error();
    set->status_ = std::move(status).value();
  }
  set->waiter_ = std::make_unique<MachineWaiter>(set->shared_memory_.get(),
                                                 place.machine_processes > place.machine_cores, knobs, clock);
  for (Transport* const channel :
       {static_cast<Transport*>(set->rails_.get()), static_cast<Transport*>(set->sockets_.get())}) {
    if (channel == nullptr) continue;
    set->channels_.push_back(channel);
    HAWSER_TRY(set->waiter_->watch(*channel));
  }
  return set;
}

Result<> MachineChannels::open_network(const JobPlace& place, AddressExchange& exchange, const Knobs& knobs,
                                       Clock& clock, rdma::DeviceSource& devices) {
  std::uint8_t bits = no_rails;
  if (knobs.network != "socket") {
    auto opened = devices.open_devices();
    if (!opened) return opened.take_error();
    bits = network_bits(opened.value(), knobs.network);
    if (bits != no_rails) {
      OpenedDevices source(std::move(opened).value());
      auto status = ProcessStatus::open(place, knobs, clock.now());
      if (!status) return status.take_error();
      status_ = std::move(status).value();
      if (knobs.registration_cache > 0) memory_watch_ = watch_own_memory();
      const auto secret = random_secret();
      if (!secret) return secret.error();
      const RailSettings settings{.self = place.rank,
                                  .job_size = place.size,
                                  .processes_here = processes_beside(place.node_of_rank, place.rank),
                                  .job_id = place.job_id,
                                  .secret = secret.value(),
                                  .memory_watch = memory_watch_.get(),
                                  .status = &status_->rails(),
                                  .clock = &clock,
                                  .thread_use = thread_use};
      auto rails = RailChannel::open(settings, exchange, source, knobs, random_word());
      if (!rails) return rails.take_error();
      rails_ = std::move(rails).value();
      HAWSER_TRY(rails_->publish());
    }
  }
  NetworkOffer offer{bits, rails_ == nullptr ? LinkRates{} : rails_->link_rates()};
  offer.area_bytes = area_bytes_of(place, knobs);
  if (!knobs.collective_table.empty()) {
    const auto table = TunedTable::read(knobs.collective_table);
    if (!table) return table.error();
    offer.table = table.value().checksum();
  }
  HAWSER_TRY(agreement_.offer(exchange, offer));
  if (knobs.network == "rails") return {};
  auto sockets = SocketChannel::open(place.rank, place.size, exchange, knobs);
  if (!sockets) return sockets.take_error();
  sockets_ = std::move(sockets).value();
  return sockets_->publish();
}

// After the fences. What nobody is reached by is closed, so that nobody polls it; where rails are wanted,
// they must be everywhere.
Result<> MachineChannels::choose_network(const JobPlace& place, AddressExchange& exchange,
                                         const Knobs& knobs) {
  HAWSER_TRY(agreement_.learn(exchange, place.size));
  bool by_rails = false, by_sockets = false;
  for (ProcessIndex peer = 0; peer < place.size; ++peer) {
    if (node_of_rank_[static_cast<std::size_t>(peer)] == node_of_rank_[static_cast<std::size_t>(rank_)])
      continue;
    const bool rails = agreement_.rails_between(rank_, peer);
    if (!rails && knobs.network == "rails")
      return failure(ErrorClass::other,
                     "HAWSER_NETWORK=rails, but processes {} and {} have no adapters of one kind ({} has {})",
                     rank_, peer, rank_, rails_ != nullptr ? "some" : "none");
    (rails ? by_rails : by_sockets) = true;
  }
  if (!by_rails) rails_.reset();
  if (rails_ != nullptr) rails_->attendance().use_rates(agreement_.link_rates());
  if (!by_sockets) sockets_.reset();
  // Everyone is watched by the one before it that it shares no better network with.
  for (ProcessIndex i = 1; by_sockets && i < place.size; ++i) {
    const ProcessIndex peer = (rank_ + i) % place.size;
    if (channel_of(peer) != sockets_.get()) continue;
    sockets_->watch(peer);
    break;
  }
  return {};
}

Transport* MachineChannels::channel_of(ProcessIndex peer) {
  if (peer == rank_) return nullptr;
  const auto node = [&](ProcessIndex process) { return node_of_rank_[static_cast<std::size_t>(process)]; };
  if (node(peer) == node(rank_)) return shared_memory_.get();
  if (rails_ != nullptr && agreement_.rails_between(rank_, peer)) return rails_.get();
  return sockets_.get();
}

}  // namespace hawser
