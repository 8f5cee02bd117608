#include "message/tag_index.h"

#include <new>
#include <utility>

#include "base/assert.h"
#include "base/open_addressing.h"

namespace hawser {

std::unique_ptr<TagIndex::Slot[]> TagIndex::make_slots(std::size_t count) {
  return std::unique_ptr<Slot[]>(new (std::nothrow) Slot[count]);
}

std::unique_ptr<TagIndex> TagIndex::make() {
  std::unique_ptr<TagIndex> index(new (std::nothrow) TagIndex);
  if (index != nullptr) index->slots_ = make_slots(first_slots);
  return index != nullptr && index->slots_ != nullptr ? std::move(index) : nullptr;
}

bool TagIndex::insert(std::int32_t tag, ListLink& link) {
  HAWSER_ASSERT(!link.linked());
  std::size_t i = slot_of(tag);
  ListLink* const oldest = slots_[i].oldest;
  if (oldest != nullptr) {
    link = {oldest, oldest->previous};
    link.previous->next = &link;
    oldest->previous = &link;
  } else {
    if (2 * (tags_ + 1) > mask_ + 1) {
      if (!grow()) return false;
      i = slot_of(tag);
    }
    link = {&link, &link};
    slots_[i] = {&link, tag};
    ++tags_;
  }
  ++size_;
  return true;
}

void TagIndex::remove(std::int32_t tag, ListLink& link) {
  const std::size_t i = slot_of(tag);
  HAWSER_ASSERT(link.linked() && slots_[i].oldest != nullptr);
  if (link.next == &link) {
    free_slot(i);
    --tags_;
  } else {
    if (slots_[i].oldest == &link) slots_[i].oldest = link.next;
    link.previous->next = link.next;
    link.next->previous = link.previous;
  }
  link = {};
  --size_;
}

bool TagIndex::grow() {
  const std::size_t count = mask_ + 1;
  std::unique_ptr<Slot[]> former = make_slots(2 * count);
  if (former == nullptr) return false;
  former.swap(slots_);
  mask_ = 2 * count - 1;
  for (std::size_t i = 0; i < count; ++i)
    if (former[i].oldest != nullptr) slots_[slot_of(former[i].tag)] = former[i];
  return true;
}

void TagIndex::free_slot(std::size_t hole) {
  const std::size_t last = close_gap(
      hole, mask_, [this](std::size_t i) { return slots_[i].oldest != nullptr; },
      [this](std::size_t i) { return place_of(slots_[i].tag); },
      [this](std::size_t from, std::size_t to) { slots_[to] = slots_[from]; });
  slots_[last] = {};
}

}  // namespace hawser
