// Intercommunicators: the leaders of two groups tell each other who is in them, over a communicator that both
// are in, and each tells its group.
#include <vector>

#include "collective/algorithms/algorithms.h"
#include "collective/colors.h"
#include "collective/construction.h"
#include "collective/record.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

// One side's news for the other.
struct Side {
  std::int32_t size = -1;  // -1: the exchange failed
  std::uint32_t context = 0;
};

std::byte* bytes_of(Side& side) { return reinterpret_cast<std::byte*>(&side); }
std::byte* bytes_of(std::vector<ProcessIndex>& processes) {
  return reinterpret_cast<std::byte*>(processes.data());
}
std::int64_t size_of(const std::vector<ProcessIndex>& processes) {
  return static_cast<std::int64_t>(processes.size() * sizeof(ProcessIndex));
}

Task exchange(Operation& operation, int partner, std::byte* out, std::int64_t out_bytes, std::byte* in,
              std::int64_t in_bytes) {
  operation.receive(partner, in, in_bytes);
  operation.send(partner, out, out_bytes);
  co_await operation.arrived();
}

Task broadcast(Operation& operation, int root, std::byte* data, std::int64_t bytes) {
  operation.plan = Plan{};
  operation.plan.root = root;
  operation.plan.receive.base = data;
  operation.plan.receive.size = bytes;
  if (operation.size() > 1) co_await algorithms::broadcast_binomial(operation);
}

std::vector<ProcessIndex> processes_of(const Group& group) {
  std::vector<ProcessIndex> processes;
  for (int r = 0; r < group.size(); ++r) processes.push_back(group.process_of(r));
  return processes;
}

// At the leader: learns the other side's processes, and the context that one of the two leaders chooses.
Result<> meet(CollectiveEngine& engine, Communicator& local, const Leaders& leaders, int tag, Side& theirs,
              std::vector<ProcessIndex>& processes) {
  Communicator& peer = *leaders.peer;
  const Participants pair{peer.inter() ? peer.remote_group() : peer.group(), peer.rank(), peer.context() + 2,
                          tag};
  const bool chooses = local.group()->process_of(local.rank()) < peer.process_of(leaders.remote);
  Side ours{local.size(), 0};
  if (chooses) {
    auto id = engine.context_ids().take();
    if (!id) return id.take_error();
    ours.context = id.value();
  }
  HAWSER_TRY(engine.run_task(pair, [&](Operation& operation) {
    return exchange(operation, leaders.remote, bytes_of(ours), sizeof ours, bytes_of(theirs), sizeof theirs);
  }));
  if (chooses) theirs.context = ours.context;
  std::vector<ProcessIndex> members = processes_of(*local.group());
  processes.resize(static_cast<std::size_t>(theirs.size));
  return engine.run_task(pair, [&](Operation& operation) {
    return exchange(operation, leaders.remote, bytes_of(members), size_of(members), bytes_of(processes),
                    size_of(processes));
  });
}

}  // namespace

Result<Ref<Communicator>> connect_groups(CollectiveEngine& engine, Communicator& local,
                                         const Leaders& leaders, int tag) {
  auto own = duplicate(engine, local);
  if (!own) return own.take_error();
  Communicator& side = *own.value();
  Side theirs;
  std::vector<ProcessIndex> processes;
  Result<> met;
  if (local.rank() == leaders.local) met = meet(engine, local, leaders, tag, theirs, processes);
  if (!met) theirs.size = -1;
  HAWSER_TRY(engine.run_task(side, [&](Operation& operation) {
    return broadcast(operation, leaders.local, bytes_of(theirs), sizeof theirs);
  }));
  if (!met) return met.take_error();
  if (theirs.size < 0) return failure(ErrorClass::other, "the leader of the local group failed");
  processes.resize(static_cast<std::size_t>(theirs.size));
  HAWSER_TRY(engine.run_task(side, [&](Operation& operation) {
    return broadcast(operation, leaders.local, bytes_of(processes), size_of(processes));
  }));
  auto remote = make_counted<Group>(std::move(processes));
  if (local.group()->intersected_with(*remote)->size() > 0)
    return failure(ErrorClass::comm, "the two groups of the intercommunicator have processes in common");
  auto made =
      make_counted<Communicator>(local.group(), std::move(remote), local.rank(), theirs.context, own.value());
  engine.adopt(*made, CollectiveEngine::no_area);
  return made;
}

