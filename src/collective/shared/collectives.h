// SharedCollectives: collective operations of a SharedTeam straight in shared memory: every contribution is
// written once and read by those who need it, with no messages, matching or copies in between.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/cross_core_copy.h"
#include "base/function_ref.h"
#include "collective/call.h"
#include "collective/shared/measured_ways.h"
#include "collective/shared/team.h"
#include "collective/shared/vector_forms.h"
#include "datatype/type_packer.h"

namespace hawser {

constexpr bool has_root(Collective kind) {
  switch (kind) {
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
      return true;
    default:
      return false;
  }
}

// Into memory that others read. So many bytes may have been fetched ahead (SharedTeam), so no fewer are
// written past the caches.
inline void copy_for_others(const std::byte* from, std::byte* to, std::int64_t bytes, CrossCoreCopy& copies) {
  if (bytes <= SharedTeam::most_ahead) {
    call_memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    copies.copy(to, from, static_cast<std::size_t>(bytes));
  }
}

// A buffer of the program as a sequence of bytes.
class ByteView {
 public:
  ByteView(const void* buffer, std::int64_t count, const Datatype& type)
      : size_(count * type.size),
        memory_(static_cast<std::byte*>(const_cast<void*>(buffer)) + type.true_lower_bound) {
    if (!type.contiguous && size_ != 0) {
      packer_ = TypePacker(buffer, count, type);
      memory_ = nullptr;
    }
  }
  ByteView(std::byte* memory, std::int64_t size) : size_(size), memory_(memory) {}
  std::int64_t size() const { return size_; }
  // Out of the buffer, into memory that others read.
  void read(std::int64_t offset, std::byte* to, std::int64_t bytes, CrossCoreCopy& copies);
  void write(std::int64_t offset, const std::byte* from, std::int64_t bytes);

 private:
  std::int64_t size_;
  std::byte* memory_;  // null: reached through the packer
  TypePacker packer_;
};

class SharedCollectives {
 public:
  SharedCollectives(std::byte* area, std::int64_t area_bytes, int rank, std::vector<int> places,
                    SharedAreas& areas, Progress& progress, StopSign stop, TeamWays::Policy policy,
                    bool steps_alike)
      : team_(area, area_bytes, rank, std::move(places), areas, progress, std::move(stop)),
        ways_(policy, team_.ranks(), team_.crowded()),
        time_(areas.virtual_time()),
        steps_alike_(steps_alike) {}

