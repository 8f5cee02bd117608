#include "tool/fabric_environment.h"

#include <cstdlib>
#include <filesystem>

#include "base/failure.h"
#include "os/child_process.h"

namespace hawser {
namespace {

// Where the drop-in is: beside us in a build tree, or where an installation has its libraries.
std::filesystem::path drop_in_folder() {
  const auto own = program_folder();
  if (!own) return {};
  const auto root = std::filesystem::path(own.value()).parent_path();
  for (const char* place : {"lib/verbs", "lib/x86_64-linux-gnu/verbs", "lib64/verbs"}) {
    if (std::filesystem::exists(root / place / "libibverbs.so.1")) return root / place;
  }
  return {};
}

}  // namespace

Result<std::vector<FabricVariable>> fabric_variables(const std::string& fabric) {
  const auto folder = drop_in_folder();
  if (folder.empty())
    return failure(ErrorKind::not_found,
                   "cannot find Hawser's libibverbs.so.1, neither in the build tree nor in the installation");
  return std::vector<FabricVariable>{
      {"HAWSER_FABRIC", fabric},
      {"LD_LIBRARY_PATH", folder.string(), true},
      {"LD_PRELOAD", (folder / "libhawser-paths.so").string(), true},
  };
}

std::vector<FabricVariable> host_variables(const std::string& host, const std::string& adapters) {
  return {{"HAWSER_FABRIC_HOST", host}, {"HAWSER_FABRIC_ADAPTERS", adapters}};
}

void set_variable(const FabricVariable& variable) {
  const char* const value = std::getenv(variable.name.c_str());
  const std::string before = value == nullptr || !variable.in_front ? "" : value;
  const std::string& own = variable.value;
  if (before == own || before.starts_with(own + ":")) return;  // once is enough
  setenv(variable.name.c_str(), (before.empty() ? own : own + ":" + before).c_str(), 1);
}

}  // namespace hawser
