// For tests only: a fabric in virtual time with clients whose memory is watched. Every write of the model
// must land in memory that the test handed out, every work request must complete exactly once, and at the end
// everything must be at rest.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/topology/makers.h"

namespace hawser::fabric::test {

// Checks that the model writes only where a buffer is, independently of the model's own checks.
class WatchedDma final : public LocalDmaPort {
 public:
  void allow(const void* start, std::size_t bytes) {
    allowed_[reinterpret_cast<std::uintptr_t>(start)] = bytes;
  }
  void forbid(const void* start) { allowed_.erase(reinterpret_cast<std::uintptr_t>(start)); }
  DmaResult copy(SpaceId to, std::span<const Piece> destination, SpaceId from,
                 std::span<const Piece> source) override {
    if (gone.contains(from)) return DmaResult::lost;
    if (gone.contains(to)) return DmaResult::destination_gone;
    watch(destination);
    return LocalDmaPort::copy(to, destination, from, source);
  }
  bool read(SpaceId from, std::span<const Piece> source, std::byte* out) override {
    return !gone.contains(from) && LocalDmaPort::read(from, source, out);
  }
  DmaResult write(SpaceId to, std::span<const Piece> destination, const std::byte* in) override {
    if (gone.contains(to)) return DmaResult::lost;
    watch(destination);
    return LocalDmaPort::write(to, destination, in);
  }
  std::uint64_t written = 0;
  std::set<SpaceId> gone;  // processes that have died without anybody noticing yet

 private:
  void watch(std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      written += piece.length;
      auto range = allowed_.upper_bound(piece.address);
      ASSERT_NE(range, allowed_.begin());
      --range;
      ASSERT_LE(piece.address + piece.length, range->first + range->second) << "a byte outside every region";
    }
  }
  std::map<std::uintptr_t, std::size_t> allowed_;
};

struct RecordedEvent {
  Nanoseconds time;
  AsyncEventType type;
  QueuePair* queue_pair;
  int port;
};

class Bed;

// A process on one adapter with one region of memory, one completion queue, and queue pairs.
class Client final : public ContextPort {
 public:
  Client(Bed& bed, Adapter& adapter, std::size_t bytes = 1 << 20, std::uint32_t completions = 4096);
  ~Client() override;

  void asynchronous_event(const AsyncEvent& event) override;
  QueuePair& create(QpType type = QpType::rc, SharedReceiveQueue* srq = nullptr, std::uint32_t depth = 256);
  int count(AsyncEventType type) const;

  // Work requests are numbered from 1; every completion is kept by number.
  std::uint64_t send(QueuePair& qp, Opcode opcode, std::uint64_t offset, std::uint32_t bytes,
                     const Client* remote = nullptr, std::uint64_t remote_offset = 0,
                     std::uint32_t flags = send_signaled);
  std::uint64_t post(QueuePair& qp, SendRequest request);
  std::uint64_t receive(QueuePair& qp, std::uint64_t offset, std::uint32_t bytes);
  std::uint64_t receive(SharedReceiveQueue& srq, std::uint64_t offset, std::uint32_t bytes);

  void collect();
  // Ends every queue pair, which flushes what waits, and checks that each work request of them has completed
  // once; that none completes twice is checked all along.
  void close_books();
  bool completed(std::uint64_t id);
  const Completion& completion(std::uint64_t id);
  CompletionStatus status(std::uint64_t id) { return completion(id).status; }
  Nanoseconds completion_time(std::uint64_t id) { return times[id]; }
  std::byte* at(std::uint64_t offset) { return memory.data() + offset; }
  void fill(std::uint64_t offset, std::size_t bytes, int seed);
  bool same(std::uint64_t offset, const Client& other, std::uint64_t other_offset, std::size_t bytes) const {
    return std::memcmp(memory.data() + offset, other.memory.data() + other_offset, bytes) == 0;
  }

  Bed& bed;
  Adapter& adapter;
  Context* context;
  std::vector<std::byte> memory;
  ProtectionDomain* domain;
  MemoryRegion* region = nullptr;
  std::uint32_t key = 0;  // of the region; known to others even when this client is gone
  std::unique_ptr<CompletionRing> ring;
  CompletionQueue* cq;
  std::vector<QueuePair*> queue_pairs;
  std::vector<RecordedEvent> events;
  std::map<std::uint64_t, Completion> completions;
  std::map<std::uint64_t, Nanoseconds> times;
  std::uint64_t next_id = 0;
  std::vector<std::uint64_t> owed;  // that must complete by the end, whatever happens
};

struct ConnectOptions {
  std::uint8_t timeout = 14;  // 67 ms
  std::uint8_t retries = 7;
  std::uint8_t rnr_retries = 7;
  std::uint8_t rnr_timer = 12;  // 0.64 ms
  std::uint8_t depth = 4;       // reads at a time
  std::uint32_t mtu = 0;        // 0: the port's
  std::uint32_t access = access_local_write | access_remote_write | access_remote_read | access_remote_atomic;
  int lid_offset = 0;  // path of both directions
  bool with_alternate = false;
  int alternate_lid_offset = 1;
  int port = 1, alternate_port = 1;
};

