// Epochs, locks, dynamic windows, and what is refused.
#include <algorithm>

#include "mpi/error_class.h"
#include "window/window_test_support.h"

namespace hawser::testing {
namespace {

class Epochs : public ::testing::TestWithParam<Setting> {
 protected:
  void run(const std::function<void(WindowRank&)>& body) { cluster_.run(body); }

 private:
  WindowCluster cluster_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Ranks, Epochs, ::testing::ValuesIn(settings),
                         [](const auto& parameter) { return name_of(parameter.param); });

void expect_class(const Result<>& result, ErrorClass error_class) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, static_cast<int>(error_class)) << result.error().text;
}

// A ring in which everybody writes to the next, some rounds, without any barrier.
TEST_P(Epochs, PostStartCompleteWait) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(6000, -1), data(6000);
    const Ref<Window> window = own.make(memory);
    const int to = (own.rank() + 1) % own.size(), from = (own.rank() + own.size() - 1) % own.size();
    const Group next(to, 1, 1), previous(from, 1, 1);
    for (int round = 0; round < 10; ++round) {
      const std::int64_t count = round % 3 == 2 ? 6000 : 3;
      std::fill(data.begin(), data.end(), 100 * own.rank() + round);
      ASSERT_TRUE(window->post(previous, 0));
      ASSERT_TRUE(window->start(next, 0));
      ASSERT_TRUE(window->put({data.data(), count, &type}, {to, 0, count, &type}));
      ASSERT_TRUE(window->complete());
      if (round % 2 == 0) {
        ASSERT_TRUE(window->wait());
      } else {
        bool done = false;
        while (!done) {
          ASSERT_TRUE(window->test(done));
          own.pass();
        }
      }
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(memory[static_cast<std::size_t>(i)], 100 * from + round);
    }
    expect_class(window->wait(), ErrorClass::rma_sync);
    expect_class(window->complete(), ErrorClass::rma_sync);
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Epochs, OneTargetOfMany) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(8, -1);
    const Ref<Window> window = own.make(memory);
    const Group all(0, 1, own.size()), target(0, 1, 1);
    if (own.rank() == 0) {
      ASSERT_TRUE(window->post(all, 0));
    }
    ASSERT_TRUE(window->start(target, 0));
    const int value = own.rank();
    ASSERT_TRUE(window->put({&value, 1, &type}, {0, value, 1, &type}));
    if (own.size() > 1) expect_class(window->put({&value, 1, &type}, {1, 0, 1, &type}), ErrorClass::rma_sync);
    ASSERT_TRUE(window->complete());
    if (own.rank() == 0) {
      ASSERT_TRUE(window->wait());
      for (int r = 0; r < own.size(); ++r) EXPECT_EQ(memory[static_cast<std::size_t>(r)], r);
    }
    ASSERT_TRUE(window->free());
  });
}

// Read, wait, write: without the lock increments would be lost.
TEST_P(Epochs, ExclusiveLocksExclude) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(2);
    const Ref<Window> window = own.make(memory);
    constexpr int rounds = 10;
    for (int i = 0; i < rounds; ++i) {
      const int target = i % own.size();
      int value = -1;
      ASSERT_TRUE(window->lock(LockType::exclusive, target, 0));
      ASSERT_TRUE(window->get({&value, 1, &type}, {target, 0, 1, &type}));
      ASSERT_TRUE(window->flush(target));
      for (int pause = own.rank(); pause > 0; --pause) own.pass();
      ++value;
      ASSERT_TRUE(window->put({&value, 1, &type}, {target, 0, 1, &type}));
      ASSERT_TRUE(window->unlock(target));
    }
    own.barrier();
    int total = 0, value = 0;
    ASSERT_TRUE(window->lock_all(0));
    for (int r = 0; r < own.size(); ++r) {
      ASSERT_TRUE(window->get({&value, 1, &type}, {r, 0, 1, &type}));
      ASSERT_TRUE(window->flush_local(r));
      total += value;
    }
    ASSERT_TRUE(window->unlock_all());
    EXPECT_EQ(total, rounds * own.size());
    ASSERT_TRUE(window->free());
  });
}

