#include "channel/socket_channel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/failure.h"
#include "os/shared_memory.h"

namespace hawser {
namespace {

constexpr std::string_view address_key = "hawser-socket";
constexpr std::int64_t stream_piece = 16 << 10;
// After this many passes without anything, only every so manieth asks the system: shared memory must not
// pay a system call for each of its polls.
constexpr std::uint32_t eager_passes = 64, lazy_stride = 32;

void copy_in(std::byte* to, const ByteSequence& from, std::int64_t offset, std::int64_t bytes) {
  if (bytes == 0) return;
  if (from.contiguous())
    std::memcpy(to, from.data + offset, static_cast<std::size_t>(bytes));
  else
    from.packer->pack(offset, to, bytes);
}

}  // namespace

SocketChannel::SocketChannel(ProcessIndex self, std::int32_t job_size, AddressExchange& exchange,
                             const Knobs& knobs)
    : self_(self),
      exchange_(exchange),
      eager_limit_(knobs.socket_eager_limit),
      buffer_bytes_(
          static_cast<std::size_t>(std::max(knobs.socket_buffer, 2 * knobs.socket_eager_limit + 65536))),
      peers_(static_cast<std::size_t>(job_size)),
      next_key_(listener_key + 1),
      // Strangers must leave most of the descriptors to the job.
      most_unverified_(static_cast<std::size_t>(std::clamp<std::int64_t>(descriptor_limit() / 8, 2, 64))) {}

Result<std::unique_ptr<SocketChannel>> SocketChannel::open(ProcessIndex self, std::int32_t job_size,
                                                           AddressExchange& exchange, const Knobs& knobs) {
  std::unique_ptr<SocketChannel> channel(new SocketChannel(self, job_size, exchange, knobs));
  auto ready = ReadySet::make();
  if (!ready) return ready.take_error();
  channel->ready_ = std::move(ready).value();
  auto listener = listen_tcp(knobs.socket_address, channel->own_.port);
  if (!listener && !knobs.socket_address.empty())
    return failure(ErrorKind::other, "HAWSER_SOCKET_ADDRESS={}: {}", knobs.socket_address,
                   listener.error().text);
  if (!listener) return listener.take_error();
  channel->listener_ = std::move(listener).value();
  HAWSER_TRY(channel->ready_.add(channel->listener_, listener_key, true, false));
  const auto secret = random_secret();
  if (!secret) return secret.error();
  std::copy_n(secret.value().begin(), 2, channel->own_.secret);
  channel->own_.identity =
      knobs.socket_address.empty() ? network_identity() : std::string(SocketAddress::no_identity);
  channel->own_.addresses =
      knobs.socket_address.empty() ? host_addresses() : std::vector<std::string>{knobs.socket_address};
  return channel;
}

Result<> SocketChannel::publish() { return exchange_.put(address_key, own_.text()); }

// Null when the peer is lost.
OutgoingConnection* SocketChannel::connection_to(ProcessIndex process) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.lost) return nullptr;
  if (peer.outgoing != nullptr) return peer.outgoing.get();
  auto text = exchange_.get(process, address_key);
  if (!text) {
    lose_now(process, text.take_error());
    return nullptr;
  }
  auto address = SocketAddress::parse(text.value());
  if (!address) {
    lose_now(process, address.take_error());
    return nullptr;
  }
  peer.outgoing = std::make_unique<OutgoingConnection>(address.value(), own_.identity, self_, buffer_bytes_);
  connecting_.push_back(process);
  return peer.outgoing.get();
}

void SocketChannel::note_due(ProcessIndex process) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.due) return;
  peer.due = true;
  due_.push_back(process);
  ring();
}

// What is sent to a lost peer is swallowed: the loss itself was or will be reported.
bool SocketChannel::try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) {
  OutgoingConnection* connection = connection_to(peer);
  if (connection == nullptr) return true;
  if (!connection->room(static_cast<std::size_t>(payload.size))) return false;
  SocketFrame frame;
  frame.kind = SocketFrame::packet;
  frame.body = static_cast<std::uint32_t>(payload.size);
  frame.header = header;
  copy_in(add(*connection, frame), payload, 0, payload.size);
  note_due(peer);
  return true;
}

