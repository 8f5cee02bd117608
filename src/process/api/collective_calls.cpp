#include "process/api/collective_calls.h"

#include "base/failure.h"
#include "datatype/operator.h"

namespace hawser::mpi {

namespace {

Result<> check_intra(const Communicator& comm) {
  if (comm.inter())
    return failure(ErrorClass::unsupported_operation, "collective operations on intercommunicators");
  return {};
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

Result<CollectiveCall> reduction(Communicator& comm, Collective kind, const void* sendbuf, void* recvbuf,
                                 std::int64_t count, IntegerArray counts, Datatype& datatype, Operator& op,
                                 int root, bool receives) {
  HAWSER_TRY(check_intra(comm));
  HAWSER_TRY(op.check(datatype));
  if (sendbuf == in_place && !receives) return misplaced_in_place("sendbuf");
  if (receives && recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (receives && same_memory(sendbuf, recvbuf, counts ? 1 : count * datatype.size)) return aliased();
  CollectiveCall call{.kind = kind, .root = root};
  call.send.buffer = sendbuf;
  call.receive = {recvbuf, count, &datatype, counts, nullptr, nullptr};
  call.op = &op;
  return call;
}

}  // namespace

Result<CollectiveCall> barrier_call(Communicator& comm) {
  HAWSER_TRY(check_intra(comm));
  return CollectiveCall{.kind = Collective::barrier};
}

Result<CollectiveCall> bcast_call(Communicator& comm, void* buffer, std::int64_t count, Datatype& datatype,
                                  int root) {
  HAWSER_TRY(check_intra(comm));
  if (buffer == in_place) return misplaced_in_place("buffer");
  CollectiveCall call{.kind = Collective::broadcast, .root = root};
  call.receive = {buffer, count, &datatype, nullptr, nullptr, nullptr};
  return call;
}

// In the rooted operations the arguments of one side are significant at the root only; they are not looked
// at elsewhere, not even for a type.
Result<CollectiveCall> gather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                   Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                   Datatype& recvtype, int root) {
  HAWSER_TRY(check_intra(comm));
  CollectiveCall call{.kind = Collective::gather, .root = root};
  const bool at_root = comm.rank() == root;
  if (sendbuf == in_place) {
    if (!at_root) return misplaced_in_place("sendbuf");
    call.send.buffer = in_place;
  } else {
    call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  }
  if (at_root) {
    if (recvbuf == in_place) return misplaced_in_place("recvbuf");
    call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
  }
  return call;
}

Result<CollectiveCall> gatherv_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                    IntegerArray displs, Datatype& recvtype, int root) {
  auto call = gather_call(comm, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, root);
  if (!call) return call;
  call.value().kind = Collective::gatherv;
  if (comm.rank() == root) {
    call.value().receive.counts = recvcounts;
    call.value().receive.displacements = displs;
  }
  return call;
}

Result<CollectiveCall> scatter_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                    Datatype& recvtype, int root) {
  HAWSER_TRY(check_intra(comm));
  CollectiveCall call{.kind = Collective::scatter, .root = root};
  const bool at_root = comm.rank() == root;
  if (recvbuf == in_place) {
    if (!at_root) return misplaced_in_place("recvbuf");
    call.receive.buffer = in_place;
  } else {
    call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
  }
  if (at_root) {
    if (sendbuf == in_place) return misplaced_in_place("sendbuf");
    call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  }
  return call;
}

Result<CollectiveCall> scatterv_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                     IntegerArray displs, Datatype& sendtype, void* recvbuf,
                                     std::int64_t recvcount, Datatype& recvtype, int root) {
  auto call = scatter_call(comm, sendbuf, 0, sendtype, recvbuf, recvcount, recvtype, root);
  if (!call) return call;
  call.value().kind = Collective::scatterv;
  if (comm.rank() == root) {
    call.value().send.counts = sendcounts;
    call.value().send.displacements = displs;
  }
  return call;
}

Result<CollectiveCall> allgather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                      Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                      Datatype& recvtype) {
  HAWSER_TRY(check_intra(comm));
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  CollectiveCall call{.kind = Collective::allgather};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, sendcount, &sendtype, nullptr, nullptr, nullptr};
  call.receive = {recvbuf, recvcount, &recvtype, nullptr, nullptr, nullptr};
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
  return call;
}

Result<CollectiveCall> alltoall_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                     Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                     Datatype& recvtype) {
  HAWSER_TRY(check_intra(comm));
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
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
  HAWSER_TRY(check_intra(comm));
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (same_memory(sendbuf, recvbuf, recvtype.size)) return aliased();
  CollectiveCall call{.kind = Collective::alltoallv};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, 0, &sendtype, sendcounts, sdispls, nullptr};
  call.receive = {recvbuf, 0, &recvtype, recvcounts, rdispls, nullptr};
  return call;
}

Result<CollectiveCall> alltoallw_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                      IntegerArray sdispls, std::span<Datatype* const> sendtypes,
                                      void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls,
                                      std::span<Datatype* const> recvtypes) {
  HAWSER_TRY(check_intra(comm));
  if (recvbuf == in_place) return misplaced_in_place("recvbuf");
  if (same_memory(sendbuf, recvbuf, 1)) return aliased();
  CollectiveCall call{.kind = Collective::alltoallw};
  call.send.buffer = in_place;
  if (sendbuf != in_place) call.send = {sendbuf, 0, nullptr, sendcounts, sdispls, sendtypes.data()};
  call.receive = {recvbuf, 0, nullptr, recvcounts, rdispls, recvtypes.data()};
  return call;
}

Result<CollectiveCall> reduce_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op, int root) {
  return reduction(comm, Collective::reduce, sendbuf, recvbuf, count, nullptr, datatype, op, root,
                   comm.rank() == root);
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
  return reduction(comm, Collective::scan, sendbuf, recvbuf, count, nullptr, datatype, op, 0, true);
}

Result<CollectiveCall> exscan_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op) {
  return reduction(comm, Collective::exscan, sendbuf, recvbuf, count, nullptr, datatype, op, 0, true);
}

}  // namespace hawser::mpi
