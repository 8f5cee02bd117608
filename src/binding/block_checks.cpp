// The checks of counts that come in arrays, one for each process or neighbour. A call that is not to blame
// passes a loop with a few comparisons for each block.
#include "binding/entry.h"
#include "mpi/failure.h"

namespace hawser::binding {
namespace {

std::int64_t at(const BlockArguments::Numbers& numbers, int i) {
  return numbers.values[static_cast<std::size_t>(i)];
}

int bad_block(Where where, Owner owner, const BlockArguments& blocks, int i, const Datatype& type) {
  const std::int64_t count = at(blocks.counts, i);
  if (type.committed && count < 0)
    return fail(
        where, owner,
        failure(ErrorClass::count, "{}[{}] is {}, but must not be negative", blocks.counts.name, i, count));
  return bad_count(where, owner, blocks.counts.name, count, 1, blocks.types, type);
}

int too_many_bytes(Where where, Owner owner, const BlockArguments& blocks, int i) {
  return fail(where, owner,
              failure(ErrorClass::count, "{}[0] to {}[{}] are more elements in all than a buffer can hold",
                      blocks.counts.name, blocks.counts.name, i));
}

const char* missing_array(const BlockArguments& blocks) {
  if (!blocks.counts.values) return blocks.counts.name;
  const bool needs_displacements = blocks.displacements.name != nullptr;
  return needs_displacements && !blocks.displacements.values ? blocks.displacements.name : nullptr;
}

// MPI_SUCCESS if a block that has data can lie where it is said to. Displacements are in units of `unit`
// bytes.
int check_place(Where where, Owner owner, const BlockArguments& blocks, int i, std::int64_t unit,
                const Datatype& type) {
  const std::int64_t displacement = blocks.displacements.values ? at(blocks.displacements, i) : 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(displacement, unit, &bytes) || bytes > largest_buffer || bytes < -largest_buffer)
      [[unlikely]]
    return fail(
        where, owner,
        failure(ErrorClass::arg, "{}[{}] is {}, in units of {} bytes, which exceeds the address space",
                blocks.displacements.name, i, displacement, unit));
  // Relative to MPI_BOTTOM a displacement may be an address.
  if (blocks.null_buffer != nullptr && type.predefined && bytes == 0) [[unlikely]]
    return null_buffer(where, owner, blocks.null_buffer, at(blocks.counts, i));
  return MPI_SUCCESS;
}

}  // namespace

int check_blocks(Where where, Owner owner, const BlockArguments& blocks, int n, const Datatype* type) {
  if (n <= 0) return MPI_SUCCESS;
  if (const char* missing = missing_array(blocks)) return null_argument(where, owner, missing);
  const bool takes_room = type->size != 0 || type->extent != 0;
  std::uint64_t total = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t count = at(blocks.counts, i);
    if (!Entry::good_count(count, *type)) [[unlikely]]
      return bad_block(where, owner, blocks, i, *type);
    if (count == 0 || !takes_room) continue;
    const int code = check_place(where, owner, blocks, i, type->extent, *type);
    if (code != MPI_SUCCESS) [[unlikely]]
      return code;
    total += static_cast<std::uint64_t>(count);
    if (total >= type->count_bound) [[unlikely]]
      return too_many_bytes(where, owner, blocks, i);
  }
  return MPI_SUCCESS;
}

int check_blocks(Where where, Owner owner, const BlockArguments& blocks, int n,
                 std::span<Datatype* const> types) {
  if (n <= 0) return MPI_SUCCESS;
  if (const char* missing = missing_array(blocks)) return null_argument(where, owner, missing);
  std::int64_t total = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t count = at(blocks.counts, i);
    const Datatype& type = *types[static_cast<std::size_t>(i)];
    if (!Entry::good_count(count, type)) [[unlikely]]
      return bad_block(where, owner, blocks, i, type);
    if (count == 0) continue;
    const int code = check_place(where, owner, blocks, i, 1, type);
    if (code != MPI_SUCCESS) [[unlikely]]
      return code;
    total += count * type.size;
    if (total > largest_buffer) [[unlikely]]
      return too_many_bytes(where, owner, blocks, i);
  }
  return MPI_SUCCESS;
}

}  // namespace hawser::binding
