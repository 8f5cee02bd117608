// Sends and receives (MPI-5.0 sections 3.2 to 3.7 and 3.9).
#include "api/functions.h"
#include "api/message_data.h"
#include "mpi/failure.h"

namespace hawser::mpi {

namespace {

// Gives a request that waits for completion what the caller's stack held until now.
void move_packer(MessageRequest& request, const TypePacker& packer, const Datatype& datatype) {
  if (request.bytes.packer == nullptr) return;
  request.packer = packer;
  request.bytes.packer = &request.packer;
  request.datatype = Ref<const Datatype>(&datatype);
}

}  // namespace

static void leave_large(MpiProcess& process, MessageRequest& request) {
  if (request.direction == MessageRequest::Direction::receive && request.source_rank >= 0) {
    const auto& comm = static_cast<const Communicator&>(*owner_of(request));
    messages_of(process, comm).show_receive(request, comm.process_of(request.source_rank));
  }
  process.expect();
}

[[gnu::noinline, gnu::cold]] void leave(MpiProcess& process, MessageRequest& request) {
  if (request.complete) return;
  if (request.bytes.size >= MpiProcess::expected_bytes)
    leave_large(process, request);
  else if (request.stage == MessageRequest::Stage::arriving)
    process.expect();
  else
    process.expect_small();
}

// Data in pieces. The packer must have its final place before the operation starts, so it lies in a request
// from the beginning, unless the channel takes the message at once.
[[gnu::noinline]] static MessageRequest& start_packed_send(MpiProcess& process, SendMode mode,
                                                           const void* buf, std::int64_t count,
                                                           Datatype& datatype, const SendTarget& target,
                                                           Communicator& comm) {
  PointToPoint& messages = messages_of(process, comm);
  TypePacker packer;
  const ByteSequence bytes = describe(buf, count, datatype, packer);
  if (mode == SendMode::standard && messages.send_now(target, bytes)) return messages.sent();
  MessageRequest& request = messages.take_send(mode, target, bytes);
  move_packer(request, packer, datatype);
  keep_alive(request, comm);
  messages.start_send(request);
  return request;
}

// Of what did not go at once.
static MessageRequest& begin_send(PointToPoint& messages, SendMode mode, const SendTarget& target,
                                  const ByteSequence& bytes, Communicator& comm) {
  MessageRequest& request = messages.take_send(mode, target, bytes);
  keep_alive(request, comm);
  messages.start_send(request);
  return request;
}

[[gnu::noinline]] MessageRequest& start_send(MpiProcess& process, SendMode mode, TrafficClass traffic,
                                             const void* buf, std::int64_t count, Datatype& datatype,
                                             int dest, int tag, Communicator& comm) {
  PointToPoint& messages = messages_of(process, comm);
  if (dest == proc_null) [[unlikely]]
    return messages.sent();
  const SendTarget target = target_of(comm, dest, tag, traffic);
  if (comm.revoked()) [[unlikely]] {
    MessageRequest& request = messages.send_in_vain(mode, target, ErrorClass::revoked);
    keep_alive(request, comm);
    return request;
  }
  if (!datatype.contiguous) [[unlikely]]
    return start_packed_send(process, mode, buf, count, datatype, target, comm);
  const ByteSequence bytes = one_piece(buf, count, datatype);
  if (mode == SendMode::standard && messages.send_now(target, bytes)) [[likely]]
    return messages.sent();
  return begin_send(messages, mode, target, bytes, comm);
}

// Data in pieces, or on a lane.
[[gnu::noinline]] static MessageRequest& start_packed_receive(MpiProcess& process, void* buf,
                                                              std::int64_t count, Datatype& datatype,
                                                              int source, int tag, Communicator& comm) {
  TypePacker packer;
  const ByteSequence into = describe_data(buf, count, datatype, packer);
  PointToPoint& messages = messages_of(process, comm);
  MessageRequest& request = messages.take_receive({comm.context(), source, tag}, into);
  move_packer(request, packer, datatype);
  keep_alive(request, comm);
  messages.start_receive(request);
  return request;
}

MessageRequest& start_receive(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype,
                              int source, int tag, Communicator& comm) {
  if (source == proc_null) [[unlikely]]
    return process.point_to_point().null_receive();
  if (!datatype.contiguous || comm.lane_member()) [[unlikely]]
    return start_packed_receive(process, buf, count, datatype, source, tag, comm);
  return start_plain_receive(process, buf, count, datatype, source, tag, comm);
}

Error error_of(const Status& status, std::int64_t message_size, std::int64_t capacity) {
  if (status.error == ErrorClass::truncate)
    return failure(
        ErrorClass::truncate,
        "the message of {} bytes from rank {} with tag {} does not fit into the receive buffer of {} bytes",
        message_size, status.source, status.tag, capacity);
  if (status.error == ErrorClass::type)
    return failure(ErrorClass::type,
                   "the message of {} bytes from rank {} with tag {} is not a whole number of elements",
                   status.bytes, status.source, status.tag);
  if (status.error == ErrorClass::proc_failed)
    return failure(status.error, "the process at the other end has failed");
  if (status.error == ErrorClass::proc_failed_pending)
    return failure(status.error,
                   "a process that might send the message has failed; the receive goes on after "
                   "MPIX_Comm_failure_ack");
  if (status.error == ErrorClass::revoked) return failure(status.error, "the communicator was revoked");
  return failure(status.error, "the message could not be received");
}

[[gnu::noinline]] Result<> complete_now(MpiProcess& process, MessageRequest& request, Status* status) {
  if (!request.complete) process.wait_for(request);
  process.let_messages_go();
  // Who waits for any source in a call has no request to go on with.
  PointToPoint& messages = messages_of(process, request);
  if (request.status.error == ErrorClass::proc_failed_pending) [[unlikely]]
    messages.fail(request, ErrorClass::proc_failed);
  if (status != nullptr) *status = request.status;
  if (request.status.error != ErrorClass::success) [[unlikely]] {
    Error error = error_of(request.status, request.message_size, request.bytes.size);
    messages.release(request);
    return error;
  }
  messages.release(request);
  return {};
}

// --- Blocking ---

Result<> send(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest, int tag,
              Communicator& comm) {
  if (comm.may_send_to(dest) && datatype.contiguous) [[likely]] {
    PointToPoint& messages = messages_of(process, comm);
    const SendTarget target = target_of(comm, dest, tag, TrafficClass::blocking);
    const ByteSequence bytes = one_piece(buf, count, datatype);
    if (messages.send_now(target, bytes)) [[likely]]
      return {};
    return complete_now(process, begin_send(messages, SendMode::standard, target, bytes, comm), nullptr);
  }
  MessageRequest& request =
      start_send(process, SendMode::standard, TrafficClass::blocking, buf, count, datatype, dest, tag, comm);
  if (request.shared) [[likely]]
    return {};
  return complete_now(process, request, nullptr);
}

Result<> rsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
               int tag, Communicator& comm) {
  return send(process, buf, count, datatype, dest, tag, comm);
}

