#include "collective/multicast/multicast_agreement.h"

#include <algorithm>

namespace hawser {

void MulticastAgreement::pause() {
  works_ = false;
  done_ = 0;
  left_ = pause_;
  pause_ = std::min(2 * pause_, longest_pause);
}

MulticastAgreement::Turn MulticastAgreement::begin() {
  if (works_) return Turn::multicast;
  if (left_ == 0) return Turn::question;
  --left_;
  return Turn::messages;
}

bool MulticastAgreement::on_answer(bool all_can) {
  if (!all_can) pause();
  works_ = all_can;
  return all_can;
}

void MulticastAgreement::on_end(bool all_go_on) {
  if (!all_go_on) return pause();
  if (++done_ == well_enough) pause_ = 1;
}

}  // namespace hawser
