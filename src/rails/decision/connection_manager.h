// ConnectionManager: connects subchannels over unreliable datagrams, on demand, from either end or both at
// once (V11; doc/rails.md, Handshake), and carries the failover's fences when no subchannel works. A machine
// of events: it is given datagrams and `now`, and calls its host. Rails are only numbers here.
//
// It trusts nothing that arrives: check (whose key only the job's processes have), source, sizes and states
// are looked at first; what does not fit is dropped and counted.
//
// Every request takes a later generation than all before it of the same subchannel, also after one that was
// given up (next_generation), so that whatever is late names something that is over. Of two requests that
// meet, the later generation stands; of equal ones, that of the process with the lower index. Who asks with
// one that is over is told which would be next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "access/rdma.h"
#include "base/random.h"
#include "base/time.h"
#include "channel/transport.h"

namespace hawser {

// One end of a subchannel that is being connected. Plain bytes on the wire.
struct ConnectionEnd {
  rdma::PortAddress port;
  std::uint32_t queue_pair = 0;
  std::uint32_t psn = 0;  // 24 bits: the first that this end sends
  std::uint32_t datagram_queue_pair = 0;
  std::uint8_t device_generation = 0, address_generation = 0;  // of the rail (RailAddress)
  std::uint8_t outstanding_reads = 0;
  std::uint8_t path_mtu = 0;  // as ibv_mtu; of the path record at this end; 0: it has none
};

struct SubchannelName {
  ProcessIndex peer = -1;
  std::uint16_t index = 0;
  std::uint32_t connection_generation = 0;
  bool operator==(const SubchannelName&) const = default;
};

enum class DatagramKind : std::uint8_t {
  request = 1,
  reply,
  refuse,
  fence,
  fence_answer,
  reconnect_request,
  address,
  address_query,
  close_request,
  close_refused,
  close,
  room_question,  // RoomAgreement; these three have no body
  room_yes,
  room_not_now,
  packet,       // of the virtual channel, small; or a credit, which acknowledges some
  path_refused  // a connection on demand, for which there is no room
};

inline constexpr std::uint16_t no_subchannel = UINT16_MAX;

// From within accept(), connected() and abandon(), the host does not request the subchannel they name.
class ConnectionHost {
 public:
  // The peer asks: connect a queue pair to `remote` (ready to receive and send) and answer with the own end.
  // False: not now (the subchannel is not fenced yet, no resources, the generation is not newer); the peer
  // asks again. Called once for each accepted request: repeats are answered by the manager.
  virtual bool accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) = 0;
  // Whether it can be connected to now; asked before accept() and connected(). False: the datagram is passed
  // over, and its repeat brings another chance.
  virtual bool answers(const SubchannelName&, const ConnectionEnd&) { return true; }
  // Answer to an own request: connect to `remote`. If both ends asked at once and the peer's request stands,
  // accept() is called instead, after abandon().
  virtual void connected(const SubchannelName& name, const ConnectionEnd& remote) = 0;
  // The own request is void: destroy what was made for it. `gave_up`: the attempts ran out, or the peer knew
  // a later generation; else the peer's request stands.
  virtual void abandon(const SubchannelName& name, bool gave_up) = 0;
  // All but request, reply and refuse have a body of their own. `index`: of the subchannel that it is about
  // or came the way of, as the peer says; no_subchannel: of none.
  virtual void on_control(ProcessIndex peer, std::uint16_t index, DatagramKind kind,
                          std::span<const std::byte> body) = 0;
  // A request of the peer's came, which may be dropped or refused: where its end of this subchannel is now.
  virtual void on_address(ProcessIndex peer, std::uint16_t index, const ConnectionEnd& end) = 0;
  // A process of the job, by the check, sent a datagram that none can mean; `what` goes on after "rank 3
  // sent ".
  virtual void on_malformed(ProcessIndex peer, std::string what) = 0;
  // Puts a datagram on the way through a rail, to where this subchannel ends if it is on it (no_subchannel:
  // of none); false: no room or the rail is down.
  virtual bool send_datagram(std::uint16_t rail, ProcessIndex peer, std::uint16_t index,
                             std::span<const std::byte> bytes) = 0;
  // Whether this rail's port is active, as far as known.
  virtual bool rail_up(std::uint16_t rail) const = 0;

 protected:
  ~ConnectionHost() = default;
};

