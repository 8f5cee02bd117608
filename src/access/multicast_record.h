// Multicast members: how a port of an InfiniBand subnet joins a group, and leaves it. A program asks the
// subnet's administrator (SubnAdmSet(MCMemberRecord); InfiniBand architecture 15.2.5.17), who makes the group
// if it is not there, tells the switches, and answers with the group's LID. Here are only the bytes: pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "access/management_datagram.h"
#include "access/rdma.h"

namespace hawser::rdma {

struct MembershipQuestion {
  std::uint64_t transaction = 0;
  Gid group = {};
  Gid port = {};
  std::uint32_t key = 0;        // Q_Key, the same of all members
  std::uint16_t partition = 0;  // P_Key; 0: the default one
  bool leaves = false;
};

struct MembershipAnswer {
  std::uint64_t transaction = 0;
  std::uint16_t status = 0;  // 0: the port is a member
  MulticastGroup group;
  std::uint8_t mtu = 0;  // as ibv_mtu
};

ManagementDatagram encode(const MembershipQuestion& question);
// Nothing: no answer to such a question, or one that makes no sense.
std::optional<MembershipAnswer> decode_membership(std::span<const std::byte> bytes);

}  // namespace hawser::rdma
