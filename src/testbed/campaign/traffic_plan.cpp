#include "testbed/campaign/traffic_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "testbed/campaign/drawing.h"

namespace hawser {
namespace {

using Collective = PlannedCollective::Kind;
using Receive = PlannedMessage::Receive;
using Send = PlannedMessage::Send;

constexpr int shared_tags = 3;  // of messages whose order matters; larger tags are used once
constexpr int tags_per_phase = 4096;

class TrafficDrawing final : Drawing {
 public:
  TrafficDrawing(const TrafficShape& shape, Random& random) : Drawing(random), shape_(shape) {}

  TrafficPlan draw() {
    TrafficPlan plan;
    for (int i = 0; i < shape_.phases; ++i) plan.phases.push_back(phase(i));
    return plan;
  }

 private:
  // Mostly small, now and then around the change of protocol, rarely large.
  std::int32_t size() {
    const double dice = random_.uniform();
    if (dice < 0.05) return 0;
    if (dice < 0.40) return number(1, 64);
    if (dice < 0.72) return number(65, 2048);
    if (dice < 0.84) return std::min(shape_.largest, number(shape_.rendezvous - 40, shape_.rendezvous + 40));
    if (dice < 0.97) return number(std::min(2049, shape_.largest), std::min(shape_.largest, 24'000));
    return number(std::min(24'000, shape_.largest), shape_.largest);
  }

  PlannedPhase phase(int index) {
    PlannedPhase phase;
    phase.completion = one_of({PlannedPhase::Completion::wait_all, PlannedPhase::Completion::wait_any,
                               PlannedPhase::Completion::test_some});
    phase.most_computing = random_.chance(0.4) ? shape_.most_computing : 0;
    phase.reuse_buffers = random_.chance(0.5);
    const double dice = random_.uniform();
    if (dice < 0.75) {
      const int messages = number(1, shape_.messages_per_phase);
      // A stream in one direction fills windows; a mix does not.
      const bool stream = random_.chance(0.25);
      const PlannedMessage first = message(index, 0);
      for (int i = 0; i < messages; ++i) {
        PlannedMessage each = message(index, i);
        if (stream) {
          each.source = first.source;
          each.destination = first.destination;
        }
        phase.messages.push_back(each);
      }
    }
    if (dice > 0.60) phase.collectives.push_back(collective());
    return phase;
  }

  PlannedMessage message(int phase, int index) {
    PlannedMessage message;
    message.source = number(0, shape_.ranks - 1);
    message.destination = number(0, shape_.ranks - 2);
    if (message.destination >= message.source && !random_.chance(0.03)) ++message.destination;
    message.bytes = size();
    message.key = random_.next();
    message.send = one_of({Send::send, Send::immediate, Send::immediate, Send::immediate,
                           Send::immediate_synchronous, Send::synchronous});
    if (random_.chance(0.65)) {
      message.receive = Receive::posted;
      message.tag = number(0, shared_tags - 1);
    } else {
      message.receive =
          one_of({Receive::late, Receive::late, Receive::probed, Receive::matched_probe, Receive::polled});
    }
    message.any_source = random_.chance(0.15);
    if (message.receive != Receive::posted || message.any_source)
      message.tag = shared_tags + phase * tags_per_phase + index;
    if (message.receive != Receive::posted || message.source == message.destination) {
      if (message.send == Send::send) message.send = Send::immediate;
      if (message.send == Send::synchronous) message.send = Send::immediate_synchronous;
    }
    message.send_layout = layout(message.bytes);
    message.receive_layout = layout(message.bytes);
    return message;
  }

  PlannedMessage::Layout layout(std::int32_t bytes) {
    using Layout = PlannedMessage::Layout;
    if (bytes < 8 || random_.chance(0.75)) return Layout::contiguous;
    return one_of({Layout::strided, Layout::scattered});
  }

  PlannedCollective collective() {
    PlannedCollective each;
    each.kind =
        one_of({Collective::barrier, Collective::broadcast, Collective::allreduce, Collective::alltoall,
                Collective::allgather, Collective::reduce, Collective::immediate_broadcast,
                Collective::immediate_allreduce, Collective::immediate_barrier});
    each.root = number(0, shape_.ranks - 1);
    each.key = random_.next();
    const int limit = std::max(64, shape_.largest / std::max(4, shape_.ranks * shape_.ranks));
    each.count = random_.chance(0.7) ? number(1, 64) : number(1, limit);
    if (each.kind == Collective::allreduce || each.kind == Collective::reduce ||
        each.kind == Collective::immediate_allreduce) {
      each.count = std::max(1, each.count / 8);
    }
    return each;
  }

  const TrafficShape& shape_;
};

}  // namespace

std::string PlannedPhase::describe() const {
  std::set<int> sources, destinations;
  std::int64_t bytes = 0;
  for (const PlannedMessage& message : messages) {
    sources.insert(message.source);
    destinations.insert(message.destination);
    bytes += message.bytes;
  }
  std::string text = fmt::format("{} messages of {} bytes in all from {} ranks to {}", messages.size(), bytes,
                                 sources.size(), destinations.size());
  for (const PlannedCollective& each : collectives)
    text += fmt::format("; collective {} of {}", static_cast<int>(each.kind), each.count);
  if (stopped >= 0) text += fmt::format("; rank {} stops for {} ns", stopped, stop);
  if (late_every > 0) text += fmt::format("; every {}th rank comes {} ns late", late_every, late);
  return text;
}

TrafficPlan draw_traffic(const TrafficShape& shape, Random& random) {
  return TrafficDrawing(shape, random).draw();
}

std::uint64_t TrafficPlan::messages() const {
  std::uint64_t count = 0;
  for (const PlannedPhase& phase : phases) count += phase.messages.size();
  return count;
}

}  // namespace hawser
