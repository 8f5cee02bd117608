// A window of this process's memory as the others name it, in the words of a WindowToken: where it lies, and
// a key for each rail of the owner with the number of times that its adapter was opened then. An origin needs
// nothing else of the owner before its first put; only when an adapter was opened again since, it asks for
// the keys of now.
#pragma once

#include <cstdint>
#include <optional>

#include "channel/remote_memory.h"
#include "rails/wire/packet.h"

namespace hawser {

struct WindowAddress {
  TransferName name;  // of the window at its owner; 16 bits of the generation count
  std::int64_t size = 0;
  RemoteBytes bytes;
};

inline constexpr std::int64_t largest_window = (std::int64_t{1} << 48) - 1;

WindowToken token_of(const WindowAddress& window);
// Nothing: these words are no token of a rail channel's, or were damaged.
std::optional<WindowAddress> read_token(const WindowToken& token);

}  // namespace hawser
