#include "collective/engine.h"

#include <algorithm>

#include "collective/algorithms/algorithms.h"
#include "collective/plan.h"
#include "collective/record.h"
#include "communicator/topology.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

// Where the ranks of a communicator tell each other that they are done with it.
constexpr std::uint32_t retirement_context = end_context;

// Tasks for which nobody waits that one pass looks at.
constexpr std::int64_t tasks_aside_at_once = 8;

// Up a binomial tree to rank 0, which chose the context id and may now choose it again.
Task retirement(Operation& operation) {
  const int rank = operation.rank();
  int distance = 1;
  for (; distance < operation.size() && (rank & distance) == 0; distance *= 2) {
    if (rank + distance < operation.size()) operation.receive(rank + distance, nullptr, 0);
  }
  co_await operation.arrived();
  if (rank != 0) {
    operation.send(rank - distance, nullptr, 0);
    co_await operation.arrived();
  } else {
    operation.engine().reuse(operation.participants().context - retirement_context);
  }
}

// Whether the amounts say, alike on all ranks, that there is nothing to move or reduce.
bool is_empty(Collective kind, const Shape& shape) { return kind != Collective::barrier && shape.bytes == 0; }

// Of data that all ranks have the same amount of.
bool is_small(const CollectiveCall& call) {
  constexpr std::int64_t most = 8192;
  if (call.kind == Collective::barrier) return true;
  const auto small = [](const CallSide& side) {
    return !side.counts && (side.type == nullptr || side.count * side.type->size < most);
  };
  return small(call.send) && small(call.receive);
}

}  // namespace

// All processes of a communicator, the one first that chose its context id: alike on all of them.
static Ref<Group> everyone(const Communicator& communicator, ProcessIndex chooser) {
  if (!communicator.inter()) return communicator.group();
  const Group& local = *communicator.group();
  const Group& remote = *communicator.remote_group();
  const bool ours = local.contains(chooser);
  const Ref<Group> both = ours ? local.united_with(remote) : remote.united_with(local);
  return make_counted<Group>(chooser, 1, 1)->united_with(*both);
}

CollectiveRecord::CollectiveRecord(CollectiveEngine& engine, const Communicator& communicator, int area,
                                   std::uint32_t generation)
    : in_node(engine.share(communicator, area)),
      nodes(engine.layout_of(communicator)),
      node_team(engine.node_team_of(communicator, nodes.get())),
      multicast(engine.multicast_of(communicator, generation)),
      engine_(engine),
      everyone_(hawser::everyone(communicator, engine.context_ids().chooser_of(communicator.context()))),
      rank_(everyone_->rank_of(communicator.group()->process_of(communicator.rank()))),
      context_(communicator.context()),
      area_(area) {}

CollectiveRecord::~CollectiveRecord() {
  engine_.forget(context_);
  freed();
  engine_.retire(everyone_, rank_, context_);
}

void CollectiveRecord::freed() {
  if (std::exchange(freed_, true) || !engine_.is_open()) return;
  const StopSign stop(engine_.trouble(), everyone_, context_);
  const int place = in_node != nullptr     ? engine_.place_of(everyone_->process_of(0))
                    : node_team != nullptr ? node_team->places[0]
                                           : -1;
  const int rank = node_team != nullptr ? node_team->own : rank_;
  if (in_node != nullptr) engine_.leave(*in_node, place, area_, stop);
  if (persistent != nullptr)
    persistent->for_each([&](PersistentParts& parts) { engine_.leave(parts, place, rank, stop); });
  if (node_team != nullptr) engine_.leave(*node_team, stop);
}

CollectiveEngine::CollectiveEngine(PointToPoint& messages, Progress& progress)
    : messages_(messages), progress_(progress) {}

CollectiveEngine::~CollectiveEngine() { close(); }

Result<> CollectiveEngine::open(ProcessIndex self, const ProcessTable& processes, const Knobs& knobs,
                                SharedAreas* areas) {
  choice_ = AlgorithmChoice();
  multicast_wanted_ = knobs.multicast != "off";
  if (knobs.multicast == "always") HAWSER_TRY(choice_.parse("broadcast=multicast,allgather=multicast"));
  HAWSER_TRY(choice_.parse(knobs.collective_algorithm));
  if (!knobs.collective_table.empty()) {
    auto table = TunedTable::read(knobs.collective_table);
    if (!table) return table.take_error();
    choice_.use_table(std::move(table).value());
  }
  context_ids_.open(self, processes.size());
  processes_ = &processes;
  areas_ = nullptr;
  links_ = nullptr;
  area_bytes_everywhere_ = 0;
  way_policy_ = knobs.collective_shared == "area"    ? TeamWays::Policy::area
                : knobs.collective_shared == "other" ? TeamWays::Policy::other
                                                     : TeamWays::Policy::measure;
  if (areas != nullptr) time_ = areas->virtual_time();
  if (areas != nullptr && knobs.collective_shared != "off") use_areas(*areas);
  open_ = true;
  return {};
}