class Bed {
 public:
  Bed(Topology topology, Parameters parameters) {
    RoutingTables tables = build_routes(topology, parameters.lmc, {parameters.shuffle_seed}).value();
    fabric =
        std::make_unique<Fabric>(events, dma, std::move(topology), std::move(tables), std::move(parameters));
  }
  ~Bed() {
    if (fabric != nullptr) finish();
  }

  Adapter& adapter(const char* name) { return *fabric->adapter(name); }
  void inject(const char* command) {
    auto injected = fabric->inject(command);
    ASSERT_TRUE(injected) << injected.error().text;
  }
  // Runs until nothing is left to happen.
  void run() {
    while (events.fire_next()) {
    }
    fabric->check_invariants();
  }
  void run_for(Nanoseconds time) {
    events.fire_until(events.now() + time);
    fabric->check_invariants();
  }
  template <class Done>
  bool run_until(Done done) {
    while (!done()) {
      if (!events.fire_next()) return false;
    }
    return true;
  }
  void finish() {
    run();
    events.fire_until(events.now() + second);
    EXPECT_TRUE(fabric->quiescent());
  }

  SpaceId next_space = 1;
  EventQueue events;
  WatchedDma dma;
  std::unique_ptr<Fabric> fabric;
};

inline Client::Client(Bed& b, Adapter& a, std::size_t bytes, std::uint32_t completion_count)
    : bed(b), adapter(a), context(&a.open(b.next_space++, *this)), memory(bytes) {
  domain = context->create_domain();
  bed.dma.allow(memory.data(), bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uint32_t all =
      access_local_write | access_remote_write | access_remote_read | access_remote_atomic;
  EXPECT_TRUE(context->register_memory(*domain, address, bytes, address, all, &region).ok());
  key = region->key;
  ring = std::make_unique<CompletionRing>(completion_count);
  cq = context->create_completion_queue(*ring, 0);
}

inline Client::~Client() {
  if (context != nullptr) {
    bed.finish();
    close_books();
    adapter.close(*context);
  }
}

inline void Client::close_books() {
  QpAttributes to_error;
  to_error.state = QpState::err;
  for (const auto& [number, qp] : context->queue_pairs()) {
    if (qp->state() != QpState::reset) {
      EXPECT_TRUE(qp->modify(to_error, mask_state).ok());
    }
  }
  bed.finish();
  if (count(AsyncEventType::cq_error) > 0) return;  // it lost some, and said so
  for (const std::uint64_t id : owed) EXPECT_TRUE(completed(id)) << "work request " << id;
}

inline void Client::asynchronous_event(const AsyncEvent& event) {
  events.push_back({bed.events.now(), event.type, event.queue_pair, event.port});
}

inline int Client::count(AsyncEventType type) const {
  int n = 0;
  for (const RecordedEvent& event : events) n += event.type == type ? 1 : 0;
  return n;
}

inline QueuePair& Client::create(QpType type, SharedReceiveQueue* srq, std::uint32_t depth) {
  QueuePair* qp = nullptr;
  const QueuePair::Configuration configuration{.type = type,
                                               .domain = domain,
                                               .send_queue = cq,
                                               .receive_queue = cq,
                                               .shared_receive_queue = srq,
                                               .capabilities = {depth, depth, 8, 8, 256}};
  EXPECT_TRUE(context->create_queue_pair(configuration, &qp).ok());
  queue_pairs.push_back(qp);
  return *qp;
}

inline std::uint64_t Client::post(QueuePair& qp, SendRequest request) {
  request.id = ++next_id;
  const Outcome posted = qp.post_send(request);
  EXPECT_TRUE(posted.ok()) << posted.why;
  if ((request.flags & send_signaled) != 0) owed.push_back(request.id);
  return request.id;
}

inline std::uint64_t Client::send(QueuePair& qp, Opcode opcode, std::uint64_t offset, std::uint32_t bytes,
                                  const Client* remote, std::uint64_t remote_offset, std::uint32_t flags) {
  const Segment segment{reinterpret_cast<std::uintptr_t>(memory.data()) + offset, bytes, region->key};
  SendRequest request;
  request.segments = &segment;
  request.segment_count = 1;
  request.opcode = opcode;
  request.flags = flags;
  request.immediate = 0x1234;
  if (remote != nullptr) {
    request.remote_address = reinterpret_cast<std::uintptr_t>(remote->memory.data()) + remote_offset;
    request.rkey = remote->key;
  }
  return post(qp, request);
}

inline std::uint64_t Client::receive(QueuePair& qp, std::uint64_t offset, std::uint32_t bytes) {
  const Segment segment{reinterpret_cast<std::uintptr_t>(memory.data()) + offset, bytes, region->key};
  const Outcome posted = qp.post_receive({++next_id, &segment, 1});
  EXPECT_TRUE(posted.ok()) << posted.why;
  owed.push_back(next_id);
  return next_id;
}

inline std::uint64_t Client::receive(SharedReceiveQueue& srq, std::uint64_t offset, std::uint32_t bytes) {
  const Segment segment{reinterpret_cast<std::uintptr_t>(memory.data()) + offset, bytes, region->key};
  EXPECT_TRUE(srq.queue.post({++next_id, &segment, 1}).ok());
  return next_id;
}

inline void Client::collect() {
  Completion each;
  while (ring->poll(1, &each) == 1) {
    EXPECT_FALSE(completions.contains(each.id)) << "work request " << each.id << " completed twice";
    completions[each.id] = each;
    times[each.id] = bed.events.now();
  }
}

inline bool Client::completed(std::uint64_t id) {
  collect();
  return completions.contains(id);
}

// Runs the fabric until the work request has completed.
inline const Completion& Client::completion(std::uint64_t id) {
  EXPECT_TRUE(bed.run_until([&] { return completed(id); })) << "work request " << id << " never completes";
  bed.fabric->check_invariants();
  return completions[id];
}

inline void Client::fill(std::uint64_t offset, std::size_t bytes, int seed) {
  Random random(static_cast<std::uint64_t>(seed));
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(memory.data() + offset + i, &word, std::min(sizeof word, bytes - i));
  }
}

