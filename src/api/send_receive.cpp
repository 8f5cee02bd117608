// Send and receive in one call (MPI-5.0 sections 3.11 and 3.12).
#include <memory>

#include "api/functions.h"
#include "api/message_data.h"
#include "base/out_of_memory.h"
#include "message/joint_request.h"
#include "message/transfer.h"

namespace hawser::mpi {

Result<> sendrecv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                  int dest, int sendtag, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                  int source, int recvtag, Communicator& comm, Status* status) {
  MessageRequest& receive = start_receive(process, recvbuf, recvcount, recvtype, source, recvtag, comm);
  MessageRequest& send = start_send(process, SendMode::standard, TrafficClass::blocking, sendbuf, sendcount,
                                    sendtype, dest, sendtag, comm);
  Result<> sent = complete_now(process, send, nullptr);
  HAWSER_TRY(complete_now(process, receive, status));
  return sent;
}

// A packed copy of the data that the receive is going to overwrite.
static std::unique_ptr<std::byte[]> copy_of(const ByteSequence& bytes) {
  auto copy = allocate_bytes(bytes.size + 1, "a copy of the data to send");
  copy_from(copy.get(), bytes);
  return copy;
}

static MessageRequest& send_copy(MpiProcess& process, TrafficClass traffic, std::byte* copy,
                                 std::int64_t bytes, int dest, int tag, Communicator& comm) {
  PointToPoint& messages = messages_of(process, comm);
  if (dest == proc_null) return messages.sent();
  MessageRequest& send = messages.isend(SendMode::standard, target_of(comm, dest, tag, traffic),
                                        ByteSequence{copy, bytes, nullptr});
  keep_alive(send, comm);
  return send;
}

Result<> sendrecv_replace(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int dest,
                          int sendtag, int source, int recvtag, Communicator& comm, Status* status) {
  TypePacker packer;
  const ByteSequence bytes = describe_data(buf, count, datatype, packer);
  // What the channel takes at once needs no copy.
  if (dest == proc_null ||
      messages_of(process, comm).send_now(target_of(comm, dest, sendtag, TrafficClass::blocking), bytes))
    return recv(process, buf, count, datatype, source, recvtag, comm, status);
  const std::unique_ptr<std::byte[]> copy = copy_of(bytes);
  MessageRequest& receive = start_receive(process, buf, count, datatype, source, recvtag, comm);
  MessageRequest& send =
      send_copy(process, TrafficClass::blocking, copy.get(), bytes.size, dest, sendtag, comm);
  Result<> sent = complete_now(process, send, nullptr);
  HAWSER_TRY(complete_now(process, receive, status));
  return sent;
}

// On a lane it has a number of the lane's, for it becomes complete under the lane's lock.
static JointRequest* make_joint(MpiProcess& process, Communicator& comm) {
  auto* const joint = new JointRequest;
  joint->communicator = keeper_of(comm);
  joint->lane = lane_of(comm);
  if (joint->lane != 0) process.requests_of(*joint).number_of(*joint);
  return joint;
}

Result<> isendrecv(MpiProcess& process, const void* sendbuf, std::int64_t sendcount, Datatype& sendtype,
                   int dest, int sendtag, void* recvbuf, std::int64_t recvcount, Datatype& recvtype,
                   int source, int recvtag, Communicator& comm, Request*& request) {
  MessageRequest& receive = start_receive(process, recvbuf, recvcount, recvtype, source, recvtag, comm);
  MessageRequest& send = start_send(process, SendMode::standard, TrafficClass::nonblocking, sendbuf,
                                    sendcount, sendtype, dest, sendtag, comm);
  JointRequest* const joint = make_joint(process, comm);
  leave_to_progress(process, receive);
  leave_to_progress(process, send);
  joint->join(send, receive);
  request = joint;
  return {};
}

Result<> isendrecv_replace(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype, int dest,
                           int sendtag, int source, int recvtag, Communicator& comm, Request*& request) {
  TypePacker packer;
  const ByteSequence bytes = describe_data(buf, count, datatype, packer);
  JointRequest* const joint = make_joint(process, comm);
  joint->copy = copy_of(bytes);
  MessageRequest& receive = start_receive(process, buf, count, datatype, source, recvtag, comm);
  MessageRequest& send =
      send_copy(process, TrafficClass::nonblocking, joint->copy.get(), bytes.size, dest, sendtag, comm);
  leave_to_progress(process, receive);
  leave_to_progress(process, send);
  joint->join(send, receive);
  request = joint;
  return {};
}

}  // namespace hawser::mpi
