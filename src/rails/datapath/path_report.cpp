#include "rails/datapath/path_report.h"

#include <fmt/core.h>

#include <bit>

#include "rails/datapath/virtual_channel.h"

namespace hawser {

namespace {

PathCondition condition_of(SubchannelState state, bool slow) {
  switch (state) {
    case SubchannelState::closed:
    case SubchannelState::closing:
    case SubchannelState::emptying:
    case SubchannelState::parting:
    case SubchannelState::parked:
      return PathCondition::closed;
    case SubchannelState::connecting:
    case SubchannelState::accepted:
      return PathCondition::connecting;
    case SubchannelState::probing:
      return PathCondition::probing;
    case SubchannelState::ready:
      return slow ? PathCondition::suspect : PathCondition::ready;
    case SubchannelState::suspected:
      return PathCondition::suspect;
    case SubchannelState::stopping:
    case SubchannelState::answering:
      return PathCondition::stopping;
    case SubchannelState::fencing:
      return PathCondition::fencing;
    case SubchannelState::failed:
    case SubchannelState::asking:
      return PathCondition::failed;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace

void PathReport::show(Subchannel& subchannel, SubchannelState state, PathReason reason) {
  if (!context_.status.wanted()) return;
  if (subchannel.status_row < 0) {
    const rdma::DeviceAttributes& device = subchannel.rail.device().attributes();
    const std::string port = fmt::format("{}/{}", device.name, subchannel.rail.port());
    subchannel.status_row =
        context_.status.add_path({subchannel.peer.process(), subchannel.index, subchannel.rail.number(),
                                  subchannel.place.path, subchannel.place.engine, port});
  }
  const SubchannelMachine& machine = subchannel.machine();
  if (state == SubchannelState::connecting && machine.failed_before())
    context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt,
                             PathReason::none, machine.health().attempts_since_failure(), context_.now);
  const bool slow = machine.health().state() == PathState::suspect;
  context_.status.set_condition(subchannel.status_row, condition_of(state, slow),
                                machine.connection_generation(), reason, context_.now);
}

void PathReport::show_vain_attempt(Subchannel& subchannel, PathReason reason) {
  const std::uint32_t attempts = subchannel.machine().health().attempts_since_failure();
  if (std::has_single_bit(attempts))
    context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt, reason,
                             attempts, context_.now);
}

}  // namespace hawser
