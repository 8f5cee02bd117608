// Persistent collective operations (MPI-5.0 section 6.13).
#include "api/collective_calls.h"
#include "api/functions.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

static Result<> prepare(MpiProcess& process, Communicator& comm, Result<CollectiveCall> call,
                        Request*& request) {
  if (!call) return call.take_error();
  return process.collectives().prepare(comm, call.value(), request);
}

Result<> barrier_init(MpiProcess& process, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, barrier_call(comm), request);
}

Result<> bcast_init(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root,
                    Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, bcast_call(comm, buffer, count, datatype, root), request);
}

Result<> gather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                     void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm,
                     Info*, Request*& request) {
  return prepare(process, comm,
                 gather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
                 request);
}

Result<> gatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                      void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype,
                      int root, Communicator& comm, Info*, Request*& request) {
  return prepare(
      process, comm,
      gatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root), request);
}

Result<> scatter_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                      void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm,
                      Info*, Request*& request) {
  return prepare(process, comm,
                 scatter_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
                 request);
}

Result<> scatterv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs,
                       Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                       int root, Communicator& comm, Info*, Request*& request) {
  return prepare(
      process, comm,
      scatterv_call(comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),
      request);
}

Result<> allgather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                        void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info*,
                        Request*& request) {
  return prepare(process, comm,
                 allgather_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Result<> allgatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                         void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype,
                         Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm,
                 allgatherv_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
                 request);
}

Result<> alltoall_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                       void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info*,
                       Request*& request) {
  return prepare(process, comm,
                 alltoall_call(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Result<> alltoallv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                        IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                        IntegerArray rdispls, Datatype& recvtype, Communicator& comm, Info*,
                        Request*& request) {
  return prepare(
      process, comm,
      alltoallv_call(comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
      request);
}

Result<> alltoallw_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts,
                        IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf,
                        IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes,
                        Communicator& comm, Info*, Request*& request) {
  return prepare(
      process, comm,
      alltoallw_call(comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
      request);
}

Result<> reduce_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                     Datatype& datatype, Operator& op, int root, Communicator& comm, Info*,
                     Request*& request) {
  return prepare(process, comm, reduce_call(comm, sendbuf, recvbuf, count, datatype, op, root), request);
}

Result<> allreduce_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                        Datatype& datatype, Operator& op, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, allreduce_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

Result<> reduce_scatter_block_init(MpiProcess& process, const void* sendbuf, void* recvbuf,
                                   std::int64_t recvcount, Datatype& datatype, Operator& op,
                                   Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, reduce_scatter_block_call(comm, sendbuf, recvbuf, recvcount, datatype, op),
                 request);
}

Result<> reduce_scatter_init(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts,
                             Datatype& datatype, Operator& op, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, reduce_scatter_call(comm, sendbuf, recvbuf, recvcounts, datatype, op),
                 request);
}

Result<> scan_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                   Datatype& datatype, Operator& op, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, scan_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

Result<> exscan_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count,
                     Datatype& datatype, Operator& op, Communicator& comm, Info*, Request*& request) {
  return prepare(process, comm, exscan_call(comm, sendbuf, recvbuf, count, datatype, op), request);
}

}  // namespace hawser::mpi
