// A rank that sends headers of nonsense to another one over the rails of a fabric: the job ends with a word
// about that rank, or the header was harmless and the job goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "process/mpi_process.h"
#include "process/process_slot.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using ::testing::HasSubstr;
using Kind = MessageHeader::Kind;

ByteSequence sequence(std::vector<std::byte>& bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
}

constexpr std::uint32_t context = 0, last_context = 4321;
constexpr int last_tag = 1000;
constexpr int harmless_end = 77;

MessageHeader mutated(Random& random, int rank) {
  MessageHeader header;
  header.kind = static_cast<Kind>(random.chance(0.9) ? random.below(6) : random.below(256));
  header.flags = static_cast<std::uint8_t>(random.below(3));
  header.context = random.chance(0.8) ? context : static_cast<std::uint32_t>(random.next());
  header.source_rank = random.chance(0.8) ? rank : static_cast<std::int32_t>(random.next());
  header.tag = random.chance(0.8) ? static_cast<std::int32_t>(random.below(4))
                                  : static_cast<std::int32_t>(random.next());
  header.sender_request = static_cast<std::uint32_t>(random.chance(0.8) ? random.below(80) : random.next());
  return header;
}

// Rank 1 sends what it likes to rank 0, who waits for it and for rank 2 in several ways.
void body(SimulatedRank& rank, std::uint64_t seed, int packets) {
  MpiProcess& process = current_slot().process();
  ASSERT_TRUE(process.start(thread_single));
  PointToPoint& messages = process.point_to_point();
  std::vector<std::byte> large(100'000, std::byte{7}), small(50, std::byte{8}), into(300);
  std::vector<std::byte> in_order(100'000);
  const auto wait = [&](MessageRequest& request) { process.wait_until([&] { return request.complete; }); };
  if (rank.rank() == 1) {
    Random random(seed);
    Transport& channel = *process.channels().channel_of(0);
    for (int packet = 0; packet < packets; ++packet) {
      const MessageHeader header = mutated(random, 1);
      const bool offer = random.chance(0.2);
      std::vector<std::byte> payload(random.chance(0.5) ? random.below(40) : random.below(2000));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.next());
      // The channel hears once that nobody needs its bytes any more, from whom it does not matter here.
      MessageRequest& cookie = messages.take_send(SendMode::standard, {0, context, 1, 0}, sequence(large));
      cookie.stage = MessageRequest::Stage::exposed;
      process.wait_until([&] {
        return offer ? channel.try_expose(0, header, sequence(large), &cookie.transfer())
                     : channel.try_send(0, header, sequence(payload));
      });
    }
    wait(messages.isend(SendMode::standard, {0, last_context, 1, last_tag}, sequence(small)));
  } else if (rank.rank() == 0) {
    messages.ireceive({context, 1, any_tag}, sequence(into));
    messages.ireceive({context, any_source, 2}, sequence(into));
    MessageRequest& synchronous = messages.isend(SendMode::synchronous, {2, context, 0, 1}, sequence(small));
    messages.isend(SendMode::synchronous, {1, context, 0, 1}, sequence(small));
    messages.isend(SendMode::standard, {1, context, 0, 1}, sequence(large));
    MessageRequest& exposed = messages.isend(SendMode::standard, {2, context, 0, 2}, sequence(large));
    wait(messages.ireceive({last_context, 1, last_tag}, sequence(into)));
    EXPECT_FALSE(synchronous.complete);
    EXPECT_FALSE(exposed.complete);
    wait(messages.isend(SendMode::standard, {2, context, 0, last_tag}, sequence(small)));
    wait(synchronous);
    wait(exposed);
  } else {
    wait(messages.ireceive({context, 0, last_tag}, sequence(into)));
    wait(messages.ireceive({context, 0, 1}, sequence(into)));
    MessageRequest& receive = messages.ireceive({context, 0, 2}, sequence(in_order));
    wait(receive);
    EXPECT_EQ(in_order, large);
  }
  // Much stays unfinished: the job ends by rank 2, who has got all that is its own.
  if (rank.rank() == 2) process.abort(harmless_end, "nothing happened");
  process.wait_until([] { return false; });
}

TEST(BadHeaders, OverRailsEndTheJobWithAWordOrAreHarmless) {
  int ended = 0, harmless = 0;
  std::map<std::string, int> words;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    SimulationOptions options{.ranks = 3, .seed = seed + 1};
    options.fabric.emplace();
    options.time_limit = 60 * second;
    const auto outcome = Simulation(options).run([seed](SimulatedRank& rank) { body(rank, seed, 4); });
    SCOPED_TRACE(seed);
    ASSERT_EQ(outcome.kind, SimulationOutcome::Kind::aborted) << outcome.report;
    if (outcome.exit_code == harmless_end) {
      ++harmless;
    } else {
      ++ended;
      std::string word = outcome.report + (outcome.output.empty() ? "" : outcome.output.front());
      // The liar may be told off for what it said it had, and its words are then blamed on who believed them.
      ASSERT_THAT(word, ::testing::AnyOf(HasSubstr("rank 1 sent "), HasSubstr("rank 0 sent ")));
      ++words[word.substr(word.find(" sent "), 30)];
    }
    ASSERT_FALSE(HasFailure());
  }
  for (const auto& [word, times] : words) std::printf("%5d %s\n", times, word.c_str());
  std::printf("%d jobs ended with a word, %d went on\n", ended, harmless);
  EXPECT_GT(ended, 300);
}

}  // namespace
}  // namespace hawser
