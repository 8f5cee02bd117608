// A few processes with rails on one fabric in this process, in virtual time: the real channel over the real
// access layer and verbs API. Every process sends messages of known contents; what arrives is checked for
// order, number and contents, and memory that was given back is watched for late writes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/verbs/verbs_device.h"
#include "base/knobs.h"
#include "fabric/fabric.h"
#include "fabric/topology/makers.h"
#include "provider/local_link.h"
#include "rails/liar.h"
#include "rails/rail_channel.h"
#include "rails/wire/rail_table.h"

namespace hawser::rails_test {

struct ClusterOptions {
  int hosts = 2;
  int rails = 2;
  int ports = 1;
  std::string topology = "back-to-back";
  fabric::Parameters parameters;
  std::string parameter_lines;  // more of them, which may name adapters
  Knobs knobs;
  std::uint64_t seed = 1;
  std::vector<std::string> before;  // faults that are there when the processes begin
  Lie lie;                          // process 0's
  Forgets forgets;                  // the same
  // Changes what process 0 calls of libibverbs.
  std::function<void(rdma::VerbsFunctions&)> verbs;
  std::uint32_t restless_paths = 0;  // as in RailSettings
  Nanoseconds peer_rest = RailSettings().peer_rest;
  bool watched = false;  // every process shows its status to somebody, and logs its events
};

struct MessageShape {
  int to = 0;
  std::int64_t bytes = 0;
  bool exposed = false;        // rendezvous
  std::int64_t wanted = -1;    // what the receiver fetches; -1: all
  bool packed_source = false;  // every other byte of the sender's memory
  bool packed_target = false;
  Nanoseconds fetch_after = 0;  // the receiver asks so long after the message arrived
  TrafficClass traffic = TrafficClass::blocking;
};

class RailCluster;

class Endpoint final : public TransportEvents {
 public:
  Endpoint(RailCluster& cluster, int index);
  ~Endpoint();

  void post(const MessageShape& shape);  // sent in this order, as soon as there is room
  bool progress(Nanoseconds now);
  void send_between_looks() { send_some(); }  // as a process that comes back from computing does
  Nanoseconds deadline() const;
  bool idle() const { return outgoing_.empty() && live_sources_ == 0 && live_targets_ == 0; }
  void finish();  // no late write may have changed what was given back
  RailChannel& channel() { return *channel_; }
  // What it logged, with ClusterOptions::watched.
  std::uint64_t lines_logged() const;
  // Calls of the channel are this process's until another one has the turn.
  void take_turn();

  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;
  Nanoseconds computes_until = 0;  // and makes no progress till then
  Nanoseconds last_arrival = 0;
  Nanoseconds longest_gap = 0;   // between arrivals; set to 0 to measure anew
  std::uint32_t overtaking = 0;  // by how many numbers a fetched message was before an earlier one, at most
  std::vector<ProcessIndex> lost;
  std::vector<std::string> complaints;  // with ClusterOptions::lie, which is why they may be
  std::vector<std::string> notices;     // for the user
  int failed_transfers = 0;

  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex, const TransportHeader&, std::int64_t) override;
  void on_peer_lost(ProcessIndex peer, const Error&) override { lost.push_back(peer); }
  void on_bad_packet(ProcessIndex source, std::string what) override;
  void on_notice(const std::string& text) override { notices.push_back(text); }

 private:
  class Buffer;
  struct Watcher;
  struct Outgoing {
    MessageShape shape;
    std::uint32_t number;
    std::unique_ptr<Buffer> buffer;
  };
  struct Source final : Completion {
    Source(Endpoint& of, std::unique_ptr<Buffer> bytes);
    ~Source();
    void on_complete(Result<> result) override { endpoint.on_exposed_done(*this, result); }
    Endpoint& endpoint;
    std::unique_ptr<Buffer> buffer;
    bool done = false;
  };
  struct Target final : Completion {
    explicit Target(Endpoint& by);
    ~Target();
    void on_complete(Result<> result) override { endpoint.on_fetched(*this, result); }
    Endpoint& endpoint;
    ProcessIndex source;
    std::uint32_t number;
    ExposeToken token;
    std::unique_ptr<Buffer> buffer;
    Nanoseconds fetch_at = 0;
    bool asked = false, done = false;
  };
  void check_order(ProcessIndex source, std::uint32_t number);
  void on_exposed_done(Source& source, const Result<>& result);
  void on_fetched(Target& target, const Result<>& result);
  bool send_some();
  bool fetch_some(Nanoseconds now);
  void retire(std::unique_ptr<Buffer> buffer);
  void note_arrival();

  RailCluster& cluster_;
  const int index_;
  std::unique_ptr<verbs::LocalPlatform> platform_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<RailChannel> channel_;
  std::deque<Outgoing> outgoing_;
  std::map<int, std::uint32_t> next_number_, expected_;
  std::deque<Source> sources_;
  std::deque<Target> targets_;
  std::deque<Target*> to_fetch_;
  int live_sources_ = 0, live_targets_ = 0;
  std::deque<std::unique_ptr<Buffer>> retired_;
};

class RailCluster {
 public:
  explicit RailCluster(const ClusterOptions& options);
  ~RailCluster();

  Endpoint& at(int index) { return *endpoints_[static_cast<std::size_t>(index)]; }
  int size() const { return static_cast<int>(endpoints_.size()); }
  fabric::Fabric& fabric() { return *fabric_; }
  Nanoseconds now() { return events_.now(); }

  // What the process told the others of its rails.
  RailTable table(int index);
  // The first adapter of a host, opened by somebody who is not of the job; not beyond the cluster's life.
  std::unique_ptr<rdma::Device> open_device(int host);
  // The Q_Key of the job's datagrams, which anybody may work out from its name.
  static std::uint32_t datagram_key();
  // Time passes, and no process does anything.
  void let_the_network_run(Nanoseconds until) { events_.fire_until(until); }

  void inject(const std::string& fault);
  void inject_at(Nanoseconds time, const std::string& fault);
  // Lets everything happen up to this time, or until everybody is idle. True: they are.
  bool run(Nanoseconds until, bool until_idle = true);
  // Until nothing is left in the channels either; false: not by this time.
  bool settle(Nanoseconds until);
  // Records what is wrong; the first one is kept.
  void fail(const std::string& what);
  const std::string& failure() const { return failure_; }
  std::string describe();

  const ClusterOptions options;

 private:
  friend class Endpoint;
  class Exchange;
  bool pass();
  bool everybody_idle() const;

  EventQueue events_;
  fabric::LocalDmaPort dma_;
  std::optional<fabric::Fabric> fabric_;
  std::map<std::pair<int, std::string>, std::string> exchanged_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<verbs::LocalPlatform>> strangers_;
  std::multimap<Nanoseconds, std::string> incidents_;
  std::string failure_;
  std::uint64_t passes_ = 0;
};

}  // namespace hawser::rails_test
