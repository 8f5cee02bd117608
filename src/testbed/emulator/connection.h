// Connection: one socket of a client at the daemon. It asks for a list of adapters, gives a command, or opens
// an adapter; an opened one has a session until the socket closes, which the end of the process does too.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "os/local_socket.h"
#include "provider/session.h"
#include "testbed/emulator/doorbells.h"
#include "testbed/emulator/polling_backoff.h"
#include "testbed/emulator/process_dma.h"

namespace hawser::emulator {

// What a command answers.
struct CommandAnswer {
  int error = 0;
  std::string text;
};

// The daemon, as its connections see it.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual fabric::Fabric& fabric() = 0;
  virtual ProcessDma& dma() = 0;
  virtual int wake_descriptor() const = 0;
  virtual int page_descriptor() const = 0;  // of the DaemonPage
  virtual CommandAnswer command(const std::string& text) = 0;
};

class Connection final : public verbs::SessionPort {
 public:
  Connection(ConnectionHost& host, FileDescriptor socket);
  ~Connection() override;

  const FileDescriptor& socket() const { return socket_; }
  // Answers some of the calls that wait; none as long as the client has not read the last answer, so that it
  // cannot make the daemon wait or keep more than one. False when the client is gone, or breaks the rules.
  bool serve();
  // Whether an answer waits for the client to read.
  bool sending() const { return !unsent_.empty(); }
  // Rings for what the client posted; whether there was anything.
  bool take_doorbells();
  bool last_seen_at(int core) const {
    return wait_ != nullptr && wait_->core.load(std::memory_order_relaxed) == core;
  }
  // Whether it polled at `time` or later, and so gives a core back soon.
  bool polled_since(Nanoseconds time) const { return wait_->polled.load(std::memory_order_relaxed) >= time; }
  // Wakes the client's threads that wait for completions, if there are new ones.
  void tell_of_completions();
  bool open() const { return session_ != nullptr; }
  std::string describe() const;
  std::uint64_t lost_events() const { return lost_events_; }

 private:
  void answer(const verbs::Request& request, LocalPacket& packet);
  verbs::Reply list_adapters(const verbs::Request& request);
  verbs::Reply open_adapter(const verbs::Request& request, LocalPacket& packet);
  verbs::Reply change_channel(const verbs::Request& request, LocalPacket& packet);
  void queue_text(const CommandAnswer& answer);
  void queue(std::span<const std::byte> bytes, std::vector<int> descriptors = {});
  bool send_queued();
  void completion_event(std::uint32_t channel, verbs::CompletionRecord record) override;
  void async_event(const verbs::AsyncRecord& record) override;
  void completion_written() override { stored_ = true; }
  bool client_places_data() const override { return true; }
  void tell(const FileDescriptor& pipe, const void* record, std::size_t bytes);

  ConnectionHost& host_;
  struct Unsent {
    std::vector<std::byte> bytes;
    std::vector<int> descriptors;  // go along
  };

  FileDescriptor socket_;
  std::deque<Unsent> unsent_;  // packets of the last answer
  pid_t process_;
  std::shared_ptr<std::byte> page_memory_;
  DoorbellPage* page_ = nullptr;
  std::uint64_t taken_ = 0;
  std::shared_ptr<std::byte> wait_memory_;
  WaitPage* wait_ = nullptr;
  bool stored_ = false;  // a completion, or data: some programs watch memory, and sleep in polls between
  fabric::SpaceId space_ = 0;
  std::string adapter_name_;
  FileDescriptor events_;
  std::map<std::uint32_t, FileDescriptor> channels_;
  std::uint32_t next_channel_ = 1;
  std::uint64_t lost_events_ = 0;
  std::unique_ptr<verbs::Session> session_;
};

}  // namespace hawser::emulator
