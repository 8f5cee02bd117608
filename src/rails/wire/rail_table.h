// RailTable: what a process tells the others of its rails before it is connected to anybody.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/rdma.h"
#include "base/result.h"

namespace hawser {

inline constexpr int max_rails = 8;  // bits of RailTable::up_at_start

// How a rail is reached. Plain bytes: goes over the wire and into the launcher's exchange as it is.
struct RailAddress {
  rdma::PortAddress port;
  std::uint32_t datagram_queue_pair = 0;
  std::uint8_t device = 0;  // rails with the same number are ports of one adapter
  std::uint8_t device_port = 1;
  // Counts how often the adapter was opened, modulo 256: keys and numbers from before are void.
  std::uint8_t device_generation = 0;
  std::uint8_t address_generation = 0;  // counts the changes of its address since then, modulo 256
  std::int64_t bytes_per_second = 0;

  bool later_than(const RailAddress& other) const {
    const auto ahead = static_cast<std::int8_t>(device_generation - other.device_generation);
    return ahead > 0 ||
           (ahead == 0 && static_cast<std::int8_t>(address_generation - other.address_generation) > 0);
  }
};
static_assert(sizeof(RailAddress) == 72);

struct RailTable {
  std::vector<RailAddress> rails;
  std::uint8_t up_at_start = 0;  // a bit for each

  // Of two addresses of a rail the later one counts.
  void learn(std::size_t rail, const RailAddress& address) {
    if (!rails[rail].later_than(address)) rails[rail] = address;
  }
  bool was_up(std::size_t rail) const { return (up_at_start >> rail & 1) != 0; }

  std::string text() const;  // hexadecimal, runs of zeroes as one letter
  static Result<RailTable> parse(std::string_view text);
};

}  // namespace hawser
