#include "testbed/campaign/epoch_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hawser {
namespace {

using Kind = PlannedOperation::Kind;
using Memory = AccessEpoch::Memory;

constexpr const char* names[AccessEpoch::memories] = {"allocated", "created", "brief", "dynamic"};

MPI_Op operator_of(const PlannedOperation& planned) {
  switch (planned.operation) {
    case PlannedOperation::Operator::sum:
      return MPI_SUM;
    case PlannedOperation::Operator::replace:
      return MPI_REPLACE;
    case PlannedOperation::Operator::exclusive_or:
      return MPI_BXOR;
    case PlannedOperation::Operator::maximum:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

// A committed type, freed at the end of its scope: MPI keeps what operations need of it.
struct ScopedType {
  ScopedType() = default;
  ~ScopedType() {
    if (type != MPI_UINT64_T) MPI_Type_free(&type);
  }
  ScopedType(const ScopedType&) = delete;
  ScopedType& operator=(const ScopedType&) = delete;

  MPI_Datatype type = MPI_UINT64_T;
};
struct VectorType : ScopedType {
  VectorType(int blocks, int length, int stride) {
    if (blocks == 1) return;
    MPI_Type_vector(blocks, length, stride, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
  }
};
// Of what an operation has in blocks in the origin's memory.
struct OriginType : ScopedType {
  explicit OriginType(const PlannedOperation& planned) : count(planned.count()) {
    if (planned.here == 0 || planned.here >= count) return;
    std::vector<int> lengths, places;
    for (std::int32_t i = 0; i < planned.count(); i += planned.here) {
      lengths.push_back(std::min(planned.here, planned.count() - i));
      places.push_back(planned.place_here(i));
    }
    MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    count = 1;
  }
  int count;
};

std::uint64_t stored(const AccessEpoch& epoch, int target, std::size_t origin, std::size_t i) {
  return (epoch.key + static_cast<std::uint64_t>(target) * 7919 + origin * 104729 + i) * 0xbf58476d1ce4e5b9u;
}

}  // namespace

// An operation that is not over, with its memory at this end.
class EpochTraffic::Access {
 public:
  // `before`: what stands in the part.
  Access(Buffers& buffers, const PlannedOperation& planned, const Numbers& before)
      : planned(planned), buffers_(buffers) {
    // With what lies behind the last block.
    numbers_ = planned.place_here(planned.count() - 1) + 1 + planned.here;
    const std::size_t bytes = static_cast<std::size_t>(numbers_) * sizeof(std::uint64_t);
    if (planned.kind != Kind::get) {
      origin_ = buffers.take(bytes, true);
      for (std::int32_t i = 0; i < planned.count(); ++i) write(i, planned.number(i));
    }
    if (!has_result()) return;
    result_ = buffers.take(bytes, true);
    if (planned.kind == Kind::fetch_and_add) return;
    for (std::int32_t i = 0; i < planned.count(); ++i)
      expected_.push_back(before[static_cast<std::size_t>(planned.place(i))]);
  }

  const void* origin() const { return origin_.data; }
  void* result() const { return result_.data; }
  // Throws what is wrong. The memory is not MPI's any more.
  void finish() {
    const std::uint64_t blank = std::to_integer<unsigned>(Buffers::blank) * 0x0101010101010101u;
    std::int32_t i = 0;
    for (std::int32_t place = 0; !expected_.empty() && place < numbers_; ++place) {
      const bool filled = i < planned.count() && place == planned.place_here(i);
      const std::uint64_t wanted = filled ? expected_[static_cast<std::size_t>(i++)] : blank;
      if (read(place) != wanted) complain(place, read(place), wanted);
    }
    if (origin_.data != nullptr) buffers_.give_back(origin_);
    if (result_.data != nullptr) buffers_.give_back(result_);
  }

  const PlannedOperation& planned;
  MPI_Request request = MPI_REQUEST_NULL;

 private:
  bool has_result() const {
    return planned.kind == Kind::get || planned.kind == Kind::get_accumulate ||
           planned.kind == Kind::fetch_and_add;
  }
  void write(std::int32_t i, std::uint64_t value) {
    std::memcpy(origin_.data + static_cast<std::size_t>(planned.place_here(i)) * sizeof value, &value,
                sizeof value);
  }
  std::uint64_t read(std::int32_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, result_.data + static_cast<std::size_t>(place) * sizeof value, sizeof value);
    return value;
  }
  [[noreturn]] void complain(std::int32_t i, std::uint64_t got, std::uint64_t wanted) const {
    throw std::runtime_error(fmt::format("rank {} got number {} of {} from rank {}'s window: {:x}, not {:x}",
                                         planned.origin, i, planned.count(), planned.target, got, wanted));
  }

  std::int32_t numbers_;  // of the memory
  Buffers& buffers_;
  Buffers::Buffer origin_, result_;
  Numbers expected_;
};

EpochTraffic::EpochTraffic(const EpochPlan& plan, Buffers& buffers, Compute compute)
    : plan_(plan),
      buffers_(buffers),
      compute_(std::move(compute)),
      ranks_(static_cast<std::size_t>(plan.ranks)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &me_);
}

EpochTraffic::~EpochTraffic() = default;

void EpochTraffic::check(int code, const char* function) {
  if (code != MPI_SUCCESS) throw std::runtime_error(fmt::format("{} returned {}", function, code));
}

// --- Windows ---

void EpochTraffic::open() {
  for (const Memory memory : {Memory::allocated, Memory::created, Memory::dynamic}) {
    const auto uses = [memory](const AccessEpoch& epoch) {
      return epoch.kind != AccessEpoch::Kind::none && epoch.memory == memory;
    };
    if (std::any_of(plan_.epochs.begin(), plan_.epochs.end(), uses)) make_window(memory);
  }
}

void EpochTraffic::close() {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  for (Space& each : spaces_) {
    if (each.win == MPI_WIN_NULL) continue;
    check(MPI_Win_free(&each.win), "MPI_Win_free");
    if (each.own) buffers_.give_back(each.buffer);
    each.own = false;
  }
}

void EpochTraffic::make_window(Memory memory) {
  Space& made = spaces_[static_cast<std::size_t>(memory)];
  const auto bytes = static_cast<MPI_Aint>(numbers() * sizeof(std::uint64_t));
  if (memory == Memory::dynamic) {
    check(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made.win), "MPI_Win_create_dynamic");
  } else if (memory == Memory::allocated) {
    made.unit = sizeof(std::uint64_t);
    check(MPI_Win_allocate(bytes, made.unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made.memory, &made.win),
          "MPI_Win_allocate");
    reset(made);
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  } else {
    make_memory(made);
    made.unit = 1;
    check(MPI_Win_create(made.memory, bytes, made.unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made.win),
          "MPI_Win_create");
  }
}

