#include "rails/rail_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "channel/channel_test_support.h"
#include "testbed/linked_provider/linked_provider.h"

namespace hawser::verbs {
namespace {
Platform* turn = nullptr;  // of the process that opens its devices
}
Platform& current_platform() { return *turn; }
}  // namespace hawser::verbs

namespace hawser::rails_test {
namespace {

// What the bytes of a message are, of its position and identity.
void fill(std::byte* to, std::int64_t bytes, std::uint64_t identity) {
  std::uint64_t word = identity * 0x9E3779B97F4A7C15u + 1;
  for (std::int64_t i = 0; i < bytes; i += 8) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t value = word ^ word >> 29;
    std::memcpy(to + i, &value, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

bool holds(const std::byte* bytes, std::int64_t size, std::uint64_t identity) {
  std::vector<std::byte> expected(static_cast<std::size_t>(size));
  fill(expected.data(), size, identity);
  return size == 0 || std::memcmp(bytes, expected.data(), static_cast<std::size_t>(size)) == 0;
}

std::uint64_t identity_of(int from, int to, std::uint32_t number) {
  return static_cast<std::uint64_t>(from) << 48 | static_cast<std::uint64_t>(to) << 32 | number;
}

constexpr std::string_view job_id = "rails-test";
constexpr std::uint64_t given_back = 0xDEADu;
constexpr std::size_t most_retired = 64;

}  // namespace

class RailCluster::Exchange final : public AddressExchange {
 public:
  Exchange(RailCluster& cluster, int rank) : cluster_(cluster), rank_(rank) {}
  Result<> put(std::string_view key, std::string_view value) override {
    cluster_.exchanged_[{rank_, std::string(key)}] = value;
    return {};
  }
  Result<> fence() override { return {}; }
  Result<std::string> get(std::int32_t rank, std::string_view key) override {
    return cluster_.exchanged_[{rank, std::string(key)}];
  }

 private:
  RailCluster& cluster_;
  int rank_;
};

// Memory of a message, in one piece or every other byte.
class Endpoint::Buffer {
 public:
  Buffer(std::int64_t bytes, bool packed) : size_(bytes) {
    if (packed)
      spread_.emplace(static_cast<std::size_t>(bytes));
    else
      whole_.resize(static_cast<std::size_t>(bytes));
  }
  ByteSequence sequence() {
    return spread_ ? spread_->sequence() : ByteSequence{whole_.data(), size_, nullptr};
  }
  std::int64_t size() const { return size_; }
  void put(std::uint64_t identity) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_));
    fill(bytes.data(), size_, identity);
    if (spread_)
      spread_->unpack(0, bytes.data(), size_);
    else
      std::copy(bytes.begin(), bytes.end(), whole_.begin());  // the address stays
  }
  bool has(std::uint64_t identity) {
    return spread_ ? holds(spread_->packed().data(), size_, identity) : holds(whole_.data(), size_, identity);
  }

 private:
  std::int64_t size_;
  std::vector<std::byte> whole_;
  std::optional<channel_test::EveryOther> spread_;
};

// What stands in the headers: how the receiver is to take the message.
struct OwnHeader {
  std::uint16_t fetch_after = 0;  // microseconds
  std::uint32_t number = 0;
  std::uint32_t wanted = 0;  // bytes
  bool packed_target = false;

  TransportHeader header() const {
    TransportHeader made;
    std::memcpy(made.own.data(), this, sizeof(*this));
    return made;
  }
  static OwnHeader of(const TransportHeader& header) {
    OwnHeader own;
    std::memcpy(&own, header.own.data(), sizeof(own));
    return own;
  }
};
static_assert(sizeof(OwnHeader) <= sizeof(TransportHeader::own));

struct Endpoint::Watcher final : LineSink {
  explicit Watcher(int rank)
      : memory(RailStatus::table_bytes(rows) / sizeof(Block)),
        status(std::as_writable_bytes(std::span(memory)), this, {.rank = rank}) {}
  void write_line(std::string_view) override { ++lines; }

  static constexpr std::uint32_t rows = 64;
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> memory;
  std::uint64_t lines = 0;
  RailStatus status;
};

std::uint64_t Endpoint::lines_logged() const { return watcher_ == nullptr ? 0 : watcher_->lines; }

