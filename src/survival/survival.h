// Survival: what a process does when others of its job fail (User-Level Failure Mitigation). It ends what
// waits for them, tells the members of a communicator that it is revoked, and lets those that live agree.
//
// Who has failed, others say: the launcher, or transports that reach a process no more. It is never taken
// back, so whoever says it must be right: see doc/survival.md.
//
// Threads: none; every call is made under the process's lock.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/channel_set.h"
#include "channel/lane.h"
#include "collective/engine.h"
#include "message/point_to_point.h"
#include "survival/agreement.h"

namespace hawser {

class Survival final : public ActiveMessageHandler {
 public:
  Survival(PointToPoint& messages, CollectiveEngine& collectives, Progress& progress)
      : messages_(messages), collectives_(collectives), progress_(progress) {}

  void open(Lane& lane, ChannelSet& channels, ProcessIndex self);
  void close();
  // Called with a communicator before it is known to be revoked.
  void at_revocation(std::function<void(const Communicator&)> call) { revoked_ = std::move(call); }

  // The process has failed. Ends what waits for it.
  void on_failed(ProcessIndex process, const std::string& why);
  // Whether anything was ever learned: until then there is nothing to be looked after.
  bool any() const { return trouble().any(); }
  const Trouble& trouble() const { return collectives_.trouble(); }
  // Which process failed first, and why; empty: none has.
  const std::string& first_failure() const { return first_failure_; }
  // Ends operations that were begun since with those that failed before.
  void sweep();
  // Asks the process whether it answers. Later: who did.
  void ask(ProcessIndex process);
  bool any_answers() const { return !answers_.empty(); }
  std::vector<ProcessIndex> take_answers() { return std::exchange(answers_, {}); }
  // Sends what waits for room. True if anything moved.
  bool progress() { return !waiting_.empty() && send_waiting(); }
  bool flushed() const { return waiting_.empty(); }

  // MPIX_Comm_revoke. Not collective.
  void revoke(Communicator& communicator);
  // Collective over those that live.
  Result<> agree(Communicator& communicator, int& flag);
  Result<Ref<Communicator>> shrink(Communicator& communicator);
  // MPIX_Comm_ack_failed: acknowledges the first `most` failures of the communicator; all of them if it is
  // negative. Answers how many of the communicator's are acknowledged.
  int acknowledge(Communicator& communicator, int most);
  Ref<Group> acknowledged(const Communicator& communicator) const;
  Ref<Group> failed(const Communicator& communicator) const;
  // Why a wait for a message from this rank (or any) must end; success: it need not.
  ErrorClass stops(const Communicator& communicator, int source) const;

  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override;

 private:
  struct Packet {
    ProcessIndex to;
    TransportHeader header;
    std::vector<std::uint32_t> words;
  };
  // One agreement of a communicator, by the number that all its ranks give it.
  struct Round {
    std::uint32_t number;
    Agreement agreement;
  };
  // The last is kept until the next is decided: only then all have heard of it.
  struct Rounds {
    Ref<Group> group;
    std::uint32_t begun = 0;
    std::deque<Round> last;  // at most two
  };
  // What came before this process began the round.
  struct Early {
    ProcessIndex source;
    std::uint32_t number;
    std::vector<std::uint32_t> words;
  };

  void send(ProcessIndex to, const TransportHeader& header, std::vector<std::uint32_t> words);
  bool transmit(const Packet& packet);
  bool send_waiting();
  void spread_revocation(const Communicator& communicator, bool to_all);
  void on_revoked(std::uint32_t context, bool by_this_process);
  Result<AgreementValue> settle(Communicator& communicator, std::uint32_t flag, AgreementFounder* founder);
  void deliver(std::uint32_t context, Rounds& rounds, const Early& message);
  void send_output(std::uint32_t context, const Group& group, Round& round);
  ErrorClass why(const MessageRequest& request) const;

  PointToPoint& messages_;
  CollectiveEngine& collectives_;
  Progress& progress_;
  Lane* lane_ = nullptr;
  ChannelSet* channels_ = nullptr;
  ProcessIndex self_ = 0;
  std::function<void(const Communicator&)> revoked_;
  std::string first_failure_;
  std::deque<Packet> waiting_;                         // for room
  std::vector<ProcessIndex> answers_;                  // not taken yet
  std::map<std::uint32_t, Rounds> rounds_;             // by the communicator's context
  std::map<std::uint32_t, std::vector<Early>> early_;  // likewise
};

}  // namespace hawser
