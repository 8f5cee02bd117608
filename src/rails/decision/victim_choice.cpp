#include "rails/decision/victim_choice.h"

#include <charconv>
#include <tuple>

#include "base/assert.h"
#include "base/failure.h"
#include "base/planted_bug.h"

namespace hawser {
namespace {

// The first in the order of the keys, of those that are not busy.
template <class Key>
int first_idle(std::span<const VictimView> peers, Key&& key) {
  int chosen = -1;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (peers[i].busy && !planted(PlantedBug::busy_victim)) continue;
    if (chosen < 0 || key(peers[i]) < key(peers[static_cast<std::size_t>(chosen)]))
      chosen = static_cast<int>(i);
  }
  return chosen;
}

class LeastRecentlyUsed final : public VictimPolicy {
 public:
  int choose(std::span<const VictimView> peers) const override {
    return first_idle(peers, [](const VictimView& view) { return view.used; });
  }
};

// V11: a queue for each number of tear-downs, in which the one used longest ago is last.
class LeastTornDown final : public VictimPolicy {
 public:
  int choose(std::span<const VictimView> peers) const override {
    return first_idle(peers, [](const VictimView& view) { return std::pair(view.tear_downs, view.used); });
  }
};

struct Row {
  std::string_view name;
  std::unique_ptr<VictimPolicy> (*make)();
};
constexpr Row table[] = {
    {"lru", []() -> std::unique_ptr<VictimPolicy> { return std::make_unique<LeastRecentlyUsed>(); }},
    {"lru_m", []() -> std::unique_ptr<VictimPolicy> { return std::make_unique<LeastTornDown>(); }},
};

}  // namespace

std::unique_ptr<VictimPolicy> make_victim_policy(std::string_view name) {
  for (const Row& row : table)
    if (row.name == name) return row.make();
  HAWSER_UNREACHABLE();  // the knob has no other value
}

Result<std::int32_t> parse_connections(std::string_view text) {
  if (text == "auto") return 0;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0) return number;
  return failure(ErrorKind::other,
                 "HAWSER_CONNECTIONS={}: must be auto or a number of queue pairs, from 1 on", text);
}

}  // namespace hawser
