// A process of the job that sends any datagrams, with the right check, and any packets over connections that
// it was given: its victim says so, and keeps its books in order (RailChannel::check_invariants). Adapters
// are made here: they keep what is posted and deliver what the input says.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "base/siphash.h"
#include "channel/bad_neighbour_test_support.h"
#include "channel/remote_memory.h"
#include "fuzz_input.h"
#include "fuzzed_device.h"
#include "rails/decision/connection_manager.h"
#include "rails/rail_channel.h"
#include "rails/wire/packet.h"
#include "strict_gtest.h"

using namespace hawser;
using namespace hawser::channel_test;
using fuzz::FuzzInput;

namespace {

constexpr std::array<std::uint64_t, 2> secret = {1, 2};
constexpr int rails = 2;

// As ConnectionManager writes it.
struct DatagramHeader {
  std::uint64_t check = 0;
  std::uint8_t format = 3;
  DatagramKind kind = DatagramKind::request;
  std::uint16_t index = 0;
  std::uint32_t connection_generation = 0;
  ProcessIndex source = liar, destination = victim;
};
static_assert(sizeof(DatagramHeader) == ConnectionManager::header_bytes);

// What the launcher would tell.
class Exchange final : public AddressExchange {
 public:
  Exchange() {
    RailTable table;
    for (int rail = 0; rail < rails; ++rail) {
      RailAddress address;
      address.port = fuzz::FuzzedDevice::address(10 + rail);
      address.datagram_queue_pair = 8;
      address.device = static_cast<std::uint8_t>(rail);
      address.bytes_per_second = 1'000'000'000;
      table.rails.push_back(address);
    }
    table.up_at_start = 3;
    values_[{liar, "hawser-rails"}] = table.text();
  }
  Result<> put(std::string_view key, std::string_view value) override {
    values_[{victim, std::string(key)}] = value;
    return {};
  }
  Result<> fence() override { return {}; }
  Result<std::string> get(std::int32_t rank, std::string_view key) override {
    return values_[{rank, std::string(key)}];
  }

 private:
  std::map<std::pair<std::int32_t, std::string>, std::string> values_;
};

class Liar {
 public:
  Liar() {
    RailSettings settings;
    settings.self = victim;
    settings.job_size = 2;
    settings.job_id = "job";
    settings.secret = secret;
    settings.walk_every = 1;
    channel_ = RailChannel::open(settings, exchange_, devices_, Knobs{}, 1).value();
    HAWSER_ASSERT(channel_->publish() && channel_->reaches(liar));
    events_.emplace(*channel_);
    window_ = channel_->remote_memory()->register_window(memory_.data(), std::ssize(memory_)).value();
    progress(1000);
  }
  ~Liar() {
    channel_->remote_memory()->unregister_window(window_);
    channel_.reset();
  }

  void step(FuzzInput& input) {
    switch (input.value<std::uint8_t>() % 8) {
      case 0:
        return say_datagram(input);
      case 1:
        return connect(input);
      case 2:
      case 3:
        return say_packet(input);
      case 4:
        return complete(input);
      case 5:
        return use(input);
      case 6:
        return use_windows(input);
      default:
        return progress(Nanoseconds{input.value<std::uint16_t>()} * 1000);
    }
  }
  void progress(Nanoseconds pause) {
    now_ += pause;
    channel_->progress(*events_, now_);
    events_->check();
  }

 private:
  struct Connection {
    std::uint16_t index = 0;
    std::uint32_t generation = 0;
  };

