// FinishChoice: whether finishes behind reads (datapath/read_finishes.h) suit what passes between this
// process and a peer. Pure; for each peer one of reads that are posted while the program computes, and one of
// those that a call posts which begins something: more such calls may follow at once, and send.
//
// A finish holds up what is sent to the peer behind it until the reads are done. Where both send, that costs
// more than it saves. So some messages in a row must have been read while nothing was sent to the peer; and
// after a finish held something up, four times as many as before.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hawser {

// What the program does while reads are posted.
enum class ProgramState : std::uint8_t { waits, begins, computes };

class FinishChoice {
 public:
  bool suits() const { return quiet_ >= wanted_; }
  // A message was read. `talked`: meanwhile this process sent something to the peer; `finished`: behind
  // finishes.
  void on_read(bool talked, bool finished) {
    if (!talked) {
      quiet_ = std::min(quiet_ + 1, wanted_);
      return;
    }
    quiet_ = 0;
    if (finished) wanted_ = std::min(4 * wanted_, longest);
  }

 private:
  static constexpr int longest = 1024;
  int quiet_ = 0, wanted_ = 4;  // messages
};

}  // namespace hawser
