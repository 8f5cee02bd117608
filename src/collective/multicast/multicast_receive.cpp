#include "collective/multicast/multicast_receive.h"

#include <algorithm>
#include <cstring>

namespace hawser {

void MulticastReceive::place(const MulticastHeader& header, std::span<const std::byte> packet) {
  if (header.total != bytes) differs = true;
  const auto size = static_cast<std::int64_t>(packet.size());
  const std::int64_t wanted = std::clamp<std::int64_t>(bytes - header.offset, 0, size);
  if (wanted > 0) std::memcpy(into + header.offset, packet.data(), static_cast<std::size_t>(wanted));
  arrived += size;
  begun = true;
  flags |= header.flags;
  if (arrived == header.total) done = true;
  if (header.offset != in_order) return ahead.push_back({header.offset, header.offset + size});
  in_order += size;
  for (bool found = true; found && !ahead.empty();)
    found = std::erase_if(ahead, [this](const Piece& piece) {
              const bool next = piece.begin == in_order;
              if (next) in_order = piece.end;
              return next;
            }) > 0;
}

}  // namespace hawser
