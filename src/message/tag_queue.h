// TagQueue: elements in the order in which they came, of which the first with a certain tag is wanted. Short
// queues are searched one by one. When a search was long, the queue gets an index of its tags (TagIndex), and
// gives it up when few elements are left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/assert.h"
#include "base/intrusive_list.h"
#include "message/tag_index.h"

namespace hawser {

// tag_of(const T&) must be found; the tag may not change while the element is in the queue.
template <class T, ListLink T::*Link, ListLink T::*TagLink>
class TagQueue {
 public:
  // A search that passes so many elements makes an index, and with so few left it goes. A queue has to grow
  // by the difference before it gets another, so the cost of making one is small for each element.
  static constexpr int long_search = 16;
  static constexpr std::size_t few = 4;

  bool empty() const { return list_.empty(); }
  T* front() const { return list_.front(); }
  T* next(const T* item) const { return list_.next(item); }
  T* previous(const T* item) const { return list_.previous(item); }
  bool indexed() const { return index_ != nullptr; }

  void push_back(T* item) {
    if (indexed()) [[unlikely]]
      enter(*item);
    list_.push_back(item);
  }
  void remove(T* item) {
    if (indexed()) [[unlikely]]
      leave(*item);
    list_.remove(item);
  }

  // The first that `fits`, or null. Of a queue that is not indexed; afterwards it may be, and then null means
  // nothing.
  template <class Fits>
  T* search(Fits&& fits) {
    int passed = 0;
    for (T* item = list_.front(); item != nullptr; item = list_.next(item)) {
      if (fits(*item)) return item;
      if (++passed == long_search && make_index()) return nullptr;
    }
    return nullptr;
  }
  // The first with this tag, or null. Of a queue that is indexed.
  T* look_up(std::int32_t tag) const {
    ListLink* const link = index_->oldest(tag);
    return link == nullptr ? nullptr : ByTag::element(link);
  }
  // Of any.
  T* first_of(std::int32_t tag) {
    if (!indexed()) {
      T* const item = search([tag](const T& each) { return tag_of(each) == tag; });
      if (!indexed()) return item;
    }
    return look_up(tag);
  }
  // The next with the tag of this one, or null.
  T* next_of_tag(const T* item) const {
    if (indexed()) {
      ListLink* const link = (item->*TagLink).next;
      return link == index_->oldest(tag_of(*item)) ? nullptr : ByTag::element(link);
    }
    T* other = list_.next(item);
    while (other != nullptr && tag_of(*other) != tag_of(*item)) other = list_.next(other);
    return other;
  }

  void check_invariants() const {
    std::map<std::int32_t, ListLink*> expected;
    std::size_t size = 0;
    for (T* item = list_.front(); item != nullptr; item = list_.next(item), ++size) {
      ListLink& link = item->*TagLink;
      HAWSER_ASSERT(link.linked() == indexed());
      if (!indexed()) continue;
      ListLink*& next = expected.try_emplace(tag_of(*item), index_->oldest(tag_of(*item))).first->second;
      HAWSER_ASSERT(next == &link);
      next = link.next;
    }
    if (!indexed()) return;
    for (const auto& [tag, next] : expected) HAWSER_ASSERT(next == index_->oldest(tag));
    HAWSER_ASSERT(size == index_->size() && size > few);
    HAWSER_ASSERT(expected.size() == index_->tags());
  }

 private:
  using ByTag = IntrusiveList<T, TagLink>;

  // False: there is no memory.
  [[gnu::noinline]] bool make_index() {
    index_ = TagIndex::make();
    for (T* item = list_.front(); item != nullptr && indexed(); item = list_.next(item)) enter(*item);
    return indexed();
  }
  [[gnu::noinline]] void enter(T& item) {
    if (!index_->insert(tag_of(item), item.*TagLink)) give_up();
  }
  [[gnu::noinline]] void leave(T& item) {
    index_->remove(tag_of(item), item.*TagLink);
    if (index_->size() <= few) give_up();
  }
  void give_up() {
    for (T* item = list_.front(); item != nullptr; item = list_.next(item)) item->*TagLink = {};
    index_ = nullptr;
  }

  IntrusiveList<T, Link> list_;
  std::unique_ptr<TagIndex> index_;  // null while the queue is short
};

}  // namespace hawser
