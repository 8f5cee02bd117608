#include "channel/machine_channels.h"

#include <algorithm>

#include "base/failure.h"
#include "channel/node_segment.h"

namespace hawser {

Result<std::unique_ptr<MachineChannels>> MachineChannels::build(const JobPlace& place,
                                                                AddressExchange& exchange,
                                                                const Knobs& knobs) {
  auto set = std::make_unique<MachineChannels>();
  set->node_of_rank_ = place.node_of_rank;
  set->rank_ = place.rank;
  NodeSegment node(place);
  const bool one_node = std::all_of(place.node_of_rank.begin(), place.node_of_rank.end(),
                                    [&](std::int32_t other) { return other == place.node_of_rank.front(); });
  // Everybody knows the same of these two, so everybody takes part in the same fences.
  const bool segments_given = place.node_segment_fd >= 0;
  if (!one_node) {
    auto sockets = SocketChannel::open(place.rank, place.size, exchange, knobs);
    if (!sockets) return sockets.take_error();
    set->sockets_ = std::move(sockets).value();
    HAWSER_TRY(set->sockets_->publish());
  }
  if (!segments_given) HAWSER_TRY(node.offer(exchange));
  if (place.size > 1 && !(one_node && segments_given)) HAWSER_TRY(exchange.fence());
  const auto neighbours = static_cast<std::int32_t>(node.processes().size());
  if (neighbours > max_node_processes)
    return failure(ErrorClass::other, "{} processes on one node; at most {} are supported", neighbours,
                   max_node_processes);
  if (neighbours > 1) {
    auto segment = node.open(exchange, knobs);
    if (!segment) return segment.take_error();
    set->shared_memory_ = std::make_unique<SharedMemoryChannel>(std::move(segment).value(), node.self(),
                                                                node.processes(), place.size, knobs);
    set->channels_.push_back(set->shared_memory_.get());
  } else if (place.size > 1 && !segments_given) {
    HAWSER_TRY(exchange.fence());  // the others' second one, see NodeSegment::open
  }
  set->waiter_ = std::make_unique<MachineWaiter>(set->shared_memory_.get(), place.machine_processes, knobs);
  if (set->sockets_) {
    set->channels_.push_back(set->sockets_.get());
    HAWSER_TRY(set->waiter_->watch(set->sockets_->descriptor()));
  }
  return set;
}

Channel* MachineChannels::channel_of(ProcessIndex peer) {
  if (peer == rank_) return nullptr;
  const auto node = [&](ProcessIndex process) { return node_of_rank_[static_cast<std::size_t>(process)]; };
  if (node(peer) == node(rank_)) return shared_memory_.get();
  return sockets_.get();
}

}  // namespace hawser
