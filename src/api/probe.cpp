// Probes and matched receives (MPI-5.0 section 3.8).
#include "api/functions.h"
#include "api/message_data.h"

namespace hawser::mpi {

static void set(Status* status, const Status& value) {
  if (status != nullptr) *status = value;
}

static void keep(Message& message, Communicator& comm) {
  message.communicator = keeper_of(comm);
  message.lane = lane_of(comm);
}

// Why no message can come any more, or none can be waited for; none: one may.
static Result<> check_source(MpiProcess& process, const Communicator& comm, int source) {
  if (!process.survival().any() || source == proc_null) return {};
  const ErrorClass why = process.survival().stops(comm, source);
  if (why == ErrorClass::success) return {};
  return error_of({source, any_tag, why, false, 0}, 0, 0);
}

Result<> iprobe(MpiProcess& process, int source, int tag, Communicator& comm, bool& flag, Status* status) {
  Status found = Status::from_proc_null();
  const ReceivePattern pattern{comm.context(), source, tag};
  PointToPoint& messages = messages_of(process, comm);
  flag = source == proc_null || messages.probe(pattern, found);
  if (!flag) {
    process.poll_for_test();
    flag = messages.probe(pattern, found);
  }
  if (!flag) return check_source(process, comm, source);
  set(status, found);
  return {};
}

Result<> probe(MpiProcess& process, int source, int tag, Communicator& comm, Status* status) {
  Status found = Status::from_proc_null();
  const ReceivePattern pattern{comm.context(), source, tag};
  bool flag = source == proc_null;
  process.wait_for_arrival([&] {
    flag = flag || messages_of(process, comm).probe(pattern, found);
    return flag || !check_source(process, comm, source);
  });
  if (!flag) return check_source(process, comm, source);
  set(status, found);
  return {};
}

Result<> improbe(MpiProcess& process, int source, int tag, Communicator& comm, bool& flag, Message*& message,
                 Status* status) {
  Status found = Status::from_proc_null();
  message = Message::no_proc();
  if (source != proc_null) {
    const ReceivePattern pattern{comm.context(), source, tag};
    PointToPoint& messages = messages_of(process, comm);
    message = messages.matched_probe(pattern, found);
    if (message == nullptr) {
      process.poll_for_test();
      message = messages.matched_probe(pattern, found);
    }
    if (message != nullptr) keep(*message, comm);
  }
  flag = message != nullptr;
  if (!flag) return check_source(process, comm, source);
  set(status, found);
  return {};
}

Result<> mprobe(MpiProcess& process, int source, int tag, Communicator& comm, Message*& message,
                Status* status) {
  Status found = Status::from_proc_null();
  message = Message::no_proc();
  if (source != proc_null) {
    const ReceivePattern pattern{comm.context(), source, tag};
    process.wait_for_arrival([&] {
      message = messages_of(process, comm).matched_probe(pattern, found);
      return message != nullptr || !check_source(process, comm, source);
    });
    if (message == nullptr) return check_source(process, comm, source);
    keep(*message, comm);
  }
  set(status, found);
  return {};
}

// Ends the message's life in the hands of the user and starts its receive.
static MessageRequest& start_matched_receive(MpiProcess& process, void* buf, std::int64_t count,
                                             Datatype& datatype, Message*& message) {
  Message* const taken = message;
  message = nullptr;
  if (taken == Message::no_proc()) return process.point_to_point().null_receive();
  process.handles().messages.take_back(*taken);
  PointToPoint& messages = messages_of(process, static_cast<const Communicator&>(*owner_of(*taken)));
  TypePacker packer;
  const ByteSequence into = describe_data(buf, count, datatype, packer);
  MessageRequest& request =
      messages.take_receive({taken->header.context, taken->header.source_rank, taken->header.tag}, into);
  request.communicator = std::move(taken->communicator);
  if (into.packer != nullptr) {
    request.packer = packer;
    request.bytes.packer = &request.packer;
    request.datatype = Ref<const Datatype>(&datatype);
  }
  messages.start_matched_receive(*taken, request);
  return request;
}

Result<> mrecv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, Message*& message,
               Status* status) {
  MessageRequest& request = start_matched_receive(process, buf, count, datatype, message);
  const Ref<Counted> origin(owner_of(request));
  Result<> result = complete_now(process, request, status);
  if (!result) process.set_error_origin(origin);
  return result;
}

Result<> imrecv(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, Message*& message,
                Request*& request) {
  MessageRequest& receive = start_matched_receive(process, buf, count, datatype, message);
  leave_to_progress(process, receive);
  request = &receive;
  return {};
}

}  // namespace hawser::mpi
