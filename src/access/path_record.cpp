#include "access/path_record.h"

namespace hawser::rdma {
namespace {

// The bytes of a datagram, big-endian fields by their places.
struct Field {
  std::size_t at, size;
};
constexpr Field version{0, 1}, management_class{1, 1}, class_version{2, 1}, method{3, 1}, status{4, 2},
    transaction{8, 8}, attribute{16, 2}, component_mask{48, 8};
// Of the record, which begins at byte 56.
constexpr Field destination_lid{56 + 40, 2}, source_lid{56 + 42, 2}, path_count{56 + 49, 1},
    partition{56 + 50, 2}, level{56 + 52, 2}, mtu{56 + 54, 1};
constexpr std::uint64_t administration = 3, administration_version = 2, get = 0x01, get_response = 0x81,
                        path_record = 0x35;
// Bits of the component mask: which fields the query gives.
constexpr std::uint64_t with_lids = 1 << 4 | 1 << 5, with_path_count = 1 << 12, with_partition = 1 << 13;

void put(ManagementDatagram& bytes, Field field, std::uint64_t value) {
  for (std::size_t i = field.size; i-- > 0; value >>= 8) bytes[field.at + i] = static_cast<std::byte>(value);
}

std::uint64_t take(std::span<const std::byte> bytes, Field field) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes.subspan(field.at, field.size))
    value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

}  // namespace

ManagementDatagram encode(const PathQuery& query) {
  ManagementDatagram bytes = {};
  put(bytes, version, 1);
  put(bytes, management_class, administration);
  put(bytes, class_version, administration_version);
  put(bytes, method, get);
  put(bytes, transaction, query.transaction);
  put(bytes, attribute, path_record);
  put(bytes, component_mask, with_lids | with_path_count | (query.partition != 0 ? with_partition : 0));
  put(bytes, destination_lid, query.destination_lid);
  put(bytes, source_lid, query.source_lid);
  put(bytes, path_count, 1);
  put(bytes, partition, query.partition);
  return bytes;
}

std::optional<PathAnswer> decode_path_answer(std::span<const std::byte> bytes) {
  constexpr std::uint8_t largest_mtu = 5, without_selector = 0x3f;
  constexpr std::uint16_t without_membership = 0x7fff;
  if (bytes.size() != sizeof(ManagementDatagram) || take(bytes, version) != 1 ||
      take(bytes, management_class) != administration ||
      take(bytes, class_version) != administration_version || take(bytes, method) != get_response ||
      take(bytes, attribute) != path_record)
    return std::nullopt;
  PathAnswer answer;
  answer.transaction = take(bytes, transaction);
  answer.status = static_cast<std::uint16_t>(take(bytes, status));
  if (answer.status != 0) return answer;
  answer.source_lid = static_cast<std::uint16_t>(take(bytes, source_lid));
  answer.destination_lid = static_cast<std::uint16_t>(take(bytes, destination_lid));
  answer.record.service_level = take(bytes, level) & 15;
  answer.record.mtu = take(bytes, mtu) & without_selector;
  answer.record.partition = static_cast<std::uint16_t>(take(bytes, partition));
  if (answer.record.mtu < 1 || answer.record.mtu > largest_mtu ||
      (answer.record.partition & without_membership) == 0)
    return std::nullopt;
  return answer;
}

}  // namespace hawser::rdma
