// SharedAreas: memory that all processes of a node see, and a way to wake a process that sleeps while it
// waits for something to be written there. In a real process the areas come from the shared-memory channel;
// unit tests have their own. `place` is the index of a process on its node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/shared_memory_channel.h"
#include "channel/transport.h"

namespace hawser {

class SharedAreas {
 public:
  virtual ~SharedAreas() = default;
  virtual int place_of(ProcessIndex process) const = 0;  // -1: on another node
  // Reserves one of this process's areas; -1 if all are taken. It may contain old data.
  virtual int allocate() = 0;
  virtual void release(int index) = 0;
  virtual std::byte* address(int place, int index) const = 0;
  virtual std::int64_t area_bytes() const = 0;
  virtual void wake(int place) = 0;
  // Whether this node has more processes than cores; the same on all of them.
  virtual bool crowded() const { return false; }
};

class ChannelAreas final : public SharedAreas {
 public:
  explicit ChannelAreas(SharedMemoryChannel& channel) : channel_(channel) {}
  int place_of(ProcessIndex process) const override { return channel_.node_index_of(process); }
  int allocate() override { return channel_.allocate_area(); }
  void release(int index) override { channel_.release_area(index); }
  std::byte* address(int place, int index) const override { return channel_.area(place, index); }
  std::int64_t area_bytes() const override { return channel_.area_bytes(); }
  void wake(int place) override { channel_.wake(place); }
  bool crowded() const override { return crowded_; }

 private:
  SharedMemoryChannel& channel_;
  const bool crowded_ = channel_.outnumbers_cores();
};

}  // namespace hawser
