// Environment: everything an MpiProcess takes from outside (decision 1). A real process gets the
// machine's (machine_environment.h); the simulator makes one for each simulated rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/knobs.h"
#include "base/machine.h"
#include "base/time.h"
#include "channel/channel_set.h"
#include "channel/waiter.h"
#include "launch/bootstrap.h"
#include "launch/core_place.h"
#include "process/progress_choice.h"

namespace hawser {

// What a process needs of the host it runs on besides time and messages.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::string processor_name() = 0;  // MPI_Get_processor_name
  // The cores that this process is bound to; may take milliseconds.
  virtual CorePlace core_place() { return unknown_core_place; }
  virtual void print(std::string_view line) = 0;  // prints a line for the user; adds the newline
  virtual ProgramFacts program() { return {}; }   // for MPI_INFO_ENV
  // Registers a function to call when the program returns from main or calls exit. The simulator, which runs
  // programs otherwise, calls leave_job() itself.
  virtual void call_at_exit(void (*)()) {}
  // Registers a function to call in children that the program forks.
  virtual void call_in_children(void (*)()) {}
  // Ends this process after the job was told to abort.
  [[noreturn]] virtual void exit(int code) = 0;
};

class RailChannel;
class RailStatus;

class Environment {
 public:
  virtual ~Environment() = default;

  // Joins the job: afterwards `bootstrap` and `channels` are set. Collective over the job. Called by
  // MpiProcess when it starts; `leave` undoes it when the process finishes, after a last fence.
  virtual Result<> join() = 0;
  virtual Result<> leave() = 0;
  // In a forked child: closes its copies of connections whose end others take for the end of this process.
  // Sends nothing.
  virtual void forget() {}

  // Set for the environment's whole life; borrowed.
  Clock* clock = nullptr;
  Host* host = nullptr;
  const Knobs* knobs = nullptr;
  std::uint64_t seed = 0;
  bool has_threads = true;  // false: the program's code runs on one fiber, whatever thread level it asks for
  // It calls MpiProcess::stand_in() itself while the program computes.
  bool stands_in = false;

  // Set between join and leave.
  Bootstrap* bootstrap = nullptr;
  ChannelSet* channels = nullptr;  // with the waiter that knows how to sleep on them
  // HAWSER_PROGRESS, decided: something goes on while the program computes. And by what it was decided.
  bool interrupts = false;
  ProgressPlace progress_place;
  // What the rails count, and the record of what happens to their paths; null: none are used here.
  RailChannel* rails = nullptr;
  const RailStatus* rail_status = nullptr;
};

}  // namespace hawser
