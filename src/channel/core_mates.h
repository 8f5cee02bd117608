// CoreMates: where processes of a node share cores, whether one of those on this process's core could go on
// if it had that core. A yield to somebody who waits as well takes two switches, 1 to 2 us each, and brings
// nothing. So each process says in its block on which core it runs and, while it waits for a word of the
// shared memory, for which. Who says nothing, computes or waits for something else: it counts as able to go
// on.
//
// In the kernel's real-time classes processes that yield but do not sleep stay where they are, all on one
// core perhaps. There they spread over the cores by themselves.
//
// Threads: none; under the process's lock, like everything.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "channel/shared_segment.h"
#include "os/shared_memory.h"

namespace hawser {

class CoreMates {
 public:
  CoreMates(SharedSegment segment, std::int32_t self);

  // Where one of so many on this core should go, of the cores that it may use; -1: none has two fewer.
  static int less_used_core(const std::vector<int>& processes_by_core, int core, const CpuSet& usable);

  // Until the end of this object, the process waits for the word to be `value` or beyond (numbers that wrap),
  // which the process at the place `writer` sees to.
  class Wait {
   public:
    Wait(CoreMates* mates, const std::atomic<std::uint32_t>& word, std::uint32_t value, std::int32_t writer)
        : mates_(mates) {
      if (mates_ != nullptr) mates_->say(word, value, writer);
    }
    ~Wait() {
      if (mates_ != nullptr) mates_->say_nothing();
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    CoreMates* mates_;  // null: nobody looks
  };

  // Whether another process may make use of this one's core. Also if it is the one that this process waits
  // for: then the sooner it has the core, the better, even if it has to wait before it can go on.
  bool may_use_core() {
    return may_use_core([](std::int32_t) { return false; });
  }
  // The same where some are known to wait in vain.
  template <class Waits>
  bool may_use_core(Waits&& waits_in_vain) {
    look_around();
    return mates_.empty() || std::ranges::any_of(mates_, [&](std::int32_t mate) {
             return mate == writer_ || (!waits_in_vain(mate) && may_go_on(segment_.block(mate)));
           });
  }
  bool is_alone() const { return mates_.empty(); }
  bool on_this_core(std::int32_t place) const { return std::ranges::find(mates_, place) != mates_.end(); }

 private:
  void say(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::int32_t writer);
  void say_nothing();
  void look_around();
  void spread();
  void find(std::int32_t core);
  bool may_go_on(const ProcessBlock& mate) const;

  SharedSegment segment_;
  std::int32_t self_;
  std::int32_t core_ = -1;
  std::int32_t writer_ = -1;  // of what this process waits for; -1: that is not known
  std::uint32_t asked_ = 0;
  const bool spreads_ = stays_on_its_core();
  std::vector<std::int32_t> mates_;
};

}  // namespace hawser
