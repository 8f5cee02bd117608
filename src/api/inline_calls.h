// For the entry points to inline: MPI_Irecv of data in one piece, and MPI_Wait and MPI_Test of what is
// complete. Between the checks of the arguments and the receive's place among those posted no function is
// called. Included by functions.h, which declares what is defined here. Sends: binding/sent.h.
#pragma once

#include "api/completion.h"
#include "api/message_data.h"

namespace hawser::mpi {

// What the short way does not take.
MessageRequest& irecv_otherwise(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype,
                                int source, int tag, Communicator& comm);
Result<> wait_otherwise(MpiProcess& process, Request*& request, Status* status);
Result<> test_otherwise(MpiProcess& process, Request*& request, bool& flag, Status* status);

// A receive from somebody, of data in one piece, on no lane.
[[gnu::always_inline]] inline MessageRequest& start_plain_receive(MpiProcess& process, void* buf,
                                                                  std::int64_t count, Datatype& datatype,
                                                                  int source, int tag, Communicator& comm) {
  PointToPoint& messages = process.point_to_point();
  MessageRequest& request =
      messages.take_receive({comm.context(), source, tag}, one_piece(buf, count, datatype));
  request.communicator = Ref<Counted>(&comm);
  messages.start_receive(request);
  return request;
}

[[gnu::always_inline]] inline Result<> irecv(MpiProcess& process, void* buf, std::int64_t count,
                                             Datatype& datatype, int source, int tag, Communicator& comm,
                                             Request*& request) {
  MessageRequest* receive;
  if (source == proc_null || !datatype.contiguous || comm.lane_member()) [[unlikely]]
    receive = &irecv_otherwise(process, buf, count, datatype, source, tag, comm);
  else
    receive = &start_plain_receive(process, buf, count, datatype, source, tag, comm);
  leave_to_progress(process, *receive);
  request = receive;
  return {};
}

[[gnu::always_inline]] inline Result<> wait(MpiProcess& process, Request*& request, Status* status) {
  if (!is_active(request) || !request->complete) return wait_otherwise(process, request, status);
  process.let_messages_go();
  return finish(process, request, status);
}

[[gnu::always_inline]] inline Result<> test(MpiProcess& process, Request*& request, bool& flag,
                                            Status* status) {
  if (!is_active(request) || !request->complete) return test_otherwise(process, request, flag, status);
  flag = true;
  process.let_messages_go();
  return finish(process, request, status);
}

}  // namespace hawser::mpi
