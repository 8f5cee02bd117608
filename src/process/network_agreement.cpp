#include "process/network_agreement.h"

#include "mpi/failure.h"

namespace hawser {
namespace {

constexpr std::string_view offer_key = "rails", agreed_key = "rails-of-all";
constexpr char first_digit = '0', last_digit = '7';

}  // namespace

std::uint8_t network_bits(const std::vector<std::unique_ptr<rdma::Device>>& devices,
                          std::string_view network) {
  unsigned bits = no_rails;
  if (network == "socket") return no_rails;
  for (const auto& device : devices)
    for (std::uint8_t port = 1; port <= device->attributes().ports; ++port) {
      const auto attributes = device->query_port(port);
      if (!attributes || (network == "auto" && !attributes.value().active)) continue;
      const rdma::PortAddress& address = attributes.value().address;
      bits |= address.transport == rdma::Transport::tcp         ? tcp_rails
              : address.link_layer == rdma::LinkLayer::ethernet ? roce_rails
                                                                : infiniband_rails;
    }
  return static_cast<std::uint8_t>(bits);
}

Result<> NetworkAgreement::offer(AddressExchange& exchange, std::uint8_t bits) {
  return exchange.put(offer_key, std::string(1, static_cast<char>(first_digit + bits)));
}

Result<> NetworkAgreement::collect(AddressExchange& exchange, std::int32_t rank, std::int32_t size) {
  if (rank != 0) return {};
  std::string all;
  for (std::int32_t each = 0; each < size; ++each) {
    auto offered = exchange.get(each, offer_key);
    if (!offered) return offered.take_error();
    all += offered.value();
  }
  return exchange.put(agreed_key, all);
}

Result<> NetworkAgreement::learn(AddressExchange& exchange, std::int32_t size) {
  auto all = exchange.get(0, agreed_key);
  if (!all) return all.take_error();
  if (all.value().size() != static_cast<std::size_t>(size))
    return failure(ErrorClass::other, "the launcher returned {} processes' networks instead of {}",
                   all.value().size(), size);
  for (const char digit : all.value()) {
    if (digit < first_digit || digit > last_digit)
      return failure(ErrorClass::other, "the launcher returned a malformed list of networks");
    bits_.push_back(static_cast<std::uint8_t>(digit - first_digit));
  }
  return {};
}

}  // namespace hawser
