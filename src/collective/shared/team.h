// SharedTeam: the ranks of a communicator that all live on one node, working together in one shared area.
//
// All ranks go through the same sequence of steps, counted alike. In a step a rank may post: it writes
// something and then the step's number. Each rank has a few lines (number and up to 48 bytes in one cache
// line, so that a small contribution crosses between cores in one transfer) and two buffers for more. One
// exchange therefore takes one step, because what is posted in the next step goes to another line and buffer.
// Few ranks have room for some cache lines beside each line, too, which are free whenever the line is.
//
// Before a line or buffer is written again, its readers must be done with what it held. After a step in which
// this rank heard from all others, everyone is done with the step before; otherwise the ranks' `done` lines
// tell. A rank may write its lines of the next steps, too, before it has read those of this one: then a line
// says how many steps its writer is ahead of what it reads.
//
// Threads: none; under the process's lock, like everything.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "channel/shared_areas.h"
#include "communicator/trouble.h"
#include "message/progress.h"

namespace hawser {

class BackgroundRun;

class SharedTeam {
 public:
  static constexpr std::int64_t line_bytes = 48;
  // Of the next place, whose cache lines are fetched ahead if they are more than a few.
  static constexpr std::int64_t few_lines = 512, most_ahead = 2 << 10;

  // Whether an area of this size serves this many ranks.
  static bool fits(int ranks, std::int64_t area_bytes);
  // How large each buffer is then.
  static std::int64_t buffer_bytes(int ranks, std::int64_t area_bytes);
  // Makes an area ready for a new team: by one process, before any other knows of it.
  static void clear(std::byte* area, std::int64_t area_bytes, int ranks);

  // Whether the ranks of the team that had this area are done with it for good; and whether each is, or has
  // said that it stays for a time that nobody may wait for.
  static bool all_left(const std::byte* area, int ranks);
  static bool all_left_or_stay(const std::byte* area, int ranks);

  // `places`: where each rank is among the node's processes.
  SharedTeam(std::byte* area, std::int64_t area_bytes, int rank, std::vector<int> places, SharedAreas& areas,
             Progress& progress, StopSign stop);

