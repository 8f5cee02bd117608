#include "survival/survival.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "collective/record.h"
#include "mpi/failure.h"
#include "survival/agreement_message.h"

namespace hawser {

namespace {

enum class Word : std::uint32_t { revoke, agreement, question, answer };

// What stands in the header of this room's messages.
struct Own {
  Word word;
  std::uint32_t context;
  std::uint32_t number;  // of the agreement
};
static_assert(sizeof(Own) <= sizeof(TransportHeader::own));

TransportHeader header_of(const Own& own) {
  TransportHeader header{
      .handler = HandlerId::process_management, .traffic = TrafficClass::collective, .urgent = 1};
  std::memcpy(header.own.data(), &own, sizeof own);
  return header;
}

// Gives the communicator that MPIX_Comm_shrink makes its id and its area: by the process that coordinates,
// which is the first of those that are left.
class NewCommunicator final : public AgreementFounder {
 public:
  NewCommunicator(CollectiveEngine& engine, const Group& parent) : engine_(engine), parent_(parent) {}

  Ref<Group> members(const AgreementValue& value) const {
    std::vector<ProcessIndex> living;
    for (int rank = 0; rank < parent_.size(); ++rank)
      if (value.failed.count(rank) == 0) living.push_back(parent_.process_of(rank));
    return make_counted<Group>(std::move(living));
  }
  void found(AgreementValue& value) override {
    const Result<std::uint32_t> id = engine_.context_ids().take();
    if (!id) return;
    value.context = id.value();
    value.area = engine_.choose_area(*members(value));
  }

