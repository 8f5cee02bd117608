#include "testbed/simulator/model_network.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace hawser {
namespace {

void copy_between(const ByteSequence& to, const ByteSequence& from, std::int64_t size) {
  if (size == 0) return;
  if (to.contiguous() && from.contiguous()) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(size));
  } else if (to.contiguous()) {
    from.packer->pack(0, to.data, size);
  } else if (from.contiguous()) {
    to.packer->unpack(0, from.data, size);
  } else {
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::int64_t>(size, 65536)));
    const auto piece_size = static_cast<std::int64_t>(piece.size());
    for (std::int64_t offset = 0; offset < size; offset += piece_size) {
      const std::int64_t part = std::min(piece_size, size - offset);
      from.packer->pack(offset, piece.data(), part);
      to.packer->unpack(offset, piece.data(), part);
    }
  }
}

ByteSequence bytes_of(std::vector<std::byte>& buffer) {
  return {buffer.data(), static_cast<std::int64_t>(buffer.size()), nullptr};
}

// Where processors copy, nothing else does.
NetworkCost without_transfers(NetworkCost model, bool processors_copy) {
  if (processors_copy) model.node.picoseconds_per_byte = 0;
  return model;
}

}  // namespace

void ModelPacket::fire(Nanoseconds now) { network_.advance(*this, now); }

ModelNetwork::ModelNetwork(EventQueue& queue, Trace& trace, const NetworkCost& model,
                           std::vector<std::int32_t> node_of_rank, std::uint64_t seed, bool separate_ranks,
                           const std::optional<AreaCost>& areas)
    : queue_(queue),
      trace_(trace),
      copies_(areas ? std::optional(areas->messages) : std::nullopt),
      model_(without_transfers(model, areas.has_value())),
      node_of_rank_(std::move(node_of_rank)),
      separate_ranks_(separate_ranks),
      random_(seed),
      ports_(node_of_rank_.size()) {
  HAWSER_ASSERT(model_.eager_limit >= 1024 && model_.window > 0);
  if (model_.jitter > 0) last_head_.resize(node_of_rank_.size());
}

ModelChannel& ModelNetwork::add_channel(SimulatedProcessor& processor) {
  const auto rank = static_cast<std::int32_t>(channels_.size());
  channels_.push_back(std::make_unique<ModelChannel>(*this, processor, rank));
  return *channels_.back();
}

Nanoseconds ModelNetwork::jittered(Nanoseconds duration) {
  if (model_.jitter <= 0) return duration;
  return duration +
         static_cast<Nanoseconds>(static_cast<double>(duration) * model_.jitter * random_.uniform());
}

ModelPacket* ModelNetwork::take_packet() {
  ++in_flight_;
  if (free_packets_.empty()) return &packets_.emplace_back(*this);
  ModelPacket* packet = free_packets_.back();
  free_packets_.pop_back();
  return packet;
}

void ModelNetwork::give_back(ModelPacket* packet) {
  packet->payload.clear();
  packet->in_pieces = packet->begun = packet->offers = false;
  packet->sink = {};
  packet->into = {};
  packet->end = nullptr;
  free_packets_.push_back(packet);
}

// Where processors copy there is no adapter to wait for. A rank's time may be ahead by a copy: did what it
// sends then take the adapter, others could fetch nothing from it meanwhile.
Nanoseconds ModelNetwork::leave(std::int32_t from, std::int32_t to, std::int64_t bytes, Nanoseconds ready) {
  const PathCost& cost = path(from, to);
  Nanoseconds start = ready;
  if (copies(from, to) == nullptr) {
    Port& adapter = port(from, to);
    start = std::max(ready, adapter.send_free);
    adapter.send_free = start + cost.occupancy(bytes);
  }
  Nanoseconds head = start + jittered(cost.latency);
  if (!last_head_.empty()) {
    auto& last = last_head_[from];
    if (last.empty()) last.resize(node_of_rank_.size());
    head = std::max(head, last[to]);
    last[to] = head;
  }
  return head;
}

Nanoseconds ModelNetwork::enter(std::int32_t from, std::int32_t to, std::int64_t bytes, Nanoseconds now,
                                Nanoseconds& begin) {
  Port& adapter = port(to, from);
  begin = std::max(now, adapter.receive_free);
  adapter.receive_free = begin + path(from, to).occupancy(bytes);
  return adapter.receive_free;
}

