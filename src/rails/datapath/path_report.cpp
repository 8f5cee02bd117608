#include "rails/datapath/path_report.h"

#include <fmt/core.h>

#include <bit>

#include "rails/datapath/virtual_channel.h"

namespace hawser {

void PathReport::show(Subchannel& subchannel, PathReason reason) {
  if (!context_.status.wanted()) return;
  if (subchannel.status_row < 0) {
    const rdma::DeviceFacts& device = subchannel.rail.device().facts();
    const std::string port = fmt::format("{}/{}", device.name, subchannel.rail.port());
    subchannel.status_row =
        context_.status.add_path({subchannel.peer.process(), subchannel.index, subchannel.rail.number(),
                                  subchannel.path, subchannel.engine, port});
  }
  const auto condition = [&subchannel] {
    switch (subchannel.state) {
      case SubchannelState::closed:
        return PathCondition::closed;
      case SubchannelState::connecting:
      case SubchannelState::accepted:
        return PathCondition::connecting;
      case SubchannelState::probing:
        return PathCondition::probing;
      case SubchannelState::ready:
        return subchannel.suspected || subchannel.health.state() == PathState::suspect
                   ? PathCondition::suspect
                   : PathCondition::ready;
      case SubchannelState::stopping:
        return PathCondition::stopping;
      case SubchannelState::fencing:
        return PathCondition::fencing;
      case SubchannelState::failed:
        return PathCondition::failed;
    }
    HAWSER_UNREACHABLE();
  };
  if (subchannel.state == SubchannelState::connecting && subchannel.failed_before)
    context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt,
                             PathReason::none, subchannel.health.attempts_since_failure(), context_.now);
  context_.status.set_condition(subchannel.status_row, condition(), subchannel.incarnation, reason,
                                context_.now);
}

void PathReport::show_vain_attempt(Subchannel& subchannel, PathReason reason) {
  const std::uint32_t attempts = subchannel.health.attempts_since_failure();
  if (std::has_single_bit(attempts))
    context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::attempt, reason,
                             attempts, context_.now);
}

}  // namespace hawser
