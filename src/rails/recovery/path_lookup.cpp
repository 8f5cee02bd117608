#include "rails/recovery/path_lookup.h"

#include <algorithm>

namespace hawser {

PathLookup::PathLookup(RailContext& context, const RailResources& resources, TimerList& timers)
    : context_(context), resources_(resources), timers_(timers), records_(max_rails, context.random) {
  // The channel checked the knobs when it was opened.
  if (auto choice = parse_service_level(context.knobs.rail_service_level)) choice_ = choice.value();
  if (auto partition = parse_partition(context.knobs.rail_partition)) partition_ = partition.value();
}

bool PathLookup::asks(const Rail& rail, const rdma::PortAddress& to) const {
  const rdma::PortAttributes& own = rail.attributes();
  const rdma::PortAddress& from = own.address;
  if (from.link_layer != rdma::LinkLayer::infiniband || from.transport != rdma::Transport::verbs ||
      own.sm_lid == 0 || from.lid == 0 || to.lid == 0)
    return false;
  constexpr std::size_t prefix_bytes = 8;  // of GIDs; a record of two LIDs is one of a single subnet
  if (!std::equal(from.gids[0].begin(), from.gids[0].begin() + prefix_bytes, to.gids[0].begin()))
    return false;
  switch (choice_.kind) {
    case ServiceLevelChoice::Kind::automatic:
      return own.sm_sl != 0;
    case ServiceLevelChoice::Kind::ask:
      return true;
    case ServiceLevelChoice::Kind::fixed:
      return false;
  }
  HAWSER_UNREACHABLE();
}

std::optional<rdma::PathRecord> PathLookup::find(Rail& rail, const rdma::PortAddress& to,
                                                 unsigned source_path_bits, unsigned destination_path_bits) {
  const rdma::PathRecord usual{choice_.level, 0, partition_};
  if (!asks(rail, to)) return usual;
  const auto lid = [](const rdma::PortAddress& port, unsigned bits) {
    return static_cast<std::uint16_t>(port.lid + bits);
  };
  const PathEnds ends{rail.number(), lid(rail.attributes().address, source_path_bits),
                      lid(to, destination_path_bits)};
  const PathRecords::Lookup found = records_.find(ends, context_.now);
  send_questions();
  if (!found.settled) {
    // It may be settled by now: there is nobody to ask.
    if (!records_.find(ends, context_.now).settled) return std::nullopt;
    return usual;
  }
  if (!found.record.has_value()) return usual;
  return found.record;
}

// Null: the system offers none, or the device is dead.
rdma::DatagramQueuePair* PathLookup::administrator(const Rail& rail) {
  auto& its = administrators_[rail.number()];
  if (its == nullptr && !rail.dead) {
    auto made = rail.device().make_datagram_queue_pair(rail.port(), rdma::management_key);
    if (made) its = std::move(made).value();
  }
  return its.get();
}

void PathLookup::on_device_gone(const Rail& rail) {
  administrators_[rail.number()].reset();
  forget(rail);
}

void PathLookup::send_questions() {
  bool any = false;
  while (const auto question = records_.next_question(context_.now)) {
    any = true;
    Rail& rail = *resources_.rails[question->ends.rail];
    rdma::DatagramQueuePair* const asked = administrator(rail);
    if (asked == nullptr) {
      records_.on_not_offered(rail.number());
      say_unavailable(rail);
      continue;
    }
    rdma::DatagramAddress to;
    to.port.gids = rail.attributes().address.gids;  // of the same subnet
    to.port.lid = rail.attributes().sm_lid;
    to.queue_pair = rdma::management_queue_pair;
    to.service_level = rail.attributes().sm_sl;
    ++context_.counters.path_queries;
    // What finds no room is repeated.
    asked->send(to, encode(rdma::PathQuery{question->transaction, question->ends.source_lid,
                                           question->ends.destination_lid, partition_}));
  }
  if (any) timers_.run_soon();
}

void PathLookup::say_unavailable(const Rail& rail) {
  if ((said_ >> rail.number() & 1) != 0) return;
  said_ |= 1u << rail.number();
  ++context_.counters.path_records_unavailable;
  context_.status.on_event(-1, -1, PathEvent::no_path_records, PathReason::none, rail.number(), context_.now);
}

bool PathLookup::receive() {
  constexpr int most_at_once = 32;
  bool settled = false;
  for (const auto& rail : resources_.rails) {
    rdma::DatagramQueuePair* const asked = administrators_[rail->number()].get();
    if (asked == nullptr) continue;
    for (int taken = 0; taken < most_at_once; ++taken) {
      const std::span<const std::byte> bytes = asked->receive();
      if (bytes.empty()) break;
      const auto answer = rdma::decode_path_answer(bytes);
      const auto outcome = answer.has_value() ? records_.on_answer(rail->number(), *answer, context_.now)
                                              : PathRecords::Answer::malformed;
      switch (outcome) {
        case PathRecords::Answer::taken:
          settled = true;
          said_ &= ~(1u << rail->number());
          break;
        case PathRecords::Answer::late:
          ++context_.counters.dropped_stale;
          break;
        case PathRecords::Answer::malformed:
          ++context_.counters.dropped_malformed;
          break;
      }
    }
  }
  if (settled) send_questions();
  return settled;
}

bool PathLookup::progress() {
  if (context_.now < records_.deadline()) return false;
  const bool settled = records_.progress(context_.now);
  for (const auto& rail : resources_.rails)
    if (records_.silent(rail->number())) say_unavailable(*rail);
  send_questions();
  return settled;
}

}  // namespace hawser
