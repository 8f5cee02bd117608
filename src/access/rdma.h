// The interface to network adapters that rails/ uses, named as in verbs. access/verbs implements it for
// InfiniBand and RoCE (libibverbs), access/ofi for plain Ethernet (libfabric). One process may use both;
// rails/ does not know which is which.
//
// Errors: whatever the network or the operating system may refuse is a Result or a Completion status. Methods
// on the hot path (post, poll) allocate nothing and make no system call. Threads: none; all calls of a
// process's devices come from the one thread that holds the process's lock. Lifetime: an object must be
// destroyed before the object it was made from. After a queue pair is destroyed, the adapter touches no
// memory for it any more, and poll() returns no completion of it. (Receives of a shared queue that it had
// taken and that were not polled are lost to the queue, so poll until the marker first.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace hawser::rdma {

enum class LinkLayer : std::uint8_t { infiniband, ethernet };
// The transport of connections. Ports with different transports cannot reach each other.
enum class Transport : std::uint8_t { verbs, tcp };

using Gid = std::array<std::uint8_t, 16>;
// A port on Ethernet has GIDs of several forms (IPv4, IPv6, link-local IPv6), each for one RoCE version or
// both. A kind is a version and a form: kinds 0 to 2 are RoCE version 2 (UDP) of each form, 3 to 5 version 1.
// Two ports use the first kind that both have.
inline constexpr int gid_forms = 3;  // IPv4, IPv6, link-local IPv6
inline constexpr int gid_kinds = 2 * gid_forms;
constexpr int form_of(int kind) { return kind % gid_forms; }

// The address of a port. Sent over the wire as plain bytes.
struct PortAddress {
  // Ethernet: one GID per form; all zero if the port has none. Otherwise only the first is used: InfiniBand
  // needs it across subnets, and Transport::tcp stores its IP address there.
  std::array<Gid, gid_forms> gids = {};
  std::uint16_t lid = 0;  // the base LID; with Transport::tcp the TCP port
  std::uint8_t lmc = 0;   // 2^lmc LIDs from the base one reach this port
  LinkLayer link_layer = LinkLayer::infiniband;
  std::uint8_t mtu = 0;  // bytes: 128 << mtu (as ibv_mtu)
  Transport transport = Transport::verbs;
  std::uint8_t longest_message = 31;  // 2^ that many bytes
  std::uint8_t kinds = 0;             // Ethernet: bit i is set if the port has kind i
  bool operator==(const PortAddress&) const = default;
};
static_assert(sizeof(PortAddress) == 56, "on the wire as it is");

// Ethernet: the kind by which two ports reach each other; -1 if there is none.
int common_kind(const PortAddress& one, const PortAddress& other);
// The largest request between two ports, in bytes.
std::int64_t longest_message(const PortAddress& one, const PortAddress& other);

struct PortAttributes {
  bool active = false;
  PortAddress address;
  // Ethernet: index of the GID of each kind. Query it again after every port event, because indices change.
  std::array<std::uint8_t, gid_kinds> gid_indices = {};
  std::int64_t bytes_per_second = 0;  // nominal: active width times speed, encoding taken off
  // InfiniBand: the port on which the subnet manager runs, and the service level to reach it; LID 0: none.
  std::uint16_t sm_lid = 0;
  std::uint8_t sm_sl = 0;
};

// The address that a connection uses at its own port. If it changes, the connection is cut.
struct LocalEnd {
  Gid gid = {};
  std::uint16_t lid = 0;
  std::uint8_t lmc = 0;
  std::uint8_t gid_index = 0;
  std::int8_t kind = -1;  // Ethernet
  bool operator==(const LocalEnd&) const = default;
};
LocalEnd local_end(const PortAttributes& own, int kind);

