// Where persistent operations of a communicator on one node go through shared memory. Ranks may start these
// in different order, so each has a part of an area, with a team of its own, from when it is initialized
// until its request is freed; it waits for nobody but in its part.
//
// Operations on little data share one area, which is cut into parts; others have an area each, because in a
// part they would take many turns. Ranks free requests when they like, so a part is taken again when it is
// free on all of them. They tell each other in the next initialization, which is collective. If none is free,
// or no area was left, the operation goes by messages, alike on all ranks.
//
// Of communicators of several nodes each node's ranks have such areas. There a part has two teams, as the
// node's part of non-blocking operations has (node_team.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/byte_sequence.h"
#include "base/function_ref.h"
#include "collective/node_team.h"
#include "collective/shared/area_pool.h"

namespace hawser {

class PersistentParts;

struct PersistentPart {
  PersistentPart(PersistentParts& all, BackgroundRuns& runs) : all(all), teams(runs) { teams.agreed = true; }

  // Where the communicator has one node.
  BackgroundQueue& queue() { return teams.up; }

  PersistentParts& all;
  NodeLanes teams;
  bool taken = false;
};

// One area.
class PersistentParts {
 public:
  // How an area is divided: into parts, of which each has so many teams, one or two.
  struct Division {
    int ranks, parts, teams;
  };
  // `index`: of the area, among those of rank 0. The first part is ready.
  PersistentParts(MemoryBlock area, int index, Division division, BackgroundRuns& runs);

  // Makes the first part ready, before others know of the area.
  static void make_first_ready(MemoryBlock area, Division division) {
    make_ready({area.data, AreaPool::part_bytes(area.bytes, division.parts)}, division);
  }

  int index() const { return index_; }
  int ranks() const { return division_.ranks; }
  // A bit for each part that this rank does not use.
  std::uint64_t free_here() const;
  // Makes one ready that has not been used before. By rank 0, before all tell which are free.
  void make_one_ready();
  // Takes one that is free on all ranks, the first of these. `open` makes what works in each of its teams.
  using Opener = FunctionRef<std::unique_ptr<SharedCollectives>(MemoryBlock)>;
  PersistentPart& take(int part, Opener open);
  void give_back(PersistentPart& part);
  // The communicator is freed, so none is taken any more. This rank leaves the area with its last request.
  void leave();

 private:
  static void make_ready(MemoryBlock part, Division division);
  static MemoryBlock team_of(MemoryBlock part, int team, int teams);
  MemoryBlock part(int index) const { return {area_ + index * part_bytes_, part_bytes_}; }
  // One note, in the first part, is for all of them.
  SharedTeam& first_team() { return parts_.front()->queue().shared().team(); }

  std::byte* area_;
  int index_;
  Division division_;
  std::int64_t part_bytes_;
  BackgroundRuns& runs_;
  int ready_ = 1;  // of rank 0: so many have been made ready
  int taken_ = 0;  // by this rank
  bool leaves_ = false;
  std::vector<std::unique_ptr<PersistentPart>> parts_;  // that have been used
};

// All of a communicator's.
class PersistentAreas {
 public:
  // Parts go by a number each: those of the first area, then the other areas.
  PersistentAreas(std::int64_t area_bytes, int ranks, int teams);

  // Whether a part of the first area has room for so much in each rank's buffer at once.
  bool are_parts_enough(std::int64_t bytes) const { return parts_ > 0 && bytes <= part_buffer_; }
  std::uint64_t free_parts() const;
  std::uint64_t free_areas() const;
  // The area of that part; null: it has not been made.
  PersistentParts* area_of(int part) const;
  PersistentParts::Division division_of_area(int part) const {
    return {ranks_, part < most_parts ? parts_ : 1, teams_};
  }
  // What its number is in its area.
  static int place_in_area(int part) { return part < most_parts ? part : 0; }
  // Null: it was not to be had, and is not asked for again.
  void add_area(int part, std::unique_ptr<PersistentParts> area);
  PersistentParts* first() const { return first_.get(); }
  void for_each(FunctionRef<void(PersistentParts&)> work) const;

 private:
  static constexpr int most_parts = 8, most_areas = 4;

  int ranks_;
  int teams_;
  int parts_;
  std::int64_t part_buffer_ = 0;
  bool first_refused_, others_refused_;
  std::unique_ptr<PersistentParts> first_;
  std::vector<std::unique_ptr<PersistentParts>> others_;
};

}  // namespace hawser
