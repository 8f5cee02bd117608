// Headers as no process of the job sends them, from a peer whose memory or version is broken: they end in a
// word about that peer, and never touch what others wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "message/point_to_point.h"
#include "message/test_network.h"

namespace hawser {
namespace {

using Kind = MessageHeader::Kind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int victim = 0, liar = 1, witness = 2;
constexpr std::uint32_t context = 4, other_context = 8;

std::vector<std::byte> pattern(std::size_t size, int salt) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + salt);
  return bytes;
}
ByteSequence sequence(std::vector<std::byte>& bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
}

// The victim waits for much, of the liar and of a witness, when a header comes in.
class Scene {
 public:
  explicit Scene(std::uint64_t seed)
      : network(3, seed, {.eager_limit = 256, .refusal = 0, .delivery = 1}), node(network[victim]) {
    for (std::size_t i = 0; i < 2; ++i) {
      const int peer = i == 0 ? liar : witness;
      synchronous[i] = &node.isend(SendMode::synchronous, {peer, context, 0, 11}, sequence(small[i]));
      exposed[i] = &node.isend(SendMode::standard, {peer, context, 0, 12}, sequence(large[i]));
      cancelled[i] = &node.isend(SendMode::synchronous, {peer, context, 0, 13}, sequence(small[i]));
      posted[i] = &node.ireceive({other_context, peer, 14}, sequence(into[i]));
    }
    cancelled[0]->stage == MessageRequest::Stage::awaiting_match ? node.cancel(*cancelled[0]) : void();
    wildcard = &node.ireceive({context, any_source, any_tag}, sequence(into[2]));
  }

  // The liar says this now; then everything that is on its way arrives at the victim.
  void say(const MessageHeader& header, std::size_t payload = 0, std::int64_t message_size = -1,
           bool in_pieces = false) {
    network.inject(liar, victim, header, pattern(payload, 3),
                   message_size < 0 ? static_cast<std::int64_t>(payload) : message_size, in_pieces);
    for (int pass = 0; pass < 20; ++pass) network.progress(victim);
  }

  // Whatever the liar said: what the witness has to do with is as before, and ends as it should.
  void check_witness() {
    EXPECT_FALSE(synchronous[1]->complete);
    EXPECT_FALSE(exposed[1]->complete);
    EXPECT_FALSE(cancelled[1]->complete);
    EXPECT_FALSE(posted[1]->complete);
    std::vector<std::byte> message = pattern(100, 9);
    network[witness].isend(SendMode::standard, {victim, other_context, witness, 14}, sequence(message));
    std::vector<std::byte> got[3] = {std::vector<std::byte>(100), std::vector<std::byte>(5000),
                                     std::vector<std::byte>(100)};
    for (int i = 0; i < 3; ++i)
      network[witness].ireceive({context, victim, 11 + i}, sequence(got[static_cast<std::size_t>(i)]));
    for (int pass = 0; pass < 50; ++pass) {
      network.progress(victim);
      network.progress(witness);
    }
    EXPECT_TRUE(posted[1]->complete && into[1] == message);
    EXPECT_TRUE(synchronous[1]->complete && exposed[1]->complete && cancelled[1]->complete);
    EXPECT_TRUE(got[0] == small[1] && got[1] == large[1] && got[2] == small[1]);
  }

  const std::string& bad_packet() { return network.lane(victim).bad_packet(); }

  TestNetwork network;
  PointToPoint& node;
  std::vector<std::byte> small[2] = {pattern(100, 1), pattern(100, 2)};
  std::vector<std::byte> large[2] = {pattern(5000, 3), pattern(5000, 4)};
  std::vector<std::byte> into[3] = {std::vector<std::byte>(100), std::vector<std::byte>(100),
                                    std::vector<std::byte>(100)};
  // To or from the liar, and to or from the witness.
  MessageRequest* synchronous[2];
  MessageRequest* exposed[2];
  MessageRequest* cancelled[2];
  MessageRequest* posted[2];
  MessageRequest* wildcard;
};

MessageHeader header(Kind kind, std::int32_t tag = 14, std::uint32_t number = 0) {
  return {.kind = kind, .context = context, .source_rank = liar, .tag = tag, .sender_request = number};
}

void expect_refused(Scene& scene, const char* why) {
  EXPECT_THAT(scene.bad_packet(), StartsWith("rank 1 sent "));
  EXPECT_THAT(scene.bad_packet(), HasSubstr(why));
  EXPECT_FALSE(scene.wildcard->complete);
  EXPECT_FALSE(scene.posted[0]->complete);
  scene.check_witness();
}

TEST(BadHeader, UnknownKind) {
  for (const std::size_t bytes : {0, 36, 5000}) {
    Scene scene(1);
    scene.say(header(static_cast<Kind>(9)), bytes);
    expect_refused(scene, "unknown kind 9");
  }
}

