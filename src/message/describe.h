// What an unfinished send or receive waits for, in words: for reports of deadlock.
#pragma once

#include <string>

#include "message/message_request.h"

namespace hawser {

// Such as "receive from rank 3, tag 7 in MPI_COMM_WORLD, posted". Contexts are given as numbers where their
// communicator is not known by name here.
std::string describe(const MessageRequest& request);

}  // namespace hawser
