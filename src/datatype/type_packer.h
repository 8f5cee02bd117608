// TypePacker: packs and unpacks `count` elements of a datatype in memory. Stateless between calls: any part
// of the packed form is found from its offset in time of the nesting depth (and the logarithm of an
// irregular type's length), so a message may be cut anywhere and its parts moved in any order.
#pragma once

#include <cstdint>

#include "base/byte_sequence.h"
#include "datatype/datatype.h"
#include "datatype/layout.h"

namespace hawser {

// Fits inside a request; copies are free. Neither buffer nor type is owned: both must outlive it.
class TypePacker final : public Packer {
 public:
  TypePacker() = default;
  // The type must be committed.
  TypePacker(const void* buffer, std::int64_t count, const Datatype& type);

  // 0 <= offset, offset + bytes <= size().
  void pack(std::int64_t offset, std::byte* out, std::int64_t bytes) override;
  void unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) override;
  MemoryBlock block(std::int64_t offset) const override;
  std::int64_t size() const { return size_; }
  // The place of all the data if it is one piece, else null.
  std::byte* single_piece() const;

 private:
  std::byte* memory_ = nullptr;  // of the node's first element
  const LayoutNode* node_ = nullptr;
  std::int64_t count_ = 0;  // of node_, stride_ bytes apart
  std::int64_t stride_ = 0;
  std::int64_t size_ = 0;
};

// The data as channels take it: in one piece where it is one, else through `packer`, which is set up for it.
ByteSequence describe(const void* buffer, std::int64_t count, const Datatype& type, TypePacker& packer);

// Copies the data of one typed buffer to another, up to the shorter, in bounded memory; returns the bytes.
// The buffers must not overlap.
std::int64_t copy_typed(const void* from, std::int64_t from_count, const Datatype& from_type, void* to,
                        std::int64_t to_count, const Datatype& to_type);

}  // namespace hawser
