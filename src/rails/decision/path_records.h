// PathRecords: what is known of the path records of this process's ports (access/path_record.h), what is
// being asked, and for how long. A pure machine: it is given answers and `now`, and says what to ask. Rails
// are only numbers here.
//
//   unknown --find--> queued --next_question--> asked --answer--> known | none
//                                                |  ^
//                                                +--+ repeated, a few times
//
// The first to need a record waits for it. Nobody waits for long: when a query and its repeats stay without
// answer, and nothing else is heard from this port's administrator either, the port is silent. Then nobody
// waits any more, and the knobs' defaults serve; now and then whoever needs a record asks all the same. Any
// answer ends the silence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "access/path_record.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace hawser {

// Value of the knob rail_service_level.
struct ServiceLevelChoice {
  enum class Kind : std::uint8_t { automatic, ask, fixed };
  Kind kind = Kind::automatic;
  std::uint8_t level = 0;  // fixed; else that of paths without record
};
Result<ServiceLevelChoice> parse_service_level(std::string_view text);
// Value of the knob rail_partition; 0: default.
Result<std::uint16_t> parse_partition(std::string_view text);

// A way through a subnet, from a rail's port.
struct PathEnds {
  std::uint16_t rail = 0;
  std::uint16_t source_lid = 0, destination_lid = 0;
  auto operator<=>(const PathEnds&) const = default;
};

class PathRecords {
 public:
  // A query is repeated after these times, and given up at the end of the last: 300 ms in all.
  static constexpr Nanoseconds pauses[] = {20 * millisecond, 40 * millisecond, 80 * millisecond,
                                           160 * millisecond};
  // Of one rail: an administrator serves many processes, and drops what its buffers do not hold.
  static constexpr std::size_t most_asked = 16;
  static constexpr Nanoseconds first_silence = second, longest_silence = 64 * second;

  // The generator outlives this.
  PathRecords(std::size_t rails, Random& random) : ports_(rails), random_(random) {}

  struct Lookup {
    bool settled = false;  // else: ask again when something was settled
    std::optional<rdma::PathRecord> record;
  };
  Lookup find(const PathEnds& ends, Nanoseconds now);

  struct Question {
    PathEnds ends;
    std::uint64_t transaction = 0;
  };
  // What is to be asked now; call it until there is nothing.
  std::optional<Question> next_question(Nanoseconds now);
  enum class Answer : std::uint8_t { taken, late, malformed };
  // Late: nobody asked this, or not any more. Malformed: the answer to a question, of another path.
  Answer on_answer(std::uint16_t rail, const rdma::PathAnswer& answer, Nanoseconds now);
  // The rail's port has no administrator that it could ask.
  void on_not_offered(std::uint16_t rail);
  // The subnet manager may have changed something: what is known of this rail is void.
  void forget(std::uint16_t rail);
  // Gives up what was asked for too long. True: something was settled, perhaps by a rail that is silent now.
  bool progress(Nanoseconds now);
  Nanoseconds deadline() const;  // when progress or next_question has something to do
  bool silent(std::uint16_t rail) const { return ports_[rail].silent; }

 private:
  enum class State : std::uint8_t {
    queued,
    asked,
    known,
    none,  // the administrator says so
  };
  struct Entry {
    State state = State::queued;
    bool waited_for = true;  // else settled meanwhile, without record
    std::uint64_t transaction = 0;
    std::size_t sent = 0;
    Nanoseconds first = 0;  // sent
    Nanoseconds due = 0;
    rdma::PathRecord record;
  };
  struct Port {
    std::size_t asked = 0;
    bool offered = true;
    bool silent = false;
    Nanoseconds heard = -1;
    Nanoseconds ask_again = 0;  // silent: not before
    Nanoseconds silence = first_silence;
  };
  using Entries = std::map<PathEnds, Entry>;
  void be_silent(std::uint16_t rail, Nanoseconds now);
  void remove_unsettled(std::uint16_t rail);

  std::vector<Port> ports_;
  Random& random_;
  Entries entries_;
  std::deque<PathEnds> queue_;   // queued ones, and some that were settled since
  std::vector<PathEnds> asked_;  // at most most_asked of each rail
};

}  // namespace hawser
