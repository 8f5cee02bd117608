#include "window/window_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "message/transfer.h"
#include "mpi/failure.h"

namespace hawser {

// --- Requests and operations ---

void WindowRequest::end(const FailureOnWire& failure) {
  failure_ = failure;
  complete = true;
  if (user_freed) delete this;
}

void WindowRequest::destroy() {
  if (complete)
    delete this;
  else
    user_freed = true;
}

Result<> WindowRequest::finish() { return result_of(failure_); }

Result<> result_of(const FailureOnWire& refused) {
  const auto error = static_cast<ErrorClass>(refused.error);
  if (error == ErrorClass::success) return {};
  if (error == ErrorClass::proc_failed) return failure(error, "the target has failed");
  return failure(error, "the target refused {} bytes at {:#x}, which are not in its window",
                 refused.place.bytes, static_cast<std::uint64_t>(refused.place.displacement));
}

void WindowOperation::begin(const WindowCall& made, WindowPeer& at) {
  call = made;
  is_packet = false;
  stage = Stage::queued;
  peer = &at;
  sent = defined = 0;
  missing = call.bytes;
  failure = {};
  if (!call.origin.contiguous()) call.origin.packer = &call.origin_packer;
  if (!call.result.contiguous()) call.result.packer = &call.result_packer;
  kept_types[0] = Ref<const Datatype>(call.type);
  kept_types[1] = Ref<const Datatype>(call.origin_type);
  kept_types[2] = Ref<const Datatype>(call.result_type);
}

void WindowOperation::begin(const WindowHeader& header, WindowPeer& at) {
  packet = header;
  is_packet = true;
  stage = Stage::queued;
  peer = &at;
}

void WindowOperation::on_complete(Result<> result) { engine_.on_transferred(*this, std::move(result)); }

// --- The engine ---

WindowEngine::WindowEngine(CollectiveEngine& collectives) : collectives_(collectives), operations_(*this) {}
WindowEngine::~WindowEngine() = default;

void WindowEngine::open(Lane& lane, ProcessIndex self, ChannelSet& channels, Neighbours* neighbours) {
  lane_ = &lane;
  self_ = self;
  channels_ = &channels;
  neighbours_ = neighbours;
  lane.set_handler(HandlerId::window, this);
}

void WindowEngine::close() {
  if (lane_ == nullptr) return;
  lane_->set_handler(HandlerId::window, nullptr);
  lane_ = nullptr;
  channels_ = nullptr;
  neighbours_ = nullptr;
  for (auto& [id, window] : windows_) window->abandon();
  windows_.clear();
  for (auto& [process, link] : links_)
    if (link->waiting.linked()) waiting_links_.remove(link.get());
  links_.clear();
}

void WindowEngine::drop(WindowPeer& peer) {
  if (peer.waiting.linked()) waiting_peers_.remove(&peer);
  while (WindowOperation* const operation = peer.queue.pop_front()) operations_.give_back(*operation);
}

// What waits in a window that a process of it has failed will never go.
bool WindowEngine::flushed() const {
  for (const WindowPeer* peer = waiting_peers_.front(); peer != nullptr; peer = waiting_peers_.next(peer))
    if (!peer->window.stopped()) return false;
  for (const WindowLink* link = waiting_links_.front(); link != nullptr; link = waiting_links_.next(link))
    if (!trouble().has_failed(link->process)) return false;
  return true;
}

// What the channel has is ended by the channel. The rest stays until the window's end, but nobody waits for
// it.
void WindowEngine::end_failed() {
  operations_.for_each([this](WindowOperation& operation) {
    using Stage = WindowOperation::Stage;
    const bool of_channel = operation.stage == Stage::exposed || operation.stage == Stage::native;
    if (operation.request == nullptr || of_channel || !trouble().has_failed(operation.peer->link.process))
      return;
    const FailureOnWire failed{static_cast<std::int32_t>(ErrorClass::proc_failed), 0, {}};
    std::exchange(operation.request, nullptr)->end(failed);
  });
}

void WindowEngine::forget(Window& window) {
  server_.forget(window);
  const auto found = windows_.find(window.id());
  if (found != windows_.end() && found->second == &window) windows_.erase(found);
}

WindowLink& WindowEngine::link(ProcessIndex process) {
  std::unique_ptr<WindowLink>& known = links_[process];
  if (known != nullptr) return *known;
  known = std::make_unique<WindowLink>();
  known->process = process;
  known->channel = channels_->channel_of(process);
  if (known->channel != nullptr)
    known->packet_limit = std::min(Transport::one_piece, known->channel->eager_limit(process));
  return *known;
}

bool WindowEngine::advance() {
  bool moved = server_.grant_locks();
  for (WindowLink* link = waiting_links_.front(); link != nullptr;) {
    WindowLink* const next = waiting_links_.next(link);
    moved |= send_answers(*link);
    link = next;
  }
  for (WindowPeer* peer = waiting_peers_.front(); peer != nullptr;) {
    WindowPeer* const next = waiting_peers_.next(peer);
    const WindowOperation* const first = peer->queue.front();
    push(*peer);
    moved |= peer->queue.front() != first;
    peer = next;
  }
  return moved;
}

void WindowEngine::answer(WindowLink& link, const WindowHeader& header, const void* payload,
                          std::int64_t size) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(payload));
  if (link.answers.empty() && link.channel->try_send(link.process, header, {bytes, size, nullptr})) return;
  enqueue_answer(link, {header, std::vector<std::byte>(bytes, bytes + size), nullptr});
}

