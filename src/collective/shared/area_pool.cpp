#include "collective/shared/area_pool.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "collective/engine.h"
#include "collective/shared/team.h"

namespace hawser {

void AreaPool::open(SharedAreas& areas) {
  close();
  areas_ = &areas;
  const int first = areas_->allocate();
  HAWSER_ASSERT(first == world_area);
}

void AreaPool::close() {
  areas_ = nullptr;
  left_.clear();
  awaited_ = 0;
}

bool AreaPool::all_teams(const Left& left, Question question) const {
  const std::byte* const area = areas_->address(left.place, left.area);
  const std::int64_t part = part_bytes(areas_->area_bytes(), left.teams);
  for (int t = 0; t < left.teams; ++t)
    if (!question(area + t * part, left.ranks)) return false;
  return true;
}

bool AreaPool::all_left(const Left& left) const { return all_teams(left, SharedTeam::all_left); }

int AreaPool::take(int place, int ranks, int teams) {
  std::erase_if(left_, [this](const Left& left) {
    const bool over = !left.awaited && all_left(left);
    if (over) areas_->release(left.area);
    return over;
  });
  const int area = areas_->allocate();
  if (area < 0) return no_area;
  const std::int64_t part = part_bytes(areas_->area_bytes(), teams);
  for (int t = 0; t < teams; ++t) SharedTeam::clear(areas_->address(place, area) + t * part, part, ranks);
  return area;
}

AreaPool::Left* AreaPool::await_one() {
  const auto found = std::find_if(left_.begin(), left_.end(), [](Left& left) {
    return !left.awaited && !left.stays && left.freed_by == current_thread() && !left.stop.raised();
  });
  if (found == left_.end()) return nullptr;
  found->awaited = true;
  ++awaited_;
  return &*found;
}

int AreaPool::take_awaited(Left& left, int place, int ranks, int teams) {
  left.awaited = left.settled = false;
  return take(place, ranks, teams);
}

void AreaPool::add_left(int place, int area, int ranks, int teams, StopSign stop) {
  left_.push_back({place, area, ranks, teams, std::move(stop), current_thread()});
}

bool AreaPool::settle() {
  bool moved = false;
  for (Left& left : left_) {
    if (!left.awaited || left.settled) continue;
    const bool told = all_teams(left, SharedTeam::all_left_or_stay);
    if (!told && !left.stop.raised()) continue;
    left.stays = told && !all_left(left);
    left.settled = moved = true;
    --awaited_;
  }
  return moved;
}

// If the operation ends early, because a process failed, the area is not used again.
Task take_area(Operation& operation, int place, int ranks, int teams, int& area) {
  AreaPool& pool = operation.engine().area_pool();
  area = pool.take(place, ranks, teams);
  while (area == AreaPool::no_area) {
    AreaPool::Left* const awaited = pool.await_one();
    if (awaited == nullptr) co_return;
    co_await operation.arrived_or(awaited->settled);
    area = pool.take_awaited(*awaited, place, ranks, teams);
  }
}

}  // namespace hawser
