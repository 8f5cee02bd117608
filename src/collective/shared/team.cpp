#include "collective/shared/team.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/assert.h"
#include "base/cross_core_copy.h"
#include "channel/core_mates.h"
#include "collective/shared/background_run.h"

namespace hawser {

namespace {

constexpr std::int64_t least_buffer_bytes = 1024;
constexpr std::int64_t wanted_piece_bytes = 16 << 10;
// Small data go through the first part of a ring, which stays in the caches.
constexpr std::int64_t most_ring_bytes = 2 << 20, first_part_of_ring = 256 << 10;
// A neighbour that runs answers within this many looks; worth more than a pass of progress, and to leave a
// run's stack and come back costs more.
constexpr int looks = 25, looks_of_run = 100;

}  // namespace

// Many lines where few ranks leave room for them.
std::uint32_t SharedTeam::lines_in(int ranks, std::int64_t area_bytes) {
  constexpr std::int64_t share = 4;
  const std::int64_t wanted = share * ranks * most_lines * static_cast<std::int64_t>(sizeof(Line));
  return ranks <= largest_flat && wanted <= area_bytes ? most_lines : least_lines;
}

std::int64_t SharedTeam::bytes_before_buffers(int ranks, std::int64_t area_bytes) {
  return ranks * (static_cast<std::int64_t>(sizeof(Control) + lines_in(ranks, area_bytes) * sizeof(Line)) +
                  bytes_beside_lines(ranks, area_bytes) + small_ring_bytes(ranks, area_bytes));
}

// Of a rank.
std::int64_t SharedTeam::bytes_beside_lines(int ranks, std::int64_t area_bytes) {
  constexpr std::int64_t share = 16;
  const std::int64_t wanted = lines_in(ranks, area_bytes) * beside_line;
  return ranks <= largest_flat && share * ranks * wanted <= area_bytes ? wanted : 0;
}

std::int64_t SharedTeam::small_ring_bytes(int ranks, std::int64_t area_bytes) {
  constexpr std::int64_t share = 16, most = 128 << 10;
  if (ranks > largest_flat) return 0;
  return std::min(most, area_bytes / share / ranks) & ~std::int64_t{63};
}

std::int64_t SharedTeam::buffer_bytes(int ranks, std::int64_t area_bytes) {
  return (area_bytes - bytes_before_buffers(ranks, area_bytes)) / (2 * ranks) & ~std::int64_t{63};
}

bool SharedTeam::fits(int ranks, std::int64_t area_bytes) {
  return buffer_bytes(ranks, area_bytes) >= least_buffer_bytes;
}

void SharedTeam::clear(std::byte* area, std::int64_t area_bytes, int ranks) {
  auto* const control = reinterpret_cast<Control*>(area);
  for (int r = 0; r < ranks; ++r) new (control + r) Control{};
  auto* const lines = reinterpret_cast<Line*>(control + ranks);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(ranks) * lines_in(ranks, area_bytes); ++i)
    new (lines + i) Line{};
}

bool SharedTeam::all_are(const std::byte* area, int ranks, Presence least) {
  const auto* control = reinterpret_cast<const Control*>(area);
  return std::all_of(control, control + ranks, [least](const Control& of) {
    return of.presence.load(std::memory_order_acquire) >= least;
  });
}

bool SharedTeam::all_left(const std::byte* area, int ranks) { return all_are(area, ranks, Presence::left); }

bool SharedTeam::all_left_or_stay(const std::byte* area, int ranks) {
  return all_are(area, ranks, Presence::stays);
}

