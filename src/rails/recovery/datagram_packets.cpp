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

// The same one for all packets to a peer, so that they stay in order, and another one each time that the peer
// did not answer.
Rail* DatagramPackets::rail_for(VirtualChannel& peer, std::uint32_t turn) const {
  const auto rails = static_cast<std::uint32_t>(resources_.rails.size());
  for (std::uint32_t i = 0; i < rails; ++i) {
    Rail& rail = *resources_.rails[(static_cast<std::uint32_t>(peer.process()) + turn + i) % rails];
    if (rail.up() && rail.attributes().address.transport != rdma::Transport::tcp) return &rail;
  }
  return nullptr;
}

void DatagramPackets::look_in(Nanoseconds pause) {
  due_ = std::min(due_, context_.now + pause);
  timers_.run_before(due_);
}

DatagramWay::Answer DatagramPackets::takes(VirtualChannel& peer, PacketKind kind, std::size_t bytes) {
  if ((kind != PacketKind::eager && kind != PacketKind::urgent) || connected_after() == 0 || peer.lost() ||
      !no_failure(peer))
    return Answer::wants_connection;
  Rail* const rail = rail_for(peer, peer.packets().datagrams().repeats());
  if (rail == nullptr) return Answer::wants_connection;
  const std::size_t all = bytes + ConnectionManager::header_bytes;
  if (all > static_cast<std::size_t>(rail->datagrams().datagram_bytes())) return Answer::wants_connection;
  // Wherever it arrives.
  for (const Subchannel& subchannel : peer.subchannels()) {
    if (&subchannel.rail != rail) continue;
    const rdma::PortAddress& there = peer.remote().rails[subchannel.remote_rail].port;
    const auto record = neighbours_.paths.find(*rail, there);
    if (!record.has_value()) return Answer::wants_connection;
    const std::uint8_t mtu = record->mtu == 0 ? there.mtu : std::min(record->mtu, there.mtu);
    if (all > std::size_t{128} << mtu) return Answer::wants_connection;
  }
  const bool room =
      peer.packets().datagrams().admits(peer.window()) && rail->datagrams().unsent() < most_unsent;
  if (room) return Answer::goes;
  look_in(short_pause);  // nothing says when datagrams have left
  return Answer::waits;
}

bool DatagramPackets::put_on_way(VirtualChannel& peer, std::span<const std::byte> packet,
                                 std::uint32_t turn) {
  const Rail* const rail = rail_for(peer, turn);
  if (rail == nullptr ||
      !neighbours_.control.send_control(peer.process(), rail->number(), DatagramKind::packet, packet))
    return false;
  // What came by datagram is acknowledged again if this is lost, for it comes again. What came over a
  // connection does not, and is acknowledged there.
  if (peer.paths().ready() == 0) peer.window().note_acknowledged_to_peer();
  peer.packets().datagrams().answer_due = false;
  return true;
}

void DatagramPackets::put_on_way(VirtualChannel& peer, const WorkEntry& packet) {
  new (packet.buffer->data) PacketHeader{.kind = packet.packet_kind,
                                         .sequence_number = packet.sequence_number,
                                         .acknowledged = peer.window().expected()};
  put_on_way(peer, std::span<const std::byte>(packet.buffer->data, packet.bytes),
             peer.packets().datagrams().repeats());
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

void DatagramPackets::on_packet(VirtualChannel& peer, std::span<const std::byte> packet) {
  peer.take_datagram(packet);
  if (peer.packets().datagrams().answer_due && std::ranges::find(answers_, &peer) == answers_.end())
    answers_.push_back(&peer);
  if (!peer.packets().datagrams_under_way()) peer.packets().datagrams().end();
}

void DatagramPackets::answer() {
  if (answers_.empty()) return;
  std::size_t left = 0;
  for (VirtualChannel* const each : answers_) {
    VirtualChannel& peer = *each;
    if (peer.lost() || !peer.packets().datagrams().answer_due) continue;
    const PacketHeader header{.kind = PacketKind::credit, .acknowledged = peer.window().expected()};
    // Another rail each time: the peer sends again until it hears of it.
    if (!put_on_way(peer, std::as_bytes(std::span(&header, 1)), turn_++)) answers_[left++] = &peer;
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
  peer.packets().for_each_datagram([&](const WorkEntry& packet) {
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
