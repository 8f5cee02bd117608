#include "rails/rail_core.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::size_t small_packet_bytes = 256;
constexpr std::string_view table_key = "hawser-rails", secret_key = "hawser-rails-secret";

PathReason reason_of(rdma::Status status) {
  switch (status) {
    case rdma::Status::rnr_exceeded:
      return PathReason::receiver_not_ready;
    case rdma::Status::remote_access:
      return PathReason::remote_access;
    case rdma::Status::fatal:
      return PathReason::device_fatal;
    case rdma::Status::success:
    case rdma::Status::flushed:
    case rdma::Status::retry_exceeded:
    case rdma::Status::local_error:
    case rdma::Status::other:
      break;
  }
  return PathReason::completion_error;
}

}  // namespace

const char* subchannel_state_name(SubchannelState state) {
  switch (state) {
    case SubchannelState::closed:
      return "closed";
    case SubchannelState::connecting:
      return "connecting";
    case SubchannelState::accepted:
      return "accepted";
    case SubchannelState::probing:
      return "probing";
    case SubchannelState::ready:
      return "ready";
    case SubchannelState::stopping:
      return "stopping";
    case SubchannelState::fencing:
      return "fencing";
    case SubchannelState::failed:
      return "failed";
  }
  HAWSER_UNREACHABLE();
}

RailCore::RailCore(const RailSettings& rail_settings, AddressExchange& address_exchange,
                   const Knobs& knob_values, std::uint64_t seed)
    : settings(rail_settings),
      status(rail_settings.status != nullptr ? *rail_settings.status : no_status),
      exchange(address_exchange),
      knobs(knob_values),
      random(seed),
      // Only the reader can check what was moved before anybody is told.
      read_rendezvous(knob_values.rail_rendezvous == "read" || knob_values.checksum),
      small_packets(small_packet_bytes, 128),
      packets(static_cast<std::size_t>(knob_values.rail_packet), 32),
      unreachable(static_cast<std::size_t>(rail_settings.job_size)),
      peers(static_cast<std::size_t>(rail_settings.job_size)),
      rendezvous(*this, knob_values.rail_reads, port_flow),
      failover(*this),
      alternates(*this),
      containment(*this),
      recovery(*this),
      addresses(*this) {
  now = settings.now;
  // Requests of one path wait for acknowledgements behind the other direction's data; so they are given more
  // than what is under way into a port, where it only makes others wait.
  flow.queueing = std::clamp(knobs.rail_acknowledge_time / 2, 100 * microsecond, 8 * millisecond);
  flow.first = knobs.rail_stripe;
  port_flow = flow;
  port_flow.queueing = std::clamp(knobs.rail_acknowledge_time / 4, 100 * microsecond, 4 * millisecond);
  packet_flow = {.queueing = port_flow.queueing, .first = 4096, .least = 1024};
  if (status.wanted()) next_show = 0;
}

// Queue pairs go before what they were made from.
RailCore::~RailCore() {
  for (VirtualChannel* peer : known_peers)
    for (Subchannel& subchannel : peer->subchannels()) subchannel.queue_pair.reset();
}

Result<> RailCore::connect_up() {
  if (connector != nullptr || rails.empty()) return {};
  auto text = exchange.get(0, secret_key);
  if (!text) return text.take_error();
  std::array<std::uint64_t, 2> secret = {};
  const std::string& digits = text.value();
  if (digits.size() != 32) return failure(ErrorKind::other, "the job's secret is not known");
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(digits[i]);
    secret[i / 16] = secret[i / 16] << 4 | (digit & 15);
  }
  if (secret[0] == 0 && secret[1] == 0) return failure(ErrorKind::other, "the job's secret is empty");
  connector = std::make_unique<Connector>(*this, secret);
  return {};
}

Result<> RailCore::publish() {
  if (settings.self == 0)
    HAWSER_TRY(
        exchange.put(secret_key, fmt::format("{:016x}{:016x}", settings.secret[0], settings.secret[1])));
  return exchange.put(table_key, table.text());
}

