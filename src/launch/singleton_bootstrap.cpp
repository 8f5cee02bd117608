#include "launch/singleton_bootstrap.h"

#include "base/failure.h"

namespace hawser {

SingletonBootstrap::SingletonBootstrap(std::string job_id) {
  layout_.job_id = std::move(job_id);
  layout_.node_of_rank = {0};
}

Result<> SingletonBootstrap::put(std::string_view key, std::string_view value) {
  values_.insert_or_assign(std::string(key), std::string(value));
  return {};
}

Result<std::string> SingletonBootstrap::get(int rank, std::string_view key) {
  const auto found = values_.find(key);
  if (rank != 0 || found == values_.end())
    return failure(ErrorKind::other, "rank {} has not published a value for '{}'", rank, key);
  return found->second;
}

}  // namespace hawser
