#include "collective/plan.h"

#include "collective/combine.h"
#include "collective/place.h"

namespace hawser {

namespace {

enum class Fill : std::uint8_t { leave, pack };

// One place as one block: where it lies, or packed into scratch memory.
Blocks single(Operation& operation, const Place& place, Fill fill) {
  Blocks blocks;
  blocks.size = place.bytes();
  if (place.plain()) {
    blocks.base = blocks.size == 0 ? operation.scratch(0) : place.first_byte();
  } else {
    blocks.base = operation.scratch(blocks.size);
    if (fill == Fill::pack) pack(place, blocks.base);
  }
  return blocks;
}

// All blocks of a side. `skip`: the rank whose block is not packed (it was copied directly), or -1.
Blocks every(Operation& operation, const CallSide& side, Fill fill, int skip) {
  const int ranks = operation.size();
  Blocks blocks;
  if (side.types == nullptr && !side.counts) {
    const Place one = block(side, 0);
    blocks.size = one.bytes();
    if (one.plain()) {
      blocks.base = blocks.size == 0 ? operation.scratch(0) : one.first_byte();
      return blocks;
    }
    blocks.base = operation.scratch(blocks.size * ranks);
    for (int r = 0; r < ranks && fill == Fill::pack; ++r) {
      if (r != skip) pack(block(side, r), blocks.at(r));
    }
    return blocks;
  }
  // Offsets are whole addresses: blocks may lie in the program's memory and in ours.
  std::int64_t* numbers = operation.scratch_numbers(2 * ranks);
  std::int64_t scratch_bytes = 0;
  for (int r = 0; r < ranks; ++r) {
    const Place place = block(side, r);
    numbers[ranks + r] = place.bytes();
    if (!place.plain()) scratch_bytes += place.bytes();
  }
  std::byte* free = scratch_bytes == 0 ? nullptr : operation.scratch(scratch_bytes);
  for (int r = 0; r < ranks; ++r) {
    const Place place = block(side, r);
    std::byte* at = place.first_byte();
    if (!place.plain()) {
      at = free;
      free += place.bytes();
      if (fill == Fill::pack && r != skip) pack(place, at);
    }
    numbers[r] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(at));
  }
  blocks.offsets = numbers;
  blocks.sizes = numbers + ranks;
  return blocks;
}

void unpack_every(Operation& operation, const CallSide& side, int skip) {
  for (int r = 0; r < operation.size(); ++r) {
    const Place place = block(side, r);
    if (r != skip && !place.plain()) unpack(operation.plan.receive.at(r), place);
  }
}

void plan_gather(Operation& operation) {
  const CollectiveCall& call = operation.call;
  Plan& plan = operation.plan;
  if (operation.rank() != call.root) {
    plan.send = single(operation, whole(call.send), Fill::pack);
    return;
  }
  if (!is_in_place(call.send)) copy(whole(call.send), block(call.receive, call.root));
  plan.receive = every(operation, call.receive, Fill::leave, -1);
}

void plan_scatter(Operation& operation) {
  const CollectiveCall& call = operation.call;
  Plan& plan = operation.plan;
  if (operation.rank() != call.root) {
    plan.receive = single(operation, whole(call.receive), Fill::leave);
    return;
  }
  if (!is_in_place(call.receive)) copy(block(call.send, call.root), whole(call.receive));
  plan.send = every(operation, call.send, Fill::pack, call.root);
}

void plan_allgather(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const int rank = operation.rank();
  const Place own = block(call.receive, rank);
  if (!is_in_place(call.send)) copy(whole(call.send), own);
  operation.plan.receive = every(operation, call.receive, Fill::leave, -1);
  if (!own.plain()) pack(own, operation.plan.receive.at(rank));
}

void plan_alltoall(Operation& operation) {
  const CollectiveCall& call = operation.call;
  Plan& plan = operation.plan;
  const int ranks = operation.size();
  plan.receive = every(operation, call.receive, Fill::leave, -1);
  if (!is_in_place(call.send)) {
    plan.send = every(operation, call.send, Fill::pack, operation.rank());
    copy(block(call.send, operation.rank()), block(call.receive, operation.rank()));
    return;
  }
  // In place: what is to be sent stands where what is received will stand, so it is copied out.
  std::int64_t total = 0;
  for (int r = 0; r < ranks; ++r) total += plan.receive.bytes(r);
  std::int64_t* offsets = operation.scratch_numbers(ranks);
  plan.send.base = operation.scratch(total);
  plan.send.size = plan.receive.size;
  plan.send.sizes = plan.receive.sizes;
  if (!plan.receive.regular()) plan.send.offsets = offsets;
  std::int64_t offset = 0;
  for (int r = 0; r < ranks; ++r) {
    offsets[r] = offset;
    pack(block(call.receive, r), plan.send.base + offset);
    offset += plan.receive.bytes(r);
  }
}

std::byte* own_operand(const CollectiveCall& call) {
  return address(is_in_place(call.send) ? call.receive.buffer : call.send.buffer);
}

}  // namespace