bool SocketChannel::try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                               Completion* end) {
  OutgoingConnection* connection = connection_to(peer);
  if (connection != nullptr && !connection->room(0)) return false;
  SocketFrame frame;
  frame.kind = SocketFrame::expose;
  frame.number = exposed_.take();
  frame.size = bytes.size;
  frame.header = header;
  exposed_[frame.number] = {peer, bytes, end, false};
  if (connection == nullptr) {
    losses_.emplace_back(peer, failure(ErrorKind::other, "it was lost before"));
    return true;
  }
  add(*connection, frame);
  note_due(peer);
  return true;
}

void SocketChannel::fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
                          Completion* end) {
  OutgoingConnection* connection = connection_to(peer);
  SocketFrame frame;
  frame.number = static_cast<std::uint32_t>(token.words[0]);
  if (into.size == 0) {
    frame.kind = SocketFrame::done;
    landed_.push_back(end);
    ring();
  } else {
    frame.kind = SocketFrame::pull;
    frame.fetch = fetches_.take();
    frame.size = into.size;
    fetches_[frame.fetch] = {peer, into, end, 0};
  }
  if (connection == nullptr) {
    losses_.emplace_back(peer, failure(ErrorKind::other, "it was lost before"));
    return;
  }
  add(*connection, frame);
  note_due(peer);
}

std::byte* SocketChannel::add(OutgoingConnection& connection, const SocketFrame& frame) {
  ++frames_sent_;
  bytes_sent_ += frame.body;
  return connection.add(frame);
}

std::vector<ChannelCounter> SocketChannel::list_counters() const {
  return {{"frames_sent", frames_sent_},
          {"frames_received", frames_received_},
          {"bytes_sent", bytes_sent_},
          {"bytes_received", bytes_received_}};
}

// The ready set is closed first: what would be removed from it would be removed for the other process, too.
void SocketChannel::forget() {
  ready_ = {};
  listener_.close();
  unverified_.clear();
  incoming_.clear();
  for (Peer& peer : peers_) peer.outgoing.reset();
}

bool SocketChannel::holds_back() {
  std::erase_if(connecting_, [this](ProcessIndex process) {
    const Peer& peer = peers_[static_cast<std::size_t>(process)];
    return peer.outgoing == nullptr || peer.outgoing->connected();
  });
  const auto waits = [this](ProcessIndex process) {
    return !peers_[static_cast<std::size_t>(process)].outgoing->flushed();
  };
  return !due_.empty() || std::any_of(connecting_.begin(), connecting_.end(), waits);
}

bool SocketChannel::flushed() const {
  const auto peer_flushed = [](const Peer& peer) {
    return peer.streams.empty() && (peer.outgoing == nullptr || peer.outgoing->flushed());
  };
  return std::all_of(peers_.begin(), peers_.end(), peer_flushed) && exposed_.unused();
}

bool SocketChannel::progress(TransportEvents& events, Nanoseconds now) {
  bool moved = false;
  now_ = now;
  if (!unverified_.empty() || !listening_) [[unlikely]]
    watch_unverified();
  for (; !landed_.empty(); moved = true) {
    Completion* const end = landed_.front();
    landed_.pop_front();
    tell(end, {});
  }
  for (; !losses_.empty(); moved = true) {
    const auto [peer, error] = std::move(losses_.front());
    losses_.pop_front();
    lose(peer, error, events);
  }
  // Events may make more peers due; they get their turn in the next pass.
  std::vector<ProcessIndex> due;
  due.swap(due_);
  for (const ProcessIndex peer : due) {
    peers_[static_cast<std::size_t>(peer)].due = false;
    moved |= advance_peer(peer, false, false, events);
  }
  if (watched_ >= 0) connect_to_watched(moved, now);
  if (!moved && ++quiet_passes_ > eager_passes && quiet_passes_ % lazy_stride != 0) return false;
  for (const ReadySet::Ready& ready : ready_.poll()) {
    if (ready.key == listener_key) {
      accept_some(events);
      moved = true;
    } else if (ready.key < listener_key) {
      moved |= advance_peer(static_cast<ProcessIndex>(ready.key), ready.readable, ready.writable, events);
    } else {
      moved |= receive_from(ready.key, events);
    }
  }
  if (moved) quiet_passes_ = 0;
  return moved;
}

// Sending.

bool SocketChannel::advance_peer(ProcessIndex process, bool readable, bool writable,
                                 TransportEvents& events) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  if (peer.lost || peer.outgoing == nullptr) return false;
  push_streams(peer);
  auto moved = peer.outgoing->advance(ready_, static_cast<std::uint64_t>(process), readable, writable);
  if (!moved) {
    // Who was only to be watched may be out of reach: nobody has needed the connection.
    const bool needed = peer.outgoing->connected() || !peer.outgoing->unused();
    if (peer.left || !needed)
      peer.outgoing.reset();
    else
      lose(process, moved.error(), events);
    return true;
  }
  // Otherwise the ready set tells when there is room.
  if (moved.value() && !peer.streams.empty()) note_due(process);
  return moved.value();
}

