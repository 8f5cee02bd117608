#include "base/cross_core_copy.h"

#include <algorithm>

#include "base/ticks.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace hawser {

int CheaperWay::next() {
  if (recorded_ < warm_up) return begun_++ % 2;
  const int other = 1 - way_;
  const bool looks_worse = cost_[way_] > cost_[other] && since_trial_ >= shortest_wait;
  if (since_trial_ < wait_ && !looks_worse) return way_;
  since_trial_ = 0;
  return other;
}

void CheaperWay::record(int way, float cost) {
  if (recorded_ < warm_up) {
    cost_[way] = cost_[way] == 0 ? cost : std::min(cost_[way], cost);
    if (recorded_ + 1 < warm_up || cost_[1 - way] > 0) ++recorded_;
    if (recorded_ == warm_up) way_ = cost_[0] < cost_[1] ? 0 : 1;
    return;
  }
  if (way != way_) {
    record_trial(cost);
    return;
  }
  if (since_trial_ < longest_wait) ++since_trial_;
  // Once in a while somebody else has the core meanwhile: that counts for little.
  cost_[way] += (std::min(cost, 4 * cost_[way]) - cost_[way]) / 8;
}

void CheaperWay::record_trial(float cost) {
  const int other = 1 - way_;
  since_trial_ = 0;
  cost_[other] = cost;
  if (cost < cost_[way_]) {
    way_ = static_cast<std::uint8_t>(other);
    wait_ = shortest_wait;
  } else {
    wait_ = static_cast<std::uint16_t>(std::min<int>(2 * wait_, longest_wait));
  }
}

#ifdef __SSE2__

namespace {

constexpr std::size_t line = 64;
constexpr int past_caches = 1;  // of the two ways
// The way past the caches is dearer than it looks, for whoever reads pays, too.
constexpr float weight_of_middle = 1.5F;

// `to` is on a cache line, and `bytes` whole ones: each is written at once.
void store_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += line) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
}

// Whole lines past the caches, and what is left behind them. `to` is on a cache line. A fence must follow.
void store_lines_and_rest(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t whole = bytes / line * line;
  store_past_caches(to, from, whole);
  std::memcpy(to + whole, from + whole, bytes - whole);
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  std::memcpy(to, from, head);
  store_lines_and_rest(to + head, from + head, bytes - head);
  _mm_sfence();
}

void copy(int way, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (way == past_caches) {
    copy_past_caches(to, from, bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Through a place that stays in the cache closest to this core. `to` is on a cache line.
void write_past_caches(std::byte* to, std::size_t bytes, CrossCoreCopy::Write write) {
  constexpr std::size_t part = 4 << 10;
  alignas(line) std::byte near[part];
  for (std::size_t at = 0; at < bytes; at += part) {
    const std::size_t some = std::min(part, bytes - at);
    write(near, at, some);
    store_lines_and_rest(to + at, near, some);
  }
  _mm_sfence();
}

}  // namespace

void CrossCoreCopy::copy_much(std::byte* to, const std::byte* from, std::size_t bytes) {
  // Whoever reads pays, too, for what is in no cache; of little data the more.
  if (bytes >= large) {
    copy_timed(large_pieces_, 1.5F, to, from, bytes);
    return;
  }
  CheaperWay& ways = bytes >= middle ? middle_pieces_ : small_pieces_;
  if (count_++ % 8 == 0) {
    copy_timed(ways, bytes >= middle ? weight_of_middle : 2.5F, to, from, bytes);
  } else {
    hawser::copy(ways.current(), to, from, bytes);
  }
}

void CrossCoreCopy::write_much(std::byte* to, std::size_t bytes, Write write) {
  const bool timed = count_++ % 16 == 0;
  const int way = timed ? written_pieces_.next() : written_pieces_.current();
  const std::uint64_t begin = timed ? ticks() : 0;
  if (way == past_caches)
    write_past_caches(to, bytes, write);
  else
    write(to, 0, bytes);
  if (!timed) return;
  _mm_mfence();
  const float cost = static_cast<float>(ticks() - begin + 1) / static_cast<float>(bytes);
  written_pieces_.record(way, way == past_caches ? weight_of_middle * cost : cost);
}

// `weight` makes the way past the caches dearer.
void CrossCoreCopy::copy_timed(CheaperWay& ways, float weight, std::byte* to, const std::byte* from,
                               std::size_t bytes) {
  const int way = ways.next();
  const std::uint64_t begin = ticks();
  hawser::copy(way, to, from, bytes);
  _mm_mfence();  // stores that still wait for their lines count
  const float cost = static_cast<float>(ticks() - begin + 1) / static_cast<float>(bytes);
  cost_ = cost_ == 0 ? cost : cost_ + (std::min(cost, 4 * cost_) - cost_) / 8;
  ways.record(way, way == past_caches ? weight * cost : cost);
}

#else

void CrossCoreCopy::copy_much(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void CrossCoreCopy::write_much(std::byte* to, std::size_t bytes, Write write) { write(to, 0, bytes); }

#endif

}  // namespace hawser
