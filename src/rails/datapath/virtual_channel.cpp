#include "rails/datapath/virtual_channel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/planted_bug.h"
#include "rails/wire/pairing.h"

namespace hawser {
namespace {

constexpr std::size_t max_subchannels = max_stripes;

// What a peer costs while nothing is under way, beside its queue pairs: with two rails about 2 KiB.
static_assert(sizeof(VirtualChannel) <= 1024 && sizeof(Subchannel) <= 768, "there may be thousands of peers");

// As memcpy, without the call for the sizes of a message header and of a few numbers.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == sizeof(TransportHeader)) {
    std::memcpy(to, from, sizeof(TransportHeader));
  } else if (size - 8 <= 8) {  // 8 to 16
    std::uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + size - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + size - 8, &last, 8);
  } else if (size != 0) {  // `from` may be null
    std::memcpy(to, from, size);
  }
}

}  // namespace

VirtualChannel::VirtualChannel(RailContext& context, RailResources& resources, Upward& upward, DueList& due,
                               ProcessIndex process, RailTable remote,
                               std::unique_ptr<SchedulingPolicy> policy)
    : context_(context),
      resources_(resources),
      upward_(upward),
      due_(due),
      process_(process),
      remote_(std::move(remote)),
      paths_(context, process, subchannels_, std::move(policy)),
      packets_(context, resources, window_) {
  for (const SubchannelPlace& place :
       subchannel_places(resources_.table, remote_, context_.ways, max_subchannels))
    make(place);
}

VirtualChannel::~VirtualChannel() = default;

void VirtualChannel::make(const SubchannelPlace& place) {
  paths_.on_made(subchannels_.emplace_back(*this, *resources_.rails[place.local], place,
                                           static_cast<std::uint16_t>(subchannels_.size()), context_,
                                           context_.settings.self < process_));
}

// The next one on demand; false: there is none.
bool VirtualChannel::make_next() {
  if (subchannels_.size() == max_subchannels) return false;
  const auto at_once = static_cast<std::size_t>(paths_.at_once());
  std::vector<SubchannelPlace> first;
  for (std::size_t i = 0; i < at_once; ++i) first.push_back(subchannels_[i].place);
  const auto place = place_on_demand(first, context_.ways, subchannels_.size() - at_once);
  if (place.has_value()) make(*place);
  return place.has_value();
}

Subchannel* VirtualChannel::obtain(std::uint16_t index) {
  while (index >= subchannels_.size())
    if (!make_next()) return nullptr;
  return &subchannels_[index];
}

void VirtualChannel::mark_due() {
  if (!in_due_.linked()) due_.push_back(this);
}

// Sending.

// Inlined into send(), where it is a good part of what a small message costs.
[[gnu::always_inline]] inline WorkEntry& VirtualChannel::make_packet(PacketKind kind, TrafficClass traffic,
                                                                     std::span<const std::byte> head,
                                                                     const ByteSequence& payload,
                                                                     PacketBuffer* buffer, bool small) {
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = WorkEntry::Kind::packet;
  entry.sequenced = true;
  entry.traffic = traffic;
  entry.small = small;
  entry.buffer = buffer;
  entry.bytes =
      static_cast<std::uint32_t>(sizeof(PacketHeader) + head.size() + static_cast<std::size_t>(payload.size));
  entry.packet_kind = kind;
  entry.sequence_number = window_.take();
  std::byte* const behind = buffer->data + sizeof(PacketHeader);
  copy_short(behind, head.data(), head.size());
  if (!payload.contiguous())
    payload.packer->pack(0, behind + head.size(), payload.size);
  else if (payload.size != 0)
    copy_short(behind + head.size(), payload.data, static_cast<std::size_t>(payload.size));
  return entry;
}

