// JointRequest: a send and a receive under one request (MPI_Isendrecv, MPI_Isendrecv_replace). Complete
// when both are; its status is the receive's.
#pragma once

#include <cstddef>
#include <memory>

#include "message/message_request.h"

namespace hawser {

class JointRequest final : public Request, private CompletionListener {
 public:
  JointRequest() : Request(Kind::message) {}

  // Both belong to it from here on.
  void join(MessageRequest& send, MessageRequest& receive);
  void destroy() override;

  std::unique_ptr<std::byte[]> copy;  // of the data sent, where the receive overwrites it
  std::int64_t capacity = 0;          // bytes of the receive

 private:
  void one_done(MessageRequest& request) override;
  void release_parts();

  MessageRequest* send_ = nullptr;
  MessageRequest* receive_ = nullptr;
};

}  // namespace hawser