  // Whether messages serve no better. The answer is the same on all ranks.
  bool serves(const CollectiveCall& call) const;
  // Does an operation that it serves, in its present way. Throws Stopped when somebody that it waits for
  // never comes.
  void run(const CollectiveCall& call) { run(call, way_of(call)); }
  // By a way other than messages. False: some rank could not go it, and all did without.
  bool run(const CollectiveCall& call, Way way);
  // Before it is asked for the first time whether others have come: fetches little data that they may have
  // written.
  void fetch_expected(const CollectiveCall& call);
  // Whether it goes through the area to the end now, without waiting for anybody. False: perhaps not. Of a
  // rank that has to wait first see below.
  bool ends_at_once(const CollectiveCall& call);
  // Who has to come before the operation can go on at all; nobody: it is otherwise. When they have come,
  // whether it ends at once.
  enum class Awaited : std::uint8_t { nobody, root, all };
  Awaited awaited_first(const CollectiveCall& call) const;
  bool has_come(Awaited awaited, const CollectiveCall& call);
  bool ends_as_come(Awaited awaited, const CollectiveCall& call) const;
  // Whether all write and then hear from all, in one step, and this rank need not wait to write. Then it
  // does, and looks so many times whether all others have written. If they have, it has ended; else run()
  // does the rest, and does not wait either if all have written by then.
  bool writes_at_once(const CollectiveCall& call, int looks);
  bool has_ended() const { return half_ == Half::both; }
  // The same behind `written` operations that have only written, the first of them in this step; and when the
  // first has ended. What goes ahead has no more than a line.
  bool writes_ahead(const CollectiveCall& call, std::uint32_t written);
  void go_on_to_written() { team_.begin_step(); }
  bool have_all_written() { return come(team_.have_all_posted()); }
  void forget_written() {
    half_ = Half::both;
    looked_in_vain_ = false;
  }
  // How it is done now, and what measures that; null: there is nothing to choose.
  struct Choice {
    Way way;
    MeasuredWays* ways;
  };
  Choice choose(const CollectiveCall& call) {
    const std::int64_t bytes = known_bytes(call);
    if (bytes < TeamWays::least_with_choice) return {Way::area, nullptr};
    MeasuredWays* const ways = ways_.find(call.kind, bytes);
    return {ways != nullptr ? ways->current() : ways_.only_way(call.kind, bytes), ways};
  }
  // How it is done now; messages: not here. Alike on all ranks, which have done the same operations.
  Way way_of(const CollectiveCall& call) { return ways_.current(call.kind, known_bytes(call)); }
  // Of a block, or of a reduction's whole vector; what every rank knows, in a program that is right.
  std::int64_t amount_of(const CollectiveCall& call) const;
  // From here on as another team of the same ranks does them now.
  void take_ways_of(const SharedCollectives& other) { ways_ = other.ways_; }
  MeasuredWays* ways_of(const CollectiveCall& call) { return ways_.find(call.kind, known_bytes(call)); }
  // All ranks begin at once; and learn what the slowest of them took.
  void meet();
  std::uint64_t longest(std::uint64_t own) { return most_of(own); }
  // The bits that all ranks have set.
  std::uint64_t common_bits(std::uint64_t own) {
    return fold(own, [](std::uint64_t a, std::uint64_t b) { return a & b; });
  }
  // By the root of a broadcast, whose amount the others do not know: how it goes. They hear that in place of
  // the data, and ask for it afterwards.
  void announce(MeasuredWays::Turn turn);
  std::optional<MeasuredWays::Turn> take_announced() { return std::exchange(announced_, {}); }
  void barrier();
  // The two halves of a barrier: all are heard of by rank 0; and they learn that it goes on.
  void arrive();
  void release();
  // The same as release() where the step before was no arrive().
  void release_alone();
  // In pieces as large as they may be, or in small ones, which are read while more data come to the root:
  // alike by all ranks. `ready`: so many bytes are there; null: all are.
  enum class Pieces : std::uint8_t { largest, small };
  static constexpr std::int64_t most_undivided = 8192;  // no more is passed on as one
  void broadcast(ByteView data, int root, Pieces pieces = Pieces::largest,
                 const std::int64_t* ready = nullptr);
  // By the root, which has no data that would be right: all others notice another amount than they expect.
  void broadcast_nothing();
  // Whether the ranks gave different amounts to what was run last, as far as that is noticed; asking forgets
  // it.
  bool amounts_differed() { return std::exchange(amounts_differed_, false); }
  // The others' data go to the root, which has places for them. `own`: not of the root. `largest`: of all;
  // who has less knows it, too.
  void gather(ByteView own, std::int64_t largest, FunctionRef<ByteView(int)> place_of, int root);
  // Blocks of all ranks, of the root; and where this rank's goes, of the others.
  void scatter(ByteView all, ByteView own, int root);
  // Each has a block for every other one, and writes and reads these from `offset` on, perhaps in pieces.
  using PartWriter = FunctionRef<void(int to, std::int64_t offset, std::byte* out, std::int64_t bytes)>;
  using PartReader =
      FunctionRef<void(int from, std::int64_t offset, const std::byte* in, std::int64_t bytes)>;
  void exchange(std::int64_t block, PartWriter write, PartReader read);
  // Gatherv, scatterv, alltoallv, alltoallw (vector_forms.h): all blocks but the long ones, which go by
  // message.
  ShortBlocks short_blocks(Collective kind) const;
  bool has_long_blocks(const CollectiveCall& call) const;
  // Ranks, a bit each, whose block is a long one to them alone, or to this rank alone. The amounts differ.
  struct OtherWay {
    SharedTeam::RankSet messages = 0, blocks = 0;
  };
  // What there is between the ranks besides.
  class LongBlocks {
   public:
    virtual void send() = 0;  // when the others have what is short
    virtual bool awaited_from(int rank) const = 0;

