// SharedSegment: the memory that the processes of one node share, and where everything stands in it.
//
//   header | a block per process | collective areas of each process | a ring per ordered pair of processes
//          | for each lane for threads: a block per process | a ring per ordered pair
//
// All zeros is the valid initial state of everything here, so a process may write to a neighbour that has not
// started yet, nobody has to wait for anybody, and untouched parts cost no memory. Every process computes
// the same layout from the same settings; a number in the header makes sure of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/knobs.h"
#include "channel/port_use.h"
#include "channel/transport.h"
#include "os/shared_memory.h"

namespace hawser {

inline constexpr std::size_t cache_line = 64;
inline constexpr std::int32_t max_node_processes = 1024;

// One message in one cache line: it crosses between cores in one transfer. Longer payloads stand in the
// ring's byte part and the slot tells where.
struct alignas(cache_line) Slot {
  static constexpr std::uint32_t inline_limit = 36;
  // What header.channel_word says; values up to inline_limit are the size of an inline packet.
  enum Format : std::uint32_t {
    packet = 64,  // payload: Piece; a packet in the byte part
    eager_begin,  // payload: EagerBegin; the first piece of a long eager message
    eager_more,   // payload: Piece; the next one
    expose,       // payload: ExposeToken
    pull,         // payload: Pull; a receiver wants what we exposed
    help,         // payload: Help; it copies that itself, and we may write parts of it
    data,         // payload: Data; a piece of what we wanted
    left,         // payload: Left; the sender of a transfer will not touch it any more
    done,         // payload: Done; the receiver has all it wanted of what we exposed
    serve,        // payload: ServedCommand, then the bytes of a put or, if they are more, their Piece
    wrote,        // payload: Wrote; what the sender wrote into the receive itself
  };

  TransportHeader header;
  std::byte payload[inline_limit];
  // The number of the message, counted from 1 over the life of the ring: the slot holds message n exactly
  // when it says n, so nothing is ever cleared and there is no tail to read. It wraps after all laps of the
  // ring are distinct (the number of slots divides 2^32).
  std::atomic<std::uint32_t> stamp;
};
static_assert(sizeof(Slot) == cache_line, "a message must be one cache line");
static_assert(offsetof(Slot, payload) % 8 == 0, "payload words are stored aligned");

// What stands in Slot::payload for the formats above.
struct Piece {
  std::uint32_t offset;  // in the byte part
  std::uint32_t size;
};
struct EagerBegin {
  Piece piece;
  std::int64_t message_size;
};
struct Pull {
  std::uint32_t expose;
  std::uint32_t fetch;    // also the index of the SharedTransfer in the receiver's block
  std::int64_t position;  // -1: all parts that the sender can claim; else just [position, position + size)
  std::int64_t size;
  std::int64_t wanted;  // bytes of the whole transfer
};
struct Help {
  std::uint32_t expose;
  std::uint32_t fetch;
  std::uint64_t address;  // in the receiver's memory
  std::int64_t wanted;
};
struct Data {
  Piece piece;
  std::int64_t position;
  std::uint32_t fetch;
  std::uint32_t last;  // 1: the sender is through, nothing was left to claim
  float cost;          // of copying into the ring, in ticks a byte; 0: not known
};
struct Left {
  std::uint32_t fetch;
};
struct Done {
  std::uint32_t expose;
};
struct Wrote {
  std::uint32_t fetch;
  std::uint32_t last;  // 1: that is all, and the receiver need not ask for anything
  std::int64_t bytes;
};
// A put or get of few bytes that the receiver is to carry out (served_operations.h).
struct ServedCommand {
  std::int64_t offset;
  std::uint32_t window;
  std::uint16_t size;
  std::uint8_t put;     // 0: a get
  std::uint8_t answer;  // of a get: where the bytes go
};
static_assert(sizeof(Data) <= Slot::inline_limit && sizeof(Help) <= Slot::inline_limit &&
              sizeof(Pull) <= Slot::inline_limit && sizeof(ExposeToken) <= Slot::inline_limit);

// The parts of a large message are claimed here by whoever moves them: the sender through the ring, or the
// receiver straight out of the sender's memory.
struct alignas(cache_line) SharedTransfer {
  std::atomic<std::int64_t> claimed;  // bytes
};

// A receive that waits, and that its sender may fill (posted_buffers.h). Written by its owner, except for the
// claim in `state`.
struct alignas(cache_line) PostedBuffer {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> order;  // of posting
  std::atomic<std::int32_t> source;  // its place in the node
  std::atomic<std::uint32_t> transfer;
  std::atomic<std::uint64_t> address;
  std::atomic<std::int64_t> size;
  std::atomic<std::uint64_t> header[3];  // of a message that it takes, where `mask` has ones
  std::atomic<std::uint64_t> mask[3];
};

// What a process waits for (core_mates.h): a word of the segment that will be `value` or beyond. 0: it says
// nothing.
struct Awaited {
  std::atomic<std::int64_t> offset;
  std::atomic<std::uint32_t> value;
};

// What the others see of one process. The lines are apart by who writes them and how often.
struct ProcessBlock {
  static constexpr std::uint32_t transfers_count = 60;
  static constexpr int posted_count = 16;

