// What operations do, in epochs of all kinds.
#include "window/window.h"

#include <algorithm>
#include <numeric>

#include "datatype/constructors.h"
#include "window/window_test_support.h"

namespace hawser::testing {
namespace {

class Windows : public ::testing::TestWithParam<Setting> {
 protected:
  void run(const std::function<void(WindowRank&)>& body) { cluster_.run(body); }

 private:
  WindowCluster cluster_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Ranks, Windows, ::testing::ValuesIn(settings),
                         [](const auto& parameter) { return name_of(parameter.param); });

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

// Every rank writes a part of every other's memory and reads it back, in sizes around all limits.
TEST_P(Windows, PutAndGetMoveAllSizes) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    for (const std::size_t count : {0u, 1u, 2u, 200u, 300u, 1000u, 4096u, 4097u, 30000u}) {
      const auto ranks = static_cast<std::size_t>(own.size());
      std::vector<int> memory(count * ranks, -1);
      const Ref<Window> window = own.make(memory);
      ASSERT_TRUE(window->fence(window_mode::no_precede));
      const auto entries = static_cast<std::int64_t>(count);
      std::vector<std::vector<int>> sent;
      for (int to = 0; to < own.size(); ++to) {
        sent.push_back(numbers(count, 1000 * own.rank() + to));
        ASSERT_TRUE(
            window->put({sent.back().data(), entries, &type}, {to, own.rank() * entries, entries, &type}));
      }
      ASSERT_TRUE(window->fence(0));
      for (std::size_t from = 0; from < ranks; ++from) {
        const auto wanted = numbers(count, static_cast<int>(1000 * from) + own.rank());
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(),
                               memory.begin() + static_cast<std::ptrdiff_t>(from * count)));
      }
      std::vector<std::vector<int>> got(ranks, std::vector<int>(count));
      for (int from = 0; from < own.size(); ++from)
        ASSERT_TRUE(window->get({got[static_cast<std::size_t>(from)].data(), entries, &type},
                                {from, own.rank() * entries, entries, &type}));
      ASSERT_TRUE(window->fence(window_mode::no_succeed));
      EXPECT_EQ(got, sent);
      ASSERT_TRUE(window->free());
    }
  });
}

// Both sides are derived, and one of the target's has so many blocks that its definition takes many packets.
TEST_P(Windows, DerivedDatatypesOnBothSides) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<std::int64_t> scattered;
    for (std::int64_t i = 0; i < 5000; ++i) scattered.push_back((i * 7919) % 20011);
    auto indexed = make_indexed_block(1, scattered, type, CountForm::plain);
    auto vector = make_vector(2500, 2, 3, type, CountForm::plain);
    indexed.value()->commit();
    vector.value()->commit();
    std::vector<int> memory(20011, -1), source = numbers(7500, own.rank() * 100000), got(7500, -1);
    const Ref<Window> window = own.make(memory);
    const int to = (own.rank() + 1) % own.size(), from = (own.rank() + own.size() - 1) % own.size();
    ASSERT_TRUE(window->fence(0));
    ASSERT_TRUE(window->put({source.data(), 1, vector.value().get()}, {to, 0, 1, indexed.value().get()}));
    ASSERT_TRUE(window->fence(0));
    for (std::size_t i = 0; i < 5000; ++i) {
      const int index = static_cast<int>(i / 2 * 3 + i % 2);
      ASSERT_EQ(memory[static_cast<std::size_t>(scattered[i])], from * 100000 + index);
    }
    ASSERT_TRUE(window->get({got.data(), 1, vector.value().get()}, {to, 0, 1, indexed.value().get()}));
    ASSERT_TRUE(window->fence(0));
    for (std::size_t i = 0; i < 7499; ++i) ASSERT_EQ(got[i], i % 3 == 2 ? -1 : source[i]);
    // Smaller ones, several at a time, more kinds than a process remembers.
    std::vector<Ref<Datatype>> kinds;
    std::fill(memory.begin(), memory.end(), -1);
    ASSERT_TRUE(window->fence(0));
    for (int i = 1; i <= 90; ++i) {
      kinds.push_back(make_vector(3, 1, i, type, CountForm::plain).value());
      kinds.back()->commit();
      ASSERT_TRUE(window->put({source.data(), 3, &type}, {to, i * 200, 1, kinds.back().get()}));
    }
    ASSERT_TRUE(window->fence(0));
    for (int i = 1; i <= 90; ++i) {
      for (int k = 0; k < 3; ++k)
        ASSERT_EQ(memory[static_cast<std::size_t>(i * 200 + k * i)],
                  i == 1 || k < 3 ? from * 100000 + k : -1);
    }
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Windows, AccumulatesOfAllRanksAddUp) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::double_float);
    for (const std::size_t count : {1u, 100u, 5000u}) {
      std::vector<double> memory(count, 1.0), data(count);
      std::iota(data.begin(), data.end(), own.rank());
      const Ref<Window> window = own.make(memory);
      const auto entries = static_cast<std::int64_t>(count);
      ASSERT_TRUE(window->fence(0));
      for (int to = 0; to < own.size(); ++to)
        ASSERT_TRUE(window->accumulate({data.data(), entries, &type}, {to, 0, entries, &type},
                                       own.operators[PredefinedOperator::sum]));
      ASSERT_TRUE(window->fence(0));
      const int ranks = own.size();
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(memory[i], 1.0 + ranks * static_cast<double>(i) + ranks * (ranks - 1) / 2);
      ASSERT_TRUE(window->free());
    }
  });
}