void ModelNetwork::launch(ModelPacket& packet, Nanoseconds ready) {
  const auto size = static_cast<std::int64_t>(packet.payload.size());
  ++messages_;
  bytes_ += size;
  packet.phase = ModelPacket::Phase::head;
  queue_.schedule(packet, leave(packet.source, packet.destination, size, ready));
}

// A request is a small packet on the way there; the data come back through both adapters.
void ModelNetwork::launch_fetch(ModelPacket& packet, Nanoseconds ready) {
  packet.phase = ModelPacket::Phase::request;
  queue_.schedule(packet, ready + jittered(path(packet.source, packet.destination).latency));
}

void ModelNetwork::put_in_inbox(ModelPacket& packet, std::int32_t rank) {
  --in_flight_;
  ModelChannel& channel = *channels_[static_cast<std::size_t>(rank)];
  if (channel.dead_ || channel.lost(packet.source)) return give_back(&packet);
  channel.inbox_.push_back(&packet);
  channel.processor_.notify();
}

// Whether it fetches from a rank that is dead, or has given up the one that fetches. That one hears nothing
// until it gives up, too.
bool ModelNetwork::goes_unanswered(ModelPacket& packet) {
  using Phase = ModelPacket::Phase;
  const Phase phase = packet.phase;
  const bool fetches = phase == Phase::request || phase == Phase::data_head || phase == Phase::data_tail;
  if (!fetches) return false;
  const ModelChannel& owner = channel(packet.source);
  if (!owner.dead_ && !owner.lost(packet.destination)) return false;
  --in_flight_;
  ModelChannel& reader = channel(packet.destination);
  if (reader.dead_)
    give_back(&packet);
  else
    reader.unanswered_.push_back(&packet);
  return true;
}

void ModelNetwork::cancel(ModelPacket& packet) {
  queue_.cancel(packet);
  --in_flight_;
  give_back(&packet);
}

// What a packet's event does, by phase.
void ModelNetwork::advance(ModelPacket& packet, Nanoseconds now) {
  if (goes_unanswered(packet)) return;
  using Phase = ModelPacket::Phase;
  const std::int32_t source = packet.source, destination = packet.destination;
  Nanoseconds begin = 0;
  switch (packet.phase) {
    case Phase::head: {
      const auto size = static_cast<std::int64_t>(packet.payload.size());
      const Nanoseconds end = enter(source, destination, size, now, begin);
      packet.phase = packet.in_pieces ? Phase::begin : Phase::tail;
      packet.tail_time = end;
      queue_.schedule(packet, packet.in_pieces ? begin : end);
      break;
    }
    case Phase::begin:
      // The rest comes at tail_time, when the receiver has seen the beginning.
      packet.phase = Phase::tail;
      put_in_inbox(packet, destination);
      break;
    case Phase::tail:
      trace_.record(now, TraceKind::arrive, destination, source,
                    static_cast<std::int64_t>(packet.payload.size()));
      put_in_inbox(packet, destination);
      break;
    case Phase::request: {
      packet.phase = Phase::data_head;
      queue_.schedule(packet, leave(source, destination, packet.into.size, now));
      break;
    }
    case Phase::data_head:
      packet.phase = Phase::data_tail;
      queue_.schedule(packet, enter(source, destination, packet.into.size, now, begin));
      break;
    case Phase::data_tail: {
      ModelChannel& owner = channel(source);
      ModelChannel::Exposure& exposed = owner.exposure(packet.token);
      if (separate_ranks_)
        packet.payload = std::move(exposed.copy);  // the receiver takes it out (report)
      else
        copy_between(packet.into, exposed.bytes, packet.into.size);
      trace_.record(now, TraceKind::land, destination, source, packet.into.size);
      ModelPacket* done = take_packet();
      done->phase = Phase::done;
      done->source = destination;
      done->destination = source;
      done->token = packet.token;
      // A small packet among the others: what the receiver sends from now on does not overtake it.
      const MessageCopies* const processor = copies(source, destination);
      const Nanoseconds copied = processor ? processor->time(packet.into.size, processor->fetched) : 0;
      queue_.schedule(*done, leave(destination, source, 0, now + copied));
      put_in_inbox(packet, destination);
      break;
    }
    case Phase::done:
      trace_.record(now, TraceKind::release, destination, source, 0);
      put_in_inbox(packet, destination);
      break;
  }
}

ModelChannel::ModelChannel(ModelNetwork& network, SimulatedProcessor& processor, std::int32_t rank)
    : network_(network), processor_(processor), rank_(rank) {}

std::int64_t ModelChannel::eager_limit(ProcessIndex) const { return network_.model_.eager_limit; }

