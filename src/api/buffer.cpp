// Buffers for buffered sends, of the process, of communicators and of sessions (MPI-5.0 section 3.6).
#include "api/functions.h"
#include "api/message_data.h"
#include "mpi/failure.h"

namespace hawser::mpi {

static void flush(MpiProcess& process, SendBuffer& buffer) {
  process.wait_until([&buffer] { return buffer.messages.empty(); });
}

static Result<> detach(MpiProcess& process, SendBuffer& buffer, void*& address, std::int64_t& size) {
  if (!buffer.attached()) return failure(ErrorClass::buffer, "no buffer is attached");
  flush(process, buffer);
  buffer.detach(address, size);
  return {};
}

void drop_buffer_of(MpiProcess& process, Communicator& comm) {
  PointToPoint& messages = process.point_to_point();
  if (!messages.has_buffer(comm.context())) return;
  drop_buffer(process, messages.context_buffer(comm.context()));
}

void drop_buffer(MpiProcess& process, SendBuffer& buffer) {
  void* address = nullptr;
  std::int64_t size = 0;
  flush(process, buffer);
  if (buffer.attached()) buffer.detach(address, size);
}

Result<> buffer_attach(MpiProcess& process, void* buffer, std::int64_t size) {
  return process.point_to_point().process_buffer().attach(buffer, size);
}

Result<> buffer_detach(MpiProcess& process, void*& buffer_addr, std::int64_t& size) {
  return detach(process, process.point_to_point().process_buffer(), buffer_addr, size);
}

Result<> buffer_flush(MpiProcess& process) {
  flush(process, process.point_to_point().process_buffer());
  return {};
}

Result<> buffer_iflush(MpiProcess& process, Request*& request) {
  request = &process.point_to_point().iflush(process.point_to_point().process_buffer());
  return {};
}

Result<> comm_attach_buffer(MpiProcess& process, Communicator& comm, void* buffer, std::int64_t size) {
  return process.point_to_point().context_buffer(comm.context()).attach(buffer, size);
}

Result<> comm_detach_buffer(MpiProcess& process, Communicator& comm, void*& buffer_addr, std::int64_t& size) {
  return detach(process, process.point_to_point().context_buffer(comm.context()), buffer_addr, size);
}

Result<> comm_flush_buffer(MpiProcess& process, Communicator& comm) {
  flush(process, process.point_to_point().context_buffer(comm.context()));
  return {};
}

Result<> comm_iflush_buffer(MpiProcess& process, Communicator& comm, Request*& request) {
  request = &process.point_to_point().iflush(process.point_to_point().context_buffer(comm.context()));
  return {};
}

Result<> session_attach_buffer(MpiProcess&, Session& session, void* buffer, std::int64_t size) {
  return session.buffer.attach(buffer, size);
}

Result<> session_detach_buffer(MpiProcess& process, Session& session, void*& buffer_addr,
                               std::int64_t& size) {
  return detach(process, session.buffer, buffer_addr, size);
}

Result<> session_flush_buffer(MpiProcess& process, Session& session) {
  flush(process, session.buffer);
  return {};
}

Result<> session_iflush_buffer(MpiProcess& process, Session& session, Request*& request) {
  request = &process.point_to_point().iflush(session.buffer);
  return {};
}

}  // namespace hawser::mpi
