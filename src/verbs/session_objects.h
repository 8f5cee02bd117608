// What a session keeps for each queue: the model's object and the client's rings. Private to session*.cpp.
#pragma once

#include "verbs/session.h"

namespace hawser::verbs {

// The posted receives of a queue pair or shared receive queue that are still with the client.
struct ReceiveRing {
  RingMemory memory;
  RingShape shape;
  RingIndices* indices = nullptr;
  std::atomic<std::uint32_t>* eager = nullptr;
  const fabric::QueuePair* queue_pair = nullptr;  // null: shared
  std::uint32_t most_segments = 0;
  std::uint64_t consumed = 0;
};

struct Session::Completions final : public fabric::CompletionPort {
  Session& session;
  RingMemory memory;
  RingShape shape;
  std::uint32_t capacity = 0, channel = 0;
  fabric::CompletionQueue* queue = nullptr;
  std::uint64_t produced = 0;

  explicit Completions(Session& owner) : session(owner) {}
  CompletionQueueHeader& header() { return *reinterpret_cast<CompletionQueueHeader*>(memory.bytes.get()); }
  bool deliver(const fabric::Completion& completion) override;
};

struct Session::SharedReceives {
  ReceiveRing ring;
  fabric::SharedReceiveQueue* queue = nullptr;
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