struct DeviceAttributes {
  std::string name;  // "mlx4_0"
  std::uint8_t ports = 1;
  std::int32_t send_queue_depth = 0;  // maximum
  std::int32_t completion_queue_depth = 0;
  std::int32_t shared_receive_depth = 0;
  std::int32_t inline_bytes = 0;       // of a queue pair as made here
  std::int32_t segments = 1;           // of a list, see QueuePair::post_list; 1: it takes none
  std::int32_t outstanding_reads = 0;  // of a queue pair, at either end; 0: it cannot read
  bool path_migration = false;         // automatic path migration
  std::int32_t queue_pairs = 0;        // that all processes of the host may have; 0: unknown
};

enum class Access : std::uint8_t { local, remote_write, remote_read_write };

// Memory that the adapter may access. Destroying it deregisters the memory. If the program may only read the
// memory, so may the adapter.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  virtual std::uint32_t local_key() const = 0;
  virtual std::uint32_t remote_key() const = 0;
  // The program may not write this memory, so the adapter may only read it, whatever was asked for.
  virtual bool read_only() const { return false; }
};

struct Segment {
  const std::byte* address = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t local_key = 0;  // ignored for inline data
};
inline constexpr int max_segments = 2;
// Of a list: so many take no more room in a send queue than the bytes that are sent inline.
inline constexpr int longest_list = 8;

enum class Opcode : std::uint8_t { send, write, read, receive };

struct SendRequest {
  std::uint64_t id = 0;
  Opcode opcode = Opcode::send;
  bool signaled = true;    // errors and flushes are always reported
  bool inlined = false;    // the bytes are copied out during post_send; at most inline_bytes
  bool solicited = false;  // wakes a receiver that armed for solicited completions only
  bool fenced = false;     // leaves when all reads that were posted before on this queue pair are done
  std::uint8_t segment_count = 0;
  Segment segments[max_segments];
  std::uint64_t remote_address = 0;  // write, read
  std::uint32_t remote_key = 0;
};

enum class Status : std::uint8_t {
  success,
  flushed,         // the queue pair was in ERROR: whether it was carried out is unknown
  retry_exceeded,  // the peer's adapter did not acknowledge
  rnr_exceeded,    // the peer has no receive posted
  remote_access,   // the peer's adapter refused: key, bounds, rights
  local_error,     // a bug or a memory region that went away here
  fatal,           // the device is gone
  other,
};
const char* status_name(Status status);

struct Completion {
  std::uint64_t id = 0;  // of the SendRequest or the receive
  Status status = Status::success;
  Opcode opcode = Opcode::send;         // meaningful with success only
  std::uint32_t bytes = 0;              // received
  std::uint32_t queue_pair = 0;         // number, at this end
  std::uint32_t source_queue_pair = 0;  // datagrams
  std::uint16_t source_lid = 0;         // datagrams
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  // Returns the number of completions stored in `into`; negative if the device is gone.
  virtual int poll(std::span<Completion> into) = 0;
  // After this, the next completion (with `solicited_only`, the next solicited or failed one) makes
  // Device::descriptor readable until something of the device is armed again. Before sleeping, arm
  // everything and poll everything once more: a completion that came before arming does not wake.
  virtual Result<> arm(bool solicited_only) = 0;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::byte* address = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t local_key = 0;
};

class SharedReceiveQueue {
 public:
  virtual ~SharedReceiveQueue() = default;
  virtual Result<> post(std::span<const ReceiveRequest> requests) = 0;
};

// The route of a connected queue pair.
struct Route {
  PortAddress destination;
  std::uint8_t port = 1;              // here
  std::uint8_t source_path_bits = 0;  // added to the own base LID
  std::uint8_t destination_path_bits = 0;
  // InfiniBand: as the path record says (access/path_record.h).
  std::uint8_t service_level = 0;
  std::uint8_t mtu = 0;          // as ibv_mtu; of both ends' ports if they are smaller, or if this is 0
  std::uint16_t partition = 0;   // P_Key; 0: that of the device (use_partition)
  std::uint32_t flow_label = 0;  // RoCE: source port entropy
};