Result<RailTable> RailCore::exchanged_table(ProcessIndex process) {
  auto text = exchange.get(process, table_key);
  if (!text) return text.take_error();
  return RailTable::parse(text.value());
}

VirtualChannel* RailCore::peer(ProcessIndex process) {
  if (VirtualChannel* known = find_peer(process)) return known;
  const auto place = static_cast<std::size_t>(process);
  if (process < 0 || place >= peers.size() || process == settings.self || unreachable[place] || rails.empty())
    return nullptr;
  auto remote = exchanged_table(process);
  if (remote) addresses.update(process, remote.value());
  auto policy = make_scheduling_policy(knobs.rail_policy, settings.self);
  if (remote && policy && !remote.value().rails.empty()) {
    auto made = std::make_unique<VirtualChannel>(*this, process, std::move(remote).value(),
                                                 std::move(policy).value());
    if (!made->subchannels().empty()) {
      known_peers.push_back(made.get());
      peers[place] = std::move(made);
      return known_peers.back();
    }
  }
  unreachable[place] = true;
  return nullptr;
}

// Completions.

// A dead device's too: what it had acknowledged to peers lies in memory, and so does what was flushed.
namespace {

// Takes the checksum off.
bool undamaged(PacketBuffer& buffer) {
  PacketHeader header;
  if (!read_body({buffer.data, buffer.bytes}, 0, header) || header.checked == 0) return true;
  if (buffer.bytes < sizeof(header) + checksum_bytes) return false;
  buffer.bytes -= checksum_bytes;
  std::uint32_t sent;
  std::memcpy(&sent, buffer.data + buffer.bytes, sizeof(sent));
  return sent == crc32c({buffer.data, buffer.bytes});
}

}  // namespace

int RailCore::poll(Rail& rail) {
  std::array<rdma::Completion, 16> completions;
  const int count = rail.completions().poll(completions);
  if (count < 0) [[unlikely]] {
    device_gone(rail.device_number());
    return 0;
  }
  rail.polled_before = rail.polled;
  rail.polled = now;
  if (count > 0) rail.found = now;
  rail.note_poll(count, count < static_cast<int>(completions.size()));
  for (int i = 0; i < count; ++i) on_completion(rail, completions[static_cast<std::size_t>(i)]);
  if (count > 0) rail.fill();
  return count;
}

void RailCore::on_completion(Rail& rail, const rdma::Completion& completion) {
  if ((completion.id & Rail::receive_bit) != 0) {
    on_receive(rail, completion);
    return;
  }
  WorkEntry* const entry = entries.find(completion.id);
  if (entry == nullptr) return;  // the finish behind a write that failed, or its subchannel was closed
  Subchannel& subchannel = *entry->subchannel;
  if (entry->kind == WorkEntry::Kind::marker) {
    failover.on_marker(subchannel);
    return;
  }
  if (completion.status != rdma::Status::success) [[unlikely]] {
    if (completion.status != rdma::Status::flushed) ++counters.errors_completed;
    if (completion.status == rdma::Status::remote_access || completion.status == rdma::Status::local_error)
      ++counters.protection_errors;
    failover.fail(subchannel, reason_of(completion.status));
    return;
  }
  subchannel.in_flight.remove(entry);
  subchannel.last_completion = now;
  subchannel.last_proof = entry->posted;
  const std::int32_t requests = entry->kind == WorkEntry::Kind::write ? 2 : 1;
  subchannel.outstanding -= requests;
  rail.outstanding -= requests;
  const Nanoseconds before = std::clamp(rail.polled_before, entry->posted, now);
  if (entry->kind == WorkEntry::Kind::packet) {
    subchannel.packet_bytes -= entry->bytes;
    subchannel.packet_flow.on_done(entry->bytes, entry->delivered_before, entry->posted, before, now);
    status.sent(subchannel.status_row, entry->bytes);
    // Delivered to the peer's adapter, which may still die before its software has seen it.
    if (entry->sequenced)
      subchannel.peer.retain(*entry);
    else
      free_entry(entry);
    return;
  }
  subchannel.bytes_queued -= entry->size;
  rail.bytes_queued -= entry->size;
  status.completed(subchannel.status_row, entry->size);
  subchannel.peer.weights().on_stripe_done(subchannel.index, entry->size, entry->queued_before, entry->posted,
                                           now, rail.polled_before);
  subchannel.stripe_flow.on_done(entry->size, entry->delivered_before, entry->posted, before, now);
  FlowWindow& port_flow = entry->kind == WorkEntry::Kind::read ? rail.read_flow : rail.write_flow;
  port_flow.on_done(entry->size, entry->port_delivered_before, entry->posted, before, now);
  rendezvous.on_stripe_done(*entry);
}

