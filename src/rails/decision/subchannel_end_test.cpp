// One end of the pair: what the executors do in a process, for a queue pair of the test.
#include "rails/decision/subchannel_pair_test_support.h"
#include "rails/wire/packet.h"

namespace hawser::machine_test {

Nanoseconds End::now() const { return network_.now; }

void End::on(Event event) {
  const State before = machine_.state();
  event.flushed = in_flight_.empty();
  event.own_received = received_;
  event.own_sent = sent_;
  const SubchannelActions actions = machine_.on(event, now());
  const std::string effect = text_of(actions, before, machine_.state());
  if (!effect.empty() && effect != "stale") seen_.insert({before, event.kind});
  std::vector<Event> reports;
  for (const SubchannelAction& action : actions) execute(action, reports);
  for (const Event& report : reports) {
    seen_.insert({machine_.state(), report.kind});
    on(report);
  }
}

void End::execute(const SubchannelAction& action, std::vector<Event>& reports) {
  using K = EventKind;
  switch (action.kind) {
    case Do::connect:
      return reports.push_back(connect());
    case Do::request:
      return manager_.request({1 - self_, 0, machine_.connection_generation()}, 0, own_end(), now());
    case Do::accept:
      accepting_ = !machine_.health().held_down(now()) && !network_.random.chance(network_.refusals);
      return;
    case Do::send_probes:
      return send_probes(reports);
    case Do::answer_probe:
      return transmit({.kind = Packet::Kind::probe_answer});
    case Do::enter_service:
      transmit({.kind = Packet::Kind::credit});
      return send_waiting();
    case Do::reconnect_request:
      return control(DatagramKind::reconnect_request, machine_.connection_generation(), 0);
    case Do::forget:
      return manager_.forget({1 - self_, 0, machine_.connection_generation()});
    case Do::stop:
      return stop(reports);
    case Do::poll:
      poll();
      return reports.push_back({.kind = K::drained, .received = received_, .sent = sent_, .timed_out = true});
    case Do::destroy:
    case Do::cut:
      lose_queue_pair();
      return;
    case Do::drop_unsequenced:
      drained_[machine_.connection_generation()] = received_;
      std::erase_if(in_flight_, [](const Packet& each) { return each.kind != Packet::Kind::data; });
      return;
    case Do::send_fence:
      reports.push_back({.kind = K::fence_sent});
      return control(DatagramKind::fence, action.connection_generation, action.received);
    case Do::send_close:
    case Do::send_parted:
      return control(DatagramKind::close, action.connection_generation, action.received, action.sent,
                     action.kind == Do::send_parted);
    case Do::send_answer:
      return control(DatagramKind::fence_answer, action.connection_generation, action.received);
    case Do::reissue:
      return reissue(action.received);
    case Do::test:
      return reports.push_back(test());
    case Do::discard:
      in_flight_.clear();
      retained_.clear();
      waiting_.clear();
      return;
    case Do::malformed:
    case Do::unproven:
    case Do::lose_peer:
      ADD_FAILURE() << "both ends follow the protocol: " << name_of(action.kind);
      return;
    case Do::blame:
    case Do::note_failure:
    case Do::leave_service:
    case Do::park:
    case Do::ask_address:
    case Do::avoid:
    case Do::use_again:
    case Do::show:
    case Do::show_refused:
    case Do::stale:
      return;
  }
}

Event End::connect() {
  if (network_.random.chance(network_.refusals))
    return {.kind = EventKind::connect_refused, .reason = PathReason::connect_failed};
  queue_pair_ = network_.next_queue_pair++;
  return {.kind = EventKind::connect_begun, .connection_generation = manager_.next_generation(1 - self_, 0)};
}

void End::stop(std::vector<Event>& reports) {
  dead_ = true;
  if (random_.chance(0.1)) return;  // the device is gone
  reports.push_back({.kind = EventKind::marker_posted});
  if (random_.chance(0.8))
    network_.at(now() + network_.delay(), [this, which = queue_pair_] {
      if (which == queue_pair_) drain(false);
    });
}

Event End::test() {
  if (machine_.test().has_value() && random_.chance(0.5)) return {.kind = EventKind::test_delivered};
  transmit({.kind = Packet::Kind::credit});
  return {.kind = EventKind::test_pending, .test = 1};
}

void End::send_probes(std::vector<Event>& reports) {
  std::uint32_t posted = 0;
  for (; posted < machine_.probes_to_send() && !random_.chance(0.2); ++posted)
    transmit({.kind = Packet::Kind::probe});
  if (posted > 0) reports.push_back({.kind = EventKind::probes_posted, .probes = posted});
}

// Connecting.

void End::begin(const ConnectionEnd& remote, std::uint32_t connection_generation) {
  connected_to_ = static_cast<int>(remote.queue_pair);
  sent_ = received_ = 0;
  dead_ = cut_ = false;
  polled_.clear();
  EXPECT_FALSE(drained_.contains(connection_generation)) << "connected again after it was fenced";
  EXPECT_FALSE(network_.other(self_).compared_.contains(connection_generation))
      << "the peer was told that it is over";
}

bool End::accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) {
  accepting_ = false;
  on({.kind = EventKind::request,
      .connection_generation = name.connection_generation,
      .received = received_});
  if (!accepting_) return false;
  queue_pair_ = network_.next_queue_pair++;
  if (network_.random.chance(network_.refusals)) {
    seen_.insert({machine_.state(), EventKind::accept_failed});
    on({.kind = EventKind::accept_failed, .connection_generation = name.connection_generation});
    return false;
  }
  own = own_end();
  begin(remote, name.connection_generation);
  seen_.insert({machine_.state(), EventKind::accepted});
  on({.kind = EventKind::accepted, .connection_generation = name.connection_generation});
  return true;
}

