// PathSpread: which of the connections between two ports the messages of a peer take. On an even fabric one
// path is free while parts of messages on several paths meet those of others; where routes collide another
// path may be free, and it takes a search to find it; where each path is slower than the port several are
// needed, and several engines where an engine is (V07 4, 7 and 8). Which of these it is, is measured:
//
// - A way is one path, or all. As long as the bytes that a peer's messages move have a port to themselves,
//   each 100 us of them, or each message, is a sample of the way: its rate as part of the port's. While a
//   peer has few samples, those of other peers of the port count too (SpreadHints).
// - How many engines are used is found out first (EngineChoice): while more are tried no path is blamed.
//   Where no message is long enough to tell of paths, shorter ones tell of engines.
// - While another process of the node moves data the same way over the port, its engines are taken: who had
//   two queue pairs beside one would get two thirds of the port. So each uses one, and tries no more.
// - Long messages, which can move to another path under way, leave a path that is slow several times in a row
//   for another one, drawn at random. Who came to it last leaves at once, who was there before is patient: so
//   of two who meet one goes, and who has found a free path is rarely moved. (REPS, arXiv 2407.21625, keeps
//   what did well and draws anew what did not.) All paths are taken where they are clearly better; while one
//   does not do well, one sample in many tries all.
// - Short messages cannot move, so each would pay for a path that was drawn badly. Where one path is slow
//   several times in a row they take all: spread over all, flows that collide lose least. Now and then one
//   path is tried, and kept if it is free.
//
// Connections may be made on demand: wanted() says which are needed for what is planned, and the messages
// move when these are open.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "rails/decision/engine_choice.h"
#include "rails/decision/rate_mean.h"
#include "rails/decision/rising_least.h"
#include "rails/decision/slow_paths.h"

namespace hawser {

enum class Spread : std::uint8_t { one, all };
inline constexpr std::size_t spread_ways = 2;

// What the peers of a port found; before that, what is expected.
class SpreadHints {
 public:
  void add(Spread way, double rate);
  double mean(Spread way) const { return ways_[static_cast<std::size_t>(way)].mean(); }
  // What was reached at best, which is less than the port says where a bus is slower. It takes many samples
  // to believe that, for all paths may be crowded.
  double best() const { return best_; }
  // Another number of engines is used: what was found says nothing.
  void forget() { *this = SpreadHints{engines}; }

  EngineHints engines;

  SpreadHints() = default;

 private:
  explicit SpreadHints(const EngineHints& known) : engines(known) {}

  double best_ = 1;
  std::array<RateMean, spread_ways> ways_ = {RateMean{1, 2}, RateMean{0.4, 2}};
};

// What was done of a peer's bytes on a port.
struct StripeDone {
  std::int64_t bytes = 0;
  std::uint8_t choice = 0;   // as on_posted returned it
  std::int64_t on_port = 0;  // left of the whole process's, both directions
  Nanoseconds not_before = 0;
  Nanoseconds now = 0;  // it was done between these
  int engine = 0;
  bool shared = false;  // as on_posted has it
};

// Connections of a pair of ports, one bit each: path * engines + engine. None beyond is made on demand.
using ConnectionSet = std::uint64_t;

class PathSpread {
 public:
  // Of a pair of ports that has so many paths and engines on each and makes so many bytes per second. `open`:
  // those that need not be asked for. `restless`: RailSettings::restless_paths.
  PathSpread(int paths, int engines, double nominal, std::uint64_t seed,
             ConnectionSet open = ~ConnectionSet{0}, std::uint32_t restless = 0);

  Spread way() const { return course_.way; }
  // The path that `one` takes.
  int path() const { return course_.path; }
  // Engines of each path that messages take.
  int engines() const { return course_.engines; }
  // Whether messages take this connection, if it works.
  bool takes(int path, int engine) const {
    return engine < course_.engines &&
           (course_.way == Spread::all ? !slow_paths_.avoids(path) : path == course_.path);
  }
  // Whether it is slow, so that packets had better go elsewhere, too.
  bool avoids(int path) const { return slow_paths_.avoids(path); }
  bool avoids_any() const { return slow_paths_.avoids_any(); }
  SlowPaths::Course slow_course() const { return slow_paths_.course(); }
  // Whether the next bytes of a message may be better off elsewhere than these.
  bool restless() const { return paths_ > 1 || considers_engines(); }

  // A stripe is about to be posted. `on_port`: bytes queued on the port by the whole process before.
  // `movable`: bytes of the message whose other parts may take another path; 0: none may. `shared`: another
  // process of the node has stripes under way the same way over the port. Returns which choice of a way and a
  // path it belongs to.
  std::uint8_t on_posted(std::int64_t bytes, std::int64_t on_port, Nanoseconds now, std::int64_t movable,
                         bool shared = false);
  // No more is posted while so much of a peer's is under way on one connection. A window's messages cannot be
  // moved again, so while one path is tried in place of all, only so many take it as tell of it.
  std::int64_t most_under_way() const {
    if (way_ == Spread::one || trial_ == 0 || long_) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(2 * seconds_of_piece * nominal_ / course_.engines);
  }
  // After one was posted, and before one is done: messages go the other way, too.
  void on_opposed() { sample_.opposed = true; }
  void on_done(const StripeDone& done, SpreadHints& hints);
  // Something that was too short for a sample reached at most this part of the port over this path.
  void on_short(int path, double rate, Nanoseconds now);
  // How long a small packet took, both ways. Others may have been ahead of it, so short times count.
  void on_packet(Nanoseconds time) { latency_ = rising_least(latency_, time); }