// The end of a lock that nobody need wait for may find no room; the request for the next one goes behind it.
TEST_P(Epochs, LocksFollowEachOther) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(1);
    const Ref<Window> window = own.make(memory);
    const int target = (own.rank() + 1) % own.size();
    for (int i = 0; i < 100; ++i) {
      int value = -1;
      ASSERT_TRUE(window->lock(i % 3 == 0 ? LockType::exclusive : LockType::shared, target, 0));
      if (i % 2 != 0) {
        ASSERT_TRUE(window->get({&value, 1, &type}, {target, 0, 1, &type}));
        ASSERT_TRUE(window->flush(target));
      }
      ASSERT_TRUE(window->unlock(target));
      EXPECT_EQ(value, i % 2 == 0 ? -1 : 0);
    }
    own.barrier();
    ASSERT_TRUE(window->free());
  });
}

// Readers are in together; a writer waits for them, and readers that come behind it for it.
TEST(Locks, AreSharedAndFair) {
  WindowCluster cluster({4});
  int readers = 0, most_readers = 0, writers = 0;
  cluster.run([&](WindowRank& own) {
    std::vector<int> memory(1);
    const Ref<Window> window = own.make(memory);
    const auto pause = [&](int passes) {
      while (passes-- > 0) own.pass();
    };
    for (int i = 0; i < 30; ++i) {
      const bool writes = (i + own.rank()) % 4 == 0;
      const Datatype& type = own.type(PredefinedType::plain_int);
      int value = 0;
      ASSERT_TRUE(window->lock(writes ? LockType::exclusive : LockType::shared, 1, 0));
      ASSERT_TRUE(window->get({&value, 1, &type}, {1, 0, 1, &type}));
      ASSERT_TRUE(window->flush(1));  // now it is held
      ++(writes ? writers : readers);
      most_readers = std::max(most_readers, readers);
      EXPECT_TRUE(writes ? writers == 1 && readers == 0 : writers == 0);
      pause(3);
      --(writes ? writers : readers);
      ASSERT_TRUE(window->unlock(1));
    }
    ASSERT_TRUE(window->free());
  });
  EXPECT_GE(most_readers, 2);
}

// Who gets the lock next may write what the transport still reads for this one.
TEST(NativeWindows, AreUnlockedWhenGetsHaveLanded) {
  WindowCluster cluster({.ranks = 2, .native = true});
  cluster.run([&](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(1, 1);
    const Ref<Window> window = own.make(memory);
    int warm = 0, value = 0;
    if (own.rank() == 0) {
      ASSERT_TRUE(window->lock(LockType::exclusive, 1, 0));
      ASSERT_TRUE(window->get({&warm, 1, &type}, {1, 0, 1, &type}));  // asks for the token
      ASSERT_TRUE(window->flush(1));                                  // now the lock is held
    }
    own.barrier();
    cluster.cluster().rank(0).channel().delay_native(50);
    if (own.rank() == 0) {
      ASSERT_TRUE(window->get({&value, 1, &type}, {1, 0, 1, &type}));
      ASSERT_TRUE(window->unlock(1));
      EXPECT_EQ(value, 1);
    } else {
      ASSERT_TRUE(window->lock(LockType::exclusive, 1, 0));
      memory[0] = 2;
      ASSERT_TRUE(window->unlock(1));
    }
    own.barrier();
    ASSERT_TRUE(window->free());
  });
}