// Null when there is no room.
ModelPacket* ModelChannel::packet_to(ProcessIndex peer, const TransportHeader& header) {
  HAWSER_ASSERT(!lost(peer));
  if (on_the_way_.empty()) on_the_way_.resize(network_.node_of_rank_.size());
  std::int32_t& on_the_way = on_the_way_[static_cast<std::size_t>(peer)];
  if (on_the_way >= network_.model_.window) return nullptr;
  ++on_the_way;
  processor_.charge(network_.jittered(network_.model_.overhead));
  ModelPacket* packet = network_.take_packet();
  packet->source = rank_;
  packet->destination = peer;
  packet->header = header;
  return packet;
}

bool ModelChannel::try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) {
  HAWSER_ASSERT(payload.size <= network_.model_.eager_limit);
  if (lost(peer)) return true;
  ModelPacket* packet = packet_to(peer, header);
  if (packet == nullptr) return false;
  packet->payload.resize(static_cast<std::size_t>(payload.size));
  copy_between(bytes_of(packet->payload), payload, payload.size);
  packet->message_size = payload.size;
  const std::int64_t limit = network_.model_.one_piece_limit;
  packet->in_pieces = limit > 0 && payload.size > limit;
  network_.trace_.record(processor_.local_time(), TraceKind::send, rank_, peer, payload.size);
  launch_eager(*packet);
  return true;
}

// It is seen when its first piece is there.
void ModelChannel::launch_eager(ModelPacket& packet) {
  const Nanoseconds begun = processor_.local_time();
  packet.written = begun;
  Nanoseconds seen = begun;
  if (const MessageCopies* copies = network_.copies(rank_, packet.destination)) {
    processor_.charge(copies->time(packet.message_size, copies->in));
    packet.written = processor_.local_time();
    seen += copies->time(std::min(packet.message_size, copies->piece), copies->in);
  }
  network_.launch(packet, seen);
}

// The copying of it. The last piece of an eager message is not there before its sender has written it.
void ModelChannel::charge_receipt(const ModelPacket& packet) {
  const MessageCopies* copies = network_.copies(rank_, packet.source);
  if (copies == nullptr || packet.offers || packet.phase == ModelPacket::Phase::done) return;
  const bool fetched = packet.phase == ModelPacket::Phase::data_tail;
  if (fetched) return processor_.charge(copies->time(packet.into.size, copies->fetched));
  processor_.charge(copies->time(packet.message_size, copies->out));
  const Nanoseconds last = packet.written + network_.model_.node.latency +
                           copies->time(std::min(packet.message_size, copies->piece), copies->out);
  processor_.charge(std::max<Nanoseconds>(last - processor_.local_time(), 0));
}

bool ModelChannel::try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                              Completion* end) {
  if (lost(peer)) {
    refused_.push_back(end);
    processor_.notify();
    return true;
  }
  ModelPacket* packet = packet_to(peer, header);
  if (packet == nullptr) return false;
  if (free_exposures_.empty()) {
    free_exposures_.push_back(static_cast<std::uint32_t>(exposures_.size()));
    exposures_.emplace_back();
  }
  const std::uint32_t number = free_exposures_.back();
  free_exposures_.pop_back();
  Exposure& entry = exposures_[number];
  entry = {bytes, {}, end, peer, entry.generation + 1, true};
  if (network_.separate_ranks_) {
    entry.copy.resize(static_cast<std::size_t>(bytes.size));
    copy_between(bytes_of(entry.copy), bytes, bytes.size);
  }
  ++exposed_now_;
  packet->offers = true;
  packet->token = {{number, entry.generation, static_cast<std::uint64_t>(rank_), 0}};
  packet->payload.resize(sizeof(ExposeToken));  // takes its time
  packet->message_size = bytes.size;
  network_.trace_.record(processor_.local_time(), TraceKind::expose, rank_, peer, bytes.size);
  network_.launch(*packet, processor_.local_time());
  return true;
}

void ModelChannel::fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
                         Completion* end) {
  HAWSER_ASSERT(token.words[2] == static_cast<std::uint64_t>(peer));
  if (lost(peer)) {
    refused_.push_back(end);
    return processor_.notify();
  }
  HAWSER_ASSERT(into.size <= network_.channel(peer).exposure(token).bytes.size);
  processor_.charge(network_.jittered(network_.model_.overhead));
  ModelPacket* packet = network_.take_packet();
  packet->source = peer;
  packet->destination = rank_;
  packet->token = token;
  packet->into = into;
  packet->end = end;
  network_.bytes_ += into.size;
  network_.trace_.record(processor_.local_time(), TraceKind::fetch, rank_, peer, into.size);
  network_.launch_fetch(*packet, processor_.local_time());
}