Endpoint::Endpoint(RailCluster& cluster, int index)
    : cluster_(cluster),
      index_(index),
      platform_(std::make_unique<verbs::LocalPlatform>(*cluster.fabric_, index)) {
  RailSettings settings;
  settings.self = index;
  settings.job_size = cluster.options.hosts;
  settings.job_id = job_id;
  settings.secret = {cluster.options.seed, 7};
  settings.restless_paths = cluster.options.restless_paths;
  settings.peer_rest = cluster.options.peer_rest;
  if (cluster.options.watched) {
    watcher_ = std::make_unique<Watcher>(index);
    settings.status = &watcher_->status;
  }
  verbs::turn = platform_.get();
  const bool liar = index == 0 && (cluster.options.lie != nullptr || cluster.options.forgets != nullptr);
  rdma::VerbsFunctions functions =
      liar ? lying_functions(cluster.options.lie, cluster.options.forgets) : linked_provider_functions();
  if (index == 0 && cluster.options.verbs != nullptr) cluster.options.verbs(functions);
  rdma::VerbsDeviceSource source(functions);
  auto channel = RailChannel::open(settings, *cluster.exchanges_[static_cast<std::size_t>(index)], source,
                                   cluster.options.knobs,
                                   cluster.options.seed * 977 + static_cast<std::uint64_t>(index));
  if (!channel) {
    cluster.fail(channel.error().text);
    return;
  }
  channel_ = std::move(channel).value();
  // With interrupts the tests are about programs that compute.
  if (cluster.options.knobs.progress == "interrupt")
    channel_->attendance().begin_turn(ProgramState::computes);
  if (auto published = channel_->publish(); !published) cluster.fail(published.error().text);
}

Endpoint::~Endpoint() = default;

Endpoint::Source::Source(Endpoint& of, std::unique_ptr<Buffer> bytes)
    : endpoint(of), buffer(std::move(bytes)) {}
Endpoint::Source::~Source() = default;
Endpoint::Target::Target(Endpoint& by) : endpoint(by) {}
Endpoint::Target::~Target() = default;

void Endpoint::on_bad_packet(ProcessIndex source, std::string what) {
  if (cluster_.options.lie == nullptr) cluster_.fail(fmt::format("{} sent {}", source, what));
  complaints.push_back(fmt::format("{} sent {}", source, what));
}

void Endpoint::post(const MessageShape& shape) {
  outgoing_.push_back({shape, next_number_[shape.to]++, nullptr});
}

void Endpoint::take_turn() { verbs::turn = platform_.get(); }

bool Endpoint::progress(Nanoseconds now) {
  if (now < computes_until) return false;
  take_turn();
  bool moved = channel_->progress(*this, now);
  moved |= fetch_some(now);
  moved |= send_some();
  while (!sources_.empty() && sources_.front().done) sources_.pop_front();
  while (!targets_.empty() && targets_.front().done) targets_.pop_front();
  return moved;
}

Nanoseconds Endpoint::deadline() const {
  if (cluster_.now() < computes_until) return computes_until;
  Nanoseconds deadline = channel_->deadline();
  for (const Target* target : to_fetch_) deadline = std::min(deadline, target->fetch_at);
  return deadline;
}

bool Endpoint::send_some() {
  bool moved = false;
  for (; !outgoing_.empty(); moved = true) {
    Outgoing& next = outgoing_.front();
    const MessageShape& shape = next.shape;
    TransportHeader header =
        OwnHeader{.fetch_after = static_cast<std::uint16_t>(shape.fetch_after / microsecond),
                  .number = next.number,
                  .wanted = static_cast<std::uint32_t>(shape.wanted < 0 ? shape.bytes : shape.wanted),
                  .packed_target = shape.packed_target}
            .header();
    header.traffic = shape.traffic;
    if (next.buffer == nullptr) {
      next.buffer = std::make_unique<Buffer>(shape.bytes, shape.packed_source);
      next.buffer->put(identity_of(index_, shape.to, next.number));
    }
    if (!shape.exposed) {
      if (!channel_->try_send(shape.to, header, next.buffer->sequence())) break;
    } else {
      sources_.emplace_back(*this, std::move(next.buffer));
      if (!channel_->try_expose(shape.to, header, sources_.back().buffer->sequence(), &sources_.back())) {
        next.buffer = std::move(sources_.back().buffer);
        sources_.pop_back();
        break;
      }
      ++live_sources_;
    }
    outgoing_.pop_front();
  }
  return moved;
}

bool Endpoint::fetch_some(Nanoseconds now) {
  bool moved = false;
  for (std::size_t n = to_fetch_.size(); n > 0; --n) {
    Target* const target = to_fetch_.front();
    to_fetch_.pop_front();
    if (target->fetch_at > now) {
      to_fetch_.push_back(target);
      continue;
    }
    target->asked = moved = true;
    channel_->fetch(target->source, target->token, target->buffer->sequence(), target);
  }
  return moved;
}

