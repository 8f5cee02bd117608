// A process of the job, with the right hello, that sends any bytes over a socket: its victim says so and goes
// on with a third process.
#include "channel/bad_neighbour_test_support.h"
#include "channel/socket_channel.h"
#include "channel/socket_connection.h"
#include "fuzz_input.h"
#include "os/ready_set.h"
#include "strict_gtest.h"

using namespace hawser;
using namespace hawser::channel_test;

namespace {

// The frames of an input: a length and a frame with so many bytes behind it, whatever its own word for them.
void say(OutgoingConnection& connection, fuzz::FuzzInput& input) {
  while (!input.empty()) {
    const std::size_t body = input.below(400);
    auto frame = input.value<SocketFrame>();
    const bool honest = frame.body % 4 != 0;
    const std::uint32_t said = honest ? static_cast<std::uint32_t>(body) : frame.body;
    frame.body = static_cast<std::uint32_t>(body);
    if (!connection.room(body)) return;
    std::byte* const place = connection.add(frame);
    const auto bytes = input.take(body);
    std::memset(place, 1, body);
    std::copy(bytes.begin(), bytes.end(), place);
    frame.body = said;
    std::memcpy(place - sizeof frame, &frame, sizeof frame);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  SharedExchange shared(1);
  SharedExchange::End ends[3] = {{shared, 0}, {shared, 1}, {shared, 2}};
  std::vector<std::unique_ptr<SocketChannel>> channels;
  std::vector<std::unique_ptr<Careful>> events;
  for (ProcessIndex i = 0; i < 3; ++i) {
    channels.push_back(SocketChannel::open(i, 3, ends[i], {}).value());
    HAWSER_ASSERT(channels.back()->publish());
    events.push_back(std::make_unique<Careful>(*channels.back()));
  }
  const auto turn = [&](ProcessIndex i) {
    const auto index = static_cast<std::size_t>(i);
    return channels[index]->progress(*events[index], 0);
  };
  static Traffic with_liar(1), with_witness(3);  // only read from
  static_cast<void>(channels[victim]->try_expose(liar, offer(), whole(with_liar.offered),
                                                 events[victim]->exposing(&with_liar.offered)));
  static_cast<void>(channels[victim]->try_expose(witness, offer(), whole(with_witness.offered),
                                                 events[victim]->exposing(&with_witness.offered)));

  const auto target = SocketAddress::parse(ends[1].get(victim, "hawser-socket").value()).value();
  OutgoingConnection connection(target, network_identity(), liar, 1 << 20);
  ReadySet ready = ReadySet::make().value();
  say(connection, input);
  bool gone = false;
  const auto done = [&] { return events[victim]->exposed_done[&with_witness.offered].times == 1; };
  for (int quiet = 0; quiet < 20 || !done(); ++quiet) {
    const auto answers = ready.poll();
    gone = gone || !connection.advance(ready, 1, false, !answers.empty() && answers.front().writable);
    const bool moved = turn(victim);
    if (turn(witness) || moved) quiet = 0;
  }
  events[victim]->check();
  HAWSER_ASSERT(events[victim]->bad_packets.size() <= 1);
  return 0;
}
