#include "binding/lane_calls.h"

#include <algorithm>
#include <span>

#include "api/message_data.h"
#include "binding/arrays.h"
#include "binding/entry.h"

namespace hawser::binding {
namespace {

MessageLanes& lanes() { return *current_slot().running->lanes(); }

// A call that names a communicator. If that is on a lane, its lock is held.
class OnLane {
 public:
  explicit OnLane(MPI_Comm comm) {
    LaneMember* const member = lanes().find(Codec<Communicator>::number(comm));
    if (member == nullptr) return;
    communicator_ = static_cast<Communicator*>(&member->communicator);
    member_ = member;
    lane_ = &member->lane;
    lane_->lock().lock();
  }
  ~OnLane() {
    if (lane_ != nullptr) lane_->lock().unlock();
  }
  OnLane(const OnLane&) = delete;

  // Whether it is to be done here, with these arguments of it.
  bool may_send(int dest, int tag) const {
    return lane_ != nullptr && communicator_->may_send_to(dest) && tag >= 0;
  }
  bool may_receive(int source, int tag) const {
    if (lane_ == nullptr || (tag < 0 && tag != any_tag)) return false;
    return communicator_->may_send_to(source) || (source == any_source && !communicator_->revoked());
  }
  MessageLane& lane() const { return *lane_; }
  PointToPoint& messages() const { return lane_->messages(); }
  Communicator& communicator() const { return *communicator_; }
  void keep(MessageRequest& request) const { request.communicator = Ref<Counted>(member_); }

 private:
  Communicator* communicator_ = nullptr;
  LaneMember* member_ = nullptr;
  MessageLane* lane_ = nullptr;
};

// Data in one piece of a predefined type; false: they are not.
[[gnu::always_inline]] inline bool describe(const void* buf, std::int64_t count, MPI_Datatype datatype,
                                            ByteSequence& bytes) {
  const Datatype* const type = lanes().predefined_type(Codec<Datatype>::number(datatype));
  if (type == nullptr || !type->contiguous || !Entry::good_count(count, *type)) return false;
  if (buf == nullptr && count != 0) return false;
  bytes = mpi::one_piece(buf, count, *type);
  return true;
}

// Ends well and leaves nothing to the process.
bool ends_here(const MessageRequest& request) {
  return request.status.error == ErrorClass::success && request.bytes.contiguous();
}

// Of a request that a call waited for, and that is given up. The lane's lock is free meanwhile.
[[gnu::cold, gnu::noinline]] int report(OnLane& on, const char* function, const Error& error) {
  on.lane().lock().unlock();
  int code;
  {
    const Entry entry(function);
    code = entry.fail(&on.communicator(), error);
  }
  on.lane().lock().lock();
  return code;
}

// After a wait in a call: what became of the request, which is given up.
[[gnu::always_inline]] inline int finish(OnLane& on, const char* function, MessageRequest& request,
                                         MPI_Status* status) {
  if (!ignored(status)) write_status(*status, request.status);
  if (request.status.error == ErrorClass::success) [[likely]] {
    on.messages().release(request);
    return MPI_SUCCESS;
  }
  const Error error = mpi::error_of(request.status, request.message_size, request.bytes.size);
  on.messages().release(request);
  return report(on, function, error);
}

[[gnu::always_inline]] inline MessageRequest& begin_send(OnLane& on, const SendTarget& target,
                                                         const ByteSequence& bytes) {
  MessageRequest& request = on.messages().take_send(SendMode::standard, target, bytes);
  on.keep(request);
  on.messages().start_send(request);
  return request;
}

[[gnu::always_inline]] inline MessageRequest& begin_receive(OnLane& on, const ReceivePattern& pattern,
                                                            const ByteSequence& into) {
  MessageRequest& request = on.messages().take_receive(pattern, into);
  on.keep(request);
  on.messages().start_receive(request);
  return request;
}

void wait_for(MessageLane& lane, const Request& request) {
  if (!request.complete) lanes().wait(lane, [&request] { return request.complete; });
}

// Not a joint one, which is not in a pool.
bool is_plain(const Request* request) {
  return request != nullptr && request->pooled && !request->persistent && !request->shared;
}

// A request in a call of one. Null: it is not to be ended here; else the lock of its lane is held.
class LaneRequest {
 public:
  explicit LaneRequest(MPI_Request handle) {
    const std::uint64_t number = Codec<Request>::number(handle);
    MessageLane* const lane = lanes().lane(RequestTable::lane_of(number));
    if (lane == nullptr) return;
    lane->lock().lock();
    Request* const request = lane->requests().find(number);
    if (!is_plain(request)) {
      lane->lock().unlock();
      return;
    }
    lane_ = lane;
    request_ = static_cast<MessageRequest*>(request);
  }
  ~LaneRequest() {
    if (lane_ != nullptr) lane_->lock().unlock();
  }
  LaneRequest(const LaneRequest&) = delete;

