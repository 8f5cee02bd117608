// What CollectiveEngine does where all ranks of a communicator share a node.
#include "base/ticks.h"
#include "collective/engine.h"
#include "collective/record.h"
#include "collective/shared/vector_forms.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

// The side whose amount, without counts, is the same on all ranks.
const CallSide& known_side(int rank, const CollectiveCall& call) {
  const bool send = call.kind == Collective::gather ? rank != call.root
                                                    : call.kind == Collective::scatter && rank == call.root;
  return send ? call.send : call.receive;
}

}  // namespace

bool CollectiveEngine::can_share(const Group& group) const {
  if (areas_ == nullptr || group.size() < 2 || !SharedTeam::fits(group.size(), areas_->area_bytes()))
    return false;
  for (int r = 0; r < group.size(); ++r) {
    if (areas_->place_of(group.process_of(r)) < 0) return false;
  }
  return true;
}

int CollectiveEngine::choose_area(const Group& group) {
  return can_share(group) ? area_pool_.take(place_of(group.process_of(0)), group.size()) : no_area;
}

std::unique_ptr<BackgroundQueue> CollectiveEngine::share(const Communicator& communicator, int area) {
  if (area == no_area) return nullptr;
  auto queue = std::make_unique<BackgroundQueue>(background_runs_);
  std::byte* const memory = areas_->address(place_of(communicator.group()->process_of(0)), area);
  queue->open(share({memory, areas_->area_bytes()}, communicator));
  return queue;
}

std::unique_ptr<SharedCollectives> CollectiveEngine::share(MemoryBlock area,
                                                           const Communicator& communicator) {
  std::vector<int> places;
  for (int r = 0; r < communicator.size(); ++r)
    places.push_back(place_of(communicator.group()->process_of(r)));
  return share(area, communicator, std::move(places), communicator.rank());
}

std::unique_ptr<SharedCollectives> CollectiveEngine::share(MemoryBlock area, const Communicator& communicator,
                                                           std::vector<int> places, int own, bool of_node) {
  return std::make_unique<SharedCollectives>(
      area.data, area.bytes, own, std::move(places), *areas_, progress_,
      StopSign(trouble_, communicator.group(), communicator.context()), way_policy_, of_node);
}

// --- The node's part ---

std::unique_ptr<NodeTeam> CollectiveEngine::node_team_of(const Communicator& communicator,
                                                         const NodeLayout* nodes) const {
  if (nodes == nullptr || areas_ == nullptr) return nullptr;
  const auto ranks = static_cast<int>(nodes->mine.size());
  if (ranks < 2 || !SharedTeam::fits(ranks, areas_->area_bytes())) return nullptr;
  std::vector<int> places;
  for (int r : nodes->mine) {
    places.push_back(areas_->place_of(communicator.group()->process_of(r)));
    if (places.back() < 0) return nullptr;
  }
  return std::make_unique<NodeTeam>(communicator, std::move(places), nodes->place);
}

NodeLanes& CollectiveEngine::lanes_of(NodeTeam& team) {
  if (team.lanes == nullptr) team.lanes = std::make_unique<NodeLanes>(background_runs_);
  return *team.lanes;
}

void CollectiveEngine::use_area(NodeTeam& team, int area) {
  team.agreed = true;
  if (area == no_area) return;
  team.area = area;
  team.in_node = std::make_unique<BackgroundQueue>(background_runs_);
  team.in_node->open(share({areas_->address(team.places[0], area), areas_->area_bytes()}, team.communicator,
                           team.places, team.own, true));
}

void CollectiveEngine::use_lanes(NodeTeam& team, int area) {
  NodeLanes& lanes = *team.lanes;
  lanes.agreed = true;
  if (area == no_area) return;
  lanes.area = area;
  std::byte* memory = areas_->address(team.places[0], area);
  const std::int64_t part = AreaPool::part_bytes(areas_->area_bytes(), NodeLanes::teams);
  for (BackgroundQueue* lane : {&lanes.up, &lanes.down}) {
    lane->open(share({memory, part}, team.communicator, team.places, team.own, true));
    memory += part;
  }
  const Communicator& communicator = team.communicator;
  if (team.freed)  // while they agreed
    leave(team, StopSign(trouble_, communicator.group(), communicator.context()));
}

void CollectiveEngine::leave(BackgroundQueue& in_node, int place, int area, StopSign stop) {
  const SharedTeam& team = in_node.shared().team();
  if (team.rank() == 0) area_pool_.add_left(place, area, team.ranks(), 1, std::move(stop));
  in_node.leave();
}

