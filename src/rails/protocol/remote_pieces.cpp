// RemoteWindows: puts and gets that are not one piece, here or at the peer, or that no adapter reaches where
// they lie.
#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "rails/protocol/remote_windows.h"

namespace hawser {
namespace {

// Blocks here that are shorter on average are copied together, not listed; so are those that lie so far apart
// that so many times their bytes would be registered, and what is short: copies need no registration.
constexpr std::int64_t shortest_run_here = 4096, widest_list = 16, shortest_listed = 65536;
// A list is long enough with so many bytes, and no block is moved in longer pieces than these.
constexpr std::int64_t enough_listed = 32768, longest_piece = 262144;

}  // namespace

Error outside_of_window(std::int64_t size, std::int64_t offset, std::int64_t window) {
  return failure(ErrorKind::other, "{} bytes at offset {} are not within a window of {} bytes", size, offset,
                 window);
}

bool RemoteWindows::usable_anywhere(const Registration& local) const {
  for (std::size_t device = 0; device < resources_.devices.size(); ++device)
    if (local.usable(device)) return true;
  return false;
}

bool RemoteWindows::room_for_piece(const RemoteOperation& whole) {
  const PeerOperations& own = operations_with(whole.peer());
  return own.live < most_operations && own.pieces < most_pieces;
}

// False: no buffer now.
bool RemoteWindows::begin_piece(RemoteOperation& whole) {
  ByteRange& rest = whole.rest().back();
  MemoryBlock there{reinterpret_cast<std::byte*>(rest.offset), rest.size};
  if (whole.layout != nullptr) {
    there = whole.layout->block(rest.offset);
    there.bytes = std::min(there.bytes, rest.size);
    const auto offset = reinterpret_cast<std::intptr_t>(there.data);
    if (offset < 0 || offset > whole.window_size - there.bytes) {
      whole.error = outside_of_window(there.bytes, offset, whole.window_size);
      stripes_.stop(whole);
      return true;
    }
  }
  RemoteOperation* piece = make_listed(whole, rest.offset, there.bytes);
  if (piece == nullptr) piece = make_copied(whole, rest.offset, there.bytes);
  if (piece == nullptr) return false;
  piece->window = whole.window;
  piece->whole = &whole;
  piece->first = rest.offset;
  RemoteBytes remote = whole.remote();
  remote.address += reinterpret_cast<std::uintptr_t>(there.data);
  piece->set_remote(remote);
  ++whole.pieces;
  ++operations_with(whole.peer()).pieces;
  const std::int64_t size = piece->bytes.size;
  rest.offset += size;
  rest.size -= size;
  if (rest.size == 0) whole.rest().pop_back();
  stripes_.add(*piece, {0, size});
  return true;
}

RemoteOperation* RemoteWindows::make_copied(RemoteOperation& whole, std::int64_t first, std::int64_t most) {
  const std::int64_t size = std::min(most, static_cast<std::int64_t>(resources_.packet_bytes()));
  bool small = false;
  PacketBuffer* const buffer = take_buffer(size, small);
  if (buffer == nullptr) return nullptr;
  RemoteOperation& piece =
      make(whole.put() ? puts_ : gets_, whole.peer(), whole.traffic(), {nullptr, size, nullptr});
  piece.use_buffer(buffer);
  piece.small_buffer = small;
  if (whole.put()) copy_out(whole.bytes, first, buffer->data, size);
  ++context_.counters.packets_for_stripes;
  return &piece;
}

// A piece that the adapters take from its places here. Null: they do not reach them, or a copy costs less.
RemoteOperation* RemoteWindows::make_listed(RemoteOperation& whole, std::int64_t first, std::int64_t most) {
  if (whole.copied || most <= largest_light_ ||
      (whole.bytes.size < shortest_listed && !whole.bytes.contiguous()))
    return nullptr;
  MemoryBlock places[rdma::longest_list];
  std::size_t count = 0;
  std::int64_t size = 0;
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  while (size < most && size < enough_listed) {
    MemoryBlock next{whole.bytes.data + first, most};
    if (!whole.bytes.contiguous()) next = whole.bytes.packer->block(first + size);
    if (next.bytes == 0) return nullptr;
    if (count == static_cast<std::size_t>(resources_.list_segments)) break;
    next.bytes = std::min({next.bytes, most - size, longest_piece});
    const auto address = reinterpret_cast<std::uintptr_t>(next.data);
    begin = std::min(begin, address);
    end = std::max(end, address + static_cast<std::uintptr_t>(next.bytes));
    size += next.bytes;
    places[count++] = next;
  }
  const auto span = static_cast<std::int64_t>(end - begin);
  if (size <= largest_light_ || size < shortest_run_here * static_cast<std::int64_t>(count) ||
      span > widest_list * size)
    return nullptr;
  RemoteOperation& piece =
      make(whole.put() ? puts_ : gets_, whole.peer(), whole.traffic(), {places[0].data, size, nullptr});
  Registration& local = piece.local();
  context_.counters.registrations_refused +=
      local.register_in_place(*resources_.registrations, reinterpret_cast<std::byte*>(begin), span,
                              !piece.put(), resources_.open_devices());
  if (!usable_anywhere(local)) {
    whole.copied = true;
    release(piece);
    return nullptr;
  }
  if (count > 1) local.lie_in(std::span(places).first(count));
  return &piece;
}

// What no adapter reaches of a piece is copied.
void RemoteWindows::hand_back(RemoteOperation& piece) {
  RemoteOperation& whole = *piece.whole;
  for (const ByteRange& range : std::exchange(piece.rest(), {})) {
    piece.bytes.size -= range.size;
    if (!whole.stopped()) whole.rest().push_back({piece.first + range.offset, range.size});
  }
  whole.copied = true;
  if (!whole.pieces_link.linked()) in_pieces_.push_back(&whole);
  end_if_over(piece);
}

// Also ends what has failed.
bool RemoteWindows::move_pieces() {
  bool moved = false;
  PiecesList unfinished;
  while (RemoteOperation* const whole = in_pieces_.pop_front()) {
    if (whole->stopped()) {
      moved = true;
      end_if_over(*whole);
      continue;
    }
    if (whole->whole != nullptr) {
      moved = true;
      hand_back(*whole);
      continue;
    }
    while (!whole->rest().empty() && room_for_piece(*whole) && begin_piece(*whole)) moved = true;
    if (!whole->rest().empty() || whole->stopped()) unfinished.push_back(whole);
  }
  while (RemoteOperation* const whole = unfinished.pop_front()) in_pieces_.push_back(whole);
  return moved;
}

void RemoteWindows::end_piece(RemoteOperation& piece) {
  RemoteOperation& whole = *piece.whole;
  const std::optional<Error> error = piece.error;
  --whole.pieces;
  if (!error.has_value()) {
    whole.note_moved(piece.bytes.size);
    if (whole.put()) whole.confirmed += piece.bytes.size;
  }
  release(piece);
  if (error.has_value())
    refuse(whole, *error);
  else
    end_if_over(whole);
}

}  // namespace hawser
