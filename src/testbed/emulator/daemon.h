// Daemon: one fabric in real time for many processes. One thread: it fires what is due, takes doorbells,
// answers calls. Busy, it spins briefly, then yields its core, then sleeps until the next event, a call or a
// doorbell. It measures how far events lag behind the clock.
#pragma once

#include <list>

#include "base/event_queue.h"
#include "os/local_socket.h"
#include "os/ready_set.h"
#include "testbed/emulator/connection.h"

namespace hawser::emulator {

struct Lag {
  Nanoseconds worst = 0, sum = 0;
  std::uint64_t count = 0;
  void note(Nanoseconds behind) {
    worst = std::max(worst, behind);
    sum += behind;
    ++count;
  }
};

class Daemon final : public ConnectionHost {
 public:
  Daemon(std::string name, FileDescriptor listener, fabric::Topology topology, fabric::RoutingTables tables,
         const fabric::Parameters& parameters, std::string routing);
  ~Daemon() override;

  bool usable() const { return wake_.valid() && page_ != nullptr && ready_.descriptor() >= 0; }
  // Until somebody says `down`, or closes the other end of the lifeline.
  void run();
  void end_with(FileDescriptor lifeline);

 private:
  fabric::Fabric& fabric() override { return fabric_; }
  ProcessDma& dma() override { return dma_; }
  int wake_descriptor() const override { return wake_.get(); }
  int page_descriptor() const override { return page_file_.get(); }
  CommandAnswer command(const std::string& text) override;
  std::string status() const;
  std::string links(std::size_t log_lines);

  Nanoseconds now() { return clock_.now() - origin_; }
  bool fire_due();
  bool take_doorbells();
  bool look_at_sockets(Nanoseconds wait);
  bool shares_core();
  bool may_yield();
  void yield();
  void tell_clients();
  void sleep();
  Nanoseconds until_next_event();  // 0 when one is due, never when there is none
  void accept_all();

  FileDescriptor lifeline_;  // first, to be closed last: then whoever waits for it sees nothing of us
  const std::string name_;
  const std::string routing_;  // how the tables came about
  MonotonicClock clock_;
  const Nanoseconds origin_;
  EventQueue events_;
  ProcessDma dma_;
  fabric::Fabric fabric_;
  FileDescriptor listener_, wake_;
  FileDescriptor page_file_;
  std::shared_ptr<std::byte> page_memory_;
  DaemonPage* page_ = nullptr;
  ReadySet ready_;
  std::list<Connection> connections_;
  bool down_ = false;
  Crowd crowd_;
  Lag lag_;
};

}  // namespace hawser::emulator