inline Lid lid_of(QueuePair& qp, int port, int offset) {
  return static_cast<Lid>(qp.adapter().port(port).lid() + offset);
}

inline AddressVector path_to(QueuePair& to, int port, int offset) {
  AddressVector path;
  path.destination_lid = lid_of(to, port, offset);
  path.source_path_bits = static_cast<std::uint8_t>(offset);
  path.port = static_cast<std::uint8_t>(port);
  if (to.adapter().services().parameters.link_layer == LinkLayer::ethernet) {
    path.is_global = true;
    path.destination_gid = to.adapter().port(port).gids()[0].gid;
  }
  return path;
}

inline void to_rts(QueuePair& qp, QueuePair& peer, const ConnectOptions& options) {
  QpAttributes a;
  a.state = QpState::init;
  a.port = static_cast<std::uint8_t>(options.port);
  a.access_flags = options.access;
  Outcome done = qp.modify(a, mask_state | mask_pkey_index | mask_port | mask_access_flags);
  ASSERT_TRUE(done.ok()) << done.why;
  const bool rc = is_reliable(qp.configuration().type);
  a.state = QpState::rtr;
  a.path = path_to(peer, options.port, options.lid_offset);
  a.path_mtu = options.mtu != 0 ? options.mtu : qp.adapter().services().parameters.mtu;
  a.destination_qp = peer.number();
  a.rq_psn = peer.number() * 77 + 0xfffff0;  // wraps soon
  a.max_dest_rd_atomic = options.depth;
  a.min_rnr_timer = options.rnr_timer;
  std::uint32_t mask = mask_state | mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn;
  if (rc) mask |= mask_max_dest_rd_atomic | mask_min_rnr_timer;
  if (options.with_alternate) {
    a.alternate_path = path_to(peer, options.alternate_port, options.alternate_lid_offset);
    a.alternate_port = static_cast<std::uint8_t>(options.alternate_port);
    a.alternate_timeout = options.timeout;
    mask |= mask_alternate_path;
  }
  done = qp.modify(a, mask);
  ASSERT_TRUE(done.ok()) << done.why;
  a.state = QpState::rts;
  a.sq_psn = qp.number() * 77 + 0xfffff0;
  a.timeout = options.timeout;
  a.retry_count = options.retries;
  a.rnr_retry = options.rnr_retries;
  a.max_rd_atomic = options.depth;
  a.migration_state = MigrationState::rearm;
  mask = mask_state | mask_sq_psn;
  if (rc) mask |= mask_timeout | mask_retry_count | mask_rnr_retry | mask_max_rd_atomic;
  if (options.with_alternate) mask |= mask_migration_state;
  done = qp.modify(a, mask);
  ASSERT_TRUE(done.ok()) << done.why;
}

inline void connect(QueuePair& a, QueuePair& b, const ConnectOptions& options = {}) {
  to_rts(a, b, options);
  to_rts(b, a, options);
}

// Two clients on the first two hosts, rail 0, connected.
struct Pair {
  explicit Pair(Bed& bed, QpType type = QpType::rc, const ConnectOptions& options = {},
                std::uint32_t depth = 256)
      : a(bed, bed.adapter("n0/hw0")),
        b(bed, bed.adapter("n1/hw0")),
        qa(&a.create(type, nullptr, depth)),
        qb(&b.create(type, nullptr, depth)) {
    connect(*qa, *qb, options);
  }
  Client a, b;
  QueuePair *qa, *qb;
};

inline Topology two_hosts() { return make_back_to_back({.hosts = 2, .rails = 1}).value(); }
inline Topology star(int hosts, int rails = 1) {
  return make_single_switch({.hosts = hosts, .rails = rails}).value();
}

// The three ways through the model: at once, packet by packet, and in coarse pieces.
inline std::vector<Parameters> speeds() {
  return {Parameters{.link_latency = microsecond}, Parameters{.link_rate = 1e9, .link_latency = microsecond},
          Parameters{.link_rate = 1e9, .link_latency = microsecond, .mtu = 1024, .chunk = 16384}};
}

}  // namespace hawser::fabric::test