// The first put asks for the token, and those after it need no packet.
TEST(NativeWindows, AreRegisteredWhenFirstUsed) {
  WindowCluster cluster({.ranks = 2, .native = true});
  cluster.run([&](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(4);
    const Ref<Window> window = own.make(memory);
    ASSERT_TRUE(window->lock_all(0));
    EXPECT_EQ(own.base.channel().registered_windows(), 0);
    own.barrier();
    if (own.rank() == 0) {
      for (int i = 1; i <= 4; ++i) {
        ASSERT_TRUE(window->put({&i, 1, &type}, {1, i - 1, 1, &type}));
        ASSERT_TRUE(window->flush(1));
        EXPECT_EQ(cluster.cluster().rank(1).channel().registered_windows(), 1);
      }
    }
    ASSERT_TRUE(window->unlock_all());
    own.barrier();
    if (own.rank() == 1) {
      EXPECT_EQ(memory, (std::vector<int>{1, 2, 3, 4}));
    }
    ASSERT_TRUE(window->free());
    EXPECT_EQ(own.base.channel().registered_windows(), 0);
  });
}

TEST_P(Epochs, SeveralLocksAtATime) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(8);
    const Ref<Window> window = own.make(memory);
    for (int r = 0; r < own.size(); ++r) ASSERT_TRUE(window->lock(LockType::shared, r, 0));
    expect_class(window->lock(LockType::shared, 0, 0), ErrorClass::rma_sync);
    expect_class(window->lock_all(0), ErrorClass::rma_sync);
    expect_class(window->fence(0), ErrorClass::rma_sync);
    const int one = 1;
    for (int r = 0; r < own.size(); ++r)
      ASSERT_TRUE(window->put({&one, 1, &type}, {r, own.rank(), 1, &type}));
    ASSERT_TRUE(window->flush_all());
    for (int r = own.size() - 1; r >= 0; --r) ASSERT_TRUE(window->unlock(r));
    expect_class(window->unlock(0), ErrorClass::rma_sync);
    own.barrier();
    EXPECT_EQ(std::count(memory.begin(), memory.end(), 1), own.size());
    ASSERT_TRUE(window->free());
  });
}

TEST_P(Epochs, OperationsOutsideOfEpochsAreRefused) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    std::vector<int> memory(4, 5);
    const Ref<Window> window = own.make(memory);
    const int value = 1;
    expect_class(window->put({&value, 1, &type}, {0, 0, 1, &type}), ErrorClass::rma_sync);
    expect_class(window->flush(0), ErrorClass::rma_sync);
    expect_class(window->unlock(0), ErrorClass::rma_sync);
    expect_class(window->unlock_all(), ErrorClass::rma_sync);
    ASSERT_TRUE(window->fence(0));
    for (const std::int64_t displacement : {std::int64_t{4}, std::int64_t{-1}, INT64_MAX, INT64_MIN})
      expect_class(window->put({&value, 1, &type}, {0, displacement, 1, &type}), ErrorClass::rma_range);
    ASSERT_TRUE(window->put({&value, 0, &type}, {0, 99, 0, &type}));
    ASSERT_TRUE(window->fence(window_mode::no_succeed));
    expect_class(window->put({&value, 1, &type}, {0, 0, 1, &type}), ErrorClass::rma_sync);
    EXPECT_EQ(memory, std::vector<int>(4, 5));
    ASSERT_TRUE(window->lock_all(0));
    expect_class(window->free(), ErrorClass::rma_sync);
    ASSERT_TRUE(window->unlock_all());
    ASSERT_TRUE(window->free());
  });
}

