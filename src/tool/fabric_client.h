// Commands to the daemon of a fabric.
#pragma once

#include <string>

#include "base/result.h"

namespace hawser {

// Sends one line and waits for the answer; the error is the daemon's, or that there is none.
Result<std::string> command_fabric(const std::string& fabric, const std::string& line);
// Waits until nobody listens under the name any more.
void wait_until_gone(const std::string& fabric);

}  // namespace hawser