  // The bit of a connection, of so many engines of each path.
  static ConnectionSet connection(int path, int engine, int engines) {
    const int number = path * engines + engine;
    return number < 64 ? ConnectionSet{1} << number : 0;
  }
  // So many engines of the first path are to be open for packets, whatever stripes take.
  void want_for_packets(int engines) { packet_engines_ = engines; }
  // Those that are to be opened.
  ConnectionSet wanted() const { return needed() & ~open_; }
  // One was opened, or is not open any more.
  void on_open(int path, int engine);
  void on_closed(int path, int engine) {
    open_ &= ~connection(path, engine);
    if (path == path_) slow_paths_.give_up();
  }
  // What is wanted cannot be had now.
  void on_refused();

  // What is posted at once should take no longer than that, for it cannot be moved to another path.
  static constexpr double seconds_of_piece = 128e-6;

 private:
  // What messages take.
  struct Course {
    Spread way = Spread::one;
    int path = 0, engines = 1;
    bool operator==(const Course&) const = default;
  };
  ConnectionSet connection(int path, int engine) const { return connection(path, engine, engines_); }
  ConnectionSet connections(Spread way, int path, int engines) const;
  ConnectionSet needed() const;
  bool open(Spread way, int path, int engines) const {
    return (connections(way, path, engines) & ~open_) == 0;
  }
  int engines_of_all() const;
  // Others may be better, and it can be told.
  bool considers_engines() const { return !sharing_ && choice_of_engines_.trying(); }
  bool trying_engines() const;
  int usable_engines() const;
  void move_to(int path);
  void go_to(int path);
  void start_trial();
  void spread_out();
  void keep_to_path();
  void count_sample();
  void rest_longer();
  void leave_path();
  void wander();
  void follow();
  bool engines_shared() const;
  void note_sharing();
  bool unwatched(const StripeDone& stripe);
  bool still_changing(const StripeDone& stripe);
  double value(Spread way, const SpreadHints& hints) const;
  double rate_of(Nanoseconds time) const;
  double shortest_sample(double least) const;
  void note_short(Nanoseconds time, Nanoseconds now, SpreadHints& hints);
  bool count_engines(double rate, SpreadHints& hints);
  void note(double rate, Nanoseconds now, SpreadHints& hints);
  double short_rate_of(Nanoseconds time) const;
  void judge_path(double rate, const SpreadHints& hints);
  void choose_way(const SpreadHints& hints);
  void begin_trial();

  // The sample that is being taken.
  struct Sample {
    std::int64_t queued = 0;
    std::int64_t others = 0;  // of these, such as belong to earlier choices
    std::int64_t early = 0;   // and such as were posted beside those
    struct Done {
      std::int64_t bytes = 0;
      std::int64_t first = 0;  // of these on the first engine
      int stripes = 0;
    } done;
    Nanoseconds begin = 0;
    bool fresh = false;        // nothing was under way at its begin
    bool alone = false;        // on the port, of this process
    bool shared = false;       // with other processes
    bool opposed = false;      // messages went the other way
    bool unwatched = false;    // nobody has looked since its begin, or long before that
    bool another_way = false;  // than that of `others`
  };

  std::uint16_t paths_;
  std::uint16_t engines_;
  double nominal_;
  Nanoseconds latency_ = 0;  // 0: not known
  Random random_;
  EngineChoice choice_of_engines_;
  int packet_engines_ = 1;
  bool sharing_ = false;  // of late, the port
  int unlike_ = 0;        // samples in a row that say otherwise
  int short_ = 0;         // samples in a row that were too short to tell of a path

  std::array<RateMean, spread_ways> ways_ = {RateMean{0, 0}, RateMean{0, 0}};
  Spread way_ = Spread::one;
  int trial_ = 0;            // samples left of the trial of the other way
  std::uint8_t choice_ = 0;  // counts changes of the course
  Course course_;
  int samples_ = 0;  // since the last trial, or since the way changed
  int rest_;         // samples between trials

  int path_ = 0;
  bool settled_ = true;       // it did well here before
  int slow_ = 0;              // samples in a row
  int patience_;              // how many of them are borne
  bool tries_first_ = false;  // at the last trial of one path

  SlowPaths slow_paths_;

  std::uint32_t restless_;
  bool long_ = false;  // the last message is, or was
  ConnectionSet open_;
  // Where it goes, and whether it tries the other way, when the connections for that are open.
  std::optional<int> next_path_;
  bool next_trial_ = false;
  bool wants_all_ = false;

  Sample sample_;
};

}  // namespace hawser
