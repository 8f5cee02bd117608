// How the core functions of chapter 3 turn (buffer, count, datatype) and (rank, tag, communicator) into what
// the message room takes.
#pragma once

#include <cstdint>

#include "communicator/communicator.h"
#include "datatype/datatype.h"
#include "datatype/type_packer.h"
#include "message/message_lane.h"
#include "message/message_request.h"
#include "process/message_lanes.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

inline SendTarget target_of(const Communicator& comm, int dest, int tag, TrafficClass traffic) {
  return {comm.process_of(dest), comm.context(), comm.rank(), tag, traffic};
}

// A buffer in one piece. The address is computed as a number, for it may be relative to MPI_BOTTOM.
inline ByteSequence one_piece(const void* buf, std::int64_t count, const Datatype& datatype) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(buf) + static_cast<std::uintptr_t>(datatype.true_lower_bound);
  return {reinterpret_cast<std::byte*>(address), count * datatype.size, nullptr};
}

// The messages of a communicator that may be on a lane, which is held from here on.
inline PointToPoint& messages_of(MpiProcess& process, const Communicator& comm) {
  if (!comm.lane_member()) [[likely]]
    return process.point_to_point();
  return process.messages_of(comm);
}

inline PointToPoint& messages_of(MpiProcess& process, const Request& request) {
  if (request.lane == 0) [[likely]]
    return process.point_to_point();
  return process.lanes()->lane(request.lane)->messages();
}
// Before a message asks for room in a buffer that messages of any lane may have left.
inline void settle_lanes(MpiProcess& process) {
  if (process.has_lanes()) [[unlikely]]
    process.lanes()->settle_all();
}

// What keeps a communicator alive while a request of it is under way.
inline Ref<Counted> keeper_of(Communicator& comm) {
  return comm.lane_member() ? Ref<Counted>(comm.lane_member()) : Ref<Counted>(&comm);
}
inline std::uint8_t lane_of(const Communicator& comm) {
  return comm.lane_member() ? comm.lane_member()->lane.number() : std::uint8_t{0};
}

// Makes a request that is under way independent of what the caller holds.
inline void keep_alive(MessageRequest& request, Communicator& comm) {
  if (!request.shared) request.communicator = keeper_of(comm);
}

// The buffer of the session that a communicator comes from; null if it comes from none.
inline SendBuffer* session_buffer_of(const Communicator& comm) {
  return comm.session ? &comm.session->buffer : nullptr;
}

// Data of any type, as long as `packer` lives and stays in place.
inline ByteSequence describe_data(const void* buf, std::int64_t count, const Datatype& datatype,
                                  TypePacker& packer) {
  if (datatype.contiguous) [[likely]]
    return one_piece(buf, count, datatype);
  return describe(buf, count, datatype, packer);
}

MessageRequest& start_send(MpiProcess& process, SendMode mode, TrafficClass traffic, const void* buf,
                           std::int64_t count, Datatype& datatype, int dest, int tag, Communicator& comm);
MessageRequest& start_receive(MpiProcess& process, void* buf, std::int64_t count, Datatype& datatype,
                              int source, int tag, Communicator& comm);

// A send or receive that the program does not wait for yet, which is to go on meanwhile. `leave`: one that is
// large, or has begun to arrive.
void leave(MpiProcess& process, MessageRequest& request);
inline void leave_to_progress(MpiProcess& process, MessageRequest& request) {
  if (request.bytes.size >= process.noted_bytes() || request.stage == MessageRequest::Stage::arriving)
      [[unlikely]]
    leave(process, request);
}

// Waits for a request that the user never sees, gives it up, and answers its error.
Result<> complete_now(MpiProcess& process, MessageRequest& request, Status* status);

// Takes the buffer for buffered sends from a communicator that is about to be freed, after what lies in it
// has left (MPI-5.0 section 3.6).
void drop_buffer_of(MpiProcess& process, Communicator& comm);
void drop_buffer(MpiProcess& process, SendBuffer& buffer);

// What a request's failure is called.
Error error_of(const Status& status, std::int64_t message_size, std::int64_t capacity);

}  // namespace hawser::mpi
