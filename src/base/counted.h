// Counted and Ref<T>: shared ownership with the count inside the object, not atomic: all objects of one MPI
// process are used under its lock. As boost::intrusive_ptr, without its 35,000 lines (doc/architecture.md).
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace hawser {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;

  void retain() const { ++references_; }
  void release() const {
    HAWSER_ASSERT(references_ > 0);
    if (--references_ == 0) delete this;
  }
  std::uint32_t references() const { return references_; }

 private:
  mutable std::uint32_t references_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_counted(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace hawser
