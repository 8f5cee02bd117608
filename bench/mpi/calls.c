/* The operations that collective.c measures, as one call each. */
#include <string.h>

#include "bench.h"

/* Reductions work on floats, as in the OSU suite. */
#define OPERATION(name) static void call_##name(const struct call* c)

OPERATION(barrier) {
  (void)c;
  MPI_Barrier(MPI_COMM_WORLD);
}
OPERATION(bcast) { MPI_Bcast(c->send, c->bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
OPERATION(bcast_strided) { MPI_Bcast(c->receive, 1, c->strided, 0, MPI_COMM_WORLD); }
OPERATION(reduce) { MPI_Reduce(c->send, c->receive, c->floats, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }
OPERATION(reduce_in_place) {
  MPI_Reduce(c->rank == 0 ? MPI_IN_PLACE : c->send, c->receive, c->floats, MPI_FLOAT, MPI_MAX, 0,
             MPI_COMM_WORLD);
}
OPERATION(allreduce) { MPI_Allreduce(c->send, c->receive, c->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
OPERATION(allreduce_in_place) {
  MPI_Allreduce(MPI_IN_PLACE, c->receive, c->floats, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
}
OPERATION(allreduce_minloc) {
  MPI_Allreduce(c->send, c->receive, c->floats / 2, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
}
OPERATION(gather) {
  MPI_Gather(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
OPERATION(gatherv) {
  MPI_Gatherv(c->send, c->bytes, MPI_CHAR, c->receive, c->amounts, c->places, MPI_CHAR, 0, MPI_COMM_WORLD);
}
OPERATION(scatter) {
  MPI_Scatter(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
OPERATION(scatterv) {
  MPI_Scatterv(c->send, c->amounts, c->places, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
OPERATION(allgather) {
  MPI_Allgather(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(allgather_in_place) {
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(allgather_strided) {
  MPI_Allgather(c->send, 1, c->strided, c->receive, c->strided_bytes, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(allgatherv) {
  MPI_Allgatherv(c->send, c->bytes, MPI_CHAR, c->receive, c->amounts, c->places, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(alltoall) {
  MPI_Alltoall(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(alltoall_in_place) {
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD);
}
OPERATION(alltoallv) {
  MPI_Alltoallv(c->send, c->amounts, c->places, MPI_CHAR, c->receive, c->amounts, c->places, MPI_CHAR,
                MPI_COMM_WORLD);
}
OPERATION(reduce_scatter) {
  MPI_Reduce_scatter(c->send, c->receive, c->shares, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
OPERATION(reduce_scatter_block) {
  MPI_Reduce_scatter_block(c->send, c->receive, c->floats / c->size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
OPERATION(scan) { MPI_Scan(c->send, c->receive, c->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
OPERATION(exscan) { MPI_Exscan(c->send, c->receive, c->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }

static void wait_for(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

OPERATION(ibarrier) {
  (void)c;
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_for(&request);
}
OPERATION(ibcast) {
  MPI_Request request;
  MPI_Ibcast(c->send, c->bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  wait_for(&request);
}
OPERATION(iallreduce) {
  MPI_Request request;
  MPI_Iallreduce(c->send, c->receive, c->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  wait_for(&request);
}
OPERATION(iallgather) {
  MPI_Request request;
  MPI_Iallgather(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
  wait_for(&request);
}
OPERATION(ialltoall) {
  MPI_Request request;
  MPI_Ialltoall(c->send, c->bytes, MPI_CHAR, c->receive, c->bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
  wait_for(&request);
}
OPERATION(ireduce_scatter) {
  MPI_Request request;
  MPI_Ireduce_scatter(c->send, c->receive, c->shares, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  wait_for(&request);
}

/* With the next and the previous process of a ring. */
OPERATION(sendrecv) {
  const int next = (c->rank + 1) % c->size, previous = (c->rank + c->size - 1) % c->size;
  MPI_Sendrecv(c->send, c->bytes, MPI_CHAR, next, 1, c->receive, c->bytes, MPI_CHAR, previous, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
OPERATION(sendrecv_replace) {
  const int next = (c->rank + 1) % c->size, previous = (c->rank + c->size - 1) % c->size;
  MPI_Sendrecv_replace(c->receive, c->bytes, MPI_CHAR, next, 1, previous, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
}
OPERATION(sendrecv_self) {
  MPI_Sendrecv(c->send, c->bytes, MPI_CHAR, 0, 1, c->receive, c->bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
}

#define ROW(name, least) \
  { #name, call_##name, least }

static const struct operation operations[] = {
    ROW(barrier, 0),
    ROW(bcast, 1),
    ROW(bcast_strided, 16),
    ROW(reduce, 4),
    ROW(reduce_in_place, 4),
    ROW(allreduce, 4),
    ROW(allreduce_in_place, 4),
    ROW(allreduce_minloc, 8),
    ROW(gather, 1),
    ROW(gatherv, 1),
    ROW(scatter, 1),
    ROW(scatterv, 1),
    ROW(allgather, 1),
    ROW(allgather_in_place, 1),
    ROW(allgather_strided, 16),
    ROW(allgatherv, 1),
    ROW(alltoall, 1),
    ROW(alltoall_in_place, 1),
    ROW(alltoallv, 1),
    ROW(reduce_scatter, 4),
    ROW(reduce_scatter_block, 4),
    ROW(scan, 4),
    ROW(exscan, 4),
    ROW(ibarrier, 0),
    ROW(ibcast, 1),
    ROW(iallreduce, 4),
    ROW(iallgather, 1),
    ROW(ialltoall, 1),
    ROW(ireduce_scatter, 4),
    ROW(sendrecv, 1),
    ROW(sendrecv_replace, 1),
    ROW(sendrecv_self, 1),
};

const struct operation* operation_named(const char* name) {
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; ++i)
    if (strcmp(operations[i].name, name) == 0) return &operations[i];
  return NULL;
}
