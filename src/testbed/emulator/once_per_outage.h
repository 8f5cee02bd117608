// What a program of ours has to say to its user about the fabric, each sentence once until the fabric answers
// again: libraries look for adapters and open them anew for as long as they last, and would say it each time.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "base/machine.h"

namespace hawser::emulator {

class OncePerOutage {
 public:
  void say(const std::string& text) {
    const std::lock_guard guard(lock_);
    if (said_.insert(text).second) print_error_line(text);
  }
  // All is well.
  void forget() {
    const std::lock_guard guard(lock_);
    said_.clear();
  }

 private:
  std::mutex lock_;
  std::set<std::string> said_;
};

}  // namespace hawser::emulator