bool VirtualChannel::send(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
                          const ByteSequence& payload) {
  const std::size_t bytes = sizeof(PacketHeader) + head.size() + static_cast<std::size_t>(payload.size);
  const bool small = is_small(bytes), bundles = kind == PacketKind::eager && small;
  if (packets_.waiting()) [[unlikely]] {
    if (bundles && packets_.add_to_bundle(head, payload)) {
      if (traffic != TrafficClass::nonblocking || packets_.bundle_full()) send_bundle();
      return true;
    }
    if (!send_bundle()) return refuse();
  }
  // That a subchannel is ready shows when one is chosen.
  if (!window_.open()) return refuse();
  if (bundles && traffic == TrafficClass::nonblocking && paths_.crowded() && resources_.bundles.may_wait() &&
      open_bundle(traffic))
    return packets_.add_to_bundle(head, payload);
  Subchannel* subchannel = paths_.choose(static_cast<std::int64_t>(bytes), traffic);
  if (subchannel == nullptr) [[unlikely]]
    return send_by_datagram(kind, traffic, head, payload);
  if (!subchannel->traffic.packet_flow.admits(static_cast<std::int64_t>(bytes),
                                              subchannel->traffic.packet_bytes))
    return refuse();
  PacketBuffer* const buffer = resources_.pool(small).take();
  if (buffer == nullptr) return refuse();
  if (!packets_.post(*subchannel, make_packet(kind, traffic, head, payload, buffer, small))) mark_due();
  return true;
}

bool VirtualChannel::send_by_datagram(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
                                      const ByteSequence& payload) {
  const std::size_t bytes = sizeof(PacketHeader) + head.size() + static_cast<std::size_t>(payload.size);
  if (paths_.ready() > 0 || upward_.datagrams == nullptr) return refuse();
  switch (upward_.datagrams->takes(*this, kind, bytes)) {
    case DatagramWay::Answer::goes:
      break;
    case DatagramWay::Answer::waits:
      ++context_.counters.no_room;
      return false;
    case DatagramWay::Answer::wants_connection:
      return refuse();
  }
  const bool small = is_small(bytes);
  PacketBuffer* const buffer = resources_.pool(small).take();
  if (buffer == nullptr) return refuse();
  WorkEntry& entry = make_packet(kind, traffic, head, payload, buffer, small);
  packets_.retain_datagram(entry);
  upward_.datagrams->send(*this, entry);
  return true;
}

bool VirtualChannel::refuse() {
  ++context_.counters.no_room;
  note_needed();
  return false;
}

void VirtualChannel::note_needed() {
  if (paths_.ready() == 0) upward_.subchannels->on_wanted(*this);
}

bool VirtualChannel::send_on(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> body,
                             std::size_t filling, bool fenced) {
  if (!subchannel.room_for(1, static_cast<std::int32_t>(context_.knobs.rail_send_depth))) return false;
  const std::size_t bytes = sizeof(PacketHeader) + body.size() + filling;
  const bool small = bytes + context_.trailer() <= resources_.small_packets.buffer_bytes();
  HAWSER_ASSERT(bytes + context_.trailer() <= resources_.packets.buffer_bytes());
  PacketBuffer* const buffer = resources_.pool(small).take_for_protocol();
  if (buffer == nullptr) return false;
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = WorkEntry::Kind::packet;
  entry.sequenced = false;
  entry.traffic = TrafficClass::blocking;
  entry.small = small;
  entry.buffer = buffer;
  entry.bytes = static_cast<std::uint32_t>(bytes);
  entry.packet_kind = kind;
  entry.sequence_number = 0;
  if (!body.empty()) std::memcpy(buffer->data + sizeof(PacketHeader), body.data(), body.size());
  return packets_.post(subchannel, entry, fenced);
}

// What several packets are under way before has to wait in any case, and costs less with others in one.
bool VirtualChannel::open_bundle(TrafficClass traffic) {
  if (context_.knobs.rail_bundle == 1 || resources_.packets.is_short()) return false;
  PacketBuffer* const buffer = resources_.packets.take();
  if (buffer == nullptr) return false;
  packets_.open_bundle(make_packet(PacketKind::bundle, traffic, {}, {}, buffer, false));
  mark_due();
  return true;
}

