// Routes of packets and automatic path migration (IBA volume 1, section 17.2.8).
//
// A packet tells whether its sender's state is MIGRATED. A queue pair in REARM becomes ARMED when the other
// end says it is not; an ARMED one whose alternate path carries a packet of a migrated sender migrates too;
// and an ARMED one whose retries run out migrates instead of failing.
#pragma once

#include <cstdint>

#include "fabric/adapter/types.h"
#include "fabric/network/packet.h"

namespace hawser::fabric {

class Adapter;
class AdapterPort;

// Fills in LIDs, service level and, for a global path, the global route header. On Ethernet the destination's
// LID comes from its GID, and the path from a hash of flow label and queue pairs. A GID that nobody has, or
// an empty entry of the own table, leaves the destination 0, which no switch knows: the packet is lost.
void fill_route(const Adapter& adapter, const AdapterPort& from, const AddressVector& path,
                std::uint32_t source_qp, std::uint32_t destination_qp, Packet& packet);

}  // namespace hawser::fabric