void CollectiveEngine::use_areas(SharedAreas& areas) {
  areas_ = &areas;
  // Ways are measured in real time, which means nothing where time is virtual.
  if (areas.virtual_time() != nullptr) way_policy_ = TeamWays::Policy::area;
  area_pool_.open(areas);
}

void CollectiveEngine::use_links(ChannelSet& channels) {
  constexpr std::int64_t slowest = 1'000'000;  // less is said by adapters that do not know
  const LinkRates rates = channels.link_rates();
  if (rates.one < slowest) return;
  TransferCosts model;
  model.between_per_byte = 1e9 / static_cast<double>(rates.together);
  model.between_short_per_byte = 1e9 / static_cast<double>(rates.one);
  if (rates.packet > 0) model.between_packet = static_cast<double>(rates.packet);
  choice_.set_model(model);
  links_ = &channels;
}

void CollectiveEngine::use_multicast(Lane& lane, ChannelSet& channels) {
  if (multicast_wanted_) multicast_ = std::make_shared<MulticastEngine>(lane, channels);
}

void CollectiveEngine::close() {
  open_ = false;
  areas_ = nullptr;
  links_ = nullptr;
  time_ = nullptr;
  area_pool_.close();
  if (multicast_ != nullptr) multicast_->close();
  multicast_ = nullptr;
  for (auto* list : {&active_, &aside_}) {
    while (Operation* operation = list->pop_front()) {
      operation->abandon();
      give_back(*operation);
    }
  }
  tasks_aside_ = 0;
}

void CollectiveEngine::adopt(Communicator& communicator, int area, std::uint32_t generation) {
  communicator.collective = std::make_unique<CollectiveRecord>(*this, communicator, area, generation);
  living_[communicator.context()] = &communicator;
  // Others were faster: they have it, and one has revoked it.
  if (!trouble_.any() || !trouble_.revoked(communicator.context())) return;
  communicator.revoke();
  if (made_revoked_) made_revoked_(communicator);
}

void CollectiveEngine::adopt_predefined(Communicator& communicator) {
  const bool shared = can_share(*communicator.group());
  adopt(communicator, shared ? AreaPool::world_area : no_area);
}

std::unique_ptr<NodeLayout> CollectiveEngine::layout_of(const Communicator& communicator) const {
  if (communicator.inter()) return nullptr;
  auto layout = NodeLayout::of(*communicator.group(), communicator.rank(), *processes_);
  if (layout != nullptr && layout->most > 1) {
    const std::int64_t part = AreaPool::part_bytes(area_bytes_everywhere_, NodeLanes::teams);
    layout->teams = SharedTeam::fits(layout->most, area_bytes_everywhere_);
    layout->lanes = SharedTeam::fits(layout->most, part);
  }
  return layout;
}

std::unique_ptr<MulticastGroup> CollectiveEngine::multicast_of(const Communicator& communicator,
                                                               std::uint32_t generation) {
  if (multicast_ == nullptr || communicator.inter()) return nullptr;
  auto nodes = NodeLayout::of(*communicator.group(), communicator.rank(), *processes_);
  if (nodes == nullptr) return nullptr;
  return std::make_unique<MulticastGroup>(multicast_, MulticastKey{communicator.context(), generation},
                                          communicator.group(), communicator.rank(), std::move(nodes));
}

// --- Operations ---

Operation& CollectiveEngine::take() {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<Operation>(*this));
    free_.reserve(operations_.size());
    return *operations_.back();
  }
  Operation& operation = *free_.back();
  free_.pop_back();
  operation.persistent = false;
  operation.active = true;
  operation.user_freed = false;
  operation.valid = true;
  operation.planned = false;
  operation.background = false;
  return operation;
}

