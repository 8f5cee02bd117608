#include "rails/decision/connection_manager.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/siphash.h"

namespace hawser {
namespace {

constexpr std::uint8_t version = 3;
constexpr std::uint32_t numbers_of_24_bits = 0xffffff;

struct RequestBody {
  ConnectionEnd own;
};
struct ReplyBody {
  ConnectionEnd own;
  ConnectionEnd echo;  // of the request
};
struct RefuseBody {
  ConnectionEnd echo;
  std::uint32_t next = 0;  // the first generation that is not over
};
static_assert(sizeof(ConnectionEnd) == 72 && sizeof(RefuseBody) == 76, "on the wire as they are");

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

template <class Body>
bool read(std::span<const std::byte> bytes, Body& body) {
  if (bytes.size() != sizeof body) return false;
  std::memcpy(&body, bytes.data(), sizeof body);
  return true;
}

bool same(const ConnectionEnd& one, const ConnectionEnd& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

bool plausible(const ConnectionEnd& end) {
  std::uint8_t layer = 0, transport = 0;  // as bytes: what arrives may be no value of the enum
  std::memcpy(&layer, &end.port.link_layer, sizeof layer);
  std::memcpy(&transport, &end.port.transport, sizeof transport);
  return end.queue_pair <= numbers_of_24_bits && end.psn <= numbers_of_24_bits &&
         end.datagram_queue_pair <= numbers_of_24_bits &&
         layer <= static_cast<std::uint8_t>(rdma::LinkLayer::ethernet) &&
         transport <= static_cast<std::uint8_t>(rdma::Transport::tcp) && end.port.mtu >= 1 &&
         end.port.mtu <= 5 && end.path_mtu <= 5 && end.port.lmc <= 7;
}

}  // namespace

struct ConnectionManager::Header {
  std::uint64_t check = 0;  // of all that follows
  std::uint8_t format = version;
  DatagramKind kind = DatagramKind::request;
  std::uint16_t index = 0;  // of the subchannel
  std::uint32_t connection_generation = 0;
  ProcessIndex source = 0, destination = 0;
};

ConnectionManager::ConnectionManager(const ConnectionSettings& settings, ConnectionHost& host, Random& random)
    : settings_(settings), host_(host), random_(random) {
  static_assert(sizeof(Header) == header_bytes, "on the wire as it is");
}

ConnectionManager::Key ConnectionManager::key_of(ProcessIndex peer, std::uint16_t index) {
  return (static_cast<Key>(static_cast<std::uint32_t>(peer)) << 16) | index;
}

SubchannelName ConnectionManager::name_of(Key key, std::uint32_t connection_generation) {
  return {static_cast<ProcessIndex>(key >> 16), static_cast<std::uint16_t>(key), connection_generation};
}

bool ConnectionManager::send(std::uint16_t rail, Header header, std::span<const std::byte> body) {
  header.source = settings_.self;
  bytes_.resize(sizeof header + body.size());
  if (!body.empty()) std::memcpy(&bytes_[sizeof header], body.data(), body.size());
  std::memcpy(bytes_.data(), &header, sizeof header);
  header.check = siphash(settings_.secret, std::span(bytes_).subspan(sizeof header.check));
  std::memcpy(bytes_.data(), &header.check, sizeof header.check);
  if (!host_.send_datagram(rail, header.destination, header.index, bytes_)) return false;
  ++counters_.datagrams_sent;
  return true;
}

// ---- own requests ----

void ConnectionManager::request(const SubchannelName& name, std::uint16_t rail, const ConnectionEnd& own,
                                Nanoseconds now) {
  const Key key = key_of(name.peer, name.index);
  Link& link = links_[key];
  if (!link.request) ++requests_;
  link.request.reset(new Request{name.connection_generation, rail, own, 0, now});
  link.next = std::max(link.next, name.connection_generation + 1);
  ++counters_.requests;
  ask(key, *link.request, now);
}

void ConnectionManager::ask(Key key, Request& request, Nanoseconds now) {
  const std::uint32_t doublings = std::min(request.sent, 20u);
  const Nanoseconds pause = std::min(settings_.first_repeat << doublings, settings_.longest_repeat);
  // Up to a quarter longer, so that processes that began together do not ask together for ever.
  request.due =
      now + pause + static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(pause / 4 + 1)));
  earliest_ = std::min(earliest_, request.due);
  ++request.sent;
  if (!host_.rail_up(request.rail)) return;
  const SubchannelName name = name_of(key, request.connection_generation);
  Header header;
  header.kind = DatagramKind::request;
  header.index = name.index;
  header.connection_generation = name.connection_generation;
  header.destination = name.peer;
  send(request.rail, header, bytes_of(RequestBody{request.own}));
}

