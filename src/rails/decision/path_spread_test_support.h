// A peer's messages, for tests of PathSpread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "rails/decision/path_spread.h"

namespace hawser::path_spread_test {

inline constexpr double port = 1e9;
inline constexpr std::int64_t message = 128'000;       // takes a free path 128 us
inline constexpr std::int64_t of_long = 10 * message;  // each is a piece of one that is so long

// A peer's messages one after the other, each alone on its port.
class Sender {
 public:
  using Rate = std::function<double(const PathSpread&)>;  // of the port's

  Sender(int paths, int engines, SpreadHints& hints, std::uint64_t seed = 1)
      : spread(paths, engines, port, seed), hints_(hints) {}

  double send(const Rate& rate, std::int64_t bytes = message) {
    const double share = rate(spread);
    // Each engine has a part, and all are done together.
    const int engines = spread.way() == Spread::one ? spread.engines() : 1;
    const std::int64_t part = bytes / engines;
    std::uint8_t choice = 0;
    for (int i = 0; i < engines; ++i) choice = spread.on_posted(part, i * part, now_, movable, shared);
    now_ += static_cast<Nanoseconds>(static_cast<double>(bytes) / share);
    for (int i = 0; i < engines; ++i)
      spread.on_done({part, choice, (engines - 1 - i) * part, now_, now_, i, shared}, hints_);
    ++sent[static_cast<std::size_t>(spread.way())];
    return share;
  }
  void send(int count, const Rate& rate) {
    for (int i = 0; i < count; ++i) send(rate);
  }

  PathSpread spread;
  std::int64_t movable = of_long;
  bool shared = false;                     // the port, with another process
  std::array<int, spread_ways> sent = {};  // by the way chosen after each

 private:
  SpreadHints& hints_;
  Nanoseconds now_ = 0;
};

// Only the connection of path 0 is open.
inline Sender on_demand(int paths, int engines, SpreadHints& hints) {
  Sender sender(paths, engines, hints);
  sender.spread = PathSpread(paths, engines, port, 1, 1);
  return sender;
}

}  // namespace hawser::path_spread_test
