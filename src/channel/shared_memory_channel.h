// SharedMemoryChannel: carries messages between the processes of one node through a SharedSegment.
//
// Small packets are one cache line. Longer eager messages go through the ring's byte part in pieces, so that
// the receiver copies out while the sender still copies in. Large messages are exposed, and on request come
// the same way in larger pieces, which stay in the caches of both cores: both copy at once, and on one node
// that is about four times as fast as a single copy by the kernel (measured, see doc/channel.md). But it
// needs the sender's attention: a receiver that waits in vain copies straight out of the sender's memory
// (process_vm_readv), claiming chunk by chunk, so that a sender who comes late takes over the rest. And a
// sender that nobody asks writes into the receive that waits for the message, if there is one
// (posted_buffers.h).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cross_core_copy.h"
#include "base/intrusive_list.h"
#include "channel/node_load.h"
#include "channel/posted_buffers.h"
#include "channel/posted_receives.h"
#include "channel/shared_areas.h"
#include "channel/shared_remote_memory.h"
#include "channel/shared_ring.h"

namespace hawser {

class SharedMemoryChannel final : public Transport, public SharedAreas, private PostedReceives {
 public:
  // `self` is this process's place in its node, `processes` are those of the node, in ascending order,
  // `job_size` the number of processes in the job.
  // The processes may use so many `cores` together; all name the same number.
  SharedMemoryChannel(SharedSegment segment, std::int32_t self, std::vector<ProcessIndex> processes,
                      std::int32_t job_size, const Knobs& knobs, std::int32_t cores = online_cpus());
  ~SharedMemoryChannel() override;

  const char* name() const override { return "shared-memory"; }
  std::int64_t eager_limit(ProcessIndex) const override { return eager_limit_; }
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override;
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override;
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into, Completion* end) override;
  bool progress(TransportEvents& events, Nanoseconds) override { return progress_for(events); }
  bool flushed() const override;
  void give_up(ProcessIndex peer, const Error& error, TransportEvents& events) override;
  std::vector<ChannelCounter> list_counters() const override;

  RemoteMemory* remote_memory() override { return &remote_memory_; }
  PostedReceives* posted_receives() override { return single_copy_ == SingleCopy::never ? nullptr : this; }
  RingSender* ring_to(ProcessIndex peer) override {
    const auto place = static_cast<std::size_t>(peer);
    return place < senders_.size() ? senders_[place] : nullptr;
  }
  // Same as progress; with a final `Events` type its on_packet is called directly.
  template <class Events>
  bool progress_for(Events& events) {
    bool moved = poll(events);
    if (transfers_active()) [[unlikely]]
      moved |= progress_transfers(events);
    return moved;
  }

  // SharedAreas: an area is zero when first reserved.
  int place_of(ProcessIndex process) const override;
  int allocate() override;
  void release(int index) override;
  std::byte* address(int place, int index) const override { return segment_.area(place, index); }
  std::int64_t area_bytes() const override { return segment_.layout().area_bytes; }
  void wake(int place) override;
  bool crowded() const override { return crowded_; }
  CoreMates* mates() override { return load_.mates(); }

  // Looks now and then whether neighbours have died, whose launcher may not tell: reports them as lost, once
  // each. What waits for them goes on waiting, for the job ends.
  void look_around(TransportEvents& events, Nanoseconds now) override {
    if (now >= next_look_) [[unlikely]]
      look_at_some(events, now);
  }

  // For whoever waits.
  NodeLoad& load() { return load_; }
  // Its patience with senders is counted in passes.
  void note_pause(Nanoseconds pause) override {
    constexpr Nanoseconds usual_pass = 50;
    if (!fetches_.empty() || !unasked_.empty()) missed_passes_ += pause / usual_pass;
  }

 private:
  ProcessBlock& own_block() { return load_.own_block(); }

  // A long eager message travels in pieces of this size. Measured on Zen 5: pieces of 2 KiB would let the
  // receiver start sooner, but then both sides touch neighbouring lines at once and each copy runs at half
  // speed; 8 KiB arrive in 0.28 us as one piece and in 0.39 us as four.
  static constexpr std::uint32_t eager_piece = 8192;
  static_assert(eager_piece >= 4096,
                "packets that are not eager messages must come in one piece, see channel.h");
  static constexpr std::uint32_t eager_bytes_per_pass = 2 * eager_piece;

