#include "api/node_memory.h"

#include <algorithm>

#include "api/functions.h"
#include "mpi/failure.h"

namespace hawser::mpi {

namespace {

std::int64_t rounded_to_pages(std::int64_t bytes) {
  constexpr std::int64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

constexpr std::int64_t most = INT64_MAX / 4;  // no sum of two overflows

template <class T>
Result<std::vector<T>> gather_from_all(MpiProcess& process, Communicator& comm, const T& own) {
  Datatype& byte = process.types()[PredefinedType::byte];
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  HAWSER_TRY(allgather(process, &own, sizeof(T), byte, all.data(), sizeof(T), byte, comm));
  return all;
}

Result<bool> any_of_all(MpiProcess& process, Communicator& comm, bool own) {
  const std::int32_t mine = own ? 1 : 0;
  std::int32_t largest = 0;
  HAWSER_TRY(allreduce(process, &mine, &largest, 1, process.types()[PredefinedType::int32],
                       process.operators()[PredefinedOperator::max], comm));
  return largest != 0;
}

// The error of this process, or that there was one elsewhere.
Error first_error(const Result<>& own) {
  if (!own) return own.error();
  return failure(ErrorClass::no_mem, "another process of the communicator could not get its memory");
}

}  // namespace

NodeMemory::NodeMemory(MpiProcess& process, Communicator& comm) {
  const ProcessTable& processes = process.processes();
  const std::int32_t node = processes.node_of(process.rank());
  for (int rank = 0; rank < comm.size(); ++rank)
    if (processes.node_of(comm.process_of(rank)) == node) node_.push_back({rank, 0, 0});
}

const NodeMemory::Part* NodeMemory::part_of(int rank) const {
  const auto part = std::lower_bound(node_.begin(), node_.end(), rank,
                                     [](const Part& one, int wanted) { return one.rank < wanted; });
  return part == node_.end() || part->rank != rank ? nullptr : &*part;
}

std::byte* NodeMemory::base_of(int rank) const {
  const Part* const part = part_of(rank);
  return part == nullptr ? nullptr : mapping_.data() + part->offset;
}

std::byte* NodeMemory::control_of(int rank) const {
  const Part* const part = part_of(rank);
  return part == nullptr ? nullptr : mapping_.data() + (part - node_.data()) * control_size();
}

// All processes of the node come to the same answer.
Result<> NodeMemory::place(const std::vector<std::int64_t>& sizes, Placement placement) {
  total_ = rounded_to_pages(static_cast<std::int64_t>(node_.size()) * control_size());
  for (Part& part : node_) {
    part.size = sizes[static_cast<std::size_t>(part.rank)];
    part.offset = total_;
    if (part.size > most || total_ > most)
      return failure(ErrorClass::no_mem, "size is {} at rank {}, but no node has so much memory", part.size,
                     part.rank);
    const std::int64_t step = placement == Placement::adjacent ? part.size : rounded_to_pages(part.size);
    total_ += step;
  }
  return {};
}

Result<std::unique_ptr<NodeMemory>> NodeMemory::allocate(MpiProcess& process, Communicator& comm,
                                                         std::int64_t size, Placement placement) {
  auto sizes = gather_from_all(process, comm, size);
  if (!sizes) return sizes.take_error();
  std::unique_ptr<NodeMemory> memory(new NodeMemory(process, comm));
  Result<> opened = memory->place(sizes.value(), placement);
  if (!opened) memory->total_ = 0;
  if (Result<> there = memory->open(process, comm); opened) opened = std::move(there);
  auto failed = any_of_all(process, comm, !opened);
  if (!failed) return failed.take_error();
  if (failed.value()) return first_error(opened);
  return memory;
}

// Every process goes through the same collective calls, whatever fails.
Result<> NodeMemory::open(MpiProcess& process, Communicator& comm) {
  auto made = SharedBlock::make(leads(comm) ? total_ : 0);
  const BlockName own = made ? made.value().name() : BlockName{};
  auto names = gather_from_all(process, comm, own);
  if (!names) return names.take_error();
  const BlockName name = names.value()[static_cast<std::size_t>(node_.front().rank)];
  Result<> outcome;
  bool refused = false;
  if (!made) {
    outcome = made.error();
  } else if (leads(comm)) {
    mapping_ = made.value().take_mapping();
  } else if (total_ > 0 && name.bytes >= total_) {
    // Processes of one address space (a simulation) never need to be told.
    auto found = process.knobs().shm_open_by_proc || name.pid == own_pid() ? map_block(name)
                                                                           : failure(ErrorKind::other, "");
    refused = !found;
    if (found) mapping_ = std::move(found).value();
  } else if (total_ > 0) {
    outcome = failure(ErrorClass::no_mem, "rank {} could not make the memory of this node's processes",
                      node_.front().rank);
  }
  auto pass_on = any_of_all(process, comm, refused);
  if (!pass_on) return pass_on.take_error();
  if (!pass_on.value()) return outcome;
  if (Result<> passed = pass(process, comm, made ? &made.value() : nullptr, name); !passed) return passed;
  return outcome;
}

// Where the kernel does not let neighbours look into the maker's files. All processes of all nodes come here,
// also those that have mapped their block. Steps that must follow each other have a collective call between
// them, because who waits elsewhere lets others down that need its progress.
Result<> NodeMemory::pass(MpiProcess& process, Communicator& comm, SharedBlock* made, const BlockName& name) {
  ListenerName listener{};
  Result<> outcome;
  const bool gives = leads(comm) && made != nullptr && total_ > 0 && node_.size() > 1;
  if (gives) {
    auto listening = made->listen();
    if (listening)
      listener = listening.value();
    else
      outcome = listening.take_error();
  }
  auto listeners = gather_from_all(process, comm, listener);
  if (!listeners) return listeners.take_error();
  const ListenerName& place = listeners.value()[static_cast<std::size_t>(node_.front().rank)];
  const bool takes = !leads(comm) && total_ > 0 && place[0] != 0;
  FileDescriptor maker;
  if (takes) {
    auto reached = reach_block(place);
    if (reached)
      maker = std::move(reached).value();
    else
      outcome = reached.take_error();
  }
  auto reached = any_of_all(process, comm, !outcome);
  if (!reached) return reached.take_error();
  if (reached.value()) return outcome;
  if (gives) outcome = made->pass(static_cast<int>(node_.size()) - 1);
  auto given = any_of_all(process, comm, !outcome);
  if (!given) return given.take_error();
  if (given.value() || !takes) return outcome;
  auto taken = take_block(name, place, maker);
  if (!taken) return taken.take_error();
  mapping_ = std::move(taken).value();
  return {};
}

}  // namespace hawser::mpi
