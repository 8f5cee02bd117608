// A network for the tests of the message room: channels that refuse, delay and cut into pieces at random,
// within what channel.h allows.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "channel/channel_set.h"
#include "message/point_to_point.h"
#include "message/transfer.h"

namespace hawser {

struct TestNetworkOptions {
  std::int64_t eager_limit = 256;
  double refusal = 0.3;   // chance that a channel has no room
  double delivery = 0.5;  // chance that a pass of progress moves a packet or a step of a transfer
  UnexpectedBounds bounds{1 << 20, 1 << 20};
};

class TestNetwork {
 public:
  using Options = TestNetworkOptions;

  TestNetwork(int processes, std::uint64_t seed, Options options = {});

  // One process more, which all others learn of.
  void add_process() {
    const auto added = static_cast<int>(nodes_.size());
    nodes_.push_back(std::make_unique<Node>(*this, added));
    for (int i = 0; i < added; ++i) {
      nodes_[static_cast<std::size_t>(i)]->processes.add({});
      (*this)[i].learn_processes();
    }
    connect(added);
  }

  PointToPoint& operator[](int process) { return nodes_[static_cast<std::size_t>(process)]->messages; }
  Lane& lane(int process) { return nodes_[static_cast<std::size_t>(process)]->lane; }
  RequestTable& table(int process) { return nodes_[static_cast<std::size_t>(process)]->table; }
  Random& random() { return random_; }
  bool progress(int process);
  // Moves everything on until nothing is left under way; no more refusals from here on.
  void settle();
  // A packet as a channel would report it, whatever stands in it; `in_pieces`: as a long eager message.
  void inject(int from, int to, const TransportHeader& header, std::vector<std::byte> payload,
              std::int64_t message_size, bool in_pieces);
  // Bytes exposed that nobody has fetched.
  std::size_t exposed() const { return exposed_.size(); }

 private:
  struct Packet {
    TransportHeader header;
    std::vector<std::byte> payload;
    std::int64_t message_size = 0;
    bool offers = false;         // the payload is an ExposeToken
    Completion* done = nullptr;  // not a packet: the exposed bytes of this are free
    bool in_pieces = false;
    bool begun = false;  // in pieces: the sink is known
    EagerSink sink;
    std::int64_t landed = 0;
  };
  struct Exposed {
    ByteSequence bytes;
    Completion* end;
    int owner;
  };
  struct Fetch {
    int process;
    std::uint64_t exposed;
    ByteSequence into;
    Completion* end;
  };

  class Link final : public Transport {
   public:
    Link(TestNetwork& network, int self) : network_(network), self_(self) {}
    const char* name() const override { return "test"; }
    std::int64_t eager_limit(ProcessIndex) const override { return network_.options_.eager_limit; }
    bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override;
    bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                    Completion* end) override;
    void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
               Completion* end) override;
    bool progress(TransportEvents& events, Nanoseconds now) override;
    bool flushed() const override { return true; }

   private:
    bool advance(TransportEvents& events, int source, Packet& packet);

    TestNetwork& network_;
    int self_;
  };

  struct Node final : ChannelSet {
    Node(TestNetwork& network, int self) : link(network, self), link_pointer(&link), process(self) {}
    Transport* channel_of(ProcessIndex peer) override { return peer == process ? nullptr : &link; }
    std::span<Transport* const> channels() override { return {&link_pointer, 1}; }
    Waiter& waiter() override { HAWSER_UNREACHABLE(); }

    ProcessTable processes;
    RequestTable table;
    Lane lane;
    PointToPoint messages{table};
    Link link;
    Transport* link_pointer;
    int process;
  };

  void connect(int process) {
    Node& node = *nodes_[static_cast<std::size_t>(process)];
    for (std::size_t i = 0; i < nodes_.size(); ++i) node.processes.add({});
    node.messages.connect(node.lane, process, node.processes, node, options_.bounds);
  }
  std::deque<Packet>& queue(int from, int to) { return queues_[{from, to}]; }

  Options options_;
  Random random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::pair<int, int>, std::deque<Packet>> queues_;
  std::map<std::uint64_t, Exposed> exposed_;
  std::vector<Fetch> fetches_;
  std::uint64_t last_exposed_ = 0;
};

inline TestNetwork::TestNetwork(int processes, std::uint64_t seed, Options options)
    : options_(options), random_(seed) {
  for (int i = 0; i < processes; ++i) nodes_.push_back(std::make_unique<Node>(*this, i));
  for (int i = 0; i < processes; ++i) connect(i);
}

