#include "message/tag_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <new>
#include <vector>

#include "base/random.h"

namespace {
bool memory_ends = false;  // for what can do without
}

// What std::make_unique would call throws, and is left alone.
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  if (memory_ends) return nullptr;
  try {
    return ::operator new[](size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

namespace hawser {
namespace {

struct Element {
  ListLink link;
  ListLink tag_link;
  std::int32_t tag = 0;
};
std::int32_t tag_of(const Element& element) { return element.tag; }
using Queue = TagQueue<Element, &Element::link, &Element::tag_link>;

class TagQueueTest : public ::testing::Test {
 protected:
  ~TagQueueTest() override { memory_ends = false; }
  Element& add(std::int32_t tag) {
    Element& element = elements_.emplace_back();
    element.tag = tag;
    queue_.push_back(&element);
    return element;
  }
  void add_many(std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) add(i);
  }

  std::deque<Element> elements_;
  Queue queue_;
};

TEST_F(TagQueueTest, OnlyALongSearchMakesAnIndex) {
  add_many(1000);
  EXPECT_EQ(queue_.first_of(Queue::long_search - 1), &elements_[Queue::long_search - 1]);
  EXPECT_FALSE(queue_.indexed());
  EXPECT_EQ(queue_.first_of(Queue::long_search), &elements_[Queue::long_search]);
  EXPECT_TRUE(queue_.indexed());
  queue_.check_invariants();
  EXPECT_EQ(queue_.first_of(999), &elements_[999]);
  EXPECT_EQ(queue_.first_of(1000), nullptr);
}

TEST_F(TagQueueTest, AShortQueueIsNeverIndexed) {
  add_many(Queue::long_search - 1);
  EXPECT_EQ(queue_.first_of(4711), nullptr);
  EXPECT_FALSE(queue_.indexed());
}

TEST_F(TagQueueTest, FewElementsGiveTheIndexUp) {
  add_many(100);
  EXPECT_EQ(queue_.first_of(99), &elements_[99]);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(queue_.indexed(), 100 - i > Queue::few);
    queue_.check_invariants();
    queue_.remove(&elements_[i]);
  }
  EXPECT_TRUE(queue_.empty());
}

TEST_F(TagQueueTest, OneTagIsInOrder) {
  add_many(50);
  Element& first = add(7);
  Element& second = add(7);
  for (const bool indexed : {false, true}) {
    EXPECT_EQ(queue_.indexed(), indexed);
    EXPECT_EQ(queue_.first_of(7), &elements_[7]);
    EXPECT_EQ(queue_.next_of_tag(&elements_[7]), &first);
    EXPECT_EQ(queue_.next_of_tag(&first), &second);
    EXPECT_EQ(queue_.next_of_tag(&second), nullptr);
    EXPECT_EQ(queue_.first_of(49), &elements_[49]);
  }
  queue_.remove(&first);
  EXPECT_EQ(queue_.next_of_tag(&elements_[7]), &second);
  queue_.remove(&elements_[7]);
  EXPECT_EQ(queue_.first_of(7), &second);
  EXPECT_EQ(queue_.next_of_tag(&second), nullptr);
}

TEST_F(TagQueueTest, WithoutMemoryAQueueIsSearched) {
  memory_ends = true;
  add_many(200);
  EXPECT_EQ(queue_.first_of(150), &elements_[150]);
  EXPECT_FALSE(queue_.indexed());
  memory_ends = false;
  EXPECT_EQ(queue_.first_of(150), &elements_[150]);
  EXPECT_TRUE(queue_.indexed());
  // It ends while the table must grow.
  memory_ends = true;
  for (std::int32_t tag = 200; tag < 5000; ++tag) add(tag);
  EXPECT_FALSE(queue_.indexed());
  queue_.check_invariants();
  EXPECT_EQ(queue_.first_of(4999), &elements_[4999]);
  EXPECT_FALSE(queue_.indexed());
  queue_.remove(&elements_[150]);
  memory_ends = false;
  EXPECT_EQ(queue_.first_of(150), nullptr);
  EXPECT_TRUE(queue_.indexed());
  queue_.check_invariants();
}

// Would take hours if tags like these fell on few places of the table.
TEST_F(TagQueueTest, NoChoiceOfTagsIsSlow) {
  constexpr std::int32_t count = 200'000;
  for (const std::int32_t stride : {1, 2, 1000, 4096, 10'000}) {
    for (std::int32_t i = 0; i < count; ++i) add(i * stride);
    for (std::int32_t i = count - 1; i >= 0; --i) {
      Element* const element = queue_.first_of(i * stride);
      ASSERT_EQ(element, &elements_[static_cast<std::size_t>(i)]);
      queue_.remove(element);
    }
    elements_.clear();
  }
}

class TagQueuePrograms : public TagQueueTest, public ::testing::WithParamInterface<std::uint64_t> {};

// Elements come and go anywhere, in turns more of the one and of the other, and sometimes memory ends.
TEST_P(TagQueuePrograms, AgreeWithAPlainList) {
  Random random(GetParam());
  const std::uint64_t tags = std::uint64_t{1} << random.below(14);
  const std::uint64_t most = 1 + random.below(2000);
  const bool short_of_memory = random.chance(0.3);
  std::vector<Element*> plain;
  bool growing = true;
  for (int step = 0; step < 8000; ++step) {
    if (short_of_memory) memory_ends = random.chance(0.5);
    if (plain.size() >= most || plain.empty()) growing = plain.empty();
    const auto tag = static_cast<std::int32_t>(random.below(tags)) - 3;
    if (random.chance(growing ? 0.7 : 0.3)) {
      plain.push_back(&add(tag));
      continue;
    }
    auto found = std::find_if(plain.begin(), plain.end(), [&](Element* each) { return each->tag == tag; });
    Element* const first = queue_.first_of(tag);
    ASSERT_EQ(first, found == plain.end() ? nullptr : *found);
    if (first != nullptr) {
      auto next = std::find_if(found + 1, plain.end(), [&](Element* each) { return each->tag == tag; });
      ASSERT_EQ(queue_.next_of_tag(first), next == plain.end() ? nullptr : *next);
    }
    if (!plain.empty() && (found == plain.end() || random.chance(0.2)))
      found = plain.begin() + static_cast<std::ptrdiff_t>(random.below(plain.size()));
    if (found == plain.end()) continue;
    queue_.remove(*found);
    plain.erase(found);
    if (step % 64 == 0) queue_.check_invariants();
  }
  queue_.check_invariants();
}

INSTANTIATE_TEST_SUITE_P(Seeds, TagQueuePrograms, ::testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace hawser
