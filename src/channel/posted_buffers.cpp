#include "channel/posted_buffers.h"

#include <cstring>

namespace hawser {
namespace {

// PostedBuffer::state: the phase, who claimed it, and in the upper bits which use of the place it is, so that
// a claim of an earlier use fails.
enum class Phase : std::uint64_t { free, posted, claimed, finished };
constexpr int expose_shift = 2;
constexpr int life_shift = 34;

std::uint64_t state_of(Phase phase, std::uint64_t life, std::uint32_t expose = 0) {
  return life << life_shift | std::uint64_t{expose} << expose_shift | static_cast<std::uint64_t>(phase);
}
Phase phase_of(std::uint64_t state) { return static_cast<Phase>(state & 3); }

using HeaderWords = std::array<std::uint64_t, 3>;
HeaderWords words_of(const TransportHeader& header) {
  static_assert(sizeof(HeaderWords) == sizeof(TransportHeader));
  HeaderWords words;
  std::memcpy(words.data(), &header, sizeof(words));
  return words;
}

bool takes(const PostedBuffer& buffer, const HeaderWords& header) {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (((buffer.header[i].load(std::memory_order_relaxed) ^ header[i]) &
         buffer.mask[i].load(std::memory_order_relaxed)) != 0)
      return false;
  return true;
}

}  // namespace

int PostedBuffers::show(std::int32_t source, std::uint32_t transfer, const TransportHeader& header,
                        const TransportHeader& mask, const ByteSequence& into) {
  for (int place = 0; place < ProcessBlock::posted_count; ++place) {
    PostedBuffer& buffer = own(place);
    if (phase_of(buffer.state.load(std::memory_order_relaxed)) != Phase::free) continue;
    begin_change();
    buffer.order.store(++order_, std::memory_order_relaxed);
    buffer.source.store(source, std::memory_order_relaxed);
    buffer.transfer.store(transfer, std::memory_order_relaxed);
    buffer.address.store(reinterpret_cast<std::uint64_t>(into.data), std::memory_order_relaxed);
    buffer.size.store(into.size, std::memory_order_relaxed);
    const HeaderWords wanted = words_of(header), bits = words_of(mask);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      buffer.header[i].store(wanted[i], std::memory_order_relaxed);
      buffer.mask[i].store(bits[i], std::memory_order_relaxed);
    }
    Use& use = uses_[static_cast<std::size_t>(place)];
    use.transfer = transfer;
    const std::uint64_t life = ++use.life;
    buffer.state.store(state_of(Phase::posted, life), std::memory_order_release);
    end_change();
    return place;
  }
  return -1;
}

PostedBuffers::Met PostedBuffers::meet(int place, std::uint32_t expose, RingReceiver& ring) {
  const std::uint64_t life = uses_[static_cast<std::size_t>(place)].life;
  begin_change();
  ring.tell_looked_at(true);
  const std::uint64_t former =
      own(place).state.exchange(state_of(Phase::free, life), std::memory_order_acq_rel);
  end_change();
  if (former == state_of(Phase::posted, life)) return Met::unclaimed;
  if (former == state_of(Phase::claimed, life, expose)) return Met::claimed;
  if (former == state_of(Phase::finished, life, expose)) return Met::finished;
  return Met::by_another;
}

bool PostedBuffers::withdraw(int place) {
  const std::uint64_t life = uses_[static_cast<std::size_t>(place)].life;
  std::uint64_t expected = state_of(Phase::posted, life);
  return own(place).state.compare_exchange_strong(expected, state_of(Phase::free, life),
                                                  std::memory_order_acq_rel);
}

void PostedBuffers::take_away(int place) {
  own(place).state.store(state_of(Phase::free, uses_[static_cast<std::size_t>(place)].life),
                         std::memory_order_release);
}

std::optional<PostedBuffers::Found> PostedBuffers::find(std::int32_t owner,
                                                        const TransportHeader& header) const {
  const ProcessBlock& block = segment_.block(owner);
  const std::uint64_t version = block.posted_version.load(std::memory_order_acquire);
  const HeaderWords words = words_of(header);
  if (version % 2 != 0) return std::nullopt;
  std::optional<Found> found;
  std::uint64_t first = 0;
  for (int place = 0; place < ProcessBlock::posted_count; ++place) {
    const PostedBuffer& buffer = block.posted[place];
    const std::uint64_t state = buffer.state.load(std::memory_order_acquire);
    if (phase_of(state) != Phase::posted || buffer.source.load(std::memory_order_relaxed) != self_ ||
        !takes(buffer, words))
      continue;
    const std::uint64_t order = buffer.order.load(std::memory_order_relaxed);
    if (found.has_value() && order > first) continue;
    first = order;
    found = Found{owner,
                  place,
                  state,
                  buffer.transfer.load(std::memory_order_relaxed),
                  buffer.address.load(std::memory_order_relaxed),
                  buffer.size.load(std::memory_order_relaxed),
                  version};
  }
  // What was read of a buffer is whole if its state is still the same at the claim.
  return found;
}

bool PostedBuffers::unchanged(const Found& found) const {
  return segment_.block(found.owner).posted_version.load(std::memory_order_relaxed) == found.version;
}

bool PostedBuffers::claim(Found& found, std::uint32_t expose) const {
  std::uint64_t expected = found.state;
  const std::uint64_t claimed = state_of(Phase::claimed, found.state >> life_shift, expose);
  if (!segment_.block(found.owner)
           .posted[found.place]
           .state.compare_exchange_strong(expected, claimed, std::memory_order_acq_rel))
    return false;
  found.state = claimed;
  return true;
}

bool PostedBuffers::finish(const Found& found) const {
  std::uint64_t expected = found.state;
  const std::uint64_t finished =
      (found.state & ~std::uint64_t{3}) | static_cast<std::uint64_t>(Phase::finished);
  return segment_.block(found.owner)
      .posted[found.place]
      .state.compare_exchange_strong(expected, finished, std::memory_order_acq_rel);
}

}  // namespace hawser
