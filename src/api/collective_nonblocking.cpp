// Non-blocking collective operations (MPI-5.0 section 6.12).
#include "api/collective_calls.h"
#include "api/functions.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

static Result<> start(MpiProcess& process, Communicator& comm, Result<CollectiveCall> call,
                      Request*& request) {
  if (!call) return call.take_error();
  return process.collectives().start(comm, call.value(), request);
}

Result<> ibarrier(MpiProcess& process, Communicator& comm, Request*& request) {
  return start(process, comm, barrier_call(comm), request);
}

Result<> ibcast(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root,
                Communicator& comm, Request*& request) {
  return start(process, comm, bcast_call(comm, buffer, count, datatype, root), request);
}

Result<> igather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                 void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm,
                 Request*& request) {
  return start(process, comm,
               gather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}

Result<> igatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                  void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, int root,
                  Communicator& comm, Request*& request) {
  return start(process, comm,
               gatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root),
               request);
}

Result<> iscatter(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                  void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm,
                  Request*& request) {
  return start(process, comm,
               scatter_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}

Result<> iscatterv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs,
                   Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root,
                   Communicator& comm, Request*& request) {
  return start(process, comm,
               scatterv_call(comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),
               request);
}

Result<> iallgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                    void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm,
                    Request*& request) {
  return start(process, comm,
               allgather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Result<> iallgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                     void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype,
                     Communicator& comm, Request*& request) {
  return start(process, comm,
               allgatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
               request);
}

Result<> ialltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                   void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm,
                   Request*& request) {
  return start(process, comm, alltoall_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
               request);
}

Result<> ialltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls,
                    Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls,
                    Datatype& recvtype, Communicator& comm, Request*& request) {
  return start(
      process, comm,
      alltoallv_call(comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
      request);
}

Result<> ialltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls,
                    std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts,
                    IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm,
                    Request*& request) {
  return start(
      process, comm,
      alltoallw_call(comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
      request);
}

Result<> ireduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                 Datatype& datatype, Operator& op, int root, Communicator& comm, Request*& request) {
  return start(process, comm, reduce_call(comm, sendbuf, recvbuf, count, datatype, op, root), request);
}

Result<> iallreduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                    Datatype& datatype, Operator& op, Communicator& comm, Request*& request) {
  return start(process, comm, allreduce_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

Result<> ireduce_scatter_block(MpiProcess& process, const void* sendbuf, void* recvbuf,
                               std::int64_t recvcount, Datatype& datatype, Operator& op, Communicator& comm,
                               Request*& request) {
  return start(process, comm, reduce_scatter_block_call(comm, sendbuf, recvbuf, recvcount, datatype, op),
               request);
}

Result<> ireduce_scatter(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts,
                         Datatype& datatype, Operator& op, Communicator& comm, Request*& request) {
  return start(process, comm, reduce_scatter_call(comm, sendbuf, recvbuf, recvcounts, datatype, op), request);
}

Result<> iscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
               Datatype& datatype, Operator& op, Communicator& comm, Request*& request) {
  return start(process, comm, scan_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

Result<> iexscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                 Datatype& datatype, Operator& op, Communicator& comm, Request*& request) {
  return start(process, comm, exscan_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

}  // namespace hawser::mpi