void ConnectionManager::forget(const SubchannelName& name) {
  Link& link = links_[key_of(name.peer, name.index)];
  link.next = std::max(link.next, name.connection_generation + 1);
  if (link.request && link.request->connection_generation <= name.connection_generation) {
    link.request.reset();
    --requests_;
  }
  if (link.accepted && link.accepted->connection_generation <= name.connection_generation)
    link.accepted.reset();
}

std::uint32_t ConnectionManager::next_generation(ProcessIndex peer, std::uint16_t index) const {
  const auto link = links_.find(key_of(peer, index));
  return link == links_.end() ? 0 : link->second.next;
}

void ConnectionManager::progress(Nanoseconds now) {
  if (now < earliest_) return;
  due_.clear();
  for (const auto& [key, link] : links_)
    if (link.request && link.request->due <= now) due_.push_back(key);
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const Key key = due_[i];
    std::unique_ptr<Request>& request = links_.find(key)->second.request;
    if (!request || request->due > now) continue;  // by what the host did meanwhile
    if (request->sent <= settings_.most_repeats) {
      ask(key, *request, now);
      continue;
    }
    const SubchannelName name = name_of(key, request->connection_generation);
    request.reset();
    --requests_;
    ++counters_.given_up;
    host_.abandon(name, true);
  }
  earliest_ = never;
  for (const auto& [key, link] : links_)
    if (link.request) earliest_ = std::min(earliest_, link.request->due);
}

Nanoseconds ConnectionManager::deadline() const { return requests_ == 0 ? never : earliest_; }

// ---- the failover's datagrams ----

bool ConnectionManager::send_control(const SubchannelName& to, std::uint16_t rail, DatagramKind kind,
                                     std::span<const std::byte> body) {
  Header header;
  header.kind = kind;
  header.index = to.index;
  header.destination = to.peer;
  for (std::uint16_t i = 0; i < settings_.rails; ++i) {
    const auto through = static_cast<std::uint16_t>((rail + i) % settings_.rails);
    if (host_.rail_up(through)) return send(through, header, body);
  }
  return false;
}

// ---- what arrives ----