void WindowEngine::answer(WindowLink& link, const WindowHeader& header, ExposedAnswer& exposed) {
  if (link.answers.empty() && link.channel->try_expose(link.process, header, exposed.bytes, &exposed)) return;
  enqueue_answer(link, {header, {}, &exposed});
}

void WindowEngine::enqueue_answer(WindowLink& link, WindowAnswer answer) {
  if (link.answers.size() >= most_answers(link)) {
    if (answer.exposed != nullptr) answer.exposed->on_complete({});
    return refuse(link.process,
                  fmt::format("operations whose {} answers it does not take", link.answers.size() + 1));
  }
  if (link.answers.empty()) waiting_links_.push_back(&link);
  link.answers.push_back(std::move(answer));
}

// To what it asks for bytes, and to its flushes, locks and questions for tokens.
std::size_t WindowEngine::most_answers(const WindowLink& link) const {
  constexpr std::size_t of_its_threads = 1024;
  const std::int64_t room = std::max<std::int64_t>(link.packet_limit, 64) - 8;
  const std::int64_t packets = most_awaited * ((answer_offered_from + room - 1) / room);
  return static_cast<std::size_t>(packets) + 4 * windows_.size() + of_its_threads;
}

bool WindowEngine::send_answers(WindowLink& link) {
  bool moved = false;
  while (!link.answers.empty()) {
    WindowAnswer& next = link.answers.front();
    const ByteSequence bytes{next.payload.data(), static_cast<std::int64_t>(next.payload.size()), nullptr};
    const bool sent = next.exposed != nullptr ? link.channel->try_expose(link.process, next.header,
                                                                         next.exposed->bytes, next.exposed)
                                              : link.channel->try_send(link.process, next.header, bytes);
    if (!sent) return moved;
    moved = true;
    link.answers.pop_front();
  }
  waiting_links_.remove(&link);
  return moved;
}

void WindowEngine::end(WindowOperation& operation) {
  WindowPeer& peer = *operation.peer;
  const FailureOnWire failure = operation.failure;
  --peer.in_use;
  if (operation.request != nullptr)
    operation.request->end(failure);
  else if (failure.error != 0 && peer.failure.error == 0)
    peer.failure = failure;
  operations_.give_back(operation);
}

void WindowEngine::on_transferred(WindowOperation& operation, Result<> result) {
  if (!result && operation.native && result.error().kind == ErrorKind::unsupported)
    return send_instead(operation);
  if (!result) operation.failure.error = static_cast<std::int32_t>(error_class_of(result.error()));
  // The target kept what it offered until now.
  if (operation.stage == WindowOperation::Stage::awaiting) --operation.peer->link.awaited;
  end(operation);
}

// --- What arrives ---

WindowPeer* WindowEngine::peer_named(ProcessIndex source, const WindowHeader& header) {
  Window* const window = find(header.window);
  if (window == nullptr) {
    refuse(source, fmt::format("an operation on window {}, which this process does not have", header.window));
    return nullptr;
  }
  const int rank = header.source_rank;
  if (rank < 0 || rank >= window->size() || window->group()->process_of(rank) != source) {
    refuse(source, fmt::format("an operation as rank {} of window {}", rank, header.window));
    return nullptr;
  }
  return &window->peer(rank);
}

void WindowEngine::on_packet(ProcessIndex source, const TransportHeader& general, const std::byte* payload,
                             std::int64_t size) {
  const WindowHeader header = WindowHeader::of(general);
  if (header.kind == WindowHeader::Kind::type_definition)
    return server_.on_type_definition(source, payload, size);
  WindowPeer* const peer = peer_named(source, header);
  if (peer == nullptr || server_.on_packet(*peer, header, payload, size)) return;
  switch (header.kind) {
    case WindowHeader::Kind::data:
      return on_data(*peer, header, payload, size);
    case WindowHeader::Kind::failed:
      return on_failed(*peer, header, payload, size);
    case WindowHeader::Kind::flushed:
      return on_flushed(*peer, header, payload, size);
    case WindowHeader::Kind::granted:
      return on_granted(*peer);
    case WindowHeader::Kind::token:
      return on_token(*peer, payload, size);
    case WindowHeader::Kind::posted:
      ++peer->posts;
      return;
    default:
      refuse(source,
             fmt::format("an operation of unknown kind {} on a window", static_cast<int>(header.kind)));
  }
}