  // This rank comes here no more. Rank 0 may wait for that.
  void leave() { note_presence(Presence::left); }
  // Nor does it begin anything new, but it leaves later.
  void stay() { note_presence(Presence::stays); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::int64_t buffer_bytes() const { return buffer_bytes_; }
  std::int64_t piece_bytes() const { return piece_bytes_; }

  // From here on the steps are taken by this run, which waits while the program goes on; null: by the caller.
  void take_steps_by(BackgroundRun* run) { run_ = run; }
  // Throws Stopped if nothing can be done together any more.
  void stop_if_told() {
    if (stop_.raised()) throw Stopped{stop_.why()};
  }

  // --- A step. Every rank calls begin_step and then posts, waits for others, or neither.
  void begin_step() { ++step_; }

  // --- Steps ahead. This rank has written its lines of this step and perhaps of the next ones, `written` in
  // all, and has read none. Between the two calls it begins and posts the step behind those. Not with
  // buffers, nor where some are read by others than all.
  bool may_go_ahead(std::uint32_t written);
  void go_ahead(std::uint32_t written) {
    ahead_ = written;
    step_ += written - 1;
    marked_until_ = step_ + 2 + lines_;
  }
  void come_back() { step_ -= std::exchange(ahead_, 0); }

  // This rank's line, free to be written; then post(). If only some ranks read it, a bit for each, only they
  // are waited for when it is used again.
  using RankSet = std::uint64_t;
  static constexpr int most_in_set = 64;
  static constexpr RankSet set_of(int rank) { return RankSet{1} << rank; }
  static constexpr RankSet everyone = ~RankSet{0};
  std::byte* line_to_write(RankSet readers = everyone);
  // Publishes what was written in this step.
  void post();
  // Where each rank writes, in a step of which all know how many bytes it writes: in its line, beside it, or
  // in its buffer.
  struct Places {
    std::byte* first;
    std::int64_t apart;
    std::byte* operator[](int rank) const { return first + rank * apart; }
  };
  Places places_for(std::int64_t bytes) const {
    if (bytes <= line_bytes) return {line(0).payload, lines_ * static_cast<std::int64_t>(sizeof(Line))};
    if (fits_line(bytes)) return {beside_lines_ + in_lines(step_) * beside_line, lines_ * beside_line};
    return {buffer(0, buffer_turn_), 2 * buffer_bytes_};
  }
  // In it or beside it.
  bool fits_line(std::int64_t bytes) const { return bytes <= most_in_line_; }
  // Brings here what the others write in such a step, before it is known that they have.
  void fetch_written(std::int64_t bytes) const;
  // The same where only those at first, first + stride, ... before end wait for it.
  void post_to(int first, int end, int stride = 1);
  void post_to(int rank) { post_to(rank, rank + 1); }
  // A bit for each.
  void post_to_those(RankSet ranks);

  // Waits for something that is not of the team. Throws Stopped as every wait does.
  void await(FunctionRef<bool()> done);
  // Waits until a rank has posted in this step.
  void wait_for(int rank) {
    const Line& awaited = line(rank);
    const bool posted =
        awaited.posted.load(std::memory_order_acquire) == step_ || look_or_await(awaited, rank);
    heard_ahead_ |= awaited.ahead;
    if (time_ != nullptr && rank != rank_) [[unlikely]]
      time_->read_line(!posted);
  }
  // Or until something else has come. False: it has, first.
  bool wait_for_or(int rank, FunctionRef<bool()> other);
  void wait_for_all();
  // Before this rank waits for others in a step in which each waits for all: where ranks share cores, it
  // waits for all of them at once. Who has posted waits for the same ones, and needs no turn on its core.
  void wait_together() {
    if (mates_ != nullptr && run_ == nullptr) wait_for_all_in_turns();
  }
  // To be called when this rank has waited for every other one by itself.
  void heard_from_all() {
    if (heard_ahead_ != 0) [[unlikely]]
      return note_who_is_ahead();
    known_done_ = step_ - 1;
  }
  // When this rank has heard, perhaps through others, that all posted in the step before, or so many steps
  // ago.
  void heard_of_all(std::uint32_t steps_ago = 1) { known_done_ = step_ - steps_ago - 1; }
  // --- Levels. If each of many ranks reads a line of every other, n * n lines move. So from 8 on they form
  // groups of consecutive ranks, which on most machines share a cache; a group's first rank leads it. Where
  // ranks share cores, all are one group: who waits there for others has its turn on a core once more.
  bool in_levels() const { return ranks_ > largest_flat; }
  bool in_groups() const { return group_ < ranks_; }
  int leader_of(int rank) const { return rank - rank % group_; }
  bool leads() const { return leader_of(rank_) == rank_; }
  // Who does it where data go to a root: the next rank where it would be the root, which then is not waited
  // for before it has done its part of the operation before. `leader`: of the group.
  int head_of(int leader, int root) const {
    return leader == root && leader + 1 < ranks_ ? leader + 1 : leader;
  }
  int group() const { return group_; }
  // Of the group of this rank.
  int group_end() const { return std::min(leader_of(rank_) + group_, ranks_); }
  // Whether ranks share cores.
  bool crowded() const { return crowded_; }
  const std::byte* line_of(int rank) const { return line(rank).payload; }
  // What the caller copied into its line or buffer, or read out of others', where time is virtual.
  void note_copied_in(std::int64_t bytes) {
    if (time_ != nullptr) [[unlikely]]
      time_->copied_in(bytes);
  }
  void note_copied_out(std::int64_t bytes) {
    if (time_ != nullptr) [[unlikely]]
      time_->copied_out(bytes);
  }
  // How many bytes the rank's contribution has in all, where ranks check that they agree; before post().
  void tell_amount(std::int64_t bytes) { line(rank_).amount = bytes; }
  std::int64_t amount_of(int rank) const { return line(rank).amount; }

  // --- Whether the next step would have to wait: for a rank's line; and to write this rank's own line, its
  // buffer besides, or a piece besides. Asked before the step begins.
  bool has_posted_next(int rank) const {
    return next_line(rank).posted.load(std::memory_order_acquire) == step_ + 1;
  }
  // In this step, all but this rank.
  bool have_all_posted() const {
    const Line* of = &line(0);
    for (int r = 0; r < ranks_; ++r, of += lines_)
      if (r != rank_ && of->posted.load(std::memory_order_acquire) != step_) return false;
    return true;
  }
  bool is_told_to_stop() { return stop_.raised(); }
  // The ranks before that one, but this.
  bool have_posted_next(int end) const;
  std::int64_t next_amount_of(int rank) const { return next_line(rank).amount; }
  bool may_write_line() { return may_write_line_of(step_ + 1); }
  bool may_write_buffer();
  bool may_write_piece();
  bool may_write_small_ring(std::int64_t bytes);

  // --- Buffers of the ranks. All ranks call begin_buffer_step (which is also begin_step).
  void begin_buffer_step();
  // In the step after a buffer step: the buffers are still read.
  void keep_buffers() { buffer_used_[buffer_turn_] = last_buffer_step_ = step_; }
  std::byte* buffer_to_write();
  std::byte* buffer_of(int rank) const { return buffer(rank, buffer_turn_); }

  // --- Both buffers of a rank as a ring, in steps in which it writes only if it has something for others, so
  // that it may be many steps ahead of them. All ranks call begin_ring_step (which is also begin_step).
  void begin_ring_step() {
    begin_small_ring_step();
    last_buffer_step_ = step_;
  }
  // Room for up to half of it. Others find it where the line says that it is.
  struct RingPlace {
    std::byte* memory;
    std::int64_t offset;
  };
  RingPlace ring_to_write(std::int64_t bytes, RankSet readers);
  const std::byte* ring_of(int rank, std::int64_t offset) const { return buffer(rank, 0) + offset; }

  // --- The same with memory of its own, so that nothing waits for steps with buffers, nor these for it. Not
  // where all is in levels.
  void begin_small_ring_step() {
    if (last_ring_step_ != step_) first_ring_step_ = step_ + 1;
    begin_step();
    last_ring_step_ = step_;
  }
  std::int64_t most_in_small_ring() const { return small_ring_.bytes / 4; }
  RingPlace small_ring_to_write(std::int64_t bytes, RankSet readers);
  bool is_in_small_ring(std::int64_t offset, std::int64_t bytes) const {
    return offset >= 0 && offset <= small_ring_.bytes - bytes;
  }
  const std::byte* small_ring_of(int rank, std::int64_t offset) const { return small_ring(rank) + offset; }
  // After post(): brings the cache lines of the next place here, which is probably as large. Meanwhile the
  // program does something else.
  void fetch_next_in_small_ring(std::int64_t bytes) const;
  // Before it is known that another rank has written there: brings what it will probably have written in its
  // next place, so that this comes together with the line that says so.
  void fetch_next_of(int rank, std::int64_t bytes);

  // --- All buffers as one, cut into pieces, in steps in which only one rank writes.
  void begin_piece_step() {
    begin_step();
    take_piece();
  }
  // The second half of it, for who learns only by waiting that this is such a step.
  void take_piece();
  std::byte* piece_to_write();
  std::byte* piece() const;
  void fetch_next_piece(std::int64_t bytes) const;  // as fetch_next_in_small_ring()
  // As fetch_next_of(): some of a piece.
  void fetch_from_next_piece(std::int64_t offset, std::int64_t bytes) const;

  // Copies from the memory of another rank's process. False: that is not possible.
  bool copy_from(int rank, std::byte* to, std::uint64_t address, std::int64_t bytes);

  // This rank is done with everything up to here. Ends every step with buffers or pieces.
  void end_step();
  // Ends every other step in which this rank did not wait for all others. There are more lines than steps
  // between two notes, so the note need not be made every time.
  void end_line_step() {
    if ((step_ & (lines_ / 4 - 1)) == 0) end_step();
  }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint32_t> posted;  // the step
    std::uint32_t ahead;                // of the steps before, so many were not read yet by this rank
    std::int64_t amount;
    std::byte payload[line_bytes];
  };
  static_assert(sizeof(Line) == 64, "a small contribution must be one cache line");
  // Of each rank: so many steps it may be ahead of those who read.
  static constexpr std::uint32_t most_lines = 128, least_lines = 32;
  static_assert((most_lines & (most_lines - 1)) == 0 && (least_lines & (least_lines - 1)) == 0);
  enum class Presence : std::uint32_t { here, stays, left };
  struct alignas(128) Control {
    std::atomic<std::uint32_t> done;
    std::atomic<std::uint32_t> done_wanted;  // somebody waits for `done`, perhaps asleep
    std::atomic<Presence> presence;
  };
  static bool all_are(const std::byte* area, int ranks, Presence least);
  void note_presence(Presence presence);
  // In the area: the controls of all ranks, their lines, what is beside these, their small rings, their
  // buffers.
  static std::uint32_t lines_in(int ranks, std::int64_t area_bytes);
  static std::int64_t bytes_beside_lines(int ranks, std::int64_t area_bytes);
  static std::int64_t small_ring_bytes(int ranks, std::int64_t area_bytes);
  static std::int64_t bytes_before_buffers(int ranks, std::int64_t area_bytes);
  static constexpr std::int64_t beside_line = 256;  // bytes, if there are any
  static constexpr std::uint32_t max_pieces = 16;
  static constexpr std::uint32_t ring_uses = most_lines;  // places in a ring, not read yet by all
  static constexpr int largest_flat = 16;
  static int group_of(int ranks, bool crowded);

