// ModelNetwork: carries the packets of all simulated ranks at the declared cost (network_cost.h), and
// ModelChannel: one rank's way into it. The bytes are really moved, at the virtual time at which they would.
//
// Threads: one. What happens at a later time are events of the queue; a rank hears of them through
// SimulatedProcessor::notify and takes them out in Transport::progress.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/event_queue.h"
#include "base/intrusive_list.h"
#include "base/random.h"
#include "channel/transport.h"
#include "testbed/simulator/network_cost.h"
#include "testbed/simulator/trace.h"

namespace hawser {

// The processor that a rank runs on, as the network sees it.
class SimulatedProcessor {
 public:
  virtual Nanoseconds local_time() const = 0;
  // Spends processor time: the rank's own time runs ahead of the queue's.
  virtual void charge(Nanoseconds duration) = 0;
  // Lets everything happen that is due before the rank's own time; other ranks run meanwhile.
  virtual void catch_up() = 0;
  // Spends the time of completions that came while the rank computed: a processor takes them up in its next
  // pass, after what it sends before that.
  virtual void take_missed() = 0;
  // Something came for the rank; it goes on if it is parked.
  virtual void notify() = 0;
  // A pass found nothing.
  virtual void polled_in_vain() = 0;

 protected:
  ~SimulatedProcessor() = default;
};

class ModelNetwork;
class ModelChannel;

// What travels, or waits in a rank's inbox. Pooled; its buffer is kept.
class ModelPacket final : public Event {
 public:
  enum class Phase : std::uint8_t {
    head,       // on its way to the receiver's adapter
    begin,      // the first byte is in; used only for messages that are reported in pieces
    tail,       // on its way through the receiver's adapter
    request,    // a fetch on its way to the adapter of the exposed bytes
    data_head,  // fetched bytes on their way back
    data_tail,
    done,  // tells the owner of the bytes that they were fetched
  };
  explicit ModelPacket(ModelNetwork& network) : network_(network) {}
  void fire(Nanoseconds now) override;

  ModelNetwork& network_;
  Phase phase = Phase::head;
  bool in_pieces = false;
  bool begun = false;
  Nanoseconds tail_time = 0;  // when the last byte is in
  std::int32_t source = 0;
  std::int32_t destination = 0;
  TransportHeader header;
  bool offers = false;  // bytes of message_size, named by `token`
  std::vector<std::byte> payload;
  std::int64_t message_size = 0;
  Nanoseconds written = 0;  // when the sender's processor has copied all of it
  // A fetch: what it fetches, where to, and what to report. `destination` fetches from `source`.
  ExposeToken token;
  ByteSequence into;
  Completion* end = nullptr;
  EagerSink sink;  // answered by on_eager_begin
  ListLink in_inbox;
};

class ModelChannel final : public Transport {
 public:
  ModelChannel(ModelNetwork& network, SimulatedProcessor& processor, std::int32_t rank);

  const char* name() const override { return "model"; }
  std::int64_t eager_limit(ProcessIndex peer) const override;
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override;
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override;
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into, Completion* end) override;
  bool progress(TransportEvents& events, Nanoseconds now) override;
  bool flushed() const override { return exposed_now_ == 0; }
  // The rank has been killed: nothing more reaches it, and its bytes are fetched no more.
  void die();

  bool inbox_empty() const { return inbox_.empty(); }

 private:
  friend class ModelNetwork;
  struct Exposure {
    ByteSequence bytes;
    std::vector<std::byte> copy;  // where ranks do not see each other's memory
    Completion* end = nullptr;
    ProcessIndex peer = 0;
    std::uint64_t generation = 0;
    bool live = false;
  };

  ModelPacket* packet_to(ProcessIndex peer, const TransportHeader& header);
  void launch_eager(ModelPacket& packet);
  void charge_receipt(const ModelPacket& packet);
  void report(ModelPacket& packet, TransportEvents& events);
  Exposure& exposure(const ExposeToken& token);
  void give_up(ProcessIndex process, const Error& error, TransportEvents& events) override;
  bool lost(ProcessIndex process) const { return !lost_.empty() && lost_[static_cast<std::size_t>(process)]; }
  Completion* take_back(std::uint32_t number);