void EpochTraffic::make_memory(Space& space) {
  space.buffer = buffers_.take(numbers() * sizeof(std::uint64_t), false);
  space.own = true;
  space.memory = reinterpret_cast<std::uint64_t*>(space.buffer.data);
  reset(space);
}

// Everything is 0.
void EpochTraffic::reset(Space& space) const {
  std::fill_n(space.memory, numbers(), 0);
  space.here.assign(ranks_, Numbers(static_cast<std::size_t>(plan_.part)));
  space.there = space.here;
  space.common.assign(EpochPlan::common + 1, 0);
}

void EpochTraffic::attach(Space& space) {
  make_memory(space);
  check(MPI_Win_attach(space.win, space.memory, static_cast<MPI_Aint>(space.buffer.size)), "MPI_Win_attach");
  MPI_Aint base = 0;
  MPI_Get_address(space.memory, &base);
  space.bases.resize(ranks_);
  check(MPI_Allgather(&base, 1, MPI_AINT, space.bases.data(), 1, MPI_AINT, MPI_COMM_WORLD), "MPI_Allgather");
}

// --- Epochs ---

bool EpochTraffic::is_involved(int rank, bool as_origin) const {
  return std::any_of(epoch_->operations.begin(), epoch_->operations.end(), [&](const PlannedOperation& each) {
    return (as_origin ? each.target : each.origin) == me_ && (as_origin ? each.origin : each.target) == rank;
  });
}

