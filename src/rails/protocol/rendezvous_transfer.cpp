#include "rails/protocol/rendezvous_transfer.h"

namespace hawser {

void RendezvousTransfer::reset() {
  HAWSER_ASSERT(!link.linked());
  StripedTransfer::reset();
  bytes = {};
  end = nullptr;
  size = 0;
  readable = in_packets = false;
}

}  // namespace hawser
