// SubchannelMachine: the protocol state of one end of a subchannel, and every decision about it: when to
// connect, what to answer to a fence, when to probe, when a suspicion ends. A pure machine: on(event, now)
// returns the actions to take. It knows no rail, queue pair or peer; Failover and Connector execute the
// actions (rails/recovery/), and report what came of them as further events.
//
//   closed --want--> connecting --reply--> [probing -->] ready <--> suspected
//     |                  |                    ^            |            |
//     |                  | no answer          |            +-- fails ---+
//     |                  v                    |            v
//     |               failed <--> asking      |        stopping --peer's fence--> answering
//     |                 |  ^                  |            | drained                  | drained
//     |                 |  +---- compared ----|------- fencing                        |
//     |                 |  +------------------|---------------------------------------+ compared
//     +--request--> accepted --first packet---+
//
//   ready --close, or the peer closes--> closing --its last count--> emptying --all is there--> parting
//     parting --the peer is gone, too--> parked --want--> connecting, --request--> accepted
//
// Every failure takes the same way down, whoever noticed it: stop, drain, fence, compare, reissue
// (doc/rails.md). `connecting`, `accepted` and `probing` fail, too: the first two carry nothing and go to
// `failed` at once, `probing` takes the long way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/assert.h"
#include "base/random.h"
#include "base/time.h"
#include "rails/decision/path_health.h"
#include "rails/decision/path_reason.h"

