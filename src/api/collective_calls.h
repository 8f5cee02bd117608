// The arguments of collective operations, checked, in the form the engine takes: one function each, shared by
// the blocking, non-blocking and persistent forms (MPI-5.0 chapter 6).
#pragma once

#include "collective/call.h"
#include "communicator/communicator.h"

namespace hawser::mpi {

Result<CollectiveCall> barrier_call(Communicator& comm);
Result<CollectiveCall> bcast_call(Communicator& comm, void* buffer, std::int64_t count, Datatype& datatype,
                                  int root);
Result<CollectiveCall> gather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                   Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                   Datatype& recvtype, int root);
Result<CollectiveCall> gatherv_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                    IntegerArray displs, Datatype& recvtype, int root);
Result<CollectiveCall> scatter_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                    Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                    Datatype& recvtype, int root);
Result<CollectiveCall> scatterv_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                     IntegerArray displs, Datatype& sendtype, void* recvbuf,
                                     std::int64_t recvcount, Datatype& recvtype, int root);
Result<CollectiveCall> allgather_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                      Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                      Datatype& recvtype);
Result<CollectiveCall> allgatherv_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                       Datatype& sendtype, void* recvbuf, IntegerArray recvcounts,
                                       IntegerArray displs, Datatype& recvtype);
Result<CollectiveCall> alltoall_call(Communicator& comm, const void* sendbuf, std::int64_t sendcount,
                                     Datatype& sendtype, void* recvbuf, std::int64_t recvcount,
                                     Datatype& recvtype);
Result<CollectiveCall> alltoallv_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                      IntegerArray sdispls, Datatype& sendtype, void* recvbuf,
                                      IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype);
Result<CollectiveCall> alltoallw_call(Communicator& comm, const void* sendbuf, IntegerArray sendcounts,
                                      IntegerArray sdispls, std::span<Datatype* const> sendtypes,
                                      void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls,
                                      std::span<Datatype* const> recvtypes);
Result<CollectiveCall> reduce_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op, int root);
Result<CollectiveCall> allreduce_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                      std::int64_t count, Datatype& datatype, Operator& op);
Result<CollectiveCall> reduce_scatter_block_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                                 std::int64_t recvcount, Datatype& datatype, Operator& op);
Result<CollectiveCall> reduce_scatter_call(Communicator& comm, const void* sendbuf, void* recvbuf,
                                           IntegerArray recvcounts, Datatype& datatype, Operator& op);
Result<CollectiveCall> scan_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                 Datatype& datatype, Operator& op);
Result<CollectiveCall> exscan_call(Communicator& comm, const void* sendbuf, void* recvbuf, std::int64_t count,
                                   Datatype& datatype, Operator& op);

}  // namespace hawser::mpi