void RailCore::on_receive(Rail& rail, const rdma::Completion& completion) {
  PacketBuffer* const buffer = packets.at(static_cast<std::uint32_t>(completion.id & 0xFFFFFFFF));
  HAWSER_ASSERT(buffer != nullptr);
  rail.count_receive();
  buffer->receiver = -1;
  bool kept = false;
  if (completion.status == rdma::Status::success) [[likely]] {
    buffer->bytes = completion.bytes;
    Subchannel* const subchannel = rail.find(completion.queue_pair);
    if (subchannel != nullptr)
      kept = take_packet(*subchannel, buffer);
    else
      ++counters.dropped_stale;
  }
  if (!kept) packets.give_back(buffer);
}

bool RailCore::take_packet(Subchannel& subchannel, PacketBuffer* buffer) {
  if (subchannel.poisoned) return false;
  ++counters.packets_received;
  if (!undamaged(*buffer)) [[unlikely]] {
    ++counters.checksum_errors;
    subchannel.poisoned = true;
    failover.fail(subchannel, PathReason::checksum);
    return false;
  }
  ++subchannel.received;  // whatever it is: the peer's count goes on, too
  PacketHeader header;
  if (!read_body({buffer->data, buffer->bytes}, 0, header)) [[unlikely]] {
    report_short(subchannel.peer.process(), "a packet", buffer->bytes);
    return false;
  }
  if (header.subchannel != subchannel.index || header.incarnation != subchannel.incarnation) {
    ++counters.dropped_stale;
    return false;
  }
  if (subchannel.state != SubchannelState::ready) [[unlikely]]
    connector->on_packet(subchannel, header.kind);
  return subchannel.peer.take_packet(subchannel, buffer, header);
}

// What peers may not send.

void RailCore::report_malformed(ProcessIndex process, std::string what) {
  ++counters.dropped_malformed;
  if (events != nullptr) events->on_bad_packet(process, std::move(what));
}

void RailCore::report_short(ProcessIndex process, std::string_view kind, std::size_t bytes) {
  report_malformed(process, fmt::format("{} of only {} bytes", kind, bytes));
}

// What others see.

void RailCore::show(Subchannel& subchannel, PathReason reason) {
  if (!status.wanted()) return;
  if (subchannel.status_row < 0) {
    const rdma::DeviceFacts& device = subchannel.rail.device().facts();
    const std::string port = fmt::format("{}/{}", device.name, subchannel.rail.port());
    subchannel.status_row =
        status.add_path({subchannel.peer.process(), subchannel.index, subchannel.rail.number(),
                         subchannel.path, subchannel.engine, port});
  }
  const auto condition = [&subchannel] {
    switch (subchannel.state) {
      case SubchannelState::closed:
        return PathCondition::closed;
      case SubchannelState::connecting:
      case SubchannelState::accepted:
        return PathCondition::connecting;
      case SubchannelState::probing:
        return PathCondition::probing;
      case SubchannelState::ready:
        return subchannel.suspected || subchannel.health.state() == PathState::suspect
                   ? PathCondition::suspect
                   : PathCondition::ready;
      case SubchannelState::stopping:
        return PathCondition::stopping;
      case SubchannelState::fencing:
        return PathCondition::fencing;
      case SubchannelState::failed:
        return PathCondition::failed;
    }
    HAWSER_UNREACHABLE();
  };
  if (subchannel.state == SubchannelState::connecting && subchannel.failed_before)
    status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt, PathReason::none,
                    subchannel.health.attempts_since_failure(), now);
  status.set_condition(subchannel.status_row, condition(), subchannel.incarnation, reason, now);
}