void SharedTeam::note_presence(Presence presence) {
  control_[rank_].presence.store(presence, std::memory_order_release);
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
  for (int r = 0; mates_ != nullptr && r < ranks_; ++r) {
    const auto place = static_cast<std::size_t>(places_[static_cast<std::size_t>(r)]);
    rank_at_.resize(std::max(rank_at_.size(), place + 1), -1);
    rank_at_[place] = r;
  }
  lines_of_all_ = reinterpret_cast<Line*>(control_ + ranks_);
  lines_ = lines_in(ranks_, area_bytes);
  beside_lines_ = reinterpret_cast<std::byte*>(lines_of_all_ + static_cast<std::uint32_t>(ranks_) * lines_);
  most_in_line_ = bytes_beside_lines(ranks_, area_bytes) > 0 ? beside_line : line_bytes;
  buffers_ = area + bytes_before_buffers(ranks_, area_bytes);
  buffer_bytes_ = buffer_bytes(ranks_, area_bytes);
  const std::int64_t all = 2 * ranks_ * buffer_bytes_;
  ring_.bytes = std::min(2 * buffer_bytes_, most_ring_bytes);
  small_ring_.bytes = small_ring_bytes(ranks_, area_bytes);
  piece_bytes_ = std::min(wanted_piece_bytes, (all / 4) & ~std::int64_t{63});
  pieces_ = std::min(max_pieces, static_cast<std::uint32_t>(all / piece_bytes_));
}

// Small enough that a leader hears from few, in its group and of the leaders, and as caches are shared.
int SharedTeam::group_of(int ranks, bool crowded) {
  constexpr int fewest = 8;
  if (crowded || ranks < fewest) return ranks;
  if (ranks <= 24) return 4;
  if (ranks <= 80) return 8;
  return ranks <= 144 ? 12 : 16;
}

void SharedTeam::wake_others() {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) areas_.wake(places_[static_cast<std::size_t>(r)]);
  }
}

std::byte* SharedTeam::line_to_write(RankSet readers) {
  Use& used = line_used_[in_lines(step_)];
  wait_done(used.step, used.readers);
  used = {step_, readers};
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
  Line& own = line(rank_);
  // The reader's load of it would cost two cores that share no cache a tenth of a microsecond, had it been
  // stored now.
  if (before(step_, marked_until_)) own.ahead = ahead_;
  own.posted.store(step_, std::memory_order_release);
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

void SharedTeam::post_to_those(RankSet ranks) {
  show_line();
  for (; ranks != 0; ranks &= ranks - 1)
    areas_.wake(places_[static_cast<std::size_t>(std::countr_zero(ranks))]);
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

// After a look in vain. Whether looks were enough.
bool SharedTeam::look_or_await(const Line& awaited, int rank) {
  const auto has_come = [&awaited, step = step_] {
    return awaited.posted.load(std::memory_order_acquire) == step;
  };
  bool posted = false;
  if (mates_ == nullptr) [[likely]] {
    pause_cpu();
    posted = look_with_pauses((run_ != nullptr ? looks_of_run : looks) - 1, has_come);
  } else {
    for (int i = looks_if_crowded(rank) - 1; i > 0 && !posted; --i) posted = has_come();
  }
  if (!posted) await(awaited.posted, step_, rank, has_come);
  return posted;
}

bool SharedTeam::wait_for_or(int rank, FunctionRef<bool()> other) {
  bool posted = false;
  await([&] { return other() || (posted = has_posted(rank)); });
  if (time_ != nullptr && posted) [[unlikely]]
    time_->read_line(false);
  return posted;
}

void SharedTeam::wait_for_all() {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) wait_for(r);
  }
  heard_from_all();
}

// Who was ahead may not be done with so many of the steps before.
void SharedTeam::note_who_is_ahead() {
  std::uint32_t most = 0;
  for (int r = 0; r < ranks_; ++r)
    if (r != rank_) most = std::max(most, line(r).ahead);
  const std::uint32_t done = step_ - 1 - most;
  if (before(known_done_, done)) known_done_ = done;
  heard_ahead_ = 0;
}

void SharedTeam::begin_buffer_step() {
  begin_step();
  buffer_turn_ ^= 1;
  last_buffer_step_ = step_;
}

std::byte* SharedTeam::buffer_to_write() {
  wait_done(buffer_used_[buffer_turn_]);
  wait_done(last_ring_use_);
  wait_done(last_piece_step_);
  buffer_used_[buffer_turn_] = step_;
  return buffer(rank_, buffer_turn_);
}

