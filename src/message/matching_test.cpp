#include "message/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <vector>

#include "base/random.h"
#include "message/message_pool.h"
#include "message/point_to_point.h"

namespace hawser {
namespace {

// The definition of matching, as slow as it is plain: two lists in order.
class ReferenceMatching {
 public:
  struct Receive {
    int id;
    ReceivePattern pattern;
  };
  struct Sent {
    int id;
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
  };

  static bool fits(const ReceivePattern& p, const Sent& m) {
    return p.context == m.context && (p.source_rank == any_source || p.source_rank == m.source) &&
           (p.tag == any_tag || p.tag == m.tag);
  }
  // The id of what it meets, or -1.
  int post(const Receive& receive) {
    for (auto m = messages.begin(); m != messages.end(); ++m) {
      if (!fits(receive.pattern, *m)) continue;
      const int id = m->id;
      messages.erase(m);
      return id;
    }
    posted.push_back(receive);
    return -1;
  }
  int arrive(const Sent& message) {
    for (auto r = posted.begin(); r != posted.end(); ++r) {
      if (!fits(r->pattern, message)) continue;
      const int id = r->id;
      posted.erase(r);
      return id;
    }
    messages.push_back(message);
    return -1;
  }

  std::list<Receive> posted;
  std::list<Sent> messages;
};

// Both do the same, step by step.
class MatchingTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void post(const ReceivePattern& pattern) {
    MessageRequest& receive = requests_.take();
    receive.context = pattern.context;
    receive.source_rank = pattern.source_rank;
    receive.tag = pattern.tag;
    const int id = static_cast<int>(receives_.size());
    receives_.push_back(&receive);
    const int expected = reference_.post({id, pattern});
    const Message* found = matching_.post(receive);
    ASSERT_EQ(found, expected < 0 ? nullptr : messages_[static_cast<std::size_t>(expected)]);
  }
  void arrive(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    const int id = static_cast<int>(messages_.size());
    const int expected = reference_.arrive({id, context, source, tag});
    MessageRequest* found = matching_.match(context, source, tag);
    ASSERT_EQ(found, expected < 0 ? nullptr : receives_[static_cast<std::size_t>(expected)]);
    messages_.push_back(nullptr);
    if (found != nullptr) return;
    MessageHeader header{};
    header.context = context;
    header.source_rank = source;
    header.tag = tag;
    header.sender_request = static_cast<std::uint32_t>(id);
    messages_.back() = &pool_.take(header, source, 0, 0);
    matching_.add(*messages_.back());
  }
  // A posted receive is cancelled.
  void withdraw() {
    if (reference_.posted.empty()) return;
    auto taken = reference_.posted.begin();
    std::advance(taken, static_cast<long>(random_.below(reference_.posted.size())));
    matching_.withdraw(*receives_[static_cast<std::size_t>(taken->id)]);
    reference_.posted.erase(taken);
  }
  // A message is looked for, and taken out by a matched probe or by its sender.
  void take_out(const ReceivePattern& pattern) {
    auto& waiting = reference_.messages;
    auto found = std::find_if(waiting.begin(), waiting.end(),
                              [&](const auto& m) { return ReferenceMatching::fits(pattern, m); });
    Message* message = matching_.find(pattern);
    ASSERT_EQ(message, found == waiting.end() ? nullptr : messages_[static_cast<std::size_t>(found->id)]);
    if (message == nullptr || random_.chance(0.3)) {
      if (waiting.empty()) return;
      found = waiting.begin();
      std::advance(found, static_cast<long>(random_.below(waiting.size())));
      message = messages_[static_cast<std::size_t>(found->id)];
      ASSERT_EQ(matching_.find_sent_by(message->header, message->process), message);
    }
    matching_.remove(*message);
    waiting.erase(found);
  }
  // A context is given up: what lies in it is dropped, in order, and nothing else.
  void release(std::uint32_t context, bool with_its_receives) {
    std::vector<Message*> expected;
    std::erase_if(reference_.messages, [&](const auto& m) {
      if (m.context == context) expected.push_back(messages_[static_cast<std::size_t>(m.id)]);
      return m.context == context;
    });
    std::vector<Message*> dropped;
    const auto drop = [&](Message& message) { dropped.push_back(&message); };
    if (with_its_receives) {
      std::erase_if(reference_.posted, [&](const auto& r) {
        if (r.pattern.context == context) matching_.withdraw(*receives_[static_cast<std::size_t>(r.id)]);
        return r.pattern.context == context;
      });
      matching_.release_context(context, drop);
    } else {
      matching_.drop_messages(context, drop);
    }
    ASSERT_EQ(dropped, expected);
  }
  void check() {
    matching_.check_invariants();
    EXPECT_EQ(matching_.counters().unexpected, static_cast<std::int64_t>(reference_.messages.size()));
    EXPECT_EQ(matching_.counters().posted, static_cast<std::int64_t>(reference_.posted.size()));
  }
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }

