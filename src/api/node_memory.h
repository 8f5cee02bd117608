// NodeMemory: the memory that MPI_Win_allocate and MPI_Win_allocate_shared give (MPI-5.0 sections 12.2.2 and
// 12.2.3). The processes of a node have theirs in one shared block, which the lowest rank makes, so that each
// reaches the others' with loads and stores. Pages exist once they are touched, near the process that does.
//
//   block:  control of each member | memory of each member, in the order of ranks
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/communicator.h"
#include "os/shared_block.h"
#include "process/mpi_process.h"
#include "window/window_types.h"

namespace hawser::mpi {

enum class Placement : std::uint8_t {
  pages,    // each process's memory begins with a page of its own
  adjacent  // it begins where that of the rank before it ends
};

class NodeMemory final : public SharedWindowMemory {
 public:
  // Collective over an intracommunicator. Fails at all processes if it fails at one.
  static Result<std::unique_ptr<NodeMemory>> allocate(MpiProcess& process, Communicator& comm,
                                                      std::int64_t size, Placement placement);

  std::byte* base_of(int rank) const override;
  std::byte* control_of(int rank) const override;

 private:
  struct Part {
    int rank;
    std::int64_t size;
    std::int64_t offset;
  };

  NodeMemory(MpiProcess& process, Communicator& comm);
  Result<> place(const std::vector<std::int64_t>& sizes, Placement placement);
  Result<> open(MpiProcess& process, Communicator& comm);
  Result<> pass(MpiProcess& process, Communicator& comm, SharedBlock* made, const BlockName& name);
  bool leads(const Communicator& comm) const { return node_.front().rank == comm.rank(); }
  const Part* part_of(int rank) const;
  std::int64_t control_size() const { return control_bytes(static_cast<int>(node_.size())); }

  std::vector<Part> node_;  // by rank
  std::int64_t total_ = 0;
  SharedMapping mapping_;
};

}  // namespace hawser::mpi
