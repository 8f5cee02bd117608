#include "collective/multicast/multicast_group.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/planted_bug.h"
#include "collective/multicast/multicast_engine.h"
#include "collective/multicast/multicast_listener.h"

namespace hawser {
namespace {

// A communicator with fewer broadcasts is not worth a group.
constexpr int broadcasts_before_joining = 2;

}  // namespace

MulticastGroup::MulticastGroup(std::shared_ptr<MulticastEngine> engine, const MulticastKey& key,
                               Ref<Group> group, int rank, std::unique_ptr<NodeLayout> nodes)
    : keeps_engine_(std::move(engine)),
      engine_(*keeps_engine_),
      key_(key),
      group_(std::move(group)),
      rank_(rank),
      nodes_(std::move(nodes)) {
  if (!leads()) listener_ = std::make_unique<MulticastListener>();
  engine_.add(*this);
}

// What roots do not know yet they are told now, for nobody will answer them later.
MulticastGroup::~MulticastGroup() {
  HAWSER_ASSERT(receives_.empty());
  for (auto& [rank, source] : sources_)
    if (source.machine.owes())
      engine_.tell_later(group_->process_of(rank), rank_, key_, source.machine.status());
  engine_.remove(*this, std::move(root_), joined_);
}

void MulticastGroup::join(Multicast::Member member) {
  if (broadcasts_ < broadcasts_before_joining && ++broadcasts_ < broadcasts_before_joining) return;
  const bool receives = member == Multicast::Member::receives;
  if (engine_.network() == nullptr || (joined_ && (receives_packets_ || !receives))) return;
  engine_.network()->join(key_, member);
  joined_ = true;
  receives_packets_ = receives;
}

bool MulticastGroup::chooses_multicast() {
  join(leads() ? Multicast::Member::receives : Multicast::Member::sends_only);
  if (root_ == nullptr) {
    std::vector<ProcessIndex> leaders;
    for (int node = 0; node < nodes_->nodes(); ++node)
      if (node != nodes_->own_node)
        leaders.push_back(group_->process_of(nodes_->leaders[static_cast<std::size_t>(node)]));
    root_ = std::make_unique<MulticastRoot>(engine_, key_, rank_, std::move(leaders));
  }
  const bool chosen = root_->chooses_multicast(engine_.now());
  ++(chosen ? engine_.counters().by_multicast : engine_.counters().by_trees);
  return chosen;
}

MulticastGroup::Source& MulticastGroup::source(int root) {
  return sources_.try_emplace(root, nodes_->own_node).first->second;
}

MulticastReceive* MulticastGroup::find(int root, std::int32_t tag) {
  for (MulticastReceive* each = receives_.front(); each != nullptr; each = receives_.next(each))
    if (each->root == root && each->tag == tag) return each;
  return nullptr;
}

void MulticastGroup::begin(MulticastReceive& receive) {
  join(Multicast::Member::receives);
  receives_.push_back(&receive);
  Source& from = source(receive.root);
  if (receive.expected) from.machine.begin_wait();
  for (Held& held : from.held) {
    if (!held.taken || held.header.tag != receive.tag) continue;
    held.taken = false;
    if (!planted(PlantedBug::early_free)) from.machine.release(held.header.packet);
    receive.place(held.header, held.bytes);
  }
  engine_.touch();
}

void MulticastGroup::expect(MulticastReceive& receive) {
  if (std::exchange(receive.expected, true)) return;
  source(receive.root).machine.begin_wait();
  engine_.touch();
}

// The first end of a broadcast of a root is the first time that the root is told anything.
void MulticastGroup::introduce() {
  broadcasts_ = std::max(broadcasts_, broadcasts_before_joining);
  join(Multicast::Member::receives);
  for (int node = 0; node < nodes_->nodes(); ++node) {
    if (node == nodes_->own_node) continue;
    MulticastReceiver& machine = source(nodes_->leaders[static_cast<std::size_t>(node)]).machine;
    machine.begin_wait();
    machine.end_wait();
  }
  engine_.touch();
}

void MulticastGroup::end(MulticastReceive& receive) {
  receives_.remove(&receive);
  if (receive.expected) source(receive.root).machine.end_wait();
  engine_.touch();
}

void MulticastGroup::begin(MulticastListening& listening, std::optional<ProcessIndex> parent) {
  // What it does not look at must not keep the parent: it is to be sent without asking.
  const bool wants_packets =
      late_messages_ < MulticastListener::most_late_messages &&
      (!parent || listening.packets.bytes <= engine_.channel_of(*parent)->eager_limit(*parent));
  engine_.count_listenings(1);
  listener_->begin(listening, wants_packets);
  engine_.touch();
}

void MulticastGroup::end(MulticastListening& listening) {
  const bool attached = listener_->attached();
  listener_->end(listening, engine_.now());
  engine_.counters().listened += listening.from_packets();
  engine_.count_listenings(-1);
  if (listener_->attached() == attached) return;
  ++(attached ? engine_.counters().detachments : engine_.counters().attachments);
  if (!attached) {
    broadcasts_ = broadcasts_before_joining;
    return join(Multicast::Member::receives);
  }
  if (engine_.network() != nullptr) engine_.network()->stop_receiving(key_);
  receives_packets_ = false;
}

void MulticastGroup::on_packet(const MulticastHeader& header, std::span<const std::byte> bytes,
                               MulticastReceiver::Way way) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (header.root < 0 || header.root >= group_->size() ||
      nodes_->node_of[static_cast<std::size_t>(header.root)] == nodes_->own_node || header.offset < 0 ||
      size == 0 || header.total < size || header.offset > header.total - size)
    return;
  if (listener_ != nullptr) {
    if (listener_->attached()) listener_->take(header, bytes);
    return engine_.touch();
  }
  Source& from = source(header.root);
  MulticastReceive* const receive = find(header.root, header.tag);
  const bool held = receive == nullptr && !planted(PlantedBug::early_free);
  const MulticastReceiver::Take taken = from.machine.take(header.packet, held, way, engine_.now());
  engine_.touch();
  if (taken != MulticastReceiver::Take::fresh) return;
  if (receive != nullptr) return receive->place(header, bytes);
  if (from.held.empty()) from.held.resize(MulticastReceiver::window);
  const std::uint32_t at = planted(PlantedBug::early_free) ? 0 : header.packet % MulticastReceiver::window;
  from.held[at] = {header, std::vector<std::byte>(bytes.begin(), bytes.end()), true};
}

