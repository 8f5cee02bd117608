#include "rails/recovery/datagram_packets.h"

#include <algorithm>
#include <new>
#include <utility>

namespace hawser {
namespace {

// Of a rail, that did not leave yet: others have to be able to connect.
constexpr std::int32_t most_unsent = 16;
// Until what found no room is tried again.
constexpr Nanoseconds short_pause = 100 * microsecond;

// A connection that failed is not closed: what it may have delivered is not known, and the way is not,
// either.
bool no_failure(VirtualChannel& peer) {
  return std::ranges::all_of(peer.subchannels(), [](const Subchannel& s) {
    const SubchannelState state = s.machine().state();
    return s.machine().rests() || s.machine().closing() || state == SubchannelState::parting ||
           state == SubchannelState::accepted || state == SubchannelState::connecting;
  });
}

}  // namespace

DatagramPackets::DatagramPackets(RailContext& context, const RailResources& resources, TimerList& timers,
                                 const Neighbours& neighbours)
    : context_(context), resources_(resources), timers_(timers), neighbours_(neighbours) {}

std::uint32_t DatagramPackets::connected_after() const {
  const auto some = static_cast<std::uint32_t>(context_.knobs.rail_datagrams);
  return neighbours_.cap.caps() ? 4 * some : some;
}

// In such an order that packets to several peers take different ones. Whether a port there is up by now
// nobody says, so the others come, too, but last.
void DatagramPackets::find_ways(VirtualChannel& peer) {
  ways_.clear();
  const auto add = [&](bool were_up) {
    for (Subchannel& each : peer.subchannels())
      if (each.place.path == 0 && each.place.engine == 0 && each.rail.up() &&
          each.rail.attributes().address.transport != rdma::Transport::tcp &&
          peer.remote().was_up(each.remote_rail) == were_up)
        ways_.push_back(&each);
  };
  add(true);
  likely_ways_ = ways_.size();
  add(false);
  if (likely_ways_ == 0) likely_ways_ = ways_.size();
  ambiguous_ = false;
  if (ways_.empty()) return;
  const auto end = ways_.begin() + static_cast<std::ptrdiff_t>(likely_ways_);
  const std::size_t first = static_cast<std::size_t>(peer.process()) % likely_ways_;
  std::rotate(ways_.begin(), ways_.begin() + static_cast<std::ptrdiff_t>(first), end);
  for (auto one = ways_.begin(); one != end; ++one)
    ambiguous_ =
        ambiguous_ || std::any_of(ways_.begin(), one, [&](const Subchannel* other) {
          return other->rail.number() == (*one)->rail.number() || other->remote_rail == (*one)->remote_rail;
        });
}

Subchannel* DatagramPackets::heard_way(VirtualChannel& peer) const {
  const std::int32_t by = peer.packets().datagrams().heard_by;
  const auto found = std::ranges::find_if(
      ways_, [&](const Subchannel* way) { return static_cast<std::int32_t>(way->index) == by; });
  return found == ways_.end() ? nullptr : *found;
}

// The same ones for all packets to a peer, so that they stay in order, until it does not answer.
DatagramPackets::Ways DatagramPackets::ways_of_packets(VirtualChannel& peer) {
  find_ways(peer);
  const DatagramUse& use = peer.packets().datagrams();
  if (ways_.empty()) return {};
  if (!ambiguous_) return Ways(ways_).subspan(use.turn() % ways_.size(), 1);
  if (use.repeats() > 0) return ways_;
  if (Subchannel* const heard = heard_way(peer)) {
    ways_.front() = heard;
    return Ways(ways_).first(1);
  }
  return Ways(ways_).first(likely_ways_);
}

// Back where a packet came from, if that is the only one known to be right. If the peer sent it again,
// another one each time.
DatagramPackets::Ways DatagramPackets::ways_of_answer(VirtualChannel& peer) {
  find_ways(peer);
  if (ways_.empty()) return {};
  if (ambiguous_ && peer.packets().datagrams().news)
    if (Subchannel* const heard = heard_way(peer)) {
      ways_.front() = heard;
      return Ways(ways_).first(1);
    }
  return Ways(ways_).subspan(turn_++ % ways_.size(), 1);
}

void DatagramPackets::look_in(Nanoseconds pause) {
  due_ = std::min(due_, context_.now + pause);
  timers_.run_before(due_);
}

DatagramWay::Answer DatagramPackets::takes(VirtualChannel& peer, PacketKind kind, std::size_t bytes) {
  if ((kind != PacketKind::eager && kind != PacketKind::urgent) || connected_after() == 0 || peer.lost() ||
      !no_failure(peer))
    return Answer::wants_connection;
  const Ways ways = ways_of_packets(peer);
  if (ways.empty()) return Answer::wants_connection;
  const std::size_t all = bytes + ConnectionManager::header_bytes;
  bool room = peer.packets().datagrams().admits(peer.window());
  for (const Subchannel* const way : ways) {
    Rail& rail = way->rail;
    if (all > static_cast<std::size_t>(rail.datagrams().datagram_bytes())) return Answer::wants_connection;
    const rdma::PortAddress& there = peer.remote().rails[way->remote_rail].port;
    const auto record = neighbours_.paths.find(rail, there);
    if (!record.has_value()) return Answer::wants_connection;
    const std::uint8_t mtu = record->mtu == 0 ? there.mtu : std::min(record->mtu, there.mtu);
    if (all > std::size_t{128} << mtu) return Answer::wants_connection;
    room = room && rail.datagrams().unsent() < most_unsent;
  }
  if (room) return Answer::goes;
  look_in(short_pause);  // nothing says when datagrams have left
  return Answer::waits;
}

bool DatagramPackets::put_on_way(VirtualChannel& peer, Ways ways, std::span<const std::byte> packet) {
  bool any = false;
  for (Subchannel* const way : ways)
    any |= neighbours_.control.send_control(*way, DatagramKind::packet, packet, 0);
  if (!any) return false;
  // What came by datagram is acknowledged again if this is lost, for it comes again. What came over a
  // connection does not, and is acknowledged there.
  if (peer.paths().ready() == 0) peer.window().note_acknowledged_to_peer();
  peer.packets().datagrams().answer_due = peer.packets().datagrams().news = false;
  return true;
}

void DatagramPackets::put_on_way(VirtualChannel& peer, const WorkEntry& packet) {
  new (packet.buffer->data) PacketHeader{.kind = packet.packet_kind,
                                         .sequence_number = packet.sequence_number,
                                         .acknowledged = peer.window().expected()};
  put_on_way(peer, ways_of_packets(peer), std::span<const std::byte>(packet.buffer->data, packet.bytes));
}

void DatagramPackets::send(VirtualChannel& peer, WorkEntry& packet) {
  DatagramUse& use = peer.packets().datagrams();
  ++context_.counters.packets_by_datagram;
  const bool worth_it = use.on_sent(packet.sequence_number, connected_after(), context_.now);
  if (!std::exchange(use.listed, true)) under_way_.push_back(&peer);
  due_ = std::min(due_, use.due());
  timers_.run_before(due_);
  put_on_way(peer, packet);  // else it is sent in time
  if (worth_it) neighbours_.control.want(peer);
}

void DatagramPackets::on_packet(VirtualChannel& peer, std::uint16_t index,
                                std::span<const std::byte> packet) {
  DatagramUse& use = peer.packets().datagrams();
  use.heard_by = index;  // whatever the peer says: a way that there is not is not taken
  const std::uint32_t delivered = peer.window().expected();
  peer.take_datagram(packet);
  use.news = use.answer_due && (use.news || peer.window().expected() != delivered);
  if (peer.packets().datagrams().answer_due && std::ranges::find(answers_, &peer) == answers_.end())
    answers_.push_back(&peer);
  if (!peer.packets().datagrams_under_way())
    use.end();
  else if (use.on_heard(peer.window().first_under_way(), context_.now, context_.random))
    look_in(use.due() - context_.now);
}

void DatagramPackets::answer() {
  if (answers_.empty()) return;
  std::size_t left = 0;
  for (VirtualChannel* const each : answers_) {
    VirtualChannel& peer = *each;
    if (peer.lost() || !peer.packets().datagrams().answer_due) continue;
    const PacketHeader header{.kind = PacketKind::credit, .acknowledged = peer.window().expected()};
    // If it is lost the peer sends again.
    if (!put_on_way(peer, ways_of_answer(peer), std::as_bytes(std::span(&header, 1))))
      answers_[left++] = &peer;
  }
  answers_.resize(left);
  if (left > 0) look_in(short_pause);
}

void DatagramPackets::repeat(VirtualChannel& peer) {
  DatagramUse& use = peer.packets().datagrams();
  const DatagramUse::Repeat what = use.on_due(peer.window().first_under_way(), context_.now, context_.random);
  if (what == DatagramUse::Repeat::nothing) return;
  if (peer.paths().ready() > 0) {  // by now there is a better way
    peer.packets().take_back_datagrams();
    use.end();
    peer.advance();
    return;
  }
  bool more = true;
  peer.packets().for_each_datagram([&](const WorkEntry& packet) {
    if (!more) return;
    more = what != DatagramUse::Repeat::first_alone;
    ++context_.counters.datagrams_repeated;
    put_on_way(peer, packet);
  });
  if (what == DatagramUse::Repeat::again_and_connect) neighbours_.control.want(peer);
}

void DatagramPackets::progress() {
  if (context_.now < due_) return;
  answer();
  for (std::size_t i = 0; i < under_way_.size(); ++i)
    if (under_way_[i]->packets().datagrams_under_way()) repeat(*under_way_[i]);
  std::erase_if(under_way_, [](VirtualChannel* peer) {
    DatagramUse& use = peer->packets().datagrams();
    if (peer->packets().datagrams_under_way()) return false;
    use.end();
    use.listed = false;
    return true;
  });
  due_ = answers_.empty() ? never : context_.now + short_pause;
  for (VirtualChannel* peer : under_way_) due_ = std::min(due_, peer->packets().datagrams().due());
}

}  // namespace hawser
