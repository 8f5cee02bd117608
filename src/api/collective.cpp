// Blocking collective operations (MPI-5.0 sections 6.3 to 6.11).
#include "api/collective_calls.h"
#include "api/functions.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

static Result<> run(MpiProcess& process, Communicator& comm, Result<CollectiveCall> call) {
  if (!call) return call.take_error();
  return process.collectives().run(comm, call.value());
}

Result<> barrier(MpiProcess& process, Communicator& comm) { return run(process, comm, barrier_call(comm)); }

Result<> bcast(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root,
               Communicator& comm) {
  return run(process, comm, bcast_call(comm, buffer, count, datatype, root));
}

Result<> gather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm) {
  return run(process, comm,
             gather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Result<> gatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                 void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, int root,
                 Communicator& comm) {
  return run(process, comm,
             gatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

Result<> scatter(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                 void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm) {
  return run(process, comm,
             scatter_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Result<> scatterv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs,
                  Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root,
                  Communicator& comm) {
  return run(process, comm,
             scatterv_call(comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root));
}

Result<> allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                   void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm) {
  return run(process, comm, allgather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Result<> allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                    void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype,
                    Communicator& comm) {
  return run(process, comm,
             allgatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Result<> alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                  void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm) {
  return run(process, comm, alltoall_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Result<> alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls,
                   Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls,
                   Datatype& recvtype, Communicator& comm) {
  return run(
      process, comm,
      alltoallv_call(comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

Result<> alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls,
                   std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts,
                   IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm) {
  return run(
      process, comm,
      alltoallw_call(comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

Result<> reduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                Datatype& datatype, Operator& op, int root, Communicator& comm) {
  return run(process, comm, reduce_call(comm, sendbuf, recvbuf, count, datatype, op, root));
}

Result<> allreduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                   Datatype& datatype, Operator& op, Communicator& comm) {
  return run(process, comm, allreduce_call(comm, sendbuf, recvbuf, count, datatype, op));
}

Result<> reduce_scatter_block(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t recvcount,
                              Datatype& datatype, Operator& op, Communicator& comm) {
  return run(process, comm, reduce_scatter_block_call(comm, sendbuf, recvbuf, recvcount, datatype, op));
}

Result<> reduce_scatter(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts,
                        Datatype& datatype, Operator& op, Communicator& comm) {
  return run(process, comm, reduce_scatter_call(comm, sendbuf, recvbuf, recvcounts, datatype, op));
}

Result<> scan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype,
              Operator& op, Communicator& comm) {
  return run(process, comm, scan_call(comm, sendbuf, recvbuf, count, datatype, op));
}

Result<> exscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                Datatype& datatype, Operator& op, Communicator& comm) {
  return run(process, comm, exscan_call(comm, sendbuf, recvbuf, count, datatype, op));
}

}  // namespace hawser::mpi
