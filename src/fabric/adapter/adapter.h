// Adapter: a channel adapter with its ports and all objects of its clients. Everything happens on the thread
// that runs the event queue, either in an event or in a call from the owner of a client; calls act at
// EventQueue::now(), so in real time the queue must be brought up to date (fire_until) before calling.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"
#include "fabric/adapter/adapter_port.h"
#include "fabric/adapter/memory.h"
#include "fabric/adapter/objects.h"
#include "fabric/adapter/queue_pair.h"
#include "fabric/adapter/xrc_domains.h"
#include "fabric/network/network.h"

namespace hawser::fabric {

class Adapter;

// Takes the datagrams to queue pair 1, on which a subnet's administrator is asked (subnet_manager.h).
class ManagementPort {
 public:
  virtual void receive(Adapter& at, const Packet& packet) = 0;  // the packet stays the caller's

 protected:
  ~ManagementPort() = default;
};
inline constexpr std::uint32_t management_qp = 1;

// What all adapters of a fabric share.
struct FabricServices {
  EventQueue& events;
  Network& network;
  DmaPort& dma;
  Random& random;
  Trace& trace;
  const Parameters& parameters;
  const Topology& topology;
  const RoutingTables& tables;
  std::map<GidEntry, PortName>& gids;  // who owns a GID, in the whole fabric
  std::map<Gid, Lid>& multicast_lids;  // of multicast GIDs that were asked for
  ManagementPort& management;
};

// Of a group whose GID this is; always the same one.
Lid multicast_lid(const FabricServices& services, const Gid& group);

// One client of an adapter: a process that opened the device. Owns the client's objects.
class Context {
 public:
  Context(Adapter& adapter, SpaceId space, ContextPort& port, std::uint32_t number);
  ~Context();

  // Its adapter died: nothing made in it works any more, also when the adapter comes back, which serves only
  // those that open it anew. Queue pairs can still be flushed, and everything be destroyed.
  bool defunct() const { return defunct_; }
  void set_defunct() { defunct_ = true; }

  ProtectionDomain* create_domain();
  Outcome destroy_domain(ProtectionDomain* domain);  // EBUSY while in use; so do the others

  Outcome register_memory(ProtectionDomain& domain, std::uint64_t address, std::uint64_t length,
                          std::uint64_t virtual_address, std::uint32_t access, MemoryRegion** out);
  Outcome deregister_memory(MemoryRegion& region);  // EBUSY while windows are bound to it; so does changing
  // Other memory, rights or another domain (null: the same) under the same key.
  struct MemoryChange {
    ProtectionDomain* domain = nullptr;
    bool translation = false;  // the next three are given
    std::uint64_t address = 0, length = 0, virtual_address = 0;
    bool rights = false;
    std::uint32_t access = 0;
  };
  Outcome change_memory(MemoryRegion& region, const MemoryChange& change);
  Outcome create_window(ProtectionDomain& domain, MemoryRegion::Kind kind, MemoryRegion** out);
  void destroy_window(MemoryRegion& window);

  CompletionQueue* create_completion_queue(CompletionPort& port, std::uint64_t cookie);
  Outcome destroy_completion_queue(CompletionQueue* queue);

  Outcome create_shared_receive_queue(ProtectionDomain& domain, std::uint32_t capacity,
                                      std::uint32_t segments, std::uint64_t cookie, SharedReceiveQueue** out);
  // XRC domains are numbers that the owner gives out per adapter (processes share one by opening the same
  // file); not 0. The queue's completions go to `completions`.
  Outcome create_xrc_receive_queue(ProtectionDomain& domain, std::uint32_t capacity, std::uint32_t segments,
                                   std::uint64_t cookie, std::uint32_t xrc_domain,
                                   CompletionQueue& completions, SharedReceiveQueue** out);
  Outcome set_limit(SharedReceiveQueue& queue, std::uint32_t limit);
  Outcome destroy_shared_receive_queue(SharedReceiveQueue* queue);

  Outcome create_queue_pair(const QueuePair::Configuration& configuration, QueuePair** out);
  // Shares the XRC target of another client of the same XRC domain. It lives until its last opener has
  // destroyed it, or has ended.
  Outcome open_queue_pair(std::uint32_t number, std::uint32_t xrc_domain, QueuePair** out);
  Outcome destroy_queue_pair(QueuePair* queue_pair);

  Adapter& adapter() const { return adapter_; }
  SpaceId space() const { return space_; }
  ContextPort& port() const { return port_; }
  std::uint32_t number() const { return number_; }
  const std::map<std::uint32_t, std::unique_ptr<QueuePair>>& queue_pairs() const { return queue_pairs_; }
  void check_invariants() const;

 private:
  friend class Adapter;
  void release_xrc(SharedReceiveQueue& queue);
  bool hand_over(QueuePair& queue_pair);
  bool may_lock(std::uint64_t more) const;  // bytes, by the fabric's parameter