// Fills the buffer with pieces of the messages that were asked for, oldest first.
void SocketChannel::push_streams(Peer& peer) {
  while (!peer.streams.empty()) {
    Stream& stream = peer.streams.front();
    const std::int64_t size = std::min(stream_piece, stream.size - stream.position);
    if (!peer.outgoing->room(static_cast<std::size_t>(size))) return;
    Exposed& exposed = exposed_[stream.number];
    SocketFrame frame;
    frame.kind = SocketFrame::data;
    frame.body = static_cast<std::uint32_t>(size);
    frame.fetch = stream.fetch;
    frame.position = stream.position;
    copy_in(add(*peer.outgoing, frame), exposed.bytes, stream.position, size);
    stream.position += size;
    if (stream.position < stream.size) continue;
    Completion* const end = exposed.end;
    exposed_.release(stream.number);
    peer.streams.pop_front();
    tell(end, {});
  }
}

void SocketChannel::connect_to_watched(bool moved, Nanoseconds now) {
  constexpr Nanoseconds time_before_watching = 1 * second;
  if (moved || quiet_passes_ == 0 || quiet_since_ == never) quiet_since_ = now;
  if (now - quiet_since_ < time_before_watching) return;
  const ProcessIndex peer = std::exchange(watched_, -1);
  if (connection_to(peer) != nullptr) note_due(peer);
}

int SocketChannel::connected_peers() const {
  return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.outgoing != nullptr && peer.outgoing->connected();
  }));
}

SocketChannel::~SocketChannel() {
  SocketFrame goodbye;
  goodbye.kind = SocketFrame::goodbye;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    OutgoingConnection* const connection = peers_[i].outgoing.get();
    if (connection == nullptr || !connection->connected()) continue;
    add(*connection, goodbye);
    // If there is no room now the peer has not read for long, and will not mind.
    [[maybe_unused]] const auto written = connection->advance(ready_, i, false, false);
  }
}

void SocketChannel::lose_now(ProcessIndex process, Error error) {
  peers_[static_cast<std::size_t>(process)].lost = true;
  losses_.emplace_back(process, std::move(error));
}

// Ends everything that waits for the peer.
void SocketChannel::lose(ProcessIndex process, const Error& error, TransportEvents& events) {
  Peer& peer = peers_[static_cast<std::size_t>(process)];
  peer.lost = true;
  peer.outgoing.reset();
  peer.streams.clear();
  const auto told = [&] {
    return failure(ErrorKind::peer_lost, "rank {} cannot be reached: {}", process, error.text);
  };
  for (std::uint32_t i = 0; i < exposed_.size(); ++i) {
    if (exposed_[i].peer != process) continue;
    Completion* const end = exposed_[i].end;
    exposed_.release(i);
    tell(end, told());
  }
  for (std::uint32_t i = 0; i < fetches_.size(); ++i) {
    if (fetches_[i].peer != process) continue;
    Completion* const end = fetches_[i].end;
    fetches_.release(i);
    tell(end, told());
  }
  events.on_peer_lost(process, told());
}

// Receiving.

bool SocketChannel::receive_from(std::uint64_t key, TransportEvents& events) {
  const auto found = incoming_.find(key);
  if (found == incoming_.end()) return false;
  IncomingConnection& connection = *found->second;
  bool open = connection.read();
  // Whoever cannot name the secret is no process of this job and is sent away without a word.
  const bool known = connection.source >= 0 || greet(key, connection);
  bool more = known && connection.source >= 0;
  while (more) {
    auto received = receive_frame(connection, events);
    if (!received) {
      events.on_bad_packet(connection.source, received.error().text);
      lose(connection.source, failure(ErrorKind::other, "it sent {}", received.error().text), events);
      open = false;
      break;
    }
    more = received.value();
  }
  if (open && known) return true;
  if (known && connection.source >= 0) {
    const Peer& peer = peers_[static_cast<std::size_t>(connection.source)];
    if (!peer.lost && !peer.left)
      lose(connection.source,
           failure(ErrorKind::other, "it ended its connection without a goodbye, so it has died"), events);
  }
  turn_away(key);
  return true;
}