Result<Ref<Communicator>> merge(CollectiveEngine& engine, Communicator& inter, bool high) {
  CollectiveRecord& record = CollectiveRecord::of(inter);
  const std::uint32_t context = inter.collective_context();
  const std::int32_t exchange_tag = record.next_tag();
  const std::int32_t making_tag = record.next_tag();
  std::byte ours{high};
  std::byte theirs{};
  if (inter.rank() == 0) {
    HAWSER_TRY(engine.run_task({inter.remote_group(), 0, context, exchange_tag}, [&](Operation& operation) {
      return exchange(operation, 0, &ours, 1, &theirs, 1);
    }));
  }
  HAWSER_TRY(engine.run_task(*inter.local(),
                             [&](Operation& operation) { return broadcast(operation, 0, &theirs, 1); }));
  // If both want the same, the side whose first process has the lower number comes first.
  const Group& local = *inter.group();
  const Group& remote = *inter.remote_group();
  const bool we_are_first = ours == theirs ? local.process_of(0) < remote.process_of(0) : !high;
  const Ref<Group> both = we_are_first ? local.united_with(remote) : remote.united_with(local);
  const int rank = we_are_first ? inter.rank() : remote.size() + inter.rank();
  return make_over(engine, both, rank, context, making_tag);
}

Result<Ref<Communicator>> duplicate_inter(CollectiveEngine& engine, Communicator& parent) {
  CollectiveRecord& record = CollectiveRecord::of(parent);
  auto local = duplicate(engine, *parent.local());
  if (!local) return local.take_error();
  auto context = agree_on_context(engine, {record.everyone(), record.rank_among_everyone(),
                                           parent.collective_context(), record.next_tag()});
  if (!context) return context.take_error();
  auto made = make_counted<Communicator>(parent.group(), parent.remote_group(), parent.rank(),
                                         context.value(), local.value());
  engine.adopt(*made, CollectiveEngine::no_area);
  return made;
}

// Each group learns its own colors, the first ranks exchange them, and each group learns the other's.
Result<Ref<Communicator>> split_inter(CollectiveEngine& engine, Communicator& parent, int color, int key) {
  Communicator& own = *parent.local();
  CollectiveRecord& record = CollectiveRecord::of(parent);
  const std::uint32_t context = parent.collective_context();
  const std::int32_t exchange_tag = record.next_tag();
  const std::int32_t making_tag = record.next_tag();
  auto ours = gather_colors(engine, own, {color, key});
  if (!ours) return ours.take_error();
  std::vector<ColorAndKey> theirs(static_cast<std::size_t>(parent.peer_count()));
  const auto bytes = [](std::vector<ColorAndKey>& v) { return reinterpret_cast<std::byte*>(v.data()); };
  const auto size = [](const std::vector<ColorAndKey>& v) {
    return static_cast<std::int64_t>(v.size() * sizeof(ColorAndKey));
  };
  if (parent.rank() == 0) {
    HAWSER_TRY(engine.run_task({parent.remote_group(), 0, context, exchange_tag}, [&](Operation& operation) {
      return exchange(operation, 0, bytes(ours.value()), size(ours.value()), bytes(theirs), size(theirs));
    }));
  }
  HAWSER_TRY(engine.run_task(
      own, [&](Operation& operation) { return broadcast(operation, 0, bytes(theirs), size(theirs)); }));
  // Counted on all ranks, also on those that get no communicator.
  const Participants all = engine.participants_of(own);
  if (color == undefined) return Ref<Communicator>();
  const Ref<Group> local = group_of_color(ours.value(), color, *parent.group());
  const Ref<Group> remote = group_of_color(theirs, color, *parent.remote_group());
  if (remote->size() == 0) return Ref<Communicator>();

  const int rank = local->rank_of(parent.group()->process_of(parent.rank()));
  auto within = make_over(engine, local, rank, all.context, all.tag);
  if (!within) return within.take_error();
  const bool we_are_first = local->process_of(0) < remote->process_of(0);
  const Ref<Group> both = we_are_first ? local->united_with(*remote) : remote->united_with(*local);
  auto id =
      agree_on_context(engine, {both, we_are_first ? rank : remote->size() + rank, context, making_tag});
  if (!id) return id.take_error();
  auto made = make_counted<Communicator>(local, remote, rank, id.value(), within.value());
  engine.adopt(*made, CollectiveEngine::no_area);
  return made;
}

Result<Ref<Communicator>> create_inter(CollectiveEngine& engine, Communicator& parent, const Group& group) {
  const int rank = group.rank_of(parent.group()->process_of(parent.rank()));
  return split_inter(engine, parent, rank == undefined ? undefined : 0, rank);
}

}  // namespace hawser
