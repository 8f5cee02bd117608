#include "message/joint_request.h"

namespace hawser {

void JointRequest::join(MessageRequest& send, MessageRequest& receive) {
  send_ = &send;
  receive_ = &receive;
  for (MessageRequest* part : {send_, receive_}) {
    if (part->complete) continue;
    part->after = MessageRequest::After::tell_listener;
    part->listener = this;
  }
  one_done(receive);
}

void JointRequest::one_done(MessageRequest&) {
  if (!send_->complete || !receive_->complete) return;
  status = receive_->status;
  if (status.error == ErrorClass::success) status.error = send_->status.error;
  complete = true;
  release_parts();
  if (user_freed) delete this;
}

void JointRequest::release_parts() {
  send_->destroy();
  receive_->destroy();
  send_ = receive_ = nullptr;
}

void JointRequest::destroy() {
  if (complete)
    delete this;
  else
    user_freed = true;
}

}  // namespace hawser
