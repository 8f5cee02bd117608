// Session: one client at one adapter. It carries out the client's calls on the device model, moves requests
// from the client's rings into the model and completions from the model into the client's rings. The daemon
// has one for each opened device; the local link has its own.
//
// It does not trust the client: numbers are looked up, counts are checked, and a slot is copied before it is
// judged. What a client breaks in its rings hurts itself only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "provider/wire.h"

namespace hawser::verbs {

// The way of events to the client. Called from within the model: must not call the session.
class SessionPort {
 public:
  virtual ~SessionPort() = default;
  virtual void completion_event(std::uint32_t channel, CompletionRecord record) = 0;
  virtual void async_event(const AsyncRecord& record) = 0;
  // An entry was written into a completion queue, whether or not the client asked to be woken.
  virtual void completion_written() {}
  // Whether the client's code runs in the process whose memory this is, and so can put data in their place.
  virtual bool client_places_data() const { return false; }
};

// Memory of a ring, kept alive as long as it is held.
struct RingMemory {
  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
};

AdapterAttributes attributes_of(const fabric::Adapter& adapter, const std::string& name);

class Session final : public fabric::ContextPort {
 public:
  Session(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space, SessionPort& port);
  ~Session() override;  // the client has ended: its objects vanish from the fabric

  // Everything but the calls about channels and the opening.
  Reply execute(const Request& request, const RingMemory& memory);
  // The client rang for this queue pair, and so many requests were in its ring by then since it was made.
  void doorbell(std::uint32_t queue_pair, std::uint64_t posted = all_posted);

  // A completion queue is armed and holds a completion that makes no event: it came before the arming.
  bool overslept() const;

  void asynchronous_event(const fabric::AsyncEvent& event) override;
  void refill(fabric::ReceiveQueue& queue) override;

  fabric::Context& context() { return context_; }
  std::size_t queue_pairs() const { return queue_pairs_.size(); }

 private:
  static constexpr std::uint64_t all_posted = ~std::uint64_t{0};
  struct Completions;
  struct SharedReceives;
  struct Pair;

  Reply create_completion_queue(const Request& request, const RingMemory& memory);
  Reply resize_completion_queue(const Request& request, const RingMemory& memory);
  Reply tell_completions(const Request& request);
  Reply create_shared_receive_queue(const Request& request, const RingMemory& memory);
  Reply create_queue_pair(const Request& request, const RingMemory& memory);
  static std::unique_ptr<Pair> lay_out(const fabric::QpCapabilities& caps, const RingMemory& memory);
  Reply open_queue_pair(const Request& request, const RingMemory& memory);
  Reply register_memory(const Request& request);
  Reply change_memory(const Request& request);
  Reply create_window(const Request& request);
  Reply open_xrc_domain(const Request& request);
  Reply close_xrc_domain(const Request& request);
  Reply resolve(const fabric::AddressVector& path) const;
  Reply change_queue_pair(const Request& request);
  Reply change_shared_receive_queue(const Request& request);
  Reply query_port(const Request& request) const;
  Reply destroy(const Request& request);
  void update_retired(Pair& pair);
  void note_completion(const fabric::Completion& completion);
  void drain_sends(Pair& pair, std::uint64_t posted = all_posted);
  void post(Pair& pair, const std::byte* slot);
  void refuse(Pair& pair, std::uint64_t id);
  void forget_rings(Pair& pair);
  // Puts data that completions carry in their place, those that `concerned` picks.
  template <class F>
  void settle_carried(F&& concerned);
  void settle_region(const fabric::MemoryRegion& region);
  void place(const CompletionEntry& entry, const std::byte* data);

  fabric::Fabric& fabric_;
  fabric::Adapter& adapter_;
  SessionPort& port_;
  std::map<std::uint32_t, fabric::ProtectionDomain*> domains_;
  std::map<std::uint32_t, fabric::MemoryRegion*> regions_;
  std::map<std::uint32_t, fabric::MemoryRegion*> windows_;  // by number
  std::map<std::uint32_t, std::uint32_t> xrc_domains_;      // how often each is open
  std::map<std::uint32_t, std::unique_ptr<Completions>> completion_queues_;
  std::map<std::uint32_t, std::unique_ptr<SharedReceives>> shared_receive_queues_;
  std::map<std::uint32_t, std::unique_ptr<Pair>> queue_pairs_;
  std::vector<fabric::Segment> segments_;
  fabric::Context& context_;
};

}  // namespace hawser::verbs