// How long the adapter tries before Status::retry_exceeded: about (retries + 1) times `acknowledge_time`. For
// a receiver that has no receive posted it waits for ever.
struct RetryPolicy {
  Nanoseconds acknowledge_time = 8 * millisecond;  // rounded up to 4.096 us times a power of two
  std::uint8_t retries = 6;                        // 0..7; some adapters take 7 as for ever
};

struct ConnectParameters {
  Route route;
  std::uint32_t remote_queue_pair = 0;
  std::uint32_t send_psn = 0;  // 24 bits; the peer's receive_psn
  std::uint32_t receive_psn = 0;
  std::uint8_t outstanding_reads = 4;
  RetryPolicy retry_policy;
  // What both ends know and others do not. Used where anybody may ask for a connection (TCP); on InfiniBand
  // the adapters check the numbers above.
  std::array<std::uint64_t, 2> secret = {};
};

enum class MigrationState : std::uint8_t { migrated, rearm, armed };

// A reliable connection.
class QueuePair {
 public:
  virtual ~QueuePair() = default;
  virtual std::uint32_t number() const = 0;
  // The steps from INIT (as made) on. After make_ready_to_receive packets of the peer are taken; after
  // make_ready_to_send requests may be posted.
  virtual Result<> make_ready_to_receive(const ConnectParameters& parameters) = 0;
  virtual Result<> make_ready_to_send() = 0;
  // Everything posted and not completed is flushed; afterwards no packet of this connection lands any more.
  virtual Result<> make_error() = 0;
  // Returns how many requests were accepted, from the front: fewer than given if the queue is full. Callers
  // track the depth themselves, so this is rare.
  virtual int post_send(std::span<const SendRequest> requests) = 0;
  // A write or read, not inline, whose bytes here are in all of these segments instead of its own. False: the
  // queue is full.
  virtual bool post_list(const SendRequest& request, std::span<const Segment> segments);
  // Automatic path migration (InfiniBand architecture 17.2.8): load_alternate arms an alternate route, and
  // migrate asks the adapter to switch to it now.
  virtual Result<> load_alternate(const Route& route, Nanoseconds acknowledge_time);
  virtual Result<> migrate();
  virtual Result<MigrationState> migration_state();
};

// Where a datagram goes.
struct DatagramAddress {
  PortAddress port;
  std::uint32_t queue_pair = 0;
  std::uint8_t service_level = 0;
};

// A multicast group: what is sent to it reaches all datagram queue pairs that are attached, in whichever
// process they are.
struct MulticastGroup {
  Gid gid = {};           // begins with 0xff
  std::uint16_t lid = 0;  // InfiniBand: as the subnet's administrator says (access/multicast_record.h)
  std::uint8_t service_level = 0;  // the same
  bool operator==(const MulticastGroup&) const = default;
};

inline constexpr std::uint32_t least_datagram_receives = 128;

// Unreliable datagrams of at most datagram_bytes() each. They may be lost but are never duplicated.
class DatagramQueuePair {
 public:
  static constexpr int most_looks = 32;
  virtual ~DatagramQueuePair() = default;
  virtual std::uint32_t number() const = 0;
  virtual std::int32_t datagram_bytes() const = 0;
  // Copies the bytes. False if there is no room now or the address is not reachable yet; try again later.
  virtual bool send(const DatagramAddress& to, std::span<const std::byte> bytes) = 0;
  // The next datagram that arrived, valid until the next call. Empty if there is none, or after dropping
  // most_looks foreign ones.
  virtual std::span<const std::byte> receive() = 0;
  // Number of datagrams that have not left yet. If it does not fall although the port is active, the queue
  // pair hangs.
  virtual std::int32_t unsent() = 0;
  // Resets the queue pair but keeps its number. Datagrams in flight are lost.
  virtual void restart() = 0;
  // Multicast. From attach() to detach(), or until the queue pair is destroyed, receive() brings what is sent
  // to the group, too; what it sends itself may come back. An error: the adapter or the transport has none.
  // On InfiniBand the port must be a member in the administrator's eyes before, also to send only.
  virtual Result<> attach(const MulticastGroup& group);
  virtual void detach(const MulticastGroup&) {}
  // A datagram of both parts, which are copied. False as send().
  virtual bool send_to_group(const MulticastGroup&, std::span<const std::byte>, std::span<const std::byte>) {
    return false;
  }
  // Whether a connection to this port can be made without waiting for its address to be resolved. If not,
  // resolution is started; ask again later.
  virtual bool answers(const PortAddress&) { return true; }
};

