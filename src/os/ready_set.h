// ReadySet: waits for any of a set of descriptors to become ready (epoll). Level-triggered, unless said
// otherwise: what is ready is told again until it is read or written. A descriptor that is closed leaves the
// set by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/file_descriptor.h"

namespace hawser {

class ReadySet {
 public:
  struct Ready {
    std::uint64_t key;  // as it was added with
    // A descriptor that failed counts as both: reading and writing tell why.
    bool readable;
    bool writable;
    bool failed;  // an error, or the other end is closed; told whatever was asked for
  };
  static Result<ReadySet> make();
  int descriptor() const { return set_.get(); }
  // Fails for files, which are always ready.
  Result<> add(int descriptor, std::uint64_t key, bool readable, bool writable);
  // Each time that it becomes readable is told once, for a descriptor that nobody reads.
  Result<> add_edges(int descriptor, std::uint64_t key);
  void change(int descriptor, std::uint64_t key, bool readable, bool writable);
  void remove(int descriptor);
  Result<> add(const FileDescriptor& descriptor, std::uint64_t key, bool readable, bool writable) {
    return add(descriptor.get(), key, readable, writable);
  }
  void change(const FileDescriptor& descriptor, std::uint64_t key, bool readable, bool writable) {
    change(descriptor.get(), key, readable, writable);
  }
  void remove(const FileDescriptor& descriptor) { remove(descriptor.get()); }
  // What is ready now; never waits. Of both, the span is valid until the next call, and has 64 at most.
  std::span<const Ready> poll() { return wait(0); }
  // What is ready as soon as something is, or nothing when the time has passed (`never`: no limit) or a
  // signal came.
  std::span<const Ready> wait(Nanoseconds time);

 private:
  FileDescriptor set_;
  std::vector<Ready> ready_;
};

}  // namespace hawser
