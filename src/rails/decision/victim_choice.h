// Which connections a process closes when it has more than it may: a table of policies, as for scheduling.
// Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace hawser {

// A peer that this process is connected with.
struct VictimView {
  Nanoseconds used = 0;          // when something was last under way with it, about
  std::uint32_t tear_downs = 0;  // how often its connections were closed
  bool busy = false;             // something is under way, or was a moment ago
};

class VictimPolicy {
 public:
  virtual ~VictimPolicy() = default;
  // The place of the one to close; -1: none, for all are busy.
  virtual int choose(std::span<const VictimView> peers) const = 0;
};

// Of a value of the knob `connection_victims`.
std::unique_ptr<VictimPolicy> make_victim_policy(std::string_view name);

// The knob `connections`; 0: no limit.
Result<std::int32_t> parse_connections(std::string_view text);

}  // namespace hawser
