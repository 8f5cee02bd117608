// WindowTestRoom: one-sided operations for tests, by the transport where it does them natively, else by
// active messages: what a room of windows does with RemoteCapabilities, without anything else of MPI's.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/failure.h"
#include "channel/loopback_transport.h"
#include "channel/remote_memory.h"

namespace hawser::channel_test {

class WindowTestRoom final : public ActiveMessageHandler {
 public:
  struct Operation final : Completion {
    void on_complete(Result<> result) override {
      over = true;
      failed = !result;
      ++ends;
    }
    bool over = false, failed = false;
    int ends = 0;
    ByteSequence into;                // get
    std::uint64_t* before = nullptr;  // atomic
  };

  // `transport_of`: gives the turn to a process, too.
  WindowTestRoom(std::function<Transport&(ProcessIndex)> transport_of, ProcessIndex self)
      : transport_of_(std::move(transport_of)), self_(self) {}

  WindowToken open(std::byte* memory, std::int64_t size) {
    if (RemoteMemory* native = own().remote_memory()) {
      auto window = native->register_window(memory, size);
      EXPECT_TRUE(window);
      windows_[window.value().words[0]] = {memory, size};  // for what goes by messages all the same
      return window.value();
    }
    windows_[++last_window_] = {memory, size};
    return {{last_window_}};
  }
  void close(const WindowToken& window) {
    if (RemoteMemory* native = own().remote_memory()) native->unregister_window(window);
    windows_.erase(window.words[0]);
  }

  const Operation& put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from) {
    Operation& operation = operations_.emplace_back();
    if (remote_capabilities(own(), peer).put) {
      EXPECT_TRUE(own().remote_memory()->try_put(peer, to, from, TrafficClass::one_sided, &operation));
      return operation;
    }
    Request request = make(Request::put, to, from.size);
    return send(peer, request, {from.data, static_cast<std::size_t>(from.size)}, operation);
  }
  const Operation& get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into) {
    Operation& operation = operations_.emplace_back();
    if (remote_capabilities(own(), peer).get) {
      EXPECT_TRUE(own().remote_memory()->try_get(peer, from, into, TrafficClass::one_sided, &operation));
      return operation;
    }
    operation.into = into;
    return send(peer, make(Request::get, from, into.size), {}, operation);
  }
  const Operation& atomic(ProcessIndex peer, const RemotePlace& at, const AtomicRequest& wanted,
                          std::uint64_t& before) {
    Operation& operation = operations_.emplace_back();
    if (remote_capabilities(own(), peer).atomic(wanted.operation)) {
      EXPECT_TRUE(own().remote_memory()->try_atomic(peer, at, wanted, before, &operation));
      return operation;
    }
    operation.before = &before;
    Request request = make(Request::atomic, at, sizeof(before));
    request.wanted = wanted;
    return send(peer, request, {}, operation);
  }
  // By messages everything is done when it is answered.
  const Operation& flush(ProcessIndex peer) {
    Operation& operation = operations_.emplace_back();
    if (remote_capabilities(own(), peer).put)
      own().remote_memory()->flush(peer, operation);
    else
      operation.on_complete({});
    return operation;
  }
  // What found no room.
  void send_waiting() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      Waiting& next = waiting_.front();
      TransportHeader header;
      header.handler = HandlerId::window;
      header.traffic = TrafficClass::one_sided;
      const ByteSequence payload{next.bytes.data(), static_cast<std::int64_t>(next.bytes.size()), nullptr};
      if (!own().try_send(next.peer, header, payload)) return;
    }
  }

  void on_packet(ProcessIndex source, const TransportHeader&, const std::byte* payload,
                 std::int64_t size) override {
    Request request;
    ASSERT_GE(size, static_cast<std::int64_t>(sizeof(request)));
    std::memcpy(&request, payload, sizeof(request));
    const std::span<const std::byte> data(payload + sizeof(request),
                                          static_cast<std::size_t>(size) - sizeof(request));
    request.kind == Request::answer ? take_answer(request, data) : serve(source, request, data);
  }
  void on_offer(ProcessIndex, const TransportHeader&, const ExposeToken&, std::int64_t) override { FAIL(); }
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) override {
    ADD_FAILURE();
    return {};
  }

 private:
  struct Request {
    enum Kind : std::uint32_t { put, get, atomic, answer };
    Kind kind = put;
    std::uint32_t refused = 0;    // answer
    std::uint64_t operation = 0;  // of the origin
    std::uint64_t window = 0;
    std::int64_t offset = 0;
    std::int64_t size = 0;
    AtomicRequest wanted;
    std::uint64_t before = 0;  // answer to an atomic
  };
  struct Waiting {
    ProcessIndex peer;
    std::vector<std::byte> bytes;
  };
  struct Window {
    std::byte* memory = nullptr;
    std::int64_t size = 0;
  };

  Transport& own() { return transport_of_(self_); }
  static Request make(Request::Kind kind, const RemotePlace& place, std::int64_t size) {
    Request request;
    request.kind = kind;
    request.window = place.window.words[0];
    request.offset = place.offset;
    request.size = size;
    return request;
  }
  const Operation& send(ProcessIndex peer, Request request, std::span<const std::byte> data,
                        Operation& operation) {
    request.operation = operations_.size() - 1;
    post(peer, request, data);
    return operation;
  }
  void post(ProcessIndex peer, const Request& request, std::span<const std::byte> data) {
    std::vector<std::byte> bytes(sizeof(request) + data.size());
    std::memcpy(bytes.data(), &request, sizeof(request));
    if (!data.empty()) std::memcpy(bytes.data() + sizeof(request), data.data(), data.size());
    ASSERT_LE(static_cast<std::int64_t>(bytes.size()),
              std::min(Transport::one_piece, own().eager_limit(peer)));
    waiting_.push_back({peer, std::move(bytes)});
    send_waiting();
  }
  void serve(ProcessIndex source, Request request, std::span<const std::byte> data) {
    const auto found = windows_.find(request.window);
    const std::int64_t size = found == windows_.end() ? 0 : found->second.size;
    request.refused = found == windows_.end() || request.size < 0 || request.offset < 0 ||
                      request.size > size || request.offset > size - request.size;
    const Request::Kind kind = std::exchange(request.kind, Request::answer);
    if (request.refused != 0) return post(source, request, {});
    std::byte* const place = found->second.memory + request.offset;
    const auto bytes = static_cast<std::size_t>(request.size);
    if (kind == Request::get) return post(source, request, {place, bytes});
    if (kind == Request::put) {
      std::memcpy(place, data.data(), bytes);
    } else {
      std::memcpy(&request.before, place, sizeof(request.before));
      const std::uint64_t after = LoopbackTransport::applied(request.wanted, request.before);
      std::memcpy(place, &after, sizeof(after));
    }
    post(source, request, {});
  }
  void take_answer(const Request& answer, std::span<const std::byte> data) {
    Operation& operation = operations_[answer.operation];
    if (operation.before != nullptr) *operation.before = answer.before;
    if (operation.into.size > 0 && answer.refused == 0)
      std::memcpy(operation.into.data, data.data(), data.size());
    operation.on_complete(answer.refused != 0 ? failure(ErrorKind::other, "refused") : Result<>{});
  }

  std::function<Transport&(ProcessIndex)> transport_of_;
  const ProcessIndex self_;
  std::map<std::uint64_t, Window> windows_;
  std::uint64_t last_window_ = 0;
  std::deque<Operation> operations_;
  std::deque<Waiting> waiting_;
};

}  // namespace hawser::channel_test