void End::connected(const SubchannelName& name, const ConnectionEnd& remote) {
  if (machine_.state() != State::connecting || machine_.connection_generation() != name.connection_generation)
    return;
  if (network_.random.chance(network_.refusals)) return on({.kind = EventKind::join_failed});
  begin(remote, name.connection_generation);
  on({.kind = EventKind::joined, .probes = static_cast<std::uint32_t>(random_.below(4))});
}

bool End::send_datagram(std::uint16_t, ProcessIndex, std::uint16_t, std::span<const std::byte> bytes) {
  const int copies = network_.broken || network_.random.chance(network_.loss) ? 0
                     : network_.random.chance(0.1)                            ? 2
                                                                              : 1;
  for (int i = 0; i < copies; ++i)
    network_.at(now() + network_.delay() + (network_.random.chance(0.05) ? 20 * millisecond : 0),
                [this, copy = std::vector<std::byte>(bytes.begin(), bytes.end())] {
                  network_.other(self_).on_datagram(copy);
                });
  return true;
}

void End::control(DatagramKind kind, std::uint32_t connection_generation, std::uint32_t received,
                  std::uint32_t sent, bool parted) {
  const Control body{connection_generation, received, delivered_, sent, parted};
  manager_.send_control({1 - self_, 0}, 0, kind, std::as_bytes(std::span(&body, 1)));
}

void End::on_control(ProcessIndex, std::uint16_t, DatagramKind kind, std::span<const std::byte> bytes) {
  Control body;
  ASSERT_TRUE(read_body(bytes, 0, body));
  take_expected(body.expected);
  if (kind == DatagramKind::close)
    on({.kind = body.parted != 0 ? EventKind::peer_parted : EventKind::peer_closes,
        .connection_generation = body.connection_generation,
        .received = body.received,
        .sent = body.sent});
  else if (kind == DatagramKind::reconnect_request)
    on({.kind = EventKind::reconnect_request,
        .connection_generation = body.connection_generation,
        .received = received_});
  else
    on({.kind = kind == DatagramKind::fence ? EventKind::fence : EventKind::fence_answer,
        .connection_generation = body.connection_generation,
        .received = body.received,
        .quick = random_.chance(0.5)});
}

// Packets.

void End::lose_queue_pair() {
  queue_pair_ = connected_to_ = 0;
  polled_.clear();  // what was not handled never counted
}

void End::transmit(Packet packet) {
  if (connected_to_ == 0 || dead_) return;
  packet.expected = delivered_;
  packet.ordinal = sent_++;
  packet.connection_generation = machine_.connection_generation();
  packet.from = queue_pair_;
  packet.to = connected_to_;
  in_flight_.push_back(packet);
  cut_ |= network_.broken || network_.random.chance(network_.loss / 4);
  if (!cut_) {
    Nanoseconds& last = network_.last_arrival[self_];
    last = std::max(last, now() + network_.delay());
    network_.at(last, [this, packet] { network_.other(self_).arrive(packet); });
  }
  // The adapter's patience, should no acknowledgement come.
  network_.at(now() + 20 * millisecond, [this, packet] {
    if (packet.from == queue_pair_ && !dead_ && !in_flight_.empty() &&
        in_flight_.front().ordinal <= packet.ordinal)
      on({.kind = EventKind::fail, .reason = PathReason::completion_error, .quick = random_.chance(0.5)});
  });
}

