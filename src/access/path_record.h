// Path records: what the administrator of an InfiniBand subnet says of the way between two ports. A program
// asks with a datagram of 256 bytes to queue pair 1 of the port on which the subnet manager runs
// (SubnAdmGet(PathRecord); InfiniBand architecture 13.4.2, 15.2.1.1 and 15.2.5.16). Here are only its bytes:
// pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "access/management_datagram.h"

namespace hawser::rdma {

struct PathQuery {
  std::uint64_t transaction = 0;
  std::uint16_t source_lid = 0, destination_lid = 0;
  std::uint16_t partition = 0;  // P_Key; 0: any
};

struct PathRecord {
  std::uint8_t service_level = 0;
  std::uint8_t mtu = 0;         // as ibv_mtu; 0: not said
  std::uint16_t partition = 0;  // P_Key; 0: not said
  bool operator==(const PathRecord&) const = default;
};

struct PathAnswer {
  std::uint64_t transaction = 0;
  std::uint16_t status = 0;                           // 0: there is a record
  std::uint16_t source_lid = 0, destination_lid = 0;  // of the record
  PathRecord record;
};

ManagementDatagram encode(const PathQuery& query);
// Nothing: no answer to such a query, or one that makes no sense.
std::optional<PathAnswer> decode_path_answer(std::span<const std::byte> bytes);

}  // namespace hawser::rdma