// Those who reach into the own window, or into whose windows this rank does.
MPI_Group EpochTraffic::members(bool origins) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(ranks_); ++rank)
    if (is_involved(rank, origins)) ranks.push_back(rank);
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  check(MPI_Win_get_group(spaces_[static_cast<std::size_t>(epoch_->memory)].win, &world),
        "MPI_Win_get_group");
  check(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group), "MPI_Group_incl");
  MPI_Group_free(&world);
  return group;
}

void EpochTraffic::begin(std::size_t number) {
  if (plan_.epochs[number].kind == AccessEpoch::Kind::none) return;
  epoch_ = &plan_.epochs[number];
  next_ = 0;
  if (epoch_->memory == Memory::brief) make_window(Memory::brief);
  if (epoch_->memory == Memory::dynamic) attach(space());
  if (epoch_->at_once()) return;
  if (epoch_->kind == AccessEpoch::Kind::fence) {
    check(MPI_Win_fence(epoch_->asserts ? MPI_MODE_NOPRECEDE : 0, win()), "MPI_Win_fence");
  } else if (epoch_->kind == AccessEpoch::Kind::lock_all) {
    check(MPI_Win_lock_all(0, win()), "MPI_Win_lock_all");
  } else {
    MPI_Group origins = members(true), targets = members(false);
    check(MPI_Win_post(origins, 0, win()), "MPI_Win_post");
    check(MPI_Win_start(targets, 0, win()), "MPI_Win_start");
    for (MPI_Group* const group : {&origins, &targets})
      if (*group != MPI_GROUP_EMPTY) MPI_Group_free(group);
  }
  carry_out(false);
}

void EpochTraffic::close_epoch() {
  switch (epoch_->kind) {
    case AccessEpoch::Kind::none:
      return;
    case AccessEpoch::Kind::fence:
      return check(MPI_Win_fence(epoch_->asserts ? MPI_MODE_NOSUCCEED : 0, win()), "MPI_Win_fence");
    case AccessEpoch::Kind::posts:
      check(MPI_Win_complete(win()), "MPI_Win_complete");
      return check(MPI_Win_wait(win()), "MPI_Win_wait");
    case AccessEpoch::Kind::lock_all:
      return check(MPI_Win_unlock_all(win()), "MPI_Win_unlock_all");
    case AccessEpoch::Kind::locks:
    case AccessEpoch::Kind::exclusive_locks:
      return lock_for(-1);
  }
}

void EpochTraffic::end(std::size_t number) {
  if (plan_.epochs[number].kind == AccessEpoch::Kind::none) return;
  if (epoch_->busy == me_ && compute_) compute_(epoch_->computes);
  carry_out(true);
  close_epoch();
  wait_for_requests();
  finish(-1);
  Space& space = this->space();
  const bool lasts = epoch_->memory == Memory::allocated || epoch_->memory == Memory::created;
  if (lasts && epoch_->stores) store_behind_the_end();
  if (!lasts) end_memory();
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  replay(space);
  // What others did in an epoch of locks is seen in one of the own.
  const bool lock = lasts && epoch_->passive();
  if (lock) check(MPI_Win_lock(MPI_LOCK_SHARED, me_, 0, space.win), "MPI_Win_lock");
  judge(space);
  if (lock) check(MPI_Win_unlock(me_, space.win), "MPI_Win_unlock");
  if (!lasts) {
    buffers_.give_back(space.buffer);
    space.own = false;
  }
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

// Takes the memory from the window as early as MPI allows.
void EpochTraffic::end_memory() {
  if (epoch_->memory == Memory::brief) return check(MPI_Win_free(&space().win), "MPI_Win_free");
  if (epoch_->passive()) check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  check(MPI_Win_detach(space().win, space().memory), "MPI_Win_detach");
}

// --- Operations ---

// True: all of it.
bool EpochTraffic::carry_out(bool wait) {
  for (; next_ < epoch_->operations.size(); ++next_) {
    const PlannedOperation& planned = epoch_->operations[next_];
    if (planned.origin != me_) continue;
    const bool waits = planned.kind == Kind::flush || planned.kind == Kind::take_ticket;
    if (waits && !wait) return false;
    if (epoch_->at_once()) lock_for(planned.target);
    if (planned.kind == Kind::take_ticket) {
      take_ticket(planned);
    } else if (planned.kind == Kind::flush) {
      // The buffers are free when the requests are done, or when the flush is.
      if (planned.key % 2 != 0) wait_for_requests();
      if (planned.local)
        check(MPI_Win_flush_local(planned.target, win()), "MPI_Win_flush_local");
      else
        check(MPI_Win_flush(planned.target, win()), "MPI_Win_flush");
      finish(planned.target);
    } else {
      start(planned);
    }
  }
  return true;
}

// One target after the other; -1: none.
void EpochTraffic::lock_for(int target) {
  if (locked_ == target) return;
  if (locked_ >= 0) {
    check(MPI_Win_unlock(locked_, win()), "MPI_Win_unlock");
    finish(locked_);
  }
  locked_ = target;
  if (target < 0) return;
  const bool exclusive = epoch_->kind == AccessEpoch::Kind::exclusive_locks;
  check(MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win()), "MPI_Win_lock");
}

