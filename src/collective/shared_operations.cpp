// What CollectiveEngine does where all ranks of a communicator share a node.
#include "collective/engine.h"
#include "collective/record.h"
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
  if (group.size() < 2 || !SharedTeam::fits(group.size(), areas_->area_bytes())) return false;
  for (int r = 0; r < group.size(); ++r) {
    if (areas_->place_of(group.process_of(r)) < 0) return false;
  }
  return true;
}

int CollectiveEngine::choose_area(const Group& group) {
  if (areas_ == nullptr || !can_share(group)) return no_area;
  const int area = areas_->allocate();
  if (area < 0) return no_area;
  const int place = areas_->place_of(group.process_of(0));
  SharedTeam::clear(areas_->address(place, area), group.size());
  return area;
}

std::unique_ptr<SharedCollectives> CollectiveEngine::share(const Communicator& communicator, int area) {
  if (area == no_area) return nullptr;
  std::vector<int> places;
  for (int r = 0; r < communicator.size(); ++r)
    places.push_back(areas_->place_of(communicator.group()->process_of(r)));
  std::byte* memory = areas_->address(places[0], area);
  return std::make_unique<SharedCollectives>(
      memory, areas_->area_bytes(), communicator.rank(), std::move(places), *areas_, progress_,
      StopSign(trouble_, communicator.group(), communicator.context()));
}

void CollectiveEngine::discard_area(int area) {
  if (area != no_area) areas_->release(area);
}

// Whether the operation goes straight through shared memory.
bool CollectiveEngine::shares(Communicator& communicator, const CollectiveCall& call) const {
  const SharedCollectives* shared = CollectiveRecord::of(communicator).shared.get();
  return shared != nullptr && call.neighbors == nullptr && !tuned_to_messages(communicator, call) &&
         shared->serves(call);
}

// Whether the table says that an operation of a communicator with a shared area goes by messages: by what
// its plan would be, which is not made yet.
bool CollectiveEngine::tuned_to_messages(const Communicator& communicator, const CollectiveCall& call) const {
  if (!choice_.has_table()) [[likely]]
    return false;
  const CallSide& side = known_side(communicator.rank(), call);
  Shape shape;
  shape.ranks = communicator.size();
  shape.bytes = side.counts || side.type == nullptr ? 0 : side.count * side.type->size;
  if (call.kind == Collective::reduce_scatter_block) shape.bytes *= shape.ranks;
  return choice_.goes_by_messages(call.kind, shape);
}

Result<> CollectiveEngine::run_shared(SharedCollectives& shared, const CollectiveCall& call) {
  try {
    shared.team().stop_if_told();
    shared.run(call);
  } catch (const Stopped& stop) {
    return stopped(stop.why);
  }
  if (!shared.amounts_differed()) [[likely]]
    return {};
  return failure(ErrorClass::truncate,
                 "the root of the broadcast sends a different amount of data than this rank expects");
}

// Between two ranks a message is as fast as a line of shared memory, which nobody else reads, too. A function
// of the program may not be called in every pass, nor with little stack.
bool CollectiveEngine::shares_in_background(Communicator& communicator, const CollectiveCall& call) const {
  if (!shares(communicator, call) || (call.op != nullptr && !call.op->predefined())) return false;
  if (communicator.size() > 2) return true;
  // What the root sends is not known to the other.
  if (call.kind == Collective::barrier || call.kind == Collective::broadcast) return false;
  constexpr std::int64_t small = 256;
  const CallSide& side = known_side(communicator.rank(), call);
  return side.counts || side.count * side.type->size > small;
}

void CollectiveEngine::start_shared(Operation& operation, Communicator& communicator) {
  operation.begin_again();
  if (auto checked = check(communicator); !checked) [[unlikely]] {
    operation.fail(checked.take_error());
    operation.skip();
  } else {
    operation.run_in(*CollectiveRecord::of(communicator).background);
  }
  go_on_in_background(operation);
}

}  // namespace hawser