Result<> ssend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
               int tag, Communicator& comm) {
  return complete_now(process,
                      start_send(process, SendMode::synchronous, TrafficClass::blocking, buf, count, datatype,
                                 dest, tag, comm),
                      nullptr);
}

Result<> bsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
               int tag, Communicator& comm) {
  if (dest == proc_null) return {};
  if (comm.revoked()) return error_of({dest, tag, ErrorClass::revoked, false, 0}, 0, 0);
  TypePacker packer;
  settle_lanes(process);
  Result<> sent = messages_of(process, comm)
                      .send_buffered(target_of(comm, dest, tag, TrafficClass::nonblocking),
                                     describe_data(buf, count, datatype, packer), keeper_of(comm).get(),
                                     session_buffer_of(comm));
  process.let_messages_go();
  return sent;
}

Result<> recv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int source, int tag,
              Communicator& comm, Status* status) {
  if (datatype.contiguous && source != proc_null) [[likely]] {
    const ByteSequence into = one_piece(buf, count, datatype);
    const ReceivePattern pattern{comm.context(), source, tag};
    if (messages_of(process, comm).receive_stored(pattern, into.data, into.size, status)) {
      process.let_messages_go();
      return {};
    }
  }
  return complete_now(process, start_receive(process, buf, count, datatype, source, tag, comm), status);
}

