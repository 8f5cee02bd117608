#include "access/path_record.h"

namespace hawser::rdma {
namespace {

using namespace mad;

// Of the record.
constexpr Field destination_lid{record + 40, 2}, source_lid{record + 42, 2}, path_count{record + 49, 1},
    partition{record + 50, 2}, level{record + 52, 2}, mtu{record + 54, 1};
constexpr std::uint64_t path_record = 0x35;
// Bits of the component mask.
constexpr std::uint64_t with_lids = 1 << 4 | 1 << 5, with_path_count = 1 << 12, with_partition = 1 << 13;

}  // namespace

ManagementDatagram encode(const PathQuery& query) {
  ManagementDatagram bytes =
      question(get, path_record, query.transaction,
               with_lids | with_path_count | (query.partition != 0 ? with_partition : 0));
  put(bytes, destination_lid, query.destination_lid);
  put(bytes, source_lid, query.source_lid);
  put(bytes, path_count, 1);
  put(bytes, partition, query.partition);
  return bytes;
}

std::optional<PathAnswer> decode_path_answer(std::span<const std::byte> bytes) {
  constexpr std::uint8_t largest_mtu = 5, without_selector = 0x3f;
  constexpr std::uint16_t without_membership = 0x7fff;
  if (!is_answer(bytes, path_record)) return std::nullopt;
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
