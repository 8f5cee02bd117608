#include "rails/datapath/subchannel.h"

namespace hawser {

const char* subchannel_state_name(SubchannelState state) {
  switch (state) {
    case SubchannelState::closed:
      return "closed";
    case SubchannelState::connecting:
      return "connecting";
    case SubchannelState::accepted:
      return "accepted";
    case SubchannelState::probing:
      return "probing";
    case SubchannelState::ready:
      return "ready";
    case SubchannelState::stopping:
      return "stopping";
    case SubchannelState::fencing:
      return "fencing";
    case SubchannelState::failed:
      return "failed";
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
