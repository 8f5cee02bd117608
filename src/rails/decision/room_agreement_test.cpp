#include "rails/decision/room_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "base/random.h"

namespace hawser {
namespace {

using Kind = RoomAgreement::Action::Kind;
using Actions = std::vector<RoomAgreement::Action>;

Actions taken_from(RoomAgreement& room) {
  room.check_invariants();
  return std::exchange(room.actions(), {});
}

TEST(RoomAgreement, AsksBeforeItConnects) {
  RoomAgreement room(0, 2);
  EXPECT_TRUE(room.want(5, 2, 0));
  EXPECT_FALSE(room.want(5, 2, 0));
  room.look(0);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::ask, 5}}));
  EXPECT_FALSE(room.begins(5));
  room.on_yes(5, 2, 10);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::connect, 5}}));
  EXPECT_TRUE(room.begins(5));
  room.on_made(5, 1);
  EXPECT_TRUE(room.has_room(5));
  room.on_made(5, 2);
  EXPECT_TRUE(room.idle());
}

TEST(RoomAgreement, WhoHasNoRoomAsksAsSoonAsThereIs) {
  RoomAgreement room(0, 2);
  room.set_queue_pairs(2);
  room.on_question(7, 2, 10);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::not_now, 7}}));
  EXPECT_EQ(room.excess(), 2);
  room.set_queue_pairs(0);
  room.look(20);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::ask, 7}}));
}

TEST(RoomAgreement, TwoThatAskEachOtherAgreeAndOneBegins) {
  for (const ProcessIndex self : {3, 4}) {
    RoomAgreement room(self, 1);
    const ProcessIndex other = 7 - self;
    room.want(other, 1, 0);
    room.look(0);
    taken_from(room);
    room.on_question(other, 1, 5);
    const Actions expected =
        self < other ? Actions{{Kind::yes, other}, {Kind::connect, other}} : Actions{{Kind::yes, other}};
    EXPECT_EQ(taken_from(room), expected);
    room.on_yes(other, 1, 6);
    EXPECT_TRUE(taken_from(room).empty());
  }
}

TEST(RoomAgreement, LateYesIsGivenBackWhenTheRoomIsGone) {
  RoomAgreement room(0, 1);
  room.want(5, 1, 0);
  room.look(0);
  room.look(RoomTimes::answer_time);
  room.set_queue_pairs(1);
  taken_from(room);
  room.on_yes(5, 1, 2 * RoomTimes::answer_time);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::not_now, 5}}));
}

TEST(RoomAgreement, WhoNeverAnswersIsConnectedWithAllTheSame) {
  RoomAgreement room(0, 1);
  room.want(5, 1, 0);
  int asked = 0;
  for (Nanoseconds now = 0; now < second && !room.begins(5); now += 100 * microsecond) {
    room.look(now);
    for (const auto& action : taken_from(room)) asked += action.kind == Kind::ask;
  }
  EXPECT_EQ(asked, RoomTimes::most_silences);
  EXPECT_TRUE(room.begins(5));
}

// Nobody parts: after some time it takes one more than it should, and then needs time again.
// The peer said yes, and its end did not come about: whoever still wants to has to hear of it.
TEST(RoomAgreement, SaysWhenWhatWasAgreedDidNotComeAbout) {
  RoomAgreement room(0, 2);
  room.want(5, 2, 0);
  room.look(0);
  room.on_yes(5, 2, 10);
  taken_from(room);
  room.look(10 + RoomTimes::making_time - 1);
  EXPECT_FALSE(room.take_lapsed());
  EXPECT_TRUE(room.has_room(5));
  room.look(room.deadline());
  EXPECT_TRUE(room.idle());
  EXPECT_TRUE(room.take_lapsed());
  EXPECT_FALSE(room.take_lapsed());
  EXPECT_TRUE(room.want(5, 2, room.deadline()));
}

TEST(RoomAgreement, TakesOneMoreIfNothingGoesOn) {
  RoomAgreement room(0, 1);
  room.set_queue_pairs(1);
  room.want(5, 1, 0);
  room.want(6, 1, 0);
  room.look(RoomTimes::patience - 1);
  EXPECT_TRUE(taken_from(room).empty());
  room.look(RoomTimes::patience);
  EXPECT_EQ(taken_from(room), (Actions{{Kind::ask, 5}}));
  EXPECT_EQ(room.beyond(), 1u);
  EXPECT_EQ(room.deadline(), RoomTimes::patience + RoomTimes::answer_time);
}

// Processes that all want to talk with all others, with delays of all kinds; some compute now and then.
class Crowd {
 public:
  Crowd(int processes, std::int32_t most, std::uint64_t seed, bool computing)
      : random_(seed), most_(most), computing_(computing) {
    for (int i = 0; i < processes; ++i) {
      members_.push_back(std::make_unique<Member>(i, most));
      for (int k = 1; k < processes; ++k) members_.back()->wants.insert((i + k) % processes);
    }
  }