bool VirtualChannel::send_bundle() {
  const WorkEntry* const first = packets_.first_waiting();
  if (first == nullptr || first != packets_.bundle()) return false;
  packets_.note_bundle_due();
  Subchannel* const subchannel = paths_.choose(first->bytes, first->traffic);
  if (subchannel == nullptr ||
      !subchannel->traffic.packet_flow.admits(first->bytes, subchannel->traffic.packet_bytes))
    return false;
  return packets_.post(*subchannel, packets_.take_first_waiting());
}

bool VirtualChannel::advance() {
  bool moved = false;
  for (const WorkEntry* first = packets_.first_waiting(); first != nullptr && first != packets_.bundle();
       first = packets_.first_waiting()) {
    Subchannel* const subchannel = paths_.choose(first->bytes, first->traffic);
    if (subchannel == nullptr) break;
    WorkEntry& entry = packets_.take_first_waiting();
    ++context_.counters.packets_reissued;
    context_.counters.bytes_reissued += entry.bytes;
    upward_.subchannels->on_reissued(static_cast<std::int64_t>(entry.bytes));
    if (!packets_.post(*subchannel, entry)) break;
    moved = true;
  }
  moved |= send_bundle();
  if (packets_.waiting()) note_needed();
  // The peer needs none before it is connected again, and gets one then.
  if (closed_ && paths_.ready() == 0) window_.set_credit_due(false);
  if (planted(PlantedBug::lose_credits)) window_.set_credit_due(false);
  if (window_.credit_due()) {
    Subchannel* const subchannel = paths_.choose(0, TrafficClass::blocking);
    if (subchannel != nullptr && send_on(*subchannel, PacketKind::credit, {})) {
      ++context_.counters.credit_updates;
      moved = true;
    }
  }
  if (!idle()) mark_due();
  return moved;
}

// Receiving.

bool VirtualChannel::acknowledge(std::uint32_t number) {
  const SequenceWindow::Acknowledgement acknowledgement = window_.acknowledge(number);
  if (acknowledgement == SequenceWindow::Acknowledgement::news) packets_.release_acknowledged();
  return acknowledgement != SequenceWindow::Acknowledgement::refused;
}

bool VirtualChannel::take_packet(Subchannel& subchannel, PacketBuffer* buffer, const PacketHeader& header) {
  if (!acknowledge(header.acknowledged)) [[unlikely]] {
    context_.report_malformed(process_,
                              fmt::format("an acknowledgement of packet {}, but only {} were sent to it",
                                          header.acknowledged, window_.sent()));
    return false;
  }
  if (header.kind == PacketKind::credit || header.kind == PacketKind::measure) return false;
  PacketHandler* const handler = upward_.handler(header.kind);
  if (handler == nullptr) [[unlikely]] {
    context_.report_malformed(process_,
                              fmt::format("a packet of unknown kind {}", static_cast<int>(header.kind)));
    return false;
  }
  if (!sequenced(header.kind)) {
    handler->on_packet({*this, &subchannel, header.kind, {buffer->data, buffer->bytes}});
    return false;
  }
  switch (window_.judge(header.sequence_number)) {
    case SequenceWindow::Arrival::next:
      [[likely]] deliver({buffer->data, buffer->bytes});
      if (held_count_ != 0) deliver_held();
      if (window_.owes_much() || header.wants_credit != 0) note_credit_due();
      return false;
    case SequenceWindow::Arrival::early:
      return hold(header.sequence_number, buffer);
    case SequenceWindow::Arrival::duplicate:
      ++context_.counters.dropped_duplicate;
      return false;
    case SequenceWindow::Arrival::outside:
      context_.report_malformed(process_,
                                fmt::format("packet {} when packet {} was next, outside the window of {}",
                                            header.sequence_number, window_.expected(), packet_window));
      return false;
  }
  HAWSER_UNREACHABLE();
}

