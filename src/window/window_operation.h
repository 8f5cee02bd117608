// WindowOperation: an operation on another process's memory from the call to its end, where that is not at
// once; WindowRequest, which the program holds of one (MPI_Rput and its like); and the pool where operations
// rest.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "base/intrusive_list.h"
#include "base/object_table.h"
#include "datatype/type_packer.h"
#include "message/request.h"
#include "window/accumulation.h"
#include "window/window_wire.h"

namespace hawser {

class Window;
class WindowEngine;
struct WindowPeer;

class WindowRequest final : public Request {
 public:
  // `window`: a Window, which is kept alive, and whose error handler hears of failures.
  explicit WindowRequest(Counted& window) : Request(Kind::window), window(&window) {}

  void destroy() override;
  // What only the target saw, or success.
  Result<> finish() override;

  // The operation is over.
  void end(const FailureOnWire& failure);

  const Ref<Counted> window;

 private:
  FailureOnWire failure_;
};

// Success, or the error in words.
Result<> result_of(const FailureOnWire& failure);

// The longest value that MPI_Compare_and_swap compares: of 16-byte integers.
inline constexpr std::int64_t largest_compared = 16;

// What is to be done: arguments of a call, with displacements in bytes.
struct WindowCall {
  using Kind = WindowHeader::Kind;  // put, get, accumulate, get_accumulate, compare_and_swap

  Kind kind = Kind::put;
  PredefinedOperator operation = PredefinedOperator::no_op;
  ElementKind element;
  int rank = 0;
  std::int64_t bytes = 0;                 // in packed form
  std::int64_t displacement = 0;          // of the first element; of the data, if they are one piece
  std::int64_t count = 0;                 // elements of `type`
  const Datatype* type = nullptr;         // null: the target's data are one piece
  const Datatype* origin_type = nullptr;  // null: the origin's are one piece
  const Datatype* result_type = nullptr;
  ByteSequence origin;  // what is sent
  ByteSequence result;  // where the answer goes
  const void* compared = nullptr;
  TypePacker origin_packer;
  TypePacker result_packer;
  TypePacker
      target_packer;  // of `type`, where the transport does it; addresses count from the window's begin
};

class WindowOperation final : public Completion {
 public:
  enum class Stage : std::uint8_t {
    idle,       // in the pool
    queued,     // waits for room, or for the lock; parts may be under way
    described,  // a large put: the target knows what the next offer brings
    exposed,    // a large put: its bytes wait for the target to fetch them
    native,     // the transport does it
    awaiting,   // for the answer
  };

  explicit WindowOperation(WindowEngine& engine) : engine_(engine) {}

  // Takes a call over; what its types need is kept alive.
  void begin(const WindowCall& made, WindowPeer& at);
  // A packet without data, in order with the operations around it.
  void begin(const WindowHeader& packet, WindowPeer& at);

  // The target has fetched, or the answer's bytes have landed.
  void on_complete(Result<> result) override;

  WindowCall call;
  bool is_packet = false;
  bool native = false;  // the transport is to do it by itself
  WindowHeader packet;  // is_packet
  Stage stage = Stage::idle;
  WindowPeer* peer = nullptr;
  WindowRequest* request = nullptr;  // null: nobody holds one
  std::uint32_t number = 0;          // its own for life
  std::int64_t sent = 0;             // bytes of the packed form
  std::int64_t defined = 0;          // bytes of the datatype's definition, while that is sent in parts
  std::int64_t missing = 0;          // bytes of the answer
  FailureOnWire failure;             // of a part of it
  ListLink link;                     // in the peer's queue
  Ref<const Datatype> kept_types[3];

 private:
  WindowEngine& engine_;
};

class WindowOperationPool {
 public:
  explicit WindowOperationPool(WindowEngine& engine) : engine_(engine) { numbers_.add(nullptr); }

  WindowOperation& take() {
    if (free_.empty()) {
      WindowOperation& made = operations_.emplace_back(engine_);
      made.number = numbers_.add(&made);
      return made;
    }
    WindowOperation& operation = *free_.back();
    free_.pop_back();
    return operation;
  }
  void give_back(WindowOperation& operation) {
    operation.stage = WindowOperation::Stage::idle;
    operation.request = nullptr;
    for (auto& type : operation.kept_types) type = nullptr;
    free_.push_back(&operation);
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (WindowOperation& operation : operations_) visit(operation);
  }
  // Null: none has this number.
  WindowOperation* find(std::uint32_t number) const { return numbers_.find(number); }

 private:
  WindowEngine& engine_;
  std::deque<WindowOperation> operations_;  // never move
  std::vector<WindowOperation*> free_;
  ObjectTable<WindowOperation> numbers_;
};

}  // namespace hawser
