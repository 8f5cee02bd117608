#include "mpi_t/tool_events.h"

#include <algorithm>

#include "mpi_t/tool_source.h"

namespace hawser {

namespace {

enum Type { path_failed, path_recovered, partition, rejoined };

constexpr ToolEventType event_types[] = {
    {"rail_path_failed", "A path to a peer is not used any more, because of a fault."},
    {"rail_path_recovered", "A path to a peer is used again after a fault."},
    {"rail_partition", "No path to a peer works; its messages wait."},
    {"rail_rejoined", "A path to a peer works again after a partition."},
};

constexpr ToolEventElement event_elements[] = {
    {ToolType::integer, offsetof(ToolEventData, peer), sizeof(ToolEventData::peer)},
    {ToolType::integer, offsetof(ToolEventData, row), sizeof(ToolEventData::row)},
    {ToolType::integer, offsetof(ToolEventData, reason), sizeof(ToolEventData::reason)},
    {ToolType::count, offsetof(ToolEventData, value), sizeof(ToolEventData::value)},
};

// Which of our events the rails' is, if any.
std::optional<int> type_of(const EventRecord& facts) {
  switch (static_cast<PathEvent>(facts.event)) {
    case PathEvent::partitioned:
      return partition;
    case PathEvent::rejoined:
      return rejoined;
    case PathEvent::condition_changed:
      // From `stopping` on a path is no more used; it goes through more conditions until it is ready again.
      if (facts.value == static_cast<std::int64_t>(PathCondition::stopping) &&
          facts.reason != static_cast<std::uint8_t>(PathReason::torn_down))
        return path_failed;
      if (facts.value == static_cast<std::int64_t>(PathCondition::ready) &&
          facts.reason == static_cast<std::uint8_t>(PathReason::recovery))
        return path_recovered;
      return {};
    case PathEvent::fence_sent:
    case PathEvent::fence_answered:
    case PathEvent::reissued:
    case PathEvent::attempt:
    case PathEvent::migrated:
    case PathEvent::alternate_loaded:
    case PathEvent::peer_lost:
    case PathEvent::port_changed:
    case PathEvent::no_path_records:
    case PathEvent::no_partition:
    case PathEvent::blamed:
      return {};
  }
  return {};
}

}  // namespace

std::span<const ToolEventType> ToolEvents::types() { return event_types; }
std::span<const ToolEventElement> ToolEvents::elements() { return event_elements; }

const ToolEnum& ToolEvents::element_names() {
  static constexpr std::string_view names[] = {"peer", "row", "reason", "value"};
  static constexpr ToolEnum items{"elements of rail events", names};
  return items;
}

std::optional<int> ToolEvents::index_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(event_types); ++i)
    if (event_types[i].name == name) return static_cast<int>(i);
  return {};
}

ToolRegistration& ToolEvents::add(int event, const RailStatus* status) {
  if (!listening() && status != nullptr) next_ = status->events();
  registrations_.push_back(std::make_unique<ToolRegistration>());
  registrations_.back()->event = event;
  return *registrations_.back();
}

ToolRegistration* ToolEvents::find(const void* registration) const {
  for (const auto& known : registrations_)
    if (known.get() == registration && !known->freed) return known.get();
  return nullptr;
}

void ToolEvents::remove(ToolRegistration& registration) {
  registration.freed = true;
  if (!delivering_) forget_freed();
}

void ToolEvents::forget_freed() {
  std::erase_if(registrations_, [](const auto& known) { return known->freed; });
}

void ToolEvents::deliver(ToolSource& process, const RailStatus& status) {
  if (delivering_) return;  // a callback called MPI
  delivering_ = true;
  const std::uint64_t oldest = status.events() > recent_events ? status.events() - recent_events : 0;
  if (next_ < oldest) tell_dropped(process, oldest - next_);
  for (next_ = std::max(next_, oldest); next_ < status.events(); ++next_) {
    const std::optional<EventRecord> facts = status.recent(next_);
    if (!facts) break;
    const std::optional<int> type = type_of(*facts);
    if (!type) continue;
    ToolEventInstance instance{*type, facts->time, {facts->peer, facts->row, facts->reason, 0, facts->value}};
    tell(process, instance);
  }
  delivering_ = false;
  forget_freed();
}

void ToolEvents::tell(ToolSource& process, ToolEventInstance& instance) {
  // By index: callbacks may add registrations.
  for (std::size_t i = 0; i < registrations_.size(); ++i) {
    ToolRegistration& registration = *registrations_[i];
    if (registration.event != instance.event || registration.freed) continue;
    for (int safety = 0; safety < ToolRegistration::safety_levels; ++safety) {
      const ToolRegistration::Callback callback = registration.callbacks[static_cast<std::size_t>(safety)];
      if (callback.function == nullptr) continue;
      Unlocked unlocked(process);
      registration.call(callback.function, &instance, &registration, safety, callback.user_data);
      break;
    }
  }
}

void ToolEvents::tell_dropped(ToolSource& process, std::uint64_t count) {
  for (std::size_t i = 0; i < registrations_.size(); ++i) {
    ToolRegistration& registration = *registrations_[i];
    if (registration.dropped_function == nullptr || registration.freed) continue;
    Unlocked unlocked(process);
    registration.dropped(registration.dropped_function, static_cast<std::int64_t>(count), &registration, 0,
                         registration.callbacks[0].user_data);
  }
}

}  // namespace hawser