// It is acknowledged in any case: an acknowledgement may have been lost, and the peer sends again until it
// has one.
void VirtualChannel::take_datagram(std::span<const std::byte> packet) {
  PacketHeader header;
  if (!read_body(packet, 0, header))
    return context_.report_short(process_, "a packet by datagram", packet.size());
  if (!acknowledge(header.acknowledged))
    return context_.report_malformed(
        process_, fmt::format("an acknowledgement of packet {}, but only {} were sent to it",
                              header.acknowledged, window_.sent()));
  if (header.kind == PacketKind::credit) return;
  if ((header.kind != PacketKind::eager && header.kind != PacketKind::urgent) ||
      packet.size() > resources_.packets.buffer_bytes())
    return context_.report_malformed(process_, fmt::format("a packet of kind {} and {} bytes by datagram",
                                                           static_cast<int>(header.kind), packet.size()));
  packets_.datagrams().answer_due = true;
  switch (window_.judge(header.sequence_number)) {
    case SequenceWindow::Arrival::next:
      deliver(packet);
      if (held_count_ != 0) deliver_held();
      return;
    case SequenceWindow::Arrival::early: {
      PacketBuffer* const buffer = resources_.packets.take();
      if (buffer == nullptr) return;  // it comes again
      std::memcpy(buffer->data, packet.data(), packet.size());
      buffer->bytes = static_cast<std::uint32_t>(packet.size());
      if (!hold(header.sequence_number, buffer)) resources_.packets.give_back(buffer);
      return;
    }
    case SequenceWindow::Arrival::duplicate:
      ++context_.counters.dropped_duplicate;
      if (planted(PlantedBug::datagram_twice))
        upward_.handler(header.kind)->on_packet({*this, nullptr, header.kind, packet});
      return;
    case SequenceWindow::Arrival::outside:
      return context_.report_malformed(
          process_, fmt::format("packet {} when packet {} was next, outside the window of {}",
                                header.sequence_number, window_.expected(), packet_window));
  }
}

// Until its turn; false: it was there before.
bool VirtualChannel::hold(std::uint32_t sequence_number, PacketBuffer* buffer) {
  if (held_ == nullptr) held_ = std::make_unique<Held>();
  PacketBuffer*& place = (*held_)[sequence_number % packet_window];
  if (place != nullptr) {
    ++context_.counters.dropped_duplicate;
    return false;
  }
  ++context_.counters.out_of_order;
  place = resources_.packets.hold(buffer);
  ++held_count_;
  return place == buffer;
}

// Whoever takes it may send, expose and fetch in the call.
void VirtualChannel::deliver(std::span<const std::byte> packet) {
  window_.deliver();
  const auto kind = static_cast<PacketKind>(packet.front());
  upward_.handler(kind)->on_packet({*this, nullptr, kind, packet});
}

void VirtualChannel::deliver_held() {
  while (held_count_ > 0) {
    PacketBuffer* const buffer = std::exchange((*held_)[window_.expected() % packet_window], nullptr);
    if (buffer == nullptr) return;
    --held_count_;
    deliver({buffer->data, buffer->bytes});
    resources_.packets.drop(buffer);
  }
  held_.reset();
}

// Subchannels that come and go.

void VirtualChannel::on_ready(const Subchannel& subchannel) {
  paths_.on_ready(subchannel);
  if (paths_.ready() == 1 && rejoins_)
    context_.status.on_event(-1, process_, PathEvent::rejoined, PathReason::none,
                             partition_.since() <= 0 ? 0 : context_.now - partition_.since(), context_.now);
  rejoins_ = true;
  closed_ = false;
  partition_.end();
  note_credit_due();
}

void VirtualChannel::on_not_ready(const Subchannel& subchannel, bool on_purpose) {
  paths_.on_not_ready(subchannel);
  if (on_purpose) {
    closed_ = true;
    rejoins_ = false;
    return;
  }
  if (paths_.ready() > 0) return;
  partition_.begin(context_.now);
  ++context_.counters.partitions;
  context_.status.on_event(-1, process_, PathEvent::partitioned, PathReason::none, 0, context_.now);
}

void VirtualChannel::abandon() {
  lost_ = true;
  window_.set_credit_due(false);
  packets_.clear();
  if (held_ != nullptr)
    for (PacketBuffer* buffer : *held_)
      if (buffer != nullptr) resources_.packets.drop(buffer);
  held_.reset();
  held_count_ = 0;
  if (in_due_.linked()) due_.remove(this);
}

