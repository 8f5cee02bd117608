// ServedOperations: puts and gets of few bytes between processes of a node in memory that they do not share.
// A process that waits in MPI looks at its rings all the time, so an operation that it carries out itself is
// over sooner than one by the kernel. One that computes looks at nothing: then the origin takes back what has
// not begun, and has the kernel copy. So an owner that computes delays nobody.
//
//   origin                                        owner
//   put or get number n in the ring       ──>     begun = n; copies, unless n was withdrawn
//                                         <──     done = n
//   nothing for some passes:
//   withdrawn = n, a barrier in the owner
//     begun < n:  the owner will leave it alone, and the kernel copies
//     begun >= n: waits until done >= n, and the kernel copies once more, for the owner may have seen
//                 `withdrawn`. No access may conflict with the operation yet, so that does no harm.
//
// The owner stores `begun` and then loads `withdrawn`; the barrier that the origin has executed there
// (membarrier) keeps this order, so the owner needs no fence and no locked instruction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/byte_sequence.h"
#include "channel/shared_ring.h"
#include "channel/transport.h"

namespace hawser {

struct EndedOperation {
  Completion* end;
  Result<> result;
};

class ServedOperations {
 public:
  static constexpr std::int64_t largest_put = 512;
  static constexpr std::int64_t largest_get = ServedArea::answer_bytes;
  // Up to so many bytes of a put stand in the slot, more behind it.
  static constexpr std::int64_t slot_bytes =
      static_cast<std::int64_t>(Slot::inline_limit) - static_cast<std::int64_t>(sizeof(ServedCommand));
  static bool in_ring(const ServedCommand& command) { return command.put != 0 && command.size > slot_bytes; }

  struct Place {
    std::int32_t owner = 0;  // its place on the node
    RingSender* ring = nullptr;
    std::uint32_t window = 0;  // as the owner numbers them
    std::int64_t offset = 0;
    std::uint64_t address = 0;  // of the bytes in the owner's memory
  };

  // `fence`: barriers by others are not to be had here. Then no operation goes this way, and this process
  // puts a fence instead where it is the owner.
  ServedOperations(const SharedSegment& segment, std::int32_t self, bool fence);

  // Origin. False: the owner does not look just now, or there is no room; nothing was done. A put's bytes
  // are the caller's again; `end` is told when a get's have come.
  bool try_put(const Place& to, const ByteSequence& from);
  bool try_get(const Place& from, const ByteSequence& into, Completion* end);
  // Waits for all operations on this process's memory. False: there are none.
  bool flush(std::int32_t owner, Completion& end);
  bool active() const { return !active_.empty(); }
  // Adds what is over to `ended`, and the processes whose area holds nonsense to `liars`.
  bool progress(std::vector<EndedOperation>& ended, std::vector<std::int32_t>& liars);

  // Owner.
  std::uint32_t open_window(std::byte* memory, std::int64_t size);
  void close_window(std::uint32_t window);
  // Carries out what a neighbour's slot asks for; `data` are the bytes of a put. False: no process of ours
  // asks for it.
  bool serve(std::int32_t origin, const ServedCommand& command, const std::byte* data);

 private:
  static constexpr std::uint64_t most_outstanding = 32;

  struct Operation {
    Place place;
    std::int64_t size = 0;
    bool put = false;
    std::uint8_t answer = 0;
    ByteSequence into;
    Completion* end = nullptr;
    std::array<std::byte, largest_put> data;  // of a put
  };
  struct Flush {
    std::uint64_t number;
    Completion* end;
  };
  // What this process asked one owner for. Operations are numbered from 1.
  struct Origin {
    ServedArea* area = nullptr;
    std::uint64_t sent = 0;
    std::uint64_t over = 0;
    std::uint64_t begun = 0;      // of those that were withdrawn, the owner has begun so many
    bool withdrawn = false;       // all that are not over
    bool kernel_refuses = false;  // so nothing is withdrawn
    int idle_passes = 0;
    std::uint32_t answers_used = 0;  // a bit for each
    std::vector<Flush> flushes;
    // Twice as many: operations that are sent again get new numbers.
    std::array<Operation, 2 * most_outstanding> operations;

    Operation& at(std::uint64_t number) { return operations[number % operations.size()]; }
  };
  struct Window {
    std::byte* memory = nullptr;
    std::int64_t size = -1;  // not open
  };

  Origin* ready_origin(const Place& place, std::int64_t ring_bytes);
  Operation& next(Origin& origin, const Place& place, std::int64_t size);
  static void send(Operation& operation);
  bool settle(Origin& origin, std::vector<EndedOperation>& ended);
  void withdraw(Origin& origin);
  bool copy_withdrawn(Origin& origin, std::vector<EndedOperation>& ended);
  bool copy_by_kernel(Operation& operation) const;
  static void finish(Origin& origin, Operation& operation, std::vector<EndedOperation>& ended);
  static bool send_again(Origin& origin);
  bool carry_out(ServedArea& area, const ServedCommand& command, const std::byte* data);

  const SharedSegment& segment_;
  const std::int32_t self_;
  const bool fence_;
  std::vector<std::unique_ptr<Origin>> origins_;  // by the owner's place; null: never any
  std::vector<std::uint64_t> served_;             // by the origin's place: operations that came
  std::vector<std::int32_t> active_;              // owners, of which something is awaited
  std::vector<Window> windows_;
  std::vector<std::uint32_t> free_windows_;
};

}  // namespace hawser
