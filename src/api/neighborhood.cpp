// Neighbourhood collectives (MPI-5.0 section 8.7): blocking, non-blocking and persistent.
#include "api/functions.h"
#include "communicator/topology.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

CallSide one(const void* buffer, std::int64_t count, Datatype& type) {
  return {buffer, count, &type, nullptr, nullptr, nullptr};
}

CallSide many(const void* buffer, IntegerArray counts, IntegerArray displacements, Datatype& type) {
  return {buffer, 0, &type, counts, displacements, nullptr};
}

CallSide typed(const void* buffer, IntegerArray counts, IntegerArray displacements,
               std::span<Datatype* const> types) {
  return {buffer, 0, nullptr, counts, displacements, types.data()};
}

Result<CollectiveCall> describe(Communicator& comm, Collective kind, const CallSide& send,
                                const CallSide& receive) {
  const Topology* topology = topology_of(comm);
  if (topology == nullptr) return failure(ErrorClass::topology, "the communicator has no topology");
  CollectiveCall call{.kind = kind, .send = send, .receive = receive};
  call.neighbors = &topology->neighbors();
  return call;
}

Result<> run(MpiProcess& process, Communicator& comm, Collective kind, const CallSide& send,
             const CallSide& receive) {
  auto call = describe(comm, kind, send, receive);
  if (!call) return call.take_error();
  return process.collectives().run(comm, call.value());
}

Result<> start(MpiProcess& process, Communicator& comm, Collective kind, const CallSide& send,
               const CallSide& receive, Request*& request) {
  auto call = describe(comm, kind, send, receive);
  if (!call) return call.take_error();
  return process.collectives().start(comm, call.value(), request);
}

Result<> prepare(MpiProcess& process, Communicator& comm, Collective kind, const CallSide& send,
                 const CallSide& receive, Request*& request) {
  auto call = describe(comm, kind, send, receive);
  if (!call) return call.take_error();
  return process.collectives().prepare(comm, call.value(), request);
}

}  // namespace

Result<> neighbor_allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                            Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                            Communicator& comm) {
  return run(process, comm, Collective::allgather, one(sendbuf, sendcount, sendtype),
             one(recvbuf, recvcount, recvtype));
}

Result<> neighbor_allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                             Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs,
                             Datatype& recvtype, Communicator& comm) {
  return run(process, comm, Collective::allgatherv, one(sendbuf, sendcount, sendtype),
             many(recvbuf, recvcounts, displs, recvtype));
}

Result<> neighbor_alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                           Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                           Communicator& comm) {
  return run(process, comm, Collective::alltoall, one(sendbuf, sendcount, sendtype),
             one(recvbuf, recvcount, recvtype));
}

Result<> neighbor_alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                            IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                            IntegerArray rdispls, Datatype& recvtype, Communicator& comm) {
  return run(process, comm, Collective::alltoallv, many(sendbuf, sendcounts, sdispls, sendtype),
             many(recvbuf, recvcounts, rdispls, recvtype));
}

Result<> neighbor_alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                            IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf,
                            IntegerArray recvcounts, IntegerArray rdispls,
                            std::span<Datatype* const> recvtypes, Communicator& comm) {
  return run(process, comm, Collective::alltoallw, typed(sendbuf, sendcounts, sdispls, sendtypes),
             typed(recvbuf, recvcounts, rdispls, recvtypes));
}

Result<> ineighbor_allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                             Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                             Communicator& comm, Request*& request) {
  return start(process, comm, Collective::allgather, one(sendbuf, sendcount, sendtype),
               one(recvbuf, recvcount, recvtype), request);
}

Result<> ineighbor_allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                              Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs,
                              Datatype& recvtype, Communicator& comm, Request*& request) {
  return start(process, comm, Collective::allgatherv, one(sendbuf, sendcount, sendtype),
               many(recvbuf, recvcounts, displs, recvtype), request);
}

Result<> ineighbor_alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                            Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                            Communicator& comm, Request*& request) {
  return start(process, comm, Collective::alltoall, one(sendbuf, sendcount, sendtype),
               one(recvbuf, recvcount, recvtype), request);
}

Result<> ineighbor_alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                             IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                             IntegerArray rdispls, Datatype& recvtype, Communicator& comm,
                             Request*& request) {
  return start(process, comm, Collective::alltoallv, many(sendbuf, sendcounts, sdispls, sendtype),
               many(recvbuf, recvcounts, rdispls, recvtype), request);
}

Result<> ineighbor_alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                             IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf,
                             IntegerArray recvcounts, IntegerArray rdispls,
                             std::span<Datatype* const> recvtypes, Communicator& comm, Request*& request) {
  return start(process, comm, Collective::alltoallw, typed(sendbuf, sendcounts, sdispls, sendtypes),
               typed(recvbuf, recvcounts, rdispls, recvtypes), request);
}

Result<> neighbor_allgather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                                 Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                 Datatype& recvtype, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, Collective::allgather, one(sendbuf, sendcount, sendtype),
                 one(recvbuf, recvcount, recvtype), request);
}

Result<> neighbor_allgatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                                  Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                  IntegerArray displs, Datatype& recvtype, Communicator& comm, Info*,
                                  Request*& request) {
  return prepare(process, comm, Collective::allgatherv, one(sendbuf, sendcount, sendtype),
                 many(recvbuf, recvcounts, displs, recvtype), request);
}

Result<> neighbor_alltoall_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount,
                                Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                                Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, Collective::alltoall, one(sendbuf, sendcount, sendtype),
                 one(recvbuf, recvcount, recvtype), request);
}

Result<> neighbor_alltoallv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                                 IntegerArray sdispls, Datatype& sendtype, void* recvbuf,
                                 IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype,
                                 Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, Collective::alltoallv, many(sendbuf, sendcounts, sdispls, sendtype),
                 many(recvbuf, recvcounts, rdispls, recvtype), request);
}

Result<> neighbor_alltoallw_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                                 IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf,
                                 IntegerArray recvcounts, IntegerArray rdispls,
                                 std::span<Datatype* const> recvtypes, Communicator& comm, Info*,
                                 Request*& request) {
  return prepare(process, comm, Collective::alltoallw, typed(sendbuf, sendcounts, sdispls, sendtypes),
                 typed(recvbuf, recvcounts, rdispls, recvtypes), request);
}

}  // namespace hawser::mpi