bool VirtualChannel::flushed() const {
  return !packets_.waiting() && !packets_.datagrams_under_way() &&
         std::all_of(subchannels_.begin(), subchannels_.end(),
                     [](const Subchannel& s) { return s.traffic.in_flight.empty(); });
}

// Retiring.

bool VirtualChannel::at_rest() const {
  const DatagramUse& datagrams = packets_.datagrams();
  return !lost_ && !in_due_.linked() && held_count_ == 0 && window_.under_way() == 0 &&
         packets_.retained() == 0 && !packets_.waiting() && !packets_.datagrams_under_way() &&
         !datagrams.answer_due && !datagrams.listed && partition_.since() < 0 &&
         std::ranges::all_of(subchannels_, [](const Subchannel& s) {
           return s.queue_pair == nullptr && s.flushed() && !s.timer_link.linked() &&
                  s.machine().memory().has_value();
         });
}

bool VirtualChannel::rested(Nanoseconds now, Nanoseconds for_so_long) {
  const std::uint32_t packets = window_.sent() + window_.expected();
  if (packets != packets_at_look_ || rests_since_ == 0 || !at_rest()) {
    packets_at_look_ = packets;
    rests_since_ = now;
    return false;
  }
  return now - rests_since_ >= for_so_long;
}

RetiredPeer VirtualChannel::retire() const {
  RetiredPeer retired{window_.sent(), window_.expected(), {}};
  const auto last = std::find_if(subchannels_.rbegin(), subchannels_.rend(), [](const Subchannel& s) {
    return s.connection_generation() != 0 || s.status_row >= 0;
  });
  retired.paths.reserve(static_cast<std::size_t>(subchannels_.rend() - last));
  for (auto each = subchannels_.begin(); each != last.base(); ++each)
    retired.paths.push_back({each->machine().memory().value(), each->status_row});
  return retired;
}

void VirtualChannel::restore(const RetiredPeer& retired) {
  window_ = SequenceWindow(retired.sent, retired.delivered);
  for (std::size_t i = 0; i < retired.paths.size(); ++i) {
    Subchannel& subchannel = *obtain(static_cast<std::uint16_t>(i));
    subchannel.status_row = retired.paths[i].status_row;
    subchannel.machine_.remember(retired.paths[i].memory);
    closed_ = closed_ || retired.paths[i].memory.torn_down;
  }
}

void VirtualChannel::check_invariants() const {
  window_.check_invariants();
  packets_.check_invariants();
  std::uint32_t held = 0;
  if (held_ != nullptr) {
    HAWSER_ASSERT((*held_)[window_.expected() % packet_window] == nullptr);
    for (const PacketBuffer* buffer : *held_) held += buffer != nullptr;
  }
  HAWSER_ASSERT(held == held_count_);
  int ready = 0, suspects = 0;
  for (const Subchannel& subchannel : subchannels_) {
    const SubchannelMachine& machine = subchannel.machine();
    machine.check_invariants();
    const bool fenced = machine.state() == SubchannelState::fencing;
    ready += machine.in_service();
    suspects += machine.suspected();
    HAWSER_ASSERT(!subchannel.connected() || subchannel.queue_pair != nullptr);
    std::int32_t outstanding = 0;
    for (WorkEntry* e = subchannel.traffic.in_flight.front(); e != nullptr;
         e = subchannel.traffic.in_flight.next(e)) {
      HAWSER_ASSERT(e->place == (fenced ? WorkEntry::Place::fenced : WorkEntry::Place::in_flight) &&
                    e->subchannel == &subchannel);
      outstanding += e->requests();
    }
    // While it is fenced, entries wait for the peer to say what it has; requests there are none.
    HAWSER_ASSERT((fenced ? 0 : outstanding) == subchannel.traffic.outstanding);
  }
  HAWSER_ASSERT(ready == paths_.ready() && suspects == paths_.suspected());
}

}  // namespace hawser
