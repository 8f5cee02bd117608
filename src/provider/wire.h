// What passes between the verbs API in a client and the session that stands for it at the fabric: calls and
// answers, and the layout of the rings in memory that both see. Inside one process they are passed by
// reference; to the emulator's daemon they are the bytes of a packet, so everything here is plain data of
// fixed layout, and both ends are of one build (`wire_version`).
//
// The rings are the adapter's queues as a program sees them: a client writes requests and reads completions
// without asking anybody. Whoever reads an index of the other side checks it against a size of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "fabric/adapter/types.h"

namespace hawser::verbs {

inline constexpr std::uint32_t wire_version = 5;
inline constexpr std::uint32_t most_channels = 4096;
inline constexpr std::uint32_t most_queue_pairs = 65536;  // of one client; doorbells have room for them

enum class Call : std::uint32_t {
  list_adapters,  // of a host; before open
  open_adapter,   // number: which of the host's
  query_port,
  query_gids,       // of a port, all
  resolve_address,  // attributes.path: whether the port there answers
  create_domain,
  destroy_domain,
  register_memory,
  change_memory,  // mask: ibv_rereg_mr_flags
  deregister_memory,
  create_window,  // number: 1 or 2, its type
  destroy_window,
  open_xrc_domain,  // file_*, flags
  close_xrc_domain,
  create_channel,  // descriptor: where completion events are written
  destroy_channel,
  create_completion_queue,
  tell_completions,  // an armed completion queue holds some already
  resize_completion_queue,
  destroy_completion_queue,
  create_shared_receive_queue,
  set_limit,
  query_shared_receive_queue,
  destroy_shared_receive_queue,
  create_queue_pair,
  open_queue_pair,  // an XRC target of another client; object: its number
  modify_queue_pair,
  query_queue_pair,
  destroy_queue_pair,
  attach_multicast,
  detach_multicast,
  query_time,
  command,  // text follows; for people's commands to the daemon
};

struct Request {
  std::uint32_t version = wire_version;
  Call call = Call::query_port;
  std::uint32_t object = 0;  // the number (key, for memory) of what the call concerns
  std::uint32_t number = 0;  // of a port, an adapter
  std::uint32_t index = 0;   // in a table
  std::uint32_t domain = 0, send_queue = 0, receive_queue = 0, shared_receive_queue = 0, channel = 0;
  std::uint32_t capacity = 0, segments = 0, limit = 0;
  std::uint32_t access = 0;
  std::uint64_t address = 0, length = 0, virtual_address = 0;
  fabric::QpType type = fabric::QpType::rc;
  std::uint32_t signal_all = 0;
  std::uint32_t mask = 0;
  fabric::QpCapabilities capabilities;
  fabric::QpAttributes attributes;
  fabric::Gid gid{};
  std::uint32_t lid = 0;
  // XRC: what an object belongs to; for a new domain, the file that it goes by.
  enum DomainFlags : std::uint32_t { has_file = 1, create = 2, exclusive = 4 };
  std::uint32_t xrc_domain = 0, flags = 0;
  std::uint64_t file_device = 0, file_inode = 0;
  std::uint64_t memory_bytes = 0;  // of the memory that comes with a queue; 0: none comes
  char host[64] = {};
};

struct PortAttributes {
  std::uint32_t active = 0, ethernet = 0;
  std::uint32_t lid = 0, lmc = 0, sm_lid = 0, sm_sl = 0;
  std::uint32_t mtu = 0, active_mtu = 0;  // bytes
  std::uint32_t gid_entries = 0;
  std::uint64_t max_message = 0;
  std::uint32_t width = 4;
  double rate = 0;  // bytes per second, 0 unlimited
};

struct AdapterAttributes {
  char name[32] = {};  // as programs see it: hw0
  std::uint64_t guid = 0;
  std::uint32_t ports = 0;
  std::uint32_t max_qp = 0, max_qp_wr = 0, max_sge = 0, max_cqe = 0, max_inline = 0;
  std::uint32_t max_srq_wr = 0, max_rd_atomic = 0;
};

inline constexpr std::uint32_t most_adapters = 16;
inline constexpr std::uint32_t most_gids = 16;

struct Reply {
  int error = 0;             // of errno.h
  std::uint32_t object = 0;  // what was created
  std::uint32_t limit = 0;
  std::uint32_t draining = 0;
  std::uint32_t text_bytes = 0;  // that follow (Call::command)
  std::uint32_t more = 0;        // another packet of text follows
  std::int64_t time = 0;         // of the fabric; or how long the call takes. In nanoseconds
  fabric::QpAttributes attributes;
  fabric::QpCapabilities capabilities;
  fabric::GidEntry gids[most_gids];
  PortAttributes port;
  std::uint32_t adapter_count = 0;
  AdapterAttributes adapters[most_adapters];
  char why[128] = {};
};

// An asynchronous event, as it is written to a client.
struct AsyncRecord {
  enum Kind : std::uint32_t { device, port, queue_pair, completion_queue, shared_receive_queue };
  std::uint32_t type = 0;  // fabric::AsyncEventType
  Kind kind = device;
  std::uint32_t number = 0;
};

// A completion event names the completion queue by its number.
using CompletionRecord = std::uint32_t;

// ---- rings ----

inline constexpr std::size_t cache_line = 64;

// Counts of entries ever written and taken; free-running, so full and empty differ.
struct RingIndices {
  alignas(cache_line) std::atomic<std::uint64_t> produced{0};
  alignas(cache_line) std::atomic<std::uint64_t> consumed{0};
  // Requests that no longer take up room in the queue as the program counts it: completed, or for receives
  // matched.
  std::atomic<std::uint64_t> retired{0};
};

struct SendSlot {
  std::uint64_t id, remote_address, compare_add, swap;
  std::uint32_t opcode, flags, immediate, rkey;
  std::uint32_t segment_count, inline_length;
  std::uint32_t remote_qp, remote_qkey;
  std::uint32_t remote_srq, invalidate_key;
  std::uint32_t window_key, region_key;
  std::uint64_t window_length, window_access;
  fabric::AddressVector path;
  // Segments follow, or inline bytes.
};

struct ReceiveSlot {
  std::uint64_t id;
  std::uint64_t segment_count;
  // Segments follow.
};

struct QueuePairHeader {
  RingIndices sends, receives;
  // A doorbell is on its way: set by the client, cleared by the session before it looks.
  alignas(cache_line) std::atomic<std::uint32_t> rung{0};
  // Receives are wanted at once (the queue pair flushes them), not when a message comes.
  std::atomic<std::uint32_t> eager{0};
};

struct ReceiveQueueHeader {
  RingIndices receives;
};

struct CompletionQueueHeader {
  enum Armed : std::uint32_t { quiet, any, solicited };
  RingIndices entries;
  alignas(cache_line) std::atomic<std::uint32_t> armed{quiet};
  // Entries up to here were told of by an event, read or not: they do not make another.
  std::atomic<std::uint64_t> told{0};
};

// Slots of one size in a power of two: `most` of them may be in use.
struct RingShape {
  std::size_t offset = 0;
  std::size_t stride = 0;
  std::uint64_t slots = 0;