bool MulticastGroup::on_status(int rank, const LeaderStatus& status) {
  const int node = nodes_->node_of[static_cast<std::size_t>(rank)];
  if (node == nodes_->own_node || nodes_->leaders[static_cast<std::size_t>(node)] != rank) return false;
  // Of a broadcast that was given up before it began here, because a process had failed.
  if (root_ == nullptr) return true;
  engine_.touch();
  return root_->on_status(node < nodes_->own_node ? node : node - 1, status, engine_.now());
}

bool MulticastGroup::tell(int root, Source& from) {
  if (!engine_.tell(group_->process_of(root), rank_, key_, from.machine.status())) return false;
  from.machine.on_told();
  return true;
}

bool MulticastGroup::advance(Nanoseconds now) {
  bool moved = false;
  wants_room_ = false;
  const std::uint32_t rails = receives_packets_ ? engine_.network()->joined(key_) : 0;
  for (auto& [root, from] : sources_) {
    const std::uint64_t before = from.machine.waits();
    from.machine.look(now);
    engine_.counters().waits += from.machine.waits() - before;
    from.machine.set_rails(rails);
    if (!from.machine.wants_to_tell()) continue;
    const bool told = tell(root, from);
    moved |= told;
    wants_room_ |= !told;
  }
  if (listener_ != nullptr) listener_->look(now);
  if (root_ != nullptr) moved |= root_->advance(now);
  return moved;
}

Nanoseconds MulticastGroup::due() const {
  Nanoseconds earliest = root_ != nullptr ? root_->due() : never;
  if (listener_ != nullptr) earliest = std::min(earliest, listener_->due());
  for (const auto& [root, from] : sources_) earliest = std::min(earliest, from.machine.due());
  return earliest;
}

bool MulticastGroup::wants_room() const { return wants_room_ || (root_ != nullptr && root_->wants_room()); }

}  // namespace hawser
