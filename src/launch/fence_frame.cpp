#include "launch/fence_frame.h"

#include <cstring>

#include "base/failure.h"

namespace hawser {

namespace {

struct EntryHeader {
  std::int32_t rank;
  std::uint32_t key_size;
  std::uint64_t value_size;
};

}  // namespace

void append_entry(std::string& frame, const FenceEntry& entry) {
  const EntryHeader header{entry.rank, static_cast<std::uint32_t>(entry.key.size()), entry.value.size()};
  frame.append(reinterpret_cast<const char*>(&header), sizeof header);
  frame.append(entry.key);
  frame.append(entry.value);
}

Result<std::vector<FenceEntry>> parse_entries(std::string_view frame) {
  std::vector<FenceEntry> entries;
  while (!frame.empty()) {
    EntryHeader header;
    if (frame.size() < sizeof header) return failure(ErrorKind::other, "the data of a fence is truncated");
    std::memcpy(&header, frame.data(), sizeof header);
    frame.remove_prefix(sizeof header);
    if (frame.size() < header.key_size || frame.size() - header.key_size < header.value_size)
      return failure(ErrorKind::other, "the data of a fence is truncated");
    entries.push_back(
        {header.rank, frame.substr(0, header.key_size), frame.substr(header.key_size, header.value_size)});
    frame.remove_prefix(header.key_size + header.value_size);
  }
  return entries;
}

}  // namespace hawser
