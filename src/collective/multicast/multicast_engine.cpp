#include "collective/multicast/multicast_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/multicast/multicast_group.h"

namespace hawser {
namespace {

constexpr Nanoseconds look_for_room = 10 * microsecond;

}  // namespace

struct MulticastEngine::Orphan {
  Ref<Group> group;
  std::vector<int> leader_of;  // by rank: number of the leader; -1: it is none
  std::unique_ptr<MulticastRoot> root;
};

MulticastEngine::~MulticastEngine() = default;

MulticastEngine::MulticastEngine(Lane& lane, ChannelSet& channels) : lane_(&lane), channels_(&channels) {
  for (Transport* const channel : channels.channels())
    if (network_ == nullptr) network_ = channel->multicast();
  if (network_ != nullptr) network_->set_multicast_handler(this);
  lane_->set_handler(HandlerId::collective, this);
}

void MulticastEngine::close() {
  lane_->set_handler(HandlerId::collective, nullptr);
  if (network_ != nullptr) {
    network_->set_due(never);
    network_->set_multicast_handler(nullptr);
    for (const auto& [key, group] : groups_) network_->leave(key);
  }
  lane_ = nullptr;
  channels_ = nullptr;
  network_ = nullptr;
  orphans_.clear();
  told_later_.clear();
}

void MulticastEngine::add(MulticastGroup& group) { groups_[group.key()] = &group; }

void MulticastEngine::remove(MulticastGroup& group, std::unique_ptr<MulticastRoot> root, bool joined) {
  groups_.erase(group.key());
  if (joined && network_ != nullptr) network_->leave(group.key());
  if (lane_ == nullptr || root == nullptr || root->settled()) return;
  auto kept = std::make_unique<Orphan>(Orphan{group.members(), {}, std::move(root)});
  Orphan& orphan = *kept;
  const NodeLayout& nodes = group.nodes();
  orphan.leader_of.assign(static_cast<std::size_t>(group.members()->size()), -1);
  for (int node = 0, number = 0; node < nodes.nodes(); ++node)
    if (node != nodes.own_node)
      orphan.leader_of[static_cast<std::size_t>(nodes.leaders[static_cast<std::size_t>(node)])] = number++;
  orphans_[group.key()] = std::move(kept);
  touch();
}

void MulticastEngine::lose(ProcessIndex process) {
  std::erase_if(orphans_, [&](const auto& entry) { return entry.second->group->contains(process); });
  std::erase_if(told_later_, [&](const Told& told) { return told.root == process; });
}

bool MulticastEngine::tell(ProcessIndex root, int own_rank, const MulticastKey& key,
                           const LeaderStatus& status) {
  MulticastControl header;
  header.kind = MulticastControl::Kind::status;
  header.key = key;
  header.source_rank = own_rank;
  LeaderStatus copy = status;
  return channel_of(root)->try_send(root, header,
                                    {reinterpret_cast<std::byte*>(&copy), sizeof copy, nullptr});
}

void MulticastEngine::tell_later(ProcessIndex root, int own_rank, const MulticastKey& key,
                                 const LeaderStatus& status) {
  if (lane_ == nullptr) return;
  MulticastControl header;
  header.key = key;
  header.source_rank = own_rank;
  told_later_.push_back({root, header, status});
  send_told();
}

bool MulticastEngine::send_told() {
  bool moved = false;
  while (!told_later_.empty()) {
    Told& each = told_later_.front();
    if (!channel_of(each.root)->try_send(
            each.root, each.header,
            {reinterpret_cast<std::byte*>(&each.status), sizeof each.status, nullptr}))
      break;
    told_later_.pop_front();
    moved = true;
  }
  return moved;
}

bool MulticastEngine::tell_repair(ProcessIndex leader, const MulticastHeader& packet,
                                  std::span<const std::byte> bytes) {
  MulticastControl header;
  header.kind = MulticastControl::Kind::repair;
  header.key = packet.key;
  header.source_rank = packet.root;
  repair_.resize(sizeof packet + bytes.size());
  std::memcpy(repair_.data(), &packet, sizeof packet);
  std::memcpy(repair_.data() + sizeof packet, bytes.data(), bytes.size());
  return channel_of(leader)->try_send(leader, header,
                                      {repair_.data(), static_cast<std::int64_t>(repair_.size()), nullptr});
}

bool MulticastEngine::progress() {
  const Nanoseconds now = now_;
  bool moved = !told_later_.empty() && send_told();
  if (!touched_ && now < due_) return moved;
  touched_ = false;
  due_ = never;
  bool wants_room = false;
  for (auto& [key, group] : groups_) {
    moved |= group->advance(now);
    due_ = std::min(due_, group->due());
    wants_room |= group->wants_room();
  }
  for (auto each = orphans_.begin(); each != orphans_.end();) {
    MulticastRoot& root = *each->second->root;
    moved |= root.advance(now);
    due_ = std::min(due_, root.due());
    wants_room |= root.wants_room();
    each = root.settled() ? orphans_.erase(each) : std::next(each);
  }
  // Nothing says when datagrams have left.
  if (wants_room) due_ = std::min(due_, now + look_for_room);
  if (network_ != nullptr) network_->set_due(due_);
  return moved;
}

void MulticastEngine::on_multicast(std::span<const std::byte> bytes, std::span<const std::byte> payload) {
  MulticastHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  // Nobody's: late, of a communicator that is gone, or early.
  const auto found = groups_.find(header.key);
  if (found != groups_.end()) found->second->on_packet(header, payload, MulticastReceiver::Way::multicast);
}

void MulticastEngine::on_status(ProcessIndex source, const MulticastControl& header,
                                const LeaderStatus& status) {
  const auto known = [&](const Group& group) {
    return header.source_rank >= 0 && header.source_rank < group.size() &&
           group.process_of(header.source_rank) == source;
  };
  bool sense = true;  // what is of no communicator any more comes late
  if (const auto found = groups_.find(header.key); found != groups_.end()) {
    sense = known(*found->second->members()) && found->second->on_status(header.source_rank, status);
  } else if (const auto orphan = orphans_.find(header.key); orphan != orphans_.end()) {
    sense = known(*orphan->second->group);
    const int leader = sense ? orphan->second->leader_of[static_cast<std::size_t>(header.source_rank)] : -1;
    sense = leader >= 0 && orphan->second->root->on_status(leader, status, now_);
    touch();
  }
  if (!sense) lane_->on_bad_packet(source, "a state of multicast packets that cannot be");
}

void MulticastEngine::on_packet(ProcessIndex source, const TransportHeader& bytes, const std::byte* payload,
                                std::int64_t size) {
  const MulticastControl& header = MulticastControl::of(bytes);
  switch (header.kind) {
    case MulticastControl::Kind::status: {
      LeaderStatus status;
      if (size != sizeof status) break;
      std::memcpy(&status, payload, sizeof status);
      return on_status(source, header, status);
    }
    case MulticastControl::Kind::repair: {
      MulticastHeader packet;
      if (size < static_cast<std::int64_t>(sizeof packet)) break;
      std::memcpy(&packet, payload, sizeof packet);
      const auto found = groups_.find(packet.key);
      if (found == groups_.end()) return;
      const Group& group = *found->second->members();
      if (packet.root < 0 || packet.root >= group.size() || group.process_of(packet.root) != source) break;
      return found->second->on_packet(
          packet, {payload + sizeof packet, static_cast<std::size_t>(size) - sizeof packet},
          MulticastReceiver::Way::repair);
    }
  }
  lane_->on_bad_packet(source, "a multicast message of no kind that there is");
}

void MulticastEngine::on_offer(ProcessIndex source, const TransportHeader&, const ExposeToken&,
                               std::int64_t) {
  lane_->on_bad_packet(source, "an offer where multicast messages are expected");
}

EagerSink MulticastEngine::on_eager_begin(ProcessIndex source, const TransportHeader&, std::int64_t) {
  lane_->on_bad_packet(source, "a multicast message that is too long");
  return {};
}

}  // namespace hawser