  std::uint32_t in_lines(std::uint32_t step) const { return step & (lines_ - 1); }
  Line& line(int rank) const {
    return lines_of_all_[static_cast<std::uint32_t>(rank) * lines_ + in_lines(step_)];
  }
  const Line& next_line(int rank) const {
    return lines_of_all_[static_cast<std::uint32_t>(rank) * lines_ + in_lines(step_ + 1)];
  }
  std::byte* buffer(int rank, std::uint32_t turn) const {
    return buffers_ + (2 * rank + static_cast<int>(turn)) * buffer_bytes_;
  }
  std::byte* small_ring(int rank) const { return buffers_ + (rank - ranks_) * small_ring_.bytes; }
  bool has_posted(int rank) const { return line(rank).posted.load(std::memory_order_acquire) == step_; }
  static bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
  // Waits until all ranks are done with `step`.
  void wait_done(std::uint32_t step) {
    if (before(known_done_, step)) [[unlikely]]
      wait_done_slowly(step);
  }
  void wait_done(std::uint32_t step, RankSet readers) {
    if (before(known_done_, step)) [[unlikely]]
      readers == everyone ? wait_done_slowly(step) : wait_done_by(readers, step);
  }
  // The same, only asked.
  bool are_done(std::uint32_t step, RankSet readers = everyone) {
    return !before(known_done_, step) ||
           (readers == everyone ? look_done(step) : look_done_by(readers, step));
  }
  bool look_done(std::uint32_t step);
  bool look_done_by(RankSet readers, std::uint32_t step);
  bool may_write_line_of(std::uint32_t step) {
    const Use& used = line_used_[in_lines(step)];
    return are_done(used.step, used.readers);
  }
  void fetch_ahead(const std::byte* place, std::int64_t bytes) const;
  void wait_done_slowly(std::uint32_t needed);
  void wait_done_by(RankSet readers, std::uint32_t needed);
  bool await_done(int rank, std::uint32_t step, std::uint32_t& done);
  std::uint32_t step_to_await(std::uint32_t step) const;
  void await(const std::atomic<std::uint32_t>& word, std::uint32_t value, int writer,
             FunctionRef<bool()> done);
  bool take_turn(FunctionRef<bool()> done, FunctionRef<bool(int)> waits_in_vain);
  void wait_for_all_in_turns();
  bool take_turns(FunctionRef<bool()> turn);
  int looks_if_crowded(int rank) const;
  void await_virtual_time();
  bool look_or_await(const Line& awaited, int rank);
  void note_who_is_ahead();
  void wake_others();
  [[gnu::always_inline]] inline void show_line();