   protected:
    ~LongBlocks() = default;
  };
  OtherWay pass_blocks(const CollectiveCall& call, LongBlocks* others);  // null: there are none
  // Into memory that others read.
  void copy_out(const std::byte* from, std::byte* to, std::int64_t bytes) {
    copy_for_others(from, to, bytes, copies_);
  }
  SharedTeam& team() { return team_; }

 private:
  void note_what_follows_barriers(Collective kind);
  std::int64_t piece_bytes(Pieces pieces, std::int64_t amount) const;
  void receive_broadcast(ByteView& data, int root, Pieces pieces = Pieces::largest);
  void send_pieces(ByteView& data, std::int64_t piece, const std::int64_t* ready);
  void take_pieces(ByteView& data, int root, std::int64_t amount, std::int64_t piece, bool heard);
  // A copy of the line of a broadcast's root.
  struct Told {
    std::int64_t amount = 0;
    std::byte bytes[SharedTeam::line_bytes];
  };
  void tell_everyone(std::int64_t amount);
  Told hear(int root);
  // Made of all ranks' numbers; the ranks wait for each other. The function is associative and commutative.
  using Fold = std::uint64_t (*)(std::uint64_t, std::uint64_t);
  std::uint64_t fold(std::uint64_t own, Fold function);
  std::uint64_t fold_in_levels(std::uint64_t own, Fold function);
  void arrive_in_levels();
  void release_in_levels();
  // A rank reads lines one after the other. So where there are groups, data that go to one rank are collected
  // in them; from how many ranks on this pays where all hear from all is as measured in the simulator. Of
  // more than 16 ranks everything is in levels.
  bool in_groups_from(int fewest) const { return team_.in_groups() && team_.ranks() >= fewest; }
  bool all_in_groups() const { return team_.in_levels() && team_.in_groups(); }
  bool meets_in_levels() const { return team_.in_levels() || in_groups_from(15); }
  // How much of a block one step moves: of a gather or allgather, the same in levels, and of an alltoall.
  std::int64_t gathered_at_once(std::int64_t block) const;
  std::int64_t gathered_at_once_in_levels(std::int64_t block) const;
  std::int64_t exchanged_at_once(std::int64_t block) const;
  bool goes_by_ring(std::int64_t bytes) const;
  SharedTeam::RingPlace ring_place(std::int64_t bytes, int root);
  void post_place(const SharedTeam::RingPlace& place, std::int64_t bytes, int root);
  const std::byte* in_ring_of(int rank, const SharedTeam::RingPlace& own, std::int64_t bytes) const;
  bool may_write(std::int64_t bytes);
  bool may_write_for_all(std::int64_t bytes);
  bool may_write_to_one(std::int64_t bytes);
  bool come(bool has_come);
  bool is_in_one_piece(int root, std::int64_t blocks) const;
  bool moves_at_once(const CollectiveCall& call);
  std::int64_t bytes_for_all(const CollectiveCall& call) const;
  inline void write_and_look(const CollectiveCall& call, int looks);
  bool writes() const { return half_ != Half::reading; }
  bool gathers_at_once(const CollectiveCall& call, std::int64_t block);
  bool reduces_at_once(const CollectiveCall& call);
  void gather(const CollectiveCall& call);
  // Up to `most` bytes of a rank's block, by the root of a gather; they stand in the rank's line or at
  // `place`.
  template <class PlaceOf>
  void take_block(int rank, ByteView block, std::int64_t done, std::int64_t most, PlaceOf place) {
    team_.wait_for(rank);
    const std::int64_t amount = team_.amount_of(rank);
    amounts_differed_ |= amount > block.size();
    const std::int64_t bytes = std::clamp<std::int64_t>(std::min(amount, block.size()) - done, 0, most);
    block.write(done, amount <= SharedTeam::line_bytes ? team_.line_of(rank) : place(), bytes);
    team_.note_copied_out(bytes);
  }
  void gather_by_ring(ByteView own, std::int64_t largest, FunctionRef<ByteView(int)> place_of, int root);
  void scatter(const CollectiveCall& call);
  void allgather(const CollectiveCall& call);
  bool serves_alltoall(const CollectiveCall& call) const;
  std::int64_t alltoall_room() const;
  void alltoall(const CollectiveCall& call);
  void copy_own_block(const CollectiveCall& call);
  void write_blocks(const CollectiveCall& call);
  OtherWay read_blocks(const CollectiveCall& call, LongBlocks* others);
  void read_block(const CollectiveCall& call, int from, OtherWay& other);
  // The amount by which all ranks choose a way: of a block, or of a reduction's whole vector.
  std::int64_t known_bytes(const CollectiveCall& call) const;
  void run_in_area(const CollectiveCall& call);
  bool run_directly(const CollectiveCall& call);
  bool allgather_directly(const CollectiveCall& call);
  bool alltoall_directly(const CollectiveCall& call);
  bool reduce_scatter_directly(const CollectiveCall& call);
  bool reduce_directly(const CollectiveCall& call);
  std::byte* show_operands(const std::byte* own);
  bool fetch_and_reduce(const CollectiveCall& call, std::int64_t first, std::int64_t end,
                        const std::byte* own, std::byte* scratch);
  void show(const std::byte* data);
  // In a step: this rank's number, and another's.
  void tell(std::uint64_t number);
  std::uint64_t told_by(int rank);
  std::uint64_t most_of(std::uint64_t own) {
    return fold(own, [](std::uint64_t a, std::uint64_t b) { return a < b ? b : a; });
  }
  bool all_could(bool could);
  bool is_flat(std::int64_t total) const;
  bool serves_reduction(const CollectiveCall& call) const;
  void reduce(const CollectiveCall& call);
  void reduce_by_ring(const CollectiveCall& call);
  void allreduce(const CollectiveCall& call);
  void allreduce_flat(const CollectiveCall& call);
  void reduce_group(const CollectiveCall& call, int head, int late, std::byte* partial);
  void await_group(int late);
  int head_of(const CollectiveCall& call, int leader) const;
  void reduce_in_levels(const CollectiveCall& call);
  void allreduce_in_levels(const CollectiveCall& call);
  // Of more data than a line has (data_levels.cpp, shares_in_levels.cpp).
  bool gathers_in_levels(std::int64_t block) const;
  bool allgathers_in_levels(std::int64_t block) const;
  bool serves_allgather(const CollectiveCall& call) const;
  void gather_group(ByteView own, std::int64_t block, std::int64_t bytes, int head, int root);
  void gather_data_in_levels(const CollectiveCall& call);
  void gather_piece(const CollectiveCall& call, std::int64_t done, std::int64_t bytes);
  void take_from_heads(const CollectiveCall& call, std::int64_t done, std::int64_t bytes);
  void allgather_data_in_levels(const CollectiveCall& call);
  void write_blocks_of(const CollectiveCall& call, int leader, std::int64_t done, std::int64_t bytes);
  void reduce_group_data(const CollectiveCall& call, std::int64_t done, std::int64_t count, int head);
  void await_heads(const CollectiveCall& call);
  void reduce_heads(const CollectiveCall& call, FunctionRef<const std::byte*(int)> operand,
                    std::int64_t count, std::byte* scratch, std::byte* out);
  void reduce_data_in_levels(const CollectiveCall& call);
  std::int64_t reduced_at_once_in_levels() const;
  bool allreduces_by_heads(std::int64_t total) const;
  bool allreduces_in_groups(std::int64_t total) const;
  bool reduces_in_few_pieces(Collective kind, std::int64_t total) const;
  void allreduce_data_in_levels(const CollectiveCall& call);
  void allreduce_shares_in_levels(const CollectiveCall& call, std::int64_t done, std::int64_t count);
  bool reduces_by_columns(const CollectiveCall& call) const;
  bool adds_roots_operand_last(const CollectiveCall& call) const;
  std::int64_t reduced_by_shares_at_once(const CollectiveCall& call) const;
  void reduce_shares_in_levels(const CollectiveCall& call, std::int64_t done, std::int64_t count);
  void reduce_parts_in_levels(const CollectiveCall& call, const std::byte* own, std::int64_t done,
                              std::int64_t room);
  void reduce_by_shares(const CollectiveCall& call);
  void reduce_shares(const CollectiveCall& call, std::int64_t done, std::int64_t count);
  std::int64_t find_starts(const CollectiveCall& call);
  // Elements of a rank's part that a step moves after so many; after find_starts().
  std::int64_t part_of(int rank, std::int64_t done, std::int64_t room) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::clamp<std::int64_t>(starts_[at + 1] - starts_[at] - done, 0, room);
  }
  void reduce_scatter(const CollectiveCall& call);
  void reduce_lines(const CollectiveCall& call);
  void reduce_parts(const CollectiveCall& call, std::int64_t room, std::int64_t largest);
  void scan(const CollectiveCall& call);