// A value that every rank takes away once: each gets another one, and none is lost.
TEST_P(Windows, FetchAndOpGivesEachADifferentTicket) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::long_int);
    constexpr int rounds = 20;
    const auto ranks = static_cast<std::size_t>(own.size());
    std::vector<long> memory(1), taken;
    std::vector<long> all(ranks * rounds);
    const Ref<Window> window = own.make(memory);
    const Ref<Window> results = own.make(all);
    ASSERT_TRUE(window->lock_all(0));
    for (int i = 0; i < rounds; ++i) {
      const long one = 1;
      long before = -1;
      ASSERT_TRUE(window->fetch_and_op(&one, &before, type, 0, 0, own.operators[PredefinedOperator::sum]));
      ASSERT_TRUE(window->flush(0));
      taken.push_back(before);
    }
    long now = -1;
    ASSERT_TRUE(window->fetch_and_op(nullptr, &now, type, 0, 0, own.operators[PredefinedOperator::no_op]));
    ASSERT_TRUE(window->unlock_all());
    EXPECT_GE(now, taken.back() + 1);
    EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
    ASSERT_TRUE(results->fence(0));
    ASSERT_TRUE(results->put({taken.data(), rounds, &type}, {0, own.rank() * rounds, rounds, &type}));
    ASSERT_TRUE(results->fence(0));
    if (own.rank() == 0) {
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<long>(i));
    }
    ASSERT_TRUE(results->free());
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Windows, CompareAndSwapHasOneWinner) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(2, -1);
    const Ref<Window> window = own.make(memory);
    const int nobody = -1, me = own.rank();
    int before = -2;
    ASSERT_TRUE(window->fence(0));
    const int last = own.size() - 1;
    ASSERT_TRUE(window->compare_and_swap(&me, &nobody, &before, type, last, 1));
    ASSERT_TRUE(window->fence(0));
    const int one = before == -1 ? 1 : 0;
    ASSERT_TRUE(
        window->accumulate({&one, 1, &type}, {last, 0, 1, &type}, own.operators[PredefinedOperator::sum]));
    ASSERT_TRUE(window->fence(0));
    if (own.rank() == last) {
      EXPECT_EQ(memory[0], 0);  // one winner
      EXPECT_GE(memory[1], 0);
    }
    ASSERT_TRUE(window->free());
  });
}

// Get-accumulate of one rank after another sees all that the others did before (accumulate_ordering).
TEST_P(Windows, AccumulatesOfOneRankKeepTheirOrder) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    const auto ranks = static_cast<std::size_t>(own.size());
    constexpr std::size_t many = 3000;  // several packets
    std::vector<int> memory(ranks * many);
    const Ref<Window> window = own.make(memory);
    std::vector<std::vector<int>> values, before;
    for (int i = 1; i <= 6; ++i) {
      values.emplace_back(many, i);
      before.emplace_back(many, -1);
    }
    ASSERT_TRUE(window->lock(LockType::shared, 0, 0));
    const std::int64_t place = own.rank() * static_cast<std::int64_t>(many);
    for (std::size_t i = 0; i < 6; ++i) {
      const std::int64_t count = i % 2 == 0 ? many : 1;
      const TargetData target{0, place, count, &type};
      const Operator& replace = own.operators[PredefinedOperator::replace];
      if (i < 3)
        ASSERT_TRUE(window->accumulate({values[i].data(), count, &type}, target, replace));
      else
        ASSERT_TRUE(window->get_accumulate({values[i].data(), count, &type}, {before[i].data(), count, &type},
                                           target, replace));
    }
    ASSERT_TRUE(window->unlock(0));
    EXPECT_EQ(before[3][0], 3);
    EXPECT_EQ(before[4][0], 4);
    EXPECT_EQ(before[4][many - 1], 3);
    EXPECT_EQ(before[5][0], 5);
    own.barrier();
    if (own.rank() == 0) {
      for (std::size_t r = 0; r < ranks; ++r) {
        EXPECT_EQ(memory[r * many], 6);
        EXPECT_EQ(memory[r * many + 1], 5);
      }
    }
    ASSERT_TRUE(window->free());
  });
}

