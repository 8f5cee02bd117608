// ClientLink: a device that the emulator's daemon runs. Calls go over a socket, requests and completions
// through rings in shared memory, events come by pipes.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "os/local_socket.h"
#include "provider/link.h"
#include "testbed/emulator/doorbells.h"
#include "testbed/emulator/once_per_outage.h"
#include "testbed/emulator/polling_backoff.h"

namespace hawser::emulator {

class ClientLink final : public verbs::Link {
 public:
  // `patience` and `complaints` are the process's, and last longer. Opens adapter number `adapter` of `host`
  // at the daemon called `fabric`.
  static Result<std::unique_ptr<verbs::Link>> open(const std::string& fabric, const std::string& host,
                                                   std::uint32_t adapter, PollingBackoff& backoff,
                                                   OncePerOutage& once_per_outage);

  verbs::Reply call(const verbs::Request& request, const verbs::SharedBytes* memory) override;
  void linger(std::int64_t nanoseconds) override;
  verbs::SharedBytes allocate(std::size_t bytes) override;
  void ring(std::uint32_t queue_pair) override;
  bool rest(std::uint32_t idle_polls) override;
  std::uint32_t create_channel() override;
  void destroy_channel(std::uint32_t channel) override;
  int descriptor(std::uint32_t channel) const override;
  int read_record(std::uint32_t channel, void* record, std::size_t bytes) override;

 private:
  ClientLink(std::string fabric, FileDescriptor socket, PollingBackoff& backoff,
             OncePerOutage& once_per_outage)
      : fabric_(std::move(fabric)),
        socket_(std::move(socket)),
        backoff_(backoff),
        once_per_outage_(once_per_outage) {}
  verbs::Reply exchange(const verbs::Request& request, std::span<const int> descriptors,
                        LocalPacket* answer = nullptr);
  // The daemon has ended: says so, once for all adapters.
  void lose();

  const std::string fabric_;
  FileDescriptor socket_;
  PollingBackoff& backoff_;
  OncePerOutage& once_per_outage_;
  FileDescriptor wake_;  // the daemon's
  std::shared_ptr<std::byte> page_memory_;
  DoorbellPage* page_ = nullptr;
  std::shared_ptr<const std::byte> daemon_memory_;
  const DaemonPage* daemon_ = nullptr;
  std::mutex call_lock_;
  mutable std::mutex channels_lock_;
  std::map<std::uint32_t, FileDescriptor> channels_;  // ends to read from
  std::atomic<bool> gone_{false};
};

// What the adapters of a host are.
Result<std::vector<verbs::AdapterAttributes>> list_adapters(const std::string& fabric,
                                                            const std::string& host);

}  // namespace hawser::emulator
