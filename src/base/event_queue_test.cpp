#include "base/event_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "base/random.h"

namespace hawser {
namespace {

class Recorder final : public Event {
 public:
  Recorder(std::vector<int>& log, int name) : log_(log), name_(name) {}
  void fire(Nanoseconds) override { log_.push_back(name_); }

 private:
  std::vector<int>& log_;
  int name_;
};

TEST(EventQueue, OrdersByTimeThenBySequence) {
  EventQueue queue;
  std::vector<int> log;
  Recorder a(log, 1), b(log, 2), c(log, 3), d(log, 4);
  queue.schedule(a, 20);
  queue.schedule(b, 10);
  queue.schedule(c, 20);
  queue.schedule(d, 10);
  while (queue.fire_next()) {
  }
  EXPECT_EQ(log, (std::vector<int>{2, 4, 1, 3}));
  EXPECT_EQ(queue.now(), 20);
}

TEST(EventQueue, CancelAndReschedule) {
  EventQueue queue;
  std::vector<int> log;
  Recorder a(log, 1), b(log, 2);
  queue.schedule(a, 5);
  queue.schedule(b, 6);
  queue.cancel(a);
  queue.cancel(a);
  EXPECT_FALSE(a.scheduled());
  queue.schedule(a, 7);
  queue.schedule(b, 8);
  EXPECT_EQ(queue.fire_until(7), 1u);
  EXPECT_EQ(queue.next_time(), 8);
  queue.advance_to(8);
  {
    Recorder gone(log, 3);
    queue.schedule(gone, 8);
  }
  EXPECT_EQ(queue.fire_until(100), 1u);
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  EXPECT_EQ(queue.now(), 100);
}

TEST(EventQueue, RandomOperationsAgreeWithASortedSet) {
  EventQueue queue;
  Random random(7);
  std::vector<int> log;
  std::vector<std::unique_ptr<Recorder>> events;
  for (int i = 0; i < 200; ++i) events.push_back(std::make_unique<Recorder>(log, i));
  std::vector<std::pair<Nanoseconds, std::uint64_t>> key(events.size());
  std::set<std::tuple<Nanoseconds, std::uint64_t, int>> model;
  std::uint64_t sequence = 0;
  for (int step = 0; step < 20000; ++step) {
    const int i = static_cast<int>(random.below(events.size()));
    const bool scheduled = events[i]->scheduled();
    switch (random.below(4)) {
      case 0:
      case 1: {
        if (scheduled) model.erase({key[i].first, key[i].second, i});
        key[i] = {queue.now() + static_cast<Nanoseconds>(random.below(50)), sequence++};
        model.insert({key[i].first, key[i].second, i});
        queue.schedule(*events[i], key[i].first);
        break;
      }
      case 2:
        if (scheduled) model.erase({key[i].first, key[i].second, i});
        queue.cancel(*events[i]);
        break;
      default:
        if (model.empty()) {
          EXPECT_FALSE(queue.fire_next());
        } else {
          ASSERT_TRUE(queue.fire_next());
          EXPECT_EQ(log.back(), std::get<2>(*model.begin()));
          EXPECT_EQ(queue.now(), std::get<0>(*model.begin()));
          model.erase(model.begin());
        }
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace hawser