inline bool TestNetwork::Link::try_send(ProcessIndex peer, const TransportHeader& header,
                                        const ByteSequence& payload) {
  HAWSER_ASSERT(payload.size <= network_.options_.eager_limit && peer != self_);
  if (network_.random_.chance(network_.options_.refusal)) return false;
  Packet packet;
  packet.header = header;
  packet.payload.resize(static_cast<std::size_t>(payload.size));
  copy_from(packet.payload.data(), payload);
  packet.message_size = payload.size;
  // Earlier than the contract has it: everything of this room that has bytes may come in pieces.
  packet.in_pieces = payload.size >= 64;
  network_.queue(self_, peer).push_back(std::move(packet));
  return true;
}

inline bool TestNetwork::Link::try_expose(ProcessIndex peer, const TransportHeader& header,
                                          const ByteSequence& bytes, Completion* end) {
  if (network_.random_.chance(network_.options_.refusal)) return false;
  ExposeToken token;
  token.words[0] = ++network_.last_exposed_;
  network_.exposed_[token.words[0]] = {bytes, end, self_};
  Packet packet;
  packet.header = header;
  packet.offers = true;
  packet.payload.resize(sizeof token);
  std::memcpy(packet.payload.data(), &token, sizeof token);
  packet.message_size = bytes.size;
  network_.queue(self_, peer).push_back(std::move(packet));
  return true;
}

inline void TestNetwork::Link::fetch(ProcessIndex, const ExposeToken& token, const ByteSequence& into,
                                     Completion* end) {
  network_.fetches_.push_back({self_, token.words[0], into, end});
}

// One step of the oldest packet of a source; true when it is through.
inline bool TestNetwork::Link::advance(TransportEvents& events, int source, Packet& packet) {
  if (packet.done != nullptr) {
    tell(packet.done, {});
    return true;
  }
  const auto size = static_cast<std::int64_t>(packet.payload.size());
  if (!packet.begun) {
    if (!packet.in_pieces) {
      if (packet.offers) {
        ExposeToken token;
        std::memcpy(&token, packet.payload.data(), sizeof token);
        events.on_offer(source, packet.header, token, packet.message_size);
      } else {
        events.on_packet(source, packet.header, packet.payload.data(), size);
      }
      return true;
    }
    packet.begun = true;
    packet.sink = events.on_eager_begin(source, packet.header, packet.message_size);
    return false;
  }
  const std::int64_t piece = std::min<std::int64_t>(size - packet.landed, 50);
  const std::int64_t fits = std::min(piece, packet.sink.into.size - packet.landed);
  if (fits > 0) {
    const std::byte* from = packet.payload.data() + packet.landed;
    if (packet.sink.into.contiguous())
      std::memcpy(packet.sink.into.data + packet.landed, from, static_cast<std::size_t>(fits));
    else
      packet.sink.into.packer->unpack(packet.landed, from, fits);
  }
  packet.landed += piece;
  if (packet.landed < size) return false;
  tell(packet.sink.end, {});
  return true;
}

inline bool TestNetwork::Link::progress(TransportEvents& events, Nanoseconds) {
  bool moved = false;
  for (int source = 0; source < static_cast<int>(network_.nodes_.size()); ++source) {
    std::deque<Packet>& queue = network_.queue(source, self_);
    while (!queue.empty() && network_.random_.chance(network_.options_.delivery)) {
      moved = true;
      if (advance(events, source, queue.front())) queue.pop_front();
    }
  }
  for (std::size_t i = 0; i < network_.fetches_.size();) {
    const Fetch fetch = network_.fetches_[i];
    if (fetch.process != self_ || !network_.random_.chance(network_.options_.delivery)) {
      ++i;
      continue;
    }
    network_.fetches_.erase(network_.fetches_.begin() + static_cast<long>(i));
    const auto named = network_.exposed_.find(fetch.exposed);
    if (named == network_.exposed_.end()) {  // of an injected token
      tell(fetch.end, {});
      continue;
    }
    const Exposed exposed = named->second;
    network_.exposed_.erase(named);
    copy_between(fetch.into, exposed.bytes);
    tell(fetch.end, {});
    Packet done;
    done.done = exposed.end;
    network_.queue(self_, exposed.owner).push_back(std::move(done));
    moved = true;
  }
  return moved;
}

inline void TestNetwork::inject(int from, int to, const TransportHeader& header,
                                std::vector<std::byte> payload, std::int64_t message_size, bool in_pieces) {
  Packet packet;
  packet.header = header;
  packet.payload = std::move(payload);
  packet.message_size = message_size;
  packet.in_pieces = in_pieces;
  packet.offers = MessageHeader::of(header).kind == MessageHeader::Kind::rendezvous && !in_pieces &&
                  packet.payload.size() == sizeof(ExposeToken);
  queue(from, to).push_back(std::move(packet));
}

inline bool TestNetwork::progress(int process) {
  Node& node = *nodes_[static_cast<std::size_t>(process)];
  const bool arrived = node.link.progress(node.lane, 0);
  return node.messages.progress() || arrived;
}

inline void TestNetwork::settle() {
  options_.refusal = 0;
  options_.delivery = 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) moved |= progress(i);
  }
}

}  // namespace hawser
