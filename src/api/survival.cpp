// Going on without processes that have failed: User-Level Failure Mitigation, which is not of MPI-5.0.
#include "api/functions.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

Result<> comm_revoke(MpiProcess& process, Communicator& comm) {
  process.survival().revoke(comm);
  return {};
}

Result<> comm_is_revoked(MpiProcess& process, Communicator& comm, bool& flag) {
  process.poll_now_and_then();
  flag = comm.revoked();
  return {};
}

Result<> comm_shrink(MpiProcess& process, Communicator& comm, Ref<Communicator>& newcomm) {
  auto made = process.survival().shrink(comm);
  if (!made) return made.take_error();
  newcomm = std::move(made).value();
  newcomm->error_handler = comm.error_handler;
  newcomm->session = comm.session;
  return {};
}

Result<> comm_agree(MpiProcess& process, Communicator& comm, int& flag) {
  return process.survival().agree(comm, flag);
}

Result<> comm_failure_ack(MpiProcess& process, Communicator& comm) {
  process.survival().acknowledge(comm, -1);
  return {};
}

Result<> comm_ack_failed(MpiProcess& process, Communicator& comm, int num_to_ack, int& num_acked) {
  num_acked = process.survival().acknowledge(comm, num_to_ack < 0 ? 0 : num_to_ack);
  return {};
}

static Ref<Group> in_session(Ref<Group> group, const Communicator& comm) {
  if (comm.session) group->session = comm.session;
  return group;
}

Result<> comm_failure_get_acked(MpiProcess& process, Communicator& comm, Ref<Group>& failedgrp) {
  failedgrp = in_session(process.survival().acknowledged(comm), comm);
  return {};
}

Result<> comm_get_failed(MpiProcess& process, Communicator& comm, Ref<Group>& failedgrp) {
  process.poll_for_test();
  failedgrp = in_session(process.survival().failed(comm), comm);
  return {};
}

}  // namespace hawser::mpi