// Where the data are in the target's window.
MPI_Aint EpochTraffic::displacement(const PlannedOperation& planned) const {
  const Space& space = spaces_[static_cast<std::size_t>(epoch_->memory)];
  const MPI_Aint part = planned.kind == Kind::take_ticket || planned.changes_common()
                            ? static_cast<MPI_Aint>(ranks_)
                            : planned.origin;
  const MPI_Aint number =
      part * plan_.part + (planned.kind == Kind::take_ticket ? EpochPlan::common : planned.first);
  if (epoch_->memory == Memory::dynamic)
    return MPI_Aint_add(space.bases[static_cast<std::size_t>(planned.target)],
                        number * static_cast<MPI_Aint>(sizeof(std::uint64_t)));
  return number * static_cast<MPI_Aint>(sizeof(std::uint64_t)) / space.unit;
}

void EpochTraffic::start(const PlannedOperation& planned) {
  Numbers& part = space().there[static_cast<std::size_t>(planned.target)];
  active_.push_back(std::make_unique<Access>(buffers_, planned, part));
  const VectorType target(planned.blocks, planned.length, planned.stride);
  issue(*active_.back(), target.type);
  if (planned.kind != Kind::get && !planned.changes_common()) apply(part, planned);
  ++operations_;
}

void EpochTraffic::issue(Access& access, MPI_Datatype target_type) {
  const PlannedOperation& planned = access.planned;
  const MPI_Aint at = displacement(planned);
  const OriginType here(planned);
  const MPI_Datatype type = here.type;
  const int to = planned.target, count = here.count;
  const int target_count = planned.blocks > 1 ? 1 : planned.length;
  const bool request = planned.by_request;
  MPI_Op operation = operator_of(planned);
  switch (planned.kind) {
    case Kind::put:
      return request ? check(MPI_Rput(access.origin(), count, type, to, at, target_count, target_type, win(),
                                      &access.request),
                             "MPI_Rput")
                     : check(MPI_Put(access.origin(), count, type, to, at, target_count, target_type, win()),
                             "MPI_Put");
    case Kind::get:
      return request ? check(MPI_Rget(access.result(), count, type, to, at, target_count, target_type, win(),
                                      &access.request),
                             "MPI_Rget")
                     : check(MPI_Get(access.result(), count, type, to, at, target_count, target_type, win()),
                             "MPI_Get");
    case Kind::accumulate:
    case Kind::add:
      return request ? check(MPI_Raccumulate(access.origin(), count, type, to, at, target_count, target_type,
                                             operation, win(), &access.request),
                             "MPI_Raccumulate")
                     : check(MPI_Accumulate(access.origin(), count, type, to, at, target_count, target_type,
                                            operation, win()),
                             "MPI_Accumulate");
    case Kind::get_accumulate:
      return request ? check(MPI_Rget_accumulate(access.origin(), count, type, access.result(), count, type,
                                                 to, at, target_count, target_type, operation, win(),
                                                 &access.request),
                             "MPI_Rget_accumulate")
                     : check(MPI_Get_accumulate(access.origin(), count, type, access.result(), count, type,
                                                to, at, target_count, target_type, operation, win()),
                             "MPI_Get_accumulate");
    case Kind::fetch_and_add:
      return check(MPI_Fetch_and_op(access.origin(), access.result(), MPI_UINT64_T, to, at, MPI_SUM, win()),
                   "MPI_Fetch_and_op");
    case Kind::take_ticket:
    case Kind::flush:
      return;
  }
}