  // True if all have talked with all in time.
  bool run(Nanoseconds limit) {
    for (auto& member : members_)
      for (const ProcessIndex other : member->wants) member->room.want(other, 1, 0);
    for (std::size_t i = 0; i < members_.size(); ++i) schedule(0, What::look, static_cast<int>(i), 0);
    while (!events_.empty()) {
      const auto [at, number, what, to, from] = events_.top();
      events_.pop();
      if (at > limit) return false;
      now_ = at;
      Member& member = *members_[static_cast<std::size_t>(to)];
      if (now_ < member.computes_until) {
        schedule(member.computes_until, what, to, from);
        continue;
      }
      if (computing_ && random_.below(500) == 0) member.computes_until = now_ + 10 * millisecond;
      handle(what, member, to, from);
      if (std::ranges::all_of(members_, [](const auto& each) { return each->wants.empty(); })) return true;
    }
    return false;
  }
  Nanoseconds now() const { return now_; }
  std::uint64_t beyond() const {
    std::uint64_t sum = 0;
    for (const auto& member : members_) sum += member->room.beyond();
    return sum;
  }
  std::int32_t most_pairs() const { return most_pairs_; }

 private:
  enum class What : std::uint8_t { look, ask, yes, not_now, made, part };
  struct Member {
    Member(ProcessIndex self, std::int32_t most) : room(self, most) {}
    RoomAgreement room;
    std::set<ProcessIndex> wants;
    std::set<ProcessIndex> connected;
    Nanoseconds computes_until = 0;
  };
  using Event = std::tuple<Nanoseconds, std::uint64_t, What, int, int>;

  void schedule(Nanoseconds at, What what, int to, int from) {
    events_.emplace(at, number_++, what, to, from);
  }
  void handle(What what, Member& member, int self, int from) {
    Member& other = *members_[static_cast<std::size_t>(from)];
    switch (what) {
      case What::look:  // what did not come about is wanted again
        for (const ProcessIndex each : member.wants) member.room.want(each, 1, now_);
        member.room.look(now_);
        schedule(now_ + 100 * microsecond, What::look, self, 0);
        break;
      case What::ask:
        if (member.connected.contains(from))
          schedule(now_ + 2 * microsecond, What::yes, from, self);
        else
          member.room.on_question(from, 1, now_);
        break;
      case What::yes:
        member.room.on_yes(from, 1, now_);
        break;
      case What::not_now:
        member.room.on_not_now(from, now_);
        break;
      case What::made:
        if (!member.room.has_room(from) || !other.room.begins(self)) break;
        for (auto [one, two] : {std::pair(&member, from), std::pair(&other, self)}) {
          one->connected.insert(two);
          one->wants.erase(two);
          one->room.on_made(two, 1);
          count(*one);
        }
        schedule(now_ + 100 * microsecond + nanoseconds(200 * microsecond), What::part, self, from);
        break;
      case What::part:
        member.connected.erase(from);
        other.connected.erase(self);
        count(member);
        count(other);
        other.room.look(now_);
        act(other, from);
        break;
    }
    member.room.look(now_);
    act(member, self);
  }
  void count(Member& member) {
    member.room.set_queue_pairs(static_cast<std::int32_t>(member.connected.size()));
    most_pairs_ = std::max(most_pairs_, static_cast<std::int32_t>(member.connected.size()));
  }
  void act(Member& member, int self) {
    for (const auto& action : taken_from(member.room)) {
      const Nanoseconds arrives = now_ + 2 * microsecond + nanoseconds(3 * microsecond);
      switch (action.kind) {
        case Kind::ask:
          if (random_.below(1000) != 0) schedule(arrives, What::ask, action.peer, self);
          break;
        case Kind::yes:
          if (random_.below(1000) != 0) schedule(arrives, What::yes, action.peer, self);
          break;
        case Kind::not_now:
          if (random_.below(1000) != 0) schedule(arrives, What::not_now, action.peer, self);
          break;
        case Kind::connect:
        case Kind::admit:
          schedule(arrives + 200 * microsecond, What::made, action.peer, self);
          break;
      }
    }
  }
  Nanoseconds nanoseconds(Nanoseconds below) {
    return static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(below)));
  }

  Random random_;
  std::int32_t most_;
  bool computing_;
  std::vector<std::unique_ptr<Member>> members_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t number_ = 0;
  Nanoseconds now_ = 0;
  std::int32_t most_pairs_ = 0;
};

TEST(RoomAgreement, AllMeetAllAndNobodyTakesMoreThanItMay) {
  for (const int processes : {2, 3, 8, 33})
    for (const std::int32_t most : {1, 2, 5})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Crowd crowd(processes, most, seed, false);
        // A meeting takes 0.4 ms; half of the processes meet at a time if nothing is lost by agreeing.
        const Nanoseconds least = (processes - 1) * 400 * microsecond / most;
        EXPECT_TRUE(crowd.run(6 * least + 20 * millisecond)) << processes << " " << most << " " << seed;
        EXPECT_EQ(crowd.beyond(), 0u) << processes << " " << most << " " << seed;
        EXPECT_LE(crowd.most_pairs(), most);
        RecordProperty("us", static_cast<int>(crowd.now() / microsecond));
      }
}

TEST(RoomAgreement, AllMeetAllThoughSomeCompute) {
  for (const std::int32_t most : {1, 2, 5})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Crowd crowd(16, most, seed, true);
      EXPECT_TRUE(crowd.run(second)) << most << " " << seed;
    }
}

}  // namespace
}  // namespace hawser
