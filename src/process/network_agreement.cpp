#include "process/network_agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "mpi/failure.h"

namespace hawser {
namespace {

constexpr std::string_view offer_key = "rails", agreed_key = "rails-of-all";
constexpr char first_digit = '0', last_digit = '7';

// Numbers with a slash between them; false: there are not so many, or something else is there.
bool read_numbers(std::string_view text, std::span<std::int64_t> numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t& number : numbers) {
    if (&number != numbers.data() && (at == end || *at++ != '/')) return false;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || number < 0) return false;
    at = read.ptr;
  }
  return at == end;
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
  return exchange.put(offer_key, fmt::format("{}{}/{}/{}/{}/{}", static_cast<char>(first_digit + offer.bits),
                                             offer.rates.together, offer.rates.one, offer.rates.packet,
                                             offer.table, offer.area_bytes));
}

// What all offer: the bits of each, a space, the least rates and the smallest areas.
Result<> NetworkAgreement::collect(AddressExchange& exchange, std::int32_t rank, std::int32_t size) {
  if (rank != 0) return {};
  std::string all;
  LinkRates least{INT64_MAX, INT64_MAX, INT64_MAX};
  std::int64_t table_of_all = 0, least_area = NetworkOffer::alone_on_node;
  for (std::int32_t each = 0; each < size; ++each) {
    auto offered = exchange.get(each, offer_key);
    if (!offered) return offered.take_error();
    const std::string_view text = offered.value();
    std::array<std::int64_t, 5> numbers{};
    if (!read_numbers(text.substr(std::min<std::size_t>(text.size(), 1)), numbers))
      return failure(ErrorClass::other, "the launcher returned a malformed network of process {}", each);
    const auto [together, one, packet, table, area_bytes] = numbers;
    if (each == 0) table_of_all = table;
    if (table != table_of_all)
      return failure(
          ErrorClass::arg,
          "HAWSER_COLLECTIVE_TABLE: process {} reads another table than process 0; give all the same", each);
    all += text.front();
    least = {std::min(least.together, together), std::min(least.one, one),
             packet > 0 ? std::min(least.packet, packet) : least.packet};
    least_area = std::min(least_area, area_bytes);
  }
  return exchange.put(
      agreed_key, fmt::format("{} {}/{}/{}/{}", all, least.together, least.one, least.packet, least_area));
}

Result<> NetworkAgreement::learn(AddressExchange& exchange, std::int32_t size) {
  auto agreed = exchange.get(0, agreed_key);
  if (!agreed) return agreed.take_error();
  const std::string_view text = agreed.value();
  const std::string_view all = text.substr(0, text.find(' '));
  if (all.size() != static_cast<std::size_t>(size))
    return failure(ErrorClass::other, "the launcher returned {} processes' networks instead of {}",
                   all.size(), size);
  std::array<std::int64_t, 4> numbers{};
  if (!read_numbers(text.substr(std::min(text.size(), all.size() + 1)), numbers))
    return failure(ErrorClass::other, "the launcher returned a malformed list of networks");
  rates_ = {numbers[0], numbers[1], numbers[2]};
  area_bytes_ = numbers[3];
  for (const char digit : all) {
    if (digit < first_digit || digit > last_digit)
      return failure(ErrorClass::other, "the launcher returned a malformed list of networks");
    bits_.push_back(static_cast<std::uint8_t>(digit - first_digit));
  }
  return {};
}

}  // namespace hawser
