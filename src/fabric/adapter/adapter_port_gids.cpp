// The addresses of a port.
#include <algorithm>
#include <utility>

#include "fabric/adapter/adapter.h"

namespace hawser::fabric {

void AdapterPort::set_gid(std::size_t index, const GidEntry& entry) {
  auto& directory = adapter_.services().gids;
  const GidEntry before = std::exchange(gids_[index], entry);
  if (!before.empty() && std::find(gids_.begin(), gids_.end(), before) == gids_.end())
    directory.erase(before);
  if (!entry.empty()) directory[entry] = name();
}

bool AdapterPort::change_gid(std::size_t index, const GidEntry& entry) {
  const auto& directory = adapter_.services().gids;
  const auto owner = directory.find(entry);
  if (!entry.empty() && owner != directory.end() && owner->second != name()) return false;
  set_gid(index, entry);
  adapter_.broadcast({.type = AsyncEventType::gid_change, .port = number_});
  return true;
}

const PortName* AdapterPort::owner_of(const AddressVector& path) const {
  if (path.source_gid_index >= gids_.size()) return nullptr;
  const GidEntry& from = gids_[path.source_gid_index];
  const GidEntry to{path.destination_gid, from.type};
  const auto& directory = adapter_.services().gids;
  const auto owner = from.empty() || from.is_ipv4() != to.is_ipv4() ? directory.end() : directory.find(to);
  return owner == directory.end() ? nullptr : &owner->second;
}

bool AdapterPort::answers(const AddressVector& path) const {
  const PortName* const owner = owner_of(path);
  return active_ && owner != nullptr &&
         adapter_.services().network.usable(adapter_.services().network.index(*owner));
}

void AdapterPort::move_gid(std::size_t from, std::size_t to) {
  std::swap(gids_[from], gids_[to]);
  adapter_.broadcast({.type = AsyncEventType::gid_change, .port = number_});
}

}  // namespace hawser::fabric
