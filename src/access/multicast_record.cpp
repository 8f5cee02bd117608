#include "access/multicast_record.h"

#include <algorithm>
#include <cstring>

namespace hawser::rdma {
namespace {

using namespace mad;

constexpr std::uint64_t member_record = 0x38;
// Of the record.
constexpr std::size_t group_gid = record, port_gid = record + 16;
constexpr Field key{record + 32, 4}, lid{record + 36, 2}, mtu{record + 38, 1}, partition{record + 40, 2},
    level{record + 44, 1}, join_state{record + 48, 1};
// Bits of the component mask. Who joins must give all that making a group takes, and may be the first.
constexpr std::uint64_t with_gids = 1 << 0 | 1 << 1, with_join_state = 1 << 16;
constexpr std::uint64_t with_what_makes_it =
    1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13;  // Q_Key, class, P_Key, level, flow label
constexpr std::uint64_t full_member = 1;
constexpr std::uint16_t default_partition = 0xffff, first_multicast_lid = 0xc000, last_multicast_lid = 0xfffe;

}  // namespace

ManagementDatagram encode(const MembershipQuestion& asked) {
  const std::uint64_t mask = with_gids | with_join_state | (asked.leaves ? 0 : with_what_makes_it);
  ManagementDatagram bytes = question(asked.leaves ? remove : set, member_record, asked.transaction, mask);
  std::memcpy(&bytes[group_gid], asked.group.data(), asked.group.size());
  std::memcpy(&bytes[port_gid], asked.port.data(), asked.port.size());
  put(bytes, join_state, full_member);
  if (asked.leaves) return bytes;
  put(bytes, key, asked.key);
  put(bytes, partition, asked.partition != 0 ? asked.partition : default_partition);
  return bytes;
}

std::optional<MembershipAnswer> decode_membership(std::span<const std::byte> bytes) {
  constexpr std::uint8_t largest_mtu = 5, without_selector = 0x3f;
  if (!is_answer(bytes, member_record)) return std::nullopt;
  MembershipAnswer answer;
  answer.transaction = take(bytes, transaction);
  answer.status = static_cast<std::uint16_t>(take(bytes, status));
  if (answer.status != 0) return answer;
  std::memcpy(answer.group.gid.data(), &bytes[group_gid], answer.group.gid.size());
  answer.group.lid = static_cast<std::uint16_t>(take(bytes, lid));
  answer.group.service_level = static_cast<std::uint8_t>(take(bytes, level) >> 4);
  answer.mtu = take(bytes, mtu) & without_selector;
  if (answer.group.gid[0] != 0xff || answer.group.lid < first_multicast_lid ||
      answer.group.lid > last_multicast_lid || answer.mtu < 1 || answer.mtu > largest_mtu)
    return std::nullopt;
  return answer;
}

}  // namespace hawser::rdma
