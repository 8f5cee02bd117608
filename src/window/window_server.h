// WindowServer: what a process does for others with the memory of its windows: their operations, flushes and
// locks, as they arrive. Bytes that make no sense end the job; places outside of a window are refused, which
// the origin is told.
#pragma once

#include <vector>

#include "window/fair_lock.h"
#include "window/window_peer.h"

namespace hawser {

class Window;
class WindowEngine;

// A large put whose bytes this process fetches.
class ArrivingPut final : public Completion {
 public:
  ArrivingPut(WindowEngine& engine, WindowPeer& peer) : engine_(engine), peer_(peer) {}
  void on_complete(Result<> result) override;

  std::int64_t bytes = 0;
  ByteSequence to;
  TypePacker packer;
  Ref<const Datatype> type;

 private:
  WindowEngine& engine_;
  WindowPeer& peer_;
};

// The answer to a large get, whose bytes the origin fetches.
class ExposedAnswer final : public Completion {
 public:
  // Kept alive, because the origin may have its bytes before this process hears of it.
  explicit ExposedAnswer(Window& window);
  ~ExposedAnswer();
  void on_complete(Result<> result) override;

  const Ref<Window> window;
  ByteSequence bytes;
  TypePacker packer;
  Ref<const Datatype> type;
};

class WindowServer {
 public:
  explicit WindowServer(WindowEngine& engine) : engine_(engine) {}

  // True: the packet was one of those that a target handles.
  bool on_packet(WindowPeer& peer, const WindowHeader& header, const std::byte* payload, std::int64_t size);
  void on_put_offer(WindowPeer& peer, const ExposeToken& token, std::int64_t size);
  void on_type_definition(ProcessIndex source, const std::byte* payload, std::int64_t size);
  // No fetch of the origin's is under way any more.
  void after_arrival(WindowPeer& peer);

  // Whether locks are asked for that could not be given.
  bool busy() const { return !waiting_locks_.empty(); }
  // Gives the locks that can be given. True if there were any.
  bool grant_locks();
  // The window is gone.
  void forget(const Window& window);

 private:
  struct Place;
  struct WaitingLock {
    WindowPeer* peer;
    bool drawn = false;
    FairLock::Ticket ticket = 0;
  };

  bool read_place(WindowPeer& peer, const WindowHeader& header, const std::byte* payload, std::int64_t size,
                  Place& place);
  static bool find_memory(const WindowPeer& peer, Place& place);
  void operate(WindowPeer& peer, const WindowHeader& header, Place& place);
  void refuse_place(WindowPeer& peer, const WindowHeader& header, const Place& place);
  void accumulate(WindowPeer& peer, const WindowHeader& header, const Place& place);
  void compare_and_swap(WindowPeer& peer, const WindowHeader& header, const Place& place);
  void get(WindowPeer& peer, const WindowHeader& header, Place& place);
  void announce(WindowPeer& peer, Place& place, bool found);
  void send_answer(WindowPeer& peer, const WindowHeader& header, const std::byte* packet, std::int64_t bytes);
  void synchronize(WindowPeer& peer, const WindowHeader& header);
  void lock(WindowPeer& peer, const WindowHeader& header);
  void send_token(WindowPeer& peer);

  WindowEngine& engine_;
  std::vector<WaitingLock> waiting_locks_;  // in the order in which they came
};

}  // namespace hawser
