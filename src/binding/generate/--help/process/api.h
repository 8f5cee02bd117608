// The core functions behind the MPI functions. Generated from src/binding/functions_*.table; do not edit.
//
// binding/ checks the arguments, turns handles into objects, and calls one of these under the process's lock.
// Numbers with a meaning (ranks, tags, thread levels, ...) are the standard ABI's. Where a parameter is an
// array, its length is in the function's line of the table. A parameter `large` tells whether the large-count
// form (`_c`) was called. An out Ref that stays null becomes the kind's null handle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/arguments.h"
#include "base/counted.h"
#include "base/result.h"
#include "message/status.h"

namespace hawser {

class Communicator;
class Datatype;
class ErrorHandler;
class File;
class Group;
class Info;
class Message;
class MpiProcess;
class Operator;
class Request;
class Session;
class Window;

namespace mpi {


// collective
Result<> barrier(MpiProcess& process, Communicator& comm);  // not implemented
Result<> bcast(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root, Communicator& comm);  // not implemented
Result<> gather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm);  // not implemented
Result<> gatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, int root, Communicator& comm);  // not implemented
Result<> scatter(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm);  // not implemented
Result<> scatterv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm);  // not implemented
Result<> allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm);  // not implemented
Result<> reduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, int root, Communicator& comm);  // not implemented
Result<> allreduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm);  // not implemented
Result<> reduce_scatter_block(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t recvcount, Datatype& datatype, Operator& op, Communicator& comm);  // not implemented
Result<> reduce_scatter(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts, Datatype& datatype, Operator& op, Communicator& comm);  // not implemented
Result<> scan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm);  // not implemented
Result<> exscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm);  // not implemented
Result<> reduce_local(MpiProcess& process, const void* inbuf, void* inoutbuf, std::int64_t count, Datatype& datatype, Operator& op);  // not implemented

// collective nonblocking
Result<> ibarrier(MpiProcess& process, Communicator& comm, Request*& request);  // not implemented
Result<> ibcast(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root, Communicator& comm, Request*& request);  // not implemented
Result<> igather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Request*& request);  // not implemented
Result<> igatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, int root, Communicator& comm, Request*& request);  // not implemented
Result<> iscatter(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Request*& request);  // not implemented
Result<> iscatterv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Request*& request);  // not implemented
Result<> iallgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> iallgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ialltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ialltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ialltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm, Request*& request);  // not implemented
Result<> ireduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, int root, Communicator& comm, Request*& request);  // not implemented
Result<> iallreduce(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Request*& request);  // not implemented
Result<> ireduce_scatter_block(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t recvcount, Datatype& datatype, Operator& op, Communicator& comm, Request*& request);  // not implemented
Result<> ireduce_scatter(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts, Datatype& datatype, Operator& op, Communicator& comm, Request*& request);  // not implemented
Result<> iscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Request*& request);  // not implemented
Result<> iexscan(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Request*& request);  // not implemented