 private:
  CollectiveEngine& engine_;
  const Group& parent_;
};

}  // namespace

void Survival::open(Lane& lane, ChannelSet& channels, ProcessIndex self) {
  lane_ = &lane;
  channels_ = &channels;
  self_ = self;
  lane.set_handler(HandlerId::process_management, this);
  // Who heard of it before could not tell others, as it did not know the members.
  collectives_.at_made_revoked([this](const Communicator& made) { spread_revocation(made, false); });
}

void Survival::close() {
  lane_->set_handler(HandlerId::process_management, nullptr);
  collectives_.at_made_revoked({});
  waiting_.clear();
  rounds_.clear();
  early_.clear();
}

// --- Failures ---

void Survival::on_failed(ProcessIndex process, const std::string& why) {
  if (process == self_ || !collectives_.trouble().add_failure(process)) return;
  const Error error = failure(ErrorKind::peer_lost, "rank {} has failed: {}", process, why);
  if (first_failure_.empty()) first_failure_ = error.text;
  std::erase_if(waiting_, [&](const Packet& packet) { return packet.to == process; });
  for (Transport* channel : channels_->channels()) channel->give_up(process, error, *lane_);
  messages_.lose_peer(process);
  collectives_.lose_in_multicast(process);
  collectives_.end_stopped();
  for (auto& [context, rounds] : rounds_) {
    const int rank = rounds.group->rank_of(process);
    if (rank == undefined) continue;
    for (Round& round : rounds.last) {
      round.agreement.on_failed(rank);
      send_output(context, *rounds.group, round);
    }
  }
  sweep();
}

void Survival::sweep() {
  messages_.fail_pending([this](const MessageRequest& request) { return why(request); });
}

// Parts of collective operations are ended with these.
ErrorClass Survival::why(const MessageRequest& request) const {
  if (trouble().revoked_context(request.context)) return ErrorClass::revoked;
  if (request.direction == MessageRequest::Direction::send)
    return trouble().has_failed(request.process) ? ErrorClass::proc_failed : ErrorClass::success;
  if (request.stage != MessageRequest::Stage::posted) return ErrorClass::success;
  const auto* const communicator = static_cast<const Communicator*>(request.communicator.get());
  if (communicator != nullptr) return stops(*communicator, request.source_rank);
  // A part of something larger, which says whom it waits for.
  const bool part = request.after == MessageRequest::After::tell_listener;
  return part && trouble().has_failed(request.process) ? ErrorClass::proc_failed : ErrorClass::success;
}

ErrorClass Survival::stops(const Communicator& communicator, int source) const {
  if (communicator.revoked()) return ErrorClass::revoked;
  if (source >= 0)
    return trouble().has_failed(communicator.process_of(source)) ? ErrorClass::proc_failed
                                                                 : ErrorClass::success;
  const Group& peers = communicator.inter() ? *communicator.remote_group() : *communicator.group();
  return trouble().fails(peers, communicator.failures_acknowledged) ? ErrorClass::proc_failed_pending
                                                                    : ErrorClass::success;
}

int Survival::acknowledge(Communicator& communicator, int most) {
  const Group& members = *CollectiveRecord::of(communicator).everyone();
  const auto failures = trouble().failures();
  int found = 0;
  std::size_t known = 0;
  for (; known < failures.size(); ++known) {
    if (!members.contains(failures[known])) continue;
    if (most >= 0 && found == most && known >= communicator.failures_acknowledged) break;
    ++found;
  }
  communicator.failures_acknowledged = std::max(known, communicator.failures_acknowledged);
  messages_.resume_suspended(
      [&](const MessageRequest& request) { return request.communicator.get() == &communicator; });
  sweep();
  return found;
}

Ref<Group> Survival::acknowledged(const Communicator& communicator) const {
  auto& record = static_cast<CollectiveRecord&>(*communicator.collective);
  return trouble().failed_of(*record.everyone(), communicator.failures_acknowledged);
}

Ref<Group> Survival::failed(const Communicator& communicator) const {
  auto& record = static_cast<CollectiveRecord&>(*communicator.collective);
  return trouble().failed_of(*record.everyone(), trouble().failures().size());
}

// --- Revoking ---

void Survival::revoke(Communicator& communicator) { on_revoked(communicator.context(), true); }

void Survival::on_revoked(std::uint32_t context, bool by_this_process) {
  if (!collectives_.trouble().add_revoked(context)) return;
  for (std::uint32_t i = 0; i < contexts_per_communicator; ++i)
    if (Trouble::revocable(context + i)) messages_.close_context(context + i);
  if (Communicator* const communicator = collectives_.find(context)) {
    if (revoked_) revoked_(*communicator);
    communicator->revoke();
    spread_revocation(*communicator, by_this_process);
  }
  collectives_.end_stopped();
  sweep();
}

// Who revokes tells everyone. In case it fails in the middle, everyone who hears of it tells some others, so
// chosen that those who live stay connected though many fail: the ranks at distances of powers of two.
void Survival::spread_revocation(const Communicator& communicator, bool to_all) {
  auto& record = static_cast<CollectiveRecord&>(*communicator.collective);
  const Group& members = *record.everyone();
  const TransportHeader header = header_of({Word::revoke, communicator.context(), 0});
  const auto tell = [&](int rank) {
    const ProcessIndex process = members.process_of(rank % members.size());
    if (process != self_ && !trouble().has_failed(process)) send(process, header, {});
  };
  const int own = record.rank_among_everyone(), size = members.size();
  for (int distance = 1; distance < size; distance = to_all ? distance + 1 : distance * 2) {
    tell(own + distance);
    if (!to_all && 2 * distance != size) tell(own + size - distance);
  }
}

// --- Agreeing ---

Result<AgreementValue> Survival::settle(Communicator& communicator, std::uint32_t flag,
                                        AgreementFounder* founder) {
  CollectiveRecord& record = CollectiveRecord::of(communicator);
  const Ref<Group> members = record.everyone();
  Rounds& rounds = rounds_[communicator.context()];
  rounds.group = members;
  rounds.last.push_back({++rounds.begun, Agreement(record.rank_among_everyone(), members->size())});
  if (rounds.last.size() > 2) rounds.last.pop_front();
  Round& round = rounds.last.back();

  AgreementValue own{.flag = flag};
  const auto failures = trouble().failures();
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const int rank = members->rank_of(failures[i]);
    if (rank == undefined) continue;
    own.failed.insert(rank);
    if (i < communicator.failures_acknowledged) own.acknowledged.insert(rank);
  }
  round.agreement.begin(std::move(own), founder);
  send_output(communicator.context(), *members, round);
  for (const Early& message : std::exchange(early_[communicator.context()], {}))
    deliver(communicator.context(), rounds, message);
  progress_.wait_until([&round] { return round.agreement.decided(); });

  const AgreementValue value = round.agreement.value();
  if (value.failed.count(record.rank_among_everyone()) != 0)
    return failure(
        ErrorClass::other,
        "other processes of the communicator agreed that this one has failed: they could not reach "
        "it, and go on without it");
  for (const int rank : value.failed)
    on_failed(members->process_of(rank), "others of the communicator agreed that it has");
  return value;
}

Result<> Survival::agree(Communicator& communicator, int& flag) {
  auto settled = settle(communicator, static_cast<std::uint32_t>(flag), nullptr);
  if (!settled) return settled.take_error();
  const AgreementValue& value = settled.value();
  flag = static_cast<int>(value.flag);
  if (value.failed == value.acknowledged) return {};
  return failure(ErrorClass::proc_failed,
                 "a process of the communicator has failed that not everyone had acknowledged "
                 "(MPIX_Comm_failure_ack)");
}

