// What arrives at a port: over the receive engines and the bus to the queue pairs.
#include <algorithm>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/adapter_port.h"

namespace hawser::fabric {

void AdapterPort::arrive(Packet& packet) {
  const Parameters& parameters = adapter_.services().parameters;
  const bool limited = parameters.receive_engine_rate != 0 || parameters.bus_rate != 0;
  if (limited && !packet.processing) {
    EventQueue& events = adapter_.services().events;
    QueuePair* queue_pair = adapter_.find(packet.destination_qp);
    const auto engine = static_cast<std::size_t>(queue_pair != nullptr ? queue_pair->receive_engine : 0);
    const Nanoseconds now = events.now();
    // The first MTU of a chunk is worked on while the others come, and the last when it has come.
    const Nanoseconds units = packet.units();
    const Nanoseconds first = now - (now - packet.head) / units * (units - 1);
    const auto pass = [&](Serializer& way, std::uint64_t bytes) {
      if (way.unlimited()) return now;
      const Nanoseconds begin = std::max(first, way.free_at());
      const Nanoseconds end = way.occupy(first, bytes);
      // Of a slow cable it comes later than that. What follows does not overtake it.
      way.last_until(now + (end - begin) / units);
      return way.free_at();
    };
    const Nanoseconds done =
        std::max(pass(receive_engines_[engine % receive_engines_.size()], packet.wire_bytes),
                 pass(bus_.inward(), packet.payload.size));
    if (done > now) {
      packet.processing = true;
      events.schedule(packet, done);
      return;
    }
  }
  take(packet);
}

bool AdapterPort::meets_fault(Packet& packet) {
  const auto count_down = [](int& left) {
    if (left == 0) return false;
    if (left > 0) --left;
    return true;
  };
  if (packet.kind == PacketKind::acknowledge && count_down(lose_acknowledges)) return true;
  if (packet.payload.size > 0 && corrupt_payloads != 0 && count_down(corrupt_payloads))
    packet.corrupted = true;
  return false;
}

void AdapterPort::take(Packet& packet) {
  ++counters_.received_packets;
  counters_.received_bytes += packet.wire_bytes;
  if (packet.congestion_marked) ++counters_.marked;
  const bool mine =
      packet.destination_lid >= first_multicast_lid || (packet.destination_lid >> lmc()) == (lid() >> lmc());
  if (adapter_.dead() || !mine) {
    ++counters_.unclaimed;
  } else if (!meets_fault(packet)) {
    adapter_.deliver(packet);
  }
  adapter_.services().network.consume(packet);
}

}  // namespace hawser::fabric