SharedTeam::Ring::Place SharedTeam::Ring::next_place(std::int64_t wanted) const {
  const std::int64_t part = 8 * wanted > first_part_of_ring ? bytes : std::min(bytes, first_part_of_ring);
  return end_at + wanted > part ? Place{end - end_at + bytes, 0} : Place{end, end_at};
}

// Its offset.
std::int64_t SharedTeam::take_place(Ring& ring, std::int64_t bytes, RankSet readers) {
  HAWSER_ASSERT(2 * bytes <= ring.bytes);
  const Ring::Place place = ring.next_place(bytes);
  ring.end = place.begin + Ring::whole_lines(bytes);
  ring.end_at = place.at + Ring::whole_lines(bytes);
  while (ring.is_full_to(ring.end)) {
    const Use oldest = ring.oldest_use();
    ring.forget_oldest();
    wait_done(oldest.step, oldest.readers);
  }
  ring.used[ring.next++ % ring_uses] = {ring.end, {step_, readers}};
  return place.at;
}

SharedTeam::RingPlace SharedTeam::ring_to_write(std::int64_t bytes, RankSet readers) {
  for (const std::uint32_t used : buffer_used_) wait_done(used);
  wait_done(last_piece_step_);
  const std::int64_t offset = take_place(ring_, bytes, readers);
  last_ring_use_ = step_;
  return {buffer(rank_, 0) + offset, offset};
}

// If all are done with everything in it, a ring begins anew, in lines that its readers have, as buffers are,
// too. If they fetch the next ones while they still wait, the writer would have to wait for these.
void SharedTeam::empty_small_ring() {
  if (before(known_done_, last_small_ring_use_)) return;
  small_ring_.begin = small_ring_.end;
  small_ring_.end_at = 0;
  small_ring_.oldest = small_ring_.next;
}

SharedTeam::RingPlace SharedTeam::small_ring_to_write(std::int64_t bytes, RankSet readers) {
  empty_small_ring();
  last_small_ring_use_ = step_;
  const std::int64_t offset = take_place(small_ring_, bytes, readers);
  return {small_ring(rank_) + offset, offset};
}

// Few lines come as fast when they are written, and their readers fetch the next ones, too. Many are written
// past the caches.
void SharedTeam::fetch_ahead(const std::byte* place, std::int64_t bytes) const {
  if (bytes <= few_lines || bytes > most_ahead || crowded_) return;
  for (std::int64_t at = 0; at < bytes; at += 64) fetch_for_writing(place + at);
}

void SharedTeam::fetch_next_in_small_ring(std::int64_t bytes) const {
  fetch_ahead(small_ring(rank_) + small_ring_.next_place(bytes).at, bytes);
}

void SharedTeam::fetch_next_piece(std::int64_t bytes) const {
  fetch_ahead(buffers_ + (piece_turn_ + 1) % pieces_ * piece_bytes_, bytes);
}

void SharedTeam::fetch_next_of(int rank, std::int64_t bytes) {
  empty_small_ring();
  fetch_for_reading(small_ring(rank) + small_ring_.next_place(bytes).at, bytes);
}

void SharedTeam::fetch_from_next_piece(std::int64_t offset, std::int64_t bytes) const {
  fetch_for_reading(buffers_ + (piece_turn_ + 1) % pieces_ * piece_bytes_ + offset, bytes);
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

// Who is many steps ahead would be told of each step, and take one more. So it lets the others go half the
// way first, of which they tell in steps with rings.
std::uint32_t SharedTeam::step_to_await(std::uint32_t step) const {
  const std::uint32_t half = step + (step_ - step) / 2;
  return last_ring_step_ == step_ && !before(half, first_ring_step_) && step_ - step > 2 ? half : step;
}

// Whether it had to wait, and what the rank was done with at last.
bool SharedTeam::await_done(int rank, std::uint32_t step, std::uint32_t& done) {
  Control& of = control_[rank];
  done = of.done.load(std::memory_order_acquire);
  if (!before(done, step)) return false;
  // Said before it is looked at again, and again each time, for it is unsaid with any step that is noted.
  const auto is_done = [&of, step] {
    if (of.done_wanted.load(std::memory_order_seq_cst) == 0)
      of.done_wanted.store(1, std::memory_order_seq_cst);
    return !before(of.done.load(std::memory_order_seq_cst), step);
  };
  if (!is_done()) await(of.done, step, rank, is_done);
  done = of.done.load(std::memory_order_acquire);
  return true;
}

// Notes the least that all are done with, which is usually more than asked for.
void SharedTeam::wait_done_slowly(std::uint32_t needed) {
  const std::uint32_t step = step_to_await(needed);
  std::uint32_t least = step_ - 1;
  bool waited = false;
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    std::uint32_t done;
    waited |= await_done(r, step, done);
    if (before(done, least)) least = done;
  }
  // All at once, because none depends on another.
  if (time_ != nullptr) [[unlikely]]
    time_->read_line(waited);
  known_done_ = least;
}