  Control* control_;
  Line* lines_of_all_;
  std::uint32_t lines_;  // of a rank; a power of two
  std::byte* beside_lines_;
  std::int64_t most_in_line_;
  std::byte* buffers_;
  std::int64_t buffer_bytes_;
  std::int64_t piece_bytes_;
  std::uint32_t pieces_;
  int rank_;
  int ranks_;
  int group_;
  std::vector<int> places_;
  std::vector<int> rank_at_;  // place, where ranks share cores; -1: a process that is not of the team
  SharedAreas& areas_;
  Progress& progress_;
  StopSign stop_;
  BackgroundRun* run_ = nullptr;
  AreaTime* const time_ = areas_.virtual_time();  // null where time is real
  CoreMates* const mates_ = areas_.mates();
  const bool crowded_ = areas_.crowded();

  std::uint32_t step_ = 0;
  int waits_without_turns_ = 0;
  std::uint32_t ahead_ = 0;         // so many steps were written and not read before this one
  std::uint32_t marked_until_ = 0;  // lines of steps before may say that this rank was ahead
  std::uint32_t heard_ahead_ = 0;   // not 0: one that this rank waited for was ahead
  std::uint32_t known_done_ = 0;    // all ranks are done with this step and those before
  struct Use {
    std::uint32_t step;
    RankSet readers;
  };
  Use line_used_[most_lines] = {};
  std::uint32_t done_of_[most_in_set] = {};  // where it was asked for one rank alone
  std::uint32_t buffer_turn_ = 0;
  std::uint32_t buffer_used_[2] = {};
  // Places follow each other, in bytes that never begin anew.
  struct RingUse {
    std::int64_t end;
    Use use;
  };
  struct Ring {
    struct Place {
      std::int64_t begin, at;
    };
    // Of the next bytes, which are not divided.
    Place next_place(std::int64_t wanted) const;
    static std::int64_t whole_lines(std::int64_t wanted) { return (wanted + 63) & ~std::int64_t{63}; }
    bool is_full_to(std::int64_t end_wanted) const {
      return end_wanted - begin > bytes || next - oldest == ring_uses;
    }
    const Use& oldest_use() const { return used[oldest % ring_uses].use; }
    void forget_oldest() { begin = used[oldest++ % ring_uses].end; }

    std::int64_t bytes = 0;
    std::int64_t begin = 0, end = 0;     // of all that is in use
    std::int64_t end_at = 0;             // its offset in the ring
    std::uint32_t oldest = 0, next = 0;  // counted on, of `used`
    RingUse used[ring_uses] = {};
  };
  void empty_small_ring();
  std::int64_t take_place(Ring& ring, std::int64_t bytes, RankSet readers);
  Ring ring_;  // of both buffers
  Ring small_ring_;
  std::uint32_t last_small_ring_use_ = 0;
  std::uint32_t last_ring_use_ = 0;
  std::uint32_t first_ring_step_ = 0, last_ring_step_ = 0;  // of those without others in between
  std::uint32_t piece_turn_ = 0;
  std::uint32_t piece_used_[max_pieces] = {};
  std::uint32_t piece_used_before_ = 0;  // of the piece of this step, its last use before
  std::uint32_t last_buffer_step_ = 0;   // of any rank
  std::uint32_t last_piece_step_ = 0;
};

}  // namespace hawser