void plan_operands(Operation& operation, std::byte* place, std::int64_t count) {
  const CollectiveCall& call = operation.call;
  Operands& operands = operation.plan.operands;
  operands.op = call.op;
  operands.type = call.receive.type;
  operands.count = count;
  operands.extent = operands.type->extent;
  operands.commutative = call.op->commutative();
  operands.data = place != nullptr || count == 0 ? place : operation.scratch_elements(count, *operands.type);
  const std::byte* const from = own_operand(call);
  if (from != operands.data && operands.type->size != 0) copy_elements(operation, from, operands.data, count);
}

namespace {

void plan_reduce(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const bool at_root = operation.rank() == call.root;
  plan_operands(operation, at_root ? address(call.receive.buffer) : nullptr, call.receive.count);
}

void plan_reduce_scatter(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const int ranks = operation.size();
  std::int64_t* starts = operation.scratch_numbers(ranks + 1);
  starts[0] = 0;
  for (int r = 0; r < ranks; ++r) {
    starts[r + 1] = starts[r] + (call.receive.counts ? call.receive.counts[static_cast<std::size_t>(r)]
                                                     : call.receive.count);
  }
  plan_operands(operation, nullptr, starts[ranks]);
  operation.plan.operands.starts = starts;
}

}  // namespace

void make_plan(Operation& operation) {
  const CollectiveCall& call = operation.call;
  operation.plan = Plan{};
  operation.plan.root = call.root;
  switch (call.kind) {
    case Collective::barrier:
      break;
    case Collective::broadcast:
      operation.plan.receive =
          single(operation, whole(call.receive), operation.rank() == call.root ? Fill::pack : Fill::leave);
      break;
    case Collective::gather:
    case Collective::gatherv:
      plan_gather(operation);
      break;
    case Collective::scatter:
    case Collective::scatterv:
      plan_scatter(operation);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      plan_allgather(operation);
      break;
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      plan_alltoall(operation);
      break;
    case Collective::reduce:
      plan_reduce(operation);
      break;
    case Collective::allreduce:
    case Collective::scan:
      plan_operands(operation, address(call.receive.buffer), call.receive.count);
      break;
    case Collective::exscan:
      // Algorithms write the result to its place, and combine operands elsewhere; of two ranks' they combine
      // nothing.
      plan_operands(operation, operation.size() == 2 ? own_operand(call) : nullptr, call.receive.count);
      operation.plan.exclusive = true;
      break;
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      plan_reduce_scatter(operation);
      break;
  }
}

void finish_plan(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const Plan& plan = operation.plan;
  const int rank = operation.rank();
  switch (call.kind) {
    case Collective::barrier:
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan:
      break;
    case Collective::broadcast:
      if (rank != call.root && !whole(call.receive).plain()) unpack(plan.receive.base, whole(call.receive));
      break;
    case Collective::gather:
    case Collective::gatherv:
      if (rank == call.root) unpack_every(operation, call.receive, rank);
      break;
    case Collective::scatter:
    case Collective::scatterv:
      if (rank != call.root && !whole(call.receive).plain()) unpack(plan.receive.base, whole(call.receive));
      break;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      unpack_every(operation, call.receive, rank);
      break;
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter: {
      const std::int64_t* starts = plan.operands.starts;
      copy_elements(operation, plan.operands.element(starts[rank]), address(call.receive.buffer),
                    starts[rank + 1] - starts[rank]);
      break;
    }
  }
}

}  // namespace hawser