  ModelNetwork& network_;
  SimulatedProcessor& processor_;
  const std::int32_t rank_;
  IntrusiveList<ModelPacket, &ModelPacket::in_inbox> inbox_;
  std::vector<std::int32_t>
      on_the_way_;  // packets to each peer that it has not taken out; empty until the first
  std::vector<Exposure> exposures_;
  std::vector<std::uint32_t> free_exposures_;
  std::int32_t exposed_now_ = 0;
  std::vector<bool> lost_;                // by process; empty until the first
  std::vector<ModelPacket*> unanswered_;  // fetches
  std::vector<Completion*> refused_;      // of operations with lost processes, to be told
  bool dead_ = false;
};

class ModelNetwork {
 public:
  ModelNetwork(EventQueue& queue, Trace& trace, const NetworkCost& model,
               std::vector<std::int32_t> node_of_rank, std::uint64_t seed, bool separate_ranks = false,
               const std::optional<AreaCost>& areas = {});

  ModelChannel& add_channel(SimulatedProcessor& processor);  // of the next rank
  ModelChannel& channel(std::int32_t rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  // A duration lengthened at random, if the model has jitter.
  Nanoseconds jittered(Nanoseconds duration);

  const NetworkCost& model() const { return model_; }
  std::uint64_t messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }
  std::uint64_t in_flight() const { return in_flight_; }

 private:
  friend class ModelChannel;
  friend class ModelPacket;
  // The two ends of a rank's adapter; and of its path to the ranks of its node.
  struct Port {
    Nanoseconds send_free = 0;
    Nanoseconds receive_free = 0;
  };
  struct Ports {
    Port network, node;
  };

  // What processors copy for messages between these ranks; null: it costs them nothing.
  const MessageCopies* copies(std::int32_t a, std::int32_t b) const {
    return copies_ && same_node(a, b) ? &*copies_ : nullptr;
  }
  bool same_node(std::int32_t a, std::int32_t b) const { return node_of_rank_[a] == node_of_rank_[b]; }
  const PathCost& path(std::int32_t a, std::int32_t b) const {
    return same_node(a, b) ? model_.node : model_.network;
  }
  Port& port(std::int32_t rank, std::int32_t peer) {
    return same_node(rank, peer) ? ports_[rank].node : ports_[rank].network;
  }
  ModelPacket* take_packet();
  void give_back(ModelPacket* packet);
  // Through the sender's adapter; answers when the first byte reaches the other.
  Nanoseconds leave(std::int32_t from, std::int32_t to, std::int64_t bytes, Nanoseconds ready);
  // Through the receiver's adapter from `now`; answers when the last byte is in.
  Nanoseconds enter(std::int32_t from, std::int32_t to, std::int64_t bytes, Nanoseconds now,
                    Nanoseconds& begin);
  void advance(ModelPacket& packet, Nanoseconds now);
  void put_in_inbox(ModelPacket& packet, std::int32_t rank);
  bool goes_unanswered(ModelPacket& packet);
  void cancel(ModelPacket& packet);
  void launch(ModelPacket& packet, Nanoseconds ready);
  void launch_fetch(ModelPacket& packet, Nanoseconds ready);

  EventQueue& queue_;
  Trace& trace_;
  const std::optional<MessageCopies> copies_;  // within nodes
  const NetworkCost model_;
  const std::vector<std::int32_t> node_of_rank_;
  const bool separate_ranks_;  // each sees only its own memory, and what the network keeps
  Random random_;
  std::vector<std::unique_ptr<ModelChannel>> channels_;
  std::vector<Ports> ports_;
  // With jitter: when the last packet of a pair reached the adapter, so that none overtakes.
  std::vector<std::vector<Nanoseconds>> last_head_;
  std::deque<ModelPacket> packets_;
  std::vector<ModelPacket*> free_packets_;
  std::uint64_t messages_ = 0;
  std::int64_t bytes_ = 0;
  std::uint64_t in_flight_ = 0;  // events that will bring something to a rank
};

}  // namespace hawser
