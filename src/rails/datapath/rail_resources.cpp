#include "rails/datapath/rail_resources.h"

#include <algorithm>
#include <bit>

#include "base/failure.h"
#include "rails/decision/path_records.h"

namespace hawser {
namespace {

constexpr std::size_t small_packet_bytes = 256;

// Over slow ports a message of 8 KiB or more is sooner there in pieces over several rails, though its
// receiver has to ask for it (doc/rails.md has times).
constexpr std::int64_t fast_port = 4'000'000'000;
constexpr std::size_t slow_packet_bytes = 8192;

std::size_t buffer_size(const Knobs& knobs, std::int64_t fastest) {
  if (fastest >= fast_port) return longest_packet(knobs);
  const auto most = static_cast<std::size_t>(knobs.rail_packet);
  return std::max(most / 2, std::min(most, slow_packet_bytes));
}

struct FoundPort {
  std::uint16_t device;
  std::uint8_t port;
  bool active;
  std::int64_t bytes_per_second;
};

// Also those that are down: they may come up. Where there are more than can be used, such that are up.
std::vector<FoundPort> find_ports(const std::vector<std::unique_ptr<rdma::Device>>& devices) {
  std::vector<FoundPort> found;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    for (int port = 1; port <= devices[d]->attributes().ports; ++port) {
      auto attributes = devices[d]->query_port(static_cast<std::uint8_t>(port));
      if (attributes)
        found.push_back({static_cast<std::uint16_t>(d), static_cast<std::uint8_t>(port),
                         attributes.value().active, attributes.value().bytes_per_second});
    }
  }
  for (auto last = found.end(); last != found.begin() && found.size() > max_rails;)
    if (!(--last)->active) last = found.erase(last);
  if (found.size() > max_rails) found.resize(max_rails);
  return found;
}

// All other processes may send to this one at once. 2 MiB in large jobs.
std::uint32_t datagram_receives(ProcessIndex job_size) {
  constexpr std::uint32_t most = 1024;
  return std::clamp(std::bit_ceil(static_cast<std::uint32_t>(job_size)), rdma::least_datagram_receives, most);
}

}  // namespace

std::uint32_t datagram_key(const RailContext& context) {
  std::uint32_t key = 2166136261u;
  for (const char c : context.settings.job_id) key = (key ^ static_cast<unsigned char>(c)) * 16777619u;
  return key & 0x7FFFFFFF;  // the high bit would mean a privileged one
}

RailResources::RailResources(const Knobs& knobs)
    : small_packets(small_packet_bytes, 128),
      packets(buffer_size(knobs, 0), 32),
      packet_bytes_(packets.buffer_bytes()) {}

Result<> RailResources::open(const RailContext& context, rdma::DeviceSource& source) {
  const Knobs& knobs = context.knobs;
  if (knobs.network != "socket") {
    auto opened = source.open_devices();
    if (!opened) return opened.take_error();
    devices = std::move(opened).value();
  }
  std::vector<rdma::Device*> all;
  inline_bytes = most_inline_bytes;
  list_segments = rdma::longest_list;
  auto partition = parse_partition(knobs.rail_partition);
  if (!partition) return partition.take_error();
  for (const auto& device : devices) {
    device->use_partition(partition.value());
    all.push_back(device.get());
    inline_bytes = std::min(inline_bytes, device->attributes().inline_bytes);
    list_segments = std::min(list_segments, device->attributes().segments);
    if (knobs.checksum && device->attributes().outstanding_reads == 0)
      return failure(ErrorKind::other,
                     "HAWSER_CHECKSUM is on, but {} cannot read remote memory, and only reads are checked",
                     device->attributes().name);
  }
  RegistrationSettings registration;
  // Nobody tells what goes away: nothing may be kept.
  registration.most_bytes = context.settings.memory_watch != nullptr ? knobs.registration_cache : 0;
  registration.most_regions = knobs.registration_entries;
  registrations = std::make_unique<RegistrationCache>(all, context.settings.memory_watch, registration);
  small_packets.set_devices(all, registrations.get(), &dead_devices);
  packets.set_devices(all, registrations.get(), &dead_devices);
  HAWSER_TRY(open_rails(context));
  return reserve_packets();
}

Result<> RailResources::open_rails(const RailContext& context) {
  const std::vector<FoundPort> ports = find_ports(devices);
  std::int64_t fastest = 0;
  for (const FoundPort& each : ports) fastest = std::max(fastest, each.bytes_per_second);
  packets.set_buffer_bytes(buffer_size(context.knobs, fastest));
  for (const FoundPort& each : ports) {
    RailShape shape;
    shape.number = static_cast<std::uint16_t>(rails.size());
    shape.device_number = each.device;
    shape.port = each.port;
    shape.most_receives = static_cast<std::int32_t>(context.knobs.rail_receives);
    shape.datagram_key = datagram_key(context);
    shape.datagram_receives = datagram_receives(context.settings.job_size);
    shape.packet_bytes = static_cast<std::uint32_t>(packets.buffer_bytes());
    shape.flow = &context.port_flow;
    auto rail = Rail::open(*devices[each.device], shape, packets);
    if (!rail) return rail.take_error();
    rails.push_back(std::move(rail).value());
    table.rails.push_back(rails.back()->address());
    table.up_at_start |= static_cast<std::uint8_t>(each.active << shape.number);
  }
  return {};
}

// What not even small messages go without: later it would be too late to tell.
Result<> RailResources::reserve_packets() {
  if (rails.empty()) return {};
  const std::size_t buffers = PacketPool::kept_to_send + rails.size() * PacketPool::kept_to_receive;
  Result<> reserved = packets.reserve(buffers);
  if (reserved) reserved = small_packets.reserve(1);
  if (reserved) return {};
  return failure(ErrorKind::other, "no memory for {} packets of {} bytes (HAWSER_RAIL_PACKET): {}", buffers,
                 packets.buffer_bytes(), reserved.error().text);
}

RemoteBytes RailResources::reachable(const Registration& bytes) const {
  RemoteBytes found;
  found.address = reinterpret_cast<std::uintptr_t>(bytes.address());
  for (const auto& rail : rails)
    if (bytes.usable(rail->device_number())) {
      found.keys[rail->number()] = bytes.remote_key(rail->device_number());
      found.device_generations[rail->number()] = rail->address().device_generation;
    }
  return found;
}

}  // namespace hawser