struct ConnectionSettings {
  ProcessIndex self = 0;
  std::int32_t processes = INT32_MAX;  // of the job
  std::uint16_t rails = 1;
  std::array<std::uint64_t, 2> secret = {};  // of the job
  Nanoseconds first_repeat = 2 * millisecond;
  Nanoseconds longest_repeat = 100 * millisecond;
  std::uint32_t most_repeats = 12;  // of one request; then abandon(gave_up)
};

struct ConnectionCounters {
  std::uint64_t datagrams_sent = 0, datagrams_received = 0;
  std::uint64_t dropped_check = 0, dropped_malformed = 0, dropped_stale = 0;
  std::uint64_t requests = 0, accepted = 0, given_up = 0, collisions = 0;
};

class ConnectionManager {
 public:
  ConnectionManager(const ConnectionSettings& settings, ConnectionHost& host, Random& random);

  // Before every datagram's own content: what is left of a rail's datagram_bytes is for send_control's body.
  static constexpr std::size_t header_bytes = 24;

  // Asks the peer to connect; `rail` is the one that the subchannel is on and that the request goes through.
  // `name` has the generation next_generation(). A request of the same subchannel that is under way is
  // replaced, without abandon().
  void request(const SubchannelName& name, std::uint16_t rail, const ConnectionEnd& own, Nanoseconds now);
  // Later than every one of this subchannel that this process or, as far as it told, the peer has used.
  std::uint32_t next_generation(ProcessIndex peer, std::uint16_t index) const;
  // The subchannel failed or was fenced: forget the request or the accepted state of this and older
  // generations.
  void forget(const SubchannelName& name);
  // One datagram for the failover; the caller repeats. Goes through `rail` if it is up, else through the next
  // one that is, and if that is the rail of the named subchannel, to where this ends.
  bool send_control(const SubchannelName& to, std::uint16_t rail, DatagramKind kind,
                    std::span<const std::byte> body);

  void on_datagram(std::uint16_t rail, std::span<const std::byte> bytes, Nanoseconds now);
  // Repeats what is due.
  void progress(Nanoseconds now);
  Nanoseconds deadline() const;  // when progress has something to do; never: not by itself
  const std::array<std::uint64_t, 2>& secret() const { return settings_.secret; }
  const ConnectionCounters& counters() const { return counters_; }

 private:
  struct Request {
    std::uint32_t connection_generation = 0;
    std::uint16_t rail = 0;
    ConnectionEnd own;
    std::uint32_t sent = 0;
    Nanoseconds due = 0;  // of the next repeat
  };
  struct Accepted {
    std::uint32_t connection_generation = 0;
    ConnectionEnd remote, own;
  };
  // What is known of one subchannel. Most have neither request nor answer: they are connected, or were.
  struct Link {
    std::unique_ptr<Request> request;
    std::unique_ptr<Accepted> accepted;
    std::uint32_t next = 0;  // generations below are over or in use
  };
  struct Header;

 public:
  // What is remembered of a subchannel that was ever connected: a node of the map.
  static constexpr std::size_t bytes_per_subchannel() {
    return sizeof(std::pair<Key, Link>) + 4 * sizeof(void*);
  }

 private:
  // Peer and index in one number, in this order.
  using Key = std::uint64_t;
  static Key key_of(ProcessIndex peer, std::uint16_t index);
  static SubchannelName name_of(Key key, std::uint32_t connection_generation);

  void on_request(const Header& header, std::uint16_t rail, const ConnectionEnd& remote);
  void on_reply(const Header& header, const ConnectionEnd& remote, const ConnectionEnd& echo);
  void on_refuse(const Header& header, const ConnectionEnd& echo, std::uint32_t next);
  bool give_way(const Header& header, Key key);
  void refuse(const Header& header, std::uint16_t rail, const ConnectionEnd& echo, std::uint32_t next);
  void ask(Key key, Request& request, Nanoseconds now);
  bool send(std::uint16_t rail, Header header, std::span<const std::byte> body);

  ConnectionSettings settings_;
  ConnectionHost& host_;
  Random& random_;
  ConnectionCounters counters_;
  std::map<Key, Link> links_;
  std::vector<Key> due_;          // scratch
  std::vector<std::byte> bytes_;  // scratch: a datagram
  std::size_t requests_ = 0;      // under way
  Nanoseconds earliest_ = never;  // no repeat is due before
};

}  // namespace hawser