  Random random_{GetParam()};
  RequestTable table_;
  PointToPoint owner_{table_};
  RequestPool requests_{owner_, table_};
  MessagePool pool_;
  Matching matching_;
  ReferenceMatching reference_;
  std::vector<MessageRequest*> receives_;
  std::vector<Message*> messages_;  // null: met a receive at once
};

TEST_P(MatchingTest, AgreesWithReference) {
  const std::int32_t sources = 1 + below(5);
  const std::int32_t tags = 1 + below(4);
  const double receive_share = 0.3 + 0.4 * random_.uniform();
  for (int step = 0; step < 3000; ++step) {
    const auto context = static_cast<std::uint32_t>(4 * below(3));
    const std::int32_t source = below(sources);
    const std::int32_t tag = below(tags);
    if (random_.chance(receive_share))
      ASSERT_NO_FATAL_FAILURE(
          post({context, random_.chance(0.3) ? any_source : source, random_.chance(0.3) ? any_tag : tag}));
    else if (random_.chance(0.1))
      withdraw();
    else
      ASSERT_NO_FATAL_FAILURE(arrive(context, source, tag));
    if (step % 64 == 0) check();
  }
  check();
  ASSERT_NO_FATAL_FAILURE(release(4, true));
  check();
}

// Up to 2000 receives or messages wait, with few or many tags; receives and messages prevail in turns.
TEST_P(MatchingTest, AgreesWithReferenceInDeepQueues) {
  constexpr double shares[] = {0, 0.002, 0.1};
  const std::int32_t contexts = 1 + below(2);
  const std::int32_t sources = 1 + below(3);
  const std::int32_t tags = 1 << below(13);
  const double from_any_source = below(2) != 0 ? 0.5 : shares[below(3)];
  const double with_any_tag = shares[below(3)];
  const double takes_out = shares[below(3)];
  const std::size_t depth = 1 + random_.below(2000);
  double receive_share = 0.9;
  for (int step = 0; step < 12'000; ++step) {
    if (reference_.posted.size() >= depth) receive_share = 0.1;
    if (reference_.messages.size() >= depth) receive_share = 0.9;
    const auto context = static_cast<std::uint32_t>(4 * below(contexts));
    const ReceivePattern pattern{context, random_.chance(from_any_source) ? any_source : below(sources),
                                 random_.chance(with_any_tag) ? any_tag : below(tags)};
    if (random_.chance(takes_out))
      ASSERT_NO_FATAL_FAILURE(take_out(pattern));
    else if (random_.chance(takes_out))
      withdraw();
    else if (random_.chance(0.0002))
      ASSERT_NO_FATAL_FAILURE(release(context, random_.chance(0.5)));
    else if (random_.chance(receive_share))
      ASSERT_NO_FATAL_FAILURE(post(pattern));
    else
      ASSERT_NO_FATAL_FAILURE(arrive(context, below(sources), below(tags)));
    if (step % 512 == 0) check();
  }
  check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, MatchingTest, ::testing::Range<std::uint64_t>(1, 41));

TEST(Matching, ManySourcesGrowTheTable) {
  RequestTable table;
  PointToPoint owner(table);
  RequestPool requests(owner, table);
  Matching matching;
  std::vector<MessageRequest*> posted;
  for (std::int32_t source = 0; source < 5000; ++source) {
    MessageRequest& receive = requests.take();
    receive.context = 8;
    receive.source_rank = source;
    receive.tag = 1;
    ASSERT_EQ(matching.post(receive), nullptr);
    posted.push_back(&receive);
  }
  matching.check_invariants();
  for (std::int32_t source = 4999; source >= 0; --source)
    ASSERT_EQ(matching.match(8, source, 1), posted[static_cast<std::size_t>(source)]);
  EXPECT_EQ(matching.match(8, 7, 1), nullptr);
}

// Thousands of communicators come and go while messages wait in others.
TEST(Matching, ContextsAreReleasedInAnyOrder) {
  MessagePool messages;
  Matching matching;
  Random random(7);
  constexpr std::uint32_t contexts = 2000;
  std::vector<std::uint32_t> living;
  std::vector<int> waiting(contexts, 0);
  const auto release = [&](std::size_t place) {
    const std::uint32_t context = living[place];
    int dropped = 0;
    matching.release_context(context, [&](Message& message) {
      EXPECT_EQ(message.header.context, context);
      messages.give_back(message);
      ++dropped;
    });
    EXPECT_EQ(dropped, waiting[context]);
    living[place] = living.back();
    living.pop_back();
  };
  for (std::uint32_t context = 0; context < contexts; ++context) {
    living.push_back(context);
    for (std::int32_t source = 0; source < 3; ++source) {
      if (random.below(2) == 0) continue;
      MessageHeader header{};
      header.context = context;
      header.source_rank = source;
      matching.add(messages.take(header, 0, 0, 0));
      ++waiting[context];
    }
    if (random.below(3) != 0) release(random.below(living.size()));
    if (context % 100 == 0) matching.check_invariants();
  }
  while (!living.empty()) release(random.below(living.size()));
  matching.check_invariants();
  EXPECT_EQ(matching.counters().unexpected, 0);
}

