#include "tool/adapter_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "access/system_devices.h"

namespace hawser {
namespace {

using Level = Finding::Level;

// As the kernel has them, whether or not a program may use them.
std::vector<std::string> adapters_of_the_kernel() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", error))
    names.push_back(entry.path().filename());
  return names;
}

std::string rate_text(std::int64_t bytes_per_second) {
  return fmt::format("{:.0f} Gb/s", static_cast<double>(bytes_per_second) * 8e-9);
}

std::string kinds_text(std::uint8_t kinds) {
  static constexpr const char* names[rdma::gid_kinds] = {"v2 IPv4", "v2 IPv6", "v2 link-local",
                                                         "v1 IPv4", "v1 IPv6", "v1 link-local"};
  std::string text;
  for (int kind = 0; kind < rdma::gid_kinds; ++kind)
    if ((kinds >> kind & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", names[kind]);
  return text;
}

std::string address_text(const rdma::PortAttributes& port) {
  if (port.address.transport == rdma::Transport::tcp) return "plain Ethernet, over TCP";
  const std::string mtu = fmt::format("MTU {}, ", 128 << port.address.mtu);
  return port.address.link_layer == rdma::LinkLayer::ethernet
             ? mtu + "RoCE, GIDs " + kinds_text(port.address.kinds)
             : mtu + fmt::format("LID {}", port.address.lid);
}

void check_ethernet(const std::string& name, const rdma::PortAttributes& port, Findings& findings) {
  constexpr std::uint8_t routable = 0b011;  // RoCE version 2, not link-local
  if (port.address.kinds == 0) {
    findings.push_back(
        {Level::wrong, name, "is active and has no GID",
         "give its network interface an IP address (`ip addr`, `rdma link`); until then no process "
         "reaches it"});
  } else if ((port.address.kinds & routable) == 0) {
    findings.push_back(
        {Level::note, name,
         fmt::format("has no routable GID of RoCE version 2 (only {})", kinds_text(port.address.kinds)),
         "give its network interface an IP address if hosts are to reach it through routers"});
  }
  if (port.address.mtu < 3)
    findings.push_back(
        {Level::note, name, fmt::format("has an MTU of {} bytes", 128 << port.address.mtu),
         "raise the MTU of its network interface (4200 or more gives 4096) on hosts and switches"});
}

void check_infiniband(const std::string& name, const rdma::PortAttributes& port, const Knobs& knobs,
                      Findings& findings) {
  if (port.address.lid == 0 || port.sm_lid == 0)
    findings.push_back({Level::wrong, name,
                        port.address.lid == 0 ? "is active and has no LID" : "knows of no subnet manager",
                        "start a subnet manager on one host or switch of this subnet (opensm)"});
  const int paths = 1 << port.address.lmc;
  if (paths > 1 && knobs.rail_paths == "1")
    findings.push_back({Level::note, name,
                        fmt::format("has {} LIDs (LMC {}), of which jobs use one", paths, port.address.lmc),
                        "HAWSER_RAIL_PATHS=auto, the default, takes another one where the first is slow"});
}

// What every process of a job makes: memory that adapters reach, queues, a queue pair.
Result<> make_everything(rdma::Device& device, std::uint8_t port) {
  constexpr std::size_t bytes = 4 << 20;
  const auto memory = std::make_unique<std::byte[]>(bytes);
  HAWSER_TRY(device.register_memory(memory.get(), bytes, rdma::Access::remote_read_write));
  auto completions = device.make_completion_queue(256);
  if (!completions) return completions.take_error();
  auto receives = device.make_shared_receive_queue(256);
  if (!receives) return receives.take_error();
  rdma::QueuePairInitAttributes shape;
  shape.completions = completions.value().get();
  shape.receives = receives.value().get();
  shape.port = port;
  HAWSER_TRY(device.make_queue_pair(shape));
  HAWSER_TRY(device.make_datagram_queue_pair(port, 0x48415753));
  return {};
}

void check_port(rdma::Device& device, std::uint8_t number, const Knobs& knobs, Findings& findings) {
  const std::string name = fmt::format("{}/{}", device.attributes().name, number);
  const auto found = device.query_port(number);
  if (!found) {
    findings.push_back({Level::wrong, name, found.error().text, "look at `dmesg` and `ibv_devinfo`"});
    return;
  }
  const rdma::PortAttributes& port = found.value();
  if (!port.active) {
    findings.push_back(
        {Level::wrong, name, "is not active: no job uses this rail",
         "look at the cable, the switch's port and `ibv_devinfo`; with state INIT a subnet manager is "
         "missing"});
    return;
  }
  const std::size_t before = findings.size();
  const bool ethernet = port.address.link_layer == rdma::LinkLayer::ethernet;
  const bool tcp = port.address.transport == rdma::Transport::tcp;
  if (!tcp && ethernet) check_ethernet(name, port, findings);
  if (!tcp && !ethernet) check_infiniband(name, port, knobs, findings);
  if (const auto made = make_everything(device, number); !made)
    findings.push_back(
        {Level::wrong, name, made.error().text, "no process can use this rail until that is mended"});
  const auto wrong = [](const Finding& each) { return each.level == Level::wrong; };
  if (std::none_of(findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(), wrong))
    findings.push_back({Level::right, name,
                        fmt::format("active, {}, {}", rate_text(port.bytes_per_second), address_text(port)),
                        ""});
}

}  // namespace

bool check_adapters(const Knobs& knobs, Findings& findings) {
  rdma::SystemDevices system(knobs.rail_ethernet);
  const auto devices = system.open_devices();
  if (!devices) {
    findings.push_back(
        {Level::wrong, "adapters", devices.error().text, "jobs of several hosts use sockets until then"});
    return false;
  }
  for (const auto& device : devices.value())
    for (std::uint8_t port = 1; port <= device->attributes().ports; ++port)
      check_port(*device, port, knobs, findings);
  if (!devices.value().empty()) return true;
  const std::vector<std::string> known = adapters_of_the_kernel();
  if (known.empty())
    findings.push_back(
        {Level::note, "adapters", "this host has none: jobs of several hosts use sockets", ""});
  else
    findings.push_back(
        {Level::wrong, "adapters",
         fmt::format("the kernel has {} ({}), but libibverbs opens none", known.size(), known.front()),
         "install the provider (Debian: ibverbs-providers), and let users open /dev/infiniband/uverbs*"});
  return false;
}

}  // namespace hawser
