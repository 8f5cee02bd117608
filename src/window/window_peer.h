// WindowPeer: what a process keeps of one member of a window with which it has to do, and WindowLink: of one
// process, for all windows. Both are made when first needed.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/intrusive_list.h"
#include "channel/remote_memory.h"
#include "window/window_operation.h"
#include "window/window_types.h"

namespace hawser {

class ArrivingPut;
class ExposedAnswer;
class Window;
struct WindowPeer;

// Answers that a process waits for from one other. It asks for no more, so the other keeps no more of them,
// however slowly they are taken; an answer goes in packets, of at most answer_offered_from bytes, or is an
// offer.
inline constexpr std::int32_t most_awaited = 64;
inline constexpr std::int64_t answer_offered_from = 16384;

// An answer that found no room.
struct WindowAnswer {
  WindowHeader header;
  std::vector<std::byte> payload;
  ExposedAnswer* exposed = nullptr;  // not null: it is to be offered
};

struct WindowLink {
  ProcessIndex process = 0;
  Transport* channel = nullptr;
  std::int64_t packet_limit = 0;  // bytes of one packet, so that it comes in one piece

  std::int32_t awaited = 0;          // answers, to what takes bytes
  std::deque<WindowAnswer> answers;  // in order
  ListLink waiting;                  // in WindowEngine's list while there are answers

  // Datatypes that the other process knows of this one, by place; kept, so that an address names one type.
  std::vector<Ref<const Datatype>> defined;
  std::uint32_t next_defined = 0;             // the place that the next new one takes
  const WindowOperation* defining = nullptr;  // sends a definition in parts

  // Datatypes that this process knows of the other, by place.
  std::vector<Ref<const Datatype>> types;
  TypeOnWire arriving_type;
  std::vector<std::byte> arriving_definition;
};

// What a process knows of the way on which the transport reaches a member's memory without its attention.
class NativeWay final : public Completion {
 public:
  enum class State : std::uint8_t {
    unknown,
    asked,  // the token is on its way
    none,   // the transport cannot, or the member's memory cannot be reached so
    known
  };

  bool done() const { return !unflushed && !flush_wanted && flushing == 0; }
  // Begins a flush of what was begun on this way.
  void flush(ProcessIndex process);
  // It is over.
  void on_complete(Result<> result) override;

  State state = State::unknown;
  WindowToken token;
  RemoteMemory* memory = nullptr;
  double shortest_run = 0;    // as RemoteCapabilities has it
  bool unflushed = false;     // operations have begun since the last flush
  bool flush_wanted = false;  // as soon as the peer's queue is empty
  int flushing = 0;
  FailureOnWire failure;  // the first one that the program has not heard of
};

struct WindowPeer {
  enum class Lock : std::uint8_t {
    none,
    wanted,  // what was to be sent before goes first
    asked,   // operations wait for the answer
    held
  };

  WindowPeer(Window& of, int place, WindowLink& to) : window(of), rank(place), link(to) {}
  ~WindowPeer();

  Window& window;
  const int rank;
  WindowLink& link;

  bool done_at_target() const { return queue.empty() && in_use == 0 && confirmed == sent && native.done(); }

  // --- This process is the origin.
  IntrusiveList<WindowOperation, &WindowOperation::link> queue;  // in order
  ListLink waiting;             // in WindowEngine's list while the queue is not empty
  std::int64_t in_use = 0;      // operations whose buffers are not the program's yet
  std::uint32_t sent = 0;       // operations that only `flushed` tells the end of
  std::uint32_t asked = 0;      // the value of `sent` when a flush was asked for last
  std::uint32_t confirmed = 0;  // the value of `sent` that the last answer named
  Lock lock = Lock::none;
  LockType lock_type = LockType::shared;
  bool lock_unchecked = false;  // MPI_MODE_NOCHECK: the target does not know of it
  bool started = false;         // MPI_Win_start named it
  std::uint32_t posts = 0;      // heard of, and not used by a start
  FailureOnWire failure;        // the first one that the program has not heard of

  NativeWay native;

  // --- This process is the target.
  std::unique_ptr<ArrivingPut> announced;   // its offer comes next
  std::int64_t arriving = 0;                // fetches under way
  std::vector<WindowHeader> after_arrival;  // what is to be done when there are none
  FailureOnWire refused;                    // the first one that the origin has not heard of
  std::uint32_t completions = 0;            // heard of, and not used by a wait
  Lock served_lock = Lock::none;            // of this process's memory
  LockType served_type = LockType::shared;
};

}  // namespace hawser