void CollectiveEngine::leave(PersistentParts& parts, int place, int rank, StopSign stop) {
  if (rank == 0) area_pool_.add_left(place, parts.index(), parts.ranks(), 1, std::move(stop));
  parts.leave();
}

void CollectiveEngine::leave(NodeTeam& team, const StopSign& stop) {
  if (team.in_node != nullptr && !team.freed) leave(*team.in_node, team.places[0], team.area, stop);
  team.freed = true;
  if (team.lanes == nullptr || team.lanes->area == no_area) return;
  const auto ranks = static_cast<int>(team.places.size());
  if (team.own == 0) area_pool_.add_left(team.places[0], team.lanes->area, ranks, NodeLanes::teams, stop);
  team.lanes->up.leave();
  team.lanes->down.leave();
}

inline bool CollectiveEngine::serves(const Communicator& communicator, const CollectiveCall& call,
                                     const SharedCollectives& shared) const {
  return call.neighbors == nullptr && !tuned_to_messages(communicator, call) && shared.serves(call);
}

// Whether the operation goes straight through shared memory.
bool CollectiveEngine::shares(Communicator& communicator, const CollectiveCall& call) const {
  BackgroundQueue* const in_node = CollectiveRecord::of(communicator).in_node.get();
  return in_node != nullptr && serves(communicator, call, in_node->shared());
}

// Whether the table says that an operation of a communicator with a shared area goes by messages: by what
// its plan would be, which is not made yet.
bool CollectiveEngine::tuned_to_messages(const Communicator& communicator, const CollectiveCall& call) const {
  if (!choice_.has_table()) [[likely]]
    return false;
  const CallSide& side = known_side(communicator.rank(), call);
  Shape shape;
  shape.ranks = communicator.size();
  shape.bytes = is_vector_form(call.kind)             ? -1
                : side.counts || side.type == nullptr ? 0
                                                      : side.count * side.type->size;
  if (call.kind == Collective::reduce_scatter_block) shape.bytes *= shape.ranks;
  return choice_.goes_by_messages(call.kind, shape);
}

Result<> CollectiveEngine::run_until_stopped(SharedCollectives& shared,
                                             FunctionRef<void(SharedCollectives&)> work) {
  try {
    shared.team().stop_if_told();
    work(shared);
  } catch (const Stopped& stop) {
    return stopped(stop.why);
  }
  return {};
}

Result<> CollectiveEngine::run_shared(SharedCollectives& shared, FunctionRef<void(SharedCollectives&)> work) {
  HAWSER_TRY(run_until_stopped(shared, work));
  if (!shared.amounts_differed()) [[likely]]
    return {};
  return other_amount();
}

// --- Gatherv, scatterv, alltoallv, alltoallw ---

namespace {

void receive_block(Operation& operation, int from) {
  const Place place = incoming(operation.call, operation.rank(), from);
  operation.receive_elements(from, place.buffer, place.count, *place.type);
}

// What is sent in place stands where what is received will stand.
void send_block(Operation& operation, int to) {
  const Place place = outgoing(operation.call, operation.rank(), to);
  if (!is_in_place(operation.call.send))
    return operation.send_elements(to, place.buffer, place.count, *place.type);
  std::byte* const copied = operation.scratch(place.bytes());
  pack(place, copied);
  operation.send(to, copied, place.bytes());
}

void receive_long_blocks(Operation& operation, const ShortBlocks& short_ones) {
  const int own = operation.rank();
  const int ranks = operation.size();
  for (int i = 1; i < ranks; ++i) {
    const int from = (own - i + ranks) % ranks;
    if (!short_ones.have(length(incoming(operation.call, own, from)))) receive_block(operation, from);
  }
}

void send_long_blocks(Operation& operation, const ShortBlocks& short_ones) {
  const int own = operation.rank();
  const int ranks = operation.size();
  for (int i = 1; i < ranks; ++i) {
    const int to = (own + i) % ranks;
    if (!short_ones.have(length(outgoing(operation.call, own, to)))) send_block(operation, to);
  }
}

class Messages final : public SharedCollectives::LongBlocks {
 public:
  Messages(Operation& operation, const ShortBlocks& short_ones)
      : operation_(operation), short_ones_(short_ones) {}
  void send() override {
    if (!is_in_place(operation_.call.send)) send_long_blocks(operation_, short_ones_);
  }
  bool awaited_from(int rank) const override { return operation_.awaits(rank); }