ModelChannel::Exposure& ModelChannel::exposure(const ExposeToken& token) {
  HAWSER_ASSERT(token.words[0] < exposures_.size());
  Exposure& entry = exposures_[token.words[0]];
  HAWSER_ASSERT(entry.live && entry.generation == token.words[1]);
  return entry;
}

bool ModelChannel::progress(TransportEvents& events, Nanoseconds) {
  processor_.catch_up();
  for (Completion* end : std::exchange(refused_, {}))
    tell(end, Error{ErrorKind::peer_lost, "the process has failed"});
  if (inbox_.empty()) {
    processor_.polled_in_vain();
    return false;
  }
  while (ModelPacket* packet = inbox_.pop_front()) report(*packet, events);
  return true;
}

// Answers whom to tell.
Completion* ModelChannel::take_back(std::uint32_t number) {
  Exposure& entry = exposures_[number];
  entry.live = false;
  free_exposures_.push_back(number);
  --exposed_now_;
  return entry.end;
}

void ModelChannel::die() {
  dead_ = true;
  while (ModelPacket* packet = inbox_.pop_front()) network_.give_back(packet);
}

// What it had sent and what is here is read; the rest never comes.
void ModelChannel::give_up(ProcessIndex process, const Error& error, TransportEvents& events) {
  if (process == rank_ || lost(process)) return;
  std::vector<ModelPacket*> last_words;
  for (ModelPacket* packet = inbox_.front(); packet != nullptr; packet = inbox_.next(packet))
    if (packet->source == process) last_words.push_back(packet);
  for (ModelPacket* packet : last_words) inbox_.remove(packet);
  for (ModelPacket* packet : last_words) report(*packet, events);
  if (lost_.empty()) lost_.resize(network_.node_of_rank_.size());
  lost_[static_cast<std::size_t>(process)] = true;
  std::vector<Completion*> ended;
  for (std::uint32_t number = 0; number < exposures_.size(); ++number)
    if (exposures_[number].live && exposures_[number].peer == process) ended.push_back(take_back(number));
  std::erase_if(unanswered_, [&](ModelPacket* packet) {
    if (packet->source != process) return false;
    ended.push_back(packet->end);
    network_.give_back(packet);
    return true;
  });
  for (ModelPacket& packet : network_.packets_) {
    if (!packet.scheduled() || packet.source != process || packet.destination != rank_) continue;
    ended.push_back(packet.begun ? packet.sink.end : packet.end);
    network_.cancel(packet);
  }
  for (Completion* end : ended) tell(end, error);
  events.on_peer_lost(process, error);
}

void ModelChannel::report(ModelPacket& packet, TransportEvents& events) {
  using Phase = ModelPacket::Phase;
  processor_.charge(network_.jittered(network_.model_.overhead));
  charge_receipt(packet);
  if (packet.phase == Phase::data_tail) {
    Completion* const end = packet.end;
    if (network_.separate_ranks_) copy_between(packet.into, bytes_of(packet.payload), packet.into.size);
    network_.give_back(&packet);
    tell(end, {});
    return;
  }
  if (packet.phase == Phase::done) {
    exposure(packet.token);
    Completion* const end = take_back(static_cast<std::uint32_t>(packet.token.words[0]));
    network_.give_back(&packet);
    tell(end, {});
    return;
  }
  if (packet.in_pieces && !packet.begun) {
    packet.begun = true;
    packet.sink = events.on_eager_begin(packet.source, packet.header, packet.message_size);
    if (packet.tail_time > network_.queue_.now()) {
      ++network_.in_flight_;
      network_.queue_.schedule(packet, packet.tail_time);
      return;
    }
  }
  // Taken out: the sender has room for one more.
  ModelChannel& sender = network_.channel(packet.source);
  if (sender.on_the_way_[static_cast<std::size_t>(rank_)]-- == network_.model_.window && !sender.dead_)
    sender.processor_.notify();
  if (packet.in_pieces) {
    copy_between(packet.sink.into, bytes_of(packet.payload), packet.sink.into.size);
    tell(packet.sink.end, {});
  } else if (packet.offers) {
    events.on_offer(packet.source, packet.header, packet.token, packet.message_size);
  } else {
    events.on_packet(packet.source, packet.header, packet.payload.data(), packet.message_size);
  }
  network_.give_back(&packet);
}

}  // namespace hawser