  RingShape() = default;
  RingShape(std::size_t begin, std::size_t slot_bytes, std::uint64_t most)
      : offset((begin + cache_line - 1) & ~(cache_line - 1)),
        stride((slot_bytes + 15) & ~std::size_t{15}),
        slots(std::bit_ceil(std::max<std::uint64_t>(most, 1))) {}
  std::byte* slot(std::byte* memory, std::uint64_t count) const {
    return memory + offset + (count & (slots - 1)) * stride;
  }
  std::size_t end() const { return offset + stride * slots; }
};

struct QueuePairShape {
  RingShape sends, receives;
  QueuePairShape() = default;
  explicit QueuePairShape(const fabric::QpCapabilities& caps)
      : sends(sizeof(QueuePairHeader),
              sizeof(SendSlot) +
                  std::max<std::size_t>(caps.max_send_sge * sizeof(fabric::Segment), caps.max_inline_data),
              caps.max_send_wr),
        receives(sends.end(), sizeof(ReceiveSlot) + caps.max_recv_sge * sizeof(fabric::Segment),
                 caps.max_recv_wr) {}
  std::size_t bytes() const { return receives.end(); }
};

inline RingShape receive_queue_shape(std::uint32_t capacity, std::uint32_t segments) {
  return {sizeof(ReceiveQueueHeader), sizeof(ReceiveSlot) + segments * sizeof(fabric::Segment), capacity};
}

// A received message of at most so many bytes may leave its data in the ring, and who polls puts them in
// their place: two copies in memory that both ends see take much less time than one into another process's
// memory.
inline constexpr std::uint32_t most_carried = 256;

struct CompletionEntry {
  fabric::Completion completion;
  std::uint64_t carried_address = 0;
  std::uint64_t carried_bytes = 0;  // 0 when they are in their place
};

// Entries, and for each a slot for data, apart so that entries stay close to each other.
struct CompletionQueueShape {
  RingShape entries, carried;
  CompletionQueueShape() = default;
  explicit CompletionQueueShape(std::uint32_t capacity)
      : entries(sizeof(CompletionQueueHeader), sizeof(CompletionEntry), capacity),
        carried(entries.end(), most_carried, capacity) {}
  std::size_t bytes() const { return carried.end(); }
};

}  // namespace hawser::verbs