class MatchingOnce : public ::testing::Test {
 protected:
  MessageRequest& receive(std::uint32_t context, std::int32_t source) {
    MessageRequest& request = requests_.take();
    request.context = context;
    request.source_rank = source;
    request.tag = 1;
    return request;
  }
  Message& message(std::uint32_t context, std::int32_t source, std::int64_t size = 0,
                   MessageHeader::Kind kind = MessageHeader::Kind::eager) {
    MessageHeader header{};
    header.kind = kind;
    header.context = context;
    header.source_rank = source;
    header.tag = 1;
    return messages_.take(header, source, size, kind == MessageHeader::Kind::rendezvous ? 0 : size);
  }

  RequestTable table_;
  PointToPoint owner_{table_};
  RequestPool requests_{owner_, table_};
  MessagePool messages_;
  Matching matching_;
};

// Receives that are still posted keep their bins in the context, until it is released once more.
TEST_F(MatchingOnce, AContextIsReleasedWhileReceivesWait) {
  const auto nothing = [](Message&) { FAIL(); };
  std::vector<MessageRequest*> posted;
  for (std::int32_t source = 0; source < 6; ++source) {
    posted.push_back(&receive(4, source));
    matching_.post(*posted.back());
  }
  matching_.withdraw(*posted[1]);
  matching_.withdraw(*posted[4]);
  matching_.release_context(4, nothing);
  matching_.check_invariants();
  for (const std::int32_t source : {0, 2, 3, 5}) {
    EXPECT_EQ(matching_.match(4, source, 1), posted[static_cast<std::size_t>(source)]);
    EXPECT_EQ(matching_.match(4, source, 1), nullptr);
  }
  matching_.release_context(4, nothing);
  matching_.check_invariants();
}

// Bins that are released are used again, and none is found by its former key.
TEST_F(MatchingOnce, ReleasedBinsAreForgotten) {
  for (std::uint32_t context = 0; context < 4000; context += 4) {
    MessageRequest& waiting = receive(context, 3);
    EXPECT_EQ(matching_.post(waiting), nullptr);
    matching_.withdraw(waiting);
    matching_.release_context(context, [](Message&) { FAIL(); });
    EXPECT_EQ(matching_.match(context, 3, 1), nullptr);
    matching_.release_context(context, [](Message&) { FAIL(); });
    if (context % 400 == 0) matching_.check_invariants();
  }
  matching_.check_invariants();
}

TEST_F(MatchingOnce, WhatWaitsIsCounted) {
  std::vector<Message*> waiting;
  constexpr std::int64_t large = 1000;
  waiting.push_back(&message(4, 0, large));
  waiting.push_back(&message(4, 1, large));
  waiting.push_back(&message(4, 1, 8));  // has room in the message itself
  waiting.push_back(&message(8, 0, large));
  waiting.push_back(&message(8, 1, large, MessageHeader::Kind::rendezvous));  // its bytes are at its sender
  for (Message* each : waiting) matching_.add(*each);
  matching_.post(receive(4, 7));
  matching_.post(receive(4, 8));
  matching_.post(receive(8, 7));
  EXPECT_EQ(matching_.queued_in(4).unexpected, 3u);
  EXPECT_EQ(matching_.queued_in(4).posted, 2u);
  EXPECT_EQ(matching_.queued_in(8).unexpected, 2u);
  EXPECT_EQ(matching_.queued_in(8).posted, 1u);
  EXPECT_EQ(matching_.queued_in(12).posted, 0u);
  EXPECT_EQ(matching_.counters().unexpected_bytes, 3 * large);
  for (Message* each : waiting) matching_.remove(*each);
  EXPECT_EQ(matching_.counters().unexpected, 0);
  EXPECT_EQ(matching_.counters().unexpected_bytes, 0);
  EXPECT_EQ(matching_.counters().unexpected_total, 5);
  EXPECT_EQ(matching_.counters().most_unexpected, 5);
  EXPECT_EQ(matching_.counters().most_unexpected_bytes, 3 * large);
  matching_.add(*waiting[0]);
  EXPECT_EQ(matching_.counters().unexpected_total, 6);
  EXPECT_EQ(matching_.counters().most_unexpected, 5);
  EXPECT_EQ(matching_.counters().most_unexpected_bytes, 3 * large);
}

// Of two processes with the same rank in their groups, one asks for its message back.
TEST_F(MatchingOnce, AMessageIsFoundByItsSender) {
  Message& first = message(4, 0);
  Message& second = message(4, 0);
  first.process = 5;
  second.process = 6;
  first.header.sender_request = second.header.sender_request = 9;
  matching_.add(first);
  matching_.add(second);
  EXPECT_EQ(matching_.find_sent_by(first.header, 6), &second);
  EXPECT_EQ(matching_.find_sent_by(first.header, 5), &first);
  EXPECT_EQ(matching_.find_sent_by(first.header, 7), nullptr);
}

}  // namespace
}  // namespace hawser
