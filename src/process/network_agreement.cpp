#include "process/network_agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "mpi/failure.h"

namespace hawser {
namespace {

constexpr std::string_view offer_key = "rails", agreed_key = "rails-of-all";
constexpr char first_digit = '0', last_digit = '7';

// Two numbers with a slash between them.
std::optional<LinkRates> rates_of(std::string_view text) {
  LinkRates rates;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, rates.together);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, rates.one);
  if (second.ec != std::errc() || second.ptr != end || rates.together < 0 || rates.one < 0)
    return std::nullopt;
  return rates;
}

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

Result<> NetworkAgreement::offer(AddressExchange& exchange, const NetworkOffer& offer) {
  return exchange.put(offer_key, fmt::format("{}{}/{}", static_cast<char>(first_digit + offer.bits),
                                             offer.rates.together, offer.rates.one));
}

// What all offer: the bits of each, a space, and the least rates.
Result<> NetworkAgreement::collect(AddressExchange& exchange, std::int32_t rank, std::int32_t size) {
  if (rank != 0) return {};
  std::string all;
  LinkRates least{INT64_MAX, INT64_MAX};
  for (std::int32_t each = 0; each < size; ++each) {
    auto offered = exchange.get(each, offer_key);
    if (!offered) return offered.take_error();
    const std::string_view text = offered.value();
    const auto rates = rates_of(text.substr(std::min<std::size_t>(text.size(), 1)));
    if (!rates)
      return failure(ErrorClass::other, "the launcher returned a malformed network of process {}", each);
    all += text.front();
    least = {std::min(least.together, rates->together), std::min(least.one, rates->one)};
  }
  return exchange.put(agreed_key, fmt::format("{} {}/{}", all, least.together, least.one));
}

Result<> NetworkAgreement::learn(AddressExchange& exchange, std::int32_t size) {
  auto agreed = exchange.get(0, agreed_key);
  if (!agreed) return agreed.take_error();
  const std::string_view text = agreed.value();
  const std::string_view all = text.substr(0, text.find(' '));
  if (all.size() != static_cast<std::size_t>(size))
    return failure(ErrorClass::other, "the launcher returned {} processes' networks instead of {}",
                   all.size(), size);
  const auto rates = rates_of(text.substr(std::min(text.size(), all.size() + 1)));
  if (!rates) return failure(ErrorClass::other, "the launcher returned a malformed list of networks");
  rates_ = *rates;
  for (const char digit : all) {
    if (digit < first_digit || digit > last_digit)
      return failure(ErrorClass::other, "the launcher returned a malformed list of networks");
    bits_.push_back(static_cast<std::uint8_t>(digit - first_digit));
  }
  return {};
}

}  // namespace hawser
