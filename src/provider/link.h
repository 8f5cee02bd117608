// The seam between the verbs API and a device. The API (api/) knows the rings of wire.h and this interface;
// behind it is an adapter in this process (LocalLink: the simulator, unit tests) or one in the emulator's
// daemon (testbed/emulator/client_link.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "provider/wire.h"

namespace hawser::verbs {

// Memory that both ends see, zeroed; `descriptor` is the link's own business.
struct SharedBytes {
  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
  int descriptor = -1;
};

// One opened device. Every method may be called by any thread.
class Link {
 public:
  virtual ~Link() = default;

  // Asks and waits for the answer. Memory that the object needs goes along. Reply::error is EIO when the
  // device is gone.
  virtual Reply call(const Request& request, const SharedBytes* memory = nullptr) = 0;
  // The caller is held up for so long, in the time of the fabric.
  virtual void linger(std::int64_t nanoseconds) = 0;
  virtual SharedBytes allocate(std::size_t bytes) = 0;  // bytes is null when there is no memory

  // The session is to look at this queue pair's rings. `rung` was set by the caller just now.
  virtual void ring(std::uint32_t queue_pair) = 0;
  // A poll found nothing, for the n-th time in a row. False when the device is gone.
  virtual bool rest(std::uint32_t idle_polls) = 0;

  // Events come in by channels: 0 carries AsyncRecords and is there from the start, others completion events.
  // 0 is no number of a new channel: errno is set then.
  virtual std::uint32_t create_channel() = 0;
  virtual void destroy_channel(std::uint32_t channel) = 0;
  virtual int descriptor(std::uint32_t channel) const = 0;  // to wait for; -1 where nobody can wait
  // Takes one record; waits for it unless the descriptor is non-blocking. 0, or an errno: EAGAIN when there
  // is none, EIO when the device is gone.
  virtual int read_record(std::uint32_t channel, void* record, std::size_t bytes) = 0;
};

// Where devices come from: what a program finds on its (virtual) host.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual Result<std::vector<AdapterFacts>> adapters() = 0;
  // ErrorKind::io: it is dead, as who tries again knows.
  virtual Result<std::unique_ptr<Link>> open(std::uint32_t adapter) = 0;
  // What file an open descriptor is of, so that processes that open the same one find each other. An errno.
  virtual int identify(int descriptor, std::uint64_t& device, std::uint64_t& inode) = 0;
  // A line for the person in front of the program; for errors that libibverbs has no way to tell.
  virtual void complain(const std::string& text) = 0;
};

// The platform of the calling process, or of the simulated process that runs now. Whoever links the verbs API
// supplies it: the emulator's drop-in, the simulator, a test.
Platform& current_platform();

}  // namespace hawser::verbs
