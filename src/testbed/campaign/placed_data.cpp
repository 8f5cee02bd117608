#include "testbed/campaign/placed_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hawser {

PlacedData::PlacedData(Buffers& buffers, std::int32_t bytes, PlannedMessage::Layout layout, bool reuse,
                       Random& random)
    : buffers_(buffers), bytes_(bytes) {
  switch (layout) {
    case PlannedMessage::Layout::contiguous:
      pieces_.push_back({0, bytes});
      count_ = bytes;
      break;
    case PlannedMessage::Layout::strided:
      make_strided(random);
      break;
    case PlannedMessage::Layout::scattered:
      make_scattered(random);
      break;
  }
  const std::int32_t extent = pieces_.empty() ? 0 : pieces_.back().first + pieces_.back().second;
  buffer_ = buffers_.take(static_cast<std::size_t>(extent), reuse);
}

// Equal blocks; what does not divide lies scattered.
void PlacedData::make_strided(Random& random) {
  constexpr std::int32_t most_blocks = 256;
  for (std::int32_t length : {3, 4, 8, 12, 20, 64, 100, 256, 1000, 2048}) {
    if (bytes_ % length != 0 || bytes_ / length > most_blocks) continue;
    const std::int32_t blocks = bytes_ / length;
    const std::int32_t stride = length + 1 + static_cast<std::int32_t>(random.below(16));
    for (std::int32_t i = 0; i < blocks; ++i) pieces_.push_back({i * stride, length});
    MPI_Type_vector(blocks, length, stride, MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    count_ = 1;
    return;
  }
  make_scattered(random);
}

void PlacedData::make_scattered(Random& random) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  std::int32_t offset = static_cast<std::int32_t>(random.below(8)), left = bytes_;
  while (left > 0) {
    const auto most = static_cast<std::uint64_t>(std::max(8, bytes_ / 6));
    const auto length = std::min(left, 1 + static_cast<std::int32_t>(random.below(most)));
    pieces_.push_back({offset, length});
    lengths.push_back(length);
    offsets.push_back(offset);
    offset += length + static_cast<std::int32_t>(random.below(24));
    left -= length;
  }
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
                           &type_);
  MPI_Type_commit(&type_);
  count_ = 1;
}

void PlacedData::fill(std::uint64_t key) {
  if (pieces_.size() == 1) {
    return fill_payload(buffer_.data + pieces_[0].first, static_cast<std::size_t>(bytes_), key);
  }
  std::vector<std::byte> whole(static_cast<std::size_t>(bytes_));
  fill_payload(whole.data(), whole.size(), key);
  const std::byte* from = whole.data();
  for (const auto& [offset, length] : pieces_) {
    std::memcpy(buffer_.data + offset, from, static_cast<std::size_t>(length));
    from += length;
  }
}

std::string PlacedData::find_error(std::uint64_t key) const {
  std::vector<std::byte> whole;
  const std::byte* bytes = buffer_.data;
  if (pieces_.size() != 1 || pieces_[0].first != 0) {
    std::int32_t end = 0;
    for (const auto& [offset, length] : pieces_) {
      for (; end < offset; ++end)
        if (buffer_.data[end] != Buffers::blank)
          return fmt::format("byte {} between its pieces was written", end);
      whole.insert(whole.end(), buffer_.data + offset, buffer_.data + offset + length);
      end = offset + length;
    }
    bytes = whole.data();
  }
  const auto at = find_payload_error(bytes, static_cast<std::size_t>(bytes_), key);
  if (at < 0) return {};
  const bool blank = bytes[at] == Buffers::blank;
  return fmt::format("byte {} of {} is wrong{}", at, bytes_, blank ? ": it was never written" : "");
}

void PlacedData::finish() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  buffers_.give_back(buffer_);
}

}  // namespace hawser