namespace hawser {

// Every combination that can be has a state of its own; there are no flags that qualify a state, but for two
// that say that a connected one is about to fail (broken) or fails (poisoned).
//
// A connection that is closed on purpose is flushed first, so that nothing is sent again afterwards: an end
// that closes posts nothing new, and when nothing of its own is under way it tells the peer how many packets
// it sent in all. Whoever knows the peer's count, is flushed and has received that many destroys its queue
// pair, and says so; the other end answers that as it answers a fence. What fails in between fails like any
// other connection. A parked one connects again without blame, hold-down, probes or lost weights.
enum class SubchannelState : std::uint8_t {
  closed,      // never connected yet, and nobody asked; or the peer is lost
  connecting,  // this end asked; its queue pair waits for the answer
  accepted,    // the peer asked; this end is connected, but does not know whether the peer is
  probing,     // connected again after a failure; probes must pass before data
  ready,       // in use
  suspected,   // connected like a ready one, but avoided until a test packet is delivered
  stopping,    // failed; its requests are being flushed
  answering,   // the same, and the peer's fence has come: it is drained already, and waits for an answer
  fencing,     // drained; the peer has to say what it received
  failed,      // nothing is left but the memory of the last generation; to be tried again
  asking,      // the same, at the end that does not connect again by itself: the peer was asked to
  closing,     // closed on purpose: nothing new is posted; the peer's last count is not known yet
  emptying,    // the same, and the peer posts nothing more: waits until all has arrived, both ways
  parting,     // that is so, and the queue pair is gone; the peer has to say that its own is
  parked,      // both are gone, or had failed: like closed, but the last generation and what was measured are
               // known
};
inline constexpr int subchannel_states = 15;
const char* subchannel_state_name(SubchannelState state);

struct SubchannelEvent {
  enum class Kind : std::uint8_t {
    // From this process.
    want,           // there is something to send
    look,           // some time has passed (due())
    fail,           // reason: it does not work (any more)
    post_failed,    // a request was posted in part: fail at the next look
    damaged,        // a packet's checksum is wrong: neither it nor any later one counts
    drained,        // sent, received, timed_out: everything that had arrived was handled
    suspect,        // what it goes through is blamed for another failure
    rate,           // slow: measured to be much slower than the others, or not (any more)
    needed,         // no other subchannel to the peer works
    port_returned,  // a port of this process came back
    path_returned,  // its own port came back, or the peer's address is known again
    lost,           // the peer is given up
    close,          // it is not needed now
    // From the peer.
    request,       // generation, received: asks for a connection
    first_packet,  // probe: a packet came while the subchannel was not ready
    probe,         // to be answered
    probe_answer,
    fence,              // generation, received: the peer's end is drained, and received so many packets
    fence_answer,       // generation, received
    reconnect_request,  // generation: the peer asks for an attempt
    peer_closes,        // generation, sent: its end is flushed and posts nothing more
    peer_parted,        // generation, sent, received: its queue pair is gone
    // Reports of what came of an action.
    connect_begun,    // connect: next, the first generation that may be taken
    connect_refused,  // connect: reason
    joined,           // request: the peer answered, the queue pair is connected; probes, how many are wanted
    join_failed,      // request: the peer answered, the queue pair refuses
    abandoned,        // request: generation, gave_up (else the peer's request stands)
    accepted,         // accept: generation
    accept_failed,    // accept: generation
    probes_posted,    // send_probes: probes, how many
    marker_posted,    // stop: the drained event will come when the marker is flushed
    fence_sent,       // send_fence
    test_pending,     // test: test, the id of the packet that has to be delivered, if one could be sent
    test_delivered,   // test
  };
  Kind kind;
  PathReason reason = PathReason::none;
  std::uint32_t connection_generation = 0;
  std::uint32_t received = 0;  // packets of the generation, at the end that the event tells of
  std::uint32_t sent = 0;      // the same, by this end
  std::uint32_t probes = 0;
  std::optional<std::uint64_t> test;
  // Of what may close the subchannel: whether anything of this end's is under way; packets of the generation.
  bool flushed = false;
  std::uint32_t own_received = 0, own_sent = 0;
  bool quick = false;      // of what may stop the subchannel: all requests of late were done quickly
  bool timed_out = false;  // drained: the marker did not come
  bool gave_up = false;
  bool slow = false;
  bool probe = false;
};
inline constexpr int subchannel_events = 34;

struct SubchannelAction {
  enum class Kind : std::uint8_t {
    // Up.
    connect,      // make a queue pair; reports connect_begun or connect_refused
    request,      // ask the peer for generation(); joined, join_failed or abandoned come later
    accept,       // make a queue pair and connect it to the asking end; reports accepted or accept_failed
    send_probes,  // as many as probes_to_send(); reports probes_posted
    answer_probe,
    enter_service,      // recovered: whether it had failed before
    reconnect_request,  // ask the peer to connect; turn
    // Down.
    blame,             // reason: compare with others, suspect those that share the cause
    note_failure,      // reason, state, before; recovered (it had failed before): count it, forget its
                       // measurements
    leave_service,     // reason: torn_down if it was closed on purpose
    forget,            // nothing of this and older generations is answered by the connection manager any more
    stop,              // queue pair to ERROR, and the marker; reports marker_posted, unless that is refused
    poll,              // the marker is late: handle what has arrived; reports drained with timed_out
    destroy,           // the queue pair, and the count of what was under way
    drop_unsequenced,  // in flight: the marker, and packets that nobody misses
    send_fence,        // generation, received, turn; reports fence_sent
    send_answer,       // generation, received, turn
    reissue,           // received: what the peer does not have; state: failed or parked
    ask_address,       // of the peer, from third processes
    cut,               // state, before: as destroy, but what is under way may have to be stopped first
    discard,           // whatever waits for an answer of the peer: there will be none
    lose_peer,         // reason: failover is switched off
    // Closing.
    send_close,   // generation, sent: this end is flushed and posts nothing more; turn
    send_parted,  // generation, sent, received: its queue pair is gone; turn
    park,         // state, before: it is closed; what it had is given back
    // Suspicion.
    avoid,
    test,  // reports test_delivered or test_pending
    use_again,
    // Tell.
    show,          // state, reason
    show_refused,  // reason: an attempt could not even begin
    stale,         // count what came late
    malformed,     // received, sent: the peer claims more packets than it was sent
    unproven,      // the peer sends data over what is still being probed
  };
  Kind kind;
  PathReason reason = PathReason::none;
  SubchannelState state = SubchannelState::closed;
  bool recovered = false;
  std::uint32_t connection_generation = 0;
  std::uint32_t received = 0;
  std::uint32_t sent = 0;
  std::uint32_t turn = 0;
};
inline constexpr int subchannel_actions = 33;

// In the order in which they are to be executed. At most one of them reports back, and its report is
// delivered when all were executed.
class SubchannelActions {
 public:
  void add(const SubchannelAction& action) {
    HAWSER_ASSERT(count_ < actions_.size());
    actions_[count_++] = action;
  }
  const SubchannelAction* begin() const { return actions_.data(); }
  const SubchannelAction* end() const { return actions_.data() + count_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  bool run_soon = false;  // due() may have changed

 private:
  std::array<SubchannelAction, 8> actions_ = {};
  std::size_t count_ = 0;
};

struct SubchannelSettings {
  bool failover = true;  // else the first failure loses the peer
  Nanoseconds drain_time = 20 * millisecond;
};

// `now` never goes backwards.
// The machine's own times and counts.
struct SubchannelTimes {
  // How long an accepted connection may be silent: who asked for it may compute. If it gave up, a newer
  // request or a reconnect request says so.
  static constexpr Nanoseconds accepted_patience = 30 * second;
  // After this, room that others want is taken from it.
  static constexpr Nanoseconds accepted_silence = 1 * second;
  static constexpr Nanoseconds probe_patience = 2 * second;
  // A reconnect request that brought nothing by then is repeated after a back-off.
  static constexpr Nanoseconds reconnect_request_time = 50 * millisecond;
  static constexpr Nanoseconds first_fence_repeat = 2 * millisecond, longest_fence_repeat = 100 * millisecond;
  static constexpr Nanoseconds first_test_repeat = 200 * microsecond, longest_test_repeat = 50 * millisecond;
  // Between looks of a closing end at what is under way; and how long what the peer sent may be missing
  // though its adapter says that it is here.
  static constexpr Nanoseconds first_flush_look = 50 * microsecond, longest_flush_look = 2 * millisecond;
  static constexpr Nanoseconds emptying_patience = 1 * second;
  static constexpr std::uint8_t most_false_alarms = 3;
  // Every so many fences without an answer, others are asked where the peer is.
  static constexpr std::uint32_t fences_per_question = 8;
};

// What has to be known of a subchannel that rests, beside what is measured anew: for requests and fences that
// are late, and which generation is next.
struct SubchannelMemory {
  std::uint32_t connection_generation = 0;
  std::uint32_t fenced_generation = 0, fenced_received = 0, fenced_sent = 0;
  bool torn_down = false;
};

class SubchannelMachine {
 public:
  // The settings and the generator outlive this. `drives`: this end connects again after a failure, the other
  // one asks it to.
  SubchannelMachine(const SubchannelSettings& settings, const HealthSettings& health, Random& random,
                    bool drives)
      : settings_(settings), random_(random), drives_(drives), health_(health, random) {}