void Endpoint::check_order(ProcessIndex source, std::uint32_t number) {
  ++arrived;
  note_arrival();
  if (number != expected_[source]++)
    cluster_.fail(fmt::format("{} got message {} of {} where {} was next", index_, number, source,
                              expected_[source] - 1));
}

void Endpoint::on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                         std::int64_t size) {
  const std::uint32_t number = OwnHeader::of(header).number;
  check_order(source, number);
  bytes += static_cast<std::uint64_t>(size);
  if (!holds(payload, size, identity_of(source, index_, number)))
    cluster_.fail(fmt::format("message {} of {} to {} has other bytes", number, source, index_));
}

void Endpoint::on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                        std::int64_t size) {
  const OwnHeader own = OwnHeader::of(header);
  check_order(source, own.number);
  Target& target = targets_.emplace_back(*this);
  target.source = source;
  target.number = own.number;
  target.token = token;
  const std::int64_t wanted = std::min<std::int64_t>(own.wanted, size);
  target.buffer = std::make_unique<Buffer>(wanted, own.packed_target != 0);
  target.fetch_at = cluster_.now() + own.fetch_after * microsecond;
  ++live_targets_;
  if (own.fetch_after == 0) {
    target.asked = true;
    channel_->fetch(source, target.token, target.buffer->sequence(), &target);
  } else {
    to_fetch_.push_back(&target);
  }
}

EagerSink Endpoint::on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) {
  cluster_.fail("a message came in pieces");
  return {};
}

void Endpoint::on_exposed_done(Source& source, const Result<>& result) {
  if (source.done) cluster_.fail(fmt::format("{} was told twice that exposed bytes are done", index_));
  failed_transfers += !result;
  source.done = true;
  --live_sources_;
  // The application writes over it at once.
  retire(std::move(source.buffer));
}

void Endpoint::on_fetched(Target& target, const Result<>& result) {
  if (target.done || !target.asked)
    cluster_.fail(fmt::format("{} was told twice that bytes are fetched", index_));
  failed_transfers += !result;
  target.done = true;
  note_arrival();
  const auto oldest = std::find_if(targets_.begin(), targets_.end(), [&](const Target& each) {
    return !each.done && each.source == target.source;
  });
  if (oldest != targets_.end() && oldest->number < target.number)
    overtaking = std::max(overtaking, target.number - oldest->number);
  --live_targets_;
  bytes += static_cast<std::uint64_t>(target.buffer->size());
  if (result && !target.buffer->has(identity_of(target.source, index_, target.number)))
    cluster_.fail(
        fmt::format("fetched message {} of {} to {} has other bytes", target.number, target.source, index_));
  retire(std::move(target.buffer));
}

void Endpoint::note_arrival() {
  longest_gap = std::max(longest_gap, cluster_.now() - last_arrival);
  last_arrival = cluster_.now();
}

void Endpoint::retire(std::unique_ptr<Buffer> buffer) {
  buffer->put(given_back);
  retired_.push_back(std::move(buffer));
  if (retired_.size() <= most_retired) return;
  if (!retired_.front()->has(given_back)) cluster_.fail(fmt::format("late bytes in a buffer of {}", index_));
  retired_.pop_front();
}

void Endpoint::finish() {
  for (const auto& buffer : retired_)
    if (!buffer->has(given_back)) cluster_.fail(fmt::format("late bytes in a buffer of {}", index_));
}

RailCluster::RailCluster(const ClusterOptions& wanted) : options(wanted) {
  fabric::MakerOptions maker;
  maker.hosts = options.hosts;
  maker.rails = options.rails;
  maker.ports = options.ports;
  auto topology = fabric::make_topology(options.topology, maker);
  if (!topology) {
    fail(topology.error().text);
    return;
  }
  fabric::Parameters parameters = options.parameters;
  if (auto read = fabric::parse_parameters(options.parameter_lines, "lines", topology.value(), parameters);
      !read) {
    fail(read.error().text);
    return;
  }
  auto tables = fabric::build_routes(topology.value(), parameters.lmc);
  fabric_.emplace(events_, dma_, std::move(topology).value(), std::move(tables).value(), parameters);
  for (const std::string& fault : options.before) inject(fault);
  for (int i = 0; i < options.hosts; ++i) exchanges_.push_back(std::make_unique<Exchange>(*this, i));
  for (int i = 0; i < options.hosts; ++i) endpoints_.push_back(std::make_unique<Endpoint>(*this, i));
}

RailCluster::~RailCluster() = default;