  void deliver(std::size_t rail, DatagramHeader header, std::span<const std::byte> body) {
    std::vector<std::byte> bytes(sizeof header + body.size());
    std::copy(body.begin(), body.end(), bytes.begin() + sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    header.check = siphash(secret, std::span(bytes).subspan(sizeof header.check));
    std::memcpy(bytes.data(), &header, sizeof header);
    devices_.device(rail).arrive(std::move(bytes));
  }
  void say_datagram(FuzzInput& input) {
    DatagramHeader header;
    header.kind = static_cast<DatagramKind>(input.value<std::uint8_t>() % 17);
    header.index = input.value<std::uint8_t>() % 4;
    header.connection_generation = input.value<std::uint8_t>() % 8;
    if (input.value<std::uint8_t>() % 16 == 1) header.index = input.value<std::uint16_t>();
    if (input.value<std::uint8_t>() % 16 == 1) header.connection_generation = input.value<std::uint32_t>();
    if (input.value<std::uint8_t>() % 16 == 1) header.source = input.value<std::int32_t>();
    deliver(input.below(rails), header, input.take(input.below(200)));
  }
  // What is needed to be connected: a request, or an answer to the victim's.
  void connect(FuzzInput& input) {
    const auto rail = input.below(rails);
    DatagramHeader header;
    header.index = static_cast<std::uint16_t>(rail);
    header.connection_generation = input.value<std::uint8_t>() % 8;
    ConnectionEnd own;
    own.port = fuzz::FuzzedDevice::address(10 + static_cast<int>(rail));
    own.queue_pair = 100 + rail;
    own.datagram_queue_pair = 8;
    own.outstanding_reads = 4;
    std::vector<std::byte> body(sizeof own);
    if (input.flag()) {
      // The last request of the victim's, answered.
      const auto& sent = devices_.device(rail).last_sent(static_cast<std::uint8_t>(DatagramKind::request));
      if (sent.size() != sizeof header + sizeof own) return;
      std::memcpy(&header, sent.data(), sizeof header);
      header.kind = DatagramKind::reply;
      std::swap(header.source, header.destination);
      body.insert(body.end(), sent.begin() + sizeof header, sent.end());
    }
    std::memcpy(body.data(), &own, sizeof own);
    deliver(rail, header, body);
    progress(1000);
  }
  // By the number of a queue pair: what the victim said when it connected it.
  std::map<std::uint32_t, Connection> connections() {
    std::map<std::uint32_t, Connection> found;
    for (std::size_t rail = 0; rail < rails; ++rail)
      for (const auto kind : {DatagramKind::request, DatagramKind::reply}) {
        const auto& sent = devices_.device(rail).last_sent(static_cast<std::uint8_t>(kind));
        if (sent.size() < sizeof(DatagramHeader) + sizeof(ConnectionEnd)) continue;
        DatagramHeader header;
        ConnectionEnd end;
        std::memcpy(&header, sent.data(), sizeof header);
        std::memcpy(&end, sent.data() + sizeof header, sizeof end);
        found[end.queue_pair] = {header.index, header.connection_generation};
      }
    return found;
  }
  void say_packet(FuzzInput& input) {
    const auto rail = input.below(rails);
    const auto found = connections();
    fuzz::FuzzedQueuePair* const pair = devices_.device(rail).pair(input.value<std::uint8_t>());
    if (pair == nullptr) return;
    const auto connection = found.find(pair->number());
    PacketHeader header;
    header.kind = static_cast<PacketKind>(input.value<std::uint8_t>() % 20);
    header.wants_credit = input.flag();
    header.checked = input.value<std::uint8_t>() % 32 == 1;
    if (connection != found.end()) {
      header.subchannel = connection->second.index;
      header.connection_generation = connection->second.generation;
    }
    header.sequence_number = sequence_ + (input.flag() ? 0u : input.value<std::uint8_t>() % 70u);
    header.acknowledged = input.value<std::uint8_t>() % 64 == 1 ? input.value<std::uint32_t>()
                                                                : input.value<std::uint8_t>() % 8u;
    if (input.value<std::uint8_t>() % 64 == 1) header.subchannel = input.value<std::uint16_t>();
    const auto body = input.take(input.below(300));
    std::vector<std::byte> bytes(sizeof header + body.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::copy(body.begin(), body.end(), bytes.begin() + sizeof header);
    if (pair->receive(bytes) && sequenced(header.kind) && header.sequence_number == sequence_) ++sequence_;
  }
  void complete(FuzzInput& input) {
    fuzz::FuzzedQueuePair* const pair = devices_.device(input.below(rails)).pair(input.value<std::uint8_t>());
    const auto status = input.value<std::uint8_t>();
    if (pair != nullptr)
      pair->complete(1 + input.below(8),
                     status < 240 ? rdma::Status::success : static_cast<rdma::Status>(status % 8));
  }
  void use(FuzzInput& input) {
    Bytes& bytes =
        kept_.emplace_back(input.flag() ? input.below(2000) : 20'000 + input.value<std::uint16_t>());
    TransportHeader header = offer();
    if (std::ssize(bytes) <= channel_->eager_limit(liar))
      static_cast<void>(channel_->try_send(liar, header, whole(bytes)));
    else
      static_cast<void>(channel_->try_expose(liar, header, whole(bytes), events_->exposing(&bytes)));
  }
  void use_windows(FuzzInput& input) {
    RemoteMemory& memory = *channel_->remote_memory();
    RemotePlace place;
    std::memcpy(&place.window, &window_, sizeof place.window);  // one as such windows have, and changed
    for (auto changes = input.below(4); changes > 0; --changes)
      place.window.words[input.below(8)] ^= input.value<std::uint64_t>();
    place.offset = input.value<std::int32_t>();
    Bytes& bytes = kept_.emplace_back(input.below(3000));
    const RemoteCapabilities can = memory.capabilities(liar);
    switch (input.value<std::uint8_t>() % 3) {
      case 0:
        if (can.put)
          static_cast<void>(
              memory.try_put(liar, place, whole(bytes), TrafficClass::one_sided, events_->exposing(&bytes)));
        return;
      case 1:
        if (can.get)
          static_cast<void>(
              memory.try_get(liar, place, whole(bytes), TrafficClass::one_sided, events_->exposing(&bytes)));
        return;
      default:
        return memory.flush(liar, *events_->exposing(&bytes));
    }
  }

  std::deque<Bytes> kept_;
  Bytes memory_ = Bytes(4096);
  Exchange exchange_;
  fuzz::FuzzedDevices devices_{rails};
  std::unique_ptr<RailChannel> channel_;
  std::optional<Careful> events_;
  WindowToken window_;
  std::uint32_t sequence_ = 0;
  Nanoseconds now_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  Liar liar;
  for (int steps = 0; steps < 150 && !input.empty(); ++steps) liar.step(input);
  for (int passes = 0; passes < 5; ++passes) liar.progress(5 * millisecond);
  return 0;
}
