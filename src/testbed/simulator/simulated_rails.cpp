#include "testbed/simulator/simulated_rails.h"

#include <utility>

#include "testbed/linked_provider/linked_provider.h"

namespace hawser {

Result<std::unique_ptr<SimulatedRails>> SimulatedRails::open(const RailSettings& settings,
                                                             AddressExchange& exchange, const Knobs& knobs,
                                                             std::uint64_t seed,
                                                             SimulatedProcessor& processor) {
  std::unique_ptr<SimulatedRails> made(new SimulatedRails(linked_provider_functions(), processor));
  RailSettings with_status = settings;
  with_status.status = &made->status_;
  auto opened = RailChannel::open(with_status, exchange, made->devices_, knobs, seed);
  if (!opened) return opened.take_error();
  made->rails_ = std::move(opened).value();
  return made;
}

bool SimulatedRails::progress(TransportEvents& events, Nanoseconds now) {
  processor_.take_missed();
  processor_.catch_up();
  const bool moved = rails_->progress(events, now);
  if (!moved) processor_.polled_in_vain();
  return moved;
}

}  // namespace hawser