  [[nodiscard]] SubchannelActions on(const SubchannelEvent& event, Nanoseconds now);

  SubchannelState state() const { return state_; }
  // Its queue pair is connected to the peer's, as far as this end knows.
  bool connected() const {
    return state_ == SubchannelState::ready || state_ == SubchannelState::accepted ||
           state_ == SubchannelState::probing || state_ == SubchannelState::suspected || closing();
  }
  // Nothing new is posted, and what is under way comes to its end.
  bool closing() const { return state_ == SubchannelState::closing || state_ == SubchannelState::emptying; }
  // Nothing is connected, nor will be by itself: somebody has to want it.
  bool rests() const { return state_ == SubchannelState::closed || state_ == SubchannelState::parked; }
  // May carry anything.
  bool in_service() const { return state_ == SubchannelState::ready || state_ == SubchannelState::suspected; }
  // The peer asked for it, was answered, and has been silent since.
  bool forgotten(Nanoseconds now) const {
    return state_ == SubchannelState::accepted &&
           due_ - now < SubchannelTimes::accepted_patience - SubchannelTimes::accepted_silence;
  }
  bool suspected() const { return state_ == SubchannelState::suspected; }

  std::uint32_t connection_generation() const {
    return connection_generation_;
  }  // of the connection or attempt; at first 0
  bool broken() const { return broken_; }
  bool poisoned() const { return poisoned_; }
  bool failed_before() const { return failed_before_; }  // when it was connected
  // How often it failed in a row when the network may only have been crowded: it gets more time each time.
  std::uint8_t false_alarms() const { return false_alarms_; }
  Nanoseconds stopped() const { return stopped_; }  // when it failed last
  std::optional<std::uint64_t> test() const { return test_; }
  std::uint32_t probes_to_send() const { return probes_wanted_ - probes_sent_; }
  std::uint32_t probes_sent() const { return probes_sent_; }
  std::uint32_t probes_wanted() const { return probes_wanted_; }
  const PathHealth& health() const { return health_; }

  // None if more than that has to be known: it does not rest, or something is held against it.
  std::optional<SubchannelMemory> memory() const {
    if (!rests() || failed_before_ || false_alarms_ != 0 || due_ != never ||
        health_.state() != PathState::clear || health_.hold_down() != 0)
      return std::nullopt;
    return SubchannelMemory{connection_generation_, fenced_generation_, fenced_received_, fenced_sent_,
                            torn_down_};
  }
  // Of one that was just made.
  void remember(const SubchannelMemory& memory);

