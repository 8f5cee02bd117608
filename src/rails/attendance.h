// RailAttendance: what the process tells the rails of its program: whether that waits in a call of MPI, so
// that this end's software is there when something is done, or leaves it to interrupts.
#pragma once

#include <cstdint>

namespace hawser {

struct RailEngine;

class RailAttendance {
 public:
  explicit RailAttendance(RailEngine& engine) : engine_(engine) {}

  // The program waits in a call of MPI until end_wait(), which answers whether something began that goes on
  // only with this process's software: arm again.
  void begin_wait();
  bool end_wait();
  // Something was wanted outside of a pass. The call that wants it makes one, if it waits.
  void want_transfers();
  // Else it says so at its end: what was wanted begins, together.
  void begin_transfers();
  // What the process counts of the interrupts that it armed for (RailCounters).
  void note_interrupts(std::uint64_t useful, std::uint64_t useless, std::uint64_t suppressed);

 private:
  RailEngine& engine_;
  bool wanted_ = false;
};

}  // namespace hawser
