// A doubly linked list through a link inside the elements, each of which leaves the list before it dies. The
// same code as boost::intrusive::list's without its 14,000 lines in 280 sources (doc/architecture.md).
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace hawser {

struct ListLink {
  ListLink* next = nullptr;
  ListLink* previous = nullptr;
  bool linked() const { return next != nullptr; }
};

template <class T, ListLink T::*Link>
class IntrusiveList {
 public:
  IntrusiveList() { head_.next = head_.previous = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return head_.next == &head_; }
  T* front() const { return empty() ? nullptr : element(head_.next); }
  // The element behind, or null at the end.
  T* next(const T* item) const {
    ListLink* link = (item->*Link).next;
    return link == &head_ ? nullptr : element(link);
  }
  T* back() const { return empty() ? nullptr : element(head_.previous); }
  // The element before, or null at the front.
  T* previous(const T* item) const {
    ListLink* link = (item->*Link).previous;
    return link == &head_ ? nullptr : element(link);
  }
  void push_back(T* item) { insert_before(&head_, item); }
  void push_front(T* item) { insert_before(head_.next, item); }
  // In front of `position`, which is in this list; null: at the end.
  void insert(T* position, T* item) {
    insert_before(position == nullptr ? &head_ : &(position->*Link), item);
  }
  // Behind `position`, which is in this list; null: at the front.
  void insert_behind(T* position, T* item) {
    insert_before(position == nullptr ? head_.next : (position->*Link).next, item);
  }
  T* pop_front() {
    T* item = front();
    if (item != nullptr) remove(item);
    return item;
  }
  void remove(T* item) {
    ListLink& link = item->*Link;
    HAWSER_ASSERT(link.linked());
    link.previous->next = link.next;
    link.next->previous = link.previous;
    link = {};
  }
  // Whose link this is.
  static T* element(ListLink* link) {
    // The offset of the link, taken at an address that is aligned and not null.
    constexpr std::uintptr_t somewhere = 4096;
    const auto* item = reinterpret_cast<const T*>(somewhere);
    const auto offset = reinterpret_cast<std::uintptr_t>(&(item->*Link)) - somewhere;
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(link) - offset);
  }

 private:
  static void insert_before(ListLink* position, T* item) {
    ListLink& link = item->*Link;
    HAWSER_ASSERT(!link.linked());
    link.next = position;
    link.previous = position->previous;
    position->previous->next = &link;
    position->previous = &link;
  }

  ListLink head_;
};

}  // namespace hawser
