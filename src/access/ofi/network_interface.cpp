#include "access/ofi/network_interface.h"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/failure.h"

namespace hawser::rdma {

MappedAddress mapped_address(std::uint32_t network_order) {
  MappedAddress mapped{};
  mapped[10] = mapped[11] = 0xff;
  std::memcpy(&mapped[12], &network_order, 4);
  return mapped;
}

std::uint32_t ipv4_of(const MappedAddress& address) {
  if (address[10] != 0xff || address[11] != 0xff ||
      std::any_of(address.begin(), address.begin() + 10, [](std::uint8_t byte) { return byte != 0; }))
    return 0;
  std::uint32_t network_order = 0;
  std::memcpy(&network_order, &address[12], 4);
  return network_order;
}

std::vector<InterfaceAttributes> network_interfaces(const std::string& name) {
  std::vector<InterfaceAttributes> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (!name.empty() && name != each->ifa_name) continue;
    auto at = std::find_if(found.begin(), found.end(),
                           [&](const InterfaceAttributes& known) { return known.name == each->ifa_name; });
    if (at == found.end()) {
      InterfaceAttributes& made = found.emplace_back();
      made.name = each->ifa_name;
      made.running = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_RUNNING) != 0;
      made.loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
      at = found.end() - 1;
    }
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || at->address != 0) continue;
    sockaddr_in address;
    std::memcpy(&address, each->ifa_addr, sizeof(address));
    at->address = address.sin_addr.s_addr;
  }
  freeifaddrs(list);
  return found;
}

Result<std::vector<InterfaceAttributes>> listed_interfaces(const std::string& list) {
  std::vector<InterfaceAttributes> wanted;
  if (list == "all") {
    for (InterfaceAttributes& each : network_interfaces())
      if (each.running && !each.loopback && each.address != 0) wanted.push_back(std::move(each));
    return wanted;
  }
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    auto found = network_interfaces(name.empty() ? "," : name);  // no interface has such a name
    if (found.empty() || found.front().address == 0) {
      std::string there;
      for (const InterfaceAttributes& each : network_interfaces())
        if (each.address != 0) there += (there.empty() ? "" : ", ") + each.name;
      return failure(ErrorKind::invalid_argument, "the interface '{}' {}; must be all, or some of {}", name,
                     found.empty() ? "does not exist here" : "has no IPv4 address", there);
    }
    wanted.push_back(std::move(found.front()));
  }
  return wanted;
}

std::int64_t interface_rate(const std::string& name) {
  constexpr std::int64_t bytes_per_megabit = 125'000;
  std::int64_t megabits = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> megabits;  // -1 where the driver has none
  return (megabits > 0 ? megabits : 1000) * bytes_per_megabit;
}

Result<InterfaceWatch> InterfaceWatch::make() {
  InterfaceWatch watch;
  watch.socket_ = FileDescriptor(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR;
  if (!watch.socket_.valid() ||
      bind(watch.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failure(ErrorKind::other, "watching the network interfaces failed: {}", std::strerror(errno));
  return watch;
}

bool InterfaceWatch::take() {
  bool any = false;
  std::array<char, 4096> message;
  for (;;) {
    const auto got = recv(socket_.get(), message.data(), message.size(), MSG_TRUNC);
    if (got > 0 || (got < 0 && errno == ENOBUFS)) {  // some were lost: something changed
      any = true;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    return any;
  }
}

}  // namespace hawser::rdma
