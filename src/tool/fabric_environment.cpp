#include "tool/fabric_environment.h"

#include <cstdlib>
#include <filesystem>

#include "base/failure.h"
#include "tool/fabric_client.h"

namespace hawser {
namespace {

// Where the drop-in is: beside us in a build tree, or where an installation has its libraries.
std::filesystem::path drop_in_folder() {
  const auto root = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const char* place : {"lib/verbs", "lib/x86_64-linux-gnu/verbs", "lib64/verbs"}) {
    if (std::filesystem::exists(root / place / "libibverbs.so.1")) return root / place;
  }
  return {};
}

// `path` before what the variable lists already; once is enough.
std::string prepended(const char* variable, const std::string& path) {
  const char* const value = std::getenv(variable);
  const std::string before = value == nullptr ? "" : value;
  if (before.empty() || before == path || before.starts_with(path + ":"))
    return before.empty() ? path : before;
  return path + ":" + before;
}

}  // namespace

Result<FabricVariables> fabric_environment(const std::string& fabric, const std::string& host) {
  auto adapters = command_fabric(fabric, "host " + host);
  if (!adapters) return adapters.take_error();
  const auto folder = drop_in_folder();
  if (folder.empty())
    return failure(ErrorClass::no_such_file,
                   "the drop-in libibverbs.so.1 is not where it was built or installed");
  return FabricVariables{
      {"HAWSER_FABRIC", fabric},
      {"HAWSER_FABRIC_HOST", host},
      {"HAWSER_FABRIC_ADAPTERS", adapters.value()},
      {"LD_LIBRARY_PATH", prepended("LD_LIBRARY_PATH", folder.string())},
      {"LD_PRELOAD", prepended("LD_PRELOAD", (folder / "libhawser-paths.so").string())},
  };
}

}  // namespace hawser
