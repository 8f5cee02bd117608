// SharedBlock: memory of one process that others of this machine map too, each by the block's name, which it
// is told by a message. As with all shared memory here there is no file system: the pages live in a memfd and
// die with their last user, however that user ends.
//
//   maker:   make(bytes) -> name() ... others are told ... close() when all have mapped it
//   others:  map_block(name)
//
// Where the kernel does not let them look at the maker's files (/proc): the maker's listen(), the others'
// reach_block(), the maker's pass(), the others' take_block(), each after all of the one before, so that
// nobody waits in any.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "os/shared_memory.h"

namespace hawser {

// Names a block to the processes of the machine; bytes on the wire.
struct BlockName {
  std::int64_t bytes = 0;  // of the mapping; 0: there is no block
  std::int64_t pid = 0;
  std::int64_t fd = -1;
  std::uint64_t device = 0;  // of the file, because a number of a process may mean another elsewhere
  std::uint64_t inode = 0;
};

// Where a maker listens; bytes on the wire. Ends with a null.
using ListenerName = std::array<char, 32>;

class SharedBlock {
 public:
  // A block of at least `bytes`, which are zero, in whole pages.
  static Result<SharedBlock> make(std::int64_t bytes);

  const BlockName& name() const { return name_; }
  const SharedMapping& mapping() const { return mapping_; }
  SharedMapping take_mapping() { return std::move(mapping_); }

  // The way round /proc: listens for those that take the block, and says under which name.
  Result<ListenerName> listen();
  // To so many that have called reach_block.
  Result<> pass(int takers);
  // From now on nobody else can map it.
  void close() { file_ = FileDescriptor(); }

 private:
  BlockName name_;
  FileDescriptor file_;
  SharedMapping mapping_;
  std::optional<DescriptorPasser> passer_;
};

// Maps another process's block through /proc.
Result<SharedMapping> map_block(const BlockName& name);
// The same by way of SharedBlock::pass; `listener` is what listen() answered there, `maker` what reach_block
// did.
Result<FileDescriptor> reach_block(const ListenerName& listener);
Result<SharedMapping> take_block(const BlockName& name, const ListenerName& listener,
                                 const FileDescriptor& maker);

}  // namespace hawser