// Pairs with a gap, complex numbers, a derived target: all the ways that an accumulate calculates.
TEST_P(Windows, AccumulatesOfPairsAndDerivedTypes) {
  struct DoubleInt {
    double value;
    int index;
  };
  run([](WindowRank& own) {
    const Datatype& pair = own.type(PredefinedType::double_int);
    auto spaced = make_vector(4, 1, 2, pair, CountForm::plain);
    spaced.value()->commit();
    std::vector<DoubleInt> memory(8, {-1.0, -1}), data(4), before(4);
    for (int i = 0; i < 4; ++i)
      data[static_cast<std::size_t>(i)] = {double((own.rank() + i) % own.size()), own.rank()};
    const Ref<Window> window = own.make(memory);
    ASSERT_TRUE(window->fence(0));
    ASSERT_TRUE(window->accumulate({data.data(), 4, &pair}, {0, 0, 1, spaced.value().get()},
                                   own.operators[PredefinedOperator::maxloc]));
    ASSERT_TRUE(window->fence(0));
    if (own.rank() == 0) {
      for (int i = 0; i < 4; ++i) {
        const auto& there = memory[static_cast<std::size_t>(2 * i)];
        EXPECT_EQ(there.value, own.size() - 1);
        EXPECT_EQ((there.index + i) % own.size(), own.size() - 1);
        EXPECT_EQ(memory[static_cast<std::size_t>(2 * i + 1)].index, -1);
      }
    }
    ASSERT_TRUE(window->get_accumulate({}, {before.data(), 4, &pair}, {0, 0, 1, spaced.value().get()},
                                       own.operators[PredefinedOperator::no_op]));
    ASSERT_TRUE(window->fence(0));
    for (const DoubleInt& got : before) EXPECT_EQ(got.value, own.size() - 1);
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Windows, RequestsTellTheEnd) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(20000, own.rank());
    const Ref<Window> window = own.make(memory);
    ASSERT_TRUE(window->lock_all(window_mode::no_check));
    own.barrier();
    const int to = (own.rank() + 1) % own.size();
    for (const std::int64_t count : {1, 1000, 9000}) {
      std::vector<int> data(static_cast<std::size_t>(count), 7), got(data.size()), old(data.size());
      Request* request = nullptr;
      ASSERT_TRUE(window->get({got.data(), count, &type}, {to, 0, count, &type}, &request));
      own.wait(request);
      EXPECT_EQ(got, std::vector<int>(data.size(), to));
      ASSERT_TRUE(window->put({data.data(), count, &type}, {to, 10000, count, &type}, &request));
      own.wait(request);
      std::fill(data.begin(), data.end(), 1);
      ASSERT_TRUE(window->flush(to));
      ASSERT_TRUE(window->accumulate({data.data(), count, &type}, {to, 10000, count, &type},
                                     own.operators[PredefinedOperator::sum], &request));
      own.wait(request);
      ASSERT_TRUE(window->get_accumulate({data.data(), count, &type}, {old.data(), count, &type},
                                         {to, 10000, count, &type}, own.operators[PredefinedOperator::sum],
                                         &request));
      own.wait(request);
      EXPECT_EQ(old, std::vector<int>(data.size(), 8));
      // A request that the program gives up goes on.
      ASSERT_TRUE(window->get({got.data(), count, &type}, {to, 10000, count, &type}, &request));
      if (!request->shared) request->destroy();
      ASSERT_TRUE(window->flush_all());
      EXPECT_EQ(got, std::vector<int>(data.size(), 9));
      own.barrier();
    }
    ASSERT_TRUE(window->unlock_all());
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Windows, OneElementMayBeAnywhereInANegativeLayout) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    auto backwards = make_vector(4, 1, -2, type, CountForm::plain);
    backwards.value()->commit();
    std::vector<int> memory(16, -1), data = {1, 2, 3, 4};
    const Ref<Window> window = own.make(memory);
    ASSERT_TRUE(window->fence(0));
    const int to = (own.rank() + 1) % own.size();
    ASSERT_TRUE(window->put({data.data(), 4, &type}, {to, 6, 1, backwards.value().get()}));
    const auto outside = window->put({data.data(), 4, &type}, {to, 5, 1, backwards.value().get()});
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, static_cast<int>(ErrorClass::rma_range));
    ASSERT_TRUE(window->fence(0));
    EXPECT_EQ(memory, (std::vector<int>{4, -1, 3, -1, 2, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
    ASSERT_TRUE(window->free());
  });
}

}  // namespace
}  // namespace hawser::testing