void WindowEngine::on_offer(ProcessIndex source, const TransportHeader& general, const ExposeToken& token,
                            std::int64_t size) {
  const WindowHeader header = WindowHeader::of(general);
  if (header.kind != WindowHeader::Kind::offer || size < 0)
    return refuse(source, fmt::format("an offer of {} bytes with a header of kind {}", size,
                                      static_cast<int>(header.kind)));
  WindowPeer* const peer = peer_named(source, header);
  if (peer == nullptr) return;
  if ((header.flags & WindowHeader::answer) == 0) return server_.on_put_offer(*peer, token, size);
  WindowOperation* const operation = awaiting(*peer, header);
  if (operation == nullptr || operation->call.kind != WindowCall::Kind::get ||
      size != operation->call.bytes || operation->missing != size)
    return refuse(source,
                  fmt::format("an offer of {} bytes that get {} did not ask for", size, header.number));
  operation->missing = 0;
  peer->link.channel->fetch(source, token, operation->call.result, operation);
}

EagerSink WindowEngine::on_eager_begin(ProcessIndex source, const TransportHeader&, std::int64_t size) {
  refuse(source, fmt::format("a one-sided operation of {} bytes in pieces", size));
  return {};
}

// The operation that an answer is for; null: the peer owes none of that number. Of one in several packets the
// first may be answered while the last still waits for room.
WindowOperation* WindowEngine::awaiting(const WindowPeer& peer, const WindowHeader& header) {
  WindowOperation* const operation = operations_.find(header.number);
  if (operation == nullptr || operation->peer != &peer || operation->missing == 0) return nullptr;
  const bool sending = operation->stage == WindowOperation::Stage::queued && !operation->is_packet &&
                       operation->call.kind == WindowCall::Kind::get_accumulate && operation->sent > 0;
  return sending || operation->stage == WindowOperation::Stage::awaiting ? operation : nullptr;
}

// A part of the answer is here.
void WindowEngine::arrived(WindowOperation& operation, std::int64_t bytes) {
  operation.missing -= std::min(bytes, operation.missing);
  // Of a get, several packets are one answer.
  if (operation.missing == 0 || operation.call.kind == WindowCall::Kind::get_accumulate)
    --operation.peer->link.awaited;
  if (operation.missing > 0) return;
  if (operation.stage == WindowOperation::Stage::awaiting) return end(operation);
  refuse(operation.peer->link.process,
         fmt::format("{} bytes too many for operation {}", bytes, operation.number));
}

void WindowEngine::on_data(WindowPeer& peer, const WindowHeader& header, const std::byte* payload,
                           std::int64_t size) {
  WindowOperation* const operation = awaiting(peer, header);
  std::int64_t offset = 0;
  size -= static_cast<std::int64_t>(sizeof offset);
  if (operation != nullptr && size > 0) {
    std::memcpy(&offset, payload, sizeof offset);
    // What cannot be an offset is refused below.
    if (operation->call.type == nullptr &&
        __builtin_sub_overflow(offset, operation->call.displacement, &offset))
      offset = -1;
  }
  if (operation == nullptr || size <= 0 || offset < 0 || offset > operation->call.bytes - size)
    return refuse(peer.link.process,
                  fmt::format("{} bytes for operation {}, which did not ask for them", size, header.number));
  const ByteSequence& to = operation->call.result;
  if (to.contiguous())
    copy_bytes(to.data + offset, payload + sizeof offset, size);
  else
    to.packer->unpack(offset, payload + sizeof offset, size);
  arrived(*operation, size);
}

namespace {

// False: the payload is none.
bool read_failure(const std::byte* payload, std::int64_t size, FailureOnWire& failure) {
  if (size != static_cast<std::int64_t>(sizeof failure)) return false;
  std::memcpy(&failure, payload, sizeof failure);
  return failure.error >= 0 && failure.error <= static_cast<std::int32_t>(ErrorClass::abi);
}

}  // namespace

void WindowEngine::on_failed(WindowPeer& peer, const WindowHeader& header, const std::byte* payload,
                             std::int64_t size) {
  WindowOperation* const operation = awaiting(peer, header);
  FailureOnWire failure;
  if (operation == nullptr || !read_failure(payload, size, failure) || failure.error == 0)
    return refuse(peer.link.process,
                  fmt::format("an error of operation {}, which it was not asked for", header.number));
  // Of one that travels in several packets each is answered.
  operation->failure = failure;
  arrived(*operation, std::max<std::int64_t>(failure.place.bytes, 1));
}

void WindowEngine::on_flushed(WindowPeer& peer, const WindowHeader& header, const std::byte* payload,
                              std::int64_t size) {
  FailureOnWire failure;
  if (!read_failure(payload, size, failure) || header.number - peer.confirmed > peer.asked - peer.confirmed)
    return refuse(peer.link.process,
                  fmt::format("the end of operation {} on a window, which has not begun", header.number));
  peer.confirmed = header.number;
  if (failure.error != 0 && peer.failure.error == 0) peer.failure = failure;
}

void WindowEngine::on_granted(WindowPeer& peer) {
  if (peer.lock != WindowPeer::Lock::asked)
    return refuse(peer.link.process, "a lock that it was not asked for");
  peer.lock = WindowPeer::Lock::held;
  push(peer);
}

}  // namespace hawser
