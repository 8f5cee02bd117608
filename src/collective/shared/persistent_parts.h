// Where persistent operations of a communicator on one node go through shared memory. Ranks may start these
// in different order, so each has a part of an area, with a team of its own, from when it is initialized
// until its request is freed; it waits for nobody but in its part.
//
// Operations on little data share one area, which is cut into parts; others have an area each, because in a
// part they would take many turns. Ranks free requests when they like, so a part is taken again when it is
// free on all of them. They tell each other in the next initialization, which is collective. If none is free,
// or no area was left, the operation goes by messages, alike on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/byte_sequence.h"
#include "base/function_ref.h"
#include "collective/shared/background_queue.h"

namespace hawser {

class PersistentParts;

struct PersistentPart {
  PersistentPart(PersistentParts& all, BackgroundRuns& runs) : all(all), queue(runs) {}

  PersistentParts& all;
  BackgroundQueue queue;
  bool taken = false;
};

// One area.
class PersistentParts {
 public:
  // `index`: of the area, among those of rank 0. The first part is ready.
  PersistentParts(MemoryBlock area, int index, int ranks, int parts, BackgroundRuns& runs);

  int index() const { return index_; }
  // A bit for each part that this rank does not use.
  std::uint64_t free_here() const;
  // Makes one ready that has not been used before. By rank 0, before all tell which are free.
  void make_one_ready();
  // Takes one that is free on all ranks, the first of these. `open` makes what works in a new one.
  using Opener = FunctionRef<std::unique_ptr<SharedCollectives>(MemoryBlock)>;
  PersistentPart& take(int part, Opener open);
  void give_back(PersistentPart& part);
  // The communicator is freed, so none is taken any more. This rank leaves the area with its last request.
  void leave();

 private:
  MemoryBlock part(int index) const { return {area_ + index * part_bytes_, part_bytes_}; }
  // One note, in the first part, is for all of them.
  SharedTeam& first_team() { return parts_.front()->queue.shared().team(); }

  std::byte* area_;
  int index_;
  int ranks_;
  int count_;
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
  PersistentAreas(std::int64_t area_bytes, int ranks);

  // Whether a part of the first area has room for so much in each rank's buffer at once.
  bool are_parts_enough(std::int64_t bytes) const { return parts_ > 0 && bytes <= part_buffer_; }
  std::uint64_t free_parts() const;
  std::uint64_t free_areas() const;
  // The area of that part; null: it has not been made.
  PersistentParts* area_of(int part) const;
  // Into how many parts it is cut.
  int parts_of_area(int part) const { return part < most_parts ? parts_ : 1; }
  // What its number is in its area.
  static int place_in_area(int part) { return part < most_parts ? part : 0; }
  // Null: it was not to be had, and is not asked for again.
  void add_area(int part, std::unique_ptr<PersistentParts> area);
  PersistentParts* first() const { return first_.get(); }
  void for_each(FunctionRef<void(PersistentParts&)> work) const;

 private:
  static constexpr int most_parts = 8, most_areas = 4;

  int parts_;
  std::int64_t part_buffer_ = 0;
  bool first_refused_, others_refused_;
  std::unique_ptr<PersistentParts> first_;
  std::vector<std::unique_ptr<PersistentParts>> others_;
};

}  // namespace hawser
