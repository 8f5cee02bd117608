// What the parts of recovery ask of parts that know them in turn: an event for a subchannel's machine, a
// message by datagram, and to hear of connections that were closed.
#pragma once

#include <cstdint>
#include <span>

#include "rails/datapath/subchannel.h"
#include "rails/datapath/virtual_channel.h"
#include "rails/decision/connection_manager.h"

namespace hawser {

class MachineEvents {
 public:
  // Lets the event happen, and does what is to be done about it.
  virtual void on(Subchannel& subchannel, SubchannelEvent event) = 0;

 protected:
  ~MachineEvents() = default;
};

class ControlMessages {
 public:
  // Something is to be sent: connects whatever was never asked for.
  virtual void want(VirtualChannel& peer) = 0;
  // By datagram through the subchannel's rail, on later turns through the others. False: not now.
  virtual bool send_control(Subchannel& subchannel, DatagramKind kind, std::span<const std::byte> body,
                            std::uint32_t turn) = 0;
  // Through this rail, also to a process with which nothing was ever to be connected.
  virtual bool send_control(ProcessIndex process, std::uint16_t rail, DatagramKind kind,
                            std::span<const std::byte> body) = 0;

 protected:
  ~ControlMessages() = default;
};

class ParkedListener {
 public:
  // A connection with the peer was closed on purpose.
  virtual void on_parked(VirtualChannel& peer) = 0;

 protected:
  ~ParkedListener() = default;
};

}  // namespace hawser
