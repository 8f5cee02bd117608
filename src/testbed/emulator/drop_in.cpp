// What makes the verbs API a libibverbs.so.1: the platform of a real process, which finds the fabric and its
// host in two variables that `hawser fabric run` sets. Without them there is no device, as on a machine
// without adapters.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/machine.h"
#include "testbed/emulator/client_link.h"

namespace hawser {
namespace emulator {
namespace {

class EmulatorPlatform final : public verbs::Platform {
 public:
  Result<std::vector<verbs::AdapterAttributes>> adapters() override {
    const std::string fabric = variable("HAWSER_FABRIC");
    if (fabric.empty()) return std::vector<verbs::AdapterAttributes>{};
    return list_adapters(fabric, host());
  }
  Result<std::unique_ptr<verbs::Link>> open(std::uint32_t adapter) override {
    return ClientLink::open(variable("HAWSER_FABRIC"), host(), adapter, backoff_, once_per_outage_);
  }
  int identify(int descriptor, std::uint64_t& device, std::uint64_t& inode) override {
    struct stat facts {};
    if (fstat(descriptor, &facts) != 0) return errno;
    device = facts.st_dev;
    inode = facts.st_ino;
    return 0;
  }
  void complain(const std::string& text) override { once_per_outage_.say(text); }

 private:
  PollingBackoff backoff_;
  OncePerOutage once_per_outage_;

  static std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
  }
  static std::string host() {
    const std::string named = variable("HAWSER_FABRIC_HOST");
    return named.empty() ? "n0" : named;
  }
};

}  // namespace
}  // namespace emulator

// The C API hands out devices without a handle to ask for them: this is the one object that stands behind it.
verbs::Platform& verbs::current_platform() {
  static emulator::EmulatorPlatform platform;
  return platform;
}

}  // namespace hawser
