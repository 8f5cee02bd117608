#include "survival/agreement.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "survival/agreement_message.h"

namespace hawser {
namespace {

// Processes that agree over a network which keeps the order between two of them and nothing else, and a
// detector that tells each of the living of a failure at some time of its own. Random steps, by a seed.
class World {
 public:
  World(int size, std::uint64_t seed) : random_(seed), size_(size) {
    for (int rank = 0; rank < size; ++rank) machines_.emplace_back(rank, size);
    alive_.assign(static_cast<std::size_t>(size), true);
    begun_.assign(static_cast<std::size_t>(size), false);
    links_.resize(static_cast<std::size_t>(size * size));
  }

  // Until nothing can happen any more; with so many failures.
  void run(int failures) {
    while (true) {
      std::vector<int> choices;  // of what can happen
      for (int rank = 0; rank < size_; ++rank)
        if (alive(rank) && !begun_[at(rank)]) choices.push_back(rank);
      for (int link = 0; link < size_ * size_; ++link)
        if (!links_[at(link)].empty()) choices.push_back(size_ + link);
      for (int i = 0; i < static_cast<int>(news_.size()); ++i) choices.push_back(size_ + size_ * size_ + i);
      if (failures > 0 && draw(20) == 0) {
        kill(draw(size_));
        --failures;
        continue;
      }
      if (choices.empty()) return;
      take(choices[at(draw(static_cast<int>(choices.size())))]);
    }
  }

  // Whether those who live have all decided alike, and as those did who failed after they had decided.
  void expect_agreement() {
    const AgreementValue* common = nullptr;
    for (int rank = 0; rank < size_; ++rank) {
      const Agreement& machine = machines_[at(rank)];
      if (alive(rank)) {
        ASSERT_TRUE(machine.decided()) << "rank " << rank;
      }
      if (!machine.decided()) continue;
      if (common == nullptr) common = &machine.value();
      EXPECT_EQ(*common, machine.value()) << "rank " << rank;
    }
    if (common == nullptr) return;
    for (const int rank : common->failed) EXPECT_FALSE(alive(rank)) << rank;
    for (int rank = 0; rank < size_; ++rank) {
      if (alive(rank)) {
        EXPECT_EQ(common->flag & (1u << rank), 0u) << "the flag of rank " << rank << " counts";
      }
    }
  }

 private:
  class Founder final : public AgreementFounder {
   public:
    void found(AgreementValue& value) override { value.context = 8; }
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool alive(int rank) const { return alive_[at(rank)]; }
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  void take(int choice) {
    if (choice < size_) {
      begun_[at(choice)] = true;
      AgreementValue own{.flag = ~(1u << choice)};
      own.failed = known_[choice];
      machines_[at(choice)].begin(std::move(own), &founder_);
      return collect(choice);
    }
    choice -= size_;
    if (choice < size_ * size_) {
      const int from = choice / size_, to = choice % size_;
      const std::vector<std::uint32_t> words = links_[at(choice)].front();
      links_[at(choice)].pop_front();
      if (!alive(to)) return;
      const auto message = decode(words, size_);
      ASSERT_TRUE(message.has_value());
      machines_[at(to)].on_message(from, *message);
      return collect(to);
    }
    const auto [to, about] = news_[at(choice - size_ * size_)];
    news_.erase(news_.begin() + choice - size_ * size_);
    if (!alive(to)) return;
    known_[to].insert(about);
    machines_[at(to)].on_failed(about);
    collect(to);
  }

  // Its last messages may be lost, from some on.
  void kill(int rank) {
    if (!alive(rank)) return;
    alive_[at(rank)] = false;
    for (int to = 0; to < size_; ++to) {
      auto& link = links_[at(rank * size_ + to)];
      while (!link.empty() && draw(2) == 0) link.pop_back();
      if (alive(to)) news_.emplace_back(to, rank);
    }
  }

  void collect(int from) {
    for (auto& [to, message] : machines_[at(from)].take_output())
      links_[at(from * size_ + to)].push_back(encode(message));
  }

  std::mt19937_64 random_;
  int size_;
  Founder founder_;
  std::vector<Agreement> machines_;
  std::vector<bool> alive_, begun_;
  std::vector<std::deque<std::vector<std::uint32_t>>> links_;
  std::vector<std::pair<int, int>> news_;
  std::map<int, std::set<int>> known_;
};

TEST(Agreement, AllDecideAlikeWithoutFailures) {
  for (int size = 1; size <= 9; ++size) {
    World world(size, 1);
    world.run(0);
    world.expect_agreement();
  }
}

TEST(Agreement, TheLivingDecideAlikeWhoeverFails) {
  for (std::uint64_t seed = 1; seed <= 30000; ++seed) {
    const int size = 2 + static_cast<int>(seed % 7);
    World world(size, seed);
    world.run(static_cast<int>(seed / 7 % static_cast<std::uint64_t>(size)));
    world.expect_agreement();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(AgreementMessage, IsDecodedAsItWasEncoded) {
  const AgreementMessage message{
      AgreementMessage::Kind::propose, AgreementMessage::Stage::accepted, {0xf00fu, 24, 3, {0, 5, 6}, {5}}};
  const auto decoded = decode(encode(message), 7);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->kind, message.kind);
  EXPECT_EQ(decoded->stage, message.stage);
  EXPECT_EQ(decoded->value, message.value);
}

TEST(AgreementMessage, NonsenseIsRefused) {
  std::vector<std::uint32_t> good = encode({AgreementMessage::Kind::accept, {}, {1, 0, -1, {2}, {}}});
  ASSERT_TRUE(decode(good, 3).has_value());
  EXPECT_FALSE(decode(good, 2).has_value()) << "a rank that is not there";
  for (std::size_t words = 0; words < good.size(); ++words)
    EXPECT_FALSE(decode(std::span(good).first(words), 3).has_value()) << words;
  good[0] = 4;
  EXPECT_FALSE(decode(good, 3).has_value()) << "an unknown kind";
  good[0] = 3 << 8;
  EXPECT_FALSE(decode(good, 3).has_value()) << "an unknown stage";
}

}  // namespace
}  // namespace hawser
