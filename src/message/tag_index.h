// TagIndex: finds the oldest element of a tag in a long queue (message/tag_queue.h) without a search. A hash
// table leads from each tag to its oldest element; the elements of one tag form a ring, in the order in which
// they came, through links that they lend. Memory that runs out is no error here: the queue then goes on
// without an index. Tags are spread by the address of the index as well, so that no choice of tags makes the
// table slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/intrusive_list.h"

namespace hawser {

class TagIndex {
 public:
  // An empty one; null if there is no memory.
  static std::unique_ptr<TagIndex> make();

  // Null if there is none with this tag.
  ListLink* oldest(std::int32_t tag) const { return slots_[slot_of(tag)].oldest; }
  // As the youngest of its tag. False: there is no memory, and nothing was done.
  [[nodiscard]] bool insert(std::int32_t tag, ListLink& link);
  void remove(std::int32_t tag, ListLink& link);

  std::size_t size() const { return size_; }
  std::size_t tags() const { return tags_; }

 private:
  // Open addressing, linear probing, at most half full.
  struct Slot {
    ListLink* oldest = nullptr;  // null: the slot is free
    std::int32_t tag = 0;
  };
  static constexpr std::size_t first_slots = 64;

  TagIndex() = default;
  static std::unique_ptr<Slot[]> make_slots(std::size_t count);

  std::size_t place_of(std::int32_t tag) const {
    std::uint64_t mixed = (static_cast<std::uint32_t>(tag) ^ reinterpret_cast<std::uintptr_t>(this)) *
                          std::uint64_t{0xff51afd7ed558ccd};
    mixed = (mixed ^ mixed >> 33) * 0xc4ceb9fe1a85ec53;
    return static_cast<std::size_t>(mixed >> 32) & mask_;
  }
  // Where the tag stands, or the free slot where it would.
  std::size_t slot_of(std::int32_t tag) const {
    std::size_t i = place_of(tag);
    while (slots_[i].oldest != nullptr && slots_[i].tag != tag) i = (i + 1) & mask_;
    return i;
  }
  bool grow();
  void free_slot(std::size_t hole);

  std::unique_ptr<Slot[]> slots_;  // a power of two
  std::size_t mask_ = first_slots - 1;
  std::size_t tags_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hawser
