// The two kinds of connection of the socket channel: one to send on, one to receive from. Both own a bounded
// buffer and never block. They know frames, not what frames mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "channel/socket_wire.h"
#include "os/ready_set.h"
#include "os/socket.h"

namespace hawser {

// Where a process listens, as it tells the others: "port secret secret identity address address ...".
struct SocketAddress {
  std::uint16_t port = 0;
  std::uint64_t secret[2] = {};
  std::string identity;  // network_identity(); no_identity: only the addresses count
  std::vector<std::string> addresses;

  static constexpr std::string_view no_identity = "-";

  std::string text() const;
  static Result<SocketAddress> parse(std::string_view text);
  // In the order to try.
  std::vector<std::string> candidates(const std::string& own_identity) const;
};

class OutgoingConnection {
 public:
  OutgoingConnection(const SocketAddress& address, const std::string& own_identity, ProcessIndex self,
                     std::size_t buffer_bytes);

  // Whether a frame with that body may be added. Frames without a body may always be: they are few, and
  // what waits for them would wait for ever if they were refused.
  bool room(std::size_t body) const { return waiting() + sizeof(SocketFrame) + body <= buffer_bytes_; }
  // Adds a frame; the body's bytes are to be written to the place answered, before anything else is called.
  std::byte* add(const SocketFrame& frame);

  // Connects and writes as far as possible. `writable`: the ready set says so, which also ends connecting.
  // `readable`: it says so, though nothing is sent to us here. An error: the peer cannot be reached (any
  // more).
  Result<bool> advance(ReadySet& ready, std::uint64_t key, bool readable, bool writable);
  bool flushed() const { return waiting() == 0; }
  bool connected() const { return state_ == State::connected; }
  // No frame was added yet.
  bool unused() const { return frames_ == 0; }

 private:
  enum class State : std::uint8_t {
    idle,
    connecting,
    greeting,  // the hello is written, the welcome is not here
    connected,
  };
  std::size_t waiting() const { return buffer_.size() - written_; }
  Result<> try_next_address(ReadySet& ready, std::uint64_t key);
  Result<bool> connect_again(ReadySet& ready, std::uint64_t key);
  Result<bool> greet(ReadySet& ready, std::uint64_t key);

  State state_ = State::idle;
  std::uint16_t port_;
  std::vector<std::string> candidates_;
  std::size_t next_candidate_ = 0;
  FileDescriptor socket_;
  bool wants_writable_ = false;
  SocketHello hello_;
  SocketWelcome welcome_;
  std::size_t welcome_bytes_ = 0;
  int refusals_ = 0;  // connections that ended before the welcome
  std::uint64_t frames_ = 0;
  std::size_t buffer_bytes_;
  std::vector<std::byte> buffer_;
  std::size_t written_ = 0;
};

class IncomingConnection {
 public:
  // Has room for a hello only: anybody may connect.
  IncomingConnection(FileDescriptor socket, Nanoseconds now);
  // The hello was right: tells the peer so, and makes room for frames. False: it has gone.
  bool welcome(ProcessIndex from, std::size_t largest_body);

  const FileDescriptor& socket() const { return socket_; }
  // The sender; -1 before its hello was checked.
  ProcessIndex source = -1;
  const Nanoseconds since;

  // Reads what has arrived; false when the connection has ended.
  bool read();
  // The next `bytes` if they are all there, else null.
  const std::byte* peek(std::size_t bytes) const;
  void consume(std::size_t bytes) { begin_ += bytes; }
  bool empty() const { return begin_ == end_; }

 private:
  FileDescriptor socket_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hawser
