// A process's end of the socket to its launcher: sends lines, waits for answers. Blocking; used only
// while a process starts and ends.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/pmi_wire.h"

namespace hawser {

class PmiConnection {
 public:
  // Takes over a descriptor that the launcher left open. It is closed in programs this one executes.
  explicit PmiConnection(int fd);
  PmiConnection(const PmiConnection&) = delete;
  PmiConnection& operator=(const PmiConnection&) = delete;
  ~PmiConnection();

  // Leaves the descriptor open when this object ends, for a later start of the library in this process.
  void keep_open() { close_at_end_ = false; }

  // Closes this process's copy of the descriptor, which another process goes on using.
  void forget();

  int descriptor() const { return fd_; }
  // Whether there is something to be received; a message may still have to be waited for.
  bool readable() const;

  Result<> send(std::string_view text);
  // The next line; the views in the message are valid until the next call.
  Result<PmiMessage> receive();
  Result<std::string_view> receive_bytes(std::size_t size);

 private:
  Result<> fill();

  int fd_;
  bool close_at_end_ = true;
  PmiStream stream_;
};

// Opens a connection to `host:port` (PMI_PORT). The result is a descriptor.
Result<int> connect_to_port(std::string_view host_and_port);

}  // namespace hawser