TEST(BadHeader, RendezvousWithoutToken) {
  for (const std::size_t bytes : {0, 8, 31, 33}) {
    Scene scene(1);
    scene.say(header(Kind::rendezvous), bytes, 100'000);
    expect_refused(scene, "instead of 32");
  }
}

TEST(BadHeader, RendezvousOfANegativeSize) {
  Scene scene(1);
  scene.network.inject(liar, victim, header(Kind::rendezvous), pattern(sizeof(ExposeToken), 1), -1, false);
  scene.network.progress(victim);
  expect_refused(scene, "an offer of -1 bytes");
}

TEST(BadHeader, MatchedNamesNothingOrSomethingElse) {
  for (int named = 0; named < 7; ++named) {
    Scene scene(1);
    const std::uint32_t numbers[] = {0,
                                     12'345'678,
                                     scene.posted[0]->handle,
                                     scene.exposed[0]->handle,
                                     scene.synchronous[1]->handle,
                                     scene.exposed[1]->handle,
                                     scene.node.sent().handle};
    scene.say(header(Kind::matched, named == 3 || named == 5 ? 12 : 11, numbers[named]));
    expect_refused(scene, "an acknowledgement of synchronous send");
  }
}

TEST(BadHeader, MatchedTwice) {
  Scene scene(1);
  const MessageHeader matched = header(Kind::matched, 11, scene.synchronous[0]->handle);
  scene.say(matched);
  EXPECT_TRUE(scene.synchronous[0]->complete);  // that was true
  EXPECT_EQ(scene.bad_packet(), "");
  scene.say(matched);
  expect_refused(scene, "an acknowledgement of synchronous send");
}

TEST(BadHeader, AnswerToACancelThatWasNotAsked) {
  for (int named = 0; named < 5; ++named) {
    Scene scene(1);
    const std::uint32_t numbers[] = {0, scene.posted[0]->handle, scene.synchronous[0]->handle,
                                     scene.synchronous[1]->handle, scene.exposed[0]->handle};
    MessageHeader reply = header(Kind::cancel_reply, named == 4 ? 12 : 11, numbers[named]);
    reply.flags = 1;
    scene.say(reply);
    expect_refused(scene, "an answer about cancelling");
    EXPECT_FALSE(scene.synchronous[0]->complete);
  }
}

TEST(BadHeader, RanksAndTagsThatStandForAny) {
  for (const auto& [rank, tag] : std::vector<std::array<std::int32_t, 2>>{
           {any_source, 14}, {any_source, any_tag}, {liar, any_tag}, {-1000, 14}, {liar, INT32_MIN}}) {
    for (const Kind kind : {Kind::eager, Kind::eager_synchronous, Kind::rendezvous}) {
      Scene scene(1);
      scene.node.cancel(*scene.wildcard);
      scene.wildcard = &scene.node.ireceive({other_context, any_source, 77}, sequence(scene.into[2]));
      MessageHeader sent = header(kind, tag, 5);
      sent.source_rank = rank;
      scene.say(sent, sizeof(ExposeToken));
      expect_refused(scene, "of its communicator");
    }
  }
}

TEST(BadHeader, PiecesOfWhatHasNone) {
  for (const Kind kind : {Kind::rendezvous, Kind::matched, Kind::cancel, Kind::cancel_reply, Kind{200}}) {
    Scene scene(1);
    scene.say(header(kind), 200, 200, true);
    expect_refused(scene, "in pieces");
  }
  Scene scene(1);
  scene.network.inject(liar, victim, header(Kind::eager), pattern(200, 1), -200, true);
  for (int pass = 0; pass < 20; ++pass) scene.network.progress(victim);
  expect_refused(scene, "-200 bytes in pieces");
}

// Thousands of headers made from true ones by changing a few fields.
class Mutations : public ::testing::TestWithParam<int> {};

TEST_P(Mutations, NeverTouchWhatOthersWaitFor) {
  int refused = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed * 8 + static_cast<std::uint64_t>(GetParam()));
    Scene scene(seed);
    const std::uint32_t numbers[] = {scene.synchronous[0]->handle, scene.synchronous[1]->handle,
                                     scene.exposed[0]->handle,     scene.exposed[1]->handle,
                                     scene.cancelled[0]->handle,   scene.cancelled[1]->handle,
                                     scene.posted[0]->handle,      scene.wildcard->handle,
                                     scene.node.sent().handle,     static_cast<std::uint32_t>(random.next())};
    const auto some = [&](std::initializer_list<std::int32_t> values) {
      const auto place = random.below(values.size() + 1);
      return place < values.size() ? values.begin()[place] : static_cast<std::int32_t>(random.next());
    };
    for (int packet = 0; packet < 4 && scene.bad_packet().empty(); ++packet) {
      MessageHeader sent = header(static_cast<Kind>(GetParam()), some({11, 12, 13, 14, any_tag}),
                                  numbers[random.below(std::size(numbers))]);
      sent.context = static_cast<std::uint32_t>(some({context, other_context}));
      // Not in the witness's name to the receive for its message: a header is believed that far.
      sent.source_rank = some({liar, any_source, 7});
      if (sent.source_rank == witness) continue;
      sent.flags = random.below(3) & 0x7f;
      const std::size_t sizes[] = {0, 1, 31, 32, 33, 64, 100, 256, 4000};
      const std::size_t size = sizes[random.below(std::size(sizes))];
      const std::int64_t announced = random.chance(0.5)   ? static_cast<std::int64_t>(size)
                                     : random.chance(0.5) ? -static_cast<std::int64_t>(random.below(1 << 20))
                                                          : static_cast<std::int64_t>(random.next() >> 1);
      const bool in_pieces = random.chance(0.3);
      // The channels know how long an eager message is; of an offer they have only the sender's word.
      const bool believed = !in_pieces || announced < 0;
      scene.network.inject(liar, victim, sent, pattern(size, 5),
                           believed ? announced : static_cast<std::int64_t>(size), in_pieces);
      for (int pass = 0; pass < 20; ++pass) scene.network.progress(victim);
    }
    const bool bad = !scene.bad_packet().empty();
    if (bad) {
      EXPECT_THAT(scene.bad_packet(), StartsWith("rank 1 sent "));
    }
    ++(bad ? refused : taken);
    scene.check_witness();
    if (HasFailure()) FAIL() << "seed " << seed << ": " << scene.bad_packet();
  }
  std::printf("kind %d: %d refused, %d taken\n", GetParam(), refused, taken);
  EXPECT_GT(refused, 300);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mutations, ::testing::Values(0, 1, 2, 3, 4, 5, 6, 9, 255));

}  // namespace
}  // namespace hawser
