#include "binding/lane_calls.h"

#include "api/message_data.h"
#include "binding/entry.h"

namespace hawser::binding {
namespace {

MessageLanes& lanes() { return *current_slot().running->lanes(); }

// A call that names a communicator. `lane` is null if it is not to be done here; else its lock is held.
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

  explicit operator bool() const { return lane_ != nullptr; }
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
bool describe(const void* buf, std::int64_t count, MPI_Datatype datatype, ByteSequence& bytes) {
  const Datatype* const type = lanes().predefined_type(Codec<Datatype>::number(datatype));
  if (type == nullptr || !type->contiguous || !Entry::good_count(count, *type)) return false;
  if (buf == nullptr && count != 0) return false;
  bytes = mpi::one_piece(buf, count, *type);
  return true;
}

bool good_source(const Communicator& communicator, int source) {
  return communicator.may_send_to(source) || (source == any_source && !communicator.revoked());
}

// Ends well and leaves nothing to the process.
bool ends_here(const MessageRequest& request) {
  return request.status.error == ErrorClass::success && request.bytes.contiguous();
}

// After a wait in a call: what became of the request, which is given up.
int finish(OnLane& on, const char* function, MessageRequest& request, MPI_Status* status) {
  const Status found = request.status;
  const std::int64_t message_size = request.message_size, capacity = request.bytes.size;
  Communicator& communicator = on.communicator();
  on.messages().release(request);
  if (!ignored(status)) write_status(*status, found);
  if (found.error == ErrorClass::success) [[likely]]
    return MPI_SUCCESS;
  on.lane().lock().unlock();
  int code;
  {
    const Entry entry(function);
    code = entry.fail(&communicator, mpi::error_of(found, message_size, capacity));
  }
  on.lane().lock().lock();
  return code;
}

MessageRequest& begin_send(OnLane& on, const SendTarget& target, const ByteSequence& bytes) {
  MessageRequest& request = on.messages().take_send(SendMode::standard, target, bytes);
  on.keep(request);
  on.messages().start_send(request);
  return request;
}

MessageRequest& begin_receive(OnLane& on, const ReceivePattern& pattern, const ByteSequence& into) {
  MessageRequest& request = on.messages().take_receive(pattern, into);
  on.keep(request);
  on.messages().start_receive(request);
  return request;
}

void wait_for(MessageLane& lane, const Request& request) {
  if (!request.complete) lanes().wait(lane, [&request] { return request.complete; });
}

// Requests of one lane, whose lock is held as long as this lives. `good()`: that is what all are, and
// whatever becomes of them can be done here.
class LaneRequests {
 public:
  LaneRequests(const MPI_Request* handles, int count) : handles_(handles), count_(count) {
    for (int i = 0; i < count && lane_ == nullptr; ++i)
      lane_ = lanes().lane(RequestTable::lane_of(Codec<Request>::number(handles[i])));
    if (lane_ == nullptr) return;
    lane_->lock().lock();
    for (int i = 0; i < count && good_; ++i) good_ = is_null(i) || is_sent(i) || is_plain((*this)[i]);
  }
  ~LaneRequests() {
    if (lane_ != nullptr) lane_->lock().unlock();
  }
  LaneRequests(const LaneRequests&) = delete;

  bool good() const { return lane_ != nullptr && good_; }
  MessageLane& lane() const { return *lane_; }
  // Null: none of the lane's has this handle.
  MessageRequest* operator[](int i) const {
    return static_cast<MessageRequest*>(lane_->requests().find(Codec<Request>::number(handles_[i])));
  }
  bool is_null(int i) const { return Codec<Request>::number(handles_[i]) == 0; }
  bool is_sent(int i) const { return handles_[i] == handle_of_sent(*current_slot().running); }
  bool any_active() const {
    for (int i = 0; i < count_; ++i)
      if (!is_null(i)) return true;
    return false;
  }
  bool complete(int i) const { return is_sent(i) || (!is_null(i) && (*this)[i]->complete); }
  void wait(int i) const {
    if (!is_null(i) && !is_sent(i)) wait_for(*lane_, *(*this)[i]);
  }
  // Of one that is complete, or null; false: it did not, or leaves something to the process.
  bool ended_well(int i) const { return is_null(i) || is_sent(i) || ends_here(*(*this)[i]); }
  void give_up(int i, MPI_Request* handle, MPI_Status* status) const {
    Status found = Status::empty();
    if (!is_null(i) && !is_sent(i)) {
      MessageRequest& request = *(*this)[i];
      found = request.status;
      lane_->messages().release(request);
    }
    if (!ignored(status)) write_status(*status, found);
    *handle = Codec<Request>::handle(0);
  }

