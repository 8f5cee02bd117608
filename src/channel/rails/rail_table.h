// RailTable: what a process tells the others of its rails before it is connected to anybody.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/rdma.h"
#include "base/result.h"

namespace hawser {

struct RailAddress {
  rdma::PortAddress port;
  std::uint32_t datagram_queue_pair = 0;
  std::uint16_t device = 0;  // rails with the same number are ports of one adapter
  std::uint8_t device_port = 1;
  std::uint8_t reserved = 0;
  std::int64_t bytes_per_second = 0;
};
static_assert(sizeof(RailAddress) == 40, "goes into the launcher's exchange as it is");

struct RailTable {
  std::vector<RailAddress> rails;

  std::string text() const;  // hexadecimal
  static Result<RailTable> parse(std::string_view text);
};

}  // namespace hawser