  explicit operator bool() const { return lane_ != nullptr; }
  MessageLane& lane() const { return *lane_; }
  const MessageRequest* operator->() const { return request_; }
  void wait() const { wait_for(*lane_, *request_); }
  // Once it is complete; false: it did not end well, or leaves something to the process.
  bool give_up(MPI_Request* handle, MPI_Status* status) const {
    if (!ends_here(*request_)) [[unlikely]]
      return false;
    if (!ignored(status)) write_status(*status, request_->status);
    lane_->messages().release(*request_);
    *handle = Codec<Request>::handle(0);
    return true;
  }

 private:
  MessageLane* lane_ = nullptr;
  MessageRequest* request_ = nullptr;
};

// Requests of one lane, whose lock is held as long as this lives. `good()`: all are, or are null or sends
// that were complete when they began.
class LaneRequests {
 public:
  LaneRequests(const MPI_Request* handles, int count) : requests_(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count && lane_ == nullptr; ++i)
      lane_ = lanes().lane(RequestTable::lane_of(Codec<Request>::number(handles[i])));
    if (lane_ == nullptr) return;
    lane_->lock().lock();
    good_ = find(handles);
  }
  ~LaneRequests() {
    if (lane_ != nullptr) lane_->lock().unlock();
  }
  LaneRequests(const LaneRequests&) = delete;

  bool good() const { return good_; }
  MessageLane& lane() const { return *lane_; }
  // Null where the handle is null.
  std::span<MessageRequest*> all() { return requests_.span(); }
  // Once it is complete.
  void give_up(MessageRequest* request, MPI_Request* handle, MPI_Status* status) const {
    if (!ignored(status)) write_status(*status, request == nullptr ? Status::empty() : request->status);
    if (request != nullptr) lane_->messages().release(*request);
    *handle = Codec<Request>::handle(0);
  }

 private:
  bool find(const MPI_Request* handles) {
    MpiProcess& process = *current_slot().running;
    const MPI_Request sent = handle_of_sent(process);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::uint64_t number = Codec<Request>::number(handles[i]);
      Request* const request = handles[i] == sent ? &process.point_to_point().sent()
                               : number == 0      ? nullptr
                                                  : lane_->requests().find(number);
      if (handles[i] != sent && number != 0 && !is_plain(request)) return false;
      requests_[i] = static_cast<MessageRequest*>(request);
    }
    return true;
  }

  Room<MessageRequest*, 64> requests_;
  MessageLane* lane_ = nullptr;
  bool good_ = false;
};

}  // namespace

int send_on_lane(const char* function, const void* buf, std::int64_t count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm) {
  ByteSequence bytes;
  OnLane on(comm);
  if (!on.may_send(dest, tag) || !describe(buf, count, datatype, bytes)) return not_on_lane;
  const SendTarget target = mpi::target_of(on.communicator(), dest, tag, TrafficClass::blocking);
  if (on.messages().send_now(target, bytes)) return MPI_SUCCESS;
  MessageRequest& request = begin_send(on, target, bytes);
  wait_for(on.lane(), request);
  return finish(on, function, request, nullptr);
}

int isend_on_lane(const char*, const void* buf, std::int64_t count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  ByteSequence bytes;
  OnLane on(comm);
  if (!on.may_send(dest, tag) || request == nullptr || !describe(buf, count, datatype, bytes))
    return not_on_lane;
  const SendTarget target = mpi::target_of(on.communicator(), dest, tag, TrafficClass::nonblocking);
  *request = on.messages().send_now(target, bytes)
                 ? handle_of_sent(*current_slot().running)
                 : Codec<Request>::handle(begin_send(on, target, bytes).handle);
  return MPI_SUCCESS;
}

