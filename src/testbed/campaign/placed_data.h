// PlacedData: a payload in a buffer, in one piece or in many, with the MPI type that says where.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "testbed/campaign/buffers.h"
#include "testbed/campaign/traffic_plan.h"

namespace hawser {

class PlacedData {
 public:
  // Takes a buffer that has room for `bytes` in such a layout.
  PlacedData(Buffers& buffers, std::int32_t bytes, PlannedMessage::Layout layout, bool reuse, Random& random);
  PlacedData(const PlacedData&) = delete;
  PlacedData& operator=(const PlacedData&) = delete;

  void* address() const { return buffer_.data; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

  void fill(std::uint64_t key);
  // What is not as it was sent, or was written between the pieces; empty: nothing.
  std::string find_error(std::uint64_t key) const;
  // Returns the buffer; MPI has no more to do with it.
  void finish();

 private:
  void make_strided(Random& random);
  void make_scattered(Random& random);

  Buffers& buffers_;
  std::int32_t bytes_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pieces_;  // offset, length
  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
  Buffers::Buffer buffer_;
};

}  // namespace hawser