void RailCore::show_vain_attempt(Subchannel& subchannel, PathReason reason) {
  const std::uint32_t attempts = subchannel.health.attempts_since_failure();
  if (std::has_single_bit(attempts))
    status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt, reason, attempts,
                    now);
}

// Weights and counters, now and then; slow paths are told from others here, too.
void RailCore::show_weights() {
  next_show = now + 100 * millisecond;
  for (VirtualChannel* peer : known_peers)
    for (Subchannel& subchannel : peer->subchannels()) {
      if (subchannel.state != SubchannelState::ready) continue;
      const bool slow = peer->weights().degraded(subchannel.index);
      if (slow != (subchannel.health.state() == PathState::suspect)) {
        slow ? subchannel.health.on_slow(now) : subchannel.health.on_well(now);
        show(subchannel, slow ? PathReason::slow : PathReason::well_again);
      }
      status.set_weight(subchannel.status_row, peer->weights().weight(subchannel.index));
    }
  count_more();
  status.publish(counters);
}

void RailCore::count_more() {
  const RegistrationCounters& cache = registrations->counters();
  counters.registration_hits = cache.hits;
  counters.registrations_made = cache.registrations;
  counters.registrations_dropped = cache.evicted + cache.invalidated;
  if (connector == nullptr) return;
  const ConnectionCounters& datagrams = connector->counters();
  counters.dropped_datagrams = datagrams.dropped_check + datagrams.dropped_malformed;
}

// Devices.

void RailCore::device_gone(std::uint16_t device_number) {
  const DeviceMask bit = DeviceMask{1} << device_number;
  if ((dead_devices & bit) != 0) return;
  dead_devices |= bit;
  for (const auto& rail : rails) {
    if (rail->device_number() != device_number || rail->dead) continue;
    rail->dead = true;
    if (connector != nullptr) connector->on_port(*rail, false);
  }
  recovery.on_fatal(device_number);
}

void RailCore::take_events(rdma::Device& device, std::uint16_t device_number) {
  rdma::DeviceEvent event;
  while (device.next_event(event)) {
    for (const auto& rail : rails) {
      if (rail->device_number() != device_number || rail->dead) continue;
      const bool port = event.port == rail->port();
      switch (event.kind) {
        case rdma::DeviceEvent::Kind::port_down:
          if (!port) break;  // never the sibling's
          ++counters.port_events;
          rail->query();
          if (connector != nullptr) connector->on_port(*rail, false);
          break;
        case rdma::DeviceEvent::Kind::port_active:
          if (!port) break;
          ++counters.port_events;
          rail->query();
          if (connector != nullptr) connector->on_port(*rail, true);
          break;
        case rdma::DeviceEvent::Kind::address_changed:
          // A connection that still bears the old address is cut off, though nothing may tell the peer: its
          // fence brings the new one.
          if (!port) break;
          rail->query();
          timer = now;  // others are to be told
          if (connector != nullptr) connector->on_moved(*rail);
          break;
        case rdma::DeviceEvent::Kind::queue_pair_fatal:
          if (Subchannel* subchannel = rail->find(event.queue_pair))
            failover.fail(*subchannel, PathReason::queue_pair_fatal);
          break;
        case rdma::DeviceEvent::Kind::device_fatal:
          device_gone(device_number);
          break;
        case rdma::DeviceEvent::Kind::path_migration_failed:
          if (Subchannel* subchannel = rail->find(event.queue_pair)) {
            ++counters.migrations_failed;
            failover.fail(*subchannel, PathReason::migration_failed);
          }
          break;
        case rdma::DeviceEvent::Kind::path_migrated:
          if (Subchannel* subchannel = rail->find(event.queue_pair)) alternates.on_migrated(*subchannel);
          break;
        case rdma::DeviceEvent::Kind::last_receive_reached:
        case rdma::DeviceEvent::Kind::other:
          break;
      }
    }
  }
}

