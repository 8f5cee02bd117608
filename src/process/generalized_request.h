// GeneralizedRequest: an operation that the application carries out itself and reports through a request
// (MPI-5.0 section 13.2). The application's functions run without the process's lock.
#pragma once

#include "message/request.h"
#include "mpi/arguments.h"

namespace hawser {

class MpiProcess;

class GeneralizedRequest final : public Request {
 public:
  GeneralizedRequest(MpiProcess& process, AbiFunction query, AbiFunction free, AbiFunction cancel,
                     void* extra_state);

  Result<> cancel() override;
  Result<> finish() override;  // the query function fills the status
  Result<> end() override;     // the free function
  void destroy() override;

  // MPI_Grequest_complete.
  Result<> set_complete();

 private:
  MpiProcess& process_;
  AbiFunction query_;
  AbiFunction free_;
  AbiFunction cancel_;
  void* extra_state_;
};

}  // namespace hawser