Result<Ref<Communicator>> Survival::shrink(Communicator& communicator) {
  if (communicator.inter())
    return failure(ErrorClass::unsupported_operation,
                   "MPIX_Comm_shrink of an intercommunicator; shrink its local group's communicator");
  NewCommunicator founder(collectives_, *communicator.group());
  auto settled = settle(communicator, 0, &founder);
  if (!settled) return settled.take_error();
  const AgreementValue& value = settled.value();
  if (value.context == 0) return failure(ErrorClass::other, "there are no more context ids");
  if (value.context % contexts_per_communicator != 0 || collectives_.find(value.context) != nullptr)
    return failure(ErrorClass::other, "others agreed on context id {} for a new communicator, which is {}",
                   value.context, value.context % contexts_per_communicator != 0 ? "none" : "another one's");
  Ref<Group> members = founder.members(value);
  const int rank = members->rank_of(self_);
  auto made = make_counted<Communicator>(std::move(members), rank, value.context);
  collectives_.adopt(*made, value.area);
  return made;
}

void Survival::deliver(std::uint32_t context, Rounds& rounds, const Early& message) {
  if (message.number > rounds.begun) return early_[context].push_back(message);
  const int rank = rounds.group->rank_of(message.source);
  const auto decoded = decode(message.words, rounds.group->size());
  if (rank == undefined || !decoded)
    return lane_->on_bad_packet(
        message.source, fmt::format("a word of an agreement of communicator {} that means nothing", context));
  for (Round& round : rounds.last) {
    if (round.number != message.number) continue;
    round.agreement.on_message(rank, *decoded);
    send_output(context, *rounds.group, round);
  }
}

void Survival::send_output(std::uint32_t context, const Group& group, Round& round) {
  for (auto& [rank, message] : round.agreement.take_output())
    send(group.process_of(rank), header_of({Word::agreement, context, round.number}), encode(message));
}

// --- Messages ---

void Survival::send(ProcessIndex to, const TransportHeader& header, std::vector<std::uint32_t> words) {
  Packet packet{to, header, std::move(words)};
  const bool behind =
      std::any_of(waiting_.begin(), waiting_.end(), [&](const Packet& other) { return other.to == to; });
  if (behind || !transmit(packet)) waiting_.push_back(std::move(packet));
}

bool Survival::transmit(const Packet& packet) {
  const auto bytes = static_cast<std::int64_t>(packet.words.size() * sizeof(std::uint32_t));
  auto* const data = reinterpret_cast<std::byte*>(const_cast<std::uint32_t*>(packet.words.data()));
  return channels_->channel_of(packet.to)->try_send(packet.to, packet.header,
                                                    ByteSequence{data, bytes, nullptr});
}

bool Survival::send_waiting() {
  bool moved = false;
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    Packet packet = std::move(waiting_.front());
    waiting_.pop_front();
    if (transmit(packet))
      moved = true;
    else
      waiting_.push_back(std::move(packet));
  }
  return moved;
}

void Survival::ask(ProcessIndex process) {
  if (process != self_ && !trouble().has_failed(process))
    send(process, header_of({Word::question, 0, 0}), {});
}

void Survival::on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                         std::int64_t size) {
  Own own;
  std::memcpy(&own, header.own.data(), sizeof own);
  if (own.word == Word::question) return send(source, header_of({Word::answer, 0, 0}), {});
  if (own.word == Word::answer) return answers_.push_back(source);
  if (own.context % contexts_per_communicator != 0 ||
      size % static_cast<std::int64_t>(sizeof(std::uint32_t)) != 0)
    return lane_->on_bad_packet(
        source,
        fmt::format("{} bytes about the failures of communicator {}, which is none", size, own.context));
  if (own.word == Word::revoke) return on_revoked(own.context, false);
  if (own.word != Word::agreement)
    return lane_->on_bad_packet(
        source, fmt::format("an unknown word {} about failures", static_cast<std::uint32_t>(own.word)));
  Early message{source, own.number,
                std::vector<std::uint32_t>(static_cast<std::size_t>(size) / sizeof(std::uint32_t))};
  if (size > 0) std::memcpy(message.words.data(), payload, static_cast<std::size_t>(size));
  const auto found = rounds_.find(own.context);
  if (found == rounds_.end()) return early_[own.context].push_back(std::move(message));
  deliver(own.context, found->second, message);
}

void Survival::on_offer(ProcessIndex source, const TransportHeader&, const ExposeToken&, std::int64_t size) {
  lane_->on_bad_packet(source, fmt::format("an offer of {} bytes about failures", size));
}

EagerSink Survival::on_eager_begin(ProcessIndex source, const TransportHeader&, std::int64_t size) {
  lane_->on_bad_packet(source, fmt::format("{} bytes in pieces about failures", size));
  return {};
}

}  // namespace hawser
