// SharedAreas: pieces of memory that all processes of this node see, for collectives straight in shared
// memory. In a real process they come from the shared-memory channel; unit tests have their own. Neighbours:
// how to wake a process that may sleep while it waits for something written to memory that it shares. A
// process of the node goes by its place among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/transport.h"

namespace hawser {

class Neighbours {
 public:
  virtual int place_of(ProcessIndex process) const = 0;  // -1: on another node
  virtual void wake(int place) = 0;

 protected:
  ~Neighbours() = default;
};

class SharedAreas : public Neighbours {
 public:
  // Reserves one of this process's areas; -1 when all are taken. Its bytes may be of former use.
  virtual int allocate() = 0;
  virtual void release(int index) = 0;
  virtual std::byte* address(int place, int index) const = 0;
  virtual std::int64_t area_bytes() const = 0;
  // Copies what another process has at this address of its own. False: the kernel refuses.
  virtual bool copy_from(int place, std::byte* to, std::uint64_t address, std::int64_t bytes) = 0;
  // Whether this node has more processes than cores; the same on all of them.
  virtual bool crowded() const { return false; }

 protected:
  ~SharedAreas() = default;
};

}  // namespace hawser
