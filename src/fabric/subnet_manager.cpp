#include "fabric/subnet_manager.h"

#include <array>
#include <bit>
#include <cstring>

#include "fabric/topology/subnets.h"

namespace hawser::fabric {
namespace {

// A management datagram with a path record, as the architecture numbers its bytes (13.4.2, 15.2.1.1). Written
// down here apart from the library's encoder, so that the two check each other.
constexpr std::size_t mad_bytes = 256;
constexpr std::uint32_t well_known_key = 0x80010000;
constexpr std::size_t at_method = 3, at_status = 4, at_attribute = 16, at_mask = 48, at_record = 56;
constexpr std::size_t at_dgid = at_record + 8, at_sgid = at_record + 24, at_dlid = at_record + 40,
                      at_slid = at_record + 42, at_paths = at_record + 49, at_key = at_record + 50,
                      at_level = at_record + 52, at_mtu = at_record + 54;
constexpr std::uint8_t get = 0x01, get_response = 0x81;
constexpr std::uint16_t path_record = 0x35;
constexpr std::uint16_t unsupported = 0x000c, no_records = 0x0300, too_few_components = 0x0600;
constexpr std::uint64_t has_dgid = 1 << 2, has_sgid = 1 << 3, has_dlid = 1 << 4, has_slid = 1 << 5,
                        has_key = 1 << 13, has_level = 1 << 15;
constexpr std::uint16_t default_partition = 0xffff;
// The same of a multicast member (15.2.5.17), which begins with the group's GID and the port's.
constexpr std::size_t at_group = at_record, at_mlid = at_record + 36, at_group_mtu = at_record + 38;
constexpr std::uint8_t set = 0x02;
constexpr std::uint16_t member_record = 0x38, invalid_request = 0x0200;
constexpr std::uint64_t makes_groups =
    1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16;
constexpr std::uint8_t exactly = 2 << 6;  // the selector of an MTU

class Mad {
 public:
  std::byte* data() { return bytes_.data(); }
  std::uint64_t number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at + i]);
    return value;
  }
  void put(std::size_t at, std::size_t size, std::uint64_t value) {
    for (std::size_t i = size; i-- > 0; value >>= 8) bytes_[at + i] = static_cast<std::byte>(value);
  }
  Gid gid(std::size_t at) const {
    Gid gid;
    std::memcpy(gid.data(), &bytes_[at], gid.size());
    return gid;
  }
  void put(std::size_t at, const Gid& gid) { std::memcpy(&bytes_[at], gid.data(), gid.size()); }

 private:
  std::array<std::byte, mad_bytes> bytes_ = {};
};

bool read_payload(Adapter& at, const Packet& packet, Mad& mad) {
  const Payload& payload = packet.payload;
  if (packet.length != mad_bytes) return false;
  if (payload.bytes != nullptr) {
    std::memcpy(mad.data(), payload.bytes->data() + payload.bytes_offset, mad_bytes);
  } else if (!at.services().dma.read(payload.space, {payload.pieces.data(), payload.piece_count},
                                     mad.data())) {
    return false;
  }
  if (packet.corrupted) *mad.data() ^= std::byte{0x40};
  return true;
}

struct Ends {
  PortName from, to;
  Lid to_lid = 0;
};

// The ports that a question names; the status of the answer if it names none.
std::uint16_t find_ends(const FabricServices& services, const Mad& mad, Ends& ends) {
  const std::uint64_t mask = mad.number(at_mask, 8);
  const auto owner = [&](std::uint64_t lid, std::uint64_t gid, std::size_t lid_at, std::size_t gid_at) {
    if ((mask & lid) != 0) return services.tables.owner(static_cast<Lid>(mad.number(lid_at, 2)));
    const auto found = (mask & gid) != 0 ? services.gids.find({mad.gid(gid_at)}) : services.gids.end();
    return found == services.gids.end() ? PortName{} : found->second;
  };
  if ((mask & (has_dlid | has_dgid)) == 0 || (mask & (has_slid | has_sgid)) == 0) return too_few_components;
  ends.from = owner(has_slid, has_sgid, at_slid, at_sgid);
  ends.to = owner(has_dlid, has_dgid, at_dlid, at_dgid);
  if (ends.from.node < 0 || ends.to.node < 0) return no_records;
  ends.to_lid = (mask & has_dlid) != 0 ? static_cast<Lid>(mad.number(at_dlid, 2))
                                       : services.tables.address(ends.to).base;
  if ((mask & has_key) != 0 && ((mad.number(at_key, 2) ^ default_partition) & 0x7fff) != 0) return no_records;
  return 0;
}

