// RemoteWindows: the one-sided part of rails (channel/remote_memory.h): windows of this process's memory that
// others reach into, and puts and gets into theirs, by RDMA write and read over all rails, without the
// owner's attention. Nothing is ordered; a flush is over when every put before it was confirmed
// (put_confirmations.h) and every get has landed.
//
// A put's bytes are the caller's again when they were confirmed, because until then they may have to be
// written once more; or at once if they are few, for these are copied.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "channel/remote_memory.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/upward.h"
#include "rails/protocol/remote_operation.h"
#include "rails/protocol/window_token.h"

namespace hawser {

class RemoteWindows final : public RemoteMemory, private PacketHandler, private StripeOwner {
 public:
  RemoteWindows(RailContext& context, RailResources& resources, StripeEngine& stripes, PeerTable& peers,
                Upward& upward);

  RemoteCapabilities capabilities(ProcessIndex process) const override;
  Result<WindowToken> register_window(std::byte* memory, std::int64_t size) override;
  void unregister_window(const WindowToken& window) override;
  bool try_put(ProcessIndex process, const RemotePlace& to, const ByteSequence& from, TrafficClass traffic,
               Completion* end) override {
    return try_begin(puts_, process, to, from, traffic, end);
  }
  bool try_get(ProcessIndex process, const RemotePlace& from, const ByteSequence& into, TrafficClass traffic,
               Completion* end) override {
    return try_begin(gets_, process, from, into, traffic, end);
  }
  // Never called: no atomic operation is among the capabilities.
  bool try_atomic(ProcessIndex, const RemotePlace&, const AtomicRequest&, std::uint64_t&,
                  Completion*) override {
    HAWSER_UNREACHABLE();
  }
  void flush(ProcessIndex process, Completion& end) override;

  // Posts and sends what can be, and reports what ended.
  bool progress();
  // Ends everything that is under way with the peer with this error. Nothing of it is in flight any more.
  void abandon(VirtualChannel& peer, const Error& error);
  // Whether anything goes on that has to do with the peer.
  bool concerns(const VirtualChannel& peer) const;
  // As in Rendezvous.
  void on_device_closed(std::size_t device);
  void on_device_opened(std::size_t device);

  std::int32_t live() const { return puts_.live() + gets_.live(); }
  bool moving() const { return live() > 0 || !untold_.empty() || !to_send_.empty(); }
  bool flushed() const { return !moving(); }
  void check_invariants() const;

 private:
  struct Window {
    Registration memory;
    TransferName name;
    std::int64_t size = 0;
    bool open = false;
  };
  using PiecesList = IntrusiveList<RemoteOperation, &RemoteOperation::pieces_link>;
  struct Untold {
    Completion* end;
    Result<> result;
  };
  struct KeyPacket {
    ProcessIndex process;
    TransferName window;
    bool answer;
  };

  void on_packet(const ReceivedPacket& packet) override;
  void on_keys(VirtualChannel& peer, const WindowKeysBody& body);
  bool prepare(StripedTransfer& transfer) override;
  void on_done(StripedTransfer& transfer, const ByteRange& range) override;
  void on_failed(StripedTransfer& transfer) override;
  void on_confirmed(StripedTransfer& transfer, const ByteRange& range) override;
  void on_stopped(StripedTransfer& transfer) override;
  void on_keys_wanted(StripedTransfer& transfer) override;

  bool try_begin(OperationPool& pool, ProcessIndex process, const RemotePlace& place,
                 const ByteSequence& bytes, TrafficClass traffic, Completion* end);
  bool usable_anywhere(const Registration& local) const;
  PacketBuffer* take_buffer(std::int64_t size, bool& small);
  RemoteOperation& make(OperationPool& pool, VirtualChannel& peer, TrafficClass traffic,
                        const ByteSequence& bytes);
  bool move_pieces();
  bool room_for_piece(const RemoteOperation& whole);
  bool begin_piece(RemoteOperation& whole);
  RemoteOperation* make_copied(RemoteOperation& whole, std::int64_t first, std::int64_t most);
  RemoteOperation* make_listed(RemoteOperation& whole, std::int64_t first, std::int64_t most);
  void hand_back(RemoteOperation& piece);
  void refuse(RemoteOperation& operation, const Error& error);
  void end_if_over(RemoteOperation& operation);
  void end_piece(RemoteOperation& piece);
  void release(RemoteOperation& operation);
  void end_batches(PeerOperations& own);
  PeerOperations& operations_with(const VirtualChannel& peer);
  Window* find(const TransferName& name);
  RemoteBytes keys_of(const Window& window) const;
  bool send(const KeyPacket& packet);
  bool send_keys();

  RailContext& context_;
  RailResources& resources_;
  StripeEngine& stripes_;
  PeerTable& peers_;
  const Upward& upward_;
  const std::int64_t largest_light_;  // operation, which is copied
  std::deque<Window> windows_;
  std::vector<std::uint32_t> free_windows_;
  OperationPool puts_{Direction::write};
  OperationPool gets_{Direction::read};
  std::vector<std::unique_ptr<PeerOperations>> with_;  // by process; null: never any
  std::vector<VirtualChannel*> flushing_;
  PiecesList in_pieces_;
  std::deque<Untold> untold_;
  std::deque<KeyPacket> to_send_;
};

}  // namespace hawser