// One more, whoever else takes one.
void EpochTraffic::take_ticket(const PlannedOperation& planned) {
  std::uint64_t seen = 0, next = 1, was = 0;
  const auto try_once = [&] {
    next = seen + 1;
    check(
        MPI_Compare_and_swap(&next, &seen, &was, MPI_UINT64_T, planned.target, displacement(planned), win()),
        "MPI_Compare_and_swap");
    check(MPI_Win_flush(planned.target, win()), "MPI_Win_flush");
    return was == seen;
  };
  while (!try_once()) {
    if (was < seen) throw std::runtime_error(fmt::format("tickets went from {} to {}", seen, was));
    seen = was;
  }
  finish(planned.target);
  ++operations_;
}

void EpochTraffic::wait_for_requests() {
  for (const auto& each : active_)
    if (each->request != MPI_REQUEST_NULL) check(MPI_Wait(&each->request, MPI_STATUS_IGNORE), "MPI_Wait");
}

// What goes to this target, or to any (-1), has its buffers back.
void EpochTraffic::finish(int target) {
  std::erase_if(active_, [target](const std::unique_ptr<Access>& each) {
    if (target >= 0 && each->planned.target != target) return false;
    if (each->request != MPI_REQUEST_NULL) check(MPI_Wait(&each->request, MPI_STATUS_IGNORE), "MPI_Wait");
    each->finish();
    return true;
  });
}

// --- What must be ---

void EpochTraffic::apply(Numbers& part, const PlannedOperation& planned) const {
  for (std::int32_t i = 0; i < planned.count(); ++i) {
    std::uint64_t& number = part[static_cast<std::size_t>(planned.place(i))];
    number = planned.applied(i, number);
  }
}

// The call that ended the epoch has returned, so nobody else writes here any more.
void EpochTraffic::store_behind_the_end() {
  Space& space = this->space();
  const auto part = static_cast<std::size_t>(plan_.part);
  for (std::size_t origin = 0; origin < ranks_; ++origin)
    for (std::size_t i = 0; i < part; ++i) space.memory[origin * part + i] = stored(*epoch_, me_, origin, i);
}

void EpochTraffic::replay(Space& space) const {
  const bool lasts = epoch_->memory == Memory::allocated || epoch_->memory == Memory::created;
  for (const PlannedOperation& each : epoch_->operations) {
    if (each.target != me_ || each.kind == Kind::get || each.kind == Kind::flush) continue;
    if (each.kind == Kind::take_ticket)
      ++space.common.back();
    else
      apply(each.changes_common() ? space.common : space.here[static_cast<std::size_t>(each.origin)], each);
  }
  if (!lasts || !epoch_->stores) return;
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.part); ++i) {
      space.here[rank][i] = stored(*epoch_, me_, rank, i);
      space.there[rank][i] = stored(*epoch_, static_cast<int>(rank), static_cast<std::size_t>(me_), i);
    }
}

void EpochTraffic::judge(const Space& space) const {
  const std::uint64_t* at = space.memory;
  const auto compare = [&](const Numbers& expected, const std::string& whose) {
    const auto [found, wanted] = std::mismatch(at, at + expected.size(), expected.begin());
    if (wanted != expected.end())
      throw std::runtime_error(fmt::format(
          "the {} window of rank {}, where {}: number {} of {} is {:x}, not {:x}",
          names[static_cast<int>(epoch_->memory)], me_, whose, found - at, expected.size(), *found, *wanted));
    at += expected.size();
  };
  for (std::size_t origin = 0; origin < ranks_; ++origin)
    compare(space.here[origin], fmt::format("rank {} writes", origin));
  compare(space.common, "everybody adds");
}

}  // namespace hawser
