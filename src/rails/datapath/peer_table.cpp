#include "rails/datapath/peer_table.h"

#include <algorithm>
#include <utility>

namespace hawser {

PeerTable::PeerTable(RailContext& context, RailResources& resources, Upward& upward)
    : context_(context),
      resources_(resources),
      upward_(upward),
      unreachable_(static_cast<std::size_t>(context.settings.job_size)),
      peers_(static_cast<std::size_t>(context.settings.job_size)) {}

// Where packets of collective operations begin among rails that are alike, in a way that neither a root nor
// its peers meet on one: the processes of a node on different rails, and their leaders, too; and where each
// has a node of its own, both ends of a pair on the same, so that who sends to all in the same order as
// everybody else does not meet them.
int PeerTable::home_of(ProcessIndex process) const {
  const RailSettings& settings = context_.settings;
  const int here = std::max(settings.processes_here, 1);
  return settings.self / here + (here == 1 ? process : settings.self % here);
}

VirtualChannel* PeerTable::make(ProcessIndex process) {
  const auto place = static_cast<std::size_t>(process);
  if (process < 0 || place >= peers_.size() || process == context_.settings.self || unreachable_[place] ||
      resources_.rails.empty())
    return nullptr;
  auto remote = upward_.tables->latest_table(process);
  auto policy = make_scheduling_policy(context_.knobs.rail_policy, context_.settings.self, home_of(process));
  if (remote && policy && !remote.value().rails.empty()) {
    auto made = std::make_unique<VirtualChannel>(context_, resources_, upward_, due_, process,
                                                 std::move(remote).value(), std::move(policy).value());
    if (!made->subchannels().empty()) {
      if (const auto retired = retired_.find(process); retired != retired_.end()) {
        made->restore(retired->second);
        retired_.erase(retired);
        ++context_.counters.peers_restored;
      }
      known_.push_back(made.get());
      peers_[place] = std::move(made);
      return known_.back();
    }
  }
  unreachable_[place] = true;
  return nullptr;
}

void PeerTable::retire(VirtualChannel& peer) {
  const ProcessIndex process = peer.process();
  upward_.tables->keep_table(process, peer.remote());
  retired_.emplace(process, peer.retire());
  std::erase(known_, &peer);
  peers_[static_cast<std::size_t>(process)].reset();
  ++context_.counters.peers_retired;
}

bool PeerTable::advance() {
  bool moved = false;
  for (std::size_t turns = known_.size(); turns > 0 && !due_.empty(); --turns) {
    moved |= due_.pop_front()->advance();
  }
  return moved;
}

void PeerTable::send_bundles() {
  for (VirtualChannel* peer = due_.front(); peer != nullptr; peer = due_.next(peer)) peer->send_bundle();
}

void PeerTable::destroy_queue_pairs() {
  for (VirtualChannel* peer : known_)
    for (Subchannel& subchannel : peer->subchannels()) subchannel.queue_pair.reset();
}

std::size_t PeerTable::bytes() const {
  std::size_t bytes = peers_.capacity() * sizeof(peers_.front());
  for (VirtualChannel* peer : known_) bytes += sizeof *peer + peer->subchannels().size() * sizeof(Subchannel);
  // Nodes of a list, and their hashes.
  constexpr std::size_t node = sizeof(std::pair<const ProcessIndex, RetiredPeer>) + 2 * sizeof(void*);
  for (const auto& [process, retired] : retired_)
    bytes += node + retired.paths.size() * sizeof(RetiredPeer::Path);
  return bytes;
}

}  // namespace hawser
