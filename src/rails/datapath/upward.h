// What the data path tells the floors above it, which it does not know: packets of the kinds that they
// registered for, and what happens to subchannels. The upper floors implement these
// interfaces and enter themselves in Upward.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "channel/transport.h"
#include "rails/status/status_table.h"
#include "rails/wire/packet.h"
#include "rails/wire/rail_table.h"

namespace hawser {

class VirtualChannel;
struct Subchannel;
struct WorkEntry;

struct ReceivedPacket {
  VirtualChannel& peer;
  Subchannel* subchannel = nullptr;  // that brought it; null for sequenced kinds, which may have waited
  PacketKind kind = PacketKind::eager;
  std::span<const std::byte> bytes;  // with the PacketHeader
};

class PacketHandler {
 public:
  // Sequenced kinds come once each and in order. May send.
  virtual void on_packet(const ReceivedPacket& packet) = 0;

 protected:
  ~PacketHandler() = default;
};

class SubchannelEvents {
 public:
  // Something is to be sent, and no subchannel is ready.
  virtual void on_wanted(VirtualChannel& peer) = 0;
  // Messages would go over connections on demand that are not open.
  virtual void on_paths_wanted(VirtualChannel& peer) = 0;
  // A request ended with an error.
  virtual void on_failed(Subchannel& subchannel, PathReason reason) = 0;
  // A packet came damaged: neither it nor any later one counts.
  virtual void on_damaged(Subchannel& subchannel) = 0;
  // A write was posted without its finish: nothing more may be posted. May be called where the subchannel
  // must not fail at once.
  virtual void on_half_posted(Subchannel& subchannel) = 0;
  // The marker that was posted behind everything else came back.
  virtual void on_drained(Subchannel& subchannel) = 0;
  // A packet came while the subchannel is not ready.
  virtual void on_early_packet(Subchannel& subchannel, PacketKind kind) = 0;
  // Something whose subchannel failed was posted again, so many bytes of it.
  virtual void on_reissued(std::int64_t bytes) = 0;
  virtual void on_device_gone(std::uint16_t device) = 0;

 protected:
  ~SubchannelEvents() = default;
};

// How packets go while there is no connection.
class DatagramWay {
 public:
  enum class Answer : std::uint8_t { goes, waits, wants_connection };
  // Whether a packet of so many bytes, with its PacketHeader, may go by datagram now.
  virtual Answer takes(VirtualChannel& peer, PacketKind kind, std::size_t bytes) = 0;
  // It goes, and is the peer's last. What is lost is sent again until the peer has it.
  virtual void send(VirtualChannel& peer, WorkEntry& packet) = 0;

 protected:
  ~DatagramWay() = default;
};

// Who knows where the processes of the job are.
class RailTableSource {
 public:
  virtual Result<RailTable> latest_table(ProcessIndex process) = 0;
  // The process is no peer any more: its table as last heard of, to be told by latest_table().
  virtual void keep_table(ProcessIndex process, const RailTable& table) = 0;

 protected:
  ~RailTableSource() = default;
};

struct Upward {
  static constexpr std::size_t kinds = 24;
  static_assert(static_cast<std::size_t>(PacketKind::ready) < kinds);

  std::array<PacketHandler*, kinds> handlers = {};
  SubchannelEvents* subchannels = nullptr;
  RailTableSource* tables = nullptr;
  DatagramWay* datagrams = nullptr;  // null: there is none

  void handle(std::initializer_list<PacketKind> of, PacketHandler& handler) {
    for (const PacketKind kind : of) handlers[static_cast<std::size_t>(kind)] = &handler;
  }
  // Null: there is no such kind, or nobody above wants it.
  PacketHandler* handler(PacketKind kind) const {
    const auto place = static_cast<std::size_t>(kind);
    return place < kinds ? handlers[place] : nullptr;
  }
};

}  // namespace hawser