Gid gid_of(const FabricServices& services, PortName port) {
  for (const auto& [entry, owner] : services.gids)
    if (owner == port) return entry.gid;
  return {};
}

void fill_record(const FabricServices& services, const Ends& ends, std::uint8_t level, Mad& mad) {
  const std::uint64_t mask = mad.number(at_mask, 8);
  mad.put(at_dgid, gid_of(services, ends.to));
  mad.put(at_sgid, gid_of(services, ends.from));
  mad.put(at_dlid, 2, ends.to_lid);
  if ((mask & has_slid) == 0) mad.put(at_slid, 2, services.tables.address(ends.from).base);
  constexpr std::uint8_t one_reversible = 0x81;
  mad.put(at_paths, 1, one_reversible);
  mad.put(at_key, 2, default_partition);
  mad.put(at_level, 2, level);
  mad.put(at_mtu, 1, exactly | static_cast<std::uint64_t>(std::bit_width(services.parameters.mtu) - 8));
}

// The status of the answer, whose record is filled if there is one.
std::uint16_t answer_path(const FabricServices& services, const SubnetManager& manager, Mad& mad) {
  Ends ends;
  const std::uint16_t status = find_ends(services, mad, ends);
  if (status != 0) return status;
  const std::uint8_t level = manager.service_level(ends.from, ends.to_lid);
  if ((mad.number(at_mask, 8) & has_level) != 0 && (mad.number(at_level, 2) & 15) != level) return no_records;
  fill_record(services, ends, level, mad);
  return 0;
}

// Makes the group if it is not there, and says its LID. Switches learn of members when they attach.
std::uint16_t join(const FabricServices& services, Mad& mad) {
  if ((mad.number(at_mask, 8) & makes_groups) != makes_groups) return too_few_components;
  const Gid group = mad.gid(at_group);
  if (group[0] != 0xff) return invalid_request;
  mad.put(at_mlid, 2, multicast_lid(services, group));
  mad.put(at_group_mtu, 1, exactly | static_cast<std::uint64_t>(std::bit_width(services.parameters.mtu) - 8));
  return 0;
}

}  // namespace

// Queue pair 1 of a port, as far as it sends. It is nobody's: no fault that names queue pairs finds it.
class SubnetManager::Sender final : public ContextPort, public CompletionPort {
 public:
  Sender(Adapter& adapter, int port)
      : context_(adapter, 0, *this, 0),
        domain_(context_.create_domain()),
        completions_(context_.create_completion_queue(*this, 0)),
        queue_pair_(adapter, context_, management_qp,
                    {.type = QpType::ud,
                     .domain = domain_,
                     .send_queue = completions_,
                     .receive_queue = completions_,
                     .capabilities = {256, 1, 1, 1, mad_bytes}}) {
    QpAttributes attributes;
    attributes.port = static_cast<std::uint8_t>(port);
    attributes.qkey = well_known_key;
    for (const auto& [state, mask] :
         {std::pair<QpState, std::uint32_t>{QpState::init, mask_pkey_index | mask_port | mask_qkey},
          {QpState::rtr, 0},
          {QpState::rts, mask_sq_psn}}) {
      attributes.state = state;
      const bool changed = queue_pair_.modify(attributes, mask_state | mask).ok();
      HAWSER_ASSERT(changed);
    }
  }

  // Lost if too many wait already.
  void send(const AddressVector& path, std::uint32_t to, Mad& mad) {
    SendRequest request;
    request.opcode = Opcode::send;
    request.flags = send_inline;
    request.inline_data = mad.data();
    request.inline_length = mad_bytes;
    request.path = &path;
    request.remote_qp = to;
    request.remote_qkey = well_known_key;
    (void)queue_pair_.post_send(request);
  }

