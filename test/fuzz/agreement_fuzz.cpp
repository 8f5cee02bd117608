// Words of other ranks about who has failed, in any order, while ranks fail.
#include <vector>

#include "base/assert.h"
#include "fuzz_input.h"
#include "survival/agreement_message.h"

using namespace hawser;

namespace {

constexpr std::uint32_t most_ranks = 9;

void check_output(Agreement& agreement, int own, int size) {
  for (const auto& [to, message] : agreement.take_output()) {
    HAWSER_ASSERT(to >= 0 && to < size && to != own);
    const auto same = decode(encode(message), size);
    HAWSER_ASSERT(same && same->kind == message.kind && same->stage == message.stage &&
                  same->value.failed == message.value.failed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  fuzz::FuzzInput input(data, bytes);
  const int size = 2 + static_cast<int>(input.value<std::uint8_t>() % most_ranks);
  const int own = input.value<std::uint8_t>() % size;
  Agreement agreement(own, size);
  bool begun = false;
  while (!input.empty()) {
    const auto step = input.value<std::uint8_t>();
    const int other = (own + 1 + step / 4 % (size - 1)) % size;
    const bool decided = agreement.decided();
    const AgreementValue before = agreement.value();
    if (step % 4 == 0) {
      agreement.on_failed(other);
    } else if (step % 4 == 1 && !begun) {
      begun = true;
      agreement.begin({.flag = input.value<std::uint32_t>()}, nullptr);
    } else {
      std::vector<std::uint32_t> words(5 + input.value<std::uint8_t>() % 4);
      for (std::uint32_t& word : words) word = input.value<std::uint8_t>();
      if (input.flag()) words[4] = static_cast<std::uint32_t>(words.size()) - 5;
      if (const auto message = decode(words, size)) agreement.on_message(other, *message);
    }
    HAWSER_ASSERT(!decided || (agreement.decided() && (!begun || agreement.value() == before)));
    check_output(agreement, own, size);
  }
  return 0;
}