void ConnectionManager::on_datagram(std::uint16_t rail, std::span<const std::byte> bytes, Nanoseconds) {
  ++counters_.datagrams_received;
  Header header;
  if (bytes.size() < sizeof header) {
    ++counters_.dropped_malformed;
    return;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (siphash(settings_.secret, bytes.subspan(sizeof header.check)) != header.check) {
    ++counters_.dropped_check;
    return;
  }
  // A stranger may send again, and to others, what processes of the job once sent.
  if (header.destination != settings_.self || header.source == settings_.self || header.source < 0 ||
      header.source >= settings_.processes) {
    ++counters_.dropped_malformed;
    return;
  }
  bool good = header.format == version;
  const std::span<const std::byte> body = bytes.subspan(sizeof header);
  if (good) switch (header.kind) {
      case DatagramKind::request: {
        RequestBody request;
        good = read(body, request) && plausible(request.own);
        if (good) on_request(header, rail, request.own);
        break;
      }
      case DatagramKind::reply: {
        ReplyBody reply;
        good = read(body, reply) && plausible(reply.own);
        if (good) on_reply(header, reply.own, reply.echo);
        break;
      }
      case DatagramKind::refuse: {
        RefuseBody refusal;
        good = read(body, refusal);
        if (good) on_refuse(header, refusal.echo, refusal.next);
        break;
      }
      case DatagramKind::fence:
      case DatagramKind::fence_answer:
      case DatagramKind::reconnect_request:
      case DatagramKind::address:
      case DatagramKind::address_query:
      case DatagramKind::close_request:
      case DatagramKind::close_refused:
      case DatagramKind::close:
      case DatagramKind::room_question:
      case DatagramKind::room_yes:
      case DatagramKind::room_not_now:
      case DatagramKind::packet:
      case DatagramKind::path_refused:
        host_.on_control(header.source, header.index, header.kind, body);
        break;
      default:
        good = false;
    }
  if (good) return;
  ++counters_.dropped_malformed;
  host_.on_malformed(header.source, fmt::format("an invalid datagram (format {}, kind {}, {} bytes)",
                                                header.format, static_cast<int>(header.kind), body.size()));
}

void ConnectionManager::on_request(const Header& header, std::uint16_t rail, const ConnectionEnd& remote) {
  const Key key = key_of(header.source, header.index);
  host_.on_address(header.source, header.index, remote);
  if (!give_way(header, key)) return;
  Header answer;
  answer.kind = DatagramKind::reply;
  answer.index = header.index;
  answer.connection_generation = header.connection_generation;
  answer.destination = header.source;
  if (const auto known = links_.find(key); known != links_.end()) {
    const Link& link = known->second;
    if (link.accepted && link.accepted->connection_generation == header.connection_generation &&
        same(link.accepted->remote, remote)) {
      send(rail, answer, bytes_of(ReplyBody{link.accepted->own, remote}));
      return;
    }
    if (header.connection_generation < link.next) {
      ++counters_.dropped_stale;
      refuse(header, rail, remote, link.next);
      return;
    }
  }
  ConnectionEnd own;
  if (!host_.answers(name_of(key, header.connection_generation), remote)) return;
  if (!host_.accept(name_of(key, header.connection_generation), remote, own)) return;
  Link& link = links_[key];
  link.accepted.reset(new Accepted{header.connection_generation, remote, own});
  link.next = std::max(link.next, header.connection_generation + 1);
  ++counters_.accepted;
  send(rail, answer, bytes_of(ReplyBody{own, remote}));
}

// An own request meets the peer's. True: none is in the way (any more).
bool ConnectionManager::give_way(const Header& header, Key key) {
  const auto known = links_.find(key);
  if (known == links_.end() || !known->second.request) return true;
  Link& link = known->second;
  const std::uint32_t own = link.request->connection_generation;
  if (header.connection_generation == own) ++counters_.collisions;
  if (header.connection_generation < own ||
      (header.connection_generation == own && settings_.self < header.source)) {
    if (header.connection_generation < own) ++counters_.dropped_stale;
    return false;  // the peer gets to know the own request, and answers it
  }
  link.request.reset();
  --requests_;
  link.next =
      std::min(link.next, header.connection_generation);  // the own one was never accepted by this peer
  host_.abandon(name_of(key, own), false);
  return true;
}

void ConnectionManager::refuse(const Header& header, std::uint16_t rail, const ConnectionEnd& echo,
                               std::uint32_t next) {
  Header answer;
  answer.kind = DatagramKind::refuse;
  answer.index = header.index;
  answer.connection_generation = header.connection_generation;
  answer.destination = header.source;
  send(rail, answer, bytes_of(RefuseBody{echo, next}));
}

void ConnectionManager::on_reply(const Header& header, const ConnectionEnd& remote,
                                 const ConnectionEnd& echo) {
  const Key key = key_of(header.source, header.index);
  const auto known = links_.find(key);
  if (known == links_.end() || !known->second.request ||
      known->second.request->connection_generation != header.connection_generation ||
      !same(known->second.request->own, echo)) {
    ++counters_.dropped_stale;
    return;
  }
  if (!host_.answers(name_of(key, header.connection_generation), remote)) return;
  known->second.request.reset();
  --requests_;
  host_.connected(name_of(key, header.connection_generation), remote);
}

void ConnectionManager::on_refuse(const Header& header, const ConnectionEnd& echo, std::uint32_t next) {
  const Key key = key_of(header.source, header.index);
  const auto known = links_.find(key);
  if (known == links_.end() || !known->second.request ||
      known->second.request->connection_generation != header.connection_generation ||
      !same(known->second.request->own, echo) || next <= header.connection_generation) {
    ++counters_.dropped_stale;
    return;
  }
  known->second.request.reset();
  --requests_;
  known->second.next = std::max(known->second.next, next);
  host_.abandon(name_of(key, header.connection_generation), true);
}

}  // namespace hawser
