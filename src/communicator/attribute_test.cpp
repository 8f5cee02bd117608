#include "communicator/attribute.h"

#include <gtest/gtest.h>

#include <string>

namespace hawser {
namespace {

class Object final : public Counted {};

// Writes down the calls; fails where told.
class Recorder final : public AttributeCallbacks {
 public:
  int copy(const Keyval& keyval, Counted&, void* value, void*& copied, bool& keep) override {
    log += "c" + std::to_string(keyval.number - predefined_keyval::last) + " ";
    if (keyval.number == failing) return 77;
    copied = value;
    keep = keyval.copy_function != nullptr;
    return 0;
  }
  int erase(const Keyval& keyval, Counted&, void*) override {
    log += "d" + std::to_string(keyval.number - predefined_keyval::last) + " ";
    return keyval.number == failing ? 78 : 0;
  }
  std::string log;
  int failing = 0;
};

class AttributeTest : public ::testing::Test {
 protected:
  void* value(std::uintptr_t v) { return reinterpret_cast<void*>(v); }
  Keyval& keyval() {
    return table.create(AttributeKind::communicator, Keyval::duplicate_function(), nullptr, nullptr);
  }
  KeyvalTable table;
  Recorder calls;
  Object object;
  AttributeSet set;
};

TEST_F(AttributeTest, CopiesInOrderAndDeletesInReverse) {
  Keyval* keyvals[] = {&keyval(), &keyval(), &keyval()};
  for (Keyval* k : keyvals) ASSERT_TRUE(set.set(*k, value(1), object, calls));
  AttributeSet copy;
  ASSERT_TRUE(copy.copy_from(set, object, calls));
  ASSERT_TRUE(set.remove_all(object, calls));
  EXPECT_EQ(calls.log, "c1 c2 c3 d3 d2 d1 ");
  bool found = false;
  EXPECT_EQ(copy.find(*keyvals[1], found), value(1));
  EXPECT_TRUE(found);
}

TEST_F(AttributeTest, SettingAgainDeletesTheOldValueFirst) {
  Keyval& k = keyval();
  ASSERT_TRUE(set.set(k, value(1), object, calls));
  ASSERT_TRUE(set.set(k, value(2), object, calls));
  EXPECT_EQ(calls.log, "d1 ");
  calls.failing = k.number;
  const Result<> refused = set.set(k, value(3), object, calls);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 78);
  bool found = false;
  EXPECT_EQ(set.find(k, found), value(2));
}

TEST_F(AttributeTest, AFailingDeleteKeepsTheAttribute) {
  Keyval& k = keyval();
  ASSERT_TRUE(set.set(k, nullptr, object, calls));
  calls.failing = k.number;
  EXPECT_FALSE(set.remove_all(object, calls));
  bool found = false;
  EXPECT_EQ(set.find(k, found), nullptr);
  EXPECT_TRUE(found);
}

TEST_F(AttributeTest, AFailingCopyStops) {
  Keyval* keyvals[] = {&keyval(), &keyval(), &keyval()};
  for (Keyval* k : keyvals) ASSERT_TRUE(set.set(*k, value(1), object, calls));
  calls.failing = keyvals[1]->number;
  AttributeSet copy;
  const Result<> failed = copy.copy_from(set, object, calls);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 77);
  EXPECT_EQ(calls.log, "c1 c2 ");
}

TEST_F(AttributeTest, AFreedKeyvalLivesOnInItsAttributes) {
  Keyval& k = keyval();
  const int number = k.number;
  ASSERT_TRUE(set.set(k, value(5), object, calls));
  ASSERT_TRUE(table.free(AttributeKind::communicator, number));
  EXPECT_EQ(table.find(AttributeKind::communicator, number), &k);
  EXPECT_TRUE(table.free(AttributeKind::communicator, number));
  AttributeSet copy;
  ASSERT_TRUE(copy.copy_from(set, object, calls));
  ASSERT_TRUE(copy.remove_all(object, calls));
  EXPECT_EQ(table.find(AttributeKind::communicator, number), &k);
  ASSERT_TRUE(set.remove_all(object, calls));
  EXPECT_EQ(calls.log, "c1 d1 d1 ");
  EXPECT_EQ(table.find(AttributeKind::communicator, number), nullptr);
  EXPECT_FALSE(table.free(AttributeKind::communicator, number));
}

TEST_F(AttributeTest, KeyvalsOfOneKindAreNoneOfAnother) {
  EXPECT_EQ(table.find(AttributeKind::datatype, keyval().number), nullptr);
}

}  // namespace
}  // namespace hawser