  void asynchronous_event(const AsyncEvent&) override {}
  bool deliver(const Completion&, const CarriedData&) override { return true; }

 private:
  Context context_;
  ProtectionDomain* domain_;
  CompletionQueue* completions_;
  QueuePair queue_pair_;
};

SubnetManager::SubnetManager(const Topology& topology, const RoutingTables& tables,
                             const Parameters& parameters, const Network& network)
    : tables_(tables), parameters_(parameters), network_(network) {
  const std::vector<int> of_switch = switch_subnets(topology);
  for (const int subnet : of_switch)
    if (subnet >= static_cast<int>(subnets_.size())) subnets_.resize(static_cast<std::size_t>(subnet) + 1);
  for (const auto& node : topology.nodes()) subnet_of_.emplace_back(node.ports.size(), -1);
  const auto place = [this](PortName port) -> int& {
    return subnet_of_[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
  };
  for (const auto& host : topology.hosts())
    for (const std::int32_t adapter : host.adapters)
      for (int p = 1; p <= topology.node(adapter).port_count(); ++p) {
        const PortName port{adapter, p}, peer = topology.port(port).peer;
        if (peer.node < 0) continue;
        int& subnet = place(port);
        subnet = of_switch[static_cast<std::size_t>(peer.node)];
        // A cable between two adapters is a subnet of its own; its other end may be here already.
        if (subnet < 0) subnet = place(peer);
        if (subnet < 0) {
          subnet = static_cast<int>(subnets_.size());
          subnets_.emplace_back();
        }
        subnets_[static_cast<std::size_t>(subnet)].ports.push_back(port);
      }
}

SubnetManager::~SubnetManager() = default;

Lid SubnetManager::lid(PortName port) const {
  const int subnet = subnet_of_[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
  if (subnet < 0) return 0;
  const Subnet& its = subnets_[static_cast<std::size_t>(subnet)];
  return tables_.address(its.ports[its.manager]).base;
}

void SubnetManager::move() {
  for (Subnet& subnet : subnets_) {
    for (std::size_t step = 1; step < subnet.ports.size(); ++step) {
      const std::size_t next = (subnet.manager + step) % subnet.ports.size();
      if (!network_.usable(network_.index(subnet.ports[next]))) continue;
      subnet.manager = next;
      break;
    }
  }
}

void SubnetManager::receive(Adapter& at, const Packet& packet) {
  if (at.dying()) return;
  ++(answer(at, packet) ? answered_ : dropped_);
}

bool SubnetManager::answer(Adapter& at, const Packet& packet) {
  const FabricServices& services = at.services();
  const PortName port = tables_.owner(packet.destination_lid);
  Mad mad;
  if (packet.transport != QpType::ud || packet.qkey != well_known_key || port.node != at.node() ||
      tables_.address(port).base != lid(port) || !read_payload(at, packet, mad))
    return false;
  constexpr std::uint64_t administration = 0x010302;  // version, class and version of the class
  const std::uint64_t method = mad.number(at_method, 1);
  if (mad.number(0, 3) != administration || (method != get && method != set)) return false;
  const auto attribute = static_cast<std::uint16_t>(mad.number(at_attribute, 2));
  std::uint16_t status = unsupported;
  if (method == get && attribute == path_record) status = answer_path(services, *this, mad);
  if (method == set && attribute == member_record) status = join(services, mad);
  mad.put(at_method, 1, get_response);
  mad.put(at_status, 2, status);
  AddressVector path;
  path.destination_lid = packet.source_lid;
  path.source_path_bits = static_cast<std::uint8_t>(packet.destination_lid - lid(port));
  path.service_level = packet.service_level;
  path.port = static_cast<std::uint8_t>(port.port);
  auto& sender = senders_[network_.index(port)];
  if (sender == nullptr) sender = std::make_unique<Sender>(at, port.port);
  sender->send(path, packet.source_qp, mad);
  return true;
}

}  // namespace hawser::fabric
