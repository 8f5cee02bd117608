// RailResources: the devices of a process and what is made from them or handed to them: rails, packet
// buffers, registrations, entries for requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "access/rdma.h"
#include "rails/datapath/rail.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/bundle_account.h"
#include "rails/memory/packet_pool.h"
#include "rails/memory/registration.h"
#include "rails/memory/registration_cache.h"
#include "rails/wire/packet.h"
#include "rails/wire/rail_table.h"

namespace hawser {

// The key of the job's datagrams: from its name, so that it is known before anything is exchanged.
std::uint32_t datagram_key(const RailContext& context);

// Bytes of a packet with a small message, beside the message's.
inline std::size_t bytes_around_message(const Knobs& knobs) {
  return sizeof(PacketHeader) + sizeof(TransportHeader) + trailer_of(knobs);
}
// Of one with the longest message that goes in a packet, over fast ports.
inline std::size_t longest_packet(const Knobs& knobs) {
  return static_cast<std::size_t>(knobs.rail_packet) + bytes_around_message(knobs);
}

struct RailResources {
  explicit RailResources(const Knobs& knobs);
  RailResources(const RailResources&) = delete;
  RailResources& operator=(const RailResources&) = delete;

  // Opens the devices, and a rail on every port. The context outlives this.
  Result<> open(const RailContext& context, rdma::DeviceSource& source);

  // The most that is sent in a packet; what comes may fill a buffer. At first what all have room for.
  std::size_t packet_bytes() const { return packet_bytes_; }
  // All processes of the job have room for so much.
  void use_packets(std::size_t bytes) {
    packet_bytes_ = std::clamp(bytes, packet_bytes_, packets.buffer_bytes());
  }
  PacketPool& pool(bool small) { return small ? small_packets : packets; }
  // What is kept up with every request: what the rails count is what their entries say, and no entry is lost.
  // Holds at the begin and the end of every pass of progress; a few instructions for each rail.
  void check_counts() const {
    std::int64_t outstanding = 0, signs = 0;
    for (const auto& rail : rails) {
      signs |= rail->traffic.outstanding | rail->traffic.bytes_queued;
      outstanding += rail->traffic.outstanding;
    }
    HAWSER_ASSERT(signs >= 0 && outstanding == entries.requests() && entries.all_placed());
  }
  // Where registered bytes lie, as the other end is told.
  RemoteBytes reachable(const Registration& bytes) const;
  // The devices that are open.
  DeviceMask open_devices() const {
    return static_cast<DeviceMask>((std::uint64_t{1} << devices.size()) - 1) & ~dead_devices;
  }
  // Leaves no trace of the entry, which is in no list.
  void free_entry(WorkEntry* entry) {
    if (entry->buffer != nullptr) pool(entry->small).give_back(entry->buffer);
    entries.give_back(entry);
  }

  // In the order in which they may be destroyed from the last to the first.
  std::vector<std::unique_ptr<rdma::Device>> devices;
  DeviceMask dead_devices = 0;
  PacketPool small_packets;
  PacketPool packets;
  std::vector<std::unique_ptr<Rail>> rails;
  EntryPool entries;
  std::unique_ptr<RegistrationCache> registrations;
  RailTable table;                 // how others reach the rails
  std::int32_t inline_bytes = 0;   // of all queue pairs
  std::int32_t list_segments = 0;  // that all queue pairs take
  std::int32_t queue_pairs = 0;    // that subchannels have
  std::int32_t open_bundles = 0;   // of all peers
  BundleAccount bundles;

 private:
  Result<> open_rails(const RailContext& context);
  Result<> reserve_packets();
  std::size_t packet_bytes_;
};

}  // namespace hawser
