#include "collective/shared/team.h"

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "collective/shared/background_run.h"

namespace hawser {

namespace {

constexpr std::int64_t least_buffer_bytes = 1024;
constexpr std::int64_t wanted_piece_bytes = 16 << 10;
// A neighbour that runs answers within this many looks; worth more than a pass of progress.
constexpr int looks = 100;

}  // namespace

bool SharedTeam::fits(int ranks, std::int64_t area_bytes) {
  return (area_bytes - ranks * static_cast<std::int64_t>(sizeof(Control))) / (2 * ranks) >=
         least_buffer_bytes;
}

void SharedTeam::clear(std::byte* area, int ranks) {
  auto* control = reinterpret_cast<Control*>(area);
  for (int r = 0; r < ranks; ++r) new (control + r) Control{};
}

bool SharedTeam::all_left(const std::byte* area, int ranks) {
  const auto* control = reinterpret_cast<const Control*>(area);
  return std::all_of(control, control + ranks,
                     [](const Control& of) { return of.left.load(std::memory_order_acquire) != 0; });
}

void SharedTeam::leave() {
  control_[rank_].left.store(1, std::memory_order_release);
  if (rank_ != 0) areas_.wake(places_[0]);
}

SharedTeam::SharedTeam(std::byte* area, std::int64_t area_bytes, int rank, std::vector<int> places,
                       SharedAreas& areas, Progress& progress, StopSign stop)
    : control_(reinterpret_cast<Control*>(area)),
      rank_(rank),
      ranks_(static_cast<int>(places.size())),
      group_(group_of(ranks_, areas.crowded())),
      places_(std::move(places)),
      areas_(areas),
      progress_(progress),
      stop_(std::move(stop)) {
  const std::int64_t control_bytes = ranks_ * static_cast<std::int64_t>(sizeof(Control));
  buffers_ = area + control_bytes;
  buffer_bytes_ = (area_bytes - control_bytes) / (2 * ranks_) & ~std::int64_t{63};
  const std::int64_t all = 2 * ranks_ * buffer_bytes_;
  piece_bytes_ = std::min(wanted_piece_bytes, (all / 4) & ~std::int64_t{63});
  pieces_ = std::min(max_pieces, static_cast<std::uint32_t>(all / piece_bytes_));
}

// Small enough that a leader hears from few, in its group and of the leaders, and as caches are shared.
int SharedTeam::group_of(int ranks, bool crowded) {
  constexpr int small = 8, large = 16;
  if (crowded || ranks <= largest_flat) return ranks;
  return ranks <= small * small ? small : large;
}

void SharedTeam::wake_others() {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) areas_.wake(places_[static_cast<std::size_t>(r)]);
  }
}

std::byte* SharedTeam::line_to_write() {
  std::uint32_t& used = line_used_[step_ % lines];
  wait_done(used);
  used = step_;
  return line(rank_).payload;
}

// What is written now must be seen from now on, and not before. Others may run meanwhile, which a run's stack
// is not made for.
void SharedTeam::await_virtual_time() {
  if (run_ == nullptr) return time_->before_flag();
  areas_.wake(places_[static_cast<std::size_t>(rank_)]);  // nobody else tells this rank to go on
  run_->wait([this] {
    time_->before_flag();
    return true;
  });
}

void SharedTeam::show_line() {
  if (time_ != nullptr) [[unlikely]]
    await_virtual_time();
  line(rank_).posted.store(step_, std::memory_order_release);
}

void SharedTeam::post() {
  show_line();
  wake_others();
}

void SharedTeam::post_to(int first, int end, int stride) {
  show_line();
  for (int r = first; r < end; r += stride) {
    if (r != rank_) areas_.wake(places_[static_cast<std::size_t>(r)]);
  }
}

void SharedTeam::await(FunctionRef<bool()> done) {
  const auto over = [&] { return done() || stop_.raised(); };
  run_ != nullptr ? run_->wait(over) : progress_.wait_until(over);
  if (!done()) throw Stopped{stop_.why()};
}

// Much data is copied in parts, between which what else is under way goes on.
bool SharedTeam::copy_from(int rank, std::byte* to, std::uint64_t address, std::int64_t bytes) {
  constexpr std::int64_t part = 1 << 20;
  const int place = places_[static_cast<std::size_t>(rank)];
  for (std::int64_t done = 0; done < bytes; done += part) {
    if (done > 0) run_ != nullptr ? run_->wait([] { return true; }) : (void)progress_.make_progress();
    const std::int64_t some = std::min(part, bytes - done);
    if (!areas_.copy_from(place, to + done, address + static_cast<std::uint64_t>(done), some)) return false;
  }
  return true;
}

void SharedTeam::wait_for(int rank) {
  bool posted = false;
  for (int i = 0; i < looks && !posted; ++i) posted = has_posted(rank);
  if (!posted) await([this, rank] { return has_posted(rank); });
  if (time_ != nullptr && rank != rank_) [[unlikely]]
    time_->read_line(!posted);
}

void SharedTeam::wait_for_all() {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) wait_for(r);
  }
  heard_from_all();
}

void SharedTeam::begin_buffer_step() {
  begin_step();
  buffer_turn_ ^= 1;
  last_buffer_step_ = step_;
}

std::byte* SharedTeam::buffer_to_write() {
  wait_done(buffer_used_[buffer_turn_]);
  wait_done(last_piece_step_);
  buffer_used_[buffer_turn_] = step_;
  return buffer(rank_, buffer_turn_);
}

void SharedTeam::take_piece() {
  piece_turn_ = (piece_turn_ + 1) % pieces_;
  piece_used_before_ = piece_used_[piece_turn_];
  piece_used_[piece_turn_] = last_piece_step_ = step_;
}

// Others may have written a piece here before, so the step of its last use counts, whoever wrote.
std::byte* SharedTeam::piece_to_write() {
  wait_done(last_buffer_step_);
  wait_done(piece_used_before_);
  return piece();
}

std::byte* SharedTeam::piece() const { return buffers_ + piece_turn_ * piece_bytes_; }

void SharedTeam::end_step() {
  Control& own = control_[rank_];
  own.done.store(step_, std::memory_order_seq_cst);
  if (own.done_wanted.load(std::memory_order_seq_cst) == 0) return;
  own.done_wanted.store(0, std::memory_order_seq_cst);
  wake_others();
}

// Notes the least that all are done with, which is usually more than asked for.
void SharedTeam::wait_done_slowly(std::uint32_t step) {
  std::uint32_t least = step_ - 1;
  bool waited = false;
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    Control& of = control_[r];
    // Said before it is looked at again, and again each time, for it is unsaid with any step that is noted.
    const auto is_done = [&of, step] {
      if (of.done_wanted.load(std::memory_order_seq_cst) == 0)
        of.done_wanted.store(1, std::memory_order_seq_cst);
      return !before(of.done.load(std::memory_order_seq_cst), step);
    };
    std::uint32_t done = of.done.load(std::memory_order_acquire);
    if (before(done, step)) {
      waited = true;
      if (!is_done()) await(is_done);
      done = of.done.load(std::memory_order_acquire);
    }
    if (before(done, least)) least = done;
  }
  // All at once, because none depends on another.
  if (time_ != nullptr) [[unlikely]]
    time_->read_line(waited);
  known_done_ = least;
}

}  // namespace hawser