void SharedTeam::wait_done_by(RankSet readers, std::uint32_t needed) {
  const std::uint32_t step = step_to_await(needed);
  bool waited = false, looked = false;
  for (; readers != 0; readers &= readers - 1) {
    const int r = std::countr_zero(readers);
    if (!before(done_of_[r], needed)) continue;
    looked = true;
    waited |= await_done(r, step, done_of_[r]);
  }
  if (time_ != nullptr && looked) [[unlikely]]
    time_->read_line(waited);
}

bool SharedTeam::look_done(std::uint32_t step) {
  if (time_ != nullptr) [[unlikely]]
    time_->read_line(false);
  std::uint32_t least = step_;
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    const std::uint32_t done = control_[r].done.load(std::memory_order_acquire);
    if (before(done, step)) return false;
    if (before(done, least)) least = done;
  }
  known_done_ = least;
  return true;
}

bool SharedTeam::look_done_by(RankSet readers, std::uint32_t step) {
  bool looked = false, all_done = true;
  for (; readers != 0 && all_done; readers &= readers - 1) {
    const int r = std::countr_zero(readers);
    if (!before(done_of_[r], step)) continue;
    looked = true;
    done_of_[r] = control_[r].done.load(std::memory_order_acquire);
    all_done = !before(done_of_[r], step);
  }
  if (time_ != nullptr && looked) [[unlikely]]
    time_->read_line(false);
  return all_done;
}

void SharedTeam::fetch_written(std::int64_t bytes) const {
  const Places places = places_for(bytes);
  for (int r = 0; r < ranks_; ++r)
    if (r != rank_) fetch_for_reading(places[r], bytes);
}

bool SharedTeam::have_posted_next(int end) const {
  const Line* of = &next_line(0);
  for (int r = 0; r < end; ++r, of += lines_)
    if (r != rank_ && of->posted.load(std::memory_order_acquire) != step_ + 1) return false;
  return true;
}

// Few enough that a line is always known to be free when its turn comes again: all ranks note what they are
// done with, or are heard from, once in so many steps.
bool SharedTeam::may_go_ahead(std::uint32_t written) {
  return written <= lines_ / 4 && may_write_line_of(step_ + written);
}

bool SharedTeam::may_write_buffer() {
  return may_write_line() && are_done(buffer_used_[buffer_turn_ ^ 1]) && are_done(last_ring_use_) &&
         are_done(last_piece_step_);
}

// What its readers are done with is forgotten at once.
bool SharedTeam::may_write_small_ring(std::int64_t bytes) {
  if (!may_write_line()) return false;
  empty_small_ring();
  const std::int64_t end = small_ring_.next_place(bytes).begin + Ring::whole_lines(bytes);
  while (small_ring_.is_full_to(end)) {
    const Use& oldest = small_ring_.oldest_use();
    if (!are_done(oldest.step, oldest.readers)) return false;
    small_ring_.forget_oldest();
  }
  return true;
}

bool SharedTeam::may_write_piece() {
  return may_write_line() && are_done(last_buffer_step_) &&
         are_done(piece_used_[(piece_turn_ + 1) % pieces_]);
}

}  // namespace hawser
