#include "channel/served_operations.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/cross_core_copy.h"
#include "os/shared_memory.h"

namespace hawser {
namespace {

// So many passes in which nothing came back: some microseconds, and several times what a round trip takes.
constexpr int patience = 64;

void copy_few(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);  // in one piece
  else
    call_memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

ServedOperations::ServedOperations(const SharedSegment& segment, std::int32_t self, bool fence)
    : segment_(segment), self_(self), fence_(fence) {}

// --- Origin ---

// Null: not now.
ServedOperations::Origin* ServedOperations::ready_origin(const Place& place, std::int64_t ring_bytes) {
  if (fence_ || segment_.block(place.owner).attentive.load(std::memory_order_relaxed) == 0) return nullptr;
  if (origins_.empty()) origins_.resize(static_cast<std::size_t>(segment_.layout().processes));
  std::unique_ptr<Origin>& origin = origins_[static_cast<std::size_t>(place.owner)];
  if (origin == nullptr) {
    origin = std::make_unique<Origin>();
    origin->area = &segment_.served_area(self_, place.owner);
  }
  const bool room = origin->sent - origin->over < most_outstanding && !origin->withdrawn &&
                    place.ring->room(1, static_cast<std::uint32_t>(ring_bytes));
  return room ? origin.get() : nullptr;
}

ServedOperations::Operation& ServedOperations::next(Origin& origin, const Place& place, std::int64_t size) {
  if (origin.sent == origin.over) {
    origin.idle_passes = 0;
    if (std::find(active_.begin(), active_.end(), place.owner) == active_.end())
      active_.push_back(place.owner);
  }
  Operation& operation = origin.at(++origin.sent);
  operation.place = place;
  operation.size = size;
  return operation;
}

bool ServedOperations::try_put(const Place& to, const ByteSequence& from) {
  HAWSER_ASSERT(from.size <= largest_put);
  Origin* const origin = ready_origin(to, from.size <= slot_bytes ? 0 : 2 * largest_put);
  if (origin == nullptr) return false;
  Operation& operation = next(*origin, to, from.size);
  operation.put = true;
  operation.end = nullptr;
  if (from.contiguous())
    copy_few(operation.data.data(), from.data, from.size);
  else
    from.packer->pack(0, operation.data.data(), from.size);
  send(operation);
  return true;
}

bool ServedOperations::try_get(const Place& from, const ByteSequence& into, Completion* end) {
  HAWSER_ASSERT(into.size <= largest_get);
  Origin* const origin = ready_origin(from, 0);
  if (origin == nullptr) return false;
  const int answer = std::countr_one(origin->answers_used);
  if (answer >= ServedArea::answers) return false;
  Operation& operation = next(*origin, from, into.size);
  origin->answers_used |= 1u << answer;
  operation.put = false;
  operation.answer = static_cast<std::uint8_t>(answer);
  operation.into = into;
  operation.end = end;
  send(operation);
  return true;
}

// There is room.
void ServedOperations::send(Operation& operation) {
  RingSender& ring = *operation.place.ring;
  const ServedCommand command{operation.place.offset, operation.place.window,
                              static_cast<std::uint16_t>(operation.size),
                              static_cast<std::uint8_t>(operation.put), operation.answer};
  Piece piece{};
  const bool in_ring_bytes = in_ring(command);
  if (in_ring_bytes) {
    piece = ring.reserve(static_cast<std::uint32_t>(operation.size));
    ring.copy_in(piece, operation.data.data());
  }
  Slot& slot = ring.next_slot();
  slot.header.channel_word = Slot::serve;
  std::memcpy(slot.payload, &command, sizeof(command));
  if (in_ring_bytes)
    std::memcpy(slot.payload + sizeof(command), &piece, sizeof(piece));
  else
    std::memcpy(slot.payload + sizeof(command), operation.data.data(), slot_bytes);
  ring.publish(slot);
}

bool ServedOperations::flush(std::int32_t owner, Completion& end) {
  const auto place = static_cast<std::size_t>(owner);
  if (place >= origins_.size() || origins_[place] == nullptr) return false;
  Origin& origin = *origins_[place];
  if (origin.over == origin.sent) return false;
  origin.flushes.push_back({origin.sent, &end});
  return true;
}

bool ServedOperations::progress(std::vector<EndedOperation>& ended, std::vector<std::int32_t>& liars) {
  bool moved = false;
  for (std::size_t i = 0; i < active_.size();) {
    const std::int32_t owner = active_[i];
    Origin& origin = *origins_[static_cast<std::size_t>(owner)];
    if (origin.area->done.load(std::memory_order_acquire) > origin.sent) {
      liars.push_back(owner);
      origin.over = origin.sent;
      origin.flushes.clear();
    } else {
      moved |= settle(origin, ended);
    }
    if (origin.over != origin.sent) {
      ++i;
      continue;
    }
    active_[i] = active_.back();
    active_.pop_back();
  }
  return moved;
}

bool ServedOperations::settle(Origin& origin, std::vector<EndedOperation>& ended) {
  const std::uint64_t before = origin.over;
  const std::uint64_t done = origin.area->done.load(std::memory_order_acquire);
  if (!origin.withdrawn) {
    while (origin.over < done) finish(origin, origin.at(++origin.over), ended);
    if (origin.over != before || origin.over == origin.sent)
      origin.idle_passes = 0;
    else if (++origin.idle_passes >= patience && !origin.kernel_refuses)
      withdraw(origin);
  }
  if (origin.withdrawn && done >= origin.begun && !copy_withdrawn(origin, ended)) {
    origin.kernel_refuses = true;
    send_again(origin);
  }
  const auto flushed = [&](const Flush& flush) {
    if (flush.number > origin.over) return false;
    ended.push_back({flush.end, {}});
    return true;
  };
  if (!origin.flushes.empty()) std::erase_if(origin.flushes, flushed);
  return origin.over != before;
}

void ServedOperations::withdraw(Origin& origin) {
  origin.withdrawn = true;
  origin.idle_passes = 0;
  origin.area->withdrawn.store(origin.sent, std::memory_order_relaxed);
  remote_barrier();
  origin.begun = std::min(origin.area->begun.load(std::memory_order_acquire), origin.sent);
  // It says so itself when it looks again.
  segment_.block(origin.at(origin.sent).place.owner).attentive.store(0, std::memory_order_relaxed);
}

// False: the kernel refuses.
bool ServedOperations::copy_withdrawn(Origin& origin, std::vector<EndedOperation>& ended) {
  while (origin.over < origin.sent) {
    Operation& operation = origin.at(origin.over + 1);
    if (!copy_by_kernel(operation)) return false;
    ++origin.over;
    finish(origin, operation, ended);
  }
  origin.withdrawn = false;
  return true;
}

bool ServedOperations::copy_by_kernel(Operation& operation) const {
  const Place& place = operation.place;
  const pid_t pid = segment_.block(place.owner).pid;
  if (operation.put) return copy_to_process(pid, place.address, operation.data.data(), operation.size);
  return copy_from_process(pid, operation.data.data(), place.address, operation.size);
}

// The rest of what was withdrawn, under new numbers, because the owner leaves the old ones alone.
bool ServedOperations::send_again(Origin& origin) {
  const std::uint64_t first = origin.over + 1, count = origin.sent - origin.over;
  RingSender& ring = *origin.at(first).place.ring;
  if (!ring.room(static_cast<std::uint32_t>(count), static_cast<std::uint32_t>((count + 1) * largest_put)))
    return false;
  for (std::uint64_t number = first; number < first + count; ++number) {
    Operation& operation = origin.at(number + count);
    operation = origin.at(number);
    send(operation);
  }
  for (Flush& flush : origin.flushes) flush.number += count;
  origin.over += count;
  origin.sent += count;
  origin.withdrawn = false;
  return true;
}

// The bytes of a get are in its answer, or, if the kernel copied, in the operation.
void ServedOperations::finish(Origin& origin, Operation& operation, std::vector<EndedOperation>& ended) {
  if (operation.put) return;
  const std::byte* const data =
      origin.withdrawn ? operation.data.data() : origin.area->answer[operation.answer];
  if (operation.into.contiguous())
    copy_few(operation.into.data, data, operation.size);
  else
    operation.into.packer->unpack(0, data, operation.size);
  origin.answers_used &= ~(1u << operation.answer);
  ended.push_back({operation.end, {}});
}

// --- Owner ---

std::uint32_t ServedOperations::open_window(std::byte* memory, std::int64_t size) {
  if (free_windows_.empty()) {
    free_windows_.push_back(static_cast<std::uint32_t>(windows_.size()));
    windows_.emplace_back();
  }
  const std::uint32_t window = free_windows_.back();
  free_windows_.pop_back();
  windows_[window] = {memory, size};
  return window;
}

void ServedOperations::close_window(std::uint32_t window) {
  windows_[window].size = -1;
  free_windows_.push_back(window);
}

bool ServedOperations::serve(std::int32_t origin, const ServedCommand& command, const std::byte* data) {
  if (served_.empty()) served_.resize(static_cast<std::size_t>(segment_.layout().processes));
  const std::uint64_t number = ++served_[static_cast<std::size_t>(origin)];
  ServedArea& area = segment_.served_area(origin, self_);
  area.begun.store(number, std::memory_order_relaxed);
  if (fence_)
    std::atomic_thread_fence(std::memory_order_seq_cst);
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
  // The window of what was withdrawn may be closed.
  const bool wanted = area.withdrawn.load(std::memory_order_acquire) < number;
  if (wanted && !carry_out(area, command, data)) return false;
  area.done.store(number, std::memory_order_release);
  return true;
}

bool ServedOperations::carry_out(ServedArea& area, const ServedCommand& command, const std::byte* data) {
  const std::int64_t size = command.size;
  if (command.window >= windows_.size() || command.answer >= ServedArea::answers ||
      size > (command.put != 0 ? largest_put : largest_get))
    return false;
  const Window& window = windows_[command.window];
  if (command.offset < 0 || size > window.size || command.offset > window.size - size) return false;
  std::byte* const memory = window.memory + command.offset;
  if (command.put != 0)
    copy_few(memory, data, size);
  else
    copy_few(area.answer[command.answer], memory, size);
  return true;
}

}  // namespace hawser
