// Arrays of handles and statuses between the program and the core. Small ones live on the stack, so that
// nothing is allocated in common calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "binding/entry.h"
#include "communicator/topology.h"

namespace hawser::binding {

// Room for n elements, which are not initialized: T is a plain value.
template <class T, std::size_t on_stack>
class Room {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  explicit Room(std::size_t n) : size_(n) {
    if (n > on_stack) [[unlikely]]
      heap_ = std::make_unique_for_overwrite<std::byte[]>(n * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(heap_ != nullptr ? heap_.get() : stack_); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  std::span<T> span() { return {data(), size_}; }

 private:
  alignas(T) std::byte stack_[on_stack * sizeof(T)];
  std::unique_ptr<std::byte[]> heap_;
  std::size_t size_;
};

inline std::size_t length_of(std::int64_t n) { return n > 0 ? static_cast<std::size_t>(n) : 0; }

// Requests of wait and test. `bad()` is the index of the first handle that names nothing, or -1.
class Requests {
 public:
  Requests(const Entry& entry, const MPI_Request* handles, int n) : requests_(length_of(n)) {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (!entry.find_request(handles[i], requests_[i]) && bad_ < 0) bad_ = static_cast<int>(i);
  }
  int bad() const { return bad_; }
  std::span<Request*> span() { return requests_.span(); }
  // Shows the program which requests have ended.
  void write_back(MPI_Request* handles) {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i] == nullptr) handles[i] = Codec<Request>::handle(0);
  }

 private:
  Room<Request*, 64> requests_;
  int bad_ = -1;
};

class Statuses {
 public:
  Statuses(const MPI_Status* out, int n) : ignored_(ignored(out)), statuses_(ignored_ ? 0 : length_of(n)) {
    for (Status& status : statuses_.span()) status = Status::empty();
  }
  Status* data() { return ignored_ ? nullptr : statuses_.data(); }
  // With `errors` (after MPI_ERR_IN_STATUS), the error fields too; otherwise they stay as they are.
  void write(MPI_Status* out, std::int64_t n, bool errors) {
    if (ignored_) return;
    for (std::size_t i = 0; i < length_of(n); ++i) {
      write_status(out[i], statuses_[i]);
      if (errors) out[i].MPI_ERROR = from_core_error_code(static_cast<int>(statuses_[i].error));
    }
  }

 private:
  bool ignored_;
  Room<Status, 32> statuses_;
};

// Objects of an array of handles that all must be valid.
template <class T>
class Objects {
 public:
  template <class Handle>
  Objects(const Entry& entry, const Handle* handles, std::int64_t n) : objects_(length_of(n)) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      objects_[i] = entry.find<T>(handles[i]);
      if (objects_[i] == nullptr && bad_ < 0) bad_ = static_cast<int>(i);
    }
  }
  int bad() const { return bad_; }
  std::span<T* const> span() { return {objects_.data(), objects_.size()}; }

 private:
  Room<T*, 32> objects_;
  int bad_ = -1;
};

// How many types MPI_Type_get_contents hands out, whatever there is room for.
inline std::int64_t given_length(const Datatype& type, std::int64_t room) {
  const TypeContents* contents = type.contents();
  return contents == nullptr ? 0 : std::min(room, static_cast<std::int64_t>(contents->types.size()));
}

// Objects that the core hands out together.
template <class T>
class GivenObjects {
 public:
  explicit GivenObjects(std::int64_t n) : objects_(length_of(n)) {}
  std::span<Ref<T>> span() { return objects_; }
  template <class Handle>
  void write(const Entry& entry, Handle* handles) {
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (objects_[i]) handles[i] = entry.give(objects_[i].get());
  }

 private:
  std::vector<Ref<T>> objects_;
};

// An array of numbers with a meaning, as the core has them.
template <int (*translate)(int)>
class Translated {
 public:
#ifdef HAWSER_ABI_OF_MPICH
  Translated(const int* values, std::int64_t n) : values_(values == nullptr ? 0 : length_of(n)) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = translate(values[i]);
  }
  const int* data() { return values_.data(); }

 private:
  Room<int, 32> values_;
#else
  Translated(const int* values, std::int64_t) : values_(values) {}
  const int* data() { return values_; }

 private:
  const int* values_;
#endif
};

template <int (*translate)(int)>
void translate_back([[maybe_unused]] int* values, [[maybe_unused]] std::int64_t n) {
#ifdef HAWSER_ABI_OF_MPICH
  for (std::size_t i = 0; i < length_of(n); ++i) values[i] = translate(values[i]);
#endif
}

// The lengths of the arrays of neighbourhood collectives; 0 without a topology, which the core reports.
inline int neighbor_indegree(const Communicator& communicator) {
  const Topology* topology = topology_of(communicator);
  return topology == nullptr ? 0 : static_cast<int>(topology->neighbors().sources.size());
}
inline int neighbor_outdegree(const Communicator& communicator) {
  const Topology* topology = topology_of(communicator);
  return topology == nullptr ? 0 : static_cast<int>(topology->neighbors().destinations.size());
}

}  // namespace hawser::binding
