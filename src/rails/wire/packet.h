// What is on the wire between two processes: a packet is one send on a reliable connection. Plain structs,
// little-endian machines of one kind; what arrives is checked by whoever takes it (sizes here, meaning
// there).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "access/rdma.h"
#include "channel/transport.h"
#include "rails/wire/rail_table.h"

namespace hawser {

// Sequenced packets that may be under way to a peer beyond what it has delivered.
inline constexpr std::uint32_t packet_window = 64;

enum class PacketKind : std::uint8_t {
  // Sequenced: carry a sequence number, are delivered once and in order.
  eager = 1,        // TransportHeader, payload
  urgent,           // the same, of a header that says so
  start,            // TransportHeader, StartBody: bytes are exposed
  reply,            // ReplyBody: where to write them
  done,             // DoneBody: all is there, or nothing is wanted
  keys,             // KeysBody: an adapter of the sender was opened again and has other keys
  data,             // DataBody, bytes of a rendezvous that no adapter moves
  ask_window_keys,  // WindowKeysBody without keys: those of a window are wanted
  window_keys,      // WindowKeysBody: those of now
  bundle,           // several eager messages (bundle.h)
  // Unsequenced: count for the subchannel only, and are harmless if they are lost with it.
  finish,        // FinishBody: a stripe was written; ordered behind it
  fence,         // FenceBody
  fence_answer,  // FenceBody
  credit,        // nothing: the header says how far the sender is
  probe,         // ProbeBody, filling
  probe_answer,  // ProbeBody, filling
  alternate,     // AlternateBody: path migration
  read_finish,   // ReadFinishBody: exposed bytes were read; ordered behind the reads
  ready,         // nothing: the first packet of a connection, by which the other end is ready, too
  measure,       // filling: how long it takes tells how fast the path is
};
inline constexpr std::size_t checksum_bytes = sizeof(std::uint32_t);
inline bool sequenced(PacketKind kind) { return kind <= PacketKind::bundle; }
// Whether it is one of the few small packets of a long message.
inline bool belongs_to_long(PacketKind kind) {
  return kind == PacketKind::start || kind == PacketKind::reply || kind == PacketKind::done;
}
// Whether the sender waits for what the receiver's software makes of the packet, so that a receiver that
// computes is interrupted (a solicited event; S06, selective interrupt). Of those that only fill the window,
// now and then one, for a credit.
inline bool needs_software(PacketKind kind, std::uint32_t sequence_number) {
  constexpr auto bit = [](PacketKind each) { return 1u << static_cast<unsigned>(each); };
  constexpr unsigned urgent =
      bit(PacketKind::urgent) | bit(PacketKind::start) | bit(PacketKind::reply) | bit(PacketKind::keys) |
      bit(PacketKind::ask_window_keys) | bit(PacketKind::window_keys) | bit(PacketKind::finish) |
      bit(PacketKind::fence) | bit(PacketKind::fence_answer) | bit(PacketKind::probe) |
      bit(PacketKind::probe_answer) | bit(PacketKind::alternate) | bit(PacketKind::ready);
  constexpr unsigned filling = bit(PacketKind::eager) | bit(PacketKind::data) | bit(PacketKind::bundle);
  if ((urgent >> static_cast<unsigned>(kind) & 1) != 0) return true;
  return (sequence_number + 1) % (packet_window / 2) == 0 &&
         (filling >> static_cast<unsigned>(kind) & 1) != 0;
}

struct PacketHeader {
  PacketKind kind = PacketKind::eager;
  std::uint8_t checked : 1 = 0;       // the CRC-32C of all before it is the last word
  std::uint8_t wants_credit : 1 = 0;  // the sender is short of buffers, and this one is kept until then
  std::uint8_t reserved : 6 = 0;
  std::uint16_t subchannel = 0;  // by datagram: 0, and so is the generation
  std::uint32_t connection_generation = 0;
  std::uint32_t sequence_number = 0;  // of sequenced ones; counts up by one and wraps
  std::uint32_t acknowledged = 0;     // the first sequence number that the sender has not delivered yet
};
static_assert(sizeof(PacketHeader) == 16);

// Names a transfer in its owner's table; the generation tells a place that is used again.
struct TransferName {
  std::uint32_t place = 0;
  std::uint32_t generation = 0;
  bool operator==(const TransferName&) const = default;
};

// Where bytes lie, for the adapters of the other side: one key per rail of the owner.
struct RemoteBytes {
  std::uint64_t address = 0;
  std::array<std::uint32_t, max_rails> keys = {};               // 0: none
  std::array<std::uint8_t, max_rails> device_generations = {};  // of the rails that the keys are of
};

struct StartBody {
  TransferName exposed;
  std::int64_t size = 0;
  RemoteBytes bytes;  // with readable
  std::uint8_t readable = 0;
  std::uint8_t checked = 0;
  std::uint8_t takes_finishes = 0;  // with readable: read finishes of all bytes do in place of a done
  std::uint8_t reserved = 0;
  std::uint32_t checksum = 0;  // with checked: CRC-32C of all bytes
};
struct ReplyBody {
  TransferName exposed;
  TransferName fetch;
  std::int64_t size = 0;  // wanted; at most that of the start
  RemoteBytes bytes;      // without any key: no adapter may write them, they are to come in packets
};
struct DoneBody {
  TransferName exposed;
};
struct KeysBody {
  TransferName exposed;
  std::uint8_t written = 0;  // of where it is written to; else of the exposed bytes
  std::uint8_t asks = 0;     // of exposed bytes: a read finish may be lost, so that a done is wanted
  std::uint8_t reserved[6] = {};
  RemoteBytes bytes;
};
// Of a window of the process that has it.
struct WindowKeysBody {
  TransferName window;
  std::uint8_t open = 0;  // in an answer: there is such a window
  std::uint8_t reserved[7] = {};
  RemoteBytes bytes;  // in an answer
};
struct DataBody {
  TransferName fetch;
  std::int64_t offset = 0;
};
struct FinishBody {
  TransferName fetch;
  std::int64_t offset = 0;
  std::int64_t size = 0;
};
struct ReadFinishBody {
  TransferName exposed;
  std::int64_t size = 0;  // of the bytes that were read over this subchannel
};
struct FenceBody {
  std::uint16_t subchannel = 0;
  std::uint16_t reserved = 0;
  std::uint32_t connection_generation = 0;
  std::uint32_t received = 0;      // packets of this generation that arrived
  std::uint32_t acknowledged = 0;  // as in PacketHeader
  RailAddress rail;                // of this end, as of now: it may have moved, and answers must find it
};
struct ProbeBody {
  std::uint32_t number = 0;
  std::uint32_t total = 0;
};
// About the alternate route of the subchannel that it comes over (path_migration.h). Rails and path bits are
// named as the deciding end sees them, also in answers.
struct AlternateBody {
  // port_back: of the end that does not decide, without anything else; its port is active again.
  enum class Meaning : std::uint8_t { offer = 1, agreed, declined, port_back };
  Meaning meaning = Meaning::offer;
  std::uint8_t source_path_bits = 0;
  std::uint8_t destination_path_bits = 0;
  std::uint8_t reserved = 0;
  std::uint16_t rail = 0;         // of the deciding end
  std::uint16_t remote_rail = 0;  // of the other one
  std::uint32_t number = 0;       // of the offer, counting up within a generation
};
// Of a closing datagram, of one end of a connection that is closed on purpose.
struct CloseBody {
  std::uint16_t subchannel = 0;
  std::uint8_t parted = 0;  // its queue pair is gone; else it is flushed, and posts nothing more
  std::uint8_t reserved = 0;
  std::uint32_t connection_generation = 0;
  std::uint32_t sent = 0;          // packets of this generation, all
  std::uint32_t received = 0;      // with parted
  std::uint32_t acknowledged = 0;  // as in PacketHeader
  RailAddress rail;                // of this end, as of now
};
// Of a closing request datagram, and of its refusal: one connection that is in use stands for all with the
// peer.
// Also of a connection on demand that is refused.
struct CloseRequestBody {
  std::uint16_t subchannel = 0;
  std::uint16_t reserved = 0;
  std::uint32_t connection_generation = 0;
};
// Of a reconnect request datagram: "my end could be connected again".
struct ReconnectRequestBody {
  std::uint16_t subchannel = 0;
  std::uint16_t reserved = 0;
  std::uint32_t connection_generation = 0;  // the latest that this end knows
  RailAddress rail;                         // of this end, as of now
};

// The body behind `skip` bytes of a packet; false: too short.
template <class Body>
bool read_body(std::span<const std::byte> packet, std::size_t skip, Body& body) {
  if (packet.size() < skip + sizeof(Body)) return false;
  std::memcpy(&body, packet.data() + skip, sizeof(Body));
  return true;
}

// a - b on the circle of sequence numbers.
inline std::int32_t sequence_distance(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}
// Whether generation (or count of packets) `a` is later than `b`.
inline bool later(std::uint32_t a, std::uint32_t b) { return sequence_distance(a, b) > 0; }

}  // namespace hawser