int recv_on_lane(const char* function, void* buf, std::int64_t count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Status* status) {
  ByteSequence into;
  OnLane on(comm);
  source = to_core_source(source);
  tag = to_core_tag_any(tag);
  if (!on.may_receive(source, tag) || !describe(buf, count, datatype, into)) return not_on_lane;
  const ReceivePattern pattern{on.communicator().context(), source, tag};
  Status found = Status::empty();
  if (on.messages().receive_stored(pattern, into.data, into.size, &found)) {
    if (!ignored(status)) write_status(*status, found);
    return MPI_SUCCESS;
  }
  MessageRequest& request = begin_receive(on, pattern, into);
  wait_for(on.lane(), request);
  return finish(on, function, request, status);
}

int irecv_on_lane(const char*, void* buf, std::int64_t count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  ByteSequence into;
  OnLane on(comm);
  source = to_core_source(source);
  tag = to_core_tag_any(tag);
  if (!on.may_receive(source, tag) || request == nullptr || !describe(buf, count, datatype, into))
    return not_on_lane;
  MessageRequest& receive = begin_receive(on, {on.communicator().context(), source, tag}, into);
  if (into.size >= MpiProcess::expected_bytes && source >= 0 && !receive.complete)
    on.messages().show_receive(receive, on.communicator().process_of(source));
  *request = Codec<Request>::handle(receive.handle);
  return MPI_SUCCESS;
}

int wait_on_lane(const char*, MPI_Request* request, MPI_Status* status) {
  if (request == nullptr) return not_on_lane;
  const LaneRequest one(*request);
  if (!one) return not_on_lane;
  one.wait();
  return one.give_up(request, status) ? MPI_SUCCESS : not_on_lane;
}

int test_on_lane(const char*, MPI_Request* request, int* flag, MPI_Status* status) {
  if (request == nullptr || flag == nullptr) return not_on_lane;
  const LaneRequest one(*request);
  if (!one) return not_on_lane;
  if (!one->complete) one.lane().progress();
  if (!one->complete) {
    // What else the process has to do, and to yield the core, is the usual way's.
    constexpr std::uint32_t tests_per_look_elsewhere = 16;
    if (one.lane().count_test() % tests_per_look_elsewhere == 0) return not_on_lane;
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (!one.give_up(request, status)) return not_on_lane;
  *flag = 1;
  return MPI_SUCCESS;
}

int waitall_on_lane(const char*, int count, MPI_Request* handles, MPI_Status* statuses) {
  if (count <= 0 || handles == nullptr) return not_on_lane;
  LaneRequests requests(handles, count);
  if (!requests.good()) return not_on_lane;
  for (const MessageRequest* request : requests.all()) {
    if (request == nullptr) continue;
    wait_for(requests.lane(), *request);
    if (!ends_here(*request)) return not_on_lane;
  }
  int i = 0;
  for (MessageRequest* request : requests.all()) {
    requests.give_up(request, &handles[i], ignored(statuses) ? MPI_STATUS_IGNORE : &statuses[i]);
    ++i;
  }
  return MPI_SUCCESS;
}

int waitany_on_lane(const char*, int count, MPI_Request* handles, int* index, MPI_Status* status) {
  if (count <= 0 || handles == nullptr || index == nullptr) return not_on_lane;
  LaneRequests requests(handles, count);
  const std::span<MessageRequest*> all = requests.all();
  if (!requests.good() || std::ranges::all_of(all, [](const auto* request) { return request == nullptr; }))
    return not_on_lane;
  auto found = all.end();
  lanes().wait(requests.lane(), [&] {
    found = std::ranges::find_if(all,
                                 [](const auto* request) { return request != nullptr && request->complete; });
    return found != all.end();
  });
  if (!ends_here(**found)) return not_on_lane;
  *index = static_cast<int>(found - all.begin());
  requests.give_up(*found, &handles[*index], status);
  return MPI_SUCCESS;
}

int probe_on_lane(const char*, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  OnLane on(comm);
  source = to_core_source(source);
  tag = to_core_tag_any(tag);
  if (!on.may_receive(source, tag)) return not_on_lane;
  const ReceivePattern pattern{on.communicator().context(), source, tag};
  Status found = Status::empty();
  // A revocation ends the wait in the usual way.
  lanes().wait(on.lane(), [&] { return on.messages().probe(pattern, found) || on.communicator().revoked(); });
  if (on.communicator().revoked()) return not_on_lane;
  if (!ignored(status)) write_status(*status, found);
  return MPI_SUCCESS;
}

}  // namespace hawser::binding