// Time.

void RailCore::look_at_timers() {
  const auto due_of = [](const Subchannel& subchannel) {
    if (subchannel.state == SubchannelState::failed)
      return std::min(subchannel.due, subchannel.health.next_attempt());
    const Nanoseconds due = std::min(subchannel.due, subchannel.suspicion_due);
    // AlternatePaths looks at those that are ready; the time of another one would be due for ever.
    const bool migrates = subchannel.alternate != nullptr && subchannel.state == SubchannelState::ready;
    return migrates ? std::min(due, subchannel.alternate->due()) : due;
  };
  // Whoever is looked at may leave the list, and others may join it.
  std::vector<Subchannel*>& looked_at = attention_now_;
  looked_at.clear();
  for (Subchannel* s = attention.front(); s != nullptr; s = attention.next(s)) looked_at.push_back(s);
  for (Subchannel* subchannel : looked_at) {
    if (!subchannel->attention.linked()) continue;
    failover.on_due(*subchannel);
    if (!subchannel->attention.linked()) continue;
    connector->on_due(*subchannel);
    alternates.on_due(*subchannel);
    containment.on_due(*subchannel);
    if (subchannel->attention.linked() && !subchannel->broken && due_of(*subchannel) == never &&
        (subchannel->state == SubchannelState::ready || subchannel->state == SubchannelState::closed))
      attention.remove(subchannel);
  }
  connector->progress();
  if (now >= next_watch_) {
    next_watch_ = now + watch_interval();
    const bool credits = now >= next_credits_;
    if (credits) next_credits_ = now + std::max<Nanoseconds>(knobs.rail_watchdog / 4, millisecond);
    for (const auto& rail : rails) rail->fill();  // buffers may have been short
    for (std::size_t i = 0; i < known_peers.size(); ++i) {
      VirtualChannel& each = *known_peers[i];
      if (each.lost) continue;
      if (credits) each.watch_credit();
      failover.watch(each);
      if (each.partitioned_since == 0) each.partitioned_since = now;
      const Nanoseconds since = each.partitioned_since;
      if (!each.lost && knobs.rail_give_up > 0 && since >= 0 && now - since >= knobs.rail_give_up)
        failover.lose(each,
                      failure(ErrorKind::other, "process {} cannot be reached on any path", each.process()));
    }
  }
  recovery.progress();
  addresses.progress();
  timer = std::min({connector->deadline(), recovery.deadline(), addresses.deadline()});
  for (Subchannel* s = attention.front(); s != nullptr; s = attention.next(s))
    timer = std::min(timer, due_of(*s));
  if (knobs.rail_give_up > 0 && !attention.empty()) timer = std::min(timer, next_watch_);
}

// Requests that hang are noticed at the first look after their time.
Nanoseconds RailCore::watch_interval() const {
  const Nanoseconds shorter = knobs.rail_silence > 0
                                  ? std::min(knobs.rail_watchdog / 4, knobs.rail_silence / 8)
                                  : knobs.rail_watchdog / 4;
  return std::max<Nanoseconds>(shorter, millisecond);
}

Nanoseconds RailCore::next_look() const {
  const bool outstanding =
      std::any_of(rails.begin(), rails.end(), [](const auto& rail) { return rail->outstanding > 0; });
  return outstanding ? std::min(timer, next_watch_) : timer;
}

}  // namespace hawser