// Checks the hello once it is there. False: not one of us.
bool SocketChannel::greet(std::uint64_t key, IncomingConnection& connection) {
  const std::byte* bytes = connection.peek(sizeof(SocketHello));
  if (bytes == nullptr) return true;
  SocketHello hello;
  std::memcpy(&hello, bytes, sizeof(hello));
  connection.consume(sizeof(hello));
  if (hello.magic != SocketHello::expected_magic || hello.secret[0] != own_.secret[0] ||
      hello.secret[1] != own_.secret[1] || hello.source < 0 ||
      hello.source >= static_cast<std::int32_t>(peers_.size()) || hello.source == self_)
    return false;
  std::erase(unverified_, key);
  return connection.welcome(hello.source, static_cast<std::size_t>(std::max(eager_limit_, stream_piece)));
}

// Takes one frame; false when none is complete. An error: the peer sends nonsense.
Result<bool> SocketChannel::receive_frame(IncomingConnection& connection, TransportEvents& events) {
  const std::byte* bytes = connection.peek(sizeof(SocketFrame));
  if (bytes == nullptr) return false;
  SocketFrame frame;
  std::memcpy(&frame, bytes, sizeof(frame));
  if (frame.body > std::max(eager_limit_, stream_piece) || frame.size < 0)
    return failure(ErrorKind::other, "a frame of {} bytes that announces {}", frame.body, frame.size);
  bytes = connection.peek(sizeof(SocketFrame) + frame.body);
  if (bytes == nullptr) return false;
  const std::byte* const body = bytes + sizeof(SocketFrame);
  ++frames_received_;
  bytes_received_ += frame.body;
  const ProcessIndex source = connection.source;
  const bool exposed_to_it = frame.number < exposed_.size() && exposed_[frame.number].peer == source;
  switch (frame.kind) {
    case SocketFrame::packet:
      events.on_packet(source, frame.header, body, frame.body);
      break;
    case SocketFrame::expose: {
      const ExposeToken token{{frame.number, 0, static_cast<std::uint64_t>(frame.size), 0}};
      events.on_offer(source, frame.header, token, frame.size);
      break;
    }
    case SocketFrame::pull: {
      if (!exposed_to_it || exposed_[frame.number].pulled || frame.size < 1 ||
          frame.size > exposed_[frame.number].bytes.size)
        return failure(ErrorKind::other, "a request for {} bytes of message {}, which were not offered to it",
                       frame.size, frame.number);
      exposed_[frame.number].pulled = true;
      peers_[static_cast<std::size_t>(source)].streams.push_back({frame.number, frame.fetch, 0, frame.size});
      note_due(source);
      break;
    }
    case SocketFrame::data:
      HAWSER_TRY(receive_data(source, frame, body));
      break;
    case SocketFrame::done: {
      if (!exposed_to_it || exposed_[frame.number].pulled)
        return failure(ErrorKind::other, "the end of message {}, which was not offered to it", frame.number);
      Completion* const end = exposed_[frame.number].end;
      exposed_.release(frame.number);
      tell(end, {});
      break;
    }
    case SocketFrame::goodbye:
      peers_[static_cast<std::size_t>(source)].left = true;
      break;
    default:
      return failure(ErrorKind::other, "a frame of unknown kind {}", frame.kind);
  }
  connection.consume(sizeof(SocketFrame) + frame.body);
  return true;
}

Result<> SocketChannel::receive_data(ProcessIndex source, const SocketFrame& frame, const std::byte* body) {
  if (frame.fetch >= fetches_.size() || fetches_[frame.fetch].peer != source)
    return failure(ErrorKind::other, "{} bytes for transfer {}, which were not asked for", frame.body,
                   frame.fetch);
  Fetch& fetch = fetches_[frame.fetch];
  // Pieces come in order, so the position is known; it stands in the frame to be checked.
  if (frame.position != fetch.arrived || frame.body > fetch.into.size - fetch.arrived)
    return failure(ErrorKind::other, "{} bytes at position {} of transfer {}, where {} of {} were next",
                   frame.body, frame.position, frame.fetch, fetch.arrived, fetch.into.size);
  if (fetch.into.contiguous())
    std::memcpy(fetch.into.data + fetch.arrived, body, frame.body);
  else
    fetch.into.packer->unpack(fetch.arrived, body, frame.body);
  fetch.arrived += frame.body;
  if (fetch.arrived == fetch.into.size) {
    Completion* const end = fetch.end;
    fetches_.release(frame.fetch);
    tell(end, {});
  }
  return {};
}

}  // namespace hawser
