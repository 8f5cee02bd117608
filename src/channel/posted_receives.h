// PostedReceives: what a transport offers whose senders can write into a receive that waits. So a large
// message arrives though its receiver computes and calls nothing.
#pragma once

#include "channel/transport.h"

namespace hawser {

class PostedReceives {
 public:
  // Shows the sender where its next message with such a header goes: one that equals `header` in the bits
  // that `mask` has. The caller answers for it that no other receive takes that message: receives that were
  // posted earlier and take such messages are shown, too, and no message that has arrived fits. `into` is in
  // one piece. Answers a place, or -1: it is not to be had.
  virtual int show(ProcessIndex source, const TransportHeader& header, const TransportHeader& mask,
                   const ByteSequence& into) = 0;
  // The receive does not wait any more. False: its message is being written, and will be offered.
  virtual bool withdraw(int place) = 0;
  // The same though its message may be half written: its sender has failed, and writes no more.
  virtual void take_away(int place) = 0;
  // Transport::fetch for the receive at this place, which met the message that `token` names.
  virtual void fetch_shown(int place, ProcessIndex source, const ExposeToken& token, const ByteSequence& into,
                           Completion* end) = 0;

 protected:
  ~PostedReceives() = default;
};

}  // namespace hawser
