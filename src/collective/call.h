// CollectiveCall: the arguments of one collective operation as the program gave them, and Plan: the same
// in the form that algorithms work on.
//
// Algorithms that move data see only bytes in one piece: one block per rank. Data of derived types are
// packed before and unpacked after (plan.cpp), as are MPI_IN_PLACE and the like resolved, so that an
// algorithm is nothing but its pattern of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "datatype/datatype.h"
#include "datatype/operator.h"
#include "mpi/arguments.h"

namespace hawser {

struct Neighbors;

enum class Collective : std::uint8_t {
  barrier,
  broadcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter_block,
  reduce_scatter,
  scan,
  exscan,
};
inline constexpr int collective_kinds = 17;
const char* name_of(Collective kind);  // as in the knob: "broadcast", "allgatherv"

// One side of the data. Which members count depends on the collective.
struct CallSide {
  const void* buffer = nullptr;
  std::int64_t count = 0;
  Datatype* type = nullptr;
  IntegerArray counts = nullptr;         // v and w forms
  IntegerArray displacements = nullptr;  // v: in extents of the type; w: in bytes
  Datatype* const* types = nullptr;      // w form
};

struct CollectiveCall {
  Collective kind;
  int root = 0;
  CallSide send;
  CallSide receive;  // broadcast and the count of reductions: here
  Operator* op = nullptr;
  // Not null: it is among the neighbours in a topology (MPI-5.0 section 8.7), and one of allgather(v) and
  // alltoall(v, w). Lives as long as the communicator.
  const Neighbors* neighbors = nullptr;
};

// Blocks of contiguous bytes, one for each rank; or only `base` and `size` for a single one.
struct Blocks {
  std::byte* base = nullptr;
  std::int64_t size = 0;                  // of every block when `sizes` is null
  const std::int64_t* offsets = nullptr;  // bytes from base; null: one after the other
  const std::int64_t* sizes = nullptr;

  std::byte* at(int rank) const { return base + (offsets != nullptr ? offsets[rank] : rank * size); }
  std::int64_t bytes(int rank) const { return sizes != nullptr ? sizes[rank] : size; }
  bool regular() const { return offsets == nullptr && sizes == nullptr; }
};

// The operands of a reduction: `count` elements at `data` in the layout of their type. `data` holds this
// rank's contribution at first and the result at last, where there is one.
struct Operands {
  Operator* op = nullptr;
  Datatype* type = nullptr;
  std::byte* data = nullptr;
  std::int64_t count = 0;
  std::int64_t extent = 0;  // bytes from one element to the next
  bool commutative = true;
  const std::int64_t* starts =
      nullptr;  // reduce_scatter: first element of each rank's part; ranks + 1 entries

  std::byte* element(std::int64_t i) const { return data + i * extent; }
};

struct Plan {
  int root = 0;
  Blocks send;
  Blocks receive;
  Operands operands;
  bool exclusive = false;  // exscan
  // Broadcast: the first so many bytes may be passed on within the node. Null: all.
  const std::int64_t* ready = nullptr;
};

}  // namespace hawser
