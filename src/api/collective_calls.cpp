#include "api/collective_calls.h"

#include "collective/place.h"
#include "datatype/operator.h"
#include "mpi/failure.h"

namespace hawser::mpi {

namespace {

// Whether this process is the one that gathers or gives out, and whether it is one of the others that take
// part: in an intercommunicator those are the remote group's.
bool at_root(const Communicator& comm, int root) { return root == (comm.inter() ? root_rank : comm.rank()); }
bool at_leaf(const Communicator& comm, int root) { return !comm.inter() || root >= 0; }

// A buffer that is MPI_IN_PLACE where the standard does not allow it.
bool misplaced(const Communicator& comm, const void* buffer, bool allowed) {
  return buffer == in_place && (comm.inter() || !allowed);
}

Error misplaced_in_place(const char* argument) {
  return failure(ErrorClass::buffer, "{} may not be MPI_IN_PLACE here", argument);
}

Error aliased() {
  return failure(ErrorClass::buffer, "sendbuf and recvbuf are the same memory; use MPI_IN_PLACE");
}

// Buffers of the same address overlap, unless nothing is there.
bool same_memory(const void* sendbuf, const void* recvbuf, std::int64_t bytes) {
  return sendbuf == recvbuf && sendbuf != nullptr && bytes > 0;
}

// Whether a block that is sent has the place of the one that is received. Bases may be equal where the
// displacements keep the blocks apart, or where there is nothing to send (MPI-5.0 section 2.3 forbids only
// that arguments overlap).
bool share_a_block(const Communicator& comm, const CallSide& send, const CallSide& receive) {
  if (send.buffer != receive.buffer) return false;
  for (int r = 0; r < comm.peer_count(); ++r) {
    const Place from = block(send, r);
    const Place to = block(receive, r);
    if (from.bytes() > 0 && to.bytes() > 0 && from.first_byte() == to.first_byte()) return true;
  }
  return false;
}

// Whether a reduction has any elements.
bool has_data(const Communicator& comm, std::int64_t count, IntegerArray counts, const Datatype& datatype) {
  if (datatype.size == 0) return false;
  if (!counts) return count > 0;
  for (int r = 0; r < comm.size(); ++r)
    if (counts[static_cast<std::size_t>(r)] > 0) return true;
  return false;
}

// Whether the root's own block is the beginning of the array that it gathers into or gives out, and something
// else is to be there too.
bool overlaps(const Communicator& comm, const CallSide& own, const CallSide& array) {
  if (own.buffer == in_place || !same_memory(own.buffer, array.buffer, 1)) return false;
  if (own.count * own.type->size == 0 || array.type->size == 0) return false;
  if (!array.counts) return array.count > 0;
  for (int r = 0; r < comm.peer_count(); ++r) {
    if (array.counts[r] > 0 && array.displacements[r] == 0) return true;
  }
  return false;
}

Result<CollectiveCall> reduction(Communicator& comm, Collective kind, const void* sendbuf, void* recvbuf,
                                 std::int64_t count, IntegerArray counts, Datatype& datatype, Operator& op,
                                 int root, bool receives) {
  CollectiveCall call{.kind = kind, .root = root};
  call.op = &op;
  if (root == proc_null) {
    // Nothing else is significant; the datatype and the operation are any.
    call.receive = {nullptr, 0, &datatype, nullptr, nullptr, nullptr};
    return call;
  }
  HAWSER_TRY(op.check(datatype));
  if (misplaced(comm, sendbuf, receives)) return misplaced_in_place("sendbuf");
  if (receives && recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (receives && same_memory(sendbuf, recvbuf, 1) && has_data(comm, count, counts, datatype))
    return aliased();
  call.send.buffer = sendbuf;
  call.receive = {recvbuf, count, &datatype, counts, nullptr, nullptr};
  return call;
}

}  // namespace

Result<CollectiveCall> barrier_call(Communicator&) { return CollectiveCall{.kind = Collective::barrier}; }

Result<CollectiveCall> bcast_call(Communicator&, void* buffer, std::int64_t count, Datatype& datatype,
                                  int root) {
  CollectiveCall call{.kind = Collective::broadcast, .root = root};
  if (root == proc_null) {
    call.receive = {nullptr, 0, &datatype, nullptr, nullptr, nullptr};
    return call;
  }
  if (buffer == in_place) return misplaced_in_place("buffer");
  call.receive = {buffer, count, &datatype, nullptr, nullptr, nullptr};
  return call;
}

// In the rooted operations the arguments of one side are significant at the root only; they are not looked
// at elsewhere, not even for a type.
Result<CollectiveCall> gather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                   Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                   Datatype& recvtype, int root) {
  CollectiveCall call{.kind = Collective::gather, .root = root};
  const bool is_root = at_root(comm, root);
  if (at_leaf(comm, root) && sendbuf == in_place) {
    if (misplaced(comm, sendbuf, is_root)) return misplaced_in_place("sendbuf");
    call.send.buffer = in_place;
  } else if (at_leaf(comm, root)) {
    call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  }
  if (is_root) {
    if (recvbuf == in_place) return misplaced_in_place("recvbuf");
    call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
    if (overlaps(comm, call.send, call.receive)) return aliased();
  }
  return call;
}

Result<CollectiveCall> gatherv_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                    IntegerArray displs, Datatype& recvtype, int root) {
  auto call = gather_call(comm, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, root);
  if (!call) return call;
  call.value().kind = Collective::gatherv;
  if (at_root(comm, root)) {
    call.value().receive.counts = recvcounts;
    call.value().receive.displacements = displs;
    if (overlaps(comm, call.value().send, call.value().receive)) return aliased();
  }
  return call;
}

