#include "channel/shared_segment.h"

#include <algorithm>

#include <bit>

#include "base/assert.h"
#include "base/failure.h"
#include "base/version.h"
#include "channel/lane_count.h"

namespace hawser {
namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t block_stride = 2 * page;
constexpr std::int64_t header_bytes = page;

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// Between the control line of a ring and what comes behind it, a line keeps the prefetcher's neighbour line
// quiet.
constexpr std::int64_t served_offset = 2 * cache_line;
constexpr std::int64_t slots_offset = served_offset + sizeof(ServedArea);
static_assert(sizeof(RingControl) <= served_offset);
static_assert(sizeof(ProcessBlock) <= block_stride);

struct SegmentHeader {
  std::atomic<std::uint64_t> layout_checksum;
  NodePorts ports;
};
static_assert(sizeof(SegmentHeader) <= header_bytes);

SegmentHeader& header_of(const SharedMapping& mapping) {
  return *reinterpret_cast<SegmentHeader*>(mapping.data());
}

}  // namespace

SegmentLayout SegmentLayout::plan(std::int32_t processes, const Knobs& knobs) {
  SegmentLayout layout;
  layout.processes = processes;
  layout.ring_slots = std::bit_floor(static_cast<std::uint32_t>(knobs.shm_ring_slots));
  layout.ring_bytes = std::bit_floor(static_cast<std::uint32_t>(knobs.shm_ring_bytes));
  // Rings are many when processes are: halve them until all of them, used at once, stay below the bound.
  constexpr std::uint32_t least_slots = 32, least_bytes = 16 << 10;
  const std::int64_t rings = std::int64_t{processes} * (processes - 1);
  const auto all = [&] {
    return rings * (layout.ring_bytes + layout.ring_slots * std::int64_t{sizeof(Slot)});
  };
  while (all() > knobs.shm_total && (layout.ring_slots > least_slots || layout.ring_bytes > least_bytes)) {
    if (layout.ring_bytes > least_bytes) layout.ring_bytes /= 2;
    if (layout.ring_slots > least_slots && layout.ring_slots * sizeof(Slot) > layout.ring_bytes / 4)
      layout.ring_slots /= 2;
    else if (layout.ring_bytes <= least_bytes)
      layout.ring_slots /= 2;
  }
  layout.areas = static_cast<std::int32_t>(knobs.shm_areas);
  layout.area_bytes = round_up(knobs.shm_area_bytes, page);

  layout.blocks_offset = header_bytes;
  layout.areas_offset = layout.blocks_offset + processes * block_stride;
  layout.rings_offset = layout.areas_offset + processes * layout.areas * layout.area_bytes;
  layout.ring_stride =
      round_up(slots_offset + layout.ring_slots * std::int64_t{sizeof(Slot)} + layout.ring_bytes, page);
  const std::int64_t rings_bytes = std::int64_t{processes} * processes * layout.ring_stride;
  layout.lanes = planned_lanes(processes, knobs);
  layout.lanes_offset = layout.rings_offset + rings_bytes;
  layout.lane_stride = processes * block_stride + rings_bytes;
  layout.total_bytes = layout.lanes_offset + layout.lanes * layout.lane_stride;
  return layout;
}

std::uint64_t SegmentLayout::checksum() const {
  std::uint64_t sum = 0x9e3779b97f4a7c15;
  for (const char* c = version; *c != 0; ++c) sum = (sum ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
  for (const std::int64_t value : {std::int64_t{processes}, std::int64_t{ring_slots},
                                   std::int64_t{ring_bytes}, std::int64_t{areas}, area_bytes, total_bytes})
    sum = (sum ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
  return sum | 1;  // 0 means not set yet
}

Result<SharedSegment> SharedSegment::map(int fd, const SegmentLayout& layout) {
  auto mapping = SharedMapping::map(fd, layout.total_bytes);
  if (!mapping) return mapping.take_error();
  SharedSegment segment;
  segment.layout_ = layout;
  segment.mapping_ = std::make_shared<const SharedMapping>(std::move(mapping).value());
  SegmentHeader& header = header_of(*segment.mapping_);
  std::uint64_t found = 0;
  if (!header.layout_checksum.compare_exchange_strong(found, layout.checksum()) && found != layout.checksum())
    return failure(ErrorKind::other,
                   "the processes of this node lay out their shared memory differently: do they run with "
                   "the same HAWSER_SHM_* settings and the same version of Hawser?");
  return segment;
}

SharedSegment SharedSegment::lane(int number) const {
  HAWSER_ASSERT(number >= 1 && number <= layout_.lanes);
  SharedSegment lane(*this);
  lane.layout_.areas = 0;
  lane.layout_.lanes = 0;
  lane.layout_.blocks_offset = layout_.lanes_offset + (number - 1) * layout_.lane_stride;
  lane.layout_.rings_offset = lane.layout_.blocks_offset + layout_.processes * block_stride;
  return lane;
}

NodePorts& SharedSegment::ports() const { return header_of(*mapping_).ports; }

ProcessBlock& SharedSegment::block(std::int32_t process) const {
  return *reinterpret_cast<ProcessBlock*>(mapping_->data() + layout_.blocks_offset + process * block_stride);
}

std::byte* SharedSegment::area(std::int32_t process, std::int32_t index) const {
  return mapping_->data() + layout_.areas_offset +
         (std::int64_t{process} * layout_.areas + index) * layout_.area_bytes;
}

// Rings of one consumer stand together: it is the one that polls many of them.
std::byte* SharedSegment::ring(std::int32_t from, std::int32_t to) const {
  return mapping_->data() + layout_.rings_offset +
         (std::int64_t{to} * layout_.processes + from) * layout_.ring_stride;
}

RingControl& SharedSegment::ring_control(std::int32_t from, std::int32_t to) const {
  return *reinterpret_cast<RingControl*>(ring(from, to));
}

ServedArea& SharedSegment::served_area(std::int32_t from, std::int32_t to) const {
  return *reinterpret_cast<ServedArea*>(ring(from, to) + served_offset);
}

Slot* SharedSegment::ring_slots(std::int32_t from, std::int32_t to) const {
  return reinterpret_cast<Slot*>(ring(from, to) + slots_offset);
}

std::byte* SharedSegment::ring_bytes(std::int32_t from, std::int32_t to) const {
  return ring(from, to) + slots_offset + layout_.ring_slots * std::int64_t{sizeof(Slot)};
}

std::int64_t SharedSegment::offset_of(const void* place) const {
  return static_cast<const std::byte*>(place) - mapping_->data();
}

const std::atomic<std::uint32_t>* SharedSegment::word_at(std::int64_t offset) const {
  using Word = std::atomic<std::uint32_t>;
  constexpr std::int64_t size = sizeof(Word);
  if (offset < 0 || offset > layout_.total_bytes - size || offset % size != 0) return nullptr;
  return reinterpret_cast<const Word*>(mapping_->data() + offset);
}

bool can_copy_from(const ProcessBlock& neighbour) {
  const std::uint64_t expected = neighbour.present.load(std::memory_order_acquire);
  std::uint64_t found = 0;
  return copy_from_process(neighbour.pid, &found, neighbour.block_address + offsetof(ProcessBlock, present),
                           sizeof(found)) &&
         found == expected;
}

int place_among(const std::vector<ProcessIndex>& processes, ProcessIndex process) {
  const auto found = std::lower_bound(processes.begin(), processes.end(), process);
  return found == processes.end() || *found != process ? -1 : static_cast<int>(found - processes.begin());
}

}  // namespace hawser
