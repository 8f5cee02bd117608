// What a session keeps for each queue: the model's object and the client's rings. Private to session*.cpp.
#pragma once

#include <cstring>

#include "provider/session.h"

namespace hawser::verbs {

inline Reply refused(int error, const char* why) {
  Reply reply;
  reply.error = error;
  std::strncpy(reply.why, why, sizeof reply.why - 1);
  return reply;
}

inline Reply answer(const fabric::Outcome& outcome) { return refused(outcome.error, outcome.why); }

inline Reply created(std::uint32_t number) {
  Reply reply;
  reply.object = number;
  return reply;
}

template <class Map>
auto find(const Map& map, std::uint32_t number) {
  const auto entry = map.find(number);
  return entry == map.end() ? nullptr : &*entry->second;
}

// The posted receives of a queue pair or shared receive queue that are still with the client.
struct ReceiveRing {
  RingMemory memory;
  RingShape shape;
  RingIndices* indices = nullptr;
  std::atomic<std::uint32_t>* eager = nullptr;
  const fabric::QueuePair* queue_pair = nullptr;  // null: shared
  std::uint32_t most_segments = 0;
  std::uint64_t consumed = 0;

  // All but `waiting` of what was taken from the ring have left the queue: there is room for as many.
  void retire(std::size_t waiting) { indices->retired.store(consumed - waiting, std::memory_order_release); }
};

struct Session::Completions final : public fabric::CompletionPort {
  Session& session;
  RingMemory memory;
  CompletionQueueShape shape;
  std::uint32_t capacity = 0, channel = 0;
  fabric::CompletionQueue* queue = nullptr;
  std::uint64_t produced = 0, told = 0;
  std::vector<SharedReceives*> xrc_receives;  // that report here

  explicit Completions(Session& owner) : session(owner) {}
  CompletionQueueHeader& header() { return *reinterpret_cast<CompletionQueueHeader*>(memory.bytes.get()); }
  std::uint32_t most_carried() const override {
    return session.port_.client_places_data() ? verbs::most_carried : 0;
  }
  bool deliver(const fabric::Completion& completion, const fabric::CarriedData& carried) override;
  // For a program that armed the queue with completions in it.
  void tell_unread();
  // An event, if the queue is armed for such a completion.
  void tell(const fabric::Completion& completion);
  bool armed_for(const fabric::Completion& completion);
  // Whether it is armed for something that is in it and unread. Who tells of that at once never finds it so.
  bool overslept();
  // Puts data that a completion carries in their place, if the client has not, and marks it so.
  template <class F>
  void settle(F&& concerned) {
    std::uint64_t next = header().entries.consumed.load(std::memory_order_acquire);
    if (produced - next > capacity) return;  // the client's number is wrong
    for (; next != produced; ++next) {
      std::byte* const at = shape.entries.slot(memory.bytes.get(), next);
      CompletionEntry entry;
      std::memcpy(&entry, at, sizeof entry);
      if (entry.carried_bytes == 0 || entry.carried_bytes > verbs::most_carried || !concerned(entry))
        continue;
      session.place(entry, shape.carried.slot(memory.bytes.get(), next));
      entry.carried_bytes = 0;
      std::memcpy(at, &entry, sizeof entry);
    }
  }
  // Calls f(completion) for each from this one on.
  template <class F>
  void for_each_from(std::uint64_t next, F&& f) {
    for (; next != produced; ++next) {
      fabric::Completion completion;
      std::memcpy(&completion, shape.entries.slot(memory.bytes.get(), next), sizeof completion);
      f(completion);
    }
  }
};

struct Session::SharedReceives {
  ReceiveRing ring;
  fabric::SharedReceiveQueue* queue = nullptr;
  Completions* completions = nullptr;  // XRC
};

struct Session::Pair {
  RingMemory memory;
  RingShape sends;
  ReceiveRing receives;
  fabric::QueuePair* queue_pair = nullptr;
  Completions* send_completions = nullptr;
  SharedReceives* shared = nullptr;
  fabric::QpCapabilities capabilities;
  std::uint64_t consumed = 0;

  QueuePairHeader& header() { return *reinterpret_cast<QueuePairHeader*>(memory.bytes.get()); }
};

}  // namespace hawser::verbs
