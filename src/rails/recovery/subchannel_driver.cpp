#include "rails/recovery/subchannel_driver.h"

#include <fmt/core.h>

#include <algorithm>

#include "rails/datapath/virtual_channel.h"
#include "rails/recovery/address_book.h"
#include "rails/recovery/closer.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/failover.h"
#include "rails/recovery/quarantine.h"

namespace hawser {

using Do = SubchannelAction::Kind;

void SubchannelDriver::on(Subchannel& subchannel, SubchannelEvent event) {
  SubchannelMachine& machine = subchannel.machine_;
  if (machine.connected()) {
    const Nanoseconds slowest = subchannel.traffic.slowest();
    event.quick =
        slowest >= 0 && slowest < std::min(context_.adapter_patience() / 4, PathSilence::quick_request);
  }
  if (machine.closing() || event.kind == SubchannelEvent::Kind::close ||
      event.kind == SubchannelEvent::Kind::peer_closes)
    Closer::note_flow(subchannel, event);
  const SubchannelActions actions = machine.on(event, context_.now);
  if (actions.run_soon) timers_.watch(subchannel);
  Report report;
  for (const SubchannelAction& action : actions) {
    Report its = execute(subchannel, action);
    HAWSER_ASSERT(!its.has_value() || !report.has_value());
    if (its.has_value()) report = its;
  }
  if (report.has_value()) return on(subchannel, *report);
  machine.check_invariants();
  // Only while there is another path does one that flaps rest.
  if (event.kind != SubchannelEvent::Kind::needed && machine.state() == SubchannelState::failed &&
      machine.health().held_down(context_.now) && subchannel.peer.paths().ready() == 0)
    on(subchannel, {.kind = SubchannelEvent::Kind::needed});
}

SubchannelDriver::Report SubchannelDriver::execute(Subchannel& subchannel, const SubchannelAction& action) {
  Quarantine& quarantine = executors_.quarantine;
  switch (action.kind) {
    case Do::connect:
    case Do::request:
    case Do::accept:
    case Do::send_probes:
    case Do::answer_probe:
    case Do::enter_service:
    case Do::reconnect_request:
    case Do::forget:
      return connect(subchannel, action);
    case Do::note_failure:
    case Do::stop:
    case Do::poll:
    case Do::destroy:
    case Do::cut:
    case Do::drop_unsequenced:
    case Do::send_fence:
    case Do::send_answer:
    case Do::reissue:
    case Do::discard:
    case Do::lose_peer:
      return take_down(subchannel, action);
    case Do::leave_service:
      leave_service(subchannel, action.reason);
      return {};
    case Do::send_close:
    case Do::send_parted:
      executors_.closer.send(subchannel, action);
      return {};
    case Do::park:
      executors_.closer.park(subchannel, action.state);
      return {};
    case Do::blame:
      quarantine.blame(subchannel, action.reason);
      return {};
    case Do::avoid:
      quarantine.avoid(subchannel);
      return {};
    case Do::use_again:
      quarantine.use_again(subchannel);
      return {};
    case Do::test:
      return quarantine.test(subchannel);
    case Do::ask_address:
    case Do::show:
    case Do::show_refused:
    case Do::stale:
    case Do::malformed:
    case Do::unproven:
      return tell(subchannel, action);
  }
  HAWSER_UNREACHABLE();
}

SubchannelDriver::Report SubchannelDriver::connect(Subchannel& subchannel, const SubchannelAction& action) {
  Connector& connector = executors_.connector;
  switch (action.kind) {
    case Do::connect:
      return connector.connect(subchannel);
    case Do::request:
      connector.request(subchannel);
      return {};
    case Do::accept:
      connector.allow_to_accept();
      return {};
    case Do::send_probes:
      return connector.send_probes(subchannel);
    case Do::answer_probe:
      connector.answer_probe(subchannel);
      return {};
    case Do::enter_service:
      connector.enter_service(subchannel, action);
      return {};
    case Do::reconnect_request:
      connector.reconnect_request(subchannel, action.turn);
      return {};
    case Do::forget:
      connector.forget(subchannel);
      return {};
    default:
      HAWSER_UNREACHABLE();
  }
}

SubchannelDriver::Report SubchannelDriver::take_down(Subchannel& subchannel, const SubchannelAction& action) {
  Failover& failover = executors_.failover;
  switch (action.kind) {
    case Do::note_failure:
      failover.note_failure(subchannel, action);
      return {};
    case Do::stop:
      return failover.stop(subchannel);
    case Do::poll:
      return failover.poll(subchannel);
    case Do::destroy:
      failover.destroy(subchannel);
      return {};
    case Do::cut:
      failover.cut(subchannel, action.state);
      return {};
    case Do::drop_unsequenced:
      failover.drop_unsequenced(subchannel);
      return {};
    case Do::send_fence:
      return failover.send_fence(subchannel, action);
    case Do::send_answer:
      failover.send_answer(subchannel, action);
      return {};
    case Do::reissue:
      failover.reissue(subchannel, action);
      return {};
    case Do::discard:
      failover.discard(subchannel);
      return {};
    case Do::lose_peer:
      failover.lose_for(subchannel, action.reason);
      return {};
    default:
      HAWSER_UNREACHABLE();
  }
}

SubchannelDriver::Report SubchannelDriver::tell(Subchannel& subchannel, const SubchannelAction& action) {
  const ProcessIndex process = subchannel.peer.process();
  switch (action.kind) {
    case Do::ask_address:
      executors_.addresses.ask(process);
      return {};
    case Do::show:
      report_.show(subchannel, action.state, action.reason);
      return {};
    case Do::show_refused:
      report_.show_vain_attempt(subchannel, action.reason);
      return {};
    case Do::stale:
      ++context_.counters.dropped_stale;
      return {};
    case Do::malformed:
      context_.report_malformed(
          process, fmt::format("a fence claiming {} packets, but only {} were sent to it", action.received,
                               action.sent));
      return {};
    case Do::unproven:
      context_.report_malformed(
          process, fmt::format("data over path {} before it had answered the probes", subchannel.index));
      return {};
    default:
      HAWSER_UNREACHABLE();
  }
}

void SubchannelDriver::leave_service(Subchannel& subchannel, PathReason reason) {
  VirtualChannel& peer = subchannel.peer;
  peer.on_not_ready(subchannel, reason == PathReason::torn_down);
  if (peer.paths().ready() > 0) return;
  for (Subchannel& each : peer.subchannels()) on(each, {.kind = SubchannelEvent::Kind::needed});
}

}  // namespace hawser
