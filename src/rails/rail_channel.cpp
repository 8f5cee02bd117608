#include "rails/rail_channel.h"

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "rails/rail_core.h"

namespace hawser {
namespace {

// While packets come in, datagrams and events are looked for only so often; a pass that finds nothing looks,
// too, but not oftener than that.
constexpr Nanoseconds look_interval = 20 * microsecond;
// The same of rails that are costly to poll, where others are not, unless something came in over them lately;
// they are looked at every so many looks.
constexpr Nanoseconds spare_interval = 100 * microsecond, busy_time = millisecond;
constexpr std::uint32_t looks_per_costly_one = spare_interval / look_interval;

bool to_be_polled(const RailCore& core, const Rail& rail) {
  if (!rail.connected()) return false;  // a port without a cable, perhaps
  if (!core.spares || !rail.costly_to_poll() || core.look_now) return true;
  const bool busy = rail.found >= 0 && core.now - rail.found < busy_time;
  return busy || core.now - rail.polled >= (rail.outstanding > 0 ? look_interval : spare_interval);
}

// The key of the job's datagrams: from its name, so that it is known before anything is exchanged.
std::uint32_t datagram_key(std::string_view job) {
  std::uint32_t key = 2166136261u;
  for (const char c : job) key = (key ^ static_cast<unsigned char>(c)) * 16777619u;
  return key & 0x7FFFFFFF;  // the high bit would mean a privileged one
}

struct FoundPort {
  std::uint16_t device;
  std::uint8_t port;
  bool active;
};

// Also those that are down: they may come up. Where there are more than can be used, such that are up.
std::vector<FoundPort> find_ports(RailCore& core) {
  std::vector<FoundPort> found;
  for (std::size_t d = 0; d < core.devices.size(); ++d) {
    for (int port = 1; port <= core.devices[d]->facts().ports; ++port) {
      auto facts = core.devices[d]->query_port(static_cast<std::uint8_t>(port));
      if (facts)
        found.push_back(
            {static_cast<std::uint16_t>(d), static_cast<std::uint8_t>(port), facts.value().active});
    }
  }
  for (auto last = found.end(); last != found.begin() && found.size() > max_rails;)
    if (!(--last)->active) last = found.erase(last);
  if (found.size() > max_rails) found.resize(max_rails);
  return found;
}

Result<> open_rails(RailCore& core) {
  for (const FoundPort& each : find_ports(core)) {
    RailShape shape;
    shape.number = static_cast<std::uint16_t>(core.rails.size());
    shape.device_number = each.device;
    shape.port = each.port;
    shape.most_receives = static_cast<std::int32_t>(core.knobs.rail_receives);
    shape.datagram_key = datagram_key(core.settings.job_id);
    shape.packet_bytes = static_cast<std::uint32_t>(core.packets.buffer_bytes());
    shape.flow = &core.port_flow;
    auto rail = Rail::open(*core.devices[each.device], shape, core.packets);
    if (!rail) return rail.take_error();
    core.rails.push_back(std::move(rail).value());
    core.table.rails.push_back(core.rails.back()->address());
    core.table.up_at_start |= static_cast<std::uint8_t>(each.active << shape.number);
    core.spares |= !core.rails.back()->costly_to_poll();
  }
  return {};
}

// What not even small messages go without: later it would be too late to tell.
Result<> reserve_packets(RailCore& core) {
  if (core.rails.empty()) return {};
  const std::size_t buffers = PacketPool::kept_to_send + core.rails.size() * PacketPool::kept_to_receive;
  Result<> reserved = core.packets.reserve(buffers);
  if (reserved) reserved = core.small_packets.reserve(1);
  if (reserved) return {};
  return failure(ErrorKind::other, "no memory for {} packets of {} bytes (HAWSER_RAIL_PACKET): {}", buffers,
                 core.packets.buffer_bytes(), reserved.error().text);
}

std::string alternate_text(const Subchannel& subchannel) {
  if (subchannel.alternate == nullptr) return {};
  const PathMigration& machine = subchannel.alternate->machine;
  return fmt::format(", port {} path bits {}, alternate {}", subchannel.route.port,
                     subchannel.route.source_path_bits, migration_phase_name(machine.phase()));
}

}  // namespace

RailChannel::RailChannel(std::unique_ptr<RailCore> core) : core_(std::move(core)) {}
RailChannel::~RailChannel() = default;

Result<std::unique_ptr<RailChannel>> RailChannel::open(const RailSettings& settings,
                                                       AddressExchange& exchange, rdma::DeviceSource& devices,
                                                       const Knobs& knobs, std::uint64_t seed) {
  if (auto policy = make_scheduling_policy(knobs.rail_policy, settings.self); !policy)
    return policy.take_error();
  if (auto alternates = parse_alternates(knobs.rail_migration); !alternates) return alternates.take_error();
  auto core = std::make_unique<RailCore>(settings, exchange, knobs, seed);
  if (knobs.network != "socket") {
    auto opened = devices.open_devices();
    if (!opened) return opened.take_error();
    core->devices = std::move(opened).value();
  }
  std::vector<rdma::Device*> all;
  core->inline_bytes = most_inline_bytes;
  for (const auto& device : core->devices) {
    all.push_back(device.get());
    core->inline_bytes = std::min(core->inline_bytes, device->facts().inline_bytes);
    if (knobs.checksum && device->facts().outstanding_reads == 0)
      return failure(ErrorKind::other,
                     "HAWSER_CHECKSUM is on, but {} cannot read remote memory, and only reads are checked",
                     device->facts().name);
  }
  RegistrationSettings registration;
  // Nobody tells what goes away: nothing may be kept.
  registration.most_bytes = settings.memory_watch != nullptr ? knobs.registration_cache : 0;
  registration.most_regions = knobs.registration_entries;
  core->registrations = std::make_unique<RegistrationCache>(all, settings.memory_watch, registration);
  core->small_packets.set_devices(all, core->registrations.get(), &core->dead_devices);
  core->packets.set_devices(all, core->registrations.get(), &core->dead_devices);
  HAWSER_TRY(open_rails(*core));
  HAWSER_TRY(reserve_packets(*core));
  return std::unique_ptr<RailChannel>(new RailChannel(std::move(core)));
}

Result<> RailChannel::publish() { return core_->publish(); }
bool RailChannel::usable() const { return !core_->rails.empty(); }
bool RailChannel::reaches(ProcessIndex peer) { return core_->peer(peer) != nullptr; }

std::vector<int> RailChannel::descriptors() const {
  std::vector<int> found;
  for (const auto& device : core_->devices)
    if (device->descriptor() >= 0) found.push_back(device->descriptor());
  return found;
}

Result<> RailChannel::arm() {
  core_->look_now = true;
  for (const auto& rail : core_->rails)
    if (!rail->dead) HAWSER_TRY(rail->completions().arm(false));
  for (const auto& device : core_->devices) HAWSER_TRY(device->arm_datagrams());
  return {};
}

// Those that are numbers of something; the times of the last failover are no sums.
std::vector<ChannelCounter> RailChannel::list_counters() const {
  std::vector<ChannelCounter> list;
  for (const CounterName& counter : rail_counter_names())
    if (!counter.name.starts_with("last_")) list.push_back({counter.name, counter.value(counters())});
  return list;
}

const RailCounters& RailChannel::counters() const {
  core_->count_more();
  return core_->counters;
}

std::int64_t RailChannel::eager_limit(ProcessIndex) const {
  return static_cast<std::int64_t>(core_->packets.buffer_bytes() - sizeof(PacketHeader) -
                                   sizeof(MessageHeader) - core_->trailer());
}

// The peer to send to; null: it is lost, and what is sent to it is swallowed.
bool RailChannel::try_send(ProcessIndex process, const MessageHeader& header, const ByteSequence& payload) {
  VirtualChannel* const peer = core_->peer(process);
  HAWSER_ASSERT(peer != nullptr && payload.size <= eager_limit(process));
  if (peer->lost) return true;
  if (peer->ready() == 0) [[unlikely]]
    core_->want(*peer);
  return peer->send(PacketKind::eager, std::as_bytes(std::span(&header, 1)), payload);
}

bool RailChannel::try_expose(ProcessIndex process, const MessageHeader& header, const ByteSequence& bytes,
                             void* cookie) {
  VirtualChannel* const peer = core_->peer(process);
  HAWSER_ASSERT(peer != nullptr);
  if (!peer->lost && peer->ready() == 0) core_->want(*peer);
  return core_->rendezvous.try_expose(*peer, header, bytes, cookie);
}

void RailChannel::fetch(ProcessIndex process, const ExposeToken& token, const ByteSequence& into,
                        void* cookie) {
  VirtualChannel* const peer = core_->find_peer(process);
  HAWSER_ASSERT(peer != nullptr);
  core_->rendezvous.fetch(*peer, token, into, cookie);
}

bool RailChannel::progress(ChannelEvents& events, Nanoseconds now) {
  RailCore& core = *core_;
  core.now = now;
  core.events = &events;
  if (core.connector == nullptr) [[unlikely]] {
    // Before the first fence there is nothing to move.
    if (core.rails.empty() || !core.connect_up()) return false;
  }
  bool moved = false;
  for (const auto& rail : core.rails)
    if (to_be_polled(core, *rail)) moved |= core.poll(*rail) > 0;
  if (core.look_now || now - core.looked >= look_interval) {
    core.looked = now;
    core.looks = core.look_now ? 0 : (core.looks + 1) % looks_per_costly_one;
    core.look_now = core.look_skipped = false;
    moved |= core.connector->receive();
    core.registrations->give_back_free_memory(now);
    core.registrations->take_changes();
    for (std::size_t d = 0; d < core.devices.size(); ++d)
      if (std::none_of(core.rails.begin(), core.rails.end(), [&](const auto& rail) {
            return rail->device_number() == d && core.passes_over(*rail);
          }))
        core.take_events(*core.devices[d], static_cast<std::uint16_t>(d));
  } else {
    core.look_skipped = true;
  }
  for (std::size_t turns = core.known_peers.size(); turns > 0 && !core.due.empty(); --turns) {
    VirtualChannel* const peer = core.due.pop_front();
    moved |= peer->advance();
    if (!peer->idle()) peer->mark_due();
  }
  if (!core.recovery.all_told()) [[unlikely]]
    moved |= core.recovery.tell_keys();
  moved |= core.rendezvous.progress();
  if (core.timers_due()) core.look_at_timers();
  if (now >= core.next_show) core.show_weights();
  core.events = nullptr;
  return moved;
}

Nanoseconds RailChannel::deadline() const {
  if (core_->connector == nullptr) return never;
  Nanoseconds deadline = std::min(core_->next_look(), core_->rendezvous.deadline());
  if (core_->look_skipped) deadline = std::min(deadline, core_->looked + look_interval);
  return deadline;
}

bool RailChannel::flushed() const {
  return core_->rendezvous.flushed() &&
         std::all_of(core_->known_peers.begin(), core_->known_peers.end(),
                     [](const VirtualChannel* peer) { return peer->flushed(); });
}

bool RailChannel::at_rest(std::string* why) const {
  const auto not_so = [&](std::string text) {
    if (why != nullptr) *why = std::move(text);
    return false;
  };
  std::size_t receives = 0;
  for (const auto& rail : core_->rails) {
    receives += static_cast<std::size_t>(rail->posted_receives());
    if (rail->outstanding != 0 || rail->bytes_queued != 0)
      return not_so(fmt::format("{} requests and {} bytes outstanding on rail {}", rail->outstanding,
                                rail->bytes_queued, rail->number()));
  }
  for (const VirtualChannel* peer : core_->known_peers) {
    if (!peer->flushed()) return not_so(fmt::format("packets to {} are in flight", peer->process()));
    if (peer->held() != 0)
      return not_so(fmt::format("{} packets of {} are held", peer->held(), peer->process()));
    if (!peer->lost && peer->under_way() > packet_window / 2)
      return not_so(fmt::format("{} packets to {} are not credited", peer->under_way(), peer->process()));
  }
  if (core_->exposures.live() != 0 || core_->fetches.live() != 0)
    return not_so(
        fmt::format("{} exposed and {} fetched transfers", core_->exposures.live(), core_->fetches.live()));
  if (!core_->recovery.all_told()) return not_so("keys that the peers were not told");
  if (core_->rendezvous.read_tokens() != core_->knobs.rail_reads)
    return not_so(fmt::format("{} tokens of reads", core_->rendezvous.read_tokens()));
  if (!core_->registrations->idle()) return not_so("memory of the application is in use by adapters");
  std::size_t retained = 0;
  for (const VirtualChannel* peer : core_->known_peers) retained += peer->retained();
  if (core_->entries.taken() != retained) return not_so(fmt::format("{} entries", core_->entries.taken()));
  if (core_->small_packets.taken() + core_->packets.taken() != receives + retained)
    return not_so(fmt::format("{} small and {} packet buffers, {} of them to receive into",
                              core_->small_packets.taken(), core_->packets.taken(), receives));
  return true;
}

std::string RailChannel::describe() const {
  std::string text;
  for (VirtualChannel* peer : core_->known_peers)
    for (const Subchannel& s : peer->subchannels())
      text +=
          fmt::format("\n  peer {} subchannel {} on rail {} ({}): {}, incarnation {}, {} under way, due {}{}",
                      peer->process(), s.index, s.rail.number(), s.rail.up() ? "up" : "down",
                      subchannel_state_name(s.state), s.incarnation, s.outstanding,
                      s.due == never ? -1 : s.due - core_->now, alternate_text(s));
  return text;
}

RailChannel::Books RailChannel::books(ProcessIndex process) const {
  const VirtualChannel* const peer = core_->find_peer(process);
  if (peer == nullptr) return {};
  return {peer->sent(), peer->under_way(), peer->expected(), peer->told(), peer->lost};
}

void RailChannel::check_invariants() const {
  for (const VirtualChannel* peer : core_->known_peers) peer->check_invariants();
  core_->registrations->check_invariants();
  core_->rendezvous.check_invariants();
  for (const auto& rail : core_->rails) {
    std::int32_t outstanding = 0;
    std::int64_t bytes = 0;
    for (VirtualChannel* peer : core_->known_peers)
      for (const Subchannel& subchannel : peer->subchannels())
        if (&subchannel.rail == rail.get()) {
          outstanding += subchannel.outstanding;
          bytes += subchannel.bytes_queued;
        }
    HAWSER_ASSERT(outstanding == rail->outstanding && bytes == rail->bytes_queued);
  }
}

}  // namespace hawser
