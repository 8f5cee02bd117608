#include "collective/construction.h"

#include "collective/algorithms/algorithms.h"
#include "collective/colors.h"
#include "collective/record.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

// What rank 0 tells the others of the new communicator.
struct Birth {
  std::uint32_t context = no_context;
  std::int32_t area = CollectiveEngine::no_area;
  std::uint32_t generation = 0;
  static constexpr std::uint32_t no_context = ~std::uint32_t{0};
};

// Whether ranks may share an area; not where nothing is done that would need one.
enum class Area : std::uint8_t { none, wanted };

// What rank 0 of the group chooses.
Task choose(Operation& operation, const Group& group, Birth& birth, Area area) {
  CollectiveEngine& engine = operation.engine();
  if (auto id = engine.context_ids().take()) {
    birth.context = id.value();
    birth.generation = engine.next_generation();
    if (area == Area::wanted && engine.can_share(group))
      co_await take_area(operation, engine.place_of(group.process_of(0)), group.size(), 1, birth.area);
  } else {
    operation.fail(id.take_error());
  }
}

void check_birth(Operation& operation, const Birth& birth) {
  if (birth.context == Birth::no_context && !operation.failed()) {
    operation.fail(failure(ErrorClass::other, "rank 0 of the new communicator has no context id left"));
  }
}

// Broadcasts the choice of rank 0 of the participants. `birth` lives until the operation ends.
Task agree(Operation& operation, Birth& birth, Area area) {
  if (operation.rank() == 0) co_await choose(operation, *operation.participants().group, birth, area);
  operation.plan = Plan{};
  operation.plan.receive.base = reinterpret_cast<std::byte*>(&birth);
  operation.plan.receive.size = sizeof(Birth);
  if (operation.size() > 1) co_await algorithms::broadcast_binomial(operation);
  check_birth(operation, birth);
}

// The same among some of the participants, down a binomial tree. Their messages carry the ranks of the
// participants: ranks in the group would name one process now and another one in the next call, whose
// messages may be here first.
Task agree_among(Operation& operation, const Group& group, Birth& birth) {
  const Group& all = *operation.participants().group;
  const int size = group.size();
  const int place = group.rank_of(all.process_of(operation.rank()));
  const auto rank_at = [&](int member) { return all.rank_of(group.process_of(member)); };
  auto* const bytes = reinterpret_cast<std::byte*>(&birth);
  int distance = 1;
  while (distance < size && (place & distance) == 0) distance *= 2;
  if (place == 0) {
    co_await choose(operation, group, birth, Area::wanted);
  } else {
    operation.receive(rank_at(place - distance), bytes, sizeof(Birth));
    co_await operation.arrived();
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance < size) operation.send(rank_at(place + distance), bytes, sizeof(Birth));
  }
  co_await operation.arrived();
  check_birth(operation, birth);
}

Task agree_and_set(Operation& operation, Ref<Communicator> made) {
  Birth birth;
  co_await agree(operation, birth, Area::wanted);
  if (operation.failed()) co_return;
  made->set_context(birth.context);
  operation.engine().adopt(*made, birth.area, birth.generation);
}

// An intercommunicator's id among all, then that of the communicator over our own group.
Task agree_and_set_both(Operation& operation, Ref<Communicator> made) {
  Birth across;
  co_await agree(operation, across, Area::none);
  operation.switch_groups();
  Birth within;
  co_await agree(operation, within, Area::wanted);
  operation.switch_groups();
  if (operation.failed()) co_return;
  made->local()->set_context(within.context);
  operation.engine().adopt(*made->local(), within.area, within.generation);
  made->set_context(across.context);
  operation.engine().adopt(*made, CollectiveEngine::no_area);
}

}  // namespace

Result<Ref<Communicator>> make_over(CollectiveEngine& engine, const Ref<Group>& group, int rank,
                                    std::uint32_t context, std::int32_t tag) {
  Birth birth;
  HAWSER_TRY(engine.run_task({group, rank, context, tag}, [&birth](Operation& operation) {
    return agree(operation, birth, Area::wanted);
  }));
  auto made = make_counted<Communicator>(group, rank, birth.context);
  engine.adopt(*made, birth.area, birth.generation);
  return made;
}

Result<Ref<Communicator>> make_within(CollectiveEngine& engine, const Communicator& parent,
                                      const Ref<Group>& group, std::uint32_t context, std::int32_t tag) {
  Birth birth;
  HAWSER_TRY(engine.run_task({parent.group(), parent.rank(), context, tag},
                             [&](Operation& operation) { return agree_among(operation, *group, birth); }));
  const int rank = group->rank_of(parent.group()->process_of(parent.rank()));
  auto made = make_counted<Communicator>(group, rank, birth.context);
  engine.adopt(*made, birth.area, birth.generation);
  return made;
}

Result<std::uint32_t> agree_on_context(CollectiveEngine& engine, const Participants& participants) {
  Birth birth;
  HAWSER_TRY(engine.run_task(participants,
                             [&birth](Operation& operation) { return agree(operation, birth, Area::none); }));
  return birth.context;
}

Result<Ref<Communicator>> duplicate(CollectiveEngine& engine, Communicator& parent) {
  const Participants all = engine.participants_of(parent);
  return make_over(engine, parent.group(), parent.rank(), all.context, all.tag);
}

Ref<Communicator> start_duplicate(CollectiveEngine& engine, Communicator& parent, Request*& request) {
  auto made = make_counted<Communicator>(parent.group(), parent.rank());
  request = &engine.start_task(engine.participants_of(parent), Ref<Counted>(&parent),
                               [&made](Operation& operation) { return agree_and_set(operation, made); });
  return made;
}

Ref<Communicator> start_duplicate_inter(CollectiveEngine& engine, Communicator& parent, Request*& request) {
  CollectiveRecord& record = CollectiveRecord::of(parent);
  auto local = make_counted<Communicator>(parent.group(), parent.rank());
  auto made = make_counted<Communicator>(parent.group(), parent.remote_group(), parent.rank(), local);
  request = &engine.start_task(
      {record.everyone(), record.rank_among_everyone(), parent.collective_context(), record.next_tag()},
      Ref<Counted>(&parent), [&made](Operation& operation) { return agree_and_set_both(operation, made); },
      engine.participants_of(*parent.local()));
  return made;
}

Result<Ref<Communicator>> split(CollectiveEngine& engine, Communicator& parent, int color, int key) {
  auto colors = gather_colors(engine, parent, {color, key});
  if (!colors) return colors.take_error();
  // Counted on all ranks, also on those that get no communicator.
  const Participants all = engine.participants_of(parent);
  if (color == undefined) return Ref<Communicator>();
  const Ref<Group> group = group_of_color(colors.value(), color, *parent.group());
  const int rank = group->rank_of(parent.group()->process_of(parent.rank()));
  return make_over(engine, group, rank, all.context, all.tag);
}

Result<Ref<Communicator>> create(CollectiveEngine& engine, Communicator& parent, const Ref<Group>& group) {
  const Participants all = engine.participants_of(parent);
  const int rank = group->rank_of(parent.group()->process_of(parent.rank()));
  if (rank == undefined) return Ref<Communicator>();
  return make_over(engine, group, rank, all.context, all.tag);
}

Result<Ref<Communicator>> create_from_group(CollectiveEngine& engine, Communicator& parent,
                                            const Ref<Group>& group, int tag) {
  if (!group->contains(parent.group()->process_of(parent.rank()))) return Ref<Communicator>();
  return make_within(engine, parent, group, parent.context() + 2, tag);
}

}  // namespace hawser