// --- Non-blocking ---

Result<> isend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
               int tag, Communicator& comm, Request*& request) {
  MessageRequest& send = start_send(process, SendMode::standard, TrafficClass::nonblocking, buf, count,
                                    datatype, dest, tag, comm);
  if (send.bytes.size >= MpiProcess::expected_bytes) process.expect();
  request = &send;
  return {};
}

Result<> irsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                int tag, Communicator& comm, Request*& request) {
  return isend(process, buf, count, datatype, dest, tag, comm, request);
}

Result<> issend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                int tag, Communicator& comm, Request*& request) {
  MessageRequest& send = start_send(process, SendMode::synchronous, TrafficClass::nonblocking, buf, count,
                                    datatype, dest, tag, comm);
  leave_to_progress(process, send);
  request = &send;
  return {};
}

Result<> ibsend(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                int tag, Communicator& comm, Request*& request) {
  HAWSER_TRY(bsend(process, buf, count, datatype, dest, tag, comm));
  request = &process.point_to_point().sent();
  return {};
}

[[gnu::cold]] MessageRequest& irecv_otherwise(MpiProcess& process, void* buf, std::int64_t count,
                                              Datatype& datatype, int source, int tag, Communicator& comm) {
  return start_receive(process, buf, count, datatype, source, tag, comm);
}

// --- Persistent ---

static Result<> prepare_send(MpiProcess& process, SendMode mode, const void* buf, std::int64_t count,
                             Datatype& datatype, int dest, int tag, Communicator& comm, Request*& request) {
  if (dest == proc_null) count = 0;
  const SendTarget target = dest == proc_null ? SendTarget{proc_null, comm.context(), comm.rank(), tag}
                                              : target_of(comm, dest, tag, TrafficClass::nonblocking);
  TypePacker packer;
  MessageRequest& made =
      messages_of(process, comm).prepare_send(mode, target, describe_data(buf, count, datatype, packer));
  move_packer(made, packer, datatype);
  keep_alive(made, comm);
  if (mode == SendMode::buffered) made.buffer = session_buffer_of(comm);
  request = &made;
  return {};
}

Result<> send_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                   int tag, Communicator& comm, Request*& request) {
  return prepare_send(process, SendMode::standard, buf, count, datatype, dest, tag, comm, request);
}

Result<> rsend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                    int tag, Communicator& comm, Request*& request) {
  return prepare_send(process, SendMode::standard, buf, count, datatype, dest, tag, comm, request);
}

Result<> ssend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                    int tag, Communicator& comm, Request*& request) {
  return prepare_send(process, SendMode::synchronous, buf, count, datatype, dest, tag, comm, request);
}

Result<> bsend_init(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype, int dest,
                    int tag, Communicator& comm, Request*& request) {
  return prepare_send(process, SendMode::buffered, buf, count, datatype, dest, tag, comm, request);
}

Result<> recv_init(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int source,
                   int tag, Communicator& comm, Request*& request) {
  if (source == proc_null) count = 0;
  TypePacker packer;
  MessageRequest& made =
      messages_of(process, comm)
          .prepare_receive({comm.context(), source, tag}, describe_data(buf, count, datatype, packer));
  move_packer(made, packer, datatype);
  keep_alive(made, comm);
  if (source >= 0) made.process = comm.process_of(source);
  request = &made;
  return {};
}

}  // namespace hawser::mpi