// collective persistent
Result<> barrier_init(MpiProcess& process, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> bcast_init(MpiProcess& process, void* buffer, std::int64_t count, Datatype& datatype, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> gather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> gatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> scatter_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> scatterv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray displs, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> allgather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> allgatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> alltoall_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> alltoallv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> alltoallw_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> reduce_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, int root, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> allreduce_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> reduce_scatter_block_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t recvcount, Datatype& datatype, Operator& op, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> reduce_scatter_init(MpiProcess& process, const void* sendbuf, void* recvbuf, IntegerArray recvcounts, Datatype& datatype, Operator& op, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> scan_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> exscan_init(MpiProcess& process, const void* sendbuf, void* recvbuf, std::int64_t count, Datatype& datatype, Operator& op, Communicator& comm, Info* info, Request*& request);  // not implemented

// neighborhood
Result<> neighbor_allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> neighbor_allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> neighbor_alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> neighbor_alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm);  // not implemented
Result<> neighbor_alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm);  // not implemented
Result<> ineighbor_allgather(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ineighbor_allgatherv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ineighbor_alltoall(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ineighbor_alltoallv(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm, Request*& request);  // not implemented
Result<> ineighbor_alltoallw(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm, Request*& request);  // not implemented
Result<> neighbor_allgather_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> neighbor_allgatherv_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray displs, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> neighbor_alltoall_init(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> neighbor_alltoallv_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, Datatype& sendtype, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, Datatype& recvtype, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> neighbor_alltoallw_init(MpiProcess& process, const void* sendbuf, IntegerArray sendcounts, IntegerArray sdispls, std::span<Datatype* const> sendtypes, void* recvbuf, IntegerArray recvcounts, IntegerArray rdispls, std::span<Datatype* const> recvtypes, Communicator& comm, Info* info, Request*& request);  // not implemented

// group
Result<> group_size(MpiProcess& process, Group& group, int& size);  // not implemented
Result<> group_rank(MpiProcess& process, Group& group, int& rank);  // not implemented
Result<> group_translate_ranks(MpiProcess& process, Group& group1, int n, const int* ranks1, Group& group2, int* ranks2);  // not implemented
Result<> group_compare(MpiProcess& process, Group& group1, Group& group2, int& result);  // not implemented
Result<> group_union(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup);  // not implemented
Result<> group_intersection(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup);  // not implemented
Result<> group_difference(MpiProcess& process, Group& group1, Group& group2, Ref<Group>& newgroup);  // not implemented
Result<> group_incl(MpiProcess& process, Group& group, int n, const int* ranks, Ref<Group>& newgroup);  // not implemented
Result<> group_excl(MpiProcess& process, Group& group, int n, const int* ranks, Ref<Group>& newgroup);  // not implemented
Result<> group_range_incl(MpiProcess& process, Group& group, int n, const int (*ranges)[3], Ref<Group>& newgroup);  // not implemented
Result<> group_range_excl(MpiProcess& process, Group& group, int n, const int (*ranges)[3], Ref<Group>& newgroup);  // not implemented
Result<> group_free(MpiProcess& process, Group& group);  // not implemented
Result<> group_from_session_pset(MpiProcess& process, Session& session, std::string_view pset_name, Ref<Group>& newgroup);  // not implemented

// communicator
Result<> comm_size(MpiProcess& process, Communicator& comm, int& size);  // not implemented
Result<> comm_rank(MpiProcess& process, Communicator& comm, int& rank);  // not implemented
Result<> comm_compare(MpiProcess& process, Communicator& comm1, Communicator& comm2, int& result);  // not implemented
Result<> comm_dup(MpiProcess& process, Communicator& comm, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_dup_with_info(MpiProcess& process, Communicator& comm, Info* info, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_idup(MpiProcess& process, Communicator& comm, Ref<Communicator>& newcomm, Request*& request);  // not implemented
Result<> comm_idup_with_info(MpiProcess& process, Communicator& comm, Info* info, Ref<Communicator>& newcomm, Request*& request);  // not implemented
Result<> comm_create(MpiProcess& process, Communicator& comm, Group& group, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_create_group(MpiProcess& process, Communicator& comm, Group& group, int tag, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_create_from_group(MpiProcess& process, Group& group, std::string_view stringtag, Info* info, ErrorHandler& errhandler, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_split(MpiProcess& process, Communicator& comm, int color, int key, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_split_type(MpiProcess& process, Communicator& comm, int split_type, int key, Info* info, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_free(MpiProcess& process, Communicator& comm);  // not implemented
Result<> comm_set_name(MpiProcess& process, Communicator& comm, std::string_view comm_name);  // not implemented
Result<> comm_get_name(MpiProcess& process, Communicator& comm, std::string& comm_name);  // not implemented
Result<> comm_set_info(MpiProcess& process, Communicator& comm, Info* info);  // not implemented
Result<> comm_get_info(MpiProcess& process, Communicator& comm, Ref<Info>& info_used);  // not implemented
Result<> comm_group(MpiProcess& process, Communicator& comm, Ref<Group>& group);  // not implemented
Result<> comm_test_inter(MpiProcess& process, Communicator& comm, bool& flag);  // not implemented
Result<> comm_remote_size(MpiProcess& process, Communicator& comm, int& size);  // not implemented
Result<> comm_remote_group(MpiProcess& process, Communicator& comm, Ref<Group>& group);  // not implemented
Result<> intercomm_create(MpiProcess& process, Communicator& local_comm, int local_leader, Communicator* peer_comm, int remote_leader, int tag, Ref<Communicator>& newintercomm);  // not implemented
Result<> intercomm_create_from_groups(MpiProcess& process, Group& local_group, int local_leader, Group& remote_group, int remote_leader, std::string_view stringtag, Info* info, ErrorHandler& errhandler, Ref<Communicator>& newintercomm);  // not implemented
Result<> intercomm_merge(MpiProcess& process, Communicator& intercomm, bool high, Ref<Communicator>& newintracomm);  // not implemented

// attribute
Result<> comm_create_keyval(MpiProcess& process, AbiFunction comm_copy_attr_fn, AbiFunction comm_delete_attr_fn, int& comm_keyval, void* extra_state);  // not implemented
Result<> comm_free_keyval(MpiProcess& process, int comm_keyval);  // not implemented
Result<> comm_set_attr(MpiProcess& process, Communicator& comm, int comm_keyval, void* attribute_val);  // not implemented
Result<> comm_get_attr(MpiProcess& process, Communicator& comm, int comm_keyval, void*& attribute_val, bool& flag);  // not implemented
Result<> comm_delete_attr(MpiProcess& process, Communicator& comm, int comm_keyval);  // not implemented

// topology
Result<> cart_create(MpiProcess& process, Communicator& comm_old, int ndims, const int* dims, const int* periods, bool reorder, Ref<Communicator>& comm_cart);  // not implemented
Result<> dims_create(MpiProcess& process, int nnodes, int ndims, int* dims);  // not implemented
Result<> graph_create(MpiProcess& process, Communicator& comm_old, int nnodes, const int* index, const int* edges, bool reorder, Ref<Communicator>& comm_graph);  // not implemented
Result<> dist_graph_create_adjacent(MpiProcess& process, Communicator& comm_old, int indegree, const int* sources, const int* sourceweights, int outdegree, const int* destinations, const int* destweights, Info* info, bool reorder, Ref<Communicator>& comm_dist_graph);  // not implemented
Result<> dist_graph_create(MpiProcess& process, Communicator& comm_old, int n, const int* sources, const int* degrees, const int* destinations, const int* weights, Info* info, bool reorder, Ref<Communicator>& comm_dist_graph);  // not implemented
Result<> topo_test(MpiProcess& process, Communicator& comm, int& status);  // not implemented
Result<> graphdims_get(MpiProcess& process, Communicator& comm, int& nnodes, int& nedges);  // not implemented
Result<> graph_get(MpiProcess& process, Communicator& comm, int maxindex, int maxedges, int* index, int* edges);  // not implemented
Result<> cartdim_get(MpiProcess& process, Communicator& comm, int& ndims);  // not implemented
Result<> cart_get(MpiProcess& process, Communicator& comm, int maxdims, int* dims, int* periods, int* coords);  // not implemented
Result<> cart_rank(MpiProcess& process, Communicator& comm, const int* coords, int& rank);  // not implemented
Result<> cart_coords(MpiProcess& process, Communicator& comm, int rank, int maxdims, int* coords);  // not implemented
Result<> graph_neighbors_count(MpiProcess& process, Communicator& comm, int rank, int& nneighbors);  // not implemented
Result<> graph_neighbors(MpiProcess& process, Communicator& comm, int rank, int maxneighbors, int* neighbors);  // not implemented
Result<> dist_graph_neighbors_count(MpiProcess& process, Communicator& comm, int& indegree, int& outdegree, bool& weighted);  // not implemented
Result<> dist_graph_neighbors(MpiProcess& process, Communicator& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree, int* destinations, int* destweights);  // not implemented
Result<> cart_shift(MpiProcess& process, Communicator& comm, int direction, int disp, int& rank_source, int& rank_dest);  // not implemented
Result<> cart_sub(MpiProcess& process, Communicator& comm, const int* remain_dims, Ref<Communicator>& newcomm);  // not implemented
Result<> cart_map(MpiProcess& process, Communicator& comm, int ndims, const int* dims, const int* periods, int& newrank);  // not implemented
Result<> graph_map(MpiProcess& process, Communicator& comm, int nnodes, const int* index, const int* edges, int& newrank);  // not implemented

// datatype
Result<> type_contiguous(MpiProcess& process, std::int64_t count, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_vector(MpiProcess& process, std::int64_t count, std::int64_t blocklength, std::int64_t stride, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_hvector(MpiProcess& process, std::int64_t count, std::int64_t blocklength, std::int64_t stride, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_indexed(MpiProcess& process, std::int64_t count, IntegerArray array_of_blocklengths, IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_hindexed(MpiProcess& process, std::int64_t count, IntegerArray array_of_blocklengths, IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_indexed_block(MpiProcess& process, std::int64_t count, std::int64_t blocklength, IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_hindexed_block(MpiProcess& process, std::int64_t count, std::int64_t blocklength, IntegerArray array_of_displacements, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_struct(MpiProcess& process, std::int64_t count, IntegerArray array_of_blocklengths, IntegerArray array_of_displacements, std::span<Datatype* const> array_of_types, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_subarray(MpiProcess& process, int ndims, IntegerArray array_of_sizes, IntegerArray array_of_subsizes, IntegerArray array_of_starts, int order, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_darray(MpiProcess& process, int size, int rank, int ndims, IntegerArray array_of_gsizes, const int* array_of_distribs, const int* array_of_dargs, const int* array_of_psizes, int order, Datatype& oldtype, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_resized(MpiProcess& process, Datatype& oldtype, std::int64_t lb, std::int64_t extent, Ref<Datatype>& newtype, bool large);  // not implemented
Result<> type_create_f90_real(MpiProcess& process, int p, int r, Ref<Datatype>& newtype);  // not implemented
Result<> type_create_f90_complex(MpiProcess& process, int p, int r, Ref<Datatype>& newtype);  // not implemented
Result<> type_create_f90_integer(MpiProcess& process, int r, Ref<Datatype>& newtype);  // not implemented
Result<> type_match_size(MpiProcess& process, int typeclass, int size, Ref<Datatype>& datatype);  // not implemented
Result<> type_get_value_index(MpiProcess& process, Datatype& value_type, Datatype& index_type, Ref<Datatype>& pair_type);  // not implemented
Result<> type_dup(MpiProcess& process, Datatype& oldtype, Ref<Datatype>& newtype);  // not implemented
Result<> type_commit(MpiProcess& process, Datatype& datatype);  // not implemented
Result<> type_free(MpiProcess& process, Datatype& datatype);  // not implemented
Result<> type_size(MpiProcess& process, Datatype& datatype, std::int64_t& size);  // not implemented
Result<> type_size_x(MpiProcess& process, Datatype& datatype, std::int64_t& size);  // not implemented
Result<> type_get_extent(MpiProcess& process, Datatype& datatype, std::int64_t& lb, std::int64_t& extent);  // not implemented
Result<> type_get_extent_x(MpiProcess& process, Datatype& datatype, std::int64_t& lb, std::int64_t& extent);  // not implemented
Result<> type_get_true_extent(MpiProcess& process, Datatype& datatype, std::int64_t& true_lb, std::int64_t& true_extent);  // not implemented
Result<> type_get_true_extent_x(MpiProcess& process, Datatype& datatype, std::int64_t& true_lb, std::int64_t& true_extent);  // not implemented
Result<> type_get_envelope(MpiProcess& process, Datatype& datatype, std::int64_t& num_integers, std::int64_t& num_addresses, std::int64_t& num_large_counts, std::int64_t& num_datatypes, int& combiner);  // not implemented
Result<> type_get_contents(MpiProcess& process, Datatype& datatype, std::int64_t max_integers, std::int64_t max_addresses, std::int64_t max_large_counts, std::int64_t max_datatypes, int* array_of_integers, std::int64_t* array_of_addresses, std::int64_t* array_of_large_counts, std::span<Ref<Datatype>> array_of_datatypes);  // not implemented
Result<> type_get_name(MpiProcess& process, Datatype& datatype, std::string& type_name);  // not implemented
Result<> type_set_name(MpiProcess& process, Datatype& datatype, std::string_view type_name);  // not implemented
Result<> pack(MpiProcess& process, const void* inbuf, std::int64_t incount, Datatype& datatype, void* outbuf, std::int64_t outsize, std::int64_t& position, Communicator& comm);  // not implemented
Result<> unpack(MpiProcess& process, const void* inbuf, std::int64_t insize, std::int64_t& position, void* outbuf, std::int64_t outcount, Datatype& datatype, Communicator& comm);  // not implemented
Result<> pack_size(MpiProcess& process, std::int64_t incount, Datatype& datatype, Communicator& comm, std::int64_t& size);  // not implemented
Result<> pack_external(MpiProcess& process, std::string_view datarep, const void* inbuf, std::int64_t incount, Datatype& datatype, void* outbuf, std::int64_t outsize, std::int64_t& position);  // not implemented
Result<> unpack_external(MpiProcess& process, std::string_view datarep, const void* inbuf, std::int64_t insize, std::int64_t& position, void* outbuf, std::int64_t outcount, Datatype& datatype);  // not implemented
Result<> pack_external_size(MpiProcess& process, std::string_view datarep, std::int64_t incount, Datatype& datatype, std::int64_t& size);  // not implemented
Result<> register_datarep(MpiProcess& process, std::string_view datarep, AbiFunction read_conversion_fn, AbiFunction write_conversion_fn, AbiFunction dtype_file_extent_fn, void* extra_state);  // not implemented

// operation
Result<> op_create(MpiProcess& process, AbiFunction user_fn, bool commute, Ref<Operator>& op, bool large);  // not implemented
Result<> op_free(MpiProcess& process, Operator& op);  // not implemented
Result<> op_commutative(MpiProcess& process, Operator& op, bool& commute);  // not implemented

// type attribute
Result<> type_create_keyval(MpiProcess& process, AbiFunction type_copy_attr_fn, AbiFunction type_delete_attr_fn, int& type_keyval, void* extra_state);  // not implemented
Result<> type_free_keyval(MpiProcess& process, int type_keyval);  // not implemented
Result<> type_set_attr(MpiProcess& process, Datatype& datatype, int type_keyval, void* attribute_val);  // not implemented
Result<> type_get_attr(MpiProcess& process, Datatype& datatype, int type_keyval, void*& attribute_val, bool& flag);  // not implemented
Result<> type_delete_attr(MpiProcess& process, Datatype& datatype, int type_keyval);  // not implemented

// environment
Result<> query_thread(MpiProcess& process, int& provided);  // not implemented
Result<> is_thread_main(MpiProcess& process, bool& flag);  // not implemented
Result<> get_version(MpiProcess& process, int& version, int& subversion);  // not implemented
Result<> get_library_version(MpiProcess& process, std::string& version);  // not implemented
Result<> get_processor_name(MpiProcess& process, std::string& name);  // not implemented
Result<> get_hw_resource_info(MpiProcess& process, Ref<Info>& hw_info);  // not implemented
Result<> alloc_mem(MpiProcess& process, std::int64_t size, Info* info, void*& baseptr);  // not implemented
Result<> free_mem(MpiProcess& process, void* base);  // not implemented

// info
Result<> info_create(MpiProcess& process, Ref<Info>& info);  // not implemented
Result<> info_create_env(MpiProcess& process, int argc, char** argv, Ref<Info>& info);  // not implemented
Result<> info_delete(MpiProcess& process, Info* info, std::string_view key);  // not implemented
Result<> info_dup(MpiProcess& process, Info* info, Ref<Info>& newinfo);  // not implemented
Result<> info_free(MpiProcess& process, Info& info);  // not implemented
Result<> info_get(MpiProcess& process, Info* info, std::string_view key, int valuelen, std::string& value, bool& flag);  // not implemented
Result<> info_get_nkeys(MpiProcess& process, Info* info, int& nkeys);  // not implemented
Result<> info_get_nthkey(MpiProcess& process, Info* info, int n, std::string& key);  // not implemented
Result<> info_get_string(MpiProcess& process, Info* info, std::string_view key, int& buflen, std::string& value, bool& flag);  // not implemented
Result<> info_get_valuelen(MpiProcess& process, Info* info, std::string_view key, int& valuelen, bool& flag);  // not implemented
Result<> info_set(MpiProcess& process, Info* info, std::string_view key, std::string_view value);  // not implemented

// error
Result<> comm_create_errhandler(MpiProcess& process, AbiFunction comm_errhandler_fn, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> comm_set_errhandler(MpiProcess& process, Communicator& comm, ErrorHandler& errhandler);  // not implemented
Result<> comm_get_errhandler(MpiProcess& process, Communicator& comm, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> comm_call_errhandler(MpiProcess& process, Communicator& comm, int errorcode);  // not implemented
Result<> win_create_errhandler(MpiProcess& process, AbiFunction win_errhandler_fn, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> win_set_errhandler(MpiProcess& process, Window& win, ErrorHandler& errhandler);  // not implemented
Result<> win_get_errhandler(MpiProcess& process, Window& win, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> win_call_errhandler(MpiProcess& process, Window& win, int errorcode);  // not implemented
Result<> file_create_errhandler(MpiProcess& process, AbiFunction file_errhandler_fn, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> file_set_errhandler(MpiProcess& process, File& file, ErrorHandler& errhandler);  // not implemented
Result<> file_get_errhandler(MpiProcess& process, File& file, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> file_call_errhandler(MpiProcess& process, File& fh, int errorcode);  // not implemented
Result<> session_create_errhandler(MpiProcess& process, AbiFunction session_errhandler_fn, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> session_set_errhandler(MpiProcess& process, Session& session, ErrorHandler& errhandler);  // not implemented
Result<> session_get_errhandler(MpiProcess& process, Session& session, Ref<ErrorHandler>& errhandler);  // not implemented
Result<> session_call_errhandler(MpiProcess& process, Session& session, int errorcode);  // not implemented
Result<> errhandler_free(MpiProcess& process, ErrorHandler& errhandler);  // not implemented
Result<> error_class(MpiProcess& process, int errorcode, int& errorclass);  // not implemented
Result<> error_string(MpiProcess& process, int errorcode, std::string& string);  // not implemented
Result<> add_error_class(MpiProcess& process, int& errorclass);  // not implemented
Result<> add_error_code(MpiProcess& process, int errorclass, int& errorcode);  // not implemented
Result<> add_error_string(MpiProcess& process, int errorcode, std::string_view string);  // not implemented
Result<> remove_error_class(MpiProcess& process, int errorclass);  // not implemented
Result<> remove_error_code(MpiProcess& process, int errorcode);  // not implemented
Result<> remove_error_string(MpiProcess& process, int errorcode);  // not implemented

// process
Result<> comm_spawn(MpiProcess& process, std::string_view command, char** argv, int maxprocs, Info* info, int root, Communicator& comm, Ref<Communicator>& intercomm, int* array_of_errcodes);  // not implemented
Result<> comm_spawn_multiple(MpiProcess& process, int count, const char* const* array_of_commands, char*** array_of_argv, const int* array_of_maxprocs, std::span<Info* const> array_of_info, int root, Communicator& comm, Ref<Communicator>& intercomm, int* array_of_errcodes);  // not implemented
Result<> comm_get_parent(MpiProcess& process, Ref<Communicator>& parent);  // not implemented
Result<> comm_accept(MpiProcess& process, std::string_view port_name, Info* info, int root, Communicator& comm, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_connect(MpiProcess& process, std::string_view port_name, Info* info, int root, Communicator& comm, Ref<Communicator>& newcomm);  // not implemented
Result<> comm_disconnect(MpiProcess& process, Communicator& comm);  // not implemented
Result<> comm_join(MpiProcess& process, int fd, Ref<Communicator>& intercomm);  // not implemented
Result<> open_port(MpiProcess& process, Info* info, std::string& port_name);  // not implemented
Result<> close_port(MpiProcess& process, std::string_view port_name);  // not implemented
Result<> publish_name(MpiProcess& process, std::string_view service_name, Info* info, std::string_view port_name);  // not implemented
Result<> unpublish_name(MpiProcess& process, std::string_view service_name, Info* info, std::string_view port_name);  // not implemented
Result<> lookup_name(MpiProcess& process, std::string_view service_name, Info* info, std::string& port_name);  // not implemented

// session
Result<> session_init(MpiProcess& process, Info* info, ErrorHandler& errhandler, Ref<Session>& session);  // not implemented
Result<> session_finalize(MpiProcess& process, Session& session);  // not implemented
Result<> session_get_info(MpiProcess& process, Session& session, Ref<Info>& info_used);  // not implemented
Result<> session_get_num_psets(MpiProcess& process, Session& session, Info* info, int& npset_names);  // not implemented
Result<> session_get_nth_pset(MpiProcess& process, Session& session, Info* info, int n, int& pset_len, std::string& pset_name);  // not implemented
Result<> session_get_pset_info(MpiProcess& process, Session& session, std::string_view pset_name, Ref<Info>& info);  // not implemented

// interface
Result<> abi_get_info(MpiProcess& process, Ref<Info>& info);  // not implemented
Result<> abi_get_fortran_info(MpiProcess& process, Ref<Info>& info);  // not implemented
Result<> abi_set_fortran_info(MpiProcess& process, Info* info);  // not implemented
Result<> abi_get_fortran_booleans(MpiProcess& process, int logical_size, void* logical_true, void* logical_false, bool& is_set);  // not implemented
Result<> abi_set_fortran_booleans(MpiProcess& process, int logical_size, void* logical_true, void* logical_false);  // not implemented

// file
Result<> file_open(MpiProcess& process, Communicator& comm, std::string_view filename, int amode, Info* info, Ref<File>& fh);  // not implemented
Result<> file_close(MpiProcess& process, File& fh);  // not implemented
Result<> file_delete(MpiProcess& process, std::string_view filename, Info* info);  // not implemented
Result<> file_set_size(MpiProcess& process, File& fh, std::int64_t size);  // not implemented
Result<> file_preallocate(MpiProcess& process, File& fh, std::int64_t size);  // not implemented
Result<> file_get_size(MpiProcess& process, File& fh, std::int64_t& size);  // not implemented
Result<> file_get_group(MpiProcess& process, File& fh, Ref<Group>& group);  // not implemented
Result<> file_get_amode(MpiProcess& process, File& fh, int& amode);  // not implemented
Result<> file_set_info(MpiProcess& process, File& fh, Info* info);  // not implemented
Result<> file_get_info(MpiProcess& process, File& fh, Ref<Info>& info_used);  // not implemented
Result<> file_set_view(MpiProcess& process, File& fh, std::int64_t disp, Datatype& etype, Datatype& filetype, std::string_view datarep, Info* info);  // not implemented
Result<> file_get_view(MpiProcess& process, File& fh, std::int64_t& disp, Ref<Datatype>& etype, Ref<Datatype>& filetype, std::string& datarep);  // not implemented
Result<> file_read_at(MpiProcess& process, File& fh, std::int64_t offset, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iread_at(MpiProcess& process, File& fh, std::int64_t offset, void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_read_at_all(MpiProcess& process, File& fh, std::int64_t offset, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iread_at_all(MpiProcess& process, File& fh, std::int64_t offset, void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_read(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iread(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_read_all(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iread_all(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_read_shared(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iread_shared(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_read_ordered(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_read_at_all_begin(MpiProcess& process, File& fh, std::int64_t offset, void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_read_at_all_end(MpiProcess& process, File& fh, void* buf, Status* status);  // not implemented
Result<> file_read_all_begin(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_read_all_end(MpiProcess& process, File& fh, void* buf, Status* status);  // not implemented
Result<> file_read_ordered_begin(MpiProcess& process, File& fh, void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_read_ordered_end(MpiProcess& process, File& fh, void* buf, Status* status);  // not implemented
Result<> file_write_at(MpiProcess& process, File& fh, std::int64_t offset, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iwrite_at(MpiProcess& process, File& fh, std::int64_t offset, const void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_write_at_all(MpiProcess& process, File& fh, std::int64_t offset, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iwrite_at_all(MpiProcess& process, File& fh, std::int64_t offset, const void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_write(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iwrite(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_write_all(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iwrite_all(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_write_shared(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_iwrite_shared(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Request*& request);  // not implemented
Result<> file_write_ordered(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype, Status* status);  // not implemented
Result<> file_write_at_all_begin(MpiProcess& process, File& fh, std::int64_t offset, const void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_write_at_all_end(MpiProcess& process, File& fh, const void* buf, Status* status);  // not implemented
Result<> file_write_all_begin(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_write_all_end(MpiProcess& process, File& fh, const void* buf, Status* status);  // not implemented
Result<> file_write_ordered_begin(MpiProcess& process, File& fh, const void* buf, std::int64_t count, Datatype& datatype);  // not implemented
Result<> file_write_ordered_end(MpiProcess& process, File& fh, const void* buf, Status* status);  // not implemented
Result<> file_seek(MpiProcess& process, File& fh, std::int64_t offset, int whence);  // not implemented
Result<> file_get_position(MpiProcess& process, File& fh, std::int64_t& offset);  // not implemented
Result<> file_get_byte_offset(MpiProcess& process, File& fh, std::int64_t offset, std::int64_t& disp);  // not implemented
Result<> file_seek_shared(MpiProcess& process, File& fh, std::int64_t offset, int whence);  // not implemented
Result<> file_get_position_shared(MpiProcess& process, File& fh, std::int64_t& offset);  // not implemented
Result<> file_get_type_extent(MpiProcess& process, File& fh, Datatype& datatype, std::int64_t& extent);  // not implemented
Result<> file_set_atomicity(MpiProcess& process, File& fh, bool flag);  // not implemented
Result<> file_get_atomicity(MpiProcess& process, File& fh, bool& flag);  // not implemented
Result<> file_sync(MpiProcess& process, File& fh);  // not implemented

// point to point
Result<> send(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm);  // not implemented
Result<> bsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm);  // not implemented
Result<> ssend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm);  // not implemented
Result<> rsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm);  // not implemented
Result<> recv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int source, int tag, Communicator& comm, Status* status);  // not implemented
Result<> isend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> ibsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> issend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> irsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> irecv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int source, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> send_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> bsend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> ssend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> rsend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> recv_init(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int source, int tag, Communicator& comm, Request*& request);  // not implemented
Result<> sendrecv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int source, int recvtag, Communicator& comm, Status* status);  // not implemented
Result<> sendrecv_replace(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int dest, int sendtag, int source, int recvtag, Communicator& comm, Status* status);  // not implemented
Result<> isendrecv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf, std::int64_t recvcount, Datatype& recvtype, int source, int recvtag, Communicator& comm, Request*& request);  // not implemented
Result<> isendrecv_replace(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int dest, int sendtag, int source, int recvtag, Communicator& comm, Request*& request);  // not implemented
Result<> probe(MpiProcess& process, int source, int tag, Communicator& comm, Status* status);  // not implemented
Result<> iprobe(MpiProcess& process, int source, int tag, Communicator& comm, bool& flag, Status* status);  // not implemented
Result<> mprobe(MpiProcess& process, int source, int tag, Communicator& comm, Message*& message, Status* status);  // not implemented
Result<> improbe(MpiProcess& process, int source, int tag, Communicator& comm, bool& flag, Message*& message, Status* status);  // not implemented
Result<> mrecv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, Message*& message, Status* status);  // not implemented
Result<> imrecv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, Message*& message, Request*& request);  // not implemented
Result<> buffer_attach(MpiProcess& process, void* buffer, std::int64_t size);  // not implemented
Result<> buffer_detach(MpiProcess& process, void*& buffer_addr, std::int64_t& size);  // not implemented
Result<> buffer_flush(MpiProcess& process);  // not implemented
Result<> buffer_iflush(MpiProcess& process, Request*& request);  // not implemented
Result<> comm_attach_buffer(MpiProcess& process, Communicator& comm, void* buffer, std::int64_t size);  // not implemented
Result<> comm_detach_buffer(MpiProcess& process, Communicator& comm, void*& buffer_addr, std::int64_t& size);  // not implemented
Result<> comm_flush_buffer(MpiProcess& process, Communicator& comm);  // not implemented
Result<> comm_iflush_buffer(MpiProcess& process, Communicator& comm, Request*& request);  // not implemented
Result<> session_attach_buffer(MpiProcess& process, Session& session, void* buffer, std::int64_t size);  // not implemented
Result<> session_detach_buffer(MpiProcess& process, Session& session, void*& buffer_addr, std::int64_t& size);  // not implemented
Result<> session_flush_buffer(MpiProcess& process, Session& session);  // not implemented
Result<> session_iflush_buffer(MpiProcess& process, Session& session, Request*& request);  // not implemented

// request
Result<> wait(MpiProcess& process, Request*& request, Status* status);  // not implemented
Result<> test(MpiProcess& process, Request*& request, bool& flag, Status* status);  // not implemented
Result<> waitall(MpiProcess& process, std::span<Request*> array_of_requests, Status* array_of_statuses);  // not implemented
Result<> testall(MpiProcess& process, std::span<Request*> array_of_requests, bool& flag, Status* array_of_statuses);  // not implemented
Result<> waitany(MpiProcess& process, std::span<Request*> array_of_requests, int& index, Status* status);  // not implemented
Result<> testany(MpiProcess& process, std::span<Request*> array_of_requests, int& index, bool& flag, Status* status);  // not implemented
Result<> waitsome(MpiProcess& process, std::span<Request*> array_of_requests, int& outcount, int* array_of_indices, Status* array_of_statuses);  // not implemented
Result<> testsome(MpiProcess& process, std::span<Request*> array_of_requests, int& outcount, int* array_of_indices, Status* array_of_statuses);  // not implemented
Result<> request_get_status(MpiProcess& process, Request* request, bool& flag, Status* status);  // not implemented
Result<> request_get_status_all(MpiProcess& process, std::span<Request* const> array_of_requests, bool& flag, Status* array_of_statuses);  // not implemented
Result<> request_get_status_any(MpiProcess& process, std::span<Request* const> array_of_requests, int& index, bool& flag, Status* status);  // not implemented
Result<> request_get_status_some(MpiProcess& process, std::span<Request* const> array_of_requests, int& outcount, int* array_of_indices, Status* array_of_statuses);  // not implemented
Result<> start(MpiProcess& process, Request*& request);  // not implemented
Result<> startall(MpiProcess& process, std::span<Request*> array_of_requests);  // not implemented
Result<> cancel(MpiProcess& process, Request*& request);  // not implemented
Result<> request_free(MpiProcess& process, Request*& request);  // not implemented
Result<> grequest_start(MpiProcess& process, AbiFunction query_fn, AbiFunction free_fn, AbiFunction cancel_fn, void* extra_state, Request*& request);  // not implemented
Result<> grequest_complete(MpiProcess& process, Request* request);  // not implemented
Result<> psend_init(MpiProcess& process, const void* buf, int partitions, std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> precv_init(MpiProcess& process, void* buf, int partitions, std::int64_t count, Datatype& datatype, int source, int tag, Communicator& comm, Info* info, Request*& request);  // not implemented
Result<> pready(MpiProcess& process, int partition, Request* request);  // not implemented
Result<> pready_range(MpiProcess& process, int partition_low, int partition_high, Request* request);  // not implemented
Result<> pready_list(MpiProcess& process, int length, const int* array_of_partitions, Request* request);  // not implemented
Result<> parrived(MpiProcess& process, Request* request, int partition, bool& flag);  // not implemented

// status
Result<> get_count(MpiProcess& process, const Status& status, Datatype& datatype, std::int64_t& count);  // not implemented
Result<> get_elements(MpiProcess& process, const Status& status, Datatype& datatype, std::int64_t& count);  // not implemented
Result<> get_elements_x(MpiProcess& process, const Status& status, Datatype& datatype, std::int64_t& count);  // not implemented
Result<> test_cancelled(MpiProcess& process, const Status& status, bool& flag);  // not implemented
Result<> status_set_cancelled(MpiProcess& process, Status& status, bool flag);  // not implemented
Result<> status_set_elements(MpiProcess& process, Status& status, Datatype& datatype, std::int64_t count);  // not implemented
Result<> status_set_elements_x(MpiProcess& process, Status& status, Datatype& datatype, std::int64_t count);  // not implemented
Result<> status_get_error(MpiProcess& process, const Status& status, int& err);  // not implemented
Result<> status_get_source(MpiProcess& process, const Status& status, int& source);  // not implemented
Result<> status_get_tag(MpiProcess& process, const Status& status, int& tag);  // not implemented
Result<> status_set_error(MpiProcess& process, Status& status, int err);  // not implemented
Result<> status_set_source(MpiProcess& process, Status& status, int source);  // not implemented
Result<> status_set_tag(MpiProcess& process, Status& status, int tag);  // not implemented

// window
Result<> win_create(MpiProcess& process, void* base, std::int64_t size, std::int64_t disp_unit, Info* info, Communicator& comm, Ref<Window>& win);  // not implemented
Result<> win_allocate(MpiProcess& process, std::int64_t size, std::int64_t disp_unit, Info* info, Communicator& comm, void*& baseptr, Ref<Window>& win);  // not implemented
Result<> win_allocate_shared(MpiProcess& process, std::int64_t size, std::int64_t disp_unit, Info* info, Communicator& comm, void*& baseptr, Ref<Window>& win);  // not implemented
Result<> win_shared_query(MpiProcess& process, Window& win, int rank, std::int64_t& size, std::int64_t& disp_unit, void*& baseptr);  // not implemented
Result<> win_create_dynamic(MpiProcess& process, Info* info, Communicator& comm, Ref<Window>& win);  // not implemented
Result<> win_attach(MpiProcess& process, Window& win, void* base, std::int64_t size);  // not implemented
Result<> win_detach(MpiProcess& process, Window& win, const void* base);  // not implemented
Result<> win_free(MpiProcess& process, Window& win);  // not implemented
Result<> win_get_group(MpiProcess& process, Window& win, Ref<Group>& group);  // not implemented
Result<> win_set_info(MpiProcess& process, Window& win, Info* info);  // not implemented
Result<> win_get_info(MpiProcess& process, Window& win, Ref<Info>& info_used);  // not implemented
Result<> win_set_name(MpiProcess& process, Window& win, std::string_view win_name);  // not implemented
Result<> win_get_name(MpiProcess& process, Window& win, std::string& win_name);  // not implemented
Result<> win_create_keyval(MpiProcess& process, AbiFunction win_copy_attr_fn, AbiFunction win_delete_attr_fn, int& win_keyval, void* extra_state);  // not implemented
Result<> win_free_keyval(MpiProcess& process, int win_keyval);  // not implemented
Result<> win_set_attr(MpiProcess& process, Window& win, int win_keyval, void* attribute_val);  // not implemented
Result<> win_get_attr(MpiProcess& process, Window& win, int win_keyval, void*& attribute_val, bool& flag);  // not implemented
Result<> win_delete_attr(MpiProcess& process, Window& win, int win_keyval);  // not implemented
Result<> put(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Window& win);  // not implemented
Result<> get(MpiProcess& process, void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Window& win);  // not implemented
Result<> accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win);  // not implemented
Result<> get_accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, void* result_addr, std::int64_t result_count, Datatype& result_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win);  // not implemented
Result<> fetch_and_op(MpiProcess& process, const void* origin_addr, void* result_addr, Datatype& datatype, int target_rank, std::int64_t target_disp, Operator& op, Window& win);  // not implemented
Result<> compare_and_swap(MpiProcess& process, const void* origin_addr, const void* compare_addr, void* result_addr, Datatype& datatype, int target_rank, std::int64_t target_disp, Window& win);  // not implemented
Result<> rput(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Window& win, Request*& request);  // not implemented
Result<> rget(MpiProcess& process, void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Window& win, Request*& request);  // not implemented
Result<> raccumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win, Request*& request);  // not implemented
Result<> rget_accumulate(MpiProcess& process, const void* origin_addr, std::int64_t origin_count, Datatype& origin_datatype, void* result_addr, std::int64_t result_count, Datatype& result_datatype, int target_rank, std::int64_t target_disp, std::int64_t target_count, Datatype& target_datatype, Operator& op, Window& win, Request*& request);  // not implemented
Result<> win_fence(MpiProcess& process, int assert, Window& win);  // not implemented
Result<> win_start(MpiProcess& process, Group& group, int assert, Window& win);  // not implemented
Result<> win_complete(MpiProcess& process, Window& win);  // not implemented
Result<> win_post(MpiProcess& process, Group& group, int assert, Window& win);  // not implemented
Result<> win_wait(MpiProcess& process, Window& win);  // not implemented
Result<> win_test(MpiProcess& process, Window& win, bool& flag);  // not implemented
Result<> win_lock(MpiProcess& process, int lock_type, int rank, int assert, Window& win);  // not implemented
Result<> win_lock_all(MpiProcess& process, int assert, Window& win);  // not implemented
Result<> win_unlock(MpiProcess& process, int rank, Window& win);  // not implemented
Result<> win_unlock_all(MpiProcess& process, Window& win);  // not implemented
Result<> win_flush(MpiProcess& process, int rank, Window& win);  // not implemented
Result<> win_flush_all(MpiProcess& process, Window& win);  // not implemented
Result<> win_flush_local(MpiProcess& process, int rank, Window& win);  // not implemented
Result<> win_flush_local_all(MpiProcess& process, Window& win);  // not implemented
Result<> win_sync(MpiProcess& process, Window& win);  // not implemented
}  // namespace mpi
}  // namespace hawser
