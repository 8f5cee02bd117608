#include "collective/shared/persistent_parts.h"

#include <utility>

#include "base/assert.h"
namespace hawser {

PersistentParts::PersistentParts(MemoryBlock area, int index, Division division, BackgroundRuns& runs)
    : area_(area.data),
      index_(index),
      division_(division),
      part_bytes_(AreaPool::part_bytes(area.bytes, division.parts)),
      runs_(runs) {}

MemoryBlock PersistentParts::team_of(MemoryBlock part, int team, int teams) {
  const std::int64_t bytes = AreaPool::part_bytes(part.bytes, teams);
  return {part.data + team * bytes, bytes};
}

void PersistentParts::make_ready(MemoryBlock part, Division division) {
  for (int t = 0; t < division.teams; ++t) {
    const MemoryBlock team = team_of(part, t, division.teams);
    SharedTeam::clear(team.data, team.bytes, division.ranks);
  }
}

std::uint64_t PersistentParts::free_here() const {
  std::uint64_t free = (std::uint64_t{1} << division_.parts) - 1;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i]->taken) free &= ~(std::uint64_t{1} << i);
  return free;
}

// Those that were used before are taken first, so not more memory is touched than is needed at once.
void PersistentParts::make_one_ready() {
  if (ready_ > static_cast<int>(parts_.size()) || ready_ == division_.parts) return;
  make_ready(part(ready_), division_);
  ++ready_;
}

PersistentPart& PersistentParts::take(int index, Opener open) {
  const auto used = static_cast<int>(parts_.size());
  HAWSER_ASSERT(index <= used);
  if (index == used) {
    parts_.push_back(std::make_unique<PersistentPart>(*this, runs_));
    NodeLanes& teams = parts_.back()->teams;
    teams.up.open(open(team_of(part(index), 0, division_.teams)));
    if (division_.teams > 1) teams.down.open(open(team_of(part(index), 1, division_.teams)));
  }
  PersistentPart& taken = *parts_[static_cast<std::size_t>(index)];
  taken.taken = true;
  ++taken_;
  return taken;
}

void PersistentParts::give_back(PersistentPart& part) {
  part.taken = false;
  if (--taken_ == 0 && leaves_) first_team().leave();
}

// There is a first part: who has an area has taken one at once.
void PersistentParts::leave() {
  leaves_ = true;
  taken_ == 0 ? first_team().leave() : first_team().stay();
}

PersistentAreas::PersistentAreas(std::int64_t area_bytes, int ranks, int teams)
    : ranks_(ranks), teams_(teams), parts_(most_parts) {
  const auto team_bytes = [area_bytes, teams](int parts) {
    return AreaPool::part_bytes(AreaPool::part_bytes(area_bytes, parts), teams);
  };
  while (parts_ > 0 && !SharedTeam::fits(ranks, team_bytes(parts_))) parts_ /= 2;
  first_refused_ = parts_ == 0;
  others_refused_ = !SharedTeam::fits(ranks, team_bytes(1));
  if (parts_ > 0) part_buffer_ = SharedTeam::buffer_bytes(ranks, team_bytes(parts_));
}

std::uint64_t PersistentAreas::free_parts() const {
  if (first_ != nullptr) return first_->free_here();
  return first_refused_ ? 0 : (std::uint64_t{1} << parts_) - 1;
}

std::uint64_t PersistentAreas::free_areas() const {
  std::uint64_t free = 0;
  const auto made = static_cast<int>(others_.size());
  for (int i = 0; i < (others_refused_ ? made : most_areas); ++i)
    if (i >= made || others_[static_cast<std::size_t>(i)]->free_here() != 0)
      free |= std::uint64_t{1} << (most_parts + i);
  return free;
}

PersistentParts* PersistentAreas::area_of(int part) const {
  if (part < most_parts) return first_.get();
  const auto other = static_cast<std::size_t>(part - most_parts);
  return other < others_.size() ? others_[other].get() : nullptr;
}

void PersistentAreas::add_area(int part, std::unique_ptr<PersistentParts> area) {
  if (part < most_parts) {
    first_refused_ = area == nullptr;
    first_ = std::move(area);
  } else if (area == nullptr) {
    others_refused_ = true;
  } else {
    others_.push_back(std::move(area));
  }
}

void PersistentAreas::for_each(FunctionRef<void(PersistentParts&)> work) const {
  if (first_ != nullptr) work(*first_);
  for (const auto& area : others_) work(*area);
}

}  // namespace hawser