  Adapter& adapter_;
  SpaceId space_;
  ContextPort& port_;
  std::uint32_t number_;
  std::uint32_t next_number_ = 1;
  std::map<std::uint32_t, std::unique_ptr<ProtectionDomain>> domains_;
  bool defunct_ = false;
  std::map<std::uint32_t, MemoryRegion*> regions_;  // by key
  std::uint64_t locked_ = 0;                        // bytes of their pages
  std::map<std::uint32_t, MemoryRegion*> windows_;  // by the part of the key that stays
  std::map<std::uint32_t, std::unique_ptr<CompletionQueue>> completion_queues_;
  std::map<std::uint32_t, std::unique_ptr<SharedReceiveQueue>> shared_receive_queues_;
  std::map<std::uint32_t, std::unique_ptr<QueuePair>> queue_pairs_;  // by number
  std::map<std::uint32_t, QueuePair*> opened_;                       // XRC targets that others own
};

// What the model can do; for ibv_query_device.
struct AdapterLimits {
  std::uint32_t max_qp = 65536, max_qp_wr = 32768, max_sge = 32, max_cqe = 4194303, max_inline = 1024;
  std::uint32_t max_srq_wr = 32768, max_rd_atomic = 16;
  std::uint64_t max_message = std::uint64_t{1} << 31;
};

class Adapter {
 public:
  Adapter(const FabricServices& services, std::int32_t node);
  ~Adapter();

  // Opens the device for a client. Closing takes all its objects away without completions, as the end of a
  // process does: peers see their retries run out.
  Context& open(SpaceId space, ContextPort& port);
  void close(Context& context);

  std::int32_t node() const { return node_; }
  const TopologyNode& description() const { return services_.topology.node(node_); }
  int port_count() const { return static_cast<int>(ports_.size()); }
  AdapterPort& port(int number) { return *ports_[static_cast<std::size_t>(number - 1)]; }  // from 1
  const AdapterPort& port(int number) const { return *ports_[static_cast<std::size_t>(number - 1)]; }
  bool valid_port(int number) const { return number >= 1 && number <= port_count(); }
  bool dead() const { return dead_; }
  bool dying() const { return dying_; }
  const AdapterLimits& limits() const { return limits_; }
  // Of all clients.
  std::size_t queue_pair_count() const { return queue_pairs_.size(); }
  const FabricServices& services() const { return services_; }
  MemoryTable& memory() { return memory_; }
  const MemoryTable& memory() const { return memory_; }
  Nanoseconds now() const { return services_.events.now(); }
  QueuePair* find(std::uint32_t number) const;
  const std::map<std::uint32_t, std::unique_ptr<Context>>& contexts() const { return contexts_; }

  // ---- inside the model ----
  void deliver(Packet& packet);  // a packet for a queue pair here; stays the caller's
  // Copies a packet's payload, from `skip` on, into a client's memory.
  DmaResult place_payload(const Packet& packet, std::uint64_t skip, SpaceId space,
                          std::span<const Piece> pieces);
  void broadcast(const AsyncEvent& event);
  void set_dead(bool dead);
  // It goes on answering on its links, but nothing reaches its clients' memory any more; until it is dead.
  void set_dying() { dying_ = !dead_; }
  void overflow(CompletionQueue& queue);
  bool has_multicast() const { return multicast_users_ > 0; }
  void count_multicast(int change) { multicast_users_ += change; }
  XrcDomains& xrc_domains() { return xrc_domains_; }
  SharedReceiveQueue* find_xrc(std::uint32_t number, std::uint32_t xrc_domain) const;
  void attach_xrc(SharedReceiveQueue& queue);  // gives it a number of the adapter
  void detach_xrc(SharedReceiveQueue& queue);
  void attach(QueuePair& queue_pair);
  void detach(QueuePair& queue_pair);
  std::uint32_t next_qp_number();
  std::uint32_t next_srq_number() { return next_srq_++; }
  std::vector<Piece>& scratch() { return scratch_; }
  std::vector<std::byte>& scratch_bytes() { return scratch_bytes_; }
  void check_invariants() const;

 private:
  FabricServices services_;
  const std::int32_t node_;
  AdapterLimits limits_;
  bool dead_ = false;
  bool dying_ = false;
  std::vector<std::unique_ptr<AdapterPort>> ports_;
  AdapterBus bus_;
  MemoryTable memory_;
  std::map<std::uint32_t, std::unique_ptr<Context>> contexts_;
  std::uint32_t next_context_ = 1;
  std::uint32_t next_qp_ = 0x40;
  std::unordered_map<std::uint32_t, QueuePair*> queue_pairs_;  // looked up only
  std::map<std::uint32_t, SharedReceiveQueue*> xrc_queues_;
  std::uint32_t next_srq_ = 1;
  XrcDomains xrc_domains_;
  int multicast_users_ = 0;  // attachments of queue pairs to groups
  std::vector<Piece> scratch_;
  std::vector<std::byte> scratch_bytes_;
};

}  // namespace hawser::fabric
