// MulticastRoot: the packets of one root on one communicator, which MulticastSender decides about. Keeps each
// until all leaders have it, so that the program has its buffer back as soon as all are on their way. That
// may be longer than the communicator lives.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/intrusive_list.h"
#include "channel/transport.h"
#include "collective/multicast/multicast_sender.h"

namespace hawser {

class MulticastEngine;

// A broadcast that goes out.
struct MulticastSend {
  std::int32_t tag = 0;
  std::uint32_t flags = 0;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t sent = 0;
  bool done = false;  // nothing of it is needed any more
  ListLink link;
};

class MulticastRoot {
 public:
  // The leaders' processes; at least one.
  MulticastRoot(MulticastEngine& engine, const MulticastKey& key, int rank,
                std::vector<ProcessIndex> leaders);

  bool chooses_multicast(Nanoseconds now);
  void begin(MulticastSend& send);
  void withdraw(MulticastSend& send);
  // False: it makes no sense.
  bool on_status(int leader, const LeaderStatus& status, Nanoseconds now);
  // Sends what may go now; true if anything did.
  bool advance(Nanoseconds now);
  Nanoseconds due() const { return machine_.due(); }
  // Something waits for room, so that advance() is to be called again soon.
  bool wants_room() const { return wants_room_; }
  bool settled() const { return machine_.settled(); }
  const MulticastSender& machine() const { return machine_; }

 private:
  struct Slot {
    MulticastHeader header;
    std::vector<std::byte> bytes;
  };
  std::uint32_t rails() const;
  bool send_next(MulticastSend& send, Nanoseconds now);
  bool repair(int leader, std::uint32_t packet);

  MulticastEngine& engine_;
  MulticastKey key_;
  int rank_;
  std::vector<ProcessIndex> leaders_;
  MulticastSender machine_;
  std::int64_t packet_bytes_ = 0;
  std::unique_ptr<std::array<Slot, MulticastSender::window>> slots_;  // made for the first packet
  IntrusiveList<MulticastSend, &MulticastSend::link> sends_;
  bool wants_room_ = false;
};

}  // namespace hawser
