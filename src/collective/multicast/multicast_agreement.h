// MulticastAgreement: whether operations of which every leader is a root go by multicast. All leaders have to
// go the same way, and none knows more than whether it can send itself. So at first they go by messages, and
// now and then the leaders ask each other whether all can. As long as they go by multicast, every root says
// with its packets whether it wants to go on.
//
// A pure machine. It is given the same on all leaders in the same order, so it answers the same there; that
// is why only blocking operations may ask it.
#pragma once

#include <cstdint>

namespace hawser {

class MulticastAgreement {
 public:
  // Operations by messages between two questions: twice as many after each in vain, and as few as at first
  // when so many went by multicast.
  static constexpr std::uint32_t longest_pause = 256, well_enough = 512;

  enum class Turn : std::uint8_t { messages, question, multicast };
  // An operation begins.
  Turn begin();
  // The answer to the question, with which the operation goes on. True: by multicast.
  bool on_answer(bool all_can);
  // One by multicast is over.
  void on_end(bool all_go_on);

 private:
  void pause();

  bool works_ = false;
  std::uint32_t left_ = 1, pause_ = 1;
  std::uint32_t done_ = 0;  // by multicast, without a pause
};

}  // namespace hawser
