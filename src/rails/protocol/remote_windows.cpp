#include "rails/protocol/remote_windows.h"

#include <algorithm>

#include "base/failure.h"

namespace hawser {
namespace {

// Up to this size copying costs less than to look up, or make, a registration.
constexpr std::int64_t largest_copied = 4096;
// Of blocks at the peer each is a request; the others go by messages.
constexpr std::int64_t shortest_run_there = 8192;

RemoteOperation& operation_of(StripedTransfer& transfer) { return static_cast<RemoteOperation&>(transfer); }

// What has a layout is checked block by block.
Result<WindowAddress> check(const RemotePlace& place, std::int64_t size) {
  const auto window = read_token(place.window);
  if (!window.has_value()) return failure(ErrorKind::other, "the token names no window");
  if (place.layout != nullptr && size >= 0 && place.offset >= 0 && place.offset <= window->size)
    return *window;
  if (size < 0 || place.offset < 0 || size > window->size || place.offset > window->size - size)
    return outside_of_window(size, place.offset, window->size);
  return *window;
}

}  // namespace

RemoteWindows::RemoteWindows(RailContext& context, RailResources& resources, StripeEngine& stripes,
                             PeerTable& peers, Upward& upward)
    : context_(context),
      resources_(resources),
      stripes_(stripes),
      peers_(peers),
      upward_(upward),
      largest_light_(std::min(largest_copied, static_cast<std::int64_t>(resources.packets.buffer_bytes()))) {
  upward.handle({PacketKind::ask_window_keys, PacketKind::window_keys}, *this);
}

// With checksums only what the target's software sees can be checked, so it is to move everything.
RemoteCapabilities RemoteWindows::capabilities(ProcessIndex process) const {
  const bool all_read =
      std::all_of(resources_.devices.begin(), resources_.devices.end(),
                  [](const auto& device) { return device->attributes().outstanding_reads > 0; });
  VirtualChannel* const peer = context_.knobs.checksum || all_read ? nullptr : peers_.obtain(process);
  const bool can = !context_.knobs.checksum && (all_read || (peer != nullptr && peer->paths().reads()));
  return {can, can, 0, can ? static_cast<double>(shortest_run_there) : INFINITY};
}

// Windows.

Result<WindowToken> RemoteWindows::register_window(std::byte* memory, std::int64_t size) {
  HAWSER_ASSERT(size >= 0);
  if (size > largest_window) return failure(ErrorKind::other, "a window of {} bytes is too large", size);
  if (free_windows_.empty()) {
    free_windows_.push_back(static_cast<std::uint32_t>(windows_.size()));
    windows_.emplace_back().name.place = free_windows_.back();
  }
  Window& window = windows_[free_windows_.back()];
  if (size > 0) {
    const DeviceMask devices = resources_.open_devices();
    const std::uint64_t refused = devices == 0 ? 1
                                               : window.memory.register_in_place(*resources_.registrations,
                                                                                 memory, size, true, devices);
    context_.counters.registrations_refused += refused;
    if (refused > 0) {
      window.memory.clear();
      return failure(ErrorKind::other, "adapters cannot register the {} bytes of a window", size);
    }
  }
  free_windows_.pop_back();
  window.size = size;
  window.open = true;
  return token_of({window.name, size, keys_of(window)});
}

void RemoteWindows::unregister_window(const WindowToken& token) {
  const auto named = read_token(token);
  Window* const window = named.has_value() ? find(named->name) : nullptr;
  HAWSER_ASSERT(window != nullptr);
  window->memory.clear();
  window->open = false;
  window->name.generation = (window->name.generation + 1) & 0xFFFF;
  free_windows_.push_back(window->name.place);
}

RemoteWindows::Window* RemoteWindows::find(const TransferName& name) {
  if (name.place >= windows_.size()) return nullptr;
  Window& window = windows_[name.place];
  return window.open && window.name == name ? &window : nullptr;
}

// Also for rails whose adapter refused: there it has none, and nobody needs to ask for it.
RemoteBytes RemoteWindows::keys_of(const Window& window) const {
  RemoteBytes bytes;
  if (window.memory.made()) bytes = resources_.reachable(window.memory);
  for (const auto& rail : resources_.rails)
    bytes.device_generations[rail->number()] = rail->address().device_generation;
  return bytes;
}

void RemoteWindows::on_device_closed(std::size_t device) {
  for (const auto& own : with_)
    if (own != nullptr)
      for (RemoteOperation* each = own->operations.front(); each != nullptr;
           each = own->operations.next(each))
        each->local().forget_device(device);
}

void RemoteWindows::on_device_opened(std::size_t device) {
  const auto renew = [&](Registration& memory) {
    const Registration::Renewal renewal = memory.renew_device(*resources_.devices[device], device);
    context_.counters.registrations_refused += renewal == Registration::Renewal::refused;
  };
  for (Window& window : windows_) renew(window.memory);
  for (const auto& own : with_)
    if (own != nullptr)
      for (RemoteOperation* each = own->operations.front(); each != nullptr;
           each = own->operations.next(each))
        renew(each->local());
}

// Operations.

PeerOperations& RemoteWindows::operations_with(const VirtualChannel& peer) {
  const auto place = static_cast<std::size_t>(peer.process());
  if (place >= with_.size()) with_.resize(place + 1);
  if (with_[place] == nullptr) with_[place] = std::make_unique<PeerOperations>();
  return *with_[place];
}

PacketBuffer* RemoteWindows::take_buffer(std::int64_t size, bool& small) {
  small = size <= static_cast<std::int64_t>(resources_.small_packets.buffer_bytes());
  return resources_.pool(small).take();
}

RemoteOperation& RemoteWindows::make(OperationPool& pool, VirtualChannel& peer, TrafficClass traffic,
                                     const ByteSequence& bytes) {
  RemoteOperation& operation = pool.take();
  operation.begin(peer, traffic, *this);
  operation.bytes = bytes;
  PeerOperations& own = operations_with(peer);
  own.operations.push_back(&operation);
  ++own.live;
  return operation;
}

bool RemoteWindows::try_begin(OperationPool& pool, ProcessIndex process, const RemotePlace& place,
                              const ByteSequence& bytes, TrafficClass traffic, Completion* end) {
  VirtualChannel* const peer = peers_.obtain(process);
  HAWSER_ASSERT(peer != nullptr);
  PeerOperations& own = operations_with(*peer);
  const Result<WindowAddress> window = check(place, bytes.size);
  if (peer->lost() || !window || bytes.size == 0) {
    Result<> result;
    if (peer->lost())
      result = failure(ErrorKind::peer_lost, "the peer was lost before");
    else if (!window)
      result = Error(window.error());
    if (end == nullptr && !result) own.batches.back().error = result.error();
    if (end != nullptr) untold_.push_back({end, std::move(result)});
    return true;
  }
  const bool light = bytes.size <= largest_light_ && place.layout == nullptr;
  bool small = false;
  PacketBuffer* const buffer = light && own.live < most_operations ? take_buffer(bytes.size, small) : nullptr;
  if (own.live >= most_operations || (light && buffer == nullptr)) {
    ++context_.counters.no_room;
    return false;
  }
  RemoteOperation& operation = make(pool, *peer, traffic, bytes);
  operation.window = window.value().name;
  operation.end = end;
  operation.batch = own.first_batch + own.batches.size() - 1;
  ++own.batches.back().unfinished;
  const PeerOperations::LaterKeys* const later = own.find_keys(operation.window);
  RemoteBytes remote = later != nullptr && later->known ? later->bytes : window.value().bytes;
  remote.address = window.value().bytes.address + static_cast<std::uint64_t>(place.offset);
  operation.set_remote(remote);
  if (peer->paths().ready() == 0) upward_.subchannels->on_wanted(*peer);
  if (!light && (!bytes.contiguous() || place.layout != nullptr)) {
    operation.layout = place.layout;
    operation.window_size = window.value().size - place.offset;
    operation.rest().push_back({0, bytes.size});
    in_pieces_.push_back(&operation);
    return true;
  }
  operation.use_buffer(buffer);
  operation.small_buffer = small;
  if (light && operation.put()) {
    copy_out(bytes, 0, buffer->data, bytes.size);
    if (end != nullptr) untold_.push_back({std::exchange(operation.end, nullptr), {}});
  }
  stripes_.begin(operation, {0, bytes.size});
  return true;
}

void RemoteWindows::flush(ProcessIndex process, Completion& end) {
  VirtualChannel* const peer = peers_.obtain(process);
  HAWSER_ASSERT(peer != nullptr);
  PeerOperations& own = operations_with(*peer);
  if (peer->lost()) {
    untold_.push_back({&end, failure(ErrorKind::peer_lost, "the peer was lost before")});
    return;
  }
  own.batches.back().flush = &end;
  own.batches.emplace_back();
  end_batches(own);
  if (!own.flushing()) return;
  stripes_.confirm_now(*peer);
  if (std::find(flushing_.begin(), flushing_.end(), peer) == flushing_.end()) flushing_.push_back(peer);
}

// Flushes end in their order.
void RemoteWindows::end_batches(PeerOperations& own) {
  while (own.batches.front().flush != nullptr && own.batches.front().unfinished == 0) {
    PeerOperations::Batch& batch = own.batches.front();
    Result<> result;
    if (batch.error.has_value()) result = std::move(*batch.error);
    untold_.push_back({batch.flush, std::move(result)});
    own.batches.pop_front();
    ++own.first_batch;
  }
}

// What the stripe engine asks and tells.

bool RemoteWindows::prepare(StripedTransfer& transfer) {
  RemoteOperation& operation = operation_of(transfer);
  Registration& local = operation.local();
  context_.counters.registrations_refused +=
      local.register_in_place(*resources_.registrations, operation.bytes.data, operation.bytes.size,
                              !operation.put(), resources_.open_devices());
  if (usable_anywhere(local)) return true;
  local.clear();
  return false;
}

void RemoteWindows::on_done(StripedTransfer& transfer, const ByteRange&) {
  RemoteOperation& operation = operation_of(transfer);
  if (!operation.put()) end_if_over(operation);
}

void RemoteWindows::on_confirmed(StripedTransfer& transfer, const ByteRange& range) {
  RemoteOperation& operation = operation_of(transfer);
  operation.confirmed += range.size;
  end_if_over(operation);
}

// Either the bytes here cannot be registered, or the window there is not, any more. Ended later, for the
// engine is among its transfers.
void RemoteWindows::on_failed(StripedTransfer& transfer) {
  RemoteOperation& operation = operation_of(transfer);
  const auto& subchannels = transfer.peer().subchannels();
  const bool has_keys =
      std::any_of(subchannels.begin(), subchannels.end(), [&](const Subchannel& subchannel) {
        return subchannel.in_service() && transfer.remote().keys[subchannel.remote_rail] != 0;
      });
  const bool registered = operation.light() || operation.local().made();
  if (registered && (operation.light() || !has_keys)) {
    stripes_.stop(operation);
    if (!operation.error.has_value())
      operation.error = failure(ErrorKind::other,
                                "process {} has no such window any more, or none of its adapters can "
                                "register it",
                                transfer.peer().process());
  }
  if (!operation.pieces_link.linked()) in_pieces_.push_back(&operation);
}

void RemoteWindows::on_stopped(StripedTransfer& transfer) {
  refuse(operation_of(transfer), failure(ErrorKind::other,
                                         "an adapter of process {} refused {} bytes of its window: it is not "
                                         "registered any more",
                                         transfer.peer().process(), operation_of(transfer).bytes.size));
}

// Nothing more of it is moved; what is under way ends first.
void RemoteWindows::refuse(RemoteOperation& operation, const Error& error) {
  stripes_.stop(operation);
  if (operation.pieces_link.linked()) in_pieces_.remove(&operation);
  if (!operation.error.has_value()) operation.error = error;
  end_if_over(operation);
}

void RemoteWindows::end_if_over(RemoteOperation& operation) {
  if (!operation.over()) return;
  if (!operation.put() && operation.light() && !operation.stopped()) {
    const ByteSequence& into = operation.whole != nullptr ? operation.whole->bytes : operation.bytes;
    copy_in(into, operation.first, operation.buffer()->data, operation.bytes.size);
  }
  if (operation.whole != nullptr) return end_piece(operation);
  Completion* const end = operation.end;
  Result<> result;
  if (operation.error.has_value()) result = *operation.error;
  PeerOperations& own = operations_with(operation.peer());
  PeerOperations::Batch& batch = own.batch_of(operation);
  --batch.unfinished;
  if (end != nullptr)
    untold_.push_back({end, std::move(result)});
  else if (!result)
    batch.error = result.error();
  release(operation);
  end_batches(own);
}

void RemoteWindows::release(RemoteOperation& operation) {
  stripes_.withdraw(operation);
  if (operation.pieces_link.linked()) in_pieces_.remove(&operation);
  if (operation.buffer() != nullptr) resources_.pool(operation.small_buffer).give_back(operation.buffer());
  PeerOperations& own = operations_with(operation.peer());
  own.operations.remove(&operation);
  --own.live;
  own.pieces -= operation.whole != nullptr;
  (operation.put() ? puts_ : gets_).release(operation);
}

// Progress.

bool RemoteWindows::progress() {
  if (untold_.empty() && in_pieces_.empty() && to_send_.empty() && flushing_.empty()) [[likely]]
    return false;
  bool moved = !untold_.empty();
  for (std::size_t count = untold_.size(); count > 0; --count) {
    Untold untold = std::move(untold_.front());
    untold_.pop_front();
    tell(untold.end, std::move(untold.result));
  }
  if (!in_pieces_.empty()) moved |= move_pieces();
  if (!to_send_.empty()) moved |= send_keys();
  std::erase_if(flushing_, [&](VirtualChannel* peer) {
    stripes_.confirm_now(*peer);
    return !operations_with(*peer).flushing();
  });
  return moved;
}

void RemoteWindows::abandon(VirtualChannel& peer, const Error& error) {
  const auto place = static_cast<std::size_t>(peer.process());
  if (place >= with_.size() || with_[place] == nullptr) return;
  PeerOperations& own = *with_[place];
  std::vector<Completion*> ends;
  while (RemoteOperation* operation = own.operations.front()) {
    if (operation->end != nullptr) ends.push_back(operation->end);
    release(*operation);
  }
  for (const PeerOperations::Batch& batch : own.batches)
    if (batch.flush != nullptr) ends.push_back(batch.flush);
  own.batches.clear();
  own.batches.emplace_back();
  own.keys.clear();
  std::erase(flushing_, &peer);
  std::erase_if(to_send_, [&](const KeyPacket& packet) { return packet.process == peer.process(); });
  for (Completion* end : ends) end->on_complete(Error(error));
}

bool RemoteWindows::concerns(const VirtualChannel& peer) const {
  const ProcessIndex process = peer.process();
  if (std::ranges::find(flushing_, &peer) != flushing_.end() ||
      std::ranges::find(to_send_, process, &KeyPacket::process) != to_send_.end())
    return true;
  const auto place = static_cast<std::size_t>(process);
  if (place >= with_.size() || with_[place] == nullptr) return false;
  const PeerOperations& own = *with_[place];
  return !own.operations.empty() ||
         std::ranges::any_of(own.batches, [](const auto& batch) { return batch.flush != nullptr; });
}

void RemoteWindows::check_invariants() const {
  std::int32_t live = 0;
  for (const auto& own : with_) {
    if (own == nullptr) continue;
    std::int64_t whole = 0, unfinished = 0;
    std::int32_t listed = 0, pieces = 0;
    for (const RemoteOperation* each = own->operations.front(); each != nullptr;
         each = own->operations.next(each)) {
      HAWSER_ASSERT(!each->put() || each->confirmed <= each->moved() || each->stopped());
      whole += each->whole == nullptr;
      pieces += each->whole != nullptr;
      ++listed;
    }
    for (const PeerOperations::Batch& batch : own->batches) unfinished += batch.unfinished;
    HAWSER_ASSERT(listed == own->live && pieces == own->pieces && whole == unfinished);
    live += listed;
  }
  HAWSER_ASSERT(live == this->live());
}

}  // namespace hawser