  enum Way : std::uint8_t { by_ring, by_kernel, unknown_way };  // the ways of CheaperWay
  // How large messages go, by size (class_of): from a neighbour, alone and not (ways_of); and to it: the last
  // one, and the last two that went the same way, for now and then it tries the other.
  struct LargeWays {
    CheaperWay alone[2], together[2];
    Way last[2] = {unknown_way, unknown_way};
    Way theirs[2] = {unknown_way, unknown_way};
  };
  // What this process knows of a neighbour.
  struct Peer {
    Peer(const SharedSegment& segment, std::int32_t self, std::int32_t index, ProcessIndex process,
         NeighbourWaker& waker, bool fence)
        : receiver(segment, index, self),
          sender(segment, self, index, waker, fence),
          process(process),
          index(index) {}

    RingReceiver receiver;
    RingSender sender;
    ProcessIndex process;
    std::int32_t index;  // in the node
    // The long eager message that is arriving.
    EagerSink sink;
    std::int64_t eager_size = 0;  // 0: none is arriving
    std::int64_t eager_landed = 0;
    // Large messages from this neighbour.
    enum class Copyable : std::uint8_t { unknown, yes, no };
    Copyable copyable = Copyable::unknown;
    std::int64_t quiet_passes = 0;    // since it last sent a piece
    std::unique_ptr<LargeWays> ways;  // made by the first large message
    std::int32_t fetches = 0;         // of messages from it, and
    std::int32_t streams = 0;         // of messages to it, that are under way
    std::uint32_t fetch_pass = 0;     // the pass in which a fetch from it was last looked at
    std::uint32_t stream_pass = 0;    // the pass in which its ring was found full
    // Large messages to this neighbour that it has not asked for.
    std::uint32_t unasked_passes = 0;  // since it last asked for one or took a piece
    std::uint32_t unasked_pass = 0;    // the pass in which one was last looked at
    std::uint32_t claims_from = 0;     // every message after this one, ...
    std::uint32_t claims_to = 0;       // up to this one, is for receives that they claimed themselves
    std::vector<std::pair<std::uint32_t, std::array<std::byte, Slot::inline_limit>>>
        pending;        // see send_control
    bool lost = false;  // it has failed
  };
  static_assert(sizeof(Peer) <= 448, "what an idle neighbour costs in this process's own memory");
  struct Exposed {
    Peer* peer = nullptr;  // who may ask for it; null: a free place
    ByteSequence bytes;
    Completion* end = nullptr;
    std::int64_t streamed = 0;
    std::int64_t wanted = -1;  // by the receiver; known with its first request
    std::int32_t streams = 0;
    bool claimed = false;   // the receiver asked for what is not claimed yet
    bool repeated = false;  // and for a part that it had claimed and could not copy
    bool done = false;      // says the receiver
    // For who writes it into the receive that waits for it.
    TransportHeader header;
    std::uint32_t number = 0;  // of the message in the ring
    std::optional<PostedBuffers::Found> target;
    std::int64_t written = 0;  // bytes
    std::int64_t told = 0;     // of these, those that the receiver was told of
    bool asks = false;         // the target was claimed and not finished, so the receiver will ask
    bool helps = false;        // the receiver copies it, and named the target
  };
  struct Stream {
    Peer* peer;
    std::uint32_t expose;
    std::uint32_t fetch;
    std::int64_t position;  // next byte
    std::int64_t end;       // of what is claimed
    std::int64_t size;      // of the whole transfer
    bool claims;            // more from the receiver's SharedTransfer; else [position, end) is all
    bool last_claimed = false;
  };
  struct Fetch {
    ListLink link;
    Peer* peer = nullptr;
    std::uint32_t expose = 0;
    std::uint64_t address = 0;  // in the sender's memory; 0: not in one piece there
    ByteSequence into;
    Completion* end = nullptr;
    std::int64_t arrived = 0;
    std::int32_t number = -1;  // -1: waits for one, or of no bytes
    bool by_kernel = false;    // copied from here at once
    bool helped = false;       // the sender was asked to copy, too
    bool copied_here = false;  // some of it, so the sender must be told
    bool pulled = false;       // the sender was asked
    bool written = false;      // or has written it all unasked, and will say so
    bool left = false;         // and will not touch the transfer any more
    bool all_claimed = false;
    bool reported = false;
    bool mirrored = false;      // as the other end chose
    bool sums = false;          // what both ends copy, their times add up
    std::int32_t sources = 1;   // neighbours whose messages are under way, too, when it began
    std::uint64_t begun = 0;    // when it was asked for, in ticks
    std::uint64_t copying = 0;  // when the first copy here began, in ticks
    float ring_cost = 0;        // of the sender, ticks a byte
    std::uint64_t ticks = 0;    // that copying `timed_bytes` took here
    std::int64_t timed_bytes = 0;
  };

