// The interface between the verbs API and a device. The API (api/) knows only the rings of wire.h and this
// interface. Behind it is an adapter in this process (LocalLink: the simulator, unit tests) or one in the
// emulator's daemon (testbed/emulator/client_link.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "provider/wire.h"

namespace hawser::verbs {

// Zeroed memory that both ends see. `descriptor` is for the link only.
struct SharedBytes {
  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
  int descriptor = -1;
};

// One opened device. Every method may be called by any thread.
class Link {
 public:
  virtual ~Link() = default;

  // Sends a request and waits for the answer. `memory` is what the new object uses, if any. Reply::error is
  // EIO when the device is gone.
  virtual Reply call(const Request& request, const SharedBytes* memory = nullptr) = 0;
  // Delays the caller by this much of the fabric's time.
  virtual void linger(std::int64_t nanoseconds) = 0;
  virtual SharedBytes allocate(std::size_t bytes) = 0;  // the result's bytes are null if out of memory

  // Doorbell: tells the session to look at this queue pair's rings. The caller has just set `rung`.
  virtual void ring(std::uint32_t queue_pair) = 0;
  // The caller has just put a list of so many requests into the queue pair's ring, `posted` in all since it
  // was made. True: the link has rung for this list alone, as programs ring real adapters. False: the caller
  // rings unless the bell is ringing, which is enough for a session that looks at the whole ring.
  virtual bool ring_for_list(std::uint32_t queue_pair, std::uint64_t requests, std::uint64_t posted) {
    static_cast<void>(queue_pair), static_cast<void>(requests), static_cast<void>(posted);
    return false;
  }
  // Called when a poll found nothing, `idle_polls` times in a row; may sleep. False when the device is gone.
  virtual bool rest(std::uint32_t idle_polls) = 0;

  // Channels deliver events. Channel 0 always exists and carries AsyncRecords, the others completion events.
  // Returns 0 on error and sets errno.
  virtual std::uint32_t create_channel() = 0;
  virtual void destroy_channel(std::uint32_t channel) = 0;
  virtual int descriptor(std::uint32_t channel) const = 0;  // to wait on; -1 if waiting is not possible
  // Takes one record; waits for it unless the descriptor is non-blocking. Returns 0 or an errno: EAGAIN if
  // there is none, EIO if the device is gone.
  virtual int read_record(std::uint32_t channel, void* record, std::size_t bytes) = 0;
};

// Where devices come from: what a program finds on its (virtual) host.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual Result<std::vector<AdapterAttributes>> adapters() = 0;
  // ErrorKind::io means that the adapter is dead; the caller may try again later.
  virtual Result<std::unique_ptr<Link>> open(std::uint32_t adapter) = 0;
  // Identifies the file of a descriptor, so that processes that open the same file find each other (XRC).
  // Returns 0 or an errno.
  virtual int identify(int descriptor, std::uint64_t& device, std::uint64_t& inode) = 0;
  // Prints a line for the user; for errors that libibverbs cannot report.
  virtual void complain(const std::string& text) = 0;
};

// The platform of the calling process, or of the simulated process that runs now. Whoever links the verbs API
// supplies it: the emulator's drop-in, the simulator, a test.
Platform& current_platform();

}  // namespace hawser::verbs
