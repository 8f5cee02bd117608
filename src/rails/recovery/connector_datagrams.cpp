// The connector's datagrams: taking them, and where they go.
#include <algorithm>

#include "rails/recovery/address_book.h"
#include "rails/recovery/closer.h"
#include "rails/recovery/connection_cap.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/datagram_packets.h"
#include "rails/recovery/failover.h"
#include "rails/recovery/path_lookup.h"
#include "rails/recovery/path_opener.h"

namespace hawser {
namespace {

// Datagrams that have not left for so long hang.
constexpr Nanoseconds datagram_patience = 200 * millisecond;
// In one pass, of one rail: whoever floods it must not hold up the others, nor the messages.
constexpr int most_datagrams = 32;
constexpr std::size_t most_deferred = 256;

}  // namespace

bool Connector::receive() {
  bool any = false;
  for (const auto& rail : resources_.rails) {
    Nanoseconds& unsent_since = unsent_since_[rail->number()];
    if (rail->dead) unsent_since = -1;
    if (rail->dead || schedule_.skips(*rail)) continue;
    for (int taken = 0; taken < most_datagrams; ++taken) {
      const std::span<const std::byte> bytes = rail->datagrams().receive();
      if (bytes.empty()) break;
      take(rail->number(), bytes);
      any = true;
    }
    if (any) schedule_.note_datagrams();
    if (rail->datagrams().unsent() == 0 || !rail->up()) {
      unsent_since = -1;
    } else if (unsent_since < 0) {
      unsent_since = context_.now;
    } else if (context_.now - unsent_since > datagram_patience) {
      rail->datagrams().restart();
      unsent_since = -1;
    }
  }
  return any;
}

// The subchannel whose other end a datagram through this rail goes to: the named one, if it is on the rail;
// else, of several rails there that this one goes with, any, for some may be on other networks.
const Subchannel* Connector::datagram_way(VirtualChannel& peer, std::uint16_t rail, std::uint16_t index) {
  const Subchannel* own = peer.subchannel(index);
  if (own != nullptr && own->rail.number() == rail) return own;
  const Subchannel* way = nullptr;
  std::uint64_t ways = 0;
  for (const Subchannel& each : peer.subchannels())
    if (each.rail.number() == rail && each.place.path == 0 && each.place.engine == 0 &&
        (++ways == 1 || context_.random.below(ways) == 0))
      way = &each;
  return way;
}

// One that cannot be handled for want of a path record, or of room for a connection, waits for it; what does
// not find room here is repeated. Of a subchannel, only the latest attempts wait.
void Connector::take(std::uint16_t rail, std::span<const std::byte> datagram) {
  to_wait_ = false;
  manager_->on_datagram(rail, datagram, context_.now);
  if (!to_wait_) return;
  std::erase_if(deferred_, [&](const Deferred& each) {
    return each.name.peer == waits_.peer && each.name.index == waits_.index &&
           each.name.connection_generation < waits_.connection_generation;
  });
  const auto waits = [&](const Deferred& each) { return std::ranges::equal(each.bytes, datagram); };
  if (deferred_.size() < most_deferred && std::ranges::none_of(deferred_, waits))
    deferred_.push_back({rail, waits_, {datagram.begin(), datagram.end()}});
}

bool Connector::send_datagram(std::uint16_t number, ProcessIndex process, std::uint16_t index,
                              std::span<const std::byte> bytes) {
  VirtualChannel* const peer = peers_.find(process);
  if (number >= resources_.rails.size() || resources_.rails[number]->dead) return false;
  if (peer == nullptr) return addresses_.send_to_stranger(*resources_.rails[number], process, bytes);
  const Subchannel* const way = datagram_way(*peer, number, index);
  if (way == nullptr) return false;
  const RailAddress& there = peer->remote().rails[way->remote_rail];
  Rail& rail = *resources_.rails[number];
  const auto record = paths_.find(rail, there.port);
  schedule_.note_datagrams();
  return record.has_value() &&
         rail.datagrams().send({there.port, there.datagram_queue_pair, record->service_level}, bytes);
}

bool Connector::rail_up(std::uint16_t rail) const {
  return rail < resources_.rails.size() && resources_.rails[rail]->up();
}

bool Connector::send_control(Subchannel& subchannel, DatagramKind kind, std::span<const std::byte> body,
                             std::uint32_t turn) {
  const auto rails = static_cast<std::uint32_t>(resources_.rails.size());
  const auto rail = static_cast<std::uint16_t>((subchannel.rail.number() + turn) % rails);
  // Once round by the subchannel's own way, once by any.
  const std::uint16_t index = turn / rails % 2 == 0 ? subchannel.index : no_subchannel;
  return manager_->send_control({subchannel.peer.process(), index}, rail, kind, body);
}

// Also when it is not the time: fences, answers and the own requests must find the peer, whose address may
// have moved.
void Connector::on_address(ProcessIndex process, std::uint16_t index, const ConnectionEnd& end) {
  VirtualChannel* const peer = peers_.obtain(process);
  Subchannel* const subchannel = peer == nullptr || peer->lost() ? nullptr : peer->obtain(index);
  if (subchannel != nullptr) learn(*subchannel, end);
}

void Connector::on_control(ProcessIndex process, std::uint16_t index, DatagramKind kind,
                           std::span<const std::byte> body) {
  if (kind == DatagramKind::address) return addresses_.on_address(process, body);
  if (kind == DatagramKind::address_query) return addresses_.on_question(process, body);
  VirtualChannel* const peer = peers_.obtain(process);
  if (peer == nullptr || peer->lost()) return;
  switch (kind) {
    case DatagramKind::fence:
    case DatagramKind::fence_answer:
      failover_.on_message(*peer, kind == DatagramKind::fence, body);
      return;
    case DatagramKind::reconnect_request:
      on_reconnect_request(*peer, body);
      return;
    case DatagramKind::close_request:
    case DatagramKind::close_refused:
      return cap_.on_request(*peer, body, kind == DatagramKind::close_refused);
    case DatagramKind::room_question:
    case DatagramKind::room_yes:
    case DatagramKind::room_not_now:
      return cap_.on_room(*peer, kind);
    case DatagramKind::close:
      return closer_.on_message(*peer, body);
    case DatagramKind::path_refused:
      return opener_.on_refused(*peer, body);
    case DatagramKind::packet:
      return packets_.on_packet(*peer, index, body);
    case DatagramKind::request:
    case DatagramKind::reply:
    case DatagramKind::refuse:
    case DatagramKind::address:
    case DatagramKind::address_query:
      return;  // the manager's own, or handled above
  }
}

void Connector::on_malformed(ProcessIndex process, std::string what) {
  context_.report_malformed(process, std::move(what));
}

bool Connector::answers(const SubchannelName& name, const ConnectionEnd& remote) {
  VirtualChannel* const peer = peers_.obtain(name.peer);
  Subchannel* const subchannel = peer == nullptr || peer->lost() ? nullptr : peer->obtain(name.index);
  if (subchannel == nullptr || subchannel->rail.dead) return true;
  waits_ = name;
  to_wait_ = !paths_settled(*subchannel, remote.port);
  return !to_wait_ && subchannel->rail.datagrams().answers(remote.port);
}

}  // namespace hawser