// Something that happened to a device outside of completions.
struct DeviceEvent {
  enum class Kind : std::uint8_t {
    port_active,
    port_down,
    address_changed,  // LID, GID, client re-registration, subnet manager: query the port again
    device_fatal,
    queue_pair_fatal,
    path_migrated,
    path_migration_failed,
    last_receive_reached,  // of a queue pair in ERROR on a shared receive queue
    other,
  };
  Kind kind = Kind::other;
  std::uint8_t port = 0;         // port events
  std::uint32_t queue_pair = 0;  // queue pair events: number
};

struct QueuePairInitAttributes {
  CompletionQueue* completions = nullptr;  // of sends and receives
  SharedReceiveQueue* receives = nullptr;
  std::uint8_t port = 1;
  std::int32_t send_depth = 128;
  std::int32_t inline_bytes = 64;
};

// An opened adapter with a protection domain.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceAttributes& attributes() const = 0;
  virtual Result<PortAttributes> query_port(std::uint8_t port) = 0;  // 1..attributes().ports
  // InfiniBand: queue pairs that are made from now on are in the partition of this P_Key. At first, and with
  // 0, in that of the first entry of their port's table.
  virtual void use_partition(std::uint16_t) {}
  virtual bool in_partition(std::uint8_t, std::uint16_t) { return true; }  // port, P_Key

  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::size_t bytes,
                                                                Access access) = 0;
  virtual Result<std::unique_ptr<CompletionQueue>> make_completion_queue(std::int32_t depth) = 0;
  virtual Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(std::int32_t depth) = 0;
  virtual Result<std::unique_ptr<QueuePair>> make_queue_pair(
      const QueuePairInitAttributes& shape) = 0;  // in INIT
  // Has receive buffers and a completion queue of its own. `key` is the Q_Key of the job. `receives`: how
  // many datagrams there is room for between two calls of receive(); fewer if so much memory cannot be
  // locked.
  virtual Result<std::unique_ptr<DatagramQueuePair>> make_datagram_queue_pair(
      std::uint8_t port, std::uint32_t key, std::uint32_t receives = least_datagram_receives) = 0;

  // Takes the next event; false if there is none. Never waits but costs a system call, so do not call it in
  // every pass of progress.
  virtual bool next_event(DeviceEvent& event) = 0;
  // Readable when an armed completion queue, armed datagrams or an event have something; -1 if sleeping is
  // not possible (simulator). Arming and taking the events make it unreadable again.
  virtual int descriptor() const = 0;
  // Arms the datagram queue pairs; what completes afterwards makes the descriptor readable.
  virtual Result<> arm_datagrams() = 0;

  // After device_fatal, when everything made from the device is destroyed: closes the adapter so that it can
  // be reset. Afterwards every call fails or finds nothing, except attributes() and descriptor().
  virtual void close() {}
  // Opens the same adapter again, as if for the first time; attributes() may have changed. An error means
  // that it is not back yet or fails again.
  virtual Result<> open_again();
};

// The adapters of this host. An empty list is not an error: the host has no adapters.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  virtual Result<std::vector<std::unique_ptr<Device>>> open_devices() = 0;
};

}  // namespace hawser::rdma
