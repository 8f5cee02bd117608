// Which network the processes of a job use between their nodes: agreed once at the start, from what each has.
// Process 0 reads what all have and tells all, so that each reads two values however large the job is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/rdma.h"
#include "base/knobs.h"
#include "channel/channel_set.h"
#include "channel/exchange.h"
#include "channel/transport.h"

namespace hawser {

// What a process has, as bits.
enum NetworkBits : std::uint8_t { no_rails = 0, infiniband_rails = 1, roce_rails = 2, tcp_rails = 4 };

struct NetworkOffer {
  std::uint8_t bits = no_rails;
  LinkRates rates;
  std::uint32_t table = 0;  // checksum of its table of collective algorithms; all must have the same
  // Of the areas that it shares with the processes of its node; 0: it has none.
  std::int64_t area_bytes = alone_on_node;
  static constexpr std::int64_t alone_on_node = INT64_MAX;
};

// The devices of this process as the others shall know them: `auto` counts ports that are active now, `rails`
// all that there are, `socket` none.
std::uint8_t network_bits(const std::vector<std::unique_ptr<rdma::Device>>& devices,
                          std::string_view network);

class NetworkAgreement {
 public:
  // Three steps with a fence of the whole job after each of the first two.
  Result<> offer(AddressExchange& exchange, const NetworkOffer& offer);
  Result<> collect(AddressExchange& exchange, std::int32_t rank, std::int32_t size);
  Result<> learn(AddressExchange& exchange, std::int32_t size);

  // Whether these two talk over rails: they have some of one kind. The same at both.
  bool rails_between(ProcessIndex one, ProcessIndex other) const {
    return (bits_[static_cast<std::size_t>(one)] & bits_[static_cast<std::size_t>(other)]) != 0;
  }

  // The least of all processes' rails. Rates are 0 if a process has no rails; of packets only those that have
  // rails count.
  const LinkRates& link_rates() const { return rates_; }
  // The smallest of all; 0 if somebody who is not alone on its node has none.
  std::int64_t area_bytes() const { return area_bytes_; }

 private:
  std::vector<std::uint8_t> bits_;  // by process
  LinkRates rates_;
  std::int64_t area_bytes_ = 0;
};

}  // namespace hawser