// Addresses are told in another window; what is not attached is refused by the target alone.
TEST_P(Epochs, DynamicWindows) {
  run([](WindowRank& own) {
    const Datatype& type = own.type(PredefinedType::plain_int);
    const Datatype& address = own.type(PredefinedType::long_int);
    std::vector<int> first(100, 1), second(9000, 2);
    std::vector<long> addresses = {reinterpret_cast<long>(first.data()),
                                   reinterpret_cast<long>(second.data())};
    const Ref<Window> told = own.make(addresses);
    const Ref<Window> window = own.make_dynamic();
    ASSERT_TRUE(window->attach(first.data(), 400));
    expect_class(window->attach(first.data() + 50, 400), ErrorClass::rma_attach);
    ASSERT_TRUE(window->attach(second.data(), 36000));
    expect_class(window->detach(first.data() + 1), ErrorClass::rma_attach);
    const int to = (own.rank() + 1) % own.size();
    std::vector<long> theirs(2);
    ASSERT_TRUE(told->fence(0));
    ASSERT_TRUE(told->get({theirs.data(), 2, &address}, {to, 0, 2, &address}));
    ASSERT_TRUE(told->fence(0));
    ASSERT_TRUE(window->lock_all(0));
    const std::vector<int> data(9000, 7);
    ASSERT_TRUE(window->put({data.data(), 100, &type}, {to, theirs[0], 100, &type}));
    ASSERT_TRUE(window->put({data.data(), 9000, &type}, {to, theirs[1], 9000, &type}));
    ASSERT_TRUE(window->flush(to));
    own.barrier();
    EXPECT_EQ(first, std::vector<int>(100, 7));
    EXPECT_EQ(second, data);
    own.barrier();
    // Refused at the target: by the flush, of small and large ones; at home at once.
    for (const std::int64_t count : {std::int64_t{2}, std::int64_t{8000}}) {
      const auto begun = window->put({data.data(), count, &type}, {to, theirs[1] + 36000 - 4, count, &type});
      if (to == own.rank())
        expect_class(begun, ErrorClass::rma_range);
      else
        expect_class(window->flush(to), ErrorClass::rma_range);
      ASSERT_TRUE(window->flush(to));
    }
    std::vector<int> got(4, -1);
    if (to != own.rank()) {
      ASSERT_TRUE(window->get({got.data(), 4, &type}, {to, 16, 4, &type}));
      expect_class(window->flush(to), ErrorClass::rma_range);
      Request* request = nullptr;
      ASSERT_TRUE(window->get({got.data(), 4, &type}, {to, 16, 4, &type}, &request));
      own.base.wait(request);
      expect_class(request->finish(), ErrorClass::rma_range);
      request->destroy();
    }
    EXPECT_EQ(got, std::vector<int>(4, -1));
    ASSERT_TRUE(window->unlock_all());
    own.barrier();
    EXPECT_EQ(first, std::vector<int>(100, 7));
    ASSERT_TRUE(window->detach(first.data()));
    expect_class(window->detach(first.data()), ErrorClass::rma_attach);
    ASSERT_TRUE(window->free());
    ASSERT_TRUE(told->free());
  });
}

TEST(AttachedMemory, KnowsPiecesThatTouch) {
  AttachedMemory memory;
  std::byte bytes[100] = {};
  const auto at = [&](int place) { return reinterpret_cast<std::uint64_t>(bytes + place); };
  ASSERT_TRUE(memory.attach(bytes + 10, 10));
  ASSERT_TRUE(memory.attach(bytes + 20, 10));
  ASSERT_TRUE(memory.attach(bytes + 40, 0));
  EXPECT_TRUE(memory.contains(at(10), 20));
  EXPECT_FALSE(memory.contains(at(9), 2));
  EXPECT_FALSE(memory.contains(at(29), 2));
  EXPECT_FALSE(memory.contains(at(30), 1));
  EXPECT_FALSE(memory.contains(at(40), 1));
  EXPECT_FALSE(memory.contains(at(10), UINT64_MAX));
  EXPECT_TRUE(memory.contains(at(99), 0));
  EXPECT_FALSE(memory.attach(bytes + 5, 6));
  EXPECT_FALSE(memory.attach(bytes + 29, 1));
  EXPECT_FALSE(memory.attach(bytes + 40, 0));
  ASSERT_TRUE(memory.detach(bytes + 10));
  EXPECT_FALSE(memory.contains(at(10), 20));
  EXPECT_TRUE(memory.contains(at(20), 10));
}

}  // namespace
}  // namespace hawser::testing
