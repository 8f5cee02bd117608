#include "survival/agreement_message.h"

namespace hawser {

namespace {

// kind and stage, flag, context, area, number of failed ranks; then these, acknowledged ones with the top
// bit.
constexpr std::size_t fixed_words = 5;
constexpr std::uint32_t acknowledged_bit = 1u << 31;

}  // namespace

std::vector<std::uint32_t> encode(const AgreementMessage& message) {
  const AgreementValue& value = message.value;
  std::vector<std::uint32_t> words = {
      static_cast<std::uint32_t>(message.kind) | static_cast<std::uint32_t>(message.stage) << 8, value.flag,
      value.context, static_cast<std::uint32_t>(value.area), static_cast<std::uint32_t>(value.failed.size())};
  for (const int rank : value.failed)
    words.push_back(static_cast<std::uint32_t>(rank) |
                    (value.acknowledged.count(rank) != 0 ? acknowledged_bit : 0));
  return words;
}

std::optional<AgreementMessage> decode(std::span<const std::uint32_t> words, int size) {
  if (words.size() < fixed_words || words.size() != fixed_words + words[4]) return std::nullopt;
  const std::uint32_t kind = words[0] & 0xff, stage = words[0] >> 8;
  if (kind > static_cast<std::uint32_t>(AgreementMessage::Kind::decide) ||
      stage > static_cast<std::uint32_t>(AgreementMessage::Stage::decided))
    return std::nullopt;
  AgreementMessage message{static_cast<AgreementMessage::Kind>(kind),
                           static_cast<AgreementMessage::Stage>(stage),
                           {words[1], words[2], static_cast<std::int32_t>(words[3]), {}, {}}};
  for (const std::uint32_t word : words.subspan(fixed_words)) {
    const std::uint32_t rank = word & ~acknowledged_bit;
    if (rank >= static_cast<std::uint32_t>(size)) return std::nullopt;
    message.value.failed.insert(static_cast<int>(rank));
    if ((word & acknowledged_bit) != 0) message.value.acknowledged.insert(static_cast<int>(rank));
  }
  return message;
}

}  // namespace hawser