 private:
  Operation& operation_;
  ShortBlocks short_ones_;
};

// Who waits for a short block and for a message is woken once if the short one is written first. In a program
// that is wrong a block may be long to one end alone: as with messages, its receiver hears of it.
void pass_blocks(Operation& operation, SharedCollectives& shared) {
  Messages messages(operation, shared.short_blocks(operation.call.kind));
  const SharedCollectives::OtherWay other = shared.pass_blocks(operation.call, &messages);
  if ((other.messages | other.blocks) == 0) [[likely]]
    return;
  for (int r = 0; r < operation.size(); ++r) {
    if ((other.blocks >> r & 1) != 0) operation.withdraw(r);
    if ((other.messages >> r & 1) != 0) receive_block(operation, r);
  }
}

Task receive_blocks(Operation& operation, SharedTeam::RankSet from) {
  for (int r = 0; r < operation.size(); ++r)
    if ((from >> r & 1) != 0) receive_block(operation, r);
  co_await operation.arrived();
}

Task vector_form(Operation& operation, SharedCollectives& shared) {
  const ShortBlocks short_ones = shared.short_blocks(operation.call.kind);
  // What comes stands where what is sent in place stood.
  if (is_in_place(operation.call.send)) send_long_blocks(operation, short_ones);
  receive_long_blocks(operation, short_ones);
  operation.run_in_shared_memory(shared, pass_blocks);
  co_await operation.arrived();
}

}  // namespace

// A message needs a tag, which all ranks count alike.
Result<> CollectiveEngine::run_vector_form(Communicator& communicator, const CollectiveCall& call) {
  SharedCollectives& shared = CollectiveRecord::of(communicator).in_node->shared();
  Participants participants = participants_of(communicator);
  SharedCollectives::OtherWay other;
  if (!shared.has_long_blocks(call)) [[likely]] {
    Result<> result =
        run_shared(shared, [&](SharedCollectives& of) { other = of.pass_blocks(call, nullptr); });
    if (other.messages == 0) [[likely]]
      return result;
    return run_task(std::move(participants), [&](Operation& operation) {
      operation.call = call;
      return receive_blocks(operation, other.messages);
    });
  }
  Operation& operation = take();
  operation.call = call;
  operation.begin(std::move(participants));
  operation.run(vector_form(operation, shared));
  return wait_for(operation);
}

// A blocking operation of ranks that share an area.
Result<> CollectiveEngine::run_in_node(Communicator& communicator, const CollectiveCall& call) {
  BackgroundQueue& in_node = *CollectiveRecord::of(communicator).in_node;
  if (!in_node.empty()) [[unlikely]]
    progress_.wait_until([&in_node] { return in_node.empty(); });
  if (is_vector_form(call.kind)) return run_vector_form(communicator, call);
  SharedCollectives& shared = in_node.shared();
  const auto [way, ways] = shared.choose(call);
  if (ways == nullptr) {
    Result<> result = run_shared(shared, [&call, way = way](SharedCollectives& of) { of.run(call, way); });
    if (call.kind != Collective::broadcast) return result;
    const auto announced = shared.take_announced();
    return announced ? run_turn(*announced, communicator, call) : std::move(result);
  }
  const MeasuredWays::Turn turn = ways->next();
  if (call.kind == Collective::broadcast && (turn.timed || turn.way != Way::area))
    HAWSER_TRY(run_shared(shared, [turn](SharedCollectives& of) { of.announce(turn); }));
  return run_turn(turn, communicator, call);
}

Result<> CollectiveEngine::run_turn(MeasuredWays::Turn turn, Communicator& communicator,
                                    const CollectiveCall& call) {
  return turn.timed ? run_timed(turn.way, communicator, call) : run_by(turn.way, communicator, call);
}

Result<> CollectiveEngine::run_by(Way way, Communicator& communicator, const CollectiveCall& call) {
  if (way == Way::messages) {
    ++way_counters_.by_messages;
    return run_by_messages(communicator, call);
  }
  return run_shared(CollectiveRecord::of(communicator).in_node->shared(),
                    [this, &call, way](SharedCollectives& shared) {
                      const bool went = shared.run(call, way);
                      MeasuredWays* const ways = went ? nullptr : shared.ways_of(call);
                      if (ways != nullptr) ways->exclude(way);
                      way_counters_.otherwise += went && way != Way::area;
                    });
}

// From when all have begun to when the last is over: who returns early may have left the work to others.
Result<> CollectiveEngine::run_timed(Way way, Communicator& communicator, const CollectiveCall& call) {
  SharedCollectives& shared = CollectiveRecord::of(communicator).in_node->shared();
  HAWSER_TRY(run_shared(shared, [](SharedCollectives& of) { of.meet(); }));
  const std::uint64_t begin = ticks();
  Result<> result = run_by(way, communicator, call);
  HAWSER_TRY(run_shared(shared, [&call, begin](SharedCollectives& of) {
    const std::uint64_t longest = of.longest(ticks() - begin);
    if (MeasuredWays* const ways = of.ways_of(call)) ways->record(longest);
  }));
  ++way_counters_.measured;
  return result;
}

