// AreaPool: the shared areas of this process, which it gives to the teams that it leads, and takes back when
// all ranks of a team have left.
//
// When others leave depends on how fast they are. Whether a new team gets an area must not: it decides in
// which order floating-point numbers are added. So it depends only on what this process's program did: a team
// gets an area if there is one that the program has not given to another communicator, or has freed since. If
// others still use that one, the new team waits until they have freed their communicator, too. They will:
// MPI_Comm_free is collective, and MPI allows it to wait for them (MPI-5.0 section 7.4.3). It might have
// waited, but only in its own thread, so for what another thread freed no team waits. Nor for an area where a
// rank still had persistent requests when it freed the communicator: nothing says that it may not wait for us
// before it frees these. It is used again when they are freed, which here does depend on how fast ranks are.
#pragma once

#include <list>

#include "base/process_lock.h"
#include "channel/shared_areas.h"
#include "collective/task.h"
#include "communicator/trouble.h"

namespace hawser {

class AreaPool {
 public:
  static constexpr int no_area = -1;
  // The area of process 0 that MPI_COMM_WORLD uses; every process sets its own aside.
  static constexpr int world_area = 0;

  void open(SharedAreas& areas);
  void close();

  // An area for teams of so many ranks that this process leads, which is at `place` in the node; no_area:
  // all are in use. Several teams of the same ranks divide it.
  int take(int place, int ranks, int teams = 1);
  // The bytes of each team's part, of an area of so many bytes.
  static std::int64_t part_bytes(std::int64_t bytes, int teams) { return bytes / teams & ~std::int64_t{63}; }
  void give_back(int area) { areas_->release(area); }

  // An area whose communicator this process's program has freed.
  struct Left {
    int place, area, ranks, teams;
    StopSign stop;  // some rank may never leave
    ThreadIdentity freed_by;
    bool awaited = false;
    bool settled = false;  // of an awaited one: all have left, or some will not soon, or never
    bool stays = false;    // some rank was found to stay
  };
  // What a team waits for, until it is settled, if take() has none: the address stays. Null: the program has
  // not freed enough.
  Left* await_one();
  // The area, when that is settled.
  int take_awaited(Left& left, int place, int ranks, int teams);

  void add_left(int place, int area, int ranks, int teams, StopSign stop);
  // In every pass of progress. True: something was settled.
  bool progress() { return awaited_ > 0 && settle(); }

 private:
  using Question = bool (*)(const std::byte* area, int ranks);
  bool all_teams(const Left& left, Question question) const;
  bool all_left(const Left& left) const;
  bool settle();

  SharedAreas* areas_ = nullptr;
  std::list<Left> left_;
  int awaited_ = 0;  // not settled yet
};

// Gets an area for teams that this process leads; waits if none is free yet. To be awaited at once.
Task take_area(Operation& operation, int place, int ranks, int teams, int& area);

}  // namespace hawser
