#include "fabric/adapter/xrc_domains.h"

#include <cerrno>

namespace hawser::fabric {

Outcome XrcDomains::open(const std::optional<File>& file, bool create, bool exclusive,
                         std::uint32_t* number) {
  if (file) {
    const auto known = by_file_.find(*file);
    if (known != by_file_.end()) {
      if (create && exclusive) return {EINVAL, "the file has an XRC domain already"};
      *number = known->second;
      ++domains_[*number].openers;
      return {};
    }
    if (!create) return {ENOENT, "the file has no XRC domain"};
  }
  *number = next_++;
  domains_[*number] = {file, 1};
  if (file) by_file_[*file] = *number;
  return {};
}

void XrcDomains::close(std::uint32_t number) {
  const auto domain = domains_.find(number);
  if (domain == domains_.end() || --domain->second.openers > 0) return;
  if (domain->second.file) by_file_.erase(*domain->second.file);
  domains_.erase(domain);
}

}  // namespace hawser::fabric