// A function of the program may not be called in every pass, nor with little stack. Small blocks of a vector
// form are sooner there by messages, and no rank knows whether it has others.
inline Way CollectiveEngine::possible_way(const Communicator& communicator, const CollectiveCall& call,
                                          SharedCollectives& shared) const {
  if (is_vector_form(call.kind) || !serves(communicator, call, shared)) return Way::messages;
  if (call.op != nullptr && !call.op->predefined()) return Way::messages;
  return shared.way_of(call);
}

Way CollectiveEngine::possible_way_in_background(Communicator& communicator,
                                                 const CollectiveCall& call) const {
  BackgroundQueue* const in_node = CollectiveRecord::of(communicator).in_node.get();
  return in_node == nullptr ? Way::messages : possible_way(communicator, call, in_node->shared());
}

// In an area several operations under way go one after the other, unless one of two ranks only writes, or
// both write in lines. Messages overlap. So they serve two ranks better for little more than a line if there
// is no room beside it, or they share a core (2.16 us for an allreduce of 256 bytes, 2.37 through an area);
// and for large broadcasts, because only their root would know which way was measured to be the fastest.
// Short operations feel every instruction, so this is asked first.
static bool is_for_messages_of_two(const SharedTeam& team, const CollectiveCall& call) {
  constexpr std::int64_t small = 256, largest_broadcast = 64 << 10;
  const auto needs_more_than_a_line = [&](std::int64_t blocks) {
    const std::int64_t bytes = call.receive.count * call.receive.type->size;
    const bool in_line = team.fits_line(blocks * bytes) && !team.crowded();
    return !in_line && blocks * bytes > SharedTeam::line_bytes && bytes <= small;
  };
  if (call.neighbors != nullptr) return true;
  switch (call.kind) {
    case Collective::barrier:
      return team.crowded();
    case Collective::broadcast:
      return call.receive.count * call.receive.type->size > largest_broadcast;
    case Collective::scatter:
    case Collective::gather:
    case Collective::reduce:
      return false;
    case Collective::allgather:
    case Collective::alltoall:
    case Collective::allreduce:
      return needs_more_than_a_line(1);
    case Collective::reduce_scatter_block:
      return needs_more_than_a_line(2);
    default:
      return is_vector_form(call.kind) ||
             (!call.receive.counts && call.receive.count * call.receive.type->size <= small);
  }
}

Request& CollectiveEngine::end_with_other_amount(Communicator& communicator, const CollectiveCall& call) {
  Operation& operation = take();
  operation.call = call;
  operation.communicator = Ref<Counted>(&communicator);
  operation.fail(other_amount());
  operation.skip();
  complete(operation);
  return operation;
}

// An operation whose end waits for nobody needs no request of its own.
Result<> CollectiveEngine::start(Communicator& communicator, const CollectiveCall& call, Request*& request) {
  BackgroundQueue* const in_node = CollectiveRecord::of(communicator).in_node.get();
  Way way = Way::messages;
  if (in_node != nullptr) {
    SharedCollectives& shared = in_node->shared();
    if (communicator.size() != 2 || !is_for_messages_of_two(shared.team(), call))
      way = possible_way(communicator, call, shared);
    if (way == Way::area && in_node->empty() && check(communicator) && in_node->ends_alone(call)) {
      request = &messages_.sent();
      if (shared.amounts_differed()) [[unlikely]]
        request = &end_with_other_amount(communicator, call);
      return {};
    }
  }
  request = &begin_in_background(communicator, call, way);
  return {};
}

Request& CollectiveEngine::begin_in_background(Communicator& communicator, const CollectiveCall& call,
                                               Way way) {
  Operation& operation = take();
  operation.call = call;
  operation.background = true;
  operation.communicator = Ref<Counted>(&communicator);
  keep_call(operation, communicator);
  if (way != Way::messages) {
    start_shared(operation, communicator, *CollectiveRecord::of(communicator).in_node);
  } else {
    begin(operation, communicator);
    launch_in_background(operation);
  }
  return operation;
}

void CollectiveEngine::start_shared(Operation& operation, Communicator& communicator,
                                    BackgroundQueue& queue) {
  operation.begin_again();
  if (auto checked = check(communicator); !checked) [[unlikely]] {
    if (queue.empty()) queue.forget_written();
    operation.fail(checked.take_error());
    operation.skip();
  } else {
    operation.run_in(queue);
  }
  go_on_in_background(operation);
}

}  // namespace hawser