  // A step in which data go through lines if they are small, else through buffers. Ranks that may be told
  // different amounts by mistake take steps of one kind, and stay in step.
  void begin_data_step(bool small) {
    small && !steps_alike_ ? team_.begin_step() : team_.begin_buffer_step();
  }
  void end_data_step(bool small) { small && !steps_alike_ ? team_.end_line_step() : team_.end_step(); }
  // A step in which each rank writes so many bytes, and then reads what others wrote; all know how many. Both
  // are told where the ranks write. `read` waits for those others. False: it is not done, see
  // writes_at_once().
  template <class Write, class Read>
  bool write_then_read(std::int64_t bytes, Write write, Read read) {
    const bool in_line = team_.fits_line(bytes);
    if (half_ != Half::reading) {
      begin_data_step(in_line);
      in_line ? team_.line_to_write() : team_.buffer_to_write();
      write(team_.places_for(bytes)[team_.rank()]);
      if (!in_line) team_.line_to_write();
      team_.post();
      if (half_ == Half::writing && !go_on_to_read(bytes)) return false;
    }
    team_.wait_together();
    read(team_.places_for(bytes));
    if (!in_line || steps_alike_) team_.end_step();
    return true;
  }
  bool go_on_to_read(std::int64_t bytes);
  // One step in which all ranks post and hear from all: what every rank wrote can be read.
  void exchange() {
    team_.line_to_write();
    team_.post();
    team_.wait_for_all();
  }

  SharedTeam team_;
  TeamWays ways_;
  CrossCoreCopy copies_;
  AreaTime* const time_;  // null where time is real
  const bool steps_alike_;
  bool amounts_differed_ = false;
  // Where ranks share cores; alike on all.
  bool after_barrier_ = false;  // the last operation was one
  bool root_follows_ = false;   // what followed the last barrier but this had a root
  // What is to be done of an operation in one step. Writing: reading, too, if others come within so many
  // looks.
  enum class Half : std::uint8_t { both, writing, reading };
  Half half_ = Half::both;
  int looks_ = 0;
  bool looked_in_vain_ = false;  // for what others write
  std::optional<MeasuredWays::Turn> announced_;
  std::vector<std::int64_t>
      starts_;  // reduce_scatter: where each rank's part starts, in elements, and the end
};

}  // namespace hawser