 private:
  // Not a joint one, which is not in a pool.
  static bool is_plain(const MessageRequest* request) {
    return request != nullptr && request->pooled && !request->persistent && !request->shared;
  }

  const MPI_Request* handles_;
  int count_;
  MessageLane* lane_ = nullptr;
  bool good_ = true;
};

}  // namespace

int send_on_lane(const char* function, const void* buf, std::int64_t count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm) {
  ByteSequence bytes;
  OnLane on(comm);
  if (!on || !on.communicator().may_send_to(dest) || tag < 0 || !describe(buf, count, datatype, bytes))
    return not_on_lane;
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
  if (!on || !on.communicator().may_send_to(dest) || tag < 0 || request == nullptr ||
      !describe(buf, count, datatype, bytes))
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
  if (!on || !good_source(on.communicator(), source) || (tag < 0 && tag != any_tag) ||
      !describe(buf, count, datatype, into))
    return not_on_lane;
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
  if (!on || !good_source(on.communicator(), source) || (tag < 0 && tag != any_tag) || request == nullptr ||
      !describe(buf, count, datatype, into))
    return not_on_lane;
  MessageRequest& receive = begin_receive(on, {on.communicator().context(), source, tag}, into);
  if (into.size >= MpiProcess::expected_bytes && source >= 0 && !receive.complete)
    on.messages().show_receive(receive, on.communicator().process_of(source));
  *request = Codec<Request>::handle(receive.handle);
  return MPI_SUCCESS;
}

int wait_on_lane(const char*, MPI_Request* request, MPI_Status* status) {
  if (request == nullptr) return not_on_lane;
  const LaneRequests requests(request, 1);
  if (!requests.good()) return not_on_lane;
  requests.wait(0);
  if (!requests.ended_well(0)) return not_on_lane;
  requests.give_up(0, request, status);
  return MPI_SUCCESS;
}

int test_on_lane(const char*, MPI_Request* request, int* flag, MPI_Status* status) {
  if (request == nullptr || flag == nullptr) return not_on_lane;
  const LaneRequests requests(request, 1);
  if (!requests.good()) return not_on_lane;
  if (!requests.complete(0)) requests.lane().progress();
  if (!requests.complete(0)) {
    // What else the process has to do, and to yield the core, is the usual way's.
    constexpr std::uint32_t tests_per_look_elsewhere = 16;
    if (requests.lane().count_test() % tests_per_look_elsewhere == 0) return not_on_lane;
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (!requests.ended_well(0)) return not_on_lane;
  requests.give_up(0, request, status);
  *flag = 1;
  return MPI_SUCCESS;
}

int waitall_on_lane(const char*, int count, MPI_Request* handles, MPI_Status* statuses) {
  if (count <= 0 || handles == nullptr) return not_on_lane;
  const LaneRequests requests(handles, count);
  if (!requests.good()) return not_on_lane;
  for (int i = 0; i < count; ++i) requests.wait(i);
  for (int i = 0; i < count; ++i)
    if (!requests.ended_well(i)) return not_on_lane;
  for (int i = 0; i < count; ++i)
    requests.give_up(i, &handles[i], ignored(statuses) ? MPI_STATUS_IGNORE : &statuses[i]);
  return MPI_SUCCESS;
}

int waitany_on_lane(const char*, int count, MPI_Request* handles, int* index, MPI_Status* status) {
  if (count <= 0 || handles == nullptr || index == nullptr) return not_on_lane;
  const LaneRequests requests(handles, count);
  if (!requests.good() || !requests.any_active()) return not_on_lane;
  int found = 0;
  lanes().wait(requests.lane(), [&] {
    for (found = 0; found < count && !requests.complete(found);) ++found;
    return found < count;
  });
  if (!requests.ended_well(found)) return not_on_lane;
  requests.give_up(found, &handles[found], status);
  *index = found;
  return MPI_SUCCESS;
}

int probe_on_lane(const char*, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  OnLane on(comm);
  source = to_core_source(source);
  tag = to_core_tag_any(tag);
  if (!on || !good_source(on.communicator(), source) || (tag < 0 && tag != any_tag)) return not_on_lane;
  const ReceivePattern pattern{on.communicator().context(), source, tag};
  Status found = Status::empty();
  // A revocation ends the wait in the usual way.
  lanes().wait(on.lane(), [&] { return on.messages().probe(pattern, found) || on.communicator().revoked(); });
  if (on.communicator().revoked()) return not_on_lane;
  if (!ignored(status)) write_status(*status, found);
  return MPI_SUCCESS;
}

}  // namespace hawser::binding