  bool copy_from(int place, std::byte* to, std::uint64_t address, std::int64_t bytes) override;
  std::int32_t node_size() const { return static_cast<std::int32_t>(processes_.size()); }

  template <class Events>
  bool poll(Events& events);
  template <class Events>
  void drain(Peer& peer, const Slot* slot, Events& events);
  bool transfers_active() const {
    return pending_slots_ + streams_.size() + unasked_.size() > 0 || !fetches_.empty() ||
           !without_number_.empty() || !refused_.empty() || remote_memory_.pending();
  }
  bool progress_transfers(TransportEvents& events);
  void admit_senders();

  void look_at_some(TransportEvents& events, Nanoseconds now);

  // shared_loss.cpp
  // Nothing can be had of a neighbour that has failed.
  bool refuses(const Peer& peer, Completion* end) {
    if (peer.lost) [[unlikely]]
      refused_.push_back(end);
    return peer.lost;
  }
  void tell_refused();
  void read_last_words(Peer& peer, TransportEvents& events);
  void end_sends(Peer& peer, const Error& error);
  void end_fetches(Peer& peer, const Error& error);

  // shared_memory_channel.cpp: packets
  void receive_other(Peer& peer, const Slot& slot, TransportEvents& events);
  // The neighbour's ring holds nonsense: nothing is taken from it any more.
  [[gnu::cold]] static void refuse(Peer& peer, std::string what, TransportEvents& events);
  static std::string bad_place(const Piece& piece);
  void receive_served(Peer& peer, const Slot& slot, TransportEvents& events);
  void land_eager(Peer& peer, const Piece& piece, TransportEvents& events);
  void send_control(Peer& peer, std::uint32_t format, const void* payload, std::size_t size);
  bool try_control(Peer& peer, std::uint32_t format, const void* payload, std::size_t size);
  bool flush_pending();

  // shared_transfer.cpp: large messages
  void receive_transfer(Peer& peer, const Slot& slot, TransportEvents& events);
  void receive_data(Peer& peer, const Data& data, TransportEvents& events);
  void begin_stream(Peer& peer, const Pull& pull, TransportEvents& events);
  Exposed* exposed_to(const Peer& peer, std::uint32_t id);
  // A message that was offered to somebody is not over.
  bool offers() const { return exposed_.size() > free_exposed_.size(); }
  Fetch* fetch_from(const Peer& peer, std::uint32_t number);
  bool push_streams(TransportEvents& events);
  bool push_stream(Stream& stream, TransportEvents& events);
  bool claim_for_stream(Stream& stream, TransportEvents& events);
  void settle_exposed(std::uint32_t id);
  bool advance_fetches();
  Fetch& make_fetch(ProcessIndex process, const ExposeToken& token, const ByteSequence& into,
                    Completion* end);
  void start_fetch(Fetch& fetch);
  void ask_for(Fetch& fetch);
  std::int64_t chunk_of(std::int64_t size, bool shared) const;
  // One more is under way.
  void enter(Fetch& fetch) {
    fetches_.push_back(&fetch);
    if (fetch.peer->fetches++ == 0) ++sources_;
  }
  bool copy_chunks(Fetch& fetch);
  bool copy_chunk(Fetch& fetch, bool& more);
  void arrive(Fetch& fetch, std::int64_t bytes);
  void report_fetch(Fetch& fetch);
  void retire_if_over(Fetch& fetch);
  bool may_copy(Fetch& fetch);
  bool copyable(Peer& peer);

  // shared_ways.cpp: which way a large message goes
  bool choose_kernel(Fetch& fetch);
  static LargeWays& large_ways(Peer& peer);
  static int class_of(std::int64_t size) { return size < 256 * 1024 ? 0 : 1; }
  static CheaperWay& ways_of(const Fetch& fetch);
  // A message of this size to the neighbour goes this way.
  static void note_their_way(Peer& peer, std::int64_t size, Way way);
  float switches_of(std::int64_t size) const;
  void record_cost(const Fetch& fetch);
  void ask_for_help(Fetch& fetch);
  void send_help(Fetch& fetch);

