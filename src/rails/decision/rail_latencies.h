// RailLatencies: how long the smallest packet takes to a peer and back over each pair of rails while nothing
// else of this process is under way there.
//
// Nothing that a program sends tells it of a rail that the program's messages do not take. So now and then a
// packet that carries nothing goes over each idle rail: first after some packets to the peer, for most peers
// are never sent so many; then after twice as many each time, and not within a second, for a network seldom
// changes its routes. The least of the last few times counts: whatever else is on the way makes some of them
// long, and none short.
//
// A rail alone has nothing to be compared with, but which collective algorithm is best depends on how far it
// is. There the first small packets of the program are timed, and one now and then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hawser {

class RailLatencies {
 public:
  // One pair of rails more.
  void add_rail() {
    rails_.emplace_back();
    next_look_ = packets_ + first_look;
  }
  std::size_t rails() const { return rails_.size(); }

  // A packet to the peer is done.
  void count_done() { ++packets_; }
  // After that, whether begin_look() is wanted.
  bool wants_look() const { return packets_ >= next_look_; }
  // True: rails that lack it are to be timed now, as far as they are idle. False for a rail alone: what goes
  // over it anyway tells as much.
  bool begin_look(Nanoseconds now);
  bool lacks(std::size_t rail) const { return rails_[rail].lacking > 0; }
  // A packet goes there.
  void on_posted(std::size_t rail);
  // A packet took between these; what came beside it may have delayed it by so much. False: its time is not
  // known well enough to tell anything.
  bool on_done(std::size_t rail, Nanoseconds least, Nanoseconds most, Nanoseconds delayed = 0);
  // It was connected anew, perhaps another way.
  void forget(std::size_t rail);

  // There and back; 0: not known.
  Nanoseconds round_trip(std::size_t rail) const;
  // Over the nearest; 0: some are not known.
  Nanoseconds least_round_trip() const;
  // How much longer one way is than over the nearest rail; 0: nearly alike, or not known.
  Nanoseconds farther(std::size_t rail) const { return rails_[rail].farther; }
  // Whether some rail is farther than another one; how much, of these the nearest.
  bool differ() const { return differ_; }
  Nanoseconds least_detour() const { return least_detour_; }

 private:
  static constexpr std::uint8_t telling_samples = 3;
  struct Rail {
    std::array<Nanoseconds, telling_samples> times = {};   // the last ones
    std::array<Nanoseconds, telling_samples> leasts = {};  // of these, without what may have delayed them
    std::uint32_t samples = 0;                             // all of them
    std::uint8_t lacking = telling_samples;                // samples that are wanted now
    std::uint8_t tries = 0;                                // since some were wanted
    Nanoseconds farther = 0;
  };
  void end_series(Nanoseconds now);
  void compare();

  std::vector<Rail> rails_;
  std::int64_t packets_ = 0;
  std::int64_t next_look_ = INT64_MAX;
  Nanoseconds not_before_ = 0;
  std::int32_t looks_ = 0;  // since samples are wanted
  bool differ_ = false;
  Nanoseconds least_detour_ = never;

  // Packets.
  static constexpr std::int64_t first_look = 64, most_between_series = 65536;
};

}  // namespace hawser