  // When it wants to be looked at; never: not by itself.
  Nanoseconds due() const;
  // Where a state has deadlines of its own, it must be among those that are looked at.
  bool quiescent() const { return !broken_ && due() == never && (in_service() || rests()); }
  // What no event may break. Cheap.
  void check_invariants() const;

 private:
  using State = SubchannelState;
  using Event = SubchannelEvent::Kind;
  using Do = SubchannelAction::Kind;
  // One event on its way through the machine.
  struct Step {
    const SubchannelEvent& event;
    const Nanoseconds now;
    SubchannelActions actions;

    void add(SubchannelAction::Kind kind) { actions.add({.kind = kind}); }
  };

  void dispatch(Step& step);
  void on_want(Step& step);
  void on_look(Step& step);
  void on_fail(Step& step, PathReason reason);
  void on_post_failed(Step& step);
  void on_damaged(Step& step);
  void on_drained(Step& step);
  void on_suspect(Step& step);
  void on_rate(Step& step);
  void on_port_returned(Step& step);
  void on_path_returned(Step& step);
  void on_lost(Step& step);
  void dispatch_closing(Step& step);
  void on_close(Step& step);
  void on_peer_closes(Step& step);
  void on_peer_parted(Step& step);
  void on_request(Step& step);
  void on_first_packet(Step& step);
  void on_probe(Step& step);
  void on_probe_answer(Step& step);
  void on_fence(Step& step);
  void on_fence_answer(Step& step);
  void on_reconnect_request(Step& step);
  void on_connect_begun(Step& step);
  void on_connect_refused(Step& step);
  void on_joined(Step& step);
  void on_join_failed(Step& step);
  void on_abandoned(Step& step);
  void on_accepted(Step& step);
  void on_accept_failed(Step& step);
  void on_probes_posted(Step& step);
  void on_marker_posted(Step& step);
  void on_fence_sent(Step& step);
  void on_test_pending(Step& step);
  void on_test_delivered(Step& step);

  bool may_accept() const { return rests() || state_ == State::failed || state_ == State::asking; }
  void attempt(Step& step);
  void enter(Step& step, SubchannelState state, PathReason reason);
  void begin_connection(Step& step, SubchannelState state, Nanoseconds patience);
  void enter_service(Step& step);
  void give_up(Step& step);
  void drop(Step& step);
  void keep_trying(Step& step);
  void skip_to(Step& step, std::uint32_t connection_generation);
  void stop(Step& step, PathReason reason, SubchannelState state);
  void count_false_alarm(PathReason reason, bool quick);
  void answer(Step& step, std::uint32_t connection_generation, std::uint32_t received);
  void answer_unknown_fence(Step& step);
  void answer_from_memory(Step& step);
  void ask_fence(Step& step);
  void compare(Step& step, std::uint32_t received);
  void begin_closing(Step& step);
  void go_on_closing(Step& step);
  void look_at_flush(Step& step);
  bool emptied(const Step& step) const;
  void part(Step& step, State next);
  void repeat_after_pause(Step& step);
  void tell_parted(Step& step);
  void tell_parted_again(Step& step);

  const SubchannelSettings& settings_;
  Random& random_;
  bool drives_;
  SubchannelState state_ = SubchannelState::closed;
  bool broken_ = false;    // connected: fails at the next look
  bool poisoned_ = false;  // until the end of the generation
  bool failed_before_ = false;
  bool torn_down_ = false;  // once at least
  std::uint8_t false_alarms_ = 0;
  std::uint32_t connection_generation_ = 0;
  // Of the last generation that was drained or ruled out here, for a fence that comes (again).
  std::uint32_t fenced_generation_ = 0;
  std::uint32_t fenced_received_ = 0;
  std::uint32_t fenced_sent_ = 0;  // fencing, parting: what the peer can have received at most
  // What the peer says: answering: how many packets it received; emptying: how many it sent in all.
  std::uint32_t peer_count_ = 0;
  // Fences since it was drained, or since a port came back; of a closing end, what it told the peer.
  std::uint32_t fences_ = 0;
  std::uint32_t answers_ = 0;  // to fences, ever
  std::uint32_t probes_sent_ = 0;
  std::uint32_t probes_received_ = 0;
  std::uint32_t probes_wanted_ = 0;
  std::optional<std::uint64_t> test_;
  Nanoseconds stopped_ = 0;  // since when; or emptying
  Nanoseconds due_ = never;
  Nanoseconds test_pause_ = 0;  // suspected; closing: between looks
  PathHealth health_;
};

}  // namespace hawser
