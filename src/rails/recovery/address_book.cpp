#include "rails/recovery/address_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "rails/rail_core.h"

namespace hawser {
namespace {

// After a change everybody is told at these times, for datagrams are lost.
constexpr Nanoseconds rounds[] = {0, 20 * millisecond, 200 * millisecond, 2 * second, 20 * second};
// A datagram queue holds only so many.
constexpr int at_once = 8;
constexpr Nanoseconds pause = 200 * microsecond;

struct AddressBody {
  ProcessIndex process = 0;
  std::uint16_t rail = 0;
  std::uint16_t reserved = 0;
  RailAddress address;
};
struct QuestionBody {
  ProcessIndex about = 0;
};

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

}  // namespace

RailTable AddressBook::table_of(ProcessIndex process) {
  if (const VirtualChannel* const peer = core_.find_peer(process)) return peer->remote();
  auto table = core_.exchanged_table(process);
  if (!table) return {};
  update(process, table.value());
  return std::move(table).value();
}

void AddressBook::update(ProcessIndex process, RailTable& table) const {
  const auto heard = heard_.find(process);
  if (heard == heard_.end()) return;
  for (std::size_t i = 0; i < std::min(table.rails.size(), heard->second.rails.size()); ++i)
    if (heard->second.rails[i].later_than(table.rails[i])) table.rails[i] = heard->second.rails[i];
}

bool AddressBook::send_to_stranger(Rail& rail, ProcessIndex process, std::span<const std::byte> bytes) {
  const RailTable table = table_of(process);
  if (table.rails.empty()) return false;
  const rdma::PortAddress own = rail.facts().address;
  const RailAddress& there = table.rails[rail.number() % table.rails.size()];
  if (there.port.link_layer != own.link_layer || there.port.transport != own.transport) return false;
  return rail.datagrams().send({there.port, there.datagram_queue_pair}, bytes);
}

// Telling.

void AddressBook::progress() {
  note_changes();
  if (core_.now >= due_) tell_some();
}

void AddressBook::note_changes() {
  bool any = false;
  for (const auto& rail : core_.rails) {
    RailAddress& told = told_[rail->number()];
    const RailAddress address = rail->address();
    if (begun_ && rail->up() && address.later_than(told)) {
      changed_ |= 1u << rail->number();
      any = true;
    }
    if (any || !begun_) told = address;
  }
  begun_ = true;
  if (!any) return;
  round_ = 0;
  next_ = 0;
  due_ = core_.now;
}

void AddressBook::tell_some() {
  for (int sent = 0; sent < at_once && next_ < core_.settings.job_size; ++next_) {
    if (next_ == core_.settings.self) continue;
    for (const auto& rail : core_.rails) {
      if ((changed_ >> rail->number() & 1) == 0 || !rail->up()) continue;
      const auto through = static_cast<std::uint16_t>((rail->number() + round_) % core_.rails.size());
      tell(next_, core_.settings.self, rail->number(), rail->address(), through);
      ++sent;
    }
  }
  if (next_ < core_.settings.job_size) {
    due_ = core_.now + pause;
    return;
  }
  next_ = 0;
  ++round_;
  due_ = round_ < std::size(rounds) ? core_.now + rounds[round_] : never;
}

bool AddressBook::tell(ProcessIndex to, ProcessIndex about, std::uint16_t rail, const RailAddress& address,
                       std::uint16_t through) {
  const AddressBody body{about, rail, 0, address};
  return core_.connector->send_control(to, through, DatagramKind::address, bytes_of(body));
}

// Asking.

// One that is connected will answer; but who has only this peer must ask strangers, to whom the peer told it,
// too.
void AddressBook::ask(ProcessIndex about) {
  const std::size_t count = core_.known_peers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const VirtualChannel& peer = *core_.known_peers[turn_++ % count];
    if (peer.process() == about || peer.lost || peer.ready() == 0) continue;
    ask(peer.process(), about);
    break;
  }
  const std::int32_t processes = core_.settings.job_size;
  for (std::int32_t i = 0; i < processes; ++i) {
    next_asked_ = (next_asked_ + 1) % processes;
    if (next_asked_ == about || next_asked_ == core_.settings.self) continue;
    ask(next_asked_, about);
    break;
  }
}

void AddressBook::ask(ProcessIndex whom, ProcessIndex about) {
  const auto through = static_cast<std::uint16_t>(++turn_ % core_.rails.size());
  // For the answer to find the way.
  for (const auto& rail : core_.rails)
    if ((changed_ >> rail->number() & 1) != 0 && rail->up())
      tell(whom, core_.settings.self, rail->number(), rail->address(), through);
  const QuestionBody body{about};
  core_.connector->send_control(whom, through, DatagramKind::where_is, bytes_of(body));
}

void AddressBook::on_question(ProcessIndex from, std::span<const std::byte> bytes) {
  QuestionBody body;
  if (!read_body(bytes, 0, body) || body.about < 0 || body.about >= core_.settings.job_size)
    return core_.report_malformed(
        from, bytes.size() < sizeof(body)
                  ? fmt::format("a question for an address of only {} bytes", bytes.size())
                  : fmt::format("a question for the address of process {}", body.about));
  if (body.about == core_.settings.self) return;
  const RailTable table = table_of(body.about);
  for (std::uint16_t rail = 0; rail < table.rails.size(); ++rail)
    tell(from, body.about, rail, table.rails[rail],
         static_cast<std::uint16_t>((rail + turn_) % core_.rails.size()));
  ++turn_;
}

void AddressBook::on_address(ProcessIndex from, std::span<const std::byte> bytes) {
  AddressBody body;
  if (!read_body(bytes, 0, body) || body.process < 0 || body.process >= core_.settings.job_size ||
      body.process == core_.settings.self || body.rail >= max_rails) {
    return core_.report_malformed(
        from, bytes.size() < sizeof(body)
                  ? fmt::format("an address of only {} bytes", bytes.size())
                  : fmt::format("the address of rail {} of process {}", body.rail, body.process));
  }
  VirtualChannel* const peer = core_.find_peer(body.process);
  if (peer == nullptr) {
    auto& rails = heard_[body.process].rails;
    if (rails.size() <= body.rail) rails.resize(body.rail + 1u);
    if (body.address.later_than(rails[body.rail])) rails[body.rail] = body.address;
    return;
  }
  if (body.rail >= peer->remote().rails.size() || peer->lost ||
      !body.address.later_than(peer->remote_rail(body.rail)))
    return;
  peer->learn(body.rail, body.address);
  for (Subchannel& subchannel : peer->subchannels()) {
    if (subchannel.remote_rail != body.rail || subchannel.state != SubchannelState::failed) continue;
    subchannel.health.on_port_back(core_.now);
    core_.watch(subchannel);
  }
}

}  // namespace hawser
