// SharedAreas: pieces of memory that all processes of this node see, for collectives straight in shared
// memory. In a real process they come from the shared-memory channel; unit tests have their own. Neighbours:
// how to wake a process that may sleep while it waits for something written to memory that it shares. A
// process of the node goes by its place among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/transport.h"

namespace hawser {

class CoreMates;

class Neighbours {
 public:
  virtual int place_of(ProcessIndex process) const = 0;  // -1: on another node
  virtual void wake(int place) = 0;

 protected:
  ~Neighbours() = default;
};

// What working in areas takes of virtual time, and what the same takes outside. In a real process the
// processor takes its time by itself.
class AreaTime {
 public:
  // Before a line is written that others wait for. Returns when everything has happened that happens before.
  virtual void before_flag() = 0;
  // A line was read that another process wrote last. `waited`: it was not there at first.
  virtual void read_line(bool waited) = 0;
  // So many bytes were copied into an area, or read out of it.
  virtual void copied_in(std::int64_t bytes) = 0;
  virtual void copied_out(std::int64_t bytes) = 0;
  // So many bytes of each of two operands, none of them in an area, were made one.
  virtual void reduced(std::int64_t bytes) = 0;
  // So many bytes were copied, and neither place is in an area.
  virtual void copied(std::int64_t bytes) = 0;

 protected:
  ~AreaTime() = default;
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
  // Null: nobody knows what others on its core wait for.
  virtual CoreMates* mates() { return nullptr; }
  // Null where time is real.
  virtual AreaTime* virtual_time() { return nullptr; }

 protected:
  ~SharedAreas() = default;
};

}  // namespace hawser