  // 0 awake, 1 asleep on this futex, 2 asleep on descriptors (wake by a datagram to `wake_address`).
  // Read at every send to the process, written only around sleeps.
  alignas(cache_line) std::atomic<std::uint32_t> sleeping;
  // 1: it waits, and looks at its rings without pause. Others clear it when they find that it does not.
  alignas(cache_line) std::atomic<std::uint32_t> attentive;
  // Where processes share cores; only those on its core look at what it waits for.
  alignas(cache_line) Awaited awaited;
  alignas(cache_line) std::atomic<std::int32_t> core;  // the one that it runs on, and 1
  // Which neighbours have ever sent: only their rings are polled.
  alignas(cache_line) std::atomic<std::uint64_t> incoming[max_node_processes / 64];
  // Set once before the first packet is sent (transfers between processes need it).
  alignas(cache_line) std::atomic<std::uint64_t> present;  // random, not 0
  pid_t pid;
  ProcessIdentity identity;
  CpuSet cpus;                  // where it may run
  std::uint64_t block_address;  // of this ProcessBlock in its owner's address space
  // How many lanes for threads it has (message/message_lane.h), and 1; 0: it has not started yet.
  std::atomic<std::int32_t> lanes;
  // 1: it has left the job, and may end. Who ends without has died.
  alignas(cache_line) std::atomic<std::uint32_t> left;
  alignas(cache_line) char wake_address[64];
  alignas(cache_line) SharedTransfer transfers[transfers_count];
  alignas(cache_line) std::atomic<std::uint64_t> posted_version;  // odd while posted receives change
  PostedBuffer posted[posted_count];
};
static_assert(sizeof(ProcessBlock) <= 2 * 4096);

// A trial: whether this process can copy from the memory of the neighbour that has the block. It reads a
// number that is known from the block itself, and fails where the kernel forbids it and in other containers.
bool can_copy_from(const ProcessBlock& neighbour);
// The place of a process among those of the node, in order; -1: it is on another node.
int place_among(const std::vector<ProcessIndex>& processes, ProcessIndex process);

// Stands before the slots of each ring; written by the consumer, read by the producer when its credit is used
// up.
struct RingControl {
  // What the consumer has taken: bytes in the upper half, slots in the lower, both counted over the ring's
  // life.
  alignas(cache_line) std::atomic<std::uint64_t> taken;
  // How many messages it had looked at when it last posted or met a PostedBuffer for this producer.
  std::atomic<std::uint32_t> looked_at;
};

// Beside each ring, for the puts and gets that the consumer carries out: operations are numbered from 1, in
// the order in which they stand in the ring.
struct ServedArea {
  static constexpr int answers = 8;
  static constexpr std::int64_t answer_bytes = cache_line;

  // By the producer: none up to this one is to be carried out that has not begun.
  alignas(cache_line) std::atomic<std::uint64_t> withdrawn;
  // By the consumer.
  alignas(cache_line) std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> done;
  alignas(cache_line) std::byte answer[answers][answer_bytes];
};

struct SegmentLayout {
  std::int32_t processes = 1;
  std::uint32_t ring_slots = 0;  // powers of two
  std::uint32_t ring_bytes = 0;
  std::int32_t areas = 0;  // per process
  std::int64_t area_bytes = 0;

  std::int64_t blocks_offset = 0;
  std::int64_t areas_offset = 0;
  std::int64_t rings_offset = 0;
  std::int64_t ring_stride = 0;
  std::int32_t lanes = 0;
  std::int64_t lanes_offset = 0;
  std::int64_t lane_stride = 0;
  std::int64_t total_bytes = 0;

  static SegmentLayout plan(std::int32_t processes, const Knobs& knobs);
  std::uint64_t checksum() const;
};

class SharedSegment {
 public:
  static Result<SharedSegment> map(int fd, const SegmentLayout& layout);

  const SegmentLayout& layout() const { return layout_; }
  // The blocks and rings of a lane, 1 to layout().lanes, as a segment without areas.
  SharedSegment lane(int number) const;
  ProcessBlock& block(std::int32_t process) const;
  NodePorts& ports() const;
  std::byte* area(std::int32_t process, std::int32_t index) const;
  RingControl& ring_control(std::int32_t from, std::int32_t to) const;
  ServedArea& served_area(std::int32_t from, std::int32_t to) const;
  Slot* ring_slots(std::int32_t from, std::int32_t to) const;
  std::byte* ring_bytes(std::int32_t from, std::int32_t to) const;
  std::int64_t offset_of(const void* place) const;
  // Null: there can be no word.
  const std::atomic<std::uint32_t>* word_at(std::int64_t offset) const;

 private:
  std::byte* ring(std::int32_t from, std::int32_t to) const;

  SegmentLayout layout_;
  std::shared_ptr<const SharedMapping> mapping_;  // copies of a segment share it
};

}  // namespace hawser
