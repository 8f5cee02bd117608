#include "testbed/emulator/virtual_paths.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hawser::emulator {
namespace {

// The kernel's number of the first user verbs device (its major number is 231).
constexpr unsigned first_minor = 192;

VirtualPath directory() { return {.kind = VirtualKind::directory}; }

VirtualPath text(const char* content) {
  VirtualPath path{.kind = VirtualKind::text};
  std::snprintf(path.content, sizeof path.content, "%s\n", content);
  return path;
}

// What follows `prefix` in `path`, or null.
const char* after(const char* path, const char* prefix) {
  const std::size_t length = std::strlen(prefix);
  return std::strncmp(path, prefix, length) == 0 ? path + length : nullptr;
}

// Reads a decimal number below `limit`; null when there is none.
const char* read_number(const char* from, unsigned limit, unsigned& number) {
  if (*from < '0' || *from > '9') return nullptr;
  char* end = nullptr;
  const unsigned long value = std::strtoul(from, &end, 10);
  number = static_cast<unsigned>(value);
  return value < limit ? end : nullptr;
}

bool is(const char* path, const char* name) { return std::strcmp(path, name) == 0; }

VirtualPath device(const char* rest, unsigned adapters) {
  if (is(rest, "")) return directory();
  unsigned index = 0;
  const char* const name = after(rest, "/uverbs");
  const char* const end = name != nullptr ? read_number(name, adapters, index) : nullptr;
  if (end == nullptr || *end != 0) return {};
  return {.kind = VirtualKind::device, .minor = first_minor + index};
}

// /sys/class/infiniband/hw0...
VirtualPath adapter(const char* rest, unsigned adapters) {
  if (is(rest, "")) return directory();
  unsigned index = 0;
  const char* const name = after(rest, "/hw");
  const char* const end = name != nullptr ? read_number(name, adapters, index) : nullptr;
  if (end == nullptr) return {};
  if (is(end, "") || is(end, "/device") || is(end, "/ports") || is(end, "/ports/1")) return directory();
  if (is(end, "/node_type")) return text("1: CA");
  if (is(end, "/device/vendor")) return text("0x02c9");
  if (is(end, "/device/device")) return text("0x1003");
  if (is(end, "/device/numa_node")) return text("-1");
  return {};
}

// /sys/class/infiniband_verbs/uverbs0...
VirtualPath verbs_class(const char* rest, unsigned adapters) {
  if (is(rest, "")) return directory();
  if (is(rest, "/abi_version")) return text("6");
  unsigned index = 0;
  const char* const name = after(rest, "/uverbs");
  const char* const end = name != nullptr ? read_number(name, adapters, index) : nullptr;
  if (end == nullptr) return {};
  if (is(end, "")) return directory();
  char line[32];
  if (is(end, "/ibdev")) {
    std::snprintf(line, sizeof line, "hw%u", index);
    return text(line);
  }
  if (is(end, "/dev")) {
    std::snprintf(line, sizeof line, "231:%u", first_minor + index);
    return text(line);
  }
  return is(end, "/abi_version") ? text("1") : VirtualPath{};
}

}  // namespace

VirtualPath look_up_virtual_path(const char* path, unsigned adapters) {
  if (path == nullptr || adapters == 0) return {};
  if (const char* const rest = after(path, "/dev/infiniband")) return device(rest, adapters);
  if (const char* const rest = after(path, "/sys/class/infiniband_verbs")) return verbs_class(rest, adapters);
  if (const char* const rest = after(path, "/sys/class/infiniband")) return adapter(rest, adapters);
  return {};
}

}  // namespace hawser::emulator
