// PacketEngines: how many engines the packets of a peer use. Small messages that wait for each other may wait
// for an engine that is slower than its port (engine_choice.h). Whether more are faster is tried, and judged
// as it is for stripes:
//
// - While packets have to wait, what is done from the first until none is under way, or of two windows, is a
//   sample: its rate as part of the ports that took some. All rails of a peer are judged together, for
//   packets choose among them, too: another engine changes how much each of them gets.
// - Small packets wait for the processor, longer ones for the engine. So each class of sizes has a choice of
//   its own, and begins with what a smaller class found. Which one holds follows from the mean of the last
//   sample.
// - Packets that overtake each other wait at the receiver, so an engine that brings nothing costs something.
//   Who has several and is not clearly faster than fewer ever were tries these again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "rails/decision/engine_choice.h"

namespace hawser {

// By the mean of their bytes.
inline constexpr std::size_t packet_classes = 3;
using PacketHints = std::array<EngineHints, packet_classes>;
// More engines have to bring a tenth more, and what windows of packets bring rarely fills a port. An engine
// is as slow each time, others on a link or a bus are not.
inline PacketHints packet_hints() {
  constexpr double enough = 0.8;
  return {EngineHints(enough, true), EngineHints(enough, true), EngineHints(enough, true)};
}

// Of a peer's packets, on all rails.
struct PacketLoad {
  std::int64_t under_way = 0;  // bytes
  std::int64_t delivered = 0;  // bytes, of all times
  bool alone = true;           // nothing else is under way on these ports
};

class PacketEngines {
 public:
  // `restless`: RailSettings::restless_paths.
  explicit PacketEngines(int engines, std::uint32_t restless = 0, std::uint64_t seed = 0);

  // How many packets use; how many are to be open on each rail.
  int used() const { return used_; }
  int wanted() const;
  // So many are open on all rails now.
  void on_open(int engines);
  // What is wanted cannot be had now.
  void on_refused();

  bool measuring() const { return run_.has_value(); }
  // A packet is to wait for others to the same peer.
  void begin() { run_ = Run{}; }
  // A packet goes to this rail, or is on its way.
  void on_chosen(int rail, bool alone);
  // One is done. True: a sample may begin or end, which wants to know the load.
  bool count_done(bool none_beside) {
    const int packets = run_->packets++;
    return packets == 0 || none_beside || packets >= longest_run;
  }
  // Rails that were chosen, a bit each.
  std::uint64_t rails() const { return run_->rails; }
  struct Done {
    PacketLoad load;
    Nanoseconds now = 0, not_before = 0;  // the last one was done between these
    double ports = 0;                     // bytes per second of all rails that were chosen
  };
  // True: packets use another number from now on, or another one is wanted.
  bool on_done(const Done& done, PacketHints& hints);
  // What is under way was lost.
  void drop() { run_.reset(); }

 private:
  static constexpr int longest_run = 128;  // packets
  struct Run {
    std::uint64_t rails = 0;
    int packets = 0;  // that were done; the first one only says that data move
    bool alone = true;
    Nanoseconds begin = 0;
    std::int64_t delivered = 0;
  };
  bool tells(const Run& run, const Done& done) const;
  bool follow(bool under_way);
  void enter(std::size_t found, PacketHints& hints);

  std::uint32_t restless_;
  Random random_;
  std::array<EngineChoice, packet_classes> choices_;
  std::size_t class_ = 0;
  int open_ = 1, used_ = 1;
  bool mixed_ = false;  // what is under way was posted with another number
  std::optional<Run> run_;
};

}  // namespace hawser
