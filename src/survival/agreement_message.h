// The bytes of an AgreementMessage. What comes from another process is checked.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "survival/agreement.h"

namespace hawser {

std::vector<std::uint32_t> encode(const AgreementMessage& message);
// Empty: not a message among `size` ranks.
std::optional<AgreementMessage> decode(std::span<const std::uint32_t> words, int size);

}  // namespace hawser
