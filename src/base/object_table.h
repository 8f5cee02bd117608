// ObjectTable: small stable numbers for objects. A handle of either ABI is such a number in disguise,
// so looking one up is a bounds check and two loads, and garbage is told from an object.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace hawser {

template <class T>
class ObjectTable {
 public:
  std::uint32_t add(T* object) {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      objects_[index] = object;
      return index;
    }
    objects_.push_back(object);
    count_ = objects_.size();
    return static_cast<std::uint32_t>(objects_.size() - 1);
  }
  // Numbers in sequence for the objects of an array; answers the first.
  template <class Object>
  std::uint32_t add_array(Object* first, std::size_t count) {
    const std::size_t index = objects_.size();
    objects_.resize(index + count);
    count_ = objects_.size();
    for (std::size_t i = 0; i < count; ++i) objects_[index + i] = first + i;
    return static_cast<std::uint32_t>(index);
  }
  void remove(std::uint32_t index) {
    HAWSER_ASSERT(index < objects_.size() && objects_[index] != nullptr);
    objects_[index] = nullptr;
    free_.push_back(index);
  }
  // Keeps the numbers below `count` for `place`; call before the first add.
  void reserve_numbers(std::uint32_t count) {
    HAWSER_ASSERT(objects_.empty());
    objects_.resize(count);
    count_ = count;
  }
  void place(std::uint32_t index, T* object) {
    HAWSER_ASSERT(index < objects_.size());
    objects_[index] = object;
  }
  // Null when no object has this number.
  T* find(std::uint64_t index) const { return index < count_ ? objects_[index] : nullptr; }
  // The same for a number below that of reserve_numbers.
  T* find_reserved(std::uint64_t index) const { return objects_[index]; }
  std::size_t live() const { return objects_.size() - free_.size(); }
  std::size_t size() const { return objects_.size(); }

 private:
  std::vector<T*> objects_;
  std::uint64_t count_ = 0;  // objects_.size(), which a vector must compute
  std::vector<std::uint32_t> free_;
};

}  // namespace hawser
