// Packet: what crosses the network, and its own event of arriving. Payload travels by reference: a packet
// names the sender's memory, and the bytes are copied once, when it is delivered. That is sound while the
// sender may not touch its buffer; where it may (UC, UD, atomics, inline, a queue pair that leaves the
// working states) the packet holds the bytes themselves.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/event_queue.h"
#include "base/intrusive_list.h"
#include "fabric/adapter/dma_port.h"
#include "fabric/adapter/types.h"

namespace hawser::fabric {

class Network;
struct Train;

// Ports of the whole fabric in one numbering: node's first port + port number.
using PortIndex = std::uint32_t;
inline constexpr PortIndex no_port_index = UINT32_MAX;

enum class PacketKind : std::uint8_t {
  send,             // part of a send (all transports)
  write,            // part of an RDMA write
  read_request,     // asks for `length` bytes
  read_response,    // part of the answer
  atomic_request,   // compare-and-swap or fetch-and-add
  atomic_response,  // the old value
  acknowledge,      // positive, receiver not ready, or negative
};

enum class Syndrome : std::uint8_t {
  positive,
  receiver_not_ready,      // carries the timer code
  sequence_error,          // a packet is missing: resend from psn
  invalid_request,         // NAK: the request makes no sense here
  remote_access_error,     // NAK: key, bounds or rights
  remote_operation_error,  // NAK: the responder has a fault of its own
  lost,                    // never sent: the packet counts as not having come
};

struct Payload {
  static constexpr std::size_t most_pieces = 4;  // a longer list is copied into `bytes`
  SpaceId space = 0;
  std::uint8_t piece_count = 0;
  std::uint64_t size = 0;
  std::array<Piece, most_pieces> pieces;
  std::shared_ptr<const std::vector<std::byte>> bytes;  // set: holds the payload itself; pieces are not used
  std::uint64_t bytes_offset = 0;                       // where in `bytes` the payload begins
};

// What a clone of a packet has in common with it, and what a reused packet is cleared of.
struct PacketBody {
  // ---- set by the network ----
  PortIndex at = no_port_index;    // the port it arrives at, or waits behind
  PortIndex wire = no_port_index;  // the port it left last
  std::uint32_t link_epoch = 0;    // of that wire when it left
  Nanoseconds head = 0;            // when its first byte is there
  Nanoseconds tail = 0;            // when its last byte is there, if nobody gets in its way until then
  bool in_buffer = false;          // holds space in the input buffer of `at`
  bool delayed = false;            // waits in a switch, so that a faster wire need not wait for its tail
  bool between = false;            // left between packets of a train, whose others come behind it
  bool after_turn = false;         // of an adapter's: not before the train that it passes has had a turn
  bool processing = false;         // in the receive engine

  // ---- routing ----
  Lid source_lid = 0;
  Lid destination_lid = 0;
  PortIndex source_port = no_port_index;
  std::uint8_t service_level = 0;
  std::uint8_t lane = 0;
  std::uint32_t wire_bytes = 0;
  bool congestion_marked = false;  // ECN: met a queue on its way
  bool congestion_echo = false;    // in an acknowledgement: what it answers was marked
  bool has_grh = false;
  Gid source_gid{};
  Gid destination_gid{};
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;

  // ---- transport ----
  PacketKind kind = PacketKind::send;
  QpType transport = QpType::rc;
  std::uint32_t destination_qp = 0;
  std::uint32_t source_qp = 0;
  std::uint32_t psn = 0;        // of its first MTU
  std::uint32_t psn_count = 1;  // MTUs in it: more than one when chunks are coarse
  std::uint32_t mtu = 0;        // of the path, where there is more than one of them in the packet
  bool first = false;           // of its message
  bool last = false;
  bool acknowledge_request = false;
  bool solicited = false;
  bool with_immediate = false;
  bool migrated = true;  // MigReq: the sender's path migration state is MIGRATED
  bool retried = false;  // sent before; only for counting
  std::uint32_t immediate = 0;
  bool with_invalidate = false;  // of a window at the receiver
  std::uint32_t invalidate_key = 0;
  std::uint32_t qkey = 0;
  std::uint32_t shared_queue = 0;    // XRC: for which shared receive queue
  std::uint64_t remote_address = 0;  // of the first byte in this packet
  std::uint32_t rkey = 0;
  std::uint64_t offset = 0;  // of this packet in its message
  std::uint64_t length = 0;  // bytes in this packet; in a read request, bytes asked for
  std::uint64_t message_length = 0;
  bool compare = false;  // atomic request: compare-and-swap, else fetch-and-add
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint64_t atomic_result = 0;
  Syndrome syndrome = Syndrome::positive;
  std::uint8_t rnr_timer = 0;
  bool corrupted = false;  // by a fault: delivered with a byte changed

  Payload payload;

  // What it stays in order with: its queue pair's requests, or its answers.
  std::uint32_t stream() const { return source_qp << 1 | (answers() ? 1 : 0); }
  static constexpr std::uint32_t queue_pair_of(std::uint32_t stream) { return stream >> 1; }
  bool answers() const {
    return kind == PacketKind::read_response || kind == PacketKind::atomic_response ||
           kind == PacketKind::acknowledge;
  }

  // As how many packets it counts on the wire. (A read request has a PSN for each packet of the answer.)
  std::uint32_t units() const { return mtu != 0 ? psn_count : 1; }
};

struct Packet final : Event, PacketBody {
  explicit Packet(Network& owner) : network(owner) {}
  void fire(Nanoseconds now) override;

  Network& network;
  Packet* next = nullptr;   // in an input buffer, or in the list of free packets
  Train* train = nullptr;   // as which its end still leaves a port behind it
  ListLink in_flight_link;  // in the list of its sender's packets that refer to memory
};

using InFlightList = IntrusiveList<Packet, &Packet::in_flight_link>;

// A first-in first-out list through Packet::next.
class PacketFifo {
 public:
  bool empty() const { return head_ == nullptr; }
  Packet* front() const { return head_; }
  Packet* back() const { return tail_; }  // unless it is empty
  std::uint32_t size() const { return size_; }
  void push(Packet* packet) {
    packet->next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = packet;
    tail_ = packet;
    ++size_;
  }
  void push_behind(Packet* position, Packet* packet) {
    packet->next = position->next;
    position->next = packet;
    if (tail_ == position) tail_ = packet;
    ++size_;
  }
  Packet* pop() {
    Packet* packet = head_;
    if (packet == nullptr) return nullptr;
    head_ = packet->next;
    packet->next = nullptr;
    --size_;
    return packet;
  }

 private:
  Packet* head_ = nullptr;
  Packet* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace hawser::fabric
