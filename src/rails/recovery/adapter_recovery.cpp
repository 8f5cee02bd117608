#include "rails/recovery/adapter_recovery.h"

#include <algorithm>

#include "base/failure.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/failover.h"

namespace hawser {
namespace {

// Opening may take milliseconds of the process's time.
constexpr Nanoseconds first_pause = 20 * millisecond, longest_pause = 2 * second;

}  // namespace

void AdapterRecovery::on_fatal(std::uint16_t device) {
  adapters_.resize(resources_.devices.size());
  adapters_[device] = {State::failing, 0, never, context_.now};
  timers_.run_soon();
}

void AdapterRecovery::progress() {
  for (std::uint16_t device = 0; device < adapters_.size(); ++device) {
    Adapter& adapter = adapters_[device];
    switch (adapter.state) {
      case State::well:
        break;
      case State::failing:
        if (!in_use(device)) close(device);
        break;
      case State::closed:
        if (context_.now >= adapter.due) try_to_open(device);
        break;
    }
  }
  const Nanoseconds since = alone_since();
  const Nanoseconds patience = context_.knobs.rail_adapters_give_up;
  if (patience > 0 && since != never && context_.now - since >= patience) lose_all();
}

// Since when no adapter is left; never: one is.
Nanoseconds AdapterRecovery::alone_since() const {
  if (adapters_.empty()) return never;
  Nanoseconds since = 0;
  for (const Adapter& adapter : adapters_) since = std::max(since, adapter.died);
  return since;
}

void AdapterRecovery::lose_all() {
  for (std::size_t i = 0; i < peers_.known().size(); ++i) {
    VirtualChannel& peer = *peers_.known()[i];
    if (peer.lost()) continue;
    failover_.lose(peer,
                   failure(ErrorKind::peer_lost,
                           "process {} cannot be reached: none of this process's {} adapters works, nor "
                           "could one be opened again for {} s (HAWSER_RAIL_ADAPTERS_GIVE_UP)",
                           peer.process(), adapters_.size(), context_.knobs.rail_adapters_give_up / second));
  }
}

Nanoseconds AdapterRecovery::deadline() const {
  Nanoseconds earliest = never;
  for (const Adapter& adapter : adapters_) earliest = std::min(earliest, adapter.due);
  return earliest;
}

bool AdapterRecovery::in_use(std::uint16_t device) const {
  return std::any_of(peers_.known().begin(), peers_.known().end(), [&](VirtualChannel* peer) {
    return std::any_of(peer->subchannels().begin(), peer->subchannels().end(), [&](const Subchannel& s) {
      return s.rail.device_number() == device && s.queue_pair != nullptr;
    });
  });
}

void AdapterRecovery::close(std::uint16_t device) {
  rendezvous_.on_device_closed(device);
  windows_.on_device_closed(device);
  resources_.registrations->forget_device(device);
  give_back(device);
  adapters_[device] = {State::closed, 0, context_.now + first_pause, adapters_[device].died};
}

void AdapterRecovery::give_back(std::uint16_t device) {
  for (const auto& rail : resources_.rails)
    if (rail->device_number() == device) rail->close();
  resources_.packets.forget_device(device);
  resources_.small_packets.forget_device(device);
  resources_.devices[device]->close();
}

void AdapterRecovery::try_to_open(std::uint16_t device) {
  Adapter& adapter = adapters_[device];
  const Nanoseconds pause = std::min(longest_pause, first_pause << std::min(adapter.attempts, 10u));
  ++adapter.attempts;
  adapter.due = context_.now + pause +
                static_cast<Nanoseconds>(context_.random.below(static_cast<std::uint64_t>(pause / 4)));
  if (!resources_.devices[device]->open_again()) return;
  if (!make_again(device)) {
    give_back(device);
    return;
  }
  adapter = {};
  ++context_.counters.adapters_reopened;
  resources_.dead_devices &= ~(DeviceMask{1} << device);
  rendezvous_.on_device_opened(device);
  windows_.on_device_opened(device);
  for (const auto& rail : resources_.rails) {
    if (rail->device_number() != device) continue;
    resources_.table.rails[rail->number()] = rail->address();
    connector_.on_port(*rail, true);
  }
}

// What does not depend on who uses it.
bool AdapterRecovery::make_again(std::uint16_t device) {
  if (!resources_.packets.renew_device(device) || !resources_.small_packets.renew_device(device))
    return false;
  for (const auto& rail : resources_.rails) {
    if (rail->device_number() != device || rail->open_again()) continue;
    for (const auto& other : resources_.rails)
      if (other->device_number() == device) other->dead = true;
    return false;
  }
  return true;
}

}  // namespace hawser