void CollectiveEngine::give_back(Operation& operation) {
  operation.abandon();
  if (PersistentPart* const part = std::exchange(operation.part, nullptr); part != nullptr && open_)
    part->all.give_back(*part);
  // Last, because it may be the last reference, and then the communicator's end needs an operation.
  const Ref<Counted> communicator = std::move(operation.communicator);
  free_.push_back(&operation);
}

Participants CollectiveEngine::participants_of(Communicator& communicator) {
  return {communicator.group(), communicator.rank(), communicator.collective_context(),
          CollectiveRecord::of(communicator).next_tag()};
}

// Keeps the arguments of a call that goes on after it returned.
void CollectiveEngine::keep_call(Operation& operation, const Communicator& communicator) {
  const Neighbors* neighbors = operation.call.neighbors;
  if (neighbors != nullptr) {
    operation.keep_arguments(static_cast<int>(neighbors->destinations.size()),
                             static_cast<int>(neighbors->sources.size()));
  } else {
    // Only reduce-scatter has numbers for our own group where there are two.
    const bool own = operation.call.kind == Collective::reduce_scatter;
    operation.keep_arguments(communicator.peer_count(),
                             own ? communicator.size() : communicator.peer_count());
  }
}

// Says who takes part in an operation of the program's.
void CollectiveEngine::begin(Operation& operation, Communicator& communicator) {
  const auto participants = [&operation](Communicator& of, const Ref<Group>& group) {
    CollectiveRecord& record = CollectiveRecord::of(of);
    const std::int32_t tag = operation.persistent ? record.next_persistent_tag() : record.next_tag();
    return Participants{group, of.rank(), of.collective_context(), tag};
  };
  if (communicator.inter()) {
    operation.begin(participants(communicator, communicator.remote_group()),
                    participants(*communicator.local(), communicator.group()));
  } else {
    CollectiveRecord& record = CollectiveRecord::of(communicator);
    // Persistent ones may be started in different order by different ranks.
    operation.begin(participants(communicator, communicator.group()), record.nodes.get(),
                    operation.persistent ? nullptr : record.multicast.get(),
                    operation.persistent ? nullptr : record.node_team.get());
    if (!operation.persistent) operation.use_distances(record.distances.agreed());
    if (record.nodes != nullptr && !operation.persistent && !operation.background)
      record.use_slots(operation);
  }
}

// Plans the operation and runs it as far as it goes now.
void CollectiveEngine::launch(Operation& operation) {
  operation.planned = false;
  if (trouble_.any() && never_begins(operation)) [[unlikely]]
    return;
  if (operation.call.neighbors != nullptr) {
    operation.run(algorithms::neighbor_linear(operation));
    return;
  }
  if (operation.between_groups()) {
    operation.run(algorithms::inter(operation));
    return;
  }
  operation.planned = true;
  make_plan(operation);
  note_blocks(operation);
  const Shape shape = shape_of(operation);
  if (shape.ranks == 1 || is_empty(operation.call.kind, shape)) {
    operation.skip();
    return;
  }
  operation.run(choice_.choose(operation.call.kind, shape).run(operation));
}

Result<> CollectiveEngine::wait_for(Operation& operation) {
  if (!operation.advance()) {
    awaited_.push_back(&operation);
    progress_.wait_until([&operation] { return operation.advance(); });
    awaited_.remove(&operation);
  }
  progress_.hand_over();
  if (operation.planned) finish_plan(operation);
  Result<> result = operation.conclude();
  give_back(operation);
  return result;
}

Result<> CollectiveEngine::run(Communicator& communicator, const CollectiveCall& call) {
  HAWSER_TRY(check(communicator));
  return shares(communicator, call) ? run_in_node(communicator, call) : run_by_messages(communicator, call);
}

Result<> CollectiveEngine::run_by_messages(Communicator& communicator, const CollectiveCall& call) {
  if (links_ != nullptr && !communicator.inter()) {
    CollectiveRecord& record = CollectiveRecord::of(communicator);
    if (record.nodes != nullptr && record.facts_are_due()) HAWSER_TRY(agree_on_facts(communicator));
  }
  Operation& operation = take();
  operation.call = call;
  begin(operation, communicator);
  launch(operation);
  return wait_for(operation);
}

Result<> CollectiveEngine::run_task(Communicator& communicator, FunctionRef<Task(Operation&)> task) {
  return run_task(participants_of(communicator), task);
}

Result<> CollectiveEngine::run_task(Participants participants, FunctionRef<Task(Operation&)> task) {
  Operation& operation = take();
  operation.begin(std::move(participants));
  if (!trouble_.any() || !never_begins(operation)) operation.run(task(operation));
  return wait_for(operation);
}

