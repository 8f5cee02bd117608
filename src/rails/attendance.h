// RailAttendance: what the process tells the rails of its job and its program: whether that computes, or is
// in a call of MPI, so that this end's software is there when something is done.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "rails/decision/finish_choice.h"

namespace hawser {

struct LinkRates;
struct RailEngine;

class RailAttendance {
 public:
  explicit RailAttendance(RailEngine& engine) : engine_(engine) {}

  // What all processes of the job that have rails have, before the first message: packets may be as long as
  // each has room for. Without, they are as long as every process has room for.
  void use_rates(const LinkRates& agreed);
  // Passes while the program computes, or in a call after which it may.
  void begin_turn(ProgramState program);
  void end_turn();
  // Since the last pass the process slept, or waited for a core, in a call that waits.
  void note_waited();
  // Whether reads were posted, since it was asked last, that only this process's software tells the ends of.
  bool take_left_reads();
  // Something was wanted outside of a pass. The call that wants it makes one, if it waits.
  void want_transfers();
  void note_pass() { wanted_ = false; }
  // Else it says so at its end: what was wanted begins, together.
  bool wants_transfers() const { return wanted_; }
  void begin_transfers();
  // The same where nothing goes on while the program computes, so that more cannot be left for then.
  void begin_transfers(Nanoseconds now);
  // Small messages that wait to go out together go now: the program may compute next.
  void send_bundles();
  // Whether connections are closed on purpose, so that others ask something of a program that computes.
  bool capped() const;
  // What the process counts of the interrupts that it armed for (RailCounters).
  void note_interrupts(std::uint64_t useful, std::uint64_t useless, std::uint64_t suppressed);

 private:
  RailEngine& engine_;
  bool wanted_ = false;
};

}  // namespace hawser
