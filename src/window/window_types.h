// What a window is made of and what its functions take: the words of MPI-5.0 chapter 12 that have no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype/datatype.h"
#include "datatype/operator.h"

namespace hawser {

// Numbered as in the standard ABI (MPI_WIN_FLAVOR_*).
enum class WindowFlavor : std::uint16_t { create = 311, allocate = 312, dynamic = 313, shared = 314 };
// MPI_WIN_UNIFIED, MPI_WIN_SEPARATE.
enum class WindowModel : std::uint16_t { unified = 321, separate = 322 };
// MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED.
enum class LockType : std::uint16_t { exclusive = 301, shared = 302 };

// Assertions of synchronization calls (MPI_MODE_*), bits as in the standard ABI.
namespace window_mode {
inline constexpr int no_check = 1024;
inline constexpr int no_precede = 2048;
inline constexpr int no_put = 4096;
inline constexpr int no_store = 8192;
inline constexpr int no_succeed = 16384;
}  // namespace window_mode

// Memory of a window that processes of one node have in common. Who allocates it makes one of these for each
// member; the window keeps it until it is freed. Ranks are those of the window.
class SharedWindowMemory {
 public:
  virtual ~SharedWindowMemory() = default;
  // Where the memory of a member is for this process; null: it is on another node.
  virtual std::byte* base_of(int rank) const = 0;
  // `control_bytes(members on this node)` bytes beside it, on a cache line, zero at first, which are the
  // window room's (locks). Not null where base_of is not; own memory of size 0 has them, too.
  virtual std::byte* control_of(int rank) const = 0;

  static std::int64_t control_bytes(int members_on_node) {
    constexpr std::int64_t line = 64;
    const std::int64_t waiting = 8 * (std::int64_t{members_on_node} + 1);
    return 2 * line + (waiting + line - 1) / line * line;
  }
};

// What a process brings into a window.
struct WindowMemory {
  WindowFlavor flavor = WindowFlavor::create;
  WindowModel model = WindowModel::unified;
  std::byte* base = nullptr;  // dynamic: null, and addresses are displacements
  std::int64_t size = 0;
  std::int64_t displacement_unit = 1;
  // Null: only this process can reach its memory by loads and stores.
  std::unique_ptr<SharedWindowMemory> shared;
};

// Data of the caller.
struct OriginData {
  const void* buffer = nullptr;
  std::int64_t count = 0;
  const Datatype* type = nullptr;
};
struct ResultData {
  void* buffer = nullptr;
  std::int64_t count = 0;
  const Datatype* type = nullptr;
};
// Data in the window of `rank`; the displacement counts the target's units.
struct TargetData {
  int rank = 0;
  std::int64_t displacement = 0;
  std::int64_t count = 0;
  const Datatype* type = nullptr;
};

}  // namespace hawser