Operation& CollectiveEngine::start_task(Participants participants, Ref<Counted> communicator,
                                        FunctionRef<Task(Operation&)> task, Participants within) {
  Operation& operation = take();
  operation.call = {};
  operation.background = true;
  operation.communicator = std::move(communicator);
  operation.begin(std::move(participants), std::move(within));
  if (!trouble_.any() || !never_begins(operation)) operation.run(task(operation));
  if (operation.finished()) {
    complete(operation);
  } else {
    active_.push_back(&operation);
  }
  return operation;
}

void CollectiveEngine::start_aside(Participants participants, Ref<Counted> communicator,
                                   FunctionRef<Task(Operation&)> task, const NodeLayout* nodes,
                                   NodeTeam* node_team) {
  Operation& operation = take();
  operation.communicator = std::move(communicator);
  operation.begin(std::move(participants), nodes, nullptr, node_team);
  operation.run(task(operation));
  if (operation.finished()) {
    complete(operation);
    give_back(operation);
  } else {
    ++tasks_aside_;
    aside_.push_back(&operation);
  }
}

void CollectiveEngine::launch_in_background(Operation& operation) {
  launch(operation);
  go_on_in_background(operation);
}

void CollectiveEngine::go_on_in_background(Operation& operation) {
  if (operation.finished()) {
    complete(operation);
  } else {
    active_.push_back(&operation);
    is_small(operation.call) ? progress_.expect_small() : progress_.expect();
  }
}

void CollectiveEngine::complete(Operation& operation) {
  if (operation.planned) finish_plan(operation);
  Result<> result = operation.conclude();
  operation.status = Status::empty();
  operation.keep_outcome(std::move(result));
  operation.complete = true;
}

bool CollectiveEngine::under_way(bool large) const {
  for (const Operation* operation = active_.front(); operation != nullptr;
       operation = active_.next(operation))
    if (!large || !is_small(operation->call)) return true;
  return false;
}

bool CollectiveEngine::advance_active(bool user_functions) {
  bool moved = false;
  for (Operation* operation = active_.front(); operation != nullptr;) {
    const Operator* const reduction = operation->call.op;
    const bool left_out = !user_functions && reduction != nullptr && !reduction->predefined();
    const bool over = !left_out && operation->advance();
    Operation* next = active_.next(operation);
    if (over) {
      active_.remove(operation);
      complete(*operation);
      if (operation->user_freed) operation->destroy();
      moved = true;
    }
    operation = next;
  }
  return moved;
}

// A few in turn, so that a pass takes no longer when many wait.
bool CollectiveEngine::advance_aside() {
  bool moved = false;
  for (std::int64_t looks = std::min(tasks_aside_, tasks_aside_at_once); looks > 0; --looks) {
    Operation* operation = aside_.pop_front();
    if (operation->advance()) {
      end_aside(*operation);
      moved = true;
    } else {
      aside_.push_back(operation);
    }
  }
  return moved;
}

// What is over and no longer in the list.
void CollectiveEngine::end_aside(Operation& operation) {
  --tasks_aside_;
  complete(operation);
  give_back(operation);
}

bool CollectiveEngine::end_area_parts() {
  bool left = false;
  for (Operation* operation = aside_.front(); operation != nullptr;) {
    Operation* const next = aside_.next(operation);
    if (operation->node_team() != nullptr) {
      if (operation->advance()) {
        aside_.remove(operation);
        end_aside(*operation);
      } else {
        left = true;
      }
    }
    operation = next;
  }
  return !left;
}

// --- Context ids ---

void CollectiveEngine::retire(Ref<Group> group, int rank, std::uint32_t context) {
  // The predefined communicators' ids are never given again.
  if (!open_ || context / contexts_per_communicator < 2) return;
  for (std::uint32_t i = 0; i < contexts_per_communicator; ++i)
    if (i != retirement_context) messages_.release_context(context + i);
  if (context_released_) context_released_(context);
  // Nobody tells that all are done with it, so the id is never used again.
  if (trouble_.any() && trouble_.stops(*group, context) != ErrorClass::success) {
    for (std::uint32_t i = 0; i < contexts_per_communicator; ++i) messages_.close_context(context + i);
    return;
  }
  start_aside({std::move(group), rank, context + retirement_context, 0}, {},
              [](Operation& operation) { return retirement(operation); });
}

}  // namespace hawser