void End::arrive(const Packet& packet) {
  if (packet.to != queue_pair_ || packet.from != connected_to_ || dead_) return;
  // In order or not at all: what is behind a packet that went astray does not count.
  if (!polled_.empty() ? packet.ordinal != polled_.back().ordinal + 1
                       : packet.ordinal != received_ && !machine_.poisoned())
    return;
  polled_.push_back(packet);
  if (!network_.broken && !network_.random.chance(network_.loss / 4))
    network_.at(now() + network_.delay(),
                [this, packet] { network_.other(self_).acknowledge(packet.from, packet.ordinal); });
  network_.at(now() + network_.delay(), [this] { poll(); });
}

void End::acknowledge(int queue_pair, std::uint32_t ordinal) {
  if (queue_pair != queue_pair_ || dead_) return;
  while (!in_flight_.empty() && in_flight_.front().ordinal <= ordinal) {
    if (in_flight_.front().kind == Packet::Kind::data) retained_.push_back(in_flight_.front());
    in_flight_.pop_front();
  }
}

void End::poll() {
  while (!polled_.empty()) {
    const Packet packet = polled_.front();
    polled_.pop_front();
    if (machine_.poisoned()) continue;
    if (network_.random.chance(network_.damage))
      on({.kind = EventKind::damaged, .quick = true});
    else
      handle(packet);
  }
}

void End::handle(const Packet& packet) {
  ++received_;
  EXPECT_EQ(packet.connection_generation, machine_.connection_generation());
  const bool probe = packet.kind == Packet::Kind::probe || packet.kind == Packet::Kind::probe_answer;
  if (!machine_.in_service()) on({.kind = EventKind::first_packet, .probe = probe});
  take_expected(packet.expected);
  switch (packet.kind) {
    case Packet::Kind::data:
      EXPECT_EQ(packet.message, delivered_) << "not each once, in order";
      delivered_ = packet.message + 1;
      return;
    case Packet::Kind::probe:
      return on({.kind = EventKind::probe});
    case Packet::Kind::probe_answer:
      return on({.kind = EventKind::probe_answer});
    case Packet::Kind::credit:
      return;
  }
}

void End::take_expected(std::uint32_t expected) {
  std::erase_if(retained_, [&](const Packet& each) { return each.message < expected; });
}

void End::send_waiting() {
  if (machine_.state() == State::parked && !waiting_.empty()) on({.kind = EventKind::want});
  while (!waiting_.empty() && machine_.in_service() && !machine_.broken()) {
    transmit({.message = waiting_.front()});
    waiting_.pop_front();
    if (random_.chance(network_.loss / 20)) on({.kind = EventKind::post_failed});
  }
}

// Down.

void End::drain(bool timed_out) {
  poll();
  on({.kind = EventKind::drained, .received = received_, .sent = sent_, .timed_out = timed_out});
}

// The peer's adapter may have died with what it had acknowledged.
void End::lose_polled() {
  if (queue_pair_ == 0) return;
  polled_.clear();
  on({.kind = EventKind::fail, .reason = PathReason::device_fatal});
}

void End::wait_again(const Packet& packet) {
  waiting_.insert(std::lower_bound(waiting_.begin(), waiting_.end(), packet.message), packet.message);
}

void End::reissue(std::uint32_t received) {
  const std::uint32_t connection_generation = machine_.connection_generation();
  EXPECT_TRUE(compared_.insert(connection_generation).second) << "compared twice";
  const auto& there = network_.other(self_).drained_;
  const auto drained = there.find(connection_generation);
  EXPECT_EQ(received, drained == there.end() ? 0 : drained->second) << "the two ends do not agree";
  for (const Packet& packet : in_flight_) {
    if (packet.ordinal < received) continue;
    wait_again(packet);
    ++reissued_;
  }
  in_flight_.clear();
  std::erase_if(retained_, [&](const Packet& packet) {
    if (packet.connection_generation != connection_generation || packet.ordinal < received) return false;
    wait_again(packet);
    ++taken_back_;
    return true;
  });
}

void End::progress() {
  manager_.progress(now());
  const State before = machine_.state();
  if (now() >= machine_.due() || before == State::probing || machine_.broken())
    on({.kind = EventKind::look, .quick = random_.chance(0.5)});
  if (machine_.state() == State::parked) send_waiting();
  machine_.check_invariants();
}

}  // namespace hawser::machine_test