  // shared_write.cpp: large messages that the sender writes into the receive
  int show(ProcessIndex source, const TransportHeader& header, const TransportHeader& mask,
           const ByteSequence& into) override;
  bool withdraw(int place) override;
  void take_away(int place) override;
  void fetch_shown(int place, ProcessIndex source, const ExposeToken& token, const ByteSequence& into,
                   Completion* end) override;
  void receive_wrote(Peer& peer, const Wrote& wrote, TransportEvents& events);
  bool write_unasked(TransportEvents& events);
  void begin_help(Peer& peer, const Help& help, TransportEvents& events);
  bool may_write(Exposed& exposed, std::uint32_t id);
  bool write_chunk(Exposed& exposed, std::uint32_t id, TransportEvents& events);
  void open_stream(std::uint32_t id, std::uint32_t fetch, std::int64_t position, std::int64_t bytes);
  void end_writing(Exposed& exposed, std::uint32_t id);
  void write_no_more(Exposed& exposed, std::uint32_t id, std::int64_t position, std::int64_t bytes);
  void tell_written(Exposed& exposed, bool last);
  bool patience_over(std::int64_t passes) {
    return passes > (load_.crowded() ? patience_ / crowded_passes : patience_);
  }

  std::int32_t peer_pid(const Peer& peer) const { return segment_.block(peer.index).pid; }
  Peer& peer_of(ProcessIndex process) { return *by_process_[static_cast<std::size_t>(process)]; }

  // How many passes of a process with a core of its own weigh as much as one on a crowded node.
  static constexpr std::int64_t crowded_passes = 256;
  // Through the ring, before its receiver has a turn.
  static constexpr std::int64_t pieces_in_turn = 8;
  // The kernel copies no less at a time, if there is more.
  static constexpr std::int64_t least_chunk = 64 * 1024, most_shared_chunk = 256 * 1024;
  // Smaller messages take no longer to copy than to share the work.
  static constexpr std::int64_t least_helped = 256 * 1024;
  static constexpr std::int64_t least_helped_of_many = 1024 * 1024;
  enum class SingleCopy : std::uint8_t { when_sender_is_busy, always, never };

  SharedSegment segment_;
  std::int32_t self_;
  std::vector<ProcessIndex> processes_;
  NodeLoad load_;
  NeighbourWaker waker_;
  bool fence_;
  SharedRemoteMemory remote_memory_;

  std::vector<RingSender*> senders_;          // by the job's process number; null: not served
  std::vector<Peer*> by_process_;             // likewise
  std::vector<std::unique_ptr<Peer>> peers_;  // by number in the node; null for self
  std::vector<Peer*> polled_;                 // those that have ever sent
  std::vector<std::uint64_t> known_incoming_;

  std::int64_t eager_limit_;
  std::uint32_t piece_;
  SingleCopy single_copy_;
  std::int64_t chunk_;
  std::int64_t patience_;
  std::int64_t missed_passes_ = 0;  // since the last one

  std::size_t pending_slots_ = 0;  // control packets that found no room
  std::vector<Exposed> exposed_;
  std::vector<std::uint32_t> free_exposed_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::deque<Fetch> fetch_pool_;
  std::vector<Fetch*> free_fetches_;
  std::array<Fetch*, ProcessBlock::transfers_count> fetch_by_number_{};
  std::vector<std::int32_t> free_numbers_;
  IntrusiveList<Fetch, &Fetch::link> fetches_;         // not yet reported, oldest first
  IntrusiveList<Fetch, &Fetch::link> without_number_;  // not started, for all numbers are in use
  std::int32_t sources_ = 0;                           // neighbours with a fetch
  std::int32_t targets_ = 0;                           // neighbours with a stream
  std::uint32_t pass_ = 0;
  std::uint64_t bytes_copied_ = 0;  // straight from senders' memory
  PostedBuffers posted_;
  std::vector<std::uint32_t>
      unasked_;                   // numbers of what is exposed and not asked for, with some that are over
  std::size_t next_unasked_ = 0;  // to be looked at
  std::vector<Peer*> contradictions_;  // senders of messages that met another receive than they claimed
  std::vector<Completion*> refused_;   // of what was asked of neighbours that have failed
  std::uint64_t bytes_written_ = 0;    // straight into receivers' memory
  std::uint32_t pieces_came_ = 0;      // through rings
  std::vector<bool> areas_;
  const bool crowded_;  // wherever each may run: all see it alike
  Nanoseconds next_look_ = 0;
  Nanoseconds last_look_ = 0;
  std::int32_t next_looked_at_ = 0;  // process of the node
  std::vector<bool> died_;
};

}  // namespace hawser

#include "channel/shared_memory_poll.h"