void RailCluster::fail(const std::string& what) {
  if (failure_.empty())
    failure_ = fmt::format("at {:.6f} s: {}", static_cast<double>(events_.now()) * 1e-9, what);
}

RailTable RailCluster::table(int index) {
  return RailTable::parse(exchanged_[{index, "hawser-rails"}]).value();
}

std::unique_ptr<rdma::Device> RailCluster::open_device(int host) {
  strangers_.push_back(std::make_unique<verbs::LocalPlatform>(*fabric_, host));
  verbs::turn = strangers_.back().get();
  rdma::VerbsDeviceSource source(linked_provider_functions());
  return std::move(source.open_devices().value().front());
}

std::uint32_t RailCluster::datagram_key() {
  std::uint32_t key = 2166136261u;
  for (const char c : job_id) key = (key ^ static_cast<unsigned char>(c)) * 16777619u;
  return key & 0x7FFFFFFF;
}

void RailCluster::inject(const std::string& fault) {
  if (auto result = fabric_->inject(fault); !result) fail(fault + ": " + result.error().text);
}

void RailCluster::inject_at(Nanoseconds time, const std::string& fault) {
  if (auto parsed = fabric::parse_fault(fault, fabric_->topology()); !parsed)
    fail(fault + ": " + parsed.error().text);
  incidents_.emplace(time, fault);
}

bool RailCluster::pass() {
  bool moved = false;
  for (const auto& endpoint : endpoints_) moved |= endpoint->progress(events_.now());
  if (++passes_ % 16 == 0)
    for (const auto& endpoint : endpoints_) endpoint->channel().check_invariants();
  return moved;
}

bool RailCluster::everybody_idle() const {
  return std::all_of(endpoints_.begin(), endpoints_.end(),
                     [](const auto& endpoint) { return endpoint->idle(); });
}

bool RailCluster::run(Nanoseconds until, bool until_idle) {
  while (failure_.empty()) {
    int passes = 0;
    while (pass())
      if (++passes > 10000) {
        fail("progress never ends");
        return false;
      }
    if (until_idle && incidents_.empty() && everybody_idle()) return true;
    Nanoseconds next = events_.next_time();
    for (const auto& endpoint : endpoints_) next = std::min(next, endpoint->deadline());
    if (!incidents_.empty()) next = std::min(next, incidents_.begin()->first);
    next = std::max(next, events_.now());
    if (next > until) {
      events_.fire_until(until);
      return everybody_idle();
    }
    // A deadline that has come and brings nothing must not stop the clock.
    if (next == events_.now() && events_.next_time() > next &&
        (incidents_.empty() || incidents_.begin()->first > next))
      next += 1;
    events_.fire_until(next);
    while (!incidents_.empty() && incidents_.begin()->first <= events_.now()) {
      const std::string fault = std::move(incidents_.begin()->second);
      incidents_.erase(incidents_.begin());
      auto injected = fabric_->inject(fault);
      // Of queue pairs there may be none just then: nothing is hit.
      if (!injected && !fault.starts_with("qp ")) fail(fault + ": " + injected.error().text);
    }
  }
  return false;
}

bool RailCluster::settle(Nanoseconds until) {
  const auto rested = [&] {
    return std::all_of(endpoints_.begin(), endpoints_.end(),
                       [](const auto& e) { return e->channel().quiescent(); });
  };
  while (failure_.empty() && !(everybody_idle() && rested())) {
    if (events_.now() >= until) return false;
    run(std::min(until, events_.now() + 10 * millisecond), false);
  }
  for (const auto& endpoint : endpoints_) endpoint->finish();
  return failure_.empty();
}

std::string RailCluster::describe() {
  std::string text = failure_;
  for (int i = 0; i < size(); ++i) {
    std::string why = "at rest";
    at(i).channel().quiescent(&why);
    const RailCounters& c = at(i).channel().counters();
    text += fmt::format(
        "\n{}: arrived {}, {}; failures {}, watchdog {}, fences {}/{}, reissued {} packets {} stripes, had "
        "{}, "
        "recoveries {}, partitions {}, stale {}, duplicate {}, malformed {}, drain time-outs {}",
        i, at(i).arrived, why, c.failures, c.watchdog, c.fences_sent, c.fences_answered, c.packets_reissued,
        c.stripes_reissued, c.already_arrived, c.recoveries, c.partitions, c.dropped_stale,
        c.dropped_duplicate, c.dropped_malformed, c.drain_time_outs);
    text += fmt::format("; {} protection errors", c.protection_errors) + at(i).channel().describe();
  }
  return text;
}

}  // namespace hawser::rails_test