Result<CollectiveCall> scatter_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                    Datatype& recvtype, int root) {
  CollectiveCall call{.kind = Collective::scatter, .root = root};
  const bool is_root = at_root(comm, root);
  if (at_leaf(comm, root) && recvbuf == in_place) {
    if (misplaced(comm, recvbuf, is_root)) return misplaced_in_place("recvbuf");
    call.receive.buffer = in_place;
  } else if (at_leaf(comm, root)) {
    call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
  }
  if (is_root) {
    if (sendbuf == in_place) return misplaced_in_place("sendbuf");
    call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
    if (overlaps(comm, call.receive, call.send)) return aliased();
  }
  return call;
}

Result<CollectiveCall> scatterv_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                     IntegerArray displs, Datatype& sendtype, void* recvbuf,
                                     std::int64_t recvcount, Datatype& recvtype, int root) {
  auto call = scatter_call(comm, sendbuf, 0, sendtype, recvbuf, recvcount, recvtype, root);
  if (!call) return call;
  call.value().kind = Collective::scatterv;
  if (at_root(comm, root)) {
    call.value().send.counts = sendcounts;
    call.value().send.displacements = displs;
    if (overlaps(comm, call.value().receive, call.value().send)) return aliased();
  }
  return call;
}

// Whether the block is this process's own place among those that all gather.
static bool in_its_place(const Communicator& comm, const CallSide& own, const CallSide& all) {
  if (comm.inter() || own.buffer == in_place || own.count == 0 || all.type->size == 0) return false;
  const int rank = comm.rank();
  const std::int64_t start = all.counts ? all.displacements[rank] : rank * all.count;
  return same_memory(own.buffer, static_cast<const std::byte*>(all.buffer) + start * all.type->extent,
                     own.type->size);
}

Result<CollectiveCall> allgather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                      Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                      Datatype& recvtype) {
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (misplaced(comm, sendbuf, true)) return misplaced_in_place("sendbuf");
  CollectiveCall call{.kind = Collective::allgather};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
  if (recvcount > 0 && in_its_place(comm, call.send, call.receive)) return aliased();
  return call;
}

Result<CollectiveCall> allgatherv_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                       Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                       IntegerArray displs, Datatype& recvtype) {
  auto call = allgather_call(comm, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype);
  if (!call) return call;
  call.value().kind = Collective::allgatherv;
  call.value().receive.counts = recvcounts;
  call.value().receive.displacements = displs;
  if (in_its_place(comm, call.value().send, call.value().receive)) return aliased();
  return call;
}

Result<CollectiveCall> alltoall_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                     Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                     Datatype& recvtype) {
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (misplaced(comm, sendbuf, true)) return misplaced_in_place("sendbuf");
  if (same_memory(sendbuf, recvbuf, recvcount * recvtype.size)) return aliased();
  CollectiveCall call{.kind = Collective::alltoall};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
  return call;
}

Result<CollectiveCall> alltoallv_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                      IntegerArray sdispls, Datatype& sendtype, void* recvbuf,
                                      IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype) {
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (misplaced(comm, sendbuf, true)) return misplaced_in_place("sendbuf");
  CollectiveCall call{.kind = Collective::alltoallv};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, 0, &sendtype, sendcounts, sdispls, nullptr};
  call.receive = {recvbuf, 0, &recvtype, recvcounts, rdispls, nullptr};
  if (share_a_block(comm, call.send, call.receive)) return aliased();
  return call;
}

Result<CollectiveCall> alltoallw_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                      IntegerArray sdispls, std::span<Datatype* const> sendtypes,
                                      void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls,
                                      std::span<Datatype* const> recvtypes) {
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (misplaced(comm, sendbuf, true)) return misplaced_in_place("sendbuf");
  CollectiveCall call{.kind = Collective::alltoallw};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, 0, nullptr, sendcounts, sdispls, sendtypes.data()};
  call.receive = {recvbuf, 0, nullptr, recvcounts, rdispls, recvtypes.data()};
  if (share_a_block(comm, call.send, call.receive)) return aliased();
  return call;
}

Result<CollectiveCall> reduce_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op, int root) {
  return reduction(comm, Collective::reduce, sendbuf, recvbuf, count, nullptr, datatype, op, root,
                   at_root(comm, root));
}

Result<CollectiveCall> allreduce_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                      std::int64_t count, Datatype& datatype, Operator& op) {
  return reduction(comm, Collective::allreduce, sendbuf, recvbuf, count, nullptr, datatype, op, 0, true);
}

Result<CollectiveCall> reduce_scatter_block_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                                 std::int64_t recvcount, Datatype& datatype, Operator& op) {
  return reduction(comm, Collective::reduce_scatter_block, sendbuf, recvbuf, recvcount, nullptr, datatype, op,
                   0, true);
}

Result<CollectiveCall> reduce_scatter_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                           IntegerArray recvcounts, Datatype& datatype, Operator& op) {
  return reduction(comm, Collective::reduce_scatter, sendbuf, recvbuf, 0, recvcounts, datatype, op, 0, true);
}

Result<CollectiveCall> scan_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                 Datatype& datatype, Operator& op) {
  if (comm.inter())
    return failure(
        ErrorClass::comm,
        "MPI_Scan is not defined for intercommunicators; use an intracommunicator (MPI_Intercomm_merge)");
  return reduction(comm, Collective::scan, sendbuf, recvbuf, count, nullptr, datatype, op, 0, true);
}

Result<CollectiveCall> exscan_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op) {
  if (comm.inter())
    return failure(
        ErrorClass::comm,
        "MPI_Exscan is not defined for intercommunicators; use an intracommunicator (MPI_Intercomm_merge)");
  return reduction(comm, Collective::exscan, sendbuf, recvbuf, count, nullptr, datatype, op, 0, true);
}

}  // namespace hawser::mpi
